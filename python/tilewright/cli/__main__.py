# SPDX-License-Identifier: Apache-2.0
"""python -m tilewright.cli"""

import sys

from . import main

sys.exit(main())
