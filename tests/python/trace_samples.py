# SPDX-License-Identifier: Apache-2.0
"""Common part of the tests of traces."""

import numpy as np
import pytest

from megengine import Tensor

both_modes = pytest.mark.parametrize("symbolic", [False, True])


def floats(*values):
    return Tensor(np.array(values, np.float32))
