# SPDX-License-Identifier: Apache-2.0
"""Functions and models in a forked child, after the parent has run them."""

import numpy as np
import pytest
from at_once import in_child
from test_threads import WAYS, image, net

import megengine as mge
import megengine.module as M
from megengine.autodiff import GradManager
from megengine.jit import trace
from megengine.optimizer import Adam
from megengine.utils.comp_graph_tools import GraphInference

pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")


@pytest.mark.parametrize("way", WAYS)
def test_a_traced_function(way):
    function = WAYS[way](net().forward)
    wanted = function(image(1)).numpy()
    other = net()(image(2)).numpy()
    found = in_child(lambda: (function(image(1)).numpy(), function(image(2)).numpy()))
    np.testing.assert_allclose(found[0], wanted, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(found[1], other, rtol=1e-4, atol=1e-5)


def test_a_step_that_trains():
    model = M.Linear(3, 2)
    manager, optimizer = GradManager().attach(model.parameters()), Adam(model.parameters(), lr=0.1)

    @trace(symbolic=True)
    def step(x):
        with manager:
            loss = (model(x) ** 2).mean()
            manager.backward(loss)
        optimizer.step().clear_grad()
        return loss

    x = mge.Tensor(np.ones((4, 3), np.float32))
    for _ in range(2):
        step(x)
    in_the_child = in_child(lambda: [step(x).item() for _ in range(3)])
    assert in_the_child == pytest.approx([step(x).item() for _ in range(3)])


def test_random_numbers_continue_as_in_the_parent():
    draw = trace(symbolic=True)(lambda x: x + mge.random.uniform(size=(4,)))
    draw(mge.Tensor(0.0))
    found = in_child(lambda: draw(mge.Tensor(0.0)).numpy())
    np.testing.assert_array_equal(found, draw(mge.Tensor(0.0)).numpy())


def test_models_from_files(tmp_path):
    function = trace(symbolic=True, capture_as_const=True)(net())
    wanted = function(image(1)).numpy()
    function.dump(str(tmp_path / "net.mge"), arg_names=["x"], output_names=["y"])
    function.dump(str(tmp_path / "net.onnx"), arg_names=["x"], output_names=["y"])
    inference = GraphInference(str(tmp_path / "net.mge"))
    loaded = mge._mge.load(str(tmp_path / "net.mge"))
    models = [mge.onnx.load(tmp_path / "net.onnx", trainable=t) for t in (False, True)]

    def run():
        results = [inference.run(image(1).numpy())["y"], loaded.run([image(1)])[0].numpy()]
        return results + [model(image(1)).numpy() for model in models]

    run()
    for found in in_child(run):
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)
