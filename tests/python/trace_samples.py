# SPDX-License-Identifier: Apache-2.0
"""What the tests of traces share."""

import numpy as np
import pytest

from megengine import Tensor

both_modes = pytest.mark.parametrize("symbolic", [False, True])


def floats(*values):
    return Tensor(np.array(values, np.float32))
