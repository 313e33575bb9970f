# SPDX-License-Identifier: Apache-2.0
"""How networks are built."""

from .._core import raise_error as _raise_error
from ..arguments import refuse_unknown
from ..scopes import Scoped

# The level from which on a step of the build is taken: NNVM's.
OPT_PASS_LEVEL = {
    "SimplifyInference": 0,
    "OpFusion": 1,
    "PrecomputePrune": 2,
    "FakeQuantizationToInteger": 2,
    "FoldScaleAxis": 3,
    "AlterOpLayout": 3,
}


FUSIONS = ("auto", "nnvm")


class BuildConfig(Scoped):
    """What is active inside `with build_config(...)`.

    Attributes
    ----------
    opt_level: int
        0 to 3: see OPT_PASS_LEVEL.
    add_pass: set of str
        Steps that are taken at any level.
    fusion: str
        One of FUSIONS.
    """

    def __init__(self, opt_level=2, add_pass=None, fusion="auto"):
        if opt_level not in (0, 1, 2, 3):
            _raise_error("bad-argument", f"opt_level {opt_level!r}", legal="0, 1, 2, 3")
        if fusion not in FUSIONS:
            _raise_error("bad-argument", f"fusion {fusion!r}", legal=", ".join(FUSIONS))
        self.opt_level = opt_level
        self.fusion = fusion
        if not isinstance(add_pass, (str, set, frozenset, list, tuple, type(None))):
            _raise_error("type-mismatch", f"add_pass is a {type(add_pass).__name__}", legal="a name, or a set of names")
        self.add_pass = {add_pass} if isinstance(add_pass, str) else set(add_pass or ())
        unknown = self.add_pass - OPT_PASS_LEVEL.keys()
        if unknown:
            _raise_error("bad-argument", f"add_pass '{min(map(str, unknown))}'", legal=", ".join(OPT_PASS_LEVEL))

    @classmethod
    def current(cls):
        """The innermost of this thread, by default that of level 2."""
        return cls._innermost() or cls()

    def pass_enabled(self, pass_name):
        """Whether a step of the build is taken."""
        return pass_name in self.add_pass or OPT_PASS_LEVEL[pass_name] <= self.opt_level


def build_config(**options):
    """BuildConfig: `with build_config(opt_level=3): build(...)`.

    Parameters
    ----------
    opt_level: int, by default 2
        0 no fusion, inference simplified; 1 fusion; 2 what depends on parameters alone is computed now, weights are
        packed as kernels want them, and what is quantized is computed with integers; 3 scales go into weights, and layouts are altered for the target.
    add_pass: str or set of str, optional
        Steps that are taken at any level: names of OPT_PASS_LEVEL.
    fusion: "auto" or "nnvm"
        Which nodes become one kernel: "nnvm" as NNVM did; "auto" besides has no kernels that only change shapes, and
        merges kernels where the log or the prior says that one takes less time than several.
    """
    refuse_unknown(options, BuildConfig, "build_config")
    return BuildConfig(**options)
