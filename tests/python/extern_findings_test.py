"""What validation finds in the statements of externs, and what it leaves alone."""

import inspect

import numpy
import pytest

import tilewright as tvm
from tilewright import te, tir


def extern(body, n=8, m=8, dtype="float32"):
    """An extern over A of n elements and a result of m, whose statements body(ib, a, c) writes."""
    A = te.placeholder((n,), dtype, name="A")

    def statements(ins, outs):
        ib = tir.ir_builder.create()
        body(ib, ib.buffer_ptr(ins[0]), ib.buffer_ptr(outs[0]))
        return ib.get()

    return A, te.extern((m,), [A], statements, name="C")


def findings(*given, **more):
    _, C = extern(*given, **more)
    return te.create_schedule(C.op).check()


def loop(kind, extent, body):
    def statements(ib, a, c):
        with ib.for_range(0, extent, "i", kind=kind) as i:
            body(ib, a, c, i)
    return statements


def store(index, value):
    return lambda ib, a, c, i: c.__setitem__(index(i), value(a, c, i))


OUTSIDE = {
    "one element too far": loop("serial", 8, store(lambda i: i, lambda a, c, i: a[i + 1])),
    "before the first": loop("serial", 8, store(lambda i: i - 1, lambda a, c, i: a[i])),
    "one iteration too many": loop("serial", 9, store(lambda i: i, lambda a, c, i: a[0])),
    "a constant": lambda ib, a, c: c.__setitem__(8, 1.0),
    "a nest": lambda ib, a, c: loop("serial", 3, lambda ib, a, c, i: loop(
        "serial", 4, lambda ib, a, c, j: c.__setitem__(i * 3 + j, 1.0))(ib, a, c))(ib, a, c),
    "far beyond a long loop": loop("serial", 1000, store(lambda i: 0, lambda a, c, i: a[i])),
}


@pytest.mark.parametrize("name", OUTSIDE)
def test_accesses_outside_of_memory(name):
    (finding,) = findings(OUTSIDE[name])
    assert (finding.code, finding.stage) == ("out-of-bounds", "C"), finding
    assert finding.legal == "0 to 7"


def test_what_is_said_of_it():
    A, C = extern(OUTSIDE["one element too far"])
    s = te.create_schedule(C.op)
    (finding,) = s.check()
    assert finding.what == "'A[(i + 1)]' is read, which reaches 8"
    with pytest.raises(tvm.UserError) as info:
        tvm.build(s, [A, C])
    assert (info.value.code, info.value.what, info.value.stage) == ("out-of-bounds", finding.what, "C")


def test_symbolic_sizes():
    n = te.var("n")
    for extent, shift, expected in ((n, 1, 1), (n, 0, 0), (n - 1, 1, 0), (n + 1, 0, 1)):
        found = findings(loop("serial", extent, store(lambda i: 0, lambda a, c, i: a[i + shift])), n=n, m=n)
        assert [f.code for f in found] == ["out-of-bounds"] * expected, (extent, shift)
    # Wrong of some sizes and right of others: who calls it knows.
    assert findings(lambda ib, a, c: c.__setitem__(500, 1.0), n=n, m=n) == []


def test_conditions_and_lets_count():
    def guarded(ib, a, c, i):
        with ib.if_scope(i < 7):
            c[i] = a[i + 1]
        with ib.else_scope():
            c[i] = a[i]
    assert findings(loop("serial", 8, guarded)) == []
    chosen = store(lambda i: i, lambda a, c, i: tir.if_then_else(i < 7, a[i + 1], 0.0))
    assert findings(loop("serial", 8, chosen)) == []

    def wrong(ib, a, c, i):
        with ib.if_scope(i > 6):
            c[i] = a[ib.let("next", i + 1)]
    assert [f.code for f in findings(loop("serial", 8, wrong))] == ["out-of-bounds"]


def test_lanes():
    def stored(first, condition=None):
        def body(ib, a, c, i):
            lanes = tir.Ramp(first(i), 1, 4)
            value = a[lanes] if condition is None else tir.if_then_else(condition(lanes), a[lanes], 0.0)
            c[i] = tir.Shuffle([value], [0])
        return [f.what for f in findings(loop("serial", 2, body))]
    assert stored(lambda i: i * 4) == []
    assert stored(lambda i: i * 4 + 1) == ["'A[((i*4) + 4)]' is read, which reaches 8"]
    assert stored(lambda i: i * 4 + 1, lambda lanes: lanes < 8) == []


def test_memory_of_its_own():
    def body(ib, a, c, i):
        held = ib.allocate("float32", (2,), "held")
        held[2] = a[i]
        c[i] = held[0]
    (finding,) = findings(loop("serial", 8, body))
    assert finding.what == "'held[2]' is stored"


UNKNOWN = {
    "an index that is read": store(lambda i: i, lambda a, c, i: a[a[i] + 100]),
    "a condition that is read": lambda ib, a, c, i: _if(ib, a[i] > 3, lambda: c.__setitem__(100, 1)),
}


def _if(ib, condition, body):
    with ib.if_scope(condition):
        body()


@pytest.mark.parametrize("name", UNKNOWN)
def test_what_cannot_be_known_stays_allowed(name):
    assert findings(loop("serial", 8, UNKNOWN[name]), dtype="int32") == []
    assert findings(loop("parallel", 8, UNKNOWN[name]), dtype="int32") == []


def test_while_loops():
    def body(ib, a, c):
        c[0] = 0
        with ib.while_loop(c[0] < a[9]):
            c[100] = 1
    assert [f.what for f in findings(body, dtype="int32")] == ["'A[9]' is read"]


RACES = {
    "one element": (store(lambda i: 0, lambda a, c, i: c[0] + a[i]), "store too"),
    "the element before": (store(lambda i: i, lambda a, c, i: a[i] + c[tir.max(i - 1, 0)]), "read"),
    "every fourth": (store(lambda i: i % 4, lambda a, c, i: a[i]), "store too"),
}


@pytest.mark.parametrize("name", RACES)
def test_races(name):
    body, what = RACES[name]
    found = findings(loop("parallel", 8, body))
    assert [f.code for f in found] == ["parallel-reduction"] * len(found) and found
    assert (found[0].stage, found[0].axis) == ("C", "i") and any(what in f.what for f in found)
    assert findings(loop("serial", 8, body)) == []


def read_later(ib, a, c, i):
    c[i] = a[i]
    c[i + 8] = c[tir.min(i + 1, 7)]


@pytest.mark.parametrize("body", [RACES["the element before"][0], RACES["every fourth"][0], read_later],
                         ids=["the element before", "every fourth", "the element behind, later"])
def test_lanes_that_need_each_other(body):
    found = findings(loop("vectorize", 8, body), m=16)
    assert {(f.code, f.axis) for f in found} == {("parallel-reduction", "i")}
    assert found[0].what.startswith("a vectorized loop whose iterations store elements of 'C'")
    assert findings(loop("serial", 8, body), m=16) == []


def run(statements, m, a):
    A, C = extern(statements, n=len(a), m=m)
    c = numpy.zeros(m, "float32")
    tvm.build(te.create_schedule(C.op), [A, C])(a, c)
    return c


def filled(kind, extent, body):
    """A loop over a result that has values before."""
    def statements(ib, a, c):
        with ib.for_range(0, 24, "k") as k:
            c[k] = tir.Cast("float32", k)
        loop(kind, extent, body)(ib, a, c)
    return statements


def assign(to, source):
    return lambda ib, a, c, i: c.__setitem__(i + to, c[i + source] + a[i])


def test_lanes_read_before_they_store():
    a = numpy.arange(8, dtype="float32") / 8
    behind, before = filled("vectorize", 8, assign(0, 1)), filled("vectorize", 8, assign(1, 0))
    assert findings(behind, m=24) == []
    numpy.testing.assert_array_equal(run(behind, 24, a)[:8], numpy.arange(1, 9) + a)
    assert [(f.code, f.axis) for f in findings(before, m=24)] == [("parallel-reduction", "i")]
    # Iterations of a parallel loop do it in any order, and those of a loop inside change what the lanes behind read.
    assert [f.code for f in findings(filled("parallel", 8, assign(0, 1)), m=24)] == ["parallel-reduction"]

    def twice(ib, a, c, i):
        with ib.for_range(0, 2, "j"):
            assign(0, 1)(ib, a, c, i)
    assert [f.code for f in findings(filled("vectorize", 8, twice), m=24)] == ["parallel-reduction"]


def test_a_statement_of_all_lanes_comes_before_the_next():
    def stored_first(ib, a, c, i):
        c[i + 1] = a[i]
        c[i + 12] = c[i]
    assert findings(filled("vectorize", 8, stored_first), m=24) == []
    a = numpy.arange(8, dtype="float32") / 8
    numpy.testing.assert_array_equal(
        run(filled("vectorize", 8, stored_first), 24, a), run(filled("serial", 8, stored_first), 24, a))


@pytest.mark.parametrize("seed", range(40))
def test_lanes_that_are_accepted_compute_what_a_serial_loop_does(seed):
    random = numpy.random.default_rng(seed)
    steps = [tuple(int(x) for x in random.integers(0, 4, 2)) for _ in range(int(random.integers(1, 4)))]
    conditional = random.random() < 0.3

    def body(ib, a, c, i):
        for to, source in steps:
            if conditional and to % 2:
                with ib.if_scope(i > source):  # what memory decides is not known before a call
                    assign(to, source)(ib, a, c, i)
            else:
                assign(to, source)(ib, a, c, i)
    a = numpy.arange(8, dtype="float32") / 8
    vectorized, serial = (filled(kind, 8, body) for kind in ("vectorize", "serial"))
    found = findings(vectorized, m=24)
    assert {f.code for f in found} <= {"parallel-reduction"} and findings(serial, m=24) == []
    if not found:
        numpy.testing.assert_array_equal(run(vectorized, 24, a), run(serial, 24, a))


def test_lanes_add_to_one_element():
    def body(ib, a, c, i):
        c[0] = c[0] + a[i]

    def statements(ib, a, c):
        c[0] = 0.0
        loop("vectorize", 8, body)(ib, a, c)
    A, C = extern(statements, m=1)
    s = te.create_schedule(C.op)
    assert s.check() == []
    a, c = tvm.nd.array(numpy.arange(8, dtype="float32")), tvm.nd.array(numpy.zeros(1, "float32"))
    tvm.build(s, [A, C])(a, c)
    assert c.numpy()[0] == 28


def test_blocks_that_overlap():
    def blocks(width):
        def body(ib, a, c, i):
            with ib.for_range(0, width, "j") as j:
                c[i * 4 + j] = a[j]
        return findings(loop("parallel", 2, body))
    assert blocks(4) == []
    assert [f.code for f in blocks(5) if f.code != "out-of-bounds"] == ["parallel-reduction"]


def test_what_does_not_race():
    assert findings(loop("parallel", 8, store(lambda i: i, lambda a, c, i: a[7 - i] + c[i]))) == []

    def own(ib, a, c, i):
        held = ib.allocate("float32", (1,), "held")
        held[0] = a[i]
        c[i] = held[0]
    assert findings(loop("parallel", 8, own)) == []

    def first_alone(ib, a, c, i):
        with ib.if_scope(i == 0):
            c[0] = a[0]
    assert findings(loop("parallel", 8, first_alone)) == []


def test_a_parallel_loop_inside_of_another_is_a_serial_one():
    def body(ib, a, c, i):
        with ib.for_range(0, 8, "j", kind="parallel") as j:
            c[i] = c[i] + a[j]
    assert findings(loop("parallel", 8, body)) == []
    assert [f.axis for f in findings(loop("serial", 8, body))] == ["j"]


def test_shared_memory_allocated_outside_of_the_loop():
    def body(ib, a, c):
        held = ib.allocate("float32", (1,), "held")
        with ib.for_range(0, 8, "i", kind="parallel") as i:
            held[0] = a[i]
            c[i] = held[0]
    found = findings(body)
    assert found and all("'held'" in f.what for f in found)


def test_races_of_symbolic_loops():
    n = te.var("n")
    assert [f.code for f in findings(loop("parallel", n, RACES["one element"][0]), n=n, m=n)][:1] == ["parallel-reduction"]
    assert findings(loop("parallel", n, store(lambda i: i, lambda a, c, i: a[i])), n=n, m=n) == []


def test_inside_of_a_program_with_other_findings():
    A, C = extern(OUTSIDE["a constant"])
    D = te.compute((8,), lambda i: C[i] + 1.0, name="D")
    k = te.reduce_axis((0, 8), "k")
    E = te.compute((1,), lambda i: te.sum(D[k], axis=k), name="E")
    s = te.create_schedule(E.op)
    s[D].compute_inline()
    assert [f.code for f in s.check()] == ["out-of-bounds"]
    np_out = numpy.zeros(1, "float32")
    with pytest.raises(tvm.UserError, match=r"'C\[8\]' is stored"):
        tvm.build(s, [A, E])(numpy.zeros(8, "float32"), np_out)


# The line of the script, and not one of Python's contextlib, is what errors in blocks name.


def line_of(call):
    """The line on which `call` raises, and the line that the error names."""
    with pytest.raises(tvm.UserError) as info:
        call()
    frames = [f for f in inspect.getinnerframes(info.tb) if f.filename == __file__]
    return f"extern_findings_test.py:{frames[-1].lineno}", info.value.where


def in_while():
    ib = tir.ir_builder.create()
    with ib.while_loop(1):
        pass


def in_for():
    ib = tir.ir_builder.create()
    with ib.for_range(0, "many", "i"):
        pass


def in_for_kind():
    ib = tir.ir_builder.create()
    with ib.for_range(0, 8, "i", kind="sideways"):
        ib.emit(tir.const(0))


def in_if():
    ib = tir.ir_builder.create()
    with ib.for_range(0, 8, "i"):
        with ib.if_scope(te.var("x") + 1.5):
            ib.emit(tir.const(0))


def in_else():
    ib = tir.ir_builder.create()
    with ib.else_scope():
        pass


def in_a_nest():
    ib = tir.ir_builder.create()
    with ib.for_range(0, 8, "i") as i:
        with ib.if_scope(i < 3):
            with ib.for_range(0, 8, "j", kind="unknown"):
                ib.emit(i)


@pytest.mark.parametrize("call", [in_while, in_for, in_for_kind, in_if, in_else, in_a_nest])
def test_errors_in_blocks_name_the_line_of_the_script(call):
    raised, named = line_of(call)
    assert named == raised


THREADS = {
    "another thread's element": (lambda i: i, lambda a, c, i: c[7 - i] + a[i]),
    "one element for all": (lambda i: 0, lambda a, c, i: c[0] + a[i]),
    "the next one's": (lambda i: i, lambda a, c, i: c[(i + 1) % 8]),
}


def of_threads(body, tag="threadIdx.x", extent=8):
    def statements(ib, a, c):
        axis = te.thread_axis(tag)
        with ib.threads(axis, extent):
            body(ib, a, c, axis)
    return statements


@pytest.mark.parametrize("name", THREADS)
def test_threads_that_read_what_others_store(name):
    for tag in ("threadIdx.x", "threadIdx.z", "vthread"):
        (finding,) = findings(of_threads(store(*THREADS[name]), tag))
        assert (finding.code, finding.axis) == ("parallel-reduction", tag)
        assert finding.what == "a loop over threads whose iterations store elements of 'C' that others read"
        assert finding.legal.startswith("a loop over threads that ends before another one reads them")


def test_threads_that_need_not_wait():
    def one_after_the_other(ib, a, c):
        of_threads(store(lambda i: i, lambda a, c, i: a[i]))(ib, a, c)
        of_threads(store(lambda i: i + 8, lambda a, c, i: c[7 - i]))(ib, a, c)

    assert findings(one_after_the_other, m=16) == []
    assert findings(of_threads(store(lambda i: 0, lambda a, c, i: a[0]))) == []
    assert findings(of_threads(store(lambda i: i, lambda a, c, i: c[i] + a[7 - i]))) == []

    def in_steps(ib, a, c):
        with ib.for_range(0, 3, "k") as k:
            of_threads(store(lambda i: k * 8 + i, lambda a, c, i: a[i]))(ib, a, c)
            of_threads(store(lambda i: k * 8 + i + 24, lambda a, c, i: c[k * 8 + 7 - i]))(ib, a, c)

    assert findings(in_steps, m=48) == []


def line_ending(comment):
    return next(f"{__file__.rsplit('/', 1)[1]}:{number}" for number, text in enumerate(open(__file__), 1)
                if text.endswith(comment + "\n"))


def test_findings_name_the_line_of_the_statement():
    def statements(ib, a, c):
        with ib.for_range(0, 8, "i") as i:
            with ib.if_scope(a[i + 1] > 0):  # in a condition
                c[i] = 0.0
            with ib.if_scope(i > 3):
                c[0] = 0.0
            with ib.else_scope():
                c[i + 5] = 1.0  # in a store
        last = ib.let("last", a[9])  # in a let
        c[0] = last

    _, C = extern(statements)
    s = te.create_schedule(C.op)
    lines = [line_ending(f"# in a {what}") for what in ("condition", "let", "store")]
    assert sorted(f.where for f in s.check()) == sorted(lines)
    with pytest.raises(tvm.UserError) as error:
        tvm.lower(s, [*C.op.input_tensors, C])
    assert error.value.where in lines


def test_findings_of_scripts_and_of_statements_from_elsewhere():
    @te.hybrid.script
    def shifted(a):
        b = output_tensor((8,), "float32")  # noqa: F821
        for i in range(8):
            if i >= 0:
                b[i] = a[i + 1]  # in a script
        return b

    A = te.placeholder((8,), name="A")
    (finding,) = te.create_schedule(shifted(A).op).check()
    assert finding.where == line_ending("# in a script")

    def statements(ins, outs):
        ib = tir.ir_builder.create()
        with ib.for_range(0, 8, "i") as i:
            ib.buffer_ptr(outs[0])[i] = ib.buffer_ptr(ins[0])[i + 1]
        body = ib.get()
        del body.lines
        return body

    C = te.extern((8,), [A], statements, name="C")  # the call
    (finding,) = te.create_schedule(C.op).check()
    assert finding.where == line_ending("# the call")
