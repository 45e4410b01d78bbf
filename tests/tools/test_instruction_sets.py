# SPDX-License-Identifier: Apache-2.0
"""The schema of reports has each instruction set, those of other processors as well."""

import json
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_reports_may_have_each_instruction_set():
    source = (ROOT / "libmge/device/cpu/isa.cpp").read_text()
    names = re.findall(r'"(\w+)"', source.partition("isa_names{")[2].partition("};")[0])
    envelope = json.loads((ROOT / "docs/schemas/envelope.schema.json").read_text())
    assert "neon" in names
    assert envelope["properties"]["host"]["properties"]["isa"]["enum"] == names
