# SPDX-License-Identifier: Apache-2.0
"""Half-precision storage, preprocessing as one step, results that do not depend on the batch."""

import json

import numpy as np
import pytest

import megengine as mge
import megengine.functional as F
from megengine.jit import trace

RANDOM = np.random.RandomState(3)


def weight(*shape):
    return mge.Tensor((RANDOM.standard_normal(shape) * 0.2).astype("float32"))


def write(path, function, example, **options):
    traced = trace(symbolic=True, capture_as_const=True)(function)
    traced(mge.Tensor(example))
    traced.dump(str(path), arg_names=["x"], output_names=["y"], **options)
    return path


def conv_net(channels=16):
    weights = [weight(channels, channels, 3, 3) for _ in range(3)]
    biases = [weight(1, channels, 1, 1) for _ in range(3)]

    def run(x):
        first = F.relu(F.conv2d(x, weights[0], biases[0], padding=1))
        second = F.relu(F.conv2d(first, weights[1], biases[1], padding=1))
        return F.relu(F.conv2d(second, weights[2], biases[2], padding=1) + first)

    return run


IMAGE = RANDOM.standard_normal((1, 16, 32, 32)).astype("float32")


@pytest.fixture(scope="module")
def net():
    return conv_net()


@pytest.fixture
def outputs(run_tool, tmp_path):
    """outputs(model, input array, *flags) → (output y, result)."""

    def run(model, x, *flags):
        np.save(tmp_path / "x.npy", x)
        file = tmp_path / "y.npz"
        flags = [*flags, "--input", f"x:{tmp_path / 'x.npy'}", "--dump-outputs", file]
        done = run_tool("load_and_run", model, "--iter=1", "--warmup-iter=0", *flags)
        assert done.code == 0, done.err
        return np.load(file)["y"], done.result

    return run


def relative_error(got, expected):
    return np.abs(got - expected).max() / np.abs(expected).max()


@pytest.mark.parametrize("flag", ["--enable-ioc16", "--enable-io16xc32"])
def test_values_between_steps_are_float16(net, outputs, tmp_path, flag):
    model = write(tmp_path / "net.mge", net, IMAGE)
    plain, wide = outputs(model, IMAGE)
    got, half = outputs(model, IMAGE, flag)
    assert got.dtype == np.float32
    assert 0 < relative_error(got, plain) <= 1e-3
    steps = half["algorithms"]
    assert {s["dtype"] for s in steps[:-1]} == {"float16"}
    assert steps[-1]["dtype"] == "float32"
    assert {s["compute"] for s in steps if s["op"] == "conv2d"} == {"float32"}
    assert half["memory_bytes"]["constants"] * 2 == wide["memory_bytes"]["constants"]
    assert half["memory_bytes"]["plan"] <= 0.55 * wide["memory_bytes"]["plan"]
    assert [o["dtype"] for o in half["outputs"]] == ["float32"]


def test_test_cases_have_the_tolerance_of_halves(net, run_tool, tmp_path):
    model = write(tmp_path / "net.mge", net, IMAGE, input_data=["#rand(-2,2,1,16,32,32)"])
    for flags in ([], ["--enable-io16xc32"]):
        done = run_tool("load_and_run", model, *flags)
        assert done.code == 0, done.err
        assert done.result["testcases"][0]["compared"]


@pytest.mark.parametrize("flags", [[], ["--first-diff"]])
def test_references_have_the_tolerance_of_halves(net, run_tool, tmp_path, flags):
    """The outputs are float32, but values on the way to them are not."""
    wide = write(tmp_path / "wide.mge", net, IMAGE)
    half = write(tmp_path / "half.mge", net, IMAGE, enable_io16xc32=True)
    for model, how in (
        (half, ["--compare-with", "reference"]),
        (half, ["--compare", wide]),
        (wide, ["--compare", half]),
        (wide, ["--enable-io16xc32", "--compare-with", "reference"]),
    ):
        done = run_tool("load_and_run", model, "--iter=1", "--warmup-iter=0", *how, *flags)
        assert done.code == 0, done.err


def test_both_precisions_contradict_each_other(small_model, run_tool, net, tmp_path):
    done = run_tool("load_and_run", small_model, "--enable-ioc16", "--enable-io16xc32")
    assert done.code == 2
    assert "--enable-ioc16" in done.err and "--enable-io16xc32" in done.err
    with pytest.raises(ValueError, match=r"\[enable_ioc16\] contradicts enable_io16xc32"):
        write(tmp_path / "x.mge", net, IMAGE, enable_io16xc32=True, enable_ioc16=True)


@pytest.mark.parametrize("option", ["enable_ioc16", "enable_io16xc32"])
def test_dumped_as_halves(net, outputs, run_tool, tmp_path, option):
    wide = write(tmp_path / "wide.mge", net, IMAGE)
    half = write(tmp_path / "half.mge", net, IMAGE, **{option: True})
    assert half.stat().st_size < 0.7 * wide.stat().st_size
    got, _ = outputs(half, IMAGE)
    assert 0 < relative_error(got, outputs(wide, IMAGE)[0]) <= 1e-3
    two = np.concatenate([IMAGE, -IMAGE])
    assert outputs(half, two)[0].shape == (2, 16, 32, 32)
    done = run_tool(
        "mge-dump", "optimize", wide, tmp_path / "optimized.mge", "--passes", "store_as_f16"
    )
    assert done.code == 0, done.err
    assert np.array_equal(outputs(tmp_path / "optimized.mge", IMAGE)[0], got)


@pytest.mark.parametrize("precision", ["relaxed", "fast"])
def test_fewer_bits_with_hardware_support(net, outputs, run_tool, tmp_path, precision):
    model = write(tmp_path / "net.mge", net, IMAGE, input_data=["#rand(-2,2,1,16,32,32)"])
    strict, _ = outputs(model, IMAGE)
    got, result = outputs(model, IMAGE, "--precision", precision)
    assert got.dtype == np.float32
    assert relative_error(got, strict) <= 1e-2
    assert result["options"]["precision"] == precision
    carried = write(tmp_path / "carried.mge", net, IMAGE, precision=precision)
    again, result = outputs(carried, IMAGE)
    assert np.array_equal(again, got)
    assert result["options"]["precision"] == precision
    done = run_tool("load_and_run", model, "--precision", precision)
    assert done.code == 0, done.err
    assert done.result["testcases"][0]["compared"]


# --- preprocessing ---


def camera_net():
    mean = mge.Tensor(np.array([123.675, 116.28, 103.53], "float32"))
    deviation = mge.Tensor(np.array([58.395, 57.12, 57.375], "float32"))
    kernel = weight(8, 4, 3, 3)

    def run(x):
        y = (x.astype("float32") - mean) / deviation
        y = F.transpose(y, (0, 3, 1, 2))
        y = F.nn.pad(y, ((0, 0), (0, 1), (0, 0), (0, 0)))
        return F.conv2d(y, kernel)

    return run


def test_preprocessing_is_one_step(outputs, tmp_path):
    x = RANDOM.randint(0, 256, (2, 20, 24, 3)).astype("uint8")
    model = write(tmp_path / "camera.mge", camera_net(), x)

    def steps_before_conv(result):
        ops = [s["op"] for s in result["algorithms"]]
        return ops[: ops.index("conv2d")]

    on, result = outputs(model, x, "--enable-fuse-preprocess", "--graph-opt-level=0")
    assert steps_before_conv(result) == ["preprocess"]
    assert result["options"]["fuse_preprocess"] is True
    off, result = outputs(model, x, "--noenable-fuse-preprocess")
    assert len([op for op in steps_before_conv(result) if op != "reorder"]) >= 3
    unset, result = outputs(model, x)
    assert "preprocess" in steps_before_conv(result)
    np.testing.assert_allclose(on, off, rtol=1e-6, atol=1e-6 * np.abs(off).max())
    np.testing.assert_allclose(unset, off, rtol=1e-6, atol=1e-6 * np.abs(off).max())


# --- equal between batches ---


def mixed_net():
    kernels = [weight(16, 3, 3, 3), weight(16, 16, 3, 3), weight(16, 1, 1, 3, 3)]
    matrix, offset = weight(16 * 16, 30), weight(30)
    attention = weight(16, 16)

    def run(x):
        y = F.relu(F.conv2d(x, kernels[0], padding=1))
        y = F.max_pool2d(F.relu(F.conv2d(y, kernels[1], padding=1)), 2)
        y = F.silu(F.conv2d(y, kernels[2], padding=1, groups=16)) + y
        z = F.transpose(F.reshape(F.avg_pool2d(y, 2), (-1, 16, 16)), (0, 2, 1))
        scores = F.softmax(F.matmul(F.matmul(z, attention), z, transpose_b=True), axis=-1)
        z = F.nn.layer_norm(F.matmul(scores, z), (16,), False)
        z = F.gelu(F.matmul(F.flatten(z, 1), matrix) + offset)
        return F.softmax(z / F.sqrt(F.mean(z * z, axis=1, keepdims=True)), axis=1)

    return run


@pytest.mark.parametrize(
    "flags",
    [
        [],
        ["--fast-run"],
        ["--layout-transform=cpu", "--fast-run"],
        ["--enable-nchw88"],
        ["--enable-ioc16"],
    ],
    ids=["default", "fast-run", "layout-transform", "nchw88", "half"],
)
@pytest.mark.parametrize("threads", [1, 2])
def test_rows_do_not_depend_on_the_batch(outputs, tmp_path, flags, threads):
    x = RANDOM.standard_normal((8, 3, 16, 16)).astype("float32")
    model = write(tmp_path / "mixed.mge", mixed_net(), x)
    flags = ["--binary-equal-between-batch", f"--threads={threads}", *flags]
    together, result = outputs(model, x, *flags)
    assert result["options"]["binary_equal_between_batch"] is True
    for n in range(8):
        alone, _ = outputs(model, x[n : n + 1], *flags)
        assert np.array_equal(alone[0], together[n]), (n, np.abs(alone[0] - together[n]).max())


def test_saved_plans_of_batches_replay(outputs, tmp_path):
    x = RANDOM.standard_normal((8, 3, 16, 16)).astype("float32")
    model = write(tmp_path / "mixed.mge", mixed_net(), x)
    plan = tmp_path / "plan.json"
    first, saved = outputs(model, x, "--binary-equal-between-batch", "--save-plan", plan)
    assert json.loads(plan.read_text())
    again, replayed = outputs(model, x, "--replay-plan", plan)
    assert np.array_equal(first, again)
    names = [[s["algorithm"] for s in r["algorithms"]] for r in (saved, replayed)]
    assert names[0] == names[1]
