# SPDX-License-Identifier: Apache-2.0
import check_macros
import pytest


@pytest.fixture
def faults(tree):
    def check(allowlist, source):
        return check_macros.check(
            tree({"scripts/macro_allowlist": allowlist, "libmge/base/a.h": source})
        )

    return check


def test_listed_macro_passes(faults):
    assert faults("# comment\nMGE_API  export\n", "#define MGE_API\n") == []


def test_other_macro_is_named(faults):
    assert faults("", "#pragma once\n  #  define DEFINE_OP(x) x\n") == [
        "libmge/base/a.h:2: macro DEFINE_OP is not in scripts/macro_allowlist"
    ]


def test_unused_entry_is_named(faults):
    assert faults("MGE_API  export\n", "") == ["scripts/macro_allowlist: no file defines MGE_API"]


def test_name_without_reason_is_refused():
    with pytest.raises(ValueError, match="'MGE_API' has no reason"):
        check_macros.read_allowlist("MGE_API\n")
