# SPDX-License-Identifier: Apache-2.0
"""python -m tilewright.cli"""

from . import program

program()
