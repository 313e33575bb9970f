"""Groups of stages (create_group), and the stages that other primitives make inside of them."""

import random

import numpy as np
import pytest

import tilewright as tw
from tilewright import te

N, TERMS = 20, 9


def program():
    A = te.placeholder((N, TERMS), dtype="int32", name="A")
    Z = te.compute((N, TERMS), lambda i, j: A[i, j] + 1, name="Z")
    k = te.reduce_axis((0, TERMS), name="k")
    B = te.compute((N,), lambda i: te.sum(Z[i, k], axis=k), name="B")
    C = te.compute((N,), lambda i: B[i] * 2, name="C")
    E = te.compute((N,), lambda i: C[N - 1 - i] - 3, name="E")
    return A, Z, B, C, E, te.create_schedule(E.op)


def expect_right(A, E, s):
    a = np.random.default_rng(1).integers(-9, 9, (N, TERMS), dtype="int32")
    e = tw.nd.array(np.zeros(N, "int32"))
    tw.build(s, [A, E])(tw.nd.array(a), e)
    np.testing.assert_array_equal(e.numpy(), ((a + 1).sum(1) * 2 - 3)[::-1])


MADE = {
    "cache_write": lambda s, Z, B, C: s.cache_write(C, "local"),
    "cache_read": lambda s, Z, B, C: s.cache_read(B, "local", [C]),
    "rfactor": lambda s, Z, B, C: s.rfactor(B, s[B].split(B.op.reduce_axis[0], factor=4)[1]),
    "cache_write, rfactor": lambda s, Z, B, C: s.rfactor(W := s.cache_write(B, "local"), s[W].op.reduce_axis[0]),
}


@pytest.mark.parametrize("made", MADE)
@pytest.mark.parametrize("placed_first", [False, True])
def test_new_stages_move_with_the_group(made, placed_first, capsys):
    A, Z, B, C, E, s = program()
    group = s.create_group(outputs=C, inputs=A)
    o, _ = s[E].split(E.op.axis[0], factor=6)
    if placed_first:
        group.compute_at(s[E], o)
    MADE[made](s, Z, B, C)
    if not placed_first:
        group.compute_at(s[E], o)
    assert s.check() == []
    expect_right(A, E, s)
    # All stand in E's loop, in the nest that people see too.
    s.show()
    produced = [line for line in capsys.readouterr().out.splitlines() if "produce" in line]
    assert len(produced) == len(s.stages) - 1
    assert [line for line in produced if not line.startswith(" ")] == produced[:1], produced


def test_inputs_in_the_group_and_copies_of_them():
    A, Z, B, C, E, s = program()
    group = s.create_group(outputs=C, inputs=Z, include_inputs=True)
    copy = s.cache_read(Z, "local", [B])
    outside = s.cache_read(A, "local", [Z])
    o, _ = s[E].split(E.op.axis[0], factor=6)
    group.compute_at(s[E], o)
    expect_right(A, E, s)
    with pytest.raises(tw.UserError, match="'E' is outside the group of 'Z.local'"):
        s[copy].compute_at(s[E], o)
    s[outside].compute_at(s[E], o)
    expect_right(A, E, s)


def test_the_script_of_a_trace_calls_the_method():
    A, Z, B, C, E, s = program()
    group = s.create_group(outputs=C, inputs=[Z], include_inputs=True)
    s.cache_write(C, "local")
    group.compute_at(s[E], E.op.axis[0])
    script = s.trace.as_python()
    assert "group = s.create_group([C.op.output(0)], [Z.op.output(0)], include_inputs=1)" in script
    assert "_apply" not in script
    names, again = {}, te.create_schedule(E.op)
    exec(compile(script, "script", "exec"), names)
    names["apply"](again)
    assert again.trace == s.trace
    expect_right(A, E, again)


def random_schedule(generator):
    """Groups inside one another at random, and stages made before and after they have a place."""
    A, Z, B, C, E, s = program()
    stages = [Z, B, C]
    for _ in range(generator.randint(1, 2)):
        first, last = sorted(generator.sample(range(3), 2))
        try:
            group = s.create_group(stages[last], stages[first], include_inputs=generator.random() < 0.5)
        except tw.UserError:
            continue  # it would cut another
        if generator.random() < 0.8:
            consumer = ([*stages, E])[last + 1]
            try:
                group.compute_at(s[consumer], s[consumer].leaf_iter_vars[0])
            except tw.UserError:
                pass  # inside a group that the consumer is not in
    for _ in range(generator.randint(1, 4)):
        tensor = generator.choice(stages)
        kind = generator.choice(["cache_write", "cache_read", "rfactor", "split"])
        try:
            if kind == "cache_write":
                s.cache_write(tensor, "local")
            elif kind == "cache_read":
                s.cache_read(tensor, "local", [([*stages, E])[stages.index(tensor) + 1]])
            elif kind == "rfactor" and s[B].op.reduce_axis:
                s.rfactor(B, s[B].op.reduce_axis[0])
            elif kind == "split":
                s[tensor].split(s[tensor].leaf_iter_vars[-1], factor=generator.randint(2, 5))
        except tw.UserError as error:
            assert error.code in ("not-a-consumer", "cannot-factor", "not-a-leaf-axis", "bad-argument"), error
    return A, E, s


def test_random_groups_compute_what_they_should():
    legal = 0
    for seed in range(80):
        A, E, s = random_schedule(random.Random(seed))
        if s.check():
            continue
        legal += 1
        expect_right(A, E, s)
        names, again = {}, te.create_schedule(E.op)
        exec(compile(s.trace.as_python(), "script", "exec"), names)
        names["apply"](again)
        assert tw.lower(again, [A, E]).__str__() == tw.lower(s, [A, E]).__str__()
    assert legal >= 60, legal


def test_a_group_computes_nothing_itself():
    A = te.placeholder((8,), name="A")
    B = te.compute((8,), lambda i: A[i] + 1, name="B")
    s = te.create_schedule(B.op)
    assert s.create_group(outputs=B, inputs=A).op is None
