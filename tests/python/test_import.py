# SPDX-License-Identifier: Apache-2.0
"""``import megengine`` enters the rooms that every program needs, the others when asked for."""

import json
import subprocess
import sys

CODE = """
import json, sys
import megengine as mge
early = [name for name in sys.modules if name.startswith("megengine.")]
others = [name for name in ("numpy.random", "tempfile", "multiprocessing") if name in sys.modules]
rooms = [getattr(mge, name).__name__ for name in mge.__all__ if f"megengine.{name}" in sys.modules
         or name in ("autodiff", "data", "jit", "module", "optimizer", "random", "utils")]
print(json.dumps([early, others, rooms, set(mge.__all__) <= set(dir(mge)), mge.load is mge.load]))
"""


def test_rooms_are_entered_when_somebody_asks():
    done = subprocess.run([sys.executable, "-c", CODE], check=True, capture_output=True, text=True)
    early, others, rooms, listed, same = json.loads(done.stdout)
    for name in ("autodiff", "data", "jit", "module", "optimizer", "serialization", "distributed"):
        assert f"megengine.{name}" not in early
    assert not others and listed and same
    assert {"megengine.module", "megengine.data", "megengine.random"} <= set(rooms)


def test_names_of_rooms_can_be_imported():
    code = "from megengine import load, module, save; from megengine import *; data.DataLoader"
    subprocess.run([sys.executable, "-c", code], check=True)
