# SPDX-License-Identifier: Apache-2.0
"""The names of all tools, from the lines that build them."""

import re
from pathlib import Path

_LISTS = Path(__file__).resolve().parents[2] / "apps/CMakeLists.txt"
TOOLS = sorted(re.findall(r"^mge_(?:tool|program)\((\S+)", _LISTS.read_text(), re.MULTILINE))
