# SPDX-License-Identifier: Apache-2.0
"""Properties of GPUs and their libraries."""

import pytest

import megengine as mge


def test_versions_must_exist():
    versions = (
        mge.device.get_cuda_version(),
        mge.device.get_cuda_driver_version(),
        mge.device.get_cudnn_version(),
    )
    assert all(isinstance(v, int) and (v == 0 or v > 1000) for v in versions)
    assert mge.device.get_tensorrt_version() == 0
    if mge.is_cuda_available():
        assert versions[0] > 0 and versions[1] > 0


def test_properties_of_a_gpu():
    if not mge.is_cuda_available():
        with pytest.raises(RuntimeError, match="device 'gpu0' is not available"):
            mge.device.get_cuda_device_property(0)
        return
    found = mge.device.get_cuda_device_property(0)
    assert found == mge.device.get_cuda_device_property(0, mge.device.DeviceType.CUDA)
    assert found.name and found.total_memory > 0
    capability = mge.device.get_cuda_compute_capability(0)
    assert 10 * found.major + found.minor == capability


def test_only_cuda_devices_have_them():
    for kind in ("cpu", mge.device.DeviceType.CPU):
        with pytest.raises(RuntimeError, match="only CUDA devices"):
            mge.device.get_cuda_device_property(0, kind)
