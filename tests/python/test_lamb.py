# SPDX-License-Identifier: Apache-2.0
"""LAMB: the first step as MegEngine 1.13 takes it, once its missing argument is given to it.

Its later steps are too short: it sums the squares of a parameter as integers.
"""

import numpy as np
import pytest

import megengine as mge
from megengine.optimizer import LAMB, LAMBFp16

RECORDED = [
    ({}, [0.90000004, 2.0999999, -3.0999999]),
    ({"weight_decay": 0.1}, [0.73094022, 2.1956799, -3.1712198]),
    ({"always_adapt": True}, [0.7839753, 2.2160246, -3.2160246]),
    ({"bias_correction": False, "weight_decay": 0.1}, [0.76769972, 2.2109382, -3.2038176]),
    (
        {"betas": (0.5, 0.6), "eps": 1e-3, "weight_decay": 0.1},
        [0.73138845, 2.1959023, -3.1716685],
    ),
]


def one_step(cls, options, dtype):
    param = mge.Parameter(np.array([1, 2, -3], dtype))
    param.grad = mge.Tensor(np.array([0.1, -0.2, 0.3], dtype))
    optimizer = cls([param], lr=0.1, **options)
    assert optimizer.step() is optimizer
    return param, optimizer


@pytest.mark.parametrize("options, wanted", RECORDED)
def test_first_step(options, wanted):
    param, optimizer = one_step(LAMB, options, "float32")
    np.testing.assert_allclose(param.numpy(), wanted, rtol=2e-6)
    assert set(optimizer.state_dict()["state"][0]) == {"exp_avg", "exp_avg_sq", "step"}
    assert set(optimizer.param_groups[0]) == {"params", "lr", "weight_decay", "betas", "eps"}


def test_each_step_is_as_long_as_the_parameter():
    param, optimizer = one_step(LAMB, {"weight_decay": 0.1}, "float32")
    for _ in range(5):
        before = param.numpy().copy()
        optimizer.step()
        length = np.linalg.norm(param.numpy() - before)
        assert length == pytest.approx(0.1 * np.linalg.norm(before), rel=1e-5)


@pytest.mark.parametrize("options, wanted", RECORDED)
def test_half_parameters_follow_their_wide_copies(options, wanted):
    param, optimizer = one_step(LAMBFp16, options, "float16")
    wide = optimizer.state_dict()["state"][0]["param_fp32"]
    assert param.dtype == np.float16 and wide.dtype == np.float32
    np.testing.assert_array_equal(param.numpy(), wide.astype(np.float16))
    np.testing.assert_allclose(wide, wanted, rtol=1e-5)  # the gradients are halves


def test_a_traced_step_is_the_same():
    def steps(wrap):
        param = mge.Parameter([1.0, 2.0, -3.0])
        optimizer = LAMB([param], lr=0.1, weight_decay=0.1)
        gm = mge.autodiff.GradManager().attach([param])

        def step(x):
            with gm:
                gm.backward((param * x).sum())
            optimizer.step().clear_grad()

        step = wrap(step)
        for k in range(4):
            step(mge.Tensor([0.1, -0.2, 0.3 * k]))
        return param.numpy()

    np.testing.assert_allclose(steps(mge.jit.trace), steps(lambda f: f), rtol=1e-6)


def test_state_continues():
    param, optimizer = one_step(LAMB, {}, "float32")
    other = mge.Parameter(param.numpy())
    copy = LAMB([other], lr=0.1)
    copy.load_state_dict(optimizer.state_dict())
    for p, o in ((param, optimizer), (other, copy)):
        p.grad = mge.Tensor([1.0, 1.0, -1.0])
        o.step()
    np.testing.assert_array_equal(param.numpy(), other.numpy())


@pytest.mark.parametrize(
    "option", [{"lr": -1}, {"betas": (1, 0.5)}, {"weight_decay": -1}, {"eps": float("nan")}]
)
def test_wrong_options(option):
    with pytest.raises(ValueError, match="Invalid"):
        LAMB([mge.Parameter([1.0])], **{"lr": 0.1, **option})
