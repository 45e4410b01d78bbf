# SPDX-License-Identifier: Apache-2.0
"""The C interface as called from Python, with invalid and foreign handles."""

import ctypes
from ctypes import byref, c_int, c_void_p

import pytest

from megenginelite import LiteNetwork, LiteTensor
from megenginelite._library import library

NUMBER = c_int()


@pytest.fixture
def handles():
    """By name what is no network and no tensor, and one of each kind."""
    network, tensor = LiteNetwork(), LiteTensor(shapes=[4])
    destroyed = c_void_p()
    library.LITE_make_default_network(byref(destroyed))
    library.LITE_destroy_network(destroyed)
    yield {
        "memory of the program": c_void_p(ctypes.addressof(NUMBER)),
        "destroyed": destroyed,
        "network": network._network,
        "tensor": tensor._tensor,
    }


@pytest.mark.parametrize("name", ["memory of the program", "destroyed", "tensor"])
def test_invalid_network(handles, name):
    for use in (library.LITE_forward, library.LITE_wait, library.LITE_set_cpu_inplace_mode):
        with pytest.raises(RuntimeError, match="'network' is not a handle of a network"):
            use(handles[name])


@pytest.mark.parametrize("name", ["memory of the program", "destroyed", "network"])
def test_invalid_tensor(handles, name):
    with pytest.raises(RuntimeError, match="not a handle of a tensor"):
        library.LITE_tensor_fill_zero(handles[name])


def test_null_is_not_a_handle():
    for use in (library.LITE_forward, library.LITE_destroy_network, library.LITE_tensor_fill_zero):
        with pytest.raises(RuntimeError, match="null"):
            use(None)


def test_sharing_needs_two_networks(handles, model_path):
    loaded = LiteNetwork()
    loaded.load(model_path)
    for share in (library.LITE_shared_weight_with_network, library.LITE_share_runtime_memory):
        for name in ("destroyed", "tensor"):
            with pytest.raises(RuntimeError, match="not a handle of a network"):
                share(handles["network"], handles[name])
