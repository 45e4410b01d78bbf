# SPDX-License-Identifier: Apache-2.0
"""Base classes of fake quantisers: MegEngine 1.13 defines no names here."""

from functools import partial  # noqa: F401

from .. import functional as F  # noqa: F401
from ..autodiff import Function  # noqa: F401
from .fake_quant import _FakeQuantize  # noqa: F401
from .observer import MinMaxObserver  # noqa: F401
from .qconfig import QConfig  # noqa: F401
from .utils import QParams  # noqa: F401
