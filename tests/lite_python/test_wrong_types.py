# SPDX-License-Identifier: Apache-2.0
"""Values of unsupported types raise TypeError with the supported types."""

from ctypes import ArgumentError

import pytest

from megenginelite import (
    LiteConfig,
    LiteDataType,
    LiteDeviceType,
    LiteIO,
    LiteNetwork,
    LiteTensor,
    LiteTensorConcat,
    TensorBatchCollector,
)

USES = {
    "LiteTensor": [
        lambda value: LiteTensor(shapes=[2]).share_memory_with(value),
        lambda value: LiteTensor(shapes=[2]).copy_from(value),
        lambda value: LiteTensorConcat([LiteTensor(shapes=[2]), value], 0),
        lambda value: _collector().collect(value),
        lambda value: _collector().collect_id(value, 0),
    ],
    "LiteNetwork": [
        lambda value: LiteNetwork().share_weights_with(value),
        lambda value: LiteNetwork().share_runtime_memory(value),
    ],
    "LiteConfig": [lambda value: LiteNetwork(value)],
    "LiteNetworkIO": [lambda value: LiteNetwork(None, value)],
}


def _collector():
    return TensorBatchCollector([2, 3], LiteDataType.LITE_FLOAT, LiteDeviceType.LITE_CPU)


@pytest.mark.parametrize(
    "value", ["data", 7, [1, 2], object()], ids=["text", "number", "list", "object"]
)
@pytest.mark.parametrize(
    ("needed", "use"), [(needed, use) for needed, uses in USES.items() for use in uses]
)
def test_is_reported(needed, use, value):
    with pytest.raises(TypeError, match=needed):
        use(value)


def test_configuration_is_not_a_network_io():
    with pytest.raises(TypeError, match="needs a LiteNetworkIO, got LiteConfig"):
        LiteNetwork(None, LiteConfig())


# To C a number in the place of a name is an address.
@pytest.mark.parametrize("value", [3, 0, [b"data"], bytearray(b"data"), 1.5])
@pytest.mark.parametrize(
    "use",
    [
        lambda value: LiteIO(value),
        lambda value: setattr(LiteIO("data"), "name", value),
        lambda value: setattr(LiteConfig(), "bare_model_cryption_name", value),
        lambda value: setattr(LiteConfig(), "discrete_input_name", value),
        lambda value: LiteNetwork().get_io_tensor(value),
    ],
)
def test_names_are_text(use, value):
    with pytest.raises(AssertionError, match="a name is str or bytes, got"):
        use(value)


# ctypes would take 2**32 for 0.
@pytest.mark.parametrize("value", [2**31, 2**32, -(2**31) - 1])
@pytest.mark.parametrize(
    "use",
    [
        lambda value: setattr(LiteConfig(), "device_id", value),
        lambda value: setattr(LiteNetwork(), "device_id", value),
        lambda value: setattr(LiteNetwork(), "stream_id", value),
        lambda value: LiteTensor(shapes=[2], device_id=value),
        lambda value: LiteTensorConcat([LiteTensor(shapes=[2])], 0, device_id=value),
    ],
)
def test_numbers_fit_into_an_int_of_c(use, value):
    # ctypes names the argument of a C function.
    with pytest.raises((RuntimeError, ArgumentError), match=f"not fit into an int of C: {value}"):
        use(value)
