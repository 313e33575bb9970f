# SPDX-License-Identifier: Apache-2.0
"""Building tensors."""

import inspect

from .. import _core
from ..arguments import as_list, expect, expect_function
from .tag import tag_or_current


def _shape(shape):
    extents = list(shape) if isinstance(shape, (tuple, list)) else [shape]
    # N / 32 of integers is a float in Python 3; scripts mean the number.
    return [int(e) if isinstance(e, float) and e.is_integer() else e for e in extents]


def var(name="tindex", dtype="int32"):
    """A symbolic number, such as an extent that is known when the kernel is called."""
    return _core.Var(name, dtype)


def size_var(name="size", dtype="int32"):
    """A symbolic number that is not negative."""
    return _core.Var(name, dtype)


def placeholder(shape, dtype="float32", name="placeholder", constant=False):
    """An input tensor. Extents are integers, 0 among them, or integer expressions; () has rank 0.

    dtype may be a vector type, such as float32x4: a kernel takes an array with the lanes as one dimension more.

    constant: its values are known when the kernel is built, as weights are. Schedules, the tuner's too, may then
    precompute what depends on nothing else, such as a packed copy; build(..., constants={tensor: array}) gives them.
    """
    return _core.placeholder(_shape(shape), "float32" if dtype is None else dtype, name, constant)


def compute(shape, fcompute, name="compute", tag="", attrs=None, varargs_names=None):
    """A tensor whose element at (i, j, ...) is fcompute(i, j, ...).

    Names of the parameters name the axes. A function that gives a tuple makes a tensor for each of its elements: the
    result is then a list of tensors of one operation. Where fcompute gives a call of a tensor intrinsic on slices,
    vadd(A[i, 0:16], B[i, 0:16]), the dimensions of the shape after those that it takes an axis for are the block that a
    call computes.
    """
    shape = _shape(shape)
    expect(fcompute, "callable", "fcompute", "a function of the axes")
    if varargs_names is not None:
        as_list(varargs_names, "varargs_names", "a list of names, or None")
    names = _axis_names(fcompute, len(shape), varargs_names)
    several = False

    def body(*axes):
        nonlocal several
        result = fcompute(*axes)
        several = isinstance(result, (tuple, list)) or (
            isinstance(result, _core.TensorIntrinCall) and result.intrin.op.num_outputs > 1)
        return result

    attrs = {} if attrs is None else expect(attrs, dict, "attrs", "a dict, or None")
    outputs = _core.compute(shape, body, name, tag_or_current(tag), attrs, names)
    return outputs if several else outputs[0]


def _axis_names(function, rank, varargs_names):
    if varargs_names is not None and len(varargs_names) != rank:
        _core.raise_error("bad-argument", f"{len(varargs_names)} names for {rank} axes", "a name for each axis")
    code = getattr(function, "__code__", None)
    if code is None or inspect.ismethod(function):
        parameters = _parameters(function)
    else:  # the common case, without the cost of inspect
        kinds = code.co_flags & inspect.CO_VARARGS
        parameters = None
        names = list(code.co_varnames[: code.co_argcount])
    if parameters is not None:
        kinds = any(p.kind is p.VAR_POSITIONAL for p in parameters)
        names = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    if kinds:
        return list(varargs_names) if varargs_names is not None else names + [f"i{k}" for k in range(len(names), rank)]
    if len(names) > rank:
        _core.raise_error(
            "index-count", f"the function has {len(names)} parameters and the shape {rank} dimensions",
            f"{rank} parameters, one for each axis")
    return names


def _parameters(function):
    try:
        return list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # what is written in C may not say
        _core.raise_error(
            "type-mismatch", f"the parameters of {_core.describe(function)} are not known", "a function of the axes")


def reduce_axis(dom, name="rv"):
    """An axis to reduce over: dom is (begin, end), end exclusive, or a Range."""
    if not isinstance(dom, _core.Range):
        if not isinstance(dom, (tuple, list)) or len(dom) != 2:
            _core.raise_error("bad-argument", f"the domain of a reduction axis is {dom!r}", "(begin, end)")
        dom = _core.Range(dom[0], dom[1])
    return _core.reduce_axis(dom, name)


def _axes(axis):
    if isinstance(axis, _core.IterVar):
        return [axis]
    if not isinstance(axis, (tuple, list)) or not all(isinstance(a, _core.IterVar) for a in axis):
        _core.raise_error("bad-reduction", f"{axis!r} is no axis of a reduction", "what te.reduce_axis gives, one or several")
    return list(axis)


def _is_axis(axis):
    return isinstance(axis, _core.IterVar) or (
        isinstance(axis, (tuple, list)) and all(isinstance(a, _core.IterVar) for a in axis))


def _starting(reduction, init):
    """The components of a reduction that starts from init, an expression or a tuple, or from its identity."""
    if init is None:
        return reduction
    values = list(init) if isinstance(init, (tuple, list)) else [init]
    types = [component.dtype for component in reduction]
    values = [_core.cast(t, e) for t, e in zip(types, values)] + values[len(types):]
    return _core.starting_from(reduction, values)


def _named(name, expr, axis, where, init):
    return _starting([_core.reduce_expr(name, expr, _axes(axis), where)], init)[0]


def sum(expr, axis, where=None, init=None):
    """The sum of expr over axis (one or several), where the condition holds.

    init: an expression of the axes of the compute that the terms are added to, such as another tensor's element. It may
    not depend on axis.
    """
    return _named("sum", expr, axis, where, init)


def prod(expr, axis, where=None, init=None):
    """The product of expr over axis (one or several), where the condition holds, and of init."""
    return _named("prod", expr, axis, where, init)


def _extreme(name, combine):
    def function(expr, axis, where=None, init=None, *more):
        if _is_axis(axis):
            return _named(name, expr, axis, where, init)
        result = expr
        for operand in (axis, where, init, *more):
            if operand is not None:
                result = combine(result, operand)
        return result

    function.__name__ = function.__qualname__ = name
    return function


max = _extreme("max", _core.max)
max.__doc__ = """The greatest value of expr over axis, and of init; or, of expressions, the greater one: max(a, b).

Of nothing it is the least integer, or minus infinity (TVM: the least finite float).
"""
min = _extreme("min", _core.min)
min.__doc__ = """The least value of expr over axis, and of init; or, of expressions, the lesser one: min(a, b).

Of nothing it is the greatest integer, or infinity (TVM: the greatest finite float).
"""


def comm_reducer(fcombine, fidentity, name="reduce"):
    """A reduction of your own.

    fcombine(x, y) combines two values, or two tuples of values into a tuple; fidentity(dtype, ...) gives the identity
    or a tuple of them. Returns reducer(expr, axis, where=None, init=None), where expr is an expression or a tuple; of a
    tuple the result is a tuple for a compute with several outputs, and so is init, which comes before all terms.

    Terms are combined one after the other. A schedule may take them in another order, or in groups (rfactor), where the
    result is the same: of sums, products, minima, maxima and their places, and of what stands the test of values that
    are drawn. Otherwise it is refused. Of several terms with the same key (an argmax with ties) it may take any.
    """

    expect_function(fcombine, 2, "fcombine", "a function of two values, or of two tuples of values")
    expect(fidentity, "callable", "fidentity", "a function of types")
    expect(name, str, "name", "a string")

    def reducer(expr, axis, where=None, init=None):
        def one_for_each(values, of):
            given = list(values) if isinstance(values, (tuple, list)) else [values]
            if isinstance(values, (tuple, list)) != several or len(given) != count:
                found = f"a tuple of {len(given)} values" if isinstance(values, (tuple, list)) else _core.describe(values)
                _core.raise_error("type-mismatch", f"{of} of '{name}' gives {found}",
                                  f"a tuple of {count} values, one for each that is reduced" if several else "one value")
            return given

        several = isinstance(expr, (tuple, list))
        sources = [_core.const(e) for e in (expr if several else [expr])]
        types = [e.dtype for e in sources]
        suffix = [""] if len(types) == 1 else [str(k) for k in range(len(types))]
        lhs = [_core.Var("x" + k, t) for k, t in zip(suffix, types)]
        rhs = [_core.Var("y" + k, t) for k, t in zip(suffix, types)]
        count = len(types)
        expect_function(fidentity, count, "fidentity", f"a function of {count} types, one for each value")
        identity = one_for_each(fidentity(*types), "fidentity")
        result = one_for_each(fcombine(tuple(lhs), tuple(rhs)) if several else fcombine(lhs[0], rhs[0]), "fcombine")
        cast = [_core.cast(t, _core.const(e)) for t, e in zip(types, identity)]
        combined = _starting(_core.reduce(lhs, rhs, result, cast, sources, _axes(axis), where), init)
        return tuple(combined) if several else combined[0]

    reducer.__name__ = reducer.__qualname__ = name
    return reducer


