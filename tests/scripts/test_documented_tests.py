# SPDX-License-Identifier: Apache-2.0
"""Lists here name the tests of each row on two pages of the documentation; they exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TESTS = ROOT / "tests"
LISTS = {
    "lite-rows.md": "lite_member_tests.tsv",
    "graph-services.md": "graph_service_tests.tsv",
}
NAME = re.compile(
    r"(?:(?P<suite>\w+)\.(?P<case>[A-Z]\w+)"
    r"|(?P<file>\S+\.py)::(?P<function>test_\w+)"
    r"|(?P<program>all_\w+\.c))"
)


def rows_of_page(page):
    """The first cell of each row of the page's tables."""
    lines = (ROOT / "docs" / page).read_text().splitlines()
    rows = [line.split("|")[1].strip() for line in lines if line.startswith("| ")]
    return [row for row in rows if row not in ("member", "MegEngine's name")]


def rows_of_list(file):
    """Name and tests of each row of a list."""
    lines = (TESTS / "scripts" / file).read_text().splitlines()[1:]
    return {name: tests.split() for name, tests in (line.split("\t") for line in lines)}


ROWS = {name: tests for file in LISTS.values() for name, tests in rows_of_list(file).items()}


@pytest.fixture(scope="module")
def cases():
    """Suite and name of all tests in C++."""
    declaration = re.compile(r"^TEST(?:_F)?\((\w+), (\w+)\)", re.M)
    sources = TESTS.rglob("*.cpp")
    return {pair for source in sources for pair in declaration.findall(source.read_text())}


def functions_of(file):
    path = ROOT / file if "/" in file else TESTS / "lite_python" / file
    return set(re.findall(r"^def (test_\w+)\(", path.read_text(), re.M))


@pytest.mark.parametrize("name", sorted({test for tests in ROWS.values() for test in tests}))
def test_named_tests_exist(name, cases):
    match = NAME.fullmatch(name)
    assert match, name
    if match["suite"]:
        assert (match["suite"], match["case"]) in cases
    elif match["file"]:
        assert match["function"] in functions_of(match["file"])
    else:
        assert (TESTS / "lite" / match["program"]).is_file()


@pytest.mark.parametrize("row", ROWS)
def test_rows_name_tests(row):
    assert ROWS[row]


@pytest.mark.parametrize("page", LISTS)
def test_each_row_of_a_page_has_tests(page):
    assert rows_of_page(page) == list(rows_of_list(LISTS[page]))
