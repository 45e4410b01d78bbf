# SPDX-License-Identifier: Apache-2.0
import check_lists
import pytest

OPERATOR = "struct {0} {{\n    struct Params {{}};\n    MGE_API static const OpInfo info;\n}};\n"


@pytest.fixture
def faults(tree):
    def check(cmake, *sources):
        root = tree({"libmge/CMakeLists.txt": cmake, **{f"libmge/{s}": "" for s in sources}})
        return check_lists.check_sources(root)

    return check


def test_exact_list_passes(faults):
    cmake = "target_sources(mge PRIVATE\n    base/error.cpp  # why\n    base/log.cpp\n)\n"
    assert faults(cmake, "base/error.cpp", "base/log.cpp") == []


def test_unlisted_file_is_named(faults):
    (fault,) = faults("target_sources(mge PRIVATE a.cpp)\n", "a.cpp", "b.cpp")
    assert fault == "libmge/b.cpp: stands in 0 CMake lists, expected 1"


def test_file_listed_twice_is_named(faults):
    (fault,) = faults("add_library(x a.cpp)\nadd_library(y a.cpp)\n", "a.cpp")
    assert fault == "libmge/a.cpp: stands in 2 CMake lists, expected 1"


def test_commented_line_does_not_list_a_file(faults):
    assert len(faults("add_library(x\n    # a.cpp\n)\n", "a.cpp")) == 1


def test_properties_of_a_source_do_not_list_it(faults):
    cmake = "add_library(x a.cpp)\nset_source_files_properties(a.cpp PROPERTIES X Y)\n"
    assert faults(cmake, "a.cpp") == []


def test_missing_file_is_named(faults):
    (fault,) = faults("add_library(x gone.cpp)\n")
    assert fault == "libmge/CMakeLists.txt: gone.cpp does not exist"


def test_unsorted_list_is_named(faults):
    (fault,) = faults("add_library(x b.cpp a.cpp)\n", "a.cpp", "b.cpp")
    assert fault == "libmge/CMakeLists.txt: a.cpp stands after b.cpp: sort the list"


def test_lists_of_different_targets_are_sorted_apart(faults):
    assert faults("mge_test(op b b.cpp)\nmge_test(op a a.cpp)\n", "a.cpp", "b.cpp") == []


def all_header(*operators):
    return '#include "libmge/ops/nn.h"\nusing AllOps = TypeList<' + ", ".join(operators) + ">;\n"


@pytest.mark.parametrize(
    "text, faults",
    [
        (all_header("Conv", "Pool"), []),
        (all_header("Conv"), ["Pool of libmge/ops/nn.h stands there 0 times"]),
        (all_header("Conv", "Pool", "Pool"), ["Pool of libmge/ops/nn.h stands there 2 times"]),
        (
            all_header("Conv", "Pool").replace("nn.h", "other.h"),
            ["does not include libmge/ops/nn.h"],
        ),
        (all_header("Conv") + "// Pool\n", ["Pool of libmge/ops/nn.h stands there 0 times"]),
    ],
)
def test_operator_list(tree, text, faults):
    operators = "struct Helper { int x; };\n" + OPERATOR.format("Conv") + OPERATOR.format("Pool")
    found = check_lists.check_operators(
        tree({"libmge/ops/all.h": text, "libmge/ops/nn.h": operators})
    )
    assert len(found) == len(faults)
    assert all(
        f"libmge/ops/all.h: {fault}" in text for fault, text in zip(faults, found, strict=True)
    )
