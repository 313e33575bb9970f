# SPDX-License-Identifier: Apache-2.0
"""How programs are lowered: options and passes."""

from . import _core
from .arguments import refuse_unknown
from .scopes import Scoped


# Options of TVM 0.8 by name, and of those that are dicts their entries: the option that says the same ("not" before one
# that says the opposite), or None for what changes nothing here. Double buffers need no loop of two steps, asserts of shapes are checks of a call's arguments.
_OF_TVM = {
    "tir.UnrollLoop": {
        "auto_max_step": "auto_unroll_max_step", "auto_max_depth": "auto_unroll_max_depth", "explicit_unroll": "unroll_explicit", "auto_max_extent": None,
        "unroll_local_access": None},
    "tir.LoopPartition": {"partition_const_loop": "partition_const_loop", "no_unroll_loop_with_extent_one": None, "unroll_loop_with_partition_hint_no_interval": None},
    "tir.InjectDoubleBuffer": {"split_loop": None},
    "tir.instrument_bound_checkers": "check_bounds",
    "tir.debug_keep_trivial_loop": "keep_trivial_loops",
    "tir.disable_vectorize": "not vectorize",
    "tir.noalias": None,
    "tir.disable_assert": None,
    "tir.detect_global_barrier": None,
}
_PASS_OF_TVM = {"tir.disable_storage_rewrite": "storage_rewrite"}


def _of_tvm(config, disabled_pass):
    """The options and passes that TVM's names in `config` mean, with all others as they are."""
    options, passes = {}, list(disabled_pass)
    for name, value in config.items():
        if name in _PASS_OF_TVM:
            passes += [_PASS_OF_TVM[name]] * bool(value)
            continue
        known = _OF_TVM.get(name, name) if isinstance(name, str) else name
        entries = [(known, value)]
        if isinstance(known, dict):
            if not isinstance(value, dict):
                _core.raise_error("bad-argument", f"option '{name}' is {value!r}", "a dict of " + ", ".join(known))
            for entry in value:
                if entry not in known:
                    _core.raise_error("bad-argument", f"option '{name}' has no '{entry}'", ", ".join(known))
            entries = [(known[k], v) for k, v in value.items()]
        for option, given in entries:
            if option is not None:
                opposite = isinstance(option, str) and option.startswith("not ")
                options[option[4:] if opposite else option] = not given if opposite else given
    return options, passes


class PassContext(Scoped):
    """Options of lowering for what runs inside `with PassContext(...)`, on this thread.

    config: options by name; `options()` lists them, and those of TVM 0.8 mean what they mean there. disabled_pass: names of optional passes to leave out; `tw.lower_passes()`
    lists them. observer(pass_name, func) is called after each pass with each kernel as it then is, a kernel that prepares
    constants and device kernels among them. stop_after: name of the last pass to run. After a lowering, `timings` holds (pass, seconds) of it.
    """

    def __init__(
            self, opt_level=None, required_pass=None, disabled_pass=None, config=None, observer=None, stop_after="", **unknown):
        del opt_level, required_pass  # accepted as TVM has them; every pass runs unless it is disabled
        refuse_unknown(unknown, PassContext, "PassContext")
        self.config, self.disabled_pass = _of_tvm(config or {}, disabled_pass or [])
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
