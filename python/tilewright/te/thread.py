# SPDX-License-Identifier: Apache-2.0
"""Thread axes, which loops are bound to."""

from .. import _core


class ThreadAxis(_core.Var):
    """A thread axis: `thread_tag` says which, `dom` is its range or None. In expressions it is the number of the thread."""

    iter_type = "thread_index"

    def __init__(self, dom, tag, name):
        super().__init__(tag, "int32")  # a trace names it by its tag, and so does the variable
        self.dom, self.thread_tag, self._name = dom, tag, name

    @property
    def name(self):
        return self._name

    @property
    def var(self):
        return self

    @property
    def _text(self):
        return self.thread_tag if self.dom is None else f"{self.thread_tag}[{self.dom[1] - self.dom[0]}]"

    def __repr__(self):
        return f"thread_axis({self._text})"


def thread_axis(dom=None, tag="", name=""):
    """A thread axis to bind loops to.

    dom: None, an extent, or (0, extent); loops bound to it then have at most so many iterations.
    tag: blockIdx, threadIdx (.x, .y, .z), or vthread. As in TVM 0.8, it may stand first.
    """
    if isinstance(dom, str):
        dom, tag = None, dom
    if not isinstance(tag, str) or tag not in _core.thread_tags:
        _core.raise_error("bad-argument", f"{tag!r} is no tag of a thread axis", ", ".join(_core.thread_tags))
    if not isinstance(name, str):
        _core.raise_error("bad-argument", f"name is {name!r}", "a string")
    if isinstance(dom, int):
        dom = (0, dom)
    if dom is not None:
        pair = isinstance(dom, (tuple, list)) and len(dom) == 2 and all(isinstance(d, int) for d in dom)
        if not pair or dom[0] != 0 or dom[1] <= 0:
            _core.raise_error("bad-argument", f"a thread axis over {dom!r}", "an extent, or (0, extent)")
        dom = tuple(dom)
    return ThreadAxis(dom, tag, name or tag)
