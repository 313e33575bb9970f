# SPDX-License-Identifier: Apache-2.0
"""Statements of tensor intrinsics and of te.extern, written in order: `tir.ir_builder.create()`, as in TVM."""

from contextlib import contextmanager
from itertools import chain

from . import _core


class BufferVar:
    """Elements of a buffer by index: `p[i]` reads, `p[i] = x` stores. Of a vector type the index counts vectors.

    With an index for each dimension, `p[i, j]`, the strides of the buffer count; without any the rows lie side by side.
    """

    def __init__(self, builder, data, dtype, offset=0, shape=None, strides=()):
        self._builder, self._data, self._dtype, self._offset = builder, data, dtype, offset
        self._shape, self._strides = shape, strides

    @property
    def data(self):
        return self._data

    def __getitem__(self, index):
        return _core.load(self._dtype, self._data, self._element(index))

    def __setitem__(self, index, value):
        self._builder.emit(_core.store(self._dtype, self._data, self._element(index), _core.const(value)))

    def _element(self, index):
        if not isinstance(index, (tuple, list)):
            return _core.const(index) + self._offset
        if self._shape is None or len(index) != len(self._shape):
            rank = "unknown rank" if self._shape is None else f"rank {len(self._shape)}"
            _core.raise_error("index-count", f"{len(index)} indices for memory of {rank}", "an index for each dimension, or one")
        flat = 0
        if len(self._strides):
            for i, stride in zip(index, self._strides):
                flat = flat + stride * i
        else:
            for i, extent in zip(index, self._shape):
                flat = flat * extent + i
        return _core.const(flat) + self._offset


class IRBuilder:
    """Collects statements; loops and conditions are blocks of `with`.

    where() says which line of a script makes a statement.
    """

    def __init__(self, where=_core.caller):
        self._blocks = [[]]  # of each: statements, and makers of one of what follows, with their lines
        self._where, self._lines = where, []  # (statement, its line)
        self._around = []  # what makes a statement of each block but the first
        self._last_if = (None, None, None)  # statement, condition, body

    def emit(self, statement):
        """Appends a statement, or an expression that is evaluated for its effect."""
        is_expression = isinstance(statement, _core.PrimExpr)
        self._add(_core.evaluate(statement) if is_expression else statement)

    def _add(self, part):
        self._blocks[-1].append((part, self._where()))

    @contextmanager
    def _block(self, wrap):
        self._blocks.append([])
        self._around.append(wrap)
        yield
        self._around.pop()
        self.emit(wrap(self._finish(self._blocks.pop())))

    def _in_threads(self):
        """Whether what follows is of a thread of a block."""
        parts = (part for block in self._blocks for part, _ in block)
        return any(isinstance(wrap, _ThreadLoop) and not wrap.of_blocks for wrap in chain(self._around, parts))

    @contextmanager
    def for_range(self, begin, end, name="i", dtype="int32", kind="serial"):
        """`with ib.for_range(0, n) as i:` kind is serial, parallel, unroll or vectorize."""
        var = _core.Var(name, dtype)
        begin, end = _core.cast(dtype, _core.const(begin)), _core.cast(dtype, _core.const(end))
        with self._block(lambda body: _core.for_loop(var, begin, end - begin, kind, body)):
            yield var

    def threads(self, axis, extent):
        """`with ib.threads(te.thread_axis("threadIdx.x"), n):` what scope_attr does to what follows it."""
        return self._block(_ThreadLoop(axis, extent))

    def while_loop(self, condition):
        """Statements that run as long as the condition holds: it reads memory again before each round.

        Of `tir.all` both sides are evaluated; `tir.if_then_else(a, b, False)` asks b only where a holds.
        """
        condition = _condition(condition, "a while loop over a condition")
        return self._block(lambda body: _core.while_loop(condition, body))

    @contextmanager
    def if_scope(self, cond):
        """Statements for where the condition holds."""
        cond = _condition(cond, "an if over a condition")

        def wrap(body):
            self._last_if = (_core.if_statement(cond, body, None), cond, body)
            return self._last_if[0]

        with self._block(wrap):
            yield

    @contextmanager
    def else_scope(self):
        """Statements for where the condition of the if_scope right before does not hold."""
        statement, cond, then_case = self._last_if
        if statement is None or not self._blocks[-1] or self._blocks[-1][-1][0] is not statement:
            _core.raise_error("bad-argument", "else_scope without if_scope", "an if_scope right before it")
        self._blocks[-1].pop()
        with self._block(lambda body: _core.if_statement(cond, then_case, body)):
            yield

    @contextmanager
    def new_scope(self):
        """A block of its own: what is allocated or named in it ends with it."""
        with self._block(lambda body: body):
            yield

    def allocate(self, dtype, shape, name="buf", scope="local"):
        """Memory of its own for the statements that follow in this block."""
        shape = list(shape) if isinstance(shape, (tuple, list)) else [shape]
        if scope.startswith("shared") and self._in_threads():
            _core.raise_error(
                "bad-argument", f"memory '{name}' that threads share, of scope '{scope}', inside of a loop over threads which run in turn",
                "scope 'local', a thread's own; or te.compute stages whose axes are bound to threads, which wait for each other")
        data = _core.buffer_var(name, dtype)
        self._add(lambda body: _core.allocate(data, dtype, shape, scope, body))
        return BufferVar(self, data, dtype, shape=shape)

    def buffer_ptr(self, buffer, shape=None):
        """The elements of a buffer, counted from its first."""
        own = shape is None
        return BufferVar(self, buffer.data, buffer.dtype, buffer.elem_offset,
                         buffer.shape if own else shape, buffer.strides if own else ())

    def let(self, name, value):
        """A variable for a value, in the statements that follow in this block."""
        value = _core.const(value)
        var = _core.Var(name, value.dtype)
        self._add(lambda body: _core.let_stmt(var, value, body))
        return var

    def scope_attr(self, node, attr_key, value):
        """Threads or a pragma for the statements that follow in this block.

        (te.thread_axis(...), "thread_extent", n): so many threads run them, each with its number. Those of blockIdx are
        iterations on the thread pool; the others of one block run in turn, so that none may wait for another.
        (node, "pragma_auto_unroll_max_step", steps) and other pragmas; node is unused.
        """
        if attr_key == "thread_extent":
            return self._add(_ThreadLoop(node, value))
        if not attr_key.startswith("pragma_"):
            _core.raise_error("bad-argument", f"an attribute {attr_key!r}", "thread_extent, or one that begins with pragma_")
        self._add(lambda body: _core.attr_stmt(attr_key, _core.const(value), body))

    def assert_(self, condition, message="an assertion does not hold"):
        """What must hold here when the kernel runs; the call raises an error with the message otherwise."""
        condition = _condition(condition, "an assertion of a condition")
        self._add(lambda body: _core.assert_stmt(condition, message, body))

    def likely(self, cond):
        """The condition, which is expected to hold."""
        return _core.likely(cond)

    def get(self):
        """The statements."""
        body = self._finish(self._blocks[0])
        body.lines = self._lines
        return body

    def _finish(self, parts):
        done = []
        for part, where in reversed(parts):
            if callable(part):
                part, done = part(_core.block(done[::-1])), []
            done.append(part)
            self._lines.append((part, where))
        return _core.block(done[::-1])


class _ThreadLoop:
    """Makes a loop over threads of the statements inside of it."""

    def __init__(self, axis, extent):
        tag = getattr(axis, "thread_tag", None)
        if tag is None:
            _core.raise_error("bad-argument", f"thread_extent of {axis!r}", f"te.thread_axis of {', '.join(_core.thread_tags)}")
        self._var, self._extent = axis.var, _core.cast("int32", _core.const(extent))
        self.of_blocks = tag.startswith("blockIdx.")
        own = axis.dom[1] if axis.dom else None
        if own is not None and isinstance(self._extent, _core.IntImm) and self._extent.value != own:
            _core.raise_error("bad-argument", f"{self._extent.value} threads of an axis over {own}", f"{own}, or te.thread_axis({tag!r})")

    def __call__(self, body):
        return _core.for_loop(self._var, _core.const(0), self._extent, "parallel" if self.of_blocks else "serial", body)


def _condition(condition, what):
    condition = _core.const(condition)
    if str(condition.dtype) != "bool":
        _core.raise_error("type-mismatch", f"{what} of type {condition.dtype}", "a comparison, of type bool")
    return condition


def create():
    """An empty builder."""
    return IRBuilder()
