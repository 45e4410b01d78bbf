# SPDX-License-Identifier: Apache-2.0
"""Replays the recorded representations."""

import re
from collections import OrderedDict

import numpy as np
import pytest
from known_differences import MODULES, REPRESENTATIONS
from oracle import ORACLE

import megengine as mge
import megengine.module as M

# The default device of Tensors.
PLACE = mge.Tensor(0.0).device


def here(shown):
    return shown.replace("xpux:0", str(PLACE))


def read_cases():
    for block in (ORACLE / "repr.txt").read_text().split(">>> ")[1:]:
        call, _, shown = block.partition("\n")
        yield call, here(shown.strip("\n"))


def is_available(call):
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
        assert eval(call, scope) == here(REPRESENTATIONS[call])
        return
    if shown.startswith("!"):
        name = shown[1 : shown.index(":")]
        with pytest.raises(Exception) as caught:  # noqa: B017 - the class is checked below
            eval(call, scope)
        assert name in [c.__name__ for c in type(caught.value).__mro__]
        return
    assert re.sub(r"0x[0-9a-f]{6,}", "0x…", eval(call, scope)) == shown


@pytest.fixture
def own_printing():
    yield
    mge.set_printoptions(profile="default")


@pytest.mark.parametrize(
    "options",
    [
        {"precision": 2},
        {"precision": 8},
        {"precision": 0},
        {"threshold": 5},
        {"threshold": 5, "edgeitems": 1},
        {"edgeitems": 5},
        {"linewidth": 30},
        {"profile": "short"},
        {"profile": "full"},
        {"profile": "short", "precision": 6},
        {"threshold": float("inf")},
    ],
    ids=str,
)
def test_print_options_match_numpy(options, own_printing):
    numpys = np.get_printoptions()
    mge.set_printoptions(**options)
    profiles = {
        "short": {"precision": 2, "edgeitems": 2},
        "full": {"threshold": 10**9},
    }
    wanted = {"precision": 4, **profiles.get(options.get("profile"), {}), **options}
    wanted.pop("profile", None)
    if wanted.get("threshold") == float("inf"):
        wanted["threshold"] = 10**9
    for shape in ((7,), (3, 20), (10, 10, 11)):
        array = np.random.default_rng(1).standard_normal(shape).astype(np.float32)
        with np.printoptions(**wanted):
            text = str(array)
        assert repr(mge.Tensor(array)) == f"Tensor({text}, device={PLACE})"
    assert np.get_printoptions() == numpys


def test_print_options_that_are_not_given_stay(own_printing):
    mge.set_printoptions(precision=2)
    mge.set_printoptions(edgeitems=2)
    assert repr(mge.Tensor([1 / 3])) == f"Tensor([0.33], device={PLACE})"
    mge.set_printoptions(profile="default")
    assert repr(mge.Tensor([1 / 3])) == f"Tensor([0.3333], device={PLACE})"
    for bad in ({"profile": "long"}, {"precision": -1}, {"threshold": "x"}, {"linewidth": 2.5}):
        with pytest.raises(ValueError, match="set_printoptions"):
            mge.set_printoptions(**bad)
