# SPDX-License-Identifier: Apache-2.0
"""MegEngine's path of ``megengine.compat.imperative_rt``."""

from ... import _other_engine  # noqa: F401

# isort: split
from ...compat.imperative_rt import *  # noqa: F403
from . import common, core2, graph, imperative, ops, utils  # noqa: F401
