# SPDX-License-Identifier: Apache-2.0
"""Memory of a GPU that Tensors share with other libraries by DLPack."""

import gc

import numpy as np
import pytest

import megengine as mge
import megengine.functional as F
from megengine import _mge
from megengine.device import get_allocated_memory
from megengine.utils.dlpack import from_dlpack, to_dlpack

pytestmark = pytest.mark.skipif(mge.get_device_count("gpu") < 1, reason="there is no GPU here")

DTYPES = ("bool", "uint8", "int8", "uint16", "int16", "int32", "float16", "float32")
DEFAULT_STREAM, NO_STREAM = 1, -1


class Producer:
    """As another library's tensors on a GPU: notes what it is asked for."""

    def __init__(self, tensor):
        self.tensor, self.calls = tensor, []

    def __dlpack_device__(self):
        return self.tensor.__dlpack_device__()

    def __dlpack__(self, **keywords):
        self.calls.append(keywords)
        return self.tensor.__dlpack__(**keywords)


def on_gpu(values, number=0, dtype="float32"):
    return mge.Tensor(np.asarray(values, dtype), device=f"gpu{number}")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (0, 3), (1,), (2, 3, 4)])
def test_memory_is_reused(dtype, shape):
    x = on_gpu(np.ones(shape), dtype=dtype)
    assert x.__dlpack_device__() == (2, 0)
    for back in (from_dlpack(x), from_dlpack(to_dlpack(x)), mge.Tensor(Producer(x))):
        assert back.device == x.device and back.shape == shape and back.dtype == x.dtype
        np.testing.assert_array_equal(back.numpy(), x.numpy())


def test_each_reads_files_of_the_other():
    x = on_gpu(np.zeros((2, 3)))
    y = from_dlpack(x)
    y[0] = 5
    np.testing.assert_array_equal(x.numpy(), [[5] * 3, [0] * 3])
    y += 1
    np.testing.assert_array_equal(x.numpy(), [[6] * 3, [1] * 3])
    copy = from_dlpack(x, copy=True)
    copy[0] = 7
    np.testing.assert_array_equal(x.numpy(), [[6] * 3, [1] * 3])


def test_results_of_work_that_is_under_way():
    for _ in range(20):
        x = on_gpu(np.full(1000, 2.0))
        y = from_dlpack(x * 3 + 1)
        np.testing.assert_array_equal((y + y).numpy(), np.full(1000, 14))


def test_streams_are_named_by_the_protocol():
    x = on_gpu([1.0, 2.0])
    producer = Producer(x)
    np.testing.assert_array_equal(from_dlpack(producer).numpy(), [1, 2])
    (calls,) = producer.calls
    assert calls["stream"] == _mge.stream_address("gpu0") > 2
    from_dlpack(producer, stream=NO_STREAM)
    assert producer.calls[1]["stream"] == NO_STREAM
    for stream in (None, DEFAULT_STREAM, 2, NO_STREAM, _mge.stream_address("gpu0:1")):
        back = from_dlpack(x.__dlpack__(stream=stream), stream=stream)
        np.testing.assert_array_equal(back.numpy(), [1, 2])
    with pytest.raises(BufferError, match="0 is no stream"):
        x.__dlpack__(stream=0)
    assert _mge.stream_address("cpu0") is None


def test_memory_lives_as_long_as_its_references():
    gc.collect()
    before = get_allocated_memory("gpu0")
    x = on_gpu(np.arange(100_000))
    capsule = to_dlpack(x)
    del x
    y = from_dlpack(capsule)
    assert get_allocated_memory("gpu0") >= before + 400_000
    z = y + 1
    del y, capsule
    gc.collect()
    np.testing.assert_array_equal(z.numpy(), np.arange(100_000) + 1)
    to_dlpack(z)  # unused capsule
    del z
    gc.collect()
    assert get_allocated_memory("gpu0") <= before


def test_gradients_go_through():
    x = from_dlpack(on_gpu([1.0, 2.0]))
    with mge.autodiff.GradManager().attach(x) as gm:
        gm.backward(F.sum(x * x))
    np.testing.assert_array_equal(x.grad.numpy(), [2, 4])


def test_to_the_host_and_refusals():
    x = on_gpu([1.0, 2.0])
    host = from_dlpack(x.__dlpack__(dl_device=(1, 0), max_version=(1, 0)))
    assert host.device.physical_name.startswith("cpu")
    np.testing.assert_array_equal(host.numpy(), [1, 2])
    with pytest.raises(BufferError, match="only be exported as a copy"):
        x.__dlpack__(dl_device=(1, 0), copy=False)
    with pytest.raises(BufferError, match="made on the Tensor's device"):
        x.__dlpack__(dl_device=(2, 7))
    with pytest.raises(BufferError, match="made on the Tensor's device"):
        mge.Tensor([1.0], device="cpu0").__dlpack__(dl_device=(2, 0))
    with pytest.raises(BufferError, match="number 77"):
        far = type("Far", (Producer,), {"__dlpack_device__": lambda _: (2, 77)})(x)
        from_dlpack(far)
    with pytest.raises(BufferError, match="device of type 8"):
        other = type("Other", (Producer,), {"__dlpack_device__": lambda _: (8, 0)})(x)
        from_dlpack(other)


@pytest.mark.skipif(mge.get_device_count("gpu") < 2, reason="needs two GPUs")
def test_the_second_gpu():
    x = on_gpu([3.0], number=1)
    assert x.__dlpack_device__() == (2, 1)
    assert from_dlpack(x).device == "gpu1:0"


def test_pytorch_shares_memory():
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("PyTorch has no GPU here")
    x = on_gpu(np.zeros(1000))
    there = torch.from_dlpack(x)
    there += 3
    torch.cuda.synchronize()
    np.testing.assert_array_equal(x.numpy(), np.full(1000, 3))
    for _ in range(20):
        made = torch.full((1000,), 2.0, device="cuda") * 3
        back = from_dlpack(made)
        assert back.device == "gpu0:0"
        np.testing.assert_array_equal((back + 1).numpy(), np.full(1000, 7))
