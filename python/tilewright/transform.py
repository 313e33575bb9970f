# SPDX-License-Identifier: Apache-2.0
"""How programs are lowered: options and passes."""

from . import _core
from .arguments import refuse_unknown
from .scopes import Scoped


class PassContext(Scoped):
    """Options of lowering for what runs inside `with PassContext(...)`, on this thread.

    config: options by name; `options()` lists them. disabled_pass: names of optional passes to leave out; `tw.lower_passes()`
    lists them. observer(pass_name, func) is called after each pass with each kernel as it then is, a kernel that prepares
    constants and device kernels among them. stop_after: name of the last pass to run. After a lowering, `timings` holds (pass, seconds) of it.
    """

    def __init__(
            self, opt_level=None, required_pass=None, disabled_pass=None, config=None, observer=None, stop_after="", **unknown):
        del opt_level, required_pass  # accepted as TVM has them; every pass runs unless it is disabled
        refuse_unknown(unknown, PassContext, "PassContext")
        self.config = dict(config or {})
        self.disabled_pass = list(disabled_pass or [])
        self.observer = observer
        self.stop_after = stop_after
        _core.check_options(self.config, self.disabled_pass, self.stop_after)
        self.timings = []

    @staticmethod
    def current():
        """The innermost context of this thread, or one with the defaults."""
        return PassContext._innermost() or PassContext()


def options():
    """{name: (default, documentation)} of every option of lowering."""
    return {name: (default, doc) for name, default, doc in _core.pass_options()}
