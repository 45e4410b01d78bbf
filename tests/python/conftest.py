# SPDX-License-Identifier: Apache-2.0
import sys
from pathlib import Path

import pytest

# The helpers beside the tests.
sys.path.insert(0, str(Path(__file__).resolve().parent))


@pytest.fixture
def no_process_group(monkeypatch):
    """No process group of an earlier test."""
    from megengine import distributed  # tests without one start sooner
    from megengine.distributed import group

    monkeypatch.setattr(group, "_process", None)
    monkeypatch.setattr(distributed.WORLD, "proc_ranks", [])
