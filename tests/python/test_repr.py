# SPDX-License-Identifier: Apache-2.0
"""Replays the recorded representations."""

import re
from collections import OrderedDict

import numpy as np
import pytest
from known_differences import MODULES, MODULES_NOT_AVAILABLE, REPRESENTATIONS
from oracle import ORACLE

import megengine as mge
import megengine.module as M


def read_cases():
    for block in (ORACLE / "repr.txt").read_text().split(">>> ")[1:]:
        call, _, shown = block.partition("\n")
        yield call, shown.strip("\n")


def is_available(call):
    if any(f"M.{name}(" in call for name in MODULES_NOT_AVAILABLE):
        return False
    return not re.search(r"\bQ\.|\bdt\.", call)


CASES = [case for case in read_cases() if is_available(case[0])]


@pytest.mark.parametrize("call, shown", CASES, ids=[call for call, _ in CASES])
def test_shows_as_recorded(call, shown):
    scope = {"mge": mge, "M": M, "np": np, "OrderedDict": OrderedDict}
    inner = call[call.index("(") + 1 : -1]
    if inner in MODULES and shown.startswith("!"):
        eval(call, scope)  # works here
        return
    if call in REPRESENTATIONS:
        assert eval(call, scope) == REPRESENTATIONS[call]
        return
    if shown.startswith("!"):
        name = shown[1 : shown.index(":")]
        with pytest.raises(Exception) as caught:  # noqa: B017 - the class is checked below
            eval(call, scope)
        assert name in [c.__name__ for c in type(caught.value).__mro__]
        return
    assert re.sub(r"0x[0-9a-f]{6,}", "0x…", eval(call, scope)) == shown
