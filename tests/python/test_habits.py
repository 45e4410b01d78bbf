# SPDX-License-Identifier: Apache-2.0
"""Habits of people who know NumPy or PyTorch work, or the error has MegEngine's word."""

import inspect
import re
import warnings

import numpy as np
import pytest

import megengine as mge
import megengine.functional as F
import megengine.module as M
from megengine import Tensor, onnx

X = np.array([[1.0, 2.0], [3.0, 5.0]], "float32")


@pytest.mark.parametrize("name", ["sum", "prod", "min", "max", "mean"])
@pytest.mark.parametrize("options", [{}, {"axis": 0}, {"axis": (0, 1)}, {"keepdims": True}])
def test_reductions_of_numpy_take_tensors(name, options):
    function = getattr(np, name)
    result = function(Tensor(X), **options)
    assert isinstance(result, Tensor)
    np.testing.assert_array_equal(result.numpy(), function(X, **options))


def test_dtype_and_out_of_numpy():
    assert np.mean(Tensor([1, 2]), dtype="float16").dtype == np.float16
    assert np.sum(Tensor(3.0), keepdims=True).shape == ()
    with pytest.raises(TypeError, match="out must be None"):
        np.sum(Tensor(X), out=np.zeros(2))
    with pytest.raises(TypeError, match="'initial'"):
        np.sum(Tensor(X), initial=3)


CALLS = {
    "axis": [
        lambda x: x.sum(dim=0),
        lambda x: F.sum(x, dim=0),
        lambda x: F.mean(x, dim=0),
        lambda x: F.argmax(x, dim=0),
        lambda x: F.softmax(x, dim=0),
        lambda x: F.concat([x, x], dim=0),
        lambda x: F.stack([x, x], dim=0),
        lambda x: F.squeeze(x, dim=0),
    ],
    "keepdims": [lambda x: x.mean(0, keepdim=True), lambda x: F.max(x, 0, keepdim=True)],
}


@pytest.mark.parametrize("word, call", [(w, call) for w, calls in CALLS.items() for call in calls])
def test_keywords_of_pytorch_get_a_hint(word, call):
    with pytest.raises(TypeError, match=f"unexpected keyword.*MegEngine calls it '{word}'"):
        call(Tensor(X))


def test_hints_leave_signatures_as_they_are():
    assert list(inspect.signature(F.sum).parameters) == ["inp", "axis", "keepdims"]
    assert list(inspect.signature(Tensor.sum).parameters) == ["self", "axis", "keepdims"]
    with pytest.raises(TypeError, match="unexpected keyword argument 'no'$"):
        F.sum(Tensor(X), no=1)


@pytest.mark.parametrize(
    "owner, name, way",
    [
        (F, "cat", "F.concat"),
        (F, "unsqueeze", "F.expand_dims"),
        (F.nn, "mse_loss", "F.loss.square_loss"),
        (M, "CrossEntropyLoss", "F.loss.cross_entropy"),
        (mge, "no_grad", "autodiff.no_grad"),
        (mge, "from_numpy", "Tensor(array)"),
        (Tensor([1.0]), "view", "reshape"),
        (Tensor([1.0]), "argmax", "F.argmax"),
        (Tensor([1.0]), "requires_grad", "autodiff.GradManager().attach(x)"),
    ],
)
def test_names_of_pytorch_get_a_hint(owner, name, way):
    with pytest.raises(AttributeError, match=re.escape(f"{name!r}; MegEngine's is {way}")):
        getattr(owner, name)


@pytest.mark.parametrize("device", ["gpu", "cuda", "cuda:0"])
def test_gpus_are_named_in_the_hint(device):
    with pytest.raises(ValueError, match="the first GPU is gpu0"):
        Tensor([1.0], device=device)


@pytest.mark.parametrize(
    "make",
    [
        lambda: M.Conv2d(3, 3, 3, padding="same"),
        lambda: M.Conv1d(3, 3, 3, padding="same"),
        lambda: M.Conv3d(3, 3, 3, padding="same"),
        lambda: F.conv2d(F.ones((1, 1, 3, 3)), F.ones((1, 1, 3, 3)), padding="same"),
    ],
)
def test_padding_in_words(make):
    with pytest.raises(TypeError, match=r"padding must be .* got 'same'; k // 2 keeps the size"):
        make()


def test_modes_name_the_module():
    net = M.Sequential(M.Linear(2, 2))
    assert net.eval() is net and not net.training and not net[0].training
    assert net.train() is net and net[0].training


def test_notebooks_show_values_and_shape():
    shown = Tensor(X)._repr_html_()
    assert "[[1., 2.]" in shown and "shape (2, 2), float32, xpux:0" in shown
    seen = []

    @mge.jit.trace(symbolic=True)
    def function(x):
        seen.append((x + 1)._repr_html_())
        return x

    function(Tensor(X))
    assert seen[0].startswith("<pre>") and "&lt;" in seen[0] or "Tensor" in seen[0]


def test_onnx_models_show_their_inputs_and_outputs(tmp_path):
    path = tmp_path / "net.onnx"
    onnx.export(M.Linear(2, 1), path, Tensor(X), input_names=["x"], output_names=["y"])
    assert repr(onnx.load(path)) == "Model(x -> y)"
    assert repr(onnx.load(path, trainable=True)) == "TrainableModel(x -> y)"


@pytest.mark.parametrize("make", [lambda: 2**40, lambda: [2**31], lambda: np.array([-(2**40)])])
def test_wrapping_wide_integers_warn(make):
    with pytest.warns(RuntimeWarning, match="beyond 32 bits wrap around") as seen:
        result = Tensor(make())
    assert result.dtype == np.int32 and seen[0].filename == __file__
    with pytest.warns(RuntimeWarning, match="wrap around"):
        assert (Tensor([3]) + 2**40).item() == 3


def test_wide_integers_that_fit_are_silent():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert Tensor(np.array([2**31 - 1, -(2**31)])).tolist() == [2**31 - 1, -(2**31)]
        assert Tensor(2**40, dtype="float32").item() == 2**40
