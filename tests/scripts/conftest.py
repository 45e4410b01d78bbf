# SPDX-License-Identifier: Apache-2.0
"""A small source tree to break, and the checks of scripts/ as modules."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))


@pytest.fixture
def tree(tmp_path):
    """Writes files given as {path: text} below a temporary root; returns the root."""

    def write(files):
        for name, text in files.items():
            file = tmp_path / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        return tmp_path

    return write
