# SPDX-License-Identifier: Apache-2.0
"""jit.trace: what a dumped function holds, and what cannot be dumped."""

import io
import json
import shutil
import tempfile
import warnings
from pathlib import Path

import numpy as np
import pytest
from trace_samples import floats

import megengine.functional as F
import megengine.module as M
from megengine import Tensor, _mge
from megengine.jit import (
    trace,
)
from megengine.utils.comp_graph_tools import GraphInference


def make_predictor(**options):
    net = M.Sequential(M.Linear(4, 3), M.ReLU(), M.Linear(3, 2))
    net.eval()

    @trace(symbolic=True, capture_as_const=True, **options)
    def predict(x):
        return F.softmax(net(x), axis=1)

    return predict


def test_without_host_runs_only_the_graph():
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


WEIGHT = Tensor(np.random.default_rng(0).normal(size=(2, 3, 3, 3)).astype(np.float32))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: F.conv_transpose2d(x, WEIGHT, stride=2, padding=1),
        lambda x: F.roll(x, (2, -3), (2, -1)),
    ],
)
def test_dumped_functions_follow_the_size_of_images(function):
    traced = trace(function, symbolic=True, capture_as_const=True)
    file = io.BytesIO()
    image = np.random.default_rng(1).normal(size=(3, 2, 9, 8)).astype(np.float32)
    traced(Tensor(image[:1, :, :5, :6]))
    traced.dump(file)
    file.seek(0)
    (got,) = GraphInference(file).run(image).values()
    np.testing.assert_allclose(got, function(Tensor(image)).numpy(), rtol=1e-5, atol=1e-5)


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
def test_dump_arguments_without_effect_warn(argument):
    predict = make_predictor()
    predict(Tensor(np.ones((2, 4), np.float32)))
    with pytest.warns(UserWarning, match=next(iter(argument))):
        predict.dump(io.BytesIO(), silent=True, **argument)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        predict.dump(io.BytesIO(), silent=True, no_change_graph=True)


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


def test_dump_refuses_unsupported_models():
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


def test_arguments_by_keyword_keep_their_names():
    @trace(symbolic=True, capture_as_const=True)
    def f(data, *, scale):
        return data * scale

    f(Tensor([1.0]), scale=Tensor([2.0]))
    for names in ("x", ["x"], ["x", "scale"]):
        assert f.dump(io.BytesIO(), arg_names=names).inputs == ["x", "scale"]
    assert f.dump(io.BytesIO(), arg_names=["x", "y"]).inputs == ["x", "y"]
    assert f.dump(io.BytesIO(), arg_names=[None, "y"]).inputs == ["arg_0", "y"]
    with pytest.raises(ValueError, match="2 inputs, 1 by position, got 3"):
        f.dump(io.BytesIO(), arg_names=["x", "y", "z"])


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


def test_ranges_of_tensors_in_a_file(tmp_path):
    @trace(symbolic=True, capture_as_const=True)
    def ranges(stop):
        return F.arange(stop), F.linspace(0, stop, 3), F.arange(stop * 3, stop, stop * -0.25)

    ranges(Tensor(2.0))
    path = str(tmp_path / "ranges.mge")
    ranges.dump(path)
    model = _mge.load(path)
    for stop in (2.0, 4.0):
        counted, line, falling = model.run([Tensor(stop)])
        np.testing.assert_array_equal(falling.numpy(), np.arange(stop * 3, stop, stop * -0.25))
        np.testing.assert_array_equal(counted.numpy(), np.arange(stop))
        np.testing.assert_allclose(line.numpy(), np.linspace(0, stop, 3))
