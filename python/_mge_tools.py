# SPDX-License-Identifier: Apache-2.0
"""Starts the command-line tools of a wheel, which are programs in ``megengine/bin``.

The module is outside of the package, which takes longer to import than most tools run.
"""

import os
import sys

_PROGRAMS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "megengine", "bin")


def _run(name: str) -> None:
    os.execv(os.path.join(_PROGRAMS, name), [name, *sys.argv[1:]])


def load_and_run() -> None:
    _run("load_and_run")


def mge_crypt() -> None:
    _run("mge-crypt")


def mge_dump() -> None:
    _run("mge-dump")


def mge_fastrun_cache() -> None:
    _run("mge-fastrun-cache")


def mge_profile() -> None:
    _run("mge-profile")
