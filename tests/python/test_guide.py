# SPDX-License-Identifier: Apache-2.0
"""The blocks of docs/python-guide.md run, one after the other."""

import re
from pathlib import Path

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "python-guide.md"


def test_the_guide_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    assert len(blocks) > 9
    names = {"__name__": "guide"}
    for number, block in enumerate(blocks):
        exec(compile(block, f"{GUIDE.name}, block {number}", "exec"), names)
    assert (tmp_path / "net.mge").exists() and (tmp_path / "net.onnx").exists()
