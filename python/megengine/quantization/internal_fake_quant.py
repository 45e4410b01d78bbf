# SPDX-License-Identifier: Apache-2.0
"""What fake quantisers are made of: MegEngine 1.13 defines nothing of its own here."""

from functools import partial  # noqa: F401

from .. import functional as F  # noqa: F401
from ..autodiff import Function  # noqa: F401
from .fake_quant import _FakeQuantize  # noqa: F401
from .observer import MinMaxObserver  # noqa: F401
from .qconfig import QConfig  # noqa: F401
from .utils import QParams  # noqa: F401
