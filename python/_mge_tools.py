# SPDX-License-Identifier: Apache-2.0
"""Starts the command-line tools of a wheel, which are programs in ``megengine/bin``.

``mge_dump()`` starts ``mge-dump``. The module is outside of the package, which takes longer to
import than most tools run.
"""

import os
import sys
from collections.abc import Callable
from functools import partial

_PROGRAMS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "megengine", "bin")


def _run(name: str) -> None:
    os.execv(os.path.join(_PROGRAMS, name), [name, *sys.argv[1:]])


def __getattr__(function: str) -> Callable[[], None]:
    for name in os.listdir(_PROGRAMS):
        if name.replace("-", "_") == function:
            return partial(_run, name)
    raise AttributeError(f"there is no tool of the name {function!r} in {_PROGRAMS}")
