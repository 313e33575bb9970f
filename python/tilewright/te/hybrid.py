# SPDX-License-Identifier: Apache-2.0
"""A restricted Python function as a stage, as TVM's `te.hybrid`.

    @te.hybrid.script
    def outer(a, b):
        c = output_tensor((a.shape[0], b.shape[0]), a.dtype)
        for i in range(a.shape[0]):
            for j in range(b.shape[0]):
                c[i, j] = a[i] * b[j]
        return c

    C = outer(A, B)  # of te tensors: a stage; of NumPy arrays it runs as Python

In the function stand loops over `range`, `serial`, `parallel`, `vectorize`, `unroll`, `const_range` and
`bind("threadIdx.x", n)`, whose iterations are threads (`ir_builder.scope_attr`), `while`, `if`,
assignments to elements and to scalars, `output_tensor` and `allocate`, arithmetic, comparisons, mathematical functions, `assert`,
and one `return` of outputs at the end.

A function that only gives each element of one output its value or its sum, in loops of `range` over the dimensions in
their order, is a stage of `te.compute`, whose axes are these loops. Any other is one of statements, as of `te.extern`.
"""

import ast
import functools
import inspect
import os
import textwrap
import types

from .. import _core, ir_builder, tir
from ..error import UserError
from .extern import extern
from .hybrid_nest import nest_of
from .intrin import decl_buffer
from .operation import compute, reduce_axis
from .operation import sum as sum_over
from .thread import thread_axis

_RANGES = "range, serial, parallel, vectorize, unroll, const_range or bind"
_LEGAL = (f"for loops over {_RANGES}; while; if; assignments; output_tensor; allocate; "
          "assert; return of outputs at the end")
_LOOPS = {"range": "serial", "serial": "serial", "parallel": "parallel", "vectorize": "vectorize", "unroll": "unroll"}
_MATH = {name: getattr(tir, name) for name in (
    "abs", "acos", "asin", "atan", "ceil", "cos", "cosh", "erf", "exp", "exp2", "floor", "log", "log2", "log10", "nearbyint",
    "popcount", "power", "round", "rsqrt", "sigmoid", "sin", "sinh", "sqrt", "tan", "tanh", "trunc", "likely", "floordiv",
    "floormod", "truncdiv", "truncmod", "if_then_else")}
_TYPES = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "bfloat16", "float32",
          "float64")
_BINARY = {
    ast.Add: lambda a, b: a + b, ast.Sub: lambda a, b: a - b, ast.Mult: lambda a, b: a * b, ast.Div: lambda a, b: a / b,
    ast.FloorDiv: lambda a, b: a // b, ast.Mod: lambda a, b: a % b, ast.LShift: lambda a, b: a << b,
    ast.RShift: lambda a, b: a >> b, ast.BitAnd: lambda a, b: a & b, ast.BitOr: lambda a, b: a | b,
    ast.BitXor: lambda a, b: a ^ b, ast.Pow: lambda a, b: a ** b if _is_python(a, b) else tir.power(a, b)}
_COMPARE = {
    ast.Lt: lambda a, b: a < b, ast.LtE: lambda a, b: a <= b, ast.Gt: lambda a, b: a > b, ast.GtE: lambda a, b: a >= b,
    ast.Eq: lambda a, b: a == b, ast.NotEq: lambda a, b: a != b}


def script(function):
    """Makes stages of the calls of a function. Errors name its line and what is legal there."""
    try:
        lines, first = inspect.getsourcelines(function)
    except (OSError, TypeError):
        _core.raise_error("bad-argument", f"the source of {function!r} is not known", "a function of a file or a notebook")
    try:
        tree = ast.parse(textwrap.dedent("".join(lines))).body[0]
    except SyntaxError:  # a part of an expression
        tree = None
    if not isinstance(tree, ast.FunctionDef):
        _core.raise_error("bad-argument", f"{function!r} is no function of `def`", "a function of `def`, as te.hybrid.script before its definition")
    path = os.path.basename(inspect.getsourcefile(function) or "?")
    nest = nest_of(tree)

    @functools.wraps(function)
    def stage(*args):
        if any(isinstance(a, (_core.Tensor, _core.PrimExpr)) for a in args):
            computed = nest and _Function(function, tree, path, first).computed(args, nest)
            return _Function(function, tree, path, first).stage(args) if computed is None else computed
        emulated = types.FunctionType(
            function.__code__, {**function.__globals__, **_emulation()}, function.__name__, function.__defaults__,
            function.__closure__)
        return emulated(*args)

    return stage


def _is_python(*values):
    return all(isinstance(v, (int, float, bool)) for v in values)


def _has_elements(node):
    return any(isinstance(n, ast.Subscript) for n in ast.walk(node))


class _Array:
    """An input, an output or an allocation, by index."""

    def __init__(self, pointer, shape, dtype, kind):
        self.pointer, self.shape, self.dtype, self.kind = pointer, tuple(shape), dtype, kind


class _Cell:
    """A scalar that is assigned more than once, in memory of one element."""

    def __init__(self, pointer):
        self.pointer = pointer


class _Function:
    """One translation of a function, for the tensors of one call."""

    def __init__(self, function, tree, path, first):
        self._function, self._tree, self._path, self._first = function, tree, path, first
        self._node = tree  # what is being translated
        self._ib = ir_builder.IRBuilder(where=lambda: self._line(self._node))
        self._scopes = [{}]
        self._outputs, self._returned = [], None
        self._globals = inspect.getclosurevars(function)
        stores = [n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
        changed = [n.target.id for n in ast.walk(tree) if isinstance(n, ast.AugAssign) and isinstance(n.target, ast.Name)]
        self._changed = {name for name in stores if stores.count(name) > 1} | set(changed)

    def computed(self, args, nest):
        """The stage of te.compute that a nest is. None where loops do not run over the dimensions, and where anything is
        wrong, of which `stage` says what."""
        try:
            return self._computed(args, nest)
        except UserError:
            return None

    def _computed(self, args, nest):
        self._bind(args, lambda tensor, name: tensor)
        shape, dtype = self._declared(nest.declaration)
        self._scopes[0][nest.output] = _Array(None, shape, dtype, "output")
        extents = [self._value(loop.iter.args[0]) for loop in nest.loops]
        same = [tir.structural_equal(_core.const(a), _core.const(b)) for a, b in zip(extents, shape)]
        if len(extents) != len(shape) or not all(same):
            return None
        axes = [reduce_axis((0, self._value(loop.iter.args[0])), loop.target.id) for loop in nest.reductions]
        names = [loop.target.id for loop in nest.loops]

        def element(*index):
            scope = dict(zip(names, index)) | {axis.var.name: axis.var for axis in axes}
            self._scopes.append(scope)
            start = self._value(nest.start)
            if nest.term is None:
                return _core.cast(dtype, start)
            init = None if _is_python(start) and start == 0 else _core.cast(dtype, start)
            return sum_over(_core.cast(dtype, self._value(nest.term)), axes, init=init)

        return compute(shape, element, self._function.__name__, varargs_names=names)

    def _bind(self, args, pointer_of):
        parameters = [a.arg for a in self._tree.args.args]
        if len(args) != len(parameters):
            self._fail(self._tree, f"{len(args)} arguments for {len(parameters)} parameters", "one for each", "type-mismatch")
        for name, value in zip(parameters, args):
            if isinstance(value, _core.Tensor):
                value = _Array(pointer_of(value, name), value.shape, str(value.dtype), "input")
            self._scopes[0][name] = value

    def stage(self, args):
        inputs, buffers = [], []

        def pointer_of(tensor, name):
            inputs.append(tensor)
            buffers.append(decl_buffer(tensor.shape, tensor.dtype, name))
            return self._ib.buffer_ptr(buffers[-1])

        self._bind(args, pointer_of)
        body = self._tree.body
        if isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):  # its docstring
            body = body[1:]
        self._statements(body)
        if self._returned is None:
            self._fail(self._tree, "nothing is returned", "return of what output_tensor gives")
        missing = [o for o in self._outputs if all(o is not r for r in self._returned)]
        if missing:
            self._fail(self._tree, "an output_tensor is not returned", "return of all outputs, or allocate")
        by_array = {id(array): buffer for array, buffer in zip(self._outputs, self._output_buffers())}
        outs = [by_array[id(r)] for r in self._returned]
        result = extern(
            [r.shape for r in self._returned], inputs, lambda ins, out: self._ib.get(), name=self._function.__name__,
            dtype=[r.dtype for r in self._returned], in_buffers=buffers, out_buffers=outs)
        return result[0] if len(result) == 1 else result

    def _output_buffers(self):
        return [o.buffer for o in self._outputs]

    def _fail(self, node, what, legal=_LEGAL, code="bad-argument"):
        _core.raise_error(code, what, legal, self._line(node))

    def _line(self, node):
        return f"{self._path}:{self._first + getattr(node, 'lineno', 1) - 1}"

    # Names

    def _find(self, node):
        for scope in reversed(self._scopes):
            if node.id in scope:
                return scope[node.id]
        for known in (self._globals.nonlocals, self._globals.globals):
            value = known.get(node.id)
            if isinstance(value, (int, float, bool, tuple, list, _core.PrimExpr)):
                return value
        return self._fail(node, f"'{node.id}' has no value here", "a parameter, a loop variable, or a name assigned above in this block",
                          "unbound-variable")

    # Statements

    def _statements(self, body):
        around = self._node
        for node in body:
            self._node = node
            if self._returned is not None:
                self._fail(node, "a statement after return", "return as the last statement")
            method = getattr(self, "_" + type(node).__name__, None)
            if not isinstance(node, ast.stmt) or method is None:
                self._fail(node, f"a statement of kind {type(node).__name__}")
            method(node)
        self._node = around

    def _block(self, body):
        self._scopes.append({})
        self._statements(body)
        self._scopes.pop()

    def _Pass(self, node):
        pass

    def _For(self, node):
        if node.orelse or not isinstance(node.target, ast.Name):
            self._fail(node, "a loop with else, or over several variables", "for i in range(n):")
        call = node.iter
        name = call.func.id if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) else ""
        if name == "bind":
            return self._threads(node, call)
        if name not in _LOOPS and name != "const_range":
            self._fail(node, f"a loop over {ast.unparse(call)}", _RANGES)
        bounds = [self._value(a) for a in call.args]
        if not 1 <= len(bounds) <= (3 if name == "const_range" else 2) or call.keywords:
            self._fail(node, f"{ast.unparse(call)} has no begin and end", f"{name}(end) or {name}(begin, end)")
        if name == "const_range":
            bounds = [self._constant(node, b) for b in bounds]
            for i in range(*bounds):
                self._scopes.append({node.target.id: i})
                self._statements(node.body)
                self._scopes.pop()
            return
        begin, end = ([0] + bounds)[-2:]
        with self._ib.for_range(begin, end, node.target.id, kind=_LOOPS[name]) as i:
            self._scopes.append({node.target.id: i})
            self._statements(node.body)
            self._scopes.pop()

    def _threads(self, node, call):
        given = [self._value(a) for a in call.args]
        if len(given) != 2 or call.keywords or not isinstance(given[0], str):
            self._fail(node, f"a loop over {ast.unparse(call)}", 'bind("threadIdx.x", extent)')
        axis = thread_axis(given[0])
        with self._ib.threads(axis, given[1]):
            self._scopes.append({node.target.id: axis})
            self._statements(node.body)
            self._scopes.pop()

    def _While(self, node):
        if node.orelse:
            self._fail(node, "a while loop with else", "while condition:")
        condition = self._value(node.test)
        if _is_python(condition):
            if condition:
                self._fail(node, f"a while loop that never ends: {ast.unparse(node.test)} always holds",
                           "a condition of what the loop changes: elements, or names assigned before it and in it")
            return
        if str(condition.dtype) != "bool":
            self._fail(node, f"a while loop over a condition of type {condition.dtype}", "a comparison, of type bool", "type-mismatch")
        with self._ib.while_loop(condition):
            self._block(node.body)

    def _constant(self, node, value):
        if isinstance(value, _core.IntImm):
            value = value.value
        if not isinstance(value, int):
            self._fail(node, "const_range of what is not constant", "numbers, and shapes that are numbers")
        return value

    def _If(self, node):
        condition = self._value(node.test)
        if _is_python(condition):
            return self._block(node.body if condition else node.orelse)
        with self._ib.if_scope(condition):
            self._block(node.body)
        if node.orelse:
            with self._ib.else_scope():
                self._block(node.orelse)

    def _Assert(self, node):
        message = "an assertion does not hold"
        if isinstance(node.msg, ast.Constant):
            message = str(node.msg.value)
        condition = self._value(node.test)
        if not _is_python(condition):
            self._ib.assert_(condition, message)
        elif not condition:
            self._fail(node, message, "arguments for which the assertion holds", "assertion-failed")

    def _Return(self, node):
        if len(self._scopes) != 1:
            self._fail(node, "return inside a loop or a condition", "return as the last statement")
        values = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
        found = [self._find(v) if isinstance(v, ast.Name) else None for v in values]
        if any(not isinstance(v, _Array) or v.kind != "output" for v in found):
            self._fail(node, f"return of {ast.unparse(node.value) if node.value else 'nothing'}", "what output_tensor gives")
        self._returned = found

    def _Expr(self, node):
        self._fail(node, f"{ast.unparse(node)} has no effect")

    def _Assign(self, node):
        if len(node.targets) != 1:
            self._fail(node, "several names for one value", "one target")
        target = node.targets[0]
        if isinstance(target, ast.Subscript):
            return self._store(target, self._value(node.value))
        if not isinstance(target, ast.Name):
            self._fail(node, f"an assignment to {ast.unparse(target)}", "a name, or an element a[i, j]")
        call = node.value
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in ("output_tensor", "allocate"):
            return self._declare(target.id, call)
        self._define(target, self._value(node.value))

    def _AugAssign(self, node):
        read = ast.copy_location(
            ast.Name(node.target.id, ast.Load()) if isinstance(node.target, ast.Name)
            else ast.Subscript(node.target.value, node.target.slice, ast.Load()), node.target)
        value = self._binary(node, node.op, self._value(read), self._value(node.value))
        if isinstance(node.target, ast.Subscript):
            return self._store(node.target, value)
        self._define(node.target, value)

    def _define(self, target, value):
        for scope in reversed(self._scopes):
            known = scope.get(target.id)
            if isinstance(known, _Cell):
                known.pointer[0] = value
                return
            if known is not None:
                self._fail(target, f"an assignment to '{target.id}', which is a parameter, a loop variable or an array",
                           "a name of its own")
        if isinstance(value, _Array):
            self._fail(target, "an array under another name", "the array itself")
        if target.id in self._changed:
            dtype = str(_core.const(value).dtype)
            cell = _Cell(self._ib.allocate(dtype, (1,), target.id))
            cell.pointer[0] = value
            value = cell
        elif isinstance(value, _core.PrimExpr) and not isinstance(value, (_core.IntImm, _core.FloatImm)):
            value = self._ib.let(target.id, value)
        self._scopes[-1][target.id] = value

    def _declared(self, call):
        """Its shape and element type."""
        kind = call.func.id
        given = [self._value(a) for a in call.args]
        if not 1 <= len(given) <= (3 if kind == "allocate" else 2) or call.keywords:
            self._fail(call, f"{ast.unparse(call)}", f"{kind}(shape, dtype)")
        shape = given[0] if isinstance(given[0], (tuple, list)) else (given[0],)
        dtype = given[1] if len(given) > 1 else "float32"
        if not isinstance(dtype, str) or dtype not in _TYPES:
            self._fail(call, f"an element type {dtype!r}", ", ".join(_TYPES), "unknown-dtype")
        return shape, dtype

    def _declare(self, name, call):
        kind = call.func.id
        shape, dtype = self._declared(call)
        if kind == "allocate":
            pointer = self._ib.allocate(dtype, shape, name, *[self._value(a) for a in call.args[2:]])
            self._scopes[-1][name] = _Array(pointer, shape, dtype, kind)
            return
        if len(self._scopes) != 1:
            self._fail(call, "output_tensor inside a loop or a condition", "output_tensor at the beginning")
        buffer = decl_buffer(shape, dtype, name)
        output = _Array(self._ib.buffer_ptr(buffer), shape, dtype, "output")
        output.buffer = buffer
        self._outputs.append(output)
        self._scopes[-1][name] = output

    def _element(self, node):
        array = self._value(node.value)
        if not isinstance(array, _Array):
            self._fail(node, f"{ast.unparse(node.value)} has no elements", "an input, an output or an allocation")
        index = self._value(node.slice)
        index = tuple(index) if isinstance(index, (tuple, list)) else (index,)
        if len(index) != len(array.shape):
            self._fail(node, f"{len(index)} indices for {len(array.shape)} dimensions", "an index for each dimension",
                       "index-count")
        return array, index

    def _store(self, target, value):
        array, index = self._element(target)
        if array.kind == "input":
            self._fail(target, "a store into an input", "output_tensor, or allocate")
        array.pointer[index] = value

    # Expressions: Python numbers as long as they are constant, else expressions

    def _value(self, node):
        method = getattr(self, "_value_" + type(node).__name__, None)
        if method is None:
            self._fail(node, f"an expression {ast.unparse(node)}", "arithmetic, comparisons, elements, calls of mathematical functions")
        return method(node)

    def _value_Constant(self, node):
        return node.value

    def _value_Name(self, node):
        value = self._find(node)
        return value.pointer[0] if isinstance(value, _Cell) else value

    def _value_Tuple(self, node):
        return tuple(self._value(e) for e in node.elts)

    _value_List = _value_Tuple

    def _value_Attribute(self, node):
        array = self._value(node.value)
        if not isinstance(array, _Array) or node.attr not in ("shape", "dtype"):
            self._fail(node, ast.unparse(node), "shape and dtype of an array")
        return getattr(array, node.attr)

    def _value_Subscript(self, node):
        of = self._value(node.value)
        if isinstance(of, (tuple, list)):
            k = self._value(node.slice)
            k = k.value if isinstance(k, _core.IntImm) else k
            if not isinstance(k, int) or not -len(of) <= k < len(of):
                self._fail(node, f"element {k} of a list of {len(of)}", "a constant inside the list")
            value = of[k]
            return value.value if isinstance(value, _core.IntImm) else value
        array, index = self._element(node)
        return array.pointer[index]

    def _binary(self, node, op, a, b):
        function = _BINARY.get(type(op))
        if function is None:
            self._fail(node, f"an operator {type(op).__name__}", "+ - * / // % ** << >> & | ^")
        if isinstance(op, ast.Div) and not _is_python(a, b):
            return tir.div(a, b)
        return function(a, b)

    def _value_BinOp(self, node):
        return self._binary(node, node.op, self._value(node.left), self._value(node.right))

    def _value_UnaryOp(self, node):
        value = self._value(node.operand)
        if isinstance(node.op, ast.USub):
            return -value
        if isinstance(node.op, ast.UAdd):
            return value
        if isinstance(node.op, ast.Not):
            return not value if _is_python(value) else _core.logical_not(value)
        return ~value

    def _value_BoolOp(self, node):
        values = [self._value(v) for v in node.values]
        both = isinstance(node.op, ast.And)
        if _is_python(*values):
            return all(values) if both else any(values)
        # As in Python a later element is read only where what stands before it has not decided.
        result, *others = reversed(list(zip(values, node.values)))
        result, reads = result[0], _has_elements(result[1])
        for value, of in others:
            if reads and not _is_python(value):
                decided = _core.const(not both, "bool")
                result = tir.if_then_else(value, result, decided) if both else tir.if_then_else(value, decided, result)
            else:
                result = tir.all(value, result) if both else tir.any(value, result)
            reads = reads or _has_elements(of)
        return result

    def _value_Compare(self, node):
        sides = [self._value(v) for v in (node.left, *node.comparators)]
        parts = []
        for op, a, b in zip(node.ops, sides, sides[1:]):
            if type(op) not in _COMPARE:
                self._fail(node, f"a comparison {type(op).__name__}", "< <= > >= == !=")
            parts.append(_COMPARE[type(op)](a, b) if _is_python(a, b) else _COMPARE[type(op)](_core.const(a), _core.const(b)))
        if len(parts) == 1:
            return parts[0]
        return all(parts) if _is_python(*parts) else tir.all(*parts)

    def _value_IfExp(self, node):
        condition = self._value(node.test)
        if _is_python(condition):
            return self._value(node.body if condition else node.orelse)
        return tir.if_then_else(condition, self._value(node.body), self._value(node.orelse))

    def _value_Call(self, node):
        function = node.func
        name = function.id if isinstance(function, ast.Name) else getattr(function, "attr", "")
        args = [self._value(a) for a in node.args]
        if node.keywords:
            self._fail(node, "arguments by name", "arguments in order")
        if name == "len" and len(args) == 1 and isinstance(args[0], (tuple, list)):
            return len(args[0])
        if name == "ceil_div" and len(args) == 2:
            return (args[0] + args[1] - 1) // args[1]
        if name in ("max", "min") and args:
            combine = {"max": tir.max, "min": tir.min}[name]
            if _is_python(*args):
                return {"max": max, "min": min}[name](args)
            return functools.reduce(lambda a, b: combine(a, b), args)
        if name in _TYPES and len(args) == 1:
            return tir.cast(name, args[0])
        if name in ("int", "float") and len(args) == 1:
            return tir.cast("int32" if name == "int" else "float32", args[0])
        if name not in _MATH:
            return self._fail(node, f"a call of {ast.unparse(function)}",
                              "len, ceil_div, max, min, casts such as float32(x), " + ", ".join(sorted(_MATH)))
        return _MATH[name](*args)


def _emulation():
    """What the names of a script are where it runs as Python, on NumPy arrays."""
    import numpy

    def array(shape, dtype="float32", scope="global"):
        return numpy.zeros(shape, dtype)

    names = {name: range for name in ("serial", "parallel", "vectorize", "unroll", "const_range")}
    names["bind"] = lambda tag, extent: range(extent)
    names.update({"output_tensor": array, "allocate": array, "likely": lambda x: x,
                  "ceil_div": lambda a, b: (a + b - 1) // b, "sigmoid": lambda x: 1 / (1 + numpy.exp(-x)),
                  "rsqrt": lambda x: 1 / numpy.sqrt(x), "popcount": lambda x: bin(x).count("1"),
                  "if_then_else": lambda c, a, b: a if c else b})
    for name in ("exp", "exp2", "log", "log2", "log10", "sin", "cos", "tan", "tanh", "sqrt", "power", "floor", "ceil", "trunc"):
        names[name] = getattr(numpy, name)
    for name in _TYPES:
        if hasattr(numpy, name) and name != "bool":
            names[name] = getattr(numpy, name)
    return names
