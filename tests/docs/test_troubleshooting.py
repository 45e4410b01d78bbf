# SPDX-License-Identifier: Apache-2.0
"""Each message on the page of troubleshooting is one that the sources have."""

import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/troubleshooting.md"
FOLDERS = ("libmge", "apps", "python", "scripts")
# A message may consist of several literals, which meet at a value, a quotation or punctuation.
JOINTS = re.compile(r"…|'[^' ]*'|[:;,] |\(|\)")


def messages():
    rows = [line for line in PAGE.read_text().splitlines() if line.startswith("| ")]
    return [row.split("|")[1].strip() for row in rows if not row.startswith("| message")]


@cache
def sources():
    """The text of all sources, in which literals that continue on the next line are one."""
    files = [f for folder in FOLDERS for f in (ROOT / folder).rglob("*")]
    known = [f for f in files if f.is_file() and f.suffix in (".cpp", ".h", ".py", ".sh", "")]
    text = "\n".join(f.read_text(errors="replace") for f in known)
    return re.sub(r'"\s*\n?\s*f?"', "", text)


@pytest.mark.parametrize("message", messages())
def test_message_is_in_the_sources(message):
    assert re.fullmatch(r"`[^`]+`", message), "the first cell is one message, in code"
    parts = [part.strip(" .…") for part in JOINTS.split(message.strip("`"))]
    parts = [part for part in parts if part]
    assert len(" ".join(parts).split()) > 2, "too short to be found"
    assert [part for part in parts if part not in sources()] == []
