# SPDX-License-Identifier: Apache-2.0
"""jit.trace: recording, replay with checks, values read on the way, dumping."""

import io
import json
import shutil
import tempfile
import warnings
from pathlib import Path

import numpy as np
import pytest

import megengine as mge
import megengine.functional as F
import megengine.module as M
from megengine import Tensor, _mge
from megengine.autodiff import GradManager
from megengine.jit import (
    GraphOptimizationConfig,
    TraceError,
    exclude_from_trace,
    is_tracing,
    trace,
)
from megengine.optimizer import SGD

both_modes = pytest.mark.parametrize("symbolic", [False, True])


def floats(*values):
    return Tensor(np.array(values, np.float32))


@both_modes
def test_runs_again_with_other_values_and_shapes(symbolic):
    calls = []

    @trace(symbolic=symbolic)
    def f(x, y):
        calls.append(is_tracing())
        return F.relu(x * 2 - y), x + y

    for n in (3, 3, 5):
        x = np.arange(n, dtype=np.float32)
        a, b = f(Tensor(x), Tensor(x + 1))
        np.testing.assert_allclose(a.numpy(), np.maximum(x - 1, 0))
        np.testing.assert_allclose(b.numpy(), 2 * x + 1)
    assert calls == [True] * 3
    assert not is_tracing()


@both_modes
def test_values_can_be_read_on_the_way(symbolic):
    @trace(symbolic=symbolic)
    def f(x):
        y = x + 1
        seen.append(y.numpy().tolist())
        z = y * y
        seen.append(float(z.sum()))
        return z - y

    for value in (1.0, 2.0, 3.0):
        seen = []
        assert f(floats(value)).item() == (value + 1) ** 2 - value - 1
        assert seen == [[value + 1], (value + 1) ** 2]


@both_modes
def test_tensors_from_outside_are_fed_anew(symbolic):
    weight = floats(1.0)

    @trace(symbolic=symbolic)
    def f(x):
        return x * weight + Tensor(np.float32(bias))

    for value, bias in ((1.0, 5.0), (2.0, 6.0), (3.0, 7.0)):
        weight._reset(floats(value))
        assert f(floats(10.0)).item() == 10 * value + bias


@both_modes
def test_captured_tensors_stay_as_they_were(symbolic):
    weight = floats(2.0)

    @trace(symbolic=symbolic, capture_as_const=True)
    def f(x):
        return x * weight

    assert f(floats(3.0)).item() == 6
    weight._reset(floats(100.0))
    assert f(floats(3.0)).item() == 6


@both_modes
def test_training_step_is_traced_whole(symbolic):
    rng = np.random.default_rng(0)
    batches = [
        (rng.normal(size=(8, 4)).astype(np.float32), rng.normal(size=(8, 2)).astype(np.float32))
        for _ in range(5)
    ]

    def train(wrap):
        net = M.Linear(4, 2)
        net.weight._reset(Tensor(np.linspace(-1, 1, 8, dtype=np.float32).reshape(2, 4)))
        manager = GradManager().attach(net.parameters())
        optimizer = SGD(net.parameters(), lr=0.1, momentum=0.9)

        def step(x, target):
            with manager:
                loss = ((net(x) - target) ** 2).mean()
                manager.backward(loss)
            optimizer.step().clear_grad()
            return loss

        step = wrap(step)
        losses = [step(Tensor(x), Tensor(target)).item() for x, target in batches]
        return losses, net.weight.numpy()

    losses, weight = train(trace(symbolic=symbolic))
    expected_losses, expected_weight = train(lambda step: step)
    np.testing.assert_allclose(losses, expected_losses, rtol=1e-5)
    np.testing.assert_allclose(weight, expected_weight, rtol=1e-5, atol=1e-6)


@both_modes
def test_gradients_flow_through_a_traced_function(symbolic):
    @trace(symbolic=symbolic)
    def f(x):
        return x * x

    x = floats(3.0)
    manager = GradManager().attach(x)
    for _ in range(3):
        x.grad = None
        with manager:
            manager.backward(f(x))
        assert x.grad.item() == 6


@both_modes
def test_shapes_are_tensors_inside(symbolic):
    @trace(symbolic=symbolic)
    def f(x):
        assert isinstance(x.shape, Tensor)
        return x.reshape(x.shape[1], -1), x.shape

    for shape in ((2, 3), (2, 3), (4, 5)):
        y, seen = f(Tensor(np.zeros(shape, np.float32)))
        assert y.shape == (shape[1], shape[0])
        assert tuple(seen.numpy()) == shape


@both_modes
def test_results_with_run_time_shapes(symbolic):
    @trace(symbolic=symbolic)
    def f(x):
        values, indices = F.cond_take(x > 0, x)
        return values * 2, indices

    for data in ([1, -1, 2], [1, -1, 2], [-1, -1, 3, 4]):
        x = np.array(data, np.float32)
        values, indices = f(Tensor(x))
        np.testing.assert_array_equal(values.numpy(), 2 * x[x > 0])
        np.testing.assert_array_equal(indices.numpy(), np.nonzero(x > 0)[0])


@both_modes
def test_random_numbers_are_new_each_time(symbolic):
    @trace(symbolic=symbolic)
    def f():
        return mge.random.uniform(size=(16,))

    draws = {tuple(f().numpy().tolist()) for _ in range(4)}
    assert len(draws) == 4


@pytest.mark.parametrize(
    "other, reason",
    [
        (lambda x: x * 2, "operators differ"),
        (lambda x: x + 3, "tensors not equals"),
        (lambda x: x, "immature end"),
        (lambda x: x + 1 + x, "mature end"),
        (lambda x: F.reshape(x, (1, 1)), "operators differ"),
    ],
)
@both_modes
def test_another_course_is_an_error(symbolic, other, reason):
    def usual(x):
        return x + 1

    course = usual

    @trace(symbolic=symbolic)
    def f(x):
        return course(x)

    f(floats(1.0))
    course = other
    with pytest.raises(TraceError, match="trace error because .*" + reason):
        f(floats(1.0))
    course = usual
    assert f(floats(4.0)).item() == 5


@both_modes
def test_exceptions_pass_through(symbolic):
    @trace(symbolic=symbolic)
    def f(x):
        y = x + 1
        if fail:
            kept.append(y)
            raise KeyError("mine")
        return y

    kept = []
    for fail in (True, False, True, False):
        if fail:
            with pytest.raises(KeyError, match="mine"):
                f(floats(1.0))
        else:
            assert f(floats(1.0)).item() == 2
    assert [t.item() for t in kept] == [2, 2]
    assert not is_tracing()


@both_modes
def test_excluded_code_runs_every_time(symbolic):
    @trace(symbolic=symbolic)
    def f(x):
        y = x + 1
        with exclude_from_trace():
            assert not is_tracing()
            bonus = Tensor(np.float32(10)) if float(y.numpy()[0]) > 2 else Tensor(np.float32(0)) * 5
        return y + bonus

    assert [f(floats(v)).item() for v in (1.0, 5.0, 0.0)] == [2, 16, 1]


@both_modes
def test_excluded_code_may_replace_values_from_before(symbolic):
    @trace(symbolic=symbolic)
    def f(x, negated):
        y = x + 1
        with exclude_from_trace():
            if "argument" in negated:
                x = -x
            if "computed" in negated:
                y = -y
        return x * y

    calls = [(), ("computed",), ("argument",), ("computed", "argument"), ()]
    assert [f(floats(2.0), negated).item() for negated in calls] == [6, -6, -6, 6, 6]


def test_options_as_decorator_and_methods():
    class Net:
        scale = 3

        @trace(symbolic=True)
        def run(self, x):
            return x * self.scale

    net = Net()
    assert net.run(floats(2.0)).item() == 6
    assert net.run(floats(3.0)).item() == 9


def test_a_level_below_zero_compares_what_was_replaced():
    config = GraphOptimizationConfig(jit_fuse_dimshuffle=True, jit_fuse_reduce=None)

    @trace(symbolic=True, opt_level=-1, graph_opt_config=config)
    def itself(x):
        return F.log(F.exp(x)).sum()

    assert itself(Tensor([1.0, 2.0])).numpy() == 3
    with pytest.raises(RuntimeError, match="pass simplify_algebra changes the value"):
        itself(Tensor([1.0, 200.0])).numpy()


def test_a_number_over_itself_is_one_only_where_that_is_true():
    @trace(symbolic=True)
    def quotient(x):
        return x / x

    for _ in range(2):
        np.testing.assert_array_equal(quotient(Tensor([2.0, 0.0, np.inf])), [1, np.nan, np.nan])


def test_only_tensors_are_arguments_of_a_captured_function():
    @trace(symbolic=True, capture_as_const=True)
    def f(x, y):
        return x

    with pytest.raises(AssertionError, match="Only support tensor type args"):
        f(floats(1.0), 2)


def test_only_tensors_are_results_of_a_captured_function():
    @trace(symbolic=True, capture_as_const=True)
    def f(x):
        return x, 2

    with pytest.raises(AssertionError, match="Only support return tensors"):
        f(floats(1.0))


def make_predictor(**options):
    net = M.Sequential(M.Linear(4, 3), M.ReLU(), M.Linear(3, 2))
    net.eval()

    @trace(symbolic=True, capture_as_const=True, **options)
    def predict(x):
        return F.softmax(net(x), axis=1)

    return predict


def test_without_host_runs_the_graph_alone():
    predict = make_predictor(without_host=True)
    x = Tensor(np.ones((2, 4), np.float32))
    np.testing.assert_allclose(predict(x).numpy(), predict(x).numpy(), rtol=1e-6)
    assert predict(Tensor(np.ones((5, 4), np.float32))).shape == (5, 2)


def test_dump_keeps_function_names_and_cases(tmp_path):
    predict = make_predictor()
    x = np.random.default_rng(0).normal(size=(3, 4)).astype(np.float32)
    expected = predict(Tensor(x)).numpy()
    np.save(tmp_path / "x.npy", x)
    path = tmp_path / "net.mge"
    info = predict.dump(
        str(path),
        arg_names=["x"],
        output_names="y",
        input_data=[f"x:{tmp_path}/x.npy", "#rand(-1,1,2,4)"],
        strip_info_file=tmp_path / "info.json",
        user_info={"made": "here"},
    )
    assert info.inputs == ["x"] and info.outputs == ["y"]
    assert info.tot_bytes == path.stat().st_size
    assert "MatrixMul" in json.loads((tmp_path / "info.json").read_text())["opr_types"]
    model = _mge.load(str(path))
    assert model.input_names == ["x"] and model.output_names == ["y"]
    np.testing.assert_allclose(model.run([Tensor(x)])[0].numpy(), expected, rtol=1e-6)
    assert model.run([Tensor(np.zeros((7, 4), np.float32))])[0].shape == (7, 2)


def carried(predict, **options):
    """The options that a dump puts into the model, and the hash of the file."""
    file = io.BytesIO()
    info = predict.dump(file, silent=True, **options)
    path = Path(tempfile.mkdtemp()) / "net.mge"
    path.write_bytes(file.getvalue())
    metadata = _mge.load(str(path)).metadata
    shutil.rmtree(path.parent)
    return json.loads(metadata.get("load_and_run.options", "null")), info.content_hash


def test_dump_options_are_carried_by_the_model():
    predict = make_predictor()
    predict(Tensor(np.ones((2, 4), np.float32)))
    plain, plain_hash = carried(predict)
    assert plain is None
    options, content_hash = carried(
        predict, enable_hwcd4=True, enable_fuse_conv_bias_with_z=True, enable_fuse_grain=False
    )
    assert options["layout"] == "NHWCD4" and content_hash != plain_hash
    assert options["fuse_conv_bias_with_z"] is True and options["fuse_grain"] is False
    assert "fuse_preprocess" not in options
    assert carried(predict, enable_nchw44=False)[1] == plain_hash
    options = carried(predict, precision="relaxed", weight_bits=8)[0]
    assert options["precision"] == "relaxed" and options["weight_bits"] == 8
    assert carried(predict, weight_bits=0)[1] == plain_hash
    with pytest.raises(ValueError, match=r"weight_bits.* is 0, 4 or 8, not 3"):
        predict.dump(io.BytesIO(), weight_bits=3)
    with pytest.raises(ValueError, match="enable_nchw4 contradicts enable_nchw88"):
        predict.dump(io.BytesIO(), enable_nchw4=True, enable_nchw88=True)
    with pytest.warns(UserWarning, match="enable_nchw88 has no effect"):
        assert carried(predict, optimize_for_inference=False, enable_nchw88=True)[0] is None


@pytest.mark.parametrize(
    "argument",
    [
        {"keep_opr_priority": True},
        {"dump_format": "FBS_V2"},
        {"model_version": 1},
        {"compat_older_version": "8.14"},
    ],
    ids=lambda argument: next(iter(argument)),
)
def test_arguments_of_dump_without_effect_are_told(argument):
    predict = make_predictor()
    predict(Tensor(np.ones((2, 4), np.float32)))
    with pytest.warns(UserWarning, match=next(iter(argument))):
        predict.dump(io.BytesIO(), silent=True, **argument)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        predict.dump(io.BytesIO(), silent=True, no_change_graph=True)


def test_options_of_traces_are_checked_in_their_own_words():
    from megengine.jit import DTRConfig, GraphOptimizationConfig

    with pytest.raises(ValueError, match=r"\[opt_level\] 7 is not between -3 and 3"):
        trace(lambda x: x, opt_level=7)
    with pytest.raises(
        TypeError, match=r"\[graph_opt_config.jit_fuse_reduce\] needs true or false"
    ):
        trace(lambda x: x, graph_opt_config=GraphOptimizationConfig(None, "yes"))
    with pytest.raises(TypeError, match=r"\[dtr_config.eviction_threshold\] needs a whole number"):
        trace(lambda x: x, dtr_config=DTRConfig(eviction_threshold=0.5))
    with pytest.raises(TypeError, match=r"\[dtr_config.eviction_threshold\] needs a number"):
        DTRConfig(eviction_threshold="5GB")
    for name, number in (("eviction_threshold", 0), ("recomp_time_factor", -1)):
        with pytest.raises(AssertionError, match=name):
            DTRConfig(**{"eviction_threshold": 1, name: number})


def test_dump_into_a_file_object_and_default_names():
    @trace(symbolic=True, capture_as_const=True)
    def f(x, y):
        return x + y, x

    f(floats(1.0), Tensor([2.0], name="second"))
    file = io.BytesIO()
    info = f.dump(file)
    assert info.inputs == ["arg_0", "second"]
    assert len(file.getvalue()) == info.tot_bytes
    assert info.outputs == ["ADD", "copy"]
    assert info.nr_opr == 4  # two inputs and two operators
    assert f.dump(io.BytesIO(), keep_var_name=0).outputs == ["add", "copy"]


def test_dict_keys_become_output_names(tmp_path):
    @trace(symbolic=True, capture_as_const=True)
    def f(x):
        return {"b": x + 1, "a": x * 2}

    f(floats(1.0))
    with pytest.raises(TypeError, match="dict"):
        f.dump(io.BytesIO(), output_names=["q", "r"])
    assert f.dump(io.BytesIO()).outputs == ["a", "b"]


def test_dump_refuses_what_it_cannot_write():
    @trace(symbolic=True)
    def external(x):
        return x + 1

    external(floats(1.0))
    with pytest.raises(ValueError, match="capture_as_const"):
        external.dump(io.BytesIO())

    @trace(symbolic=True, capture_as_const=True)
    def f(x):
        return x + 1

    with pytest.raises(ValueError, match="record first"):
        f.dump(io.BytesIO())
    f(floats(1.0))
    with pytest.raises(ValueError, match="arg_names"):
        f.dump(io.BytesIO(), arg_names=["a", "b"])
    with pytest.raises(ValueError, match="unknown options"):
        f.dump(io.BytesIO(), enable_nothing=True)


def test_dump_refuses_batch_norm_in_training():
    norm = M.BatchNorm2d(2)

    @trace(symbolic=True, capture_as_const=True)
    def f(x):
        return norm(x)

    f(Tensor(np.ones((2, 2, 3, 3), np.float32)))
    with pytest.raises(RuntimeError, match="training=True"):
        f.dump(io.BytesIO())


def test_dump_in_training_mode_on_request(tmp_path):
    norm = M.BatchNorm2d(2)

    @trace(symbolic=True, capture_as_const=True)
    def f(x):
        return F.dropout(norm(x), 0.5)

    x = Tensor(np.random.default_rng(0).normal(size=(4, 2, 3, 3)).astype(np.float32))
    f(x)
    f.dump(str(tmp_path / "net.mge"), training=True)
    model = _mge.load(str(tmp_path / "net.mge"))
    assert {"batch_norm", "dropout"} <= set(model.operators)
    got = model.run([x])[0].numpy()
    expected = 2 * F.batch_norm(x, training=True).numpy()
    kept = got != 0
    assert 0 < kept.sum() < kept.size
    np.testing.assert_allclose(got[kept], expected[kept], rtol=1e-4, atol=1e-5)


@both_modes
def test_traced_training_takes_batches_of_any_size(symbolic):
    def train(wrap):
        mge.random.seed(1)
        net = M.Sequential(M.Conv2d(1, 4, 3, padding=1), M.BatchNorm2d(4), M.ReLU(), M.MaxPool2d(2))
        manager = GradManager().attach(net.parameters())
        optimizer = SGD(net.parameters(), lr=0.1, momentum=0.9)

        def step(x, label):
            with manager:
                loss = F.nn.cross_entropy(F.flatten(net(x), 1), label)
                manager.backward(loss)
            optimizer.step().clear_grad()
            return loss

        step = wrap(step)
        losses = []
        for seed, n in enumerate((4, 4, 6, 3)):
            rng = np.random.default_rng(seed)
            x = rng.normal(size=(n, 1, 4, 4)).astype(np.float32)
            label = rng.integers(0, 16, n).astype(np.int32)
            losses.append(step(Tensor(x), Tensor(label)).item())
        return losses, net[1].running_mean.numpy()

    losses, mean = train(trace(symbolic=symbolic))
    expected_losses, expected_mean = train(lambda step: step)
    np.testing.assert_allclose(losses, expected_losses, rtol=1e-4)
    np.testing.assert_allclose(mean, expected_mean, rtol=1e-4, atol=1e-6)


@both_modes
def test_ranges_follow_their_tensors(symbolic):
    """Also a bound that another operator has computed, and numbers beside Tensors."""

    @trace(symbolic=symbolic)
    def ranges(start, stop, num):
        return (
            F.linspace(start, stop * 2, 3),
            F.linspace(1, stop, num),
            F.arange(stop),
            F.arange(start, stop, 0.5),
            F.arange(0, stop, start + 1, dtype="int32"),
            F.logspace(start, stop, 2),
        )

    for start, stop, num in ((0.0, 1.0, 2), (1.0, 2.0, 3), (0.5, 2.0, 0), (0.0, 1.0, 2)):
        first, last, count = Tensor(start), Tensor(stop), Tensor(num)
        wanted = (
            np.linspace(start, stop * 2, 3),
            np.linspace(1, stop, num),
            np.arange(stop),
            np.arange(start, stop, 0.5),
            np.arange(0, stop, start + 1).astype(np.int32),
            np.logspace(start, stop, 2),
        )
        for got, want in zip(ranges(first, last, count), wanted, strict=True):
            np.testing.assert_allclose(got.numpy(), want, rtol=1e-6)


def test_ranges_of_tensors_in_a_file(tmp_path):
    @trace(symbolic=True, capture_as_const=True)
    def ranges(stop):
        return F.arange(stop), F.linspace(0, stop, 3)

    ranges(Tensor(2.0))
    path = str(tmp_path / "ranges.mge")
    ranges.dump(path)
    model = _mge.load(path)
    for stop in (2.0, 4.0):
        counted, line = model.run([Tensor(stop)])
        np.testing.assert_array_equal(counted.numpy(), np.arange(stop))
        np.testing.assert_allclose(line.numpy(), np.linspace(0, stop, 3))


def test_bad_bounds_in_a_trace():
    with pytest.raises(ValueError, match="first is one number"):
        trace(lambda x: F.linspace(x, 1, 3))(floats(1, 2)).numpy()
    with pytest.raises(RuntimeError, match="num"):
        trace(lambda n: F.linspace(0, 1, n))(Tensor(-1)).numpy()


@both_modes
def test_sublinear_memory_config_acts(symbolic):
    from megengine.jit import SublinearMemoryConfig

    def step(x):
        for _ in range(6):
            x = F.tanh(x * 1.5)
        return x.sum()

    def gradient(x):
        with GradManager().attach(x) as gm:
            gm.backward(step(x))
        return x.grad

    def results(function):
        x = Tensor(np.linspace(-1, 1, 50, dtype=np.float32))
        found = []
        for _ in range(2):
            x.grad = None
            found.append(function(x).numpy())
        return found

    config = SublinearMemoryConfig(thresh_nr_try=2, num_worker=1)
    traced = trace(symbolic=symbolic, sublinear_memory_config=config)(gradient)
    np.testing.assert_allclose(results(traced), results(gradient), rtol=1e-5)
    small = SublinearMemoryConfig(genetic_pool_size=1, genetic_nr_iter=20)
    with pytest.raises(ValueError, match="sublinear_memory_config"):
        trace(step, sublinear_memory_config=small)
    for name, number in (("thresh_nr_try", -1), ("genetic_nr_iter", -1), ("num_worker", 0)):
        with pytest.raises(AssertionError, match=name):
            SublinearMemoryConfig(**{name: number})
    with pytest.raises(ValueError, match=r"\[opt_level\] contradicts sublinear_memory_config"):
        trace(step, sublinear_memory_config=config, opt_level=-1)


def test_a_dtr_config_is_a_budget():
    from megengine.jit import DTRConfig, SublinearMemoryConfig

    def chain(x):
        values = [x]
        for _ in range(12):
            values.append(F.sin(values[-1]))
        y = values[-1]
        for value in reversed(values[:-1]):
            y = y * F.cos(value)
        return y.sum()

    def peak(config):
        before = mge.device.get_allocated_memory()
        traced = trace(symbolic=True, dtr_config=config, opt_level=0)(chain)
        mge.device.reset_max_memory_stats()
        np.testing.assert_array_equal(traced(x).numpy(), expected)
        return mge.device.get_max_allocated_memory() - before

    x = Tensor(np.full((256, 1024), 0.5, np.float32))
    expected = trace(symbolic=True, opt_level=0)(chain)(x).numpy()
    assert peak(DTRConfig(1)) < 0.7 * peak(None)
    with pytest.raises(ValueError, match=r"\[dtr_config\] contradicts sublinear_memory_config"):
        trace(chain, dtr_config=DTRConfig(1), sublinear_memory_config=SublinearMemoryConfig())


def test_imperative_is_not_dropped_in_silence():
    with pytest.warns(UserWarning, match="imperative has no effect"):
        trace(lambda x: x, imperative=True)


@pytest.mark.parametrize("symbolic", [False, True])
def test_side_effects_happen_in_every_call_with_its_values(symbolic):
    seen = []

    @mge.jit.sideeffect
    def note(x, scale=1):
        """Notes a number."""
        seen.append(float(x) * scale)
        return len(seen)

    @mge.jit.trace(symbolic=symbolic)
    def step(x):
        y = x * 2
        if note(y, scale=10) > 100:
            y = y + 1
        return y + 1

    for k in range(4):
        assert float(step(mge.Tensor(float(k)))) == 2 * k + 1
    assert seen == [0, 20, 40, 60]
    assert note(mge.Tensor(1.0)) == 5 and note.__doc__ == "Notes a number."


@pytest.mark.parametrize("symbolic", [False, True])
def test_the_number_of_elements_follows_the_inputs(symbolic):
    centred = trace(lambda x: x - x.sum() / x.size, symbolic=symbolic)
    for shape in ((2, 3), (4, 5), (7,), ()):
        expected = np.zeros(shape, np.float32)
        np.testing.assert_array_equal(centred(Tensor(expected + 2)).numpy(), expected)
    twice = trace(lambda x: x * 2 if x.size > 0 else x, symbolic=symbolic)
    assert [twice(Tensor([3.0])).item() for _ in range(3)] == [6, 6, 6]
    flat = trace(lambda x: x.reshape(x.size), symbolic=symbolic)
    assert [flat(Tensor(np.ones((n, 3), "float32"))).shape for n in (2, 4)] == [(6,), (12,)]
