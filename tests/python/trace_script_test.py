# SPDX-License-Identifier: Apache-2.0
"""Traces as scripts and as JSON: what they say is the same schedule."""

import random

import numpy as np
import pytest
import tilewright as tw
from tilewright import _core, te


INPUTS = [te.placeholder((12, 10), "int32", name="A"), te.placeholder((10, 8), "int32", name="B.1")]


def program():
    """Two reductions, one of which two stages read, and a stage with two outputs."""
    a, b = INPUTS
    k = te.reduce_axis((0, 10), "k")
    c = te.compute((12, 8), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="for")
    d, e = te.compute((12, 8), lambda i, j: (c[i, j] + 1, c[i, j] * 2), name="D")
    r = te.reduce_axis((0, 8), "r")
    f = te.compute((12,), lambda i: te.sum(d[i, r] + e[i, r], axis=r), name="s")
    return [f, te.compute((12, 8), lambda i, j: c[i, j] + f[i], name="G")]


def random_steps(schedule, generator, count):
    """Tries steps of any primitive; those that are refused leave the schedule as it was."""
    for _ in range(count):
        on = stage = generator.choice(schedule.stages)
        name, _, parameters, _, _ = generator.choice(_core.primitives())
        arguments = []
        for parameter, kind, optional in parameters[1:]:
            axes = list(stage.leaf_iter_vars)
            if optional and generator.random() < 0.5:
                arguments.append(None)
            elif kind in ("stage", "producer", "place"):
                stage = generator.choice(schedule.stages)
                arguments.append(stage)
            elif kind == "axis":
                arguments.append(generator.choice(axes) if axes else None)
            elif kind == "axes":
                first = generator.randrange(len(axes)) if axes else 0
                arguments.append(axes[first:first + generator.randint(1, 3)])
            elif kind == "stages" and name == "create_group":
                arguments.append([on, *generator.sample(schedule.stages, 1)])
            elif parameter == "include_inputs":
                arguments.append(1)
            elif kind == "stages":
                arguments.append(generator.sample(schedule.stages, generator.randint(1, 2)))
            elif kind == "thread":
                arguments.append(generator.choice(["threadIdx.x", "threadIdx.y[3]", "blockIdx.x", "vthread"]))
            elif kind == "threads":
                arguments.append(["threadIdx.x[8]", "blockIdx.x[4]"])
            elif kind == "condition":
                arguments.append("(threadIdx.x == 0)")
            elif kind in ("int", "size"):
                arguments.append(generator.randint(0, 4))
            elif kind == "ints":
                arguments.append(generator.sample(range(2), 2))
            else:
                arguments.append(generator.choice(["local", "global", "unroll_explicit", "vnni.dot_u8s8"]))
        try:
            on._apply(name, tuple(arguments))
        except tw.UserError:
            pass


def lowered(schedule):
    """The loops in text; or why there are none."""
    try:
        return str(tw.lower(schedule, INPUTS, simple_mode=True))
    except tw.UserError as error:
        return f"{error.code}: {error.what}"


@pytest.mark.parametrize("seed", range(60))
def test_a_script_reproduces_the_schedule(seed):
    outputs = program()
    schedule = te.create_schedule(outputs)
    random_steps(schedule, random.Random(seed), 60)
    script = schedule.trace.as_python()
    assert script == te.Trace(schedule.trace.text).as_python(te.create_schedule(outputs))
    names = {}
    exec(compile(script, "script", "exec"), names)
    again = te.create_schedule(outputs)
    names["apply"](again)
    assert again.trace == schedule.trace, script
    assert lowered(again) == lowered(schedule)
    back = te.Trace.from_json(schedule.trace.as_json())
    assert back == schedule.trace and back.text == schedule.trace.text


def test_most_of_the_schedules_can_be_lowered():
    count = 0
    for seed in range(60):
        schedule = te.create_schedule(program())
        random_steps(schedule, random.Random(seed), 60)
        count += not schedule.check()
    assert count >= 15


def test_random_steps_cover_the_primitives():
    used = set()
    for seed in range(60):
        schedule = te.create_schedule(program())
        random_steps(schedule, random.Random(seed), 60)
        used |= {step.split("@")[0] for step in schedule.trace.steps}
    assert used >= {"split", "fuse", "reorder", "tile", "compute_at", "compute_inline", "cache_read", "cache_write",
                    "vectorize", "parallel", "unroll", "pragma", "prefetch", "set_scope", "collapse_layout",
                    "create_group"}


def test_what_is_no_trace():
    with pytest.raises(tw.UserError) as error:
        te.Trace.from_json('{"trace": 1, "steps": [{"primitive": "split", "version": 1, "arguments": {"stage": 3}}]}')
    assert error.value.code == "bad-trace" and error.value.where == "steps[0].arguments.stage"
    with pytest.raises(tw.UserError, match="not JSON"):
        te.Trace.from_json("{")


def shifted(extent):
    a = te.placeholder((extent,), name="A")
    return a, te.compute((extent,), lambda i: a[i] + 1, name="B")


def check_shifted(schedule, args, sizes):
    built = tw.build(schedule, args)
    for size in (1, 5, 16, 37):
        x, y = np.arange(size, dtype="float32"), np.zeros(size, "float32")
        built(*sizes, tw.nd.array(x), found := tw.nd.array(y))
        np.testing.assert_array_equal(found.numpy(), x + 1)


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_sizes_that_are_in_no_shape_are_arguments(dtype):
    """As in TVM's test of bounds behind a fused axis that is split by a variable."""
    n, f, g = (te.var(name, dtype) for name in "nfg")
    a, b = shifted(n)
    schedule = te.create_schedule(b.op)
    _, inner = schedule[b].split(b.op.axis[0], factor=f * 2 + n)
    schedule[b].split(inner, nparts=g)
    schedule[b].split(schedule[b].leaf_iter_vars[-1], factor=f)
    assert [p.name for p in schedule.parameters] == ["f", "g"]
    for sizes in ((1, 1), (3, 100), (0, -7)):
        check_shifted(schedule, [f, g, a, b], sizes)
        check_shifted(schedule.copy(), [f, g, a, b], sizes)
    names = {}
    exec(compile(schedule.trace.as_python(), "script", "exec"), names)
    for apply in (names["apply"], lambda s: s.apply(te.Trace.from_json(schedule.trace.as_json()))):
        again = te.create_schedule(b.op)
        apply(again)
        assert again.trace == schedule.trace and [p.dtype for p in again.parameters] == [dtype, dtype]
        check_shifted(again, [*again.parameters, a, b], (3, 2))
    with pytest.raises(tw.UserError, match="gives 'g'"):
        tw.build(schedule, [f, a, b])


def test_a_size_is_of_no_axis():
    a, b = shifted(te.var("n"))
    schedule = te.create_schedule(b.op)
    outer, inner = schedule[b].split(b.op.axis[0], factor=4)
    for size, what in ((outer.var, "'i.outer', which is that of an axis"), (b.op.axis[0].var + 1, "'i', which is that of an axis"), (te.var("x", "int16"), "'x', of type int16")):
        with pytest.raises(tw.UserError) as error:
            schedule[b].split(inner, factor=size)
        assert what in error.value.what and error.value.where.startswith("trace_script_test.py:"), error.value
    assert schedule.parameters == []
