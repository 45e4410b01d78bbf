# SPDX-License-Identifier: Apache-2.0
"""Facts about operators that the reference on the site shows."""

from megengine import _mge

FACTS = _mge.operator_facts()


def test_every_operator_has_facts():
    operators = {name for name in dir(_mge.ops) if not name.startswith("_")}
    assert operators <= FACTS.keys()


def test_dtypes_follow_the_group():
    dtypes = {name: set(FACTS[name][0]) for name in ("conv2d", "sort", "concat")}
    assert "float64" not in dtypes["conv2d"] and "bfloat16" in dtypes["conv2d"]
    assert "float64" in dtypes["sort"] and "int4" not in dtypes["sort"]
    assert "int4" in dtypes["concat"]
    assert all("none" not in names for names in dtypes.values())


def test_gradients_stop_at_positions():
    assert FACTS["conv2d"][1] and not FACTS["argmax"][1]


def test_algorithms_are_in_order_of_preference():
    assert FACTS["matmul"][2][-1] == "reference"
    assert any(name.endswith(":…") for name in FACTS["conv2d"][2])
