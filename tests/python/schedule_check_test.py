# SPDX-License-Identifier: Apache-2.0
"""What is said of a schedule that is wrong, and how schedules show themselves."""

import re
import traceback

import pytest
import tilewright as tw
from tilewright import te


def programs():
    a = te.placeholder((20, 6), "int32", name="A")
    k = te.reduce_axis((0, 6), "k")
    c = te.compute((20,), lambda i: te.sum(a[i, k], axis=k), name="C")
    d = te.compute((18,), lambda i: c[i] + c[i + 2], name="D")
    e = te.compute((18,), lambda i: d[i] + c[i], name="E")
    return a, c, d, e


def test_a_legal_schedule_has_no_findings():
    _, c, d, e = programs()
    s = te.create_schedule(e.op)
    s[c].compute_at(s[e], e.op.axis[0])
    s[d].compute_inline()
    s[e].parallel(e.op.axis[0])
    assert s.check() == [] and te.schedule.check(s) == []


def test_findings_say_what_where_and_what_would_be_legal():
    a, c, d, e = programs()
    s = te.create_schedule(e.op)
    s[c].compute_at(s[d], d.op.axis[0])  # this line
    line = next(f"{__file__.rsplit('/', 1)[1]}:{number}" for number, text in enumerate(open(__file__), 1)
                if text.endswith("# this line\n"))
    (finding,) = s.check()
    assert (finding.code, finding.stage, finding.axis) == ("bad-attach", "C", "i")
    assert finding.where == line
    assert finding.what == "computed inside 'i' of 'D', where its consumer 'E' cannot see it"
    assert finding.legal == "compute_root; or 'E' computed inside that loop too"
    assert re.findall("^>.*", finding.nest, re.MULTILINE) == [">     produce C  int32[20]"]  # not the loop of D
    assert str(finding).startswith("stage 'C'")
    with pytest.raises(tw.UserError) as error:
        tw.lower(s, [a, e])
    assert (error.value.what, error.value.where, error.value.legal) == (finding.what, finding.where, finding.legal)
    assert error.value.nest == finding.nest


def test_stages_of_one_name_are_told_apart():
    a = te.placeholder((8, 8))
    b = te.compute((8, 8), lambda i, j: a[i, j] + 1)
    c = te.compute((8, 8), lambda i, j: b[i, j] * 2)
    d = te.compute((8, 8), lambda i, j: c[i, j] + b[i, j])
    s = te.create_schedule(d.op)
    assert [stage.name for stage in s.stages] == ["placeholder", "compute", "compute_1", "compute_2"]
    assert [stage.op.name for stage in s.stages] == ["placeholder", "compute", "compute", "compute"]
    s[b].compute_at(s[c], c.op.axis[0])
    (finding,) = s.check()
    assert finding.stage == "compute"
    assert finding.what == "computed inside 'i' of 'compute_1', where its consumer 'compute_2' cannot see it"
    assert re.findall("^>.*", finding.nest, re.MULTILINE) == [">     produce compute  float32[8, 8]"]
    assert s[s.cache_write(c, "local")].name == "compute.local"
    assert s[s.cache_write(d, "local")].name == "compute.local_1"
    assert len(te.schedule_from_trace(te.Program([a, d]), s.trace).check()) == 1


def test_a_loop_that_is_gone_is_marked_by_its_stage():
    _, c, d, _ = programs()
    s = te.create_schedule(d.op)
    s[d].split(d.op.axis[0], 4)
    with pytest.raises(tw.UserError) as error:
        s[c].compute_at(s[d], d.op.axis[0])
    assert re.findall("^>.*", error.value.nest, re.MULTILINE) == ["> produce D  int32[18], output"]


def test_a_traceback_shows_the_loops():
    _, c, _, e = programs()
    s = te.create_schedule(e.op)
    with pytest.raises(tw.UserError) as error:
        s[c].parallel(c.op.reduce_axis[0])
    assert "\n" not in str(error.value)
    assert re.search(r"^>     for \(k, 0, 6\)  reduction$", error.value.nest, re.MULTILINE)
    assert error.value.nest in "".join(traceback.format_exception(error.value))


def test_iterations_that_share_a_tensor_of_the_caller():
    a, c, d, _ = programs()

    def scheduled(factor):
        s = te.create_schedule(d.op)
        outer, _ = s[d].split(d.op.axis[0], factor)
        s[d].parallel(outer)
        s[c].compute_at(s[d], outer)
        return s

    (finding,) = scheduled(4).check([c])
    assert (finding.code, finding.stage, finding.axis) == ("parallel-reduction", "D", "i.outer")
    with pytest.raises(tw.UserError, match="might compute the same elements of 'C'"):
        tw.lower(scheduled(4), [a, c, d])
    assert scheduled(4).check() == []
    tw.lower(scheduled(4), [a, d])
    tw.lower(scheduled(18), [a, c, d])  # a single iteration


def test_show(capsys):
    _, c, d, e = programs()
    s = te.create_schedule(e.op)
    s[c].compute_at(s[e], e.op.axis[0])
    s[d].compute_inline()
    s.show()
    text = capsys.readouterr().out
    assert text == ("inputs A int32[20, 6]\ninlined D\nproduce E  int32[18], output\n  for (i, 0, 18)\n"
                    "    produce C  int32[3]\n      for (i, 0, 3)\n        for (k, 0, 6)  reduction\n")
    s.show(width=30)
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 30
    html = s._repr_html_()
    assert html.startswith("<pre>") and "<b>produce C</b>" in html


def test_a_stage_that_its_group_misplaces():
    a = te.placeholder((8,), name="A")
    b = te.compute((8,), lambda i: a[i] + 1, name="B")
    c = te.compute((8,), lambda i: b[i] * 2, name="C")
    d = te.compute((8,), lambda i: c[i] + b[i], name="D")
    s = te.create_schedule(d.op)
    group = s.create_group(outputs=b, inputs=a)
    group.compute_at(s[c], c.op.axis[0])  # of the group
    (finding,) = s.check()
    assert (finding.code, finding.stage) == ("bad-attach", "B")
    assert finding.where == next(f"schedule_check_test.py:{number}" for number, text in enumerate(open(__file__), 1)
                                 if text.endswith("# of the group\n"))


def test_a_group_is_shown_by_its_stages():
    a = te.placeholder((8,), name="A")
    b = te.compute((8,), lambda i: a[i] + 1, name="B")
    c = te.compute((8,), lambda i: b[i] * 2, name="C")
    d = te.compute((8,), lambda i: c[i] + 1, name="D")
    s = te.create_schedule(d.op)
    group = s.create_group(outputs=c, inputs=a)
    with pytest.raises(tw.UserError) as error:
        group.compute_at(s[c], c.op.axis[0])
    assert error.value.stage == "group"
    assert re.findall("^>.*", error.value.nest, re.MULTILINE) == ["> produce B  float32[8]", "> produce C  float32[8]"]
    assert s.create_group(outputs=b, inputs=a).name == "group_1"


def test_what_is_wrong_beside_a_misplaced_stage():
    a = te.placeholder((16,), name="A")
    b = te.compute((16,), lambda i: a[i] + 1, name="B")
    c = te.compute((16,), lambda i: b[i] * 2, name="C")
    d = te.compute((16,), lambda i: c[i] + b[i], name="D")
    s = te.create_schedule(d.op)
    s[b].compute_at(s[c], c.op.axis[0])
    s[d].bind(d.op.axis[0], te.thread_axis((0, 8), "threadIdx.x"))
    assert [(f.code, f.stage) for f in s.check()] == [("bad-attach", "B"), ("bad-argument", "D")]
    s[b].compute_root()
    assert [(f.code, f.stage) for f in s.check()] == [("bad-argument", "D")]


def test_memory_that_an_intrinsic_does_not_take():
    x = te.placeholder((8,), name="x")
    y = te.compute((8,), lambda i: x[i] * 2, name="y")

    def twice(ins, outs):
        ib = tw.tir.ir_builder.create()
        with ib.for_range(0, 8, "i") as i:
            ib.emit(outs[0].vstore(i, ins[0].vload(i) * 2))
        return ib.get()

    intrin = te.decl_tensor_intrin(y.op, twice, name="check_twice", default_buffer_params={"offset_factor": 1})
    a = te.placeholder((16, 4), name="A")
    c = te.compute((4, 16), lambda i, j: a[j, i] * 2, name="C")
    d = te.compute((4, 16), lambda i, j: a[j, i] * 2, name="D")
    s = te.create_schedule([c.op, d.op])
    for stage in (c, d):
        s[stage].tensorize(s[stage].split(stage.op.axis[1], factor=8)[1], intrin)
    assert [(f.code, f.stage) for f in s.check()] == [("cannot-tensorize", "C"), ("cannot-tensorize", "D")]
    finding = s.check()[0]
    assert finding.what == "operand 'x' of 'check_twice', which is 'A': its stride in dimension 0 is 4"
    assert finding.where.startswith("schedule_check_test.py:")
    with pytest.raises(tw.UserError) as error:
        tw.lower(s, [a, c, d])
    assert (error.value.stage, error.value.axis, error.value.what) == ("C", "j.inner", finding.what)
    assert error.value.where == finding.where  # the line of the primitive, not of tw.lower
    assert re.search(r"^>.*j.inner.*tensorize check_twice", error.value.nest, re.MULTILINE)

    # What a scan's update stores is the scan's memory.
    state = te.placeholder((16, 4), name="state")
    init = te.compute((1, 4), lambda _, i: a[0, i], name="init")
    update = te.compute((16, 4), lambda t, i: state[t - 1, i] * 2, name="update")
    scan = te.scan(init, update, state, inputs=[a], name="scan")
    four = te.placeholder((4,), name="four")
    result = te.compute((4,), lambda i: four[i] * 2, name="result")
    declared = te.decl_tensor_intrin(result.op, twice, name="check_twice_4")
    s = te.create_schedule(scan.op)
    s[update].tensorize(update.op.axis[1], declared)
    assert [(f.code, f.stage) for f in s.check()] == [("cannot-tensorize", "update")]
