# SPDX-License-Identifier: Apache-2.0
"""The tests that tables of the documentation name for what they promise are there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TESTS = ROOT / "tests"
NAME = re.compile(
    r"`(?:(?P<suite>\w+)\.(?P<case>[A-Z]\w+)"
    r"|(?P<file>\S+\.py)::(?P<function>test_\w+)"
    r"|(?P<program>all_\w+\.c))`"
)


def rows_of(page):
    """Name and tests of each row of the page's tables with three columns."""
    lines = [line for line in (ROOT / "docs" / page).read_text().splitlines() if line[:2] == "| "]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return {name: tests for name, _, tests in rows if tests != "tests"}


ROWS = {**rows_of("lite-rows.md"), **rows_of("graph-services.md")}


@pytest.fixture(scope="module")
def cases():
    """Suite and name of all tests in C++."""
    declaration = re.compile(r"^TEST(?:_F)?\((\w+), (\w+)\)", re.M)
    sources = TESTS.rglob("*.cpp")
    return {pair for source in sources for pair in declaration.findall(source.read_text())}


def functions_of(file):
    path = ROOT / file if "/" in file else TESTS / "lite_python" / file
    return set(re.findall(r"^def (test_\w+)\(", path.read_text(), re.M))


@pytest.mark.parametrize(
    "name", sorted({match[0] for tests in ROWS.values() for match in NAME.finditer(tests)})
)
def test_named_tests_exist(name, cases):
    match = NAME.fullmatch(name)
    if match["suite"]:
        assert (match["suite"], match["case"]) in cases
    elif match["file"]:
        assert match["function"] in functions_of(match["file"])
    else:
        assert (TESTS / "lite" / match["program"]).is_file()


@pytest.mark.parametrize("row", ROWS)
def test_rows_name_tests(row):
    assert NAME.search(ROWS[row]) and not NAME.sub("", ROWS[row]).strip()
