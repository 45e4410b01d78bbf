# SPDX-License-Identifier: Apache-2.0
"""Functions and models that four threads call at once: right results, and no hang."""

import threading

import numpy as np
import pytest
from at_once import THREADS, at_once

import megengine as mge
import megengine.functional as F
import megengine.module as M
from megengine.autodiff import GradManager
from megengine.jit import exclude_from_trace, partial_trace, trace
from megengine.optimizer import SGD
from megengine.utils.comp_graph_tools import GraphInference


def net():
    mge.random.seed(3)
    model = M.Sequential(M.Conv2d(2, 4, 3), M.ReLU(), M.BatchNorm2d(4), M.Dropout(0.5))
    model.eval()
    return model


def image(number):
    values = np.random.RandomState(number).rand(1 + number, 2, 6, 6)
    return mge.Tensor(values.astype(np.float32))


def check(results, wanted):
    for number, found in enumerate(results):
        for result in found:
            np.testing.assert_allclose(result, wanted[number], rtol=1e-4, atol=1e-5)


WAYS = {
    "symbolic": trace(symbolic=True),
    "plain": trace,
    "constants": trace(symbolic=True, capture_as_const=True),
    "alone": trace(symbolic=True, capture_as_const=True, without_host=True),
    "recorded": trace(record_only=True),
    "partial": partial_trace,
    "without host": trace(without_host=True),
    "profiled": trace(symbolic=True, profiling=True),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_traced_function(way):
    model = net()

    def plain(x):
        return F.softmax(model(x) * 2, axis=1).sum(axis=(2, 3))

    function = WAYS[way](plain)
    wanted = [plain(image(number)).numpy() for number in range(THREADS)]
    check(at_once(lambda number: function(image(number)).numpy()), wanted)


def test_a_traced_method():
    class Net(M.Module):
        @trace(symbolic=True, capture_as_const=True)
        def forward(self, x):
            return x * 2

    model = Net()
    wanted = [image(number).numpy() * 2 for number in range(THREADS)]
    check(at_once(lambda number: model(image(number)).numpy()), wanted)


def test_traced_function_that_calls_itself():
    @trace(symbolic=True)
    def halves(x, depth):
        if depth:
            with exclude_from_trace():
                x = halves(x.detach(), depth - 1)
        return x / 2

    for _ in range(2):
        assert halves(mge.Tensor(8.0), 2).item() == 1


def test_a_traced_step_that_trains():
    """Each thread trains its own net by one traced function."""
    models = [M.Linear(3, 2) for _ in range(THREADS)]
    managers = [GradManager().attach(model.parameters()) for model in models]
    optimizers = [SGD(model.parameters(), lr=0.1) for model in models]
    for model in models:
        model.weight[...] = np.ones((2, 3), np.float32)

    @trace(symbolic=True)
    def step(number, x):
        with managers[number]:
            loss = (models[number](x) ** 2).mean()
            managers[number].backward(loss)
        optimizers[number].step().clear_grad()
        return loss

    x = mge.Tensor(np.ones((4, 3), np.float32))
    losses = at_once(lambda number: step(number, x).item(), calls=5)
    assert all(found == pytest.approx(losses[0]) for found in losses)
    assert losses[0][-1] < losses[0][0]


def test_random_numbers_in_a_traced_function():
    """The stream that all threads share gives none of its numbers twice."""
    mge.random.seed(5)  # so that the threads also race for making the stream
    draw = trace(symbolic=True)(lambda x: x + mge.random.uniform(size=(4,)))
    results = at_once(lambda number: draw(mge.Tensor(0.0)).numpy().tobytes())
    found = [result for part in results for result in part]
    assert len(set(found)) == len(found)


def test_models_from_files(tmp_path):
    model = net()
    function = trace(symbolic=True, capture_as_const=True)(model)
    wanted = [model(image(number)).numpy() for number in range(THREADS)]
    function(image(0))
    function.dump(str(tmp_path / "net.mge"), arg_names=["x"], output_names=["y"])
    function.dump(str(tmp_path / "net.onnx"), arg_names=["x"], output_names=["y"])
    inference = GraphInference(str(tmp_path / "net.mge"))
    loaded = mge._mge.load(str(tmp_path / "net.mge"))
    read, trained = (mge.onnx.load(tmp_path / "net.onnx", trainable=t) for t in (False, True))
    check(at_once(lambda k: inference.run(image(k).numpy())["y"]), wanted)
    check(at_once(lambda k: loaded.run([image(k)])[0].numpy()), wanted)
    check(at_once(lambda k: read(image(k)).numpy()), wanted)
    check(at_once(lambda k: trained(image(k)).numpy()), wanted)


def test_a_value_of_a_call_on_another_thread_is_refused():
    """A value that a traced function has not computed yet belongs to its thread."""
    errors = []

    @trace(symbolic=True)
    def function(x):
        y = x * 2

        def read():
            try:
                y.numpy()
            except RuntimeError as error:
                errors.append(str(error))

        thread = threading.Thread(target=read)
        thread.start()
        thread.join()
        return y

    assert function(mge.Tensor(2.0)).item() == 4
    assert "only be read on the thread that runs it" in errors[0]
