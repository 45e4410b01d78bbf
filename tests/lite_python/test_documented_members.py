# SPDX-License-Identifier: Apache-2.0
"""docs/lite-rows.md has a row for each member; tests/scripts sees to the tests that rows name."""

import re
from pathlib import Path

from megenginelite import LiteGlobal, LiteNetwork, LiteTensor, TensorBatchCollector

PAGE = (Path(__file__).resolve().parents[2] / "docs/lite-rows.md").read_text()


def test_members_match_the_package():
    """Every public method of networks, tensors, collectors and of the process has its row."""
    rows = [line.split("|")[1] for line in PAGE.splitlines() if line.startswith("| ")]
    members = " ".join(rows)
    for kind in (LiteNetwork, LiteTensor, LiteGlobal, TensorBatchCollector):
        for name in dir(kind):
            if not name.startswith("_"):
                assert re.search(rf"\b{name}\b", members), f"{kind.__name__}.{name}"
