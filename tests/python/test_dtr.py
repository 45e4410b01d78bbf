# SPDX-License-Identifier: Apache-2.0
"""megengine.dtr: its settings are kept, and what has no effect says so."""

import pytest

import megengine as mge
from megengine import dtr


@pytest.fixture(autouse=True)
def unchanged():
    names = ("eviction_threshold", "evictee_minimum_size", "enable_sqrt_sampling")
    before = {name: getattr(dtr, name) for name in names}
    yield
    for name, value in before.items():
        setattr(dtr, name, value)


@pytest.mark.parametrize(
    "size, wanted",
    [("5GB", 5 << 30), ("5 GB", 5 << 30), ("1.5MB", 3 << 19), ("5kb", 5120), ("7B", 7), (9, 9)],
)
def test_sizes(size, wanted):
    for name in ("eviction_threshold", "evictee_minimum_size"):
        setattr(dtr, name, size)
        assert getattr(mge.dtr, name) == getattr(dtr.dtr, name) == wanted


@pytest.mark.parametrize(
    "size, error",
    [("7", ValueError), ("5G", ValueError), ("-3MB", ValueError), ("x", ValueError)]
    + [(-1, TypeError), (2.5, TypeError), (None, TypeError)],
)
def test_wrong_sizes(size, error):
    with pytest.raises(error, match=r"\[dtr\] a size"):
        dtr.eviction_threshold = size
    assert dtr.eviction_threshold == 0


def test_switches():
    dtr.enable_sqrt_sampling = True
    assert dtr.dtr.enable_sqrt_sampling is True
    with pytest.warns(UserWarning, match="enable has no effect"):
        dtr.enable()
    assert dtr.disable() is None
    with pytest.raises(AttributeError, match="nosuch"):
        dtr.nosuch  # noqa: B018
