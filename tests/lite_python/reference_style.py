# SPDX-License-Identifier: Apache-2.0
"""Runs cases in the style of MegEngine Lite's own tests without pytest, for another package of the
name: MegEngine's version 1.13 passes all.

python reference_style.py FOLDER: it has net.mge (and, where they are there, the files of its
ciphers).
"""

import importlib.util
import inspect
import sys
import tempfile
from pathlib import Path


def cases_of(file, folder):
    spec = importlib.util.spec_from_file_location(file.stem, file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.FOLDER = folder
    return [(n, f) for n, f in vars(module).items() if n.startswith("test_") and callable(f)]


def passes(name, case):
    with tempfile.TemporaryDirectory() as folder:
        try:
            case(*([Path(folder)] if inspect.signature(case).parameters else []))
        except BaseException as failure:  # noqa: BLE001
            print(f"{name}: {type(failure).__name__}: {failure}", flush=True)
            return False
    return True


if __name__ == "__main__":
    for file in sorted(Path(__file__).parent.glob("test_reference_*.py")):
        cases = cases_of(file, sys.argv[1])
        passed = sum(passes(*case) for case in cases)
        print(f"{file.name}: {passed} of {len(cases)} passed", flush=True)
