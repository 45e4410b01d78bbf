# SPDX-License-Identifier: Apache-2.0
"""The tests that docs/lite-rows.md names for each member of Lite are there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TESTS = ROOT / "tests"
PAGE = (ROOT / "docs/lite-rows.md").read_text()
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in PAGE.splitlines()
    if line.startswith("| ") and not line.startswith("| member |")
]
NAME = re.compile(
    r"`(?:(?P<suite>\w+)\.(?P<case>[A-Z]\w+)"
    r"|(?P<file>\S+\.py)::(?P<function>test_\w+)"
    r"|(?P<program>all_\w+\.c))`"
)


@pytest.fixture(scope="module")
def cases():
    """Suite and name of all tests in C++ that Lite's rows may name."""
    sources = [*TESTS.glob("lite/*.cpp"), *TESTS.glob("model/import/*.cpp")]
    declaration = re.compile(r"^TEST(?:_F)?\((\w+), (\w+)\)", re.M)
    return {pair for source in sources for pair in declaration.findall(source.read_text())}


def functions_of(file):
    path = ROOT / file if "/" in file else TESTS / "lite_python" / file
    return set(re.findall(r"^def (test_\w+)\(", path.read_text(), re.M))


@pytest.mark.parametrize("name", sorted({match[0] for match in NAME.finditer(PAGE)}))
def test_named_tests_exist(name, cases):
    match = NAME.fullmatch(name)
    if match["suite"]:
        assert (match["suite"], match["case"]) in cases
    elif match["file"]:
        assert match["function"] in functions_of(match["file"])
    else:
        assert (TESTS / "lite" / match["program"]).is_file()


@pytest.mark.parametrize("row", ROWS, ids=[row[0] for row in ROWS])
def test_rows_name_tests(row):
    _, _, tests = row
    assert NAME.search(tests) and not NAME.sub("", tests).strip()


def test_members_are_those_of_the_package():
    """Every public method of networks, tensors, collectors and of the process has its row."""
    from megenginelite import LiteGlobal, LiteNetwork, LiteTensor, TensorBatchCollector

    members = " ".join(row[0] for row in ROWS)
    for kind in (LiteNetwork, LiteTensor, LiteGlobal, TensorBatchCollector):
        for name in vars(kind):
            if not name.startswith("_"):
                assert re.search(rf"\b{name}\b", members), f"{kind.__name__}.{name}"
