# SPDX-License-Identifier: Apache-2.0
"""Modules of quantisation-aware training give what MegEngine 1.13 gives."""

import numpy as np
import pytest

import megengine.functional as F
import megengine.module as M
import megengine.module.qat as QAT
import megengine.quantization as Q
from megengine import Tensor


# The numbers are those of MegEngine 1.13: a trained net depends on them.
def test_qat_batch_products_match_megengine():
    part = M.BatchMatMulActivation(1, 2, 2, nonlinear_mode="relu")
    part.weight[...] = Tensor([[[1.0, 0.0], [0.0, 1.0]]])
    part.bias[...] = Tensor([1.0, -4.0])
    x = Tensor([[[1.0, 2.0], [3.0, 4.0]]])
    np.testing.assert_array_equal(part(x).numpy(), [[[2, 0], [4, 0]]])
    qat = QAT.BatchMatMulActivation.from_float_module(part)
    assert qat.nonlinear_mode == "identity" and part.nonlinear_mode == "relu"
    np.testing.assert_array_equal(qat(x).numpy(), [[[2, -2], [4, 0]]])
    columns = qat(F.concat([x, x], 2)).numpy()
    np.testing.assert_array_equal(columns, [[[2, 3, 2, 3], [-1, 0, -1, 0]]])


def test_bias_is_quantised_with_weight_and_result():
    part = QAT.Linear.from_float_module(M.Linear(2, 1))
    part.set_qconfig(Q.min_max_fakequant_qconfig)
    x = part.apply_quant_activation(Tensor([[1.0, 2.0]]))
    weight = part.apply_quant_weight(part.weight)
    assert part.apply_quant_bias(part.bias, x, weight) is not part.bias
    for which in (part.act_fake_quant, part.weight_fake_quant):
        which.disable()
        assert part.apply_quant_bias(part.bias, x, weight) is part.bias
        which.enable()
    part.act_fake_quant = None
    assert part.apply_quant_bias(part.bias, x, weight) is part.bias


@pytest.mark.parametrize("qconfig", [Q.passive_qconfig, Q.easyquant_qconfig])
def test_passive_observers_need_no_qparams_while_nothing_is_quantised(qconfig):
    net = Q.quantize_qat(M.Sequential(M.QuantStub(), M.Linear(2, 2)), qconfig=qconfig)
    x = Tensor([[1.0, 2.0]])
    with pytest.raises(RuntimeError, match="no qparams yet"):
        net(x)
    Q.disable_fake_quant(net)
    assert net[0](x) is x
    assert net(x).qparams.scale is None


def test_synchronised_extremes_are_observed_always():
    observer = Q.SyncMinMaxObserver()
    observer.disable()
    observer(Tensor([-1.0, 2.0]))
    observer.eval()
    observer(Tensor([3.0]))
    assert (observer.min_val.item(), observer.max_val.item()) == (-1, 3)


@pytest.mark.parametrize("kind", ["LinearBn1d", "LinearBnRelu1d"])
def test_unused_bias_of_a_linear_map_starts_at_zero(kind):
    part = getattr(M, kind)(3, 2)
    part.bias[...] = Tensor([1.0, 2.0])
    part.linear.bias[...] = Tensor([3.0, 4.0])
    qat = getattr(QAT, kind).from_float_module(part)
    np.testing.assert_array_equal(qat.bias.numpy(), [0, 0])
    np.testing.assert_array_equal(qat.linear.bias.numpy(), [3, 4])
    np.testing.assert_array_equal(part.bias.numpy(), [1, 2])
    assert getattr(QAT, kind).from_float_module(getattr(M, kind)(3, 2, bias=False)).bias is None
