# SPDX-License-Identifier: Apache-2.0
"""The exceptions of the project. Every one says what was wrong, where, and what would be legal."""


class TilewrightError(RuntimeError):
    """Base of all errors of the project; str() of it is one line. A RuntimeError, as TVM's errors are.

    Attributes, each a string, "" where there is none:

    - code: stable id such as "not-a-leaf-axis"
    - stage, axis: names of the stage and the axis it is about
    - where: the line of the script ("conv.py:12"), a pass, or an argument
    - what: what was wrong
    - legal: what would be legal
    - nest: the loops of the schedule that it is about, with the culprit marked; a traceback shows them too
    """

    def __init__(self, message="", *, code="internal", stage="", axis="", where="", what="", legal="", nest=""):
        super().__init__(message)
        self.code = code
        self.stage = stage
        self.axis = axis
        self.where = where
        self.what = what or message
        self.legal = legal
        self.nest = nest
        if nest:
            self.add_note(nest)

    def __reduce__(self):
        return _rebuild, (type(self), str(self), self.__dict__)


def _rebuild(cls, message, fields):
    error = cls(message)
    error.__dict__.update(fields)
    return error


class UserError(TilewrightError):
    """What was asked for is wrong, and can be put right by whoever asked."""


class InternalError(TilewrightError):
    """The project is wrong."""


class MeasureError(TilewrightError):
    """A candidate failed to compile, run or compute the right thing."""
