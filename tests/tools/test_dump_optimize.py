# SPDX-License-Identifier: Apache-2.0
"""mge-dump convert and optimize, and the options that a model carries."""

import json
from pathlib import Path

import numpy as np
import pytest

import megengine as mge
import megengine.functional as F
from megengine import _mge
from megengine.jit import trace

TOOL = "mge-dump"
MEGENGINE = Path(__file__).resolve().parents[1] / "data/megengine"

IMAGE = np.random.RandomState(0).standard_normal((1, 3, 8, 6)).astype("float32")


def test_convert(run_tool, outputs_of, image_model, tmp_path):
    out = tmp_path / "out.mge"
    assert run_tool(TOOL, "convert", image_model, out).code == 0
    np.testing.assert_array_equal(outputs_of(out, IMAGE), outputs_of(image_model, IMAGE))
    ran = run_tool(TOOL, "convert", __file__, out)
    assert ran.code == 5 and ran.report["error"]["kind"] == "model"


@pytest.mark.parametrize("net", ["mlp", "resnet", "mobilenet", "bert"])
@pytest.mark.parametrize("version", ["v1", "v2"])
def test_convert_megengine(run_tool, tmp_path, net, version):
    out = tmp_path / "out.mge"
    assert run_tool(TOOL, "convert", MEGENGINE / f"{net}.{version}.mge", out).code == 0
    model = _mge.load(str(out))
    inputs = np.load(MEGENGINE / f"{net}.inputs.npz")
    got = model.run([mge.Tensor(inputs[name]) for name in inputs.files])
    for tensor, expected in zip(
        got, np.load(MEGENGINE / f"{net}.outputs.npz").values(), strict=True
    ):
        np.testing.assert_allclose(tensor.numpy(), expected, rtol=1e-4, atol=1e-5)


def test_optimize(run_tool, outputs_of, image_model, tmp_path):
    out = tmp_path / "out.mge"
    ran = run_tool(TOOL, "optimize", image_model, out)
    assert ran.code == 0
    before = run_tool(TOOL, "info", image_model).result["summary"]["operators"]
    assert ran.result["output"]["operators"] < before
    np.testing.assert_allclose(
        outputs_of(out, IMAGE)[0], outputs_of(image_model, IMAGE)[0], rtol=1e-5, atol=1e-7
    )


@pytest.fixture
def layers(write_model):
    """A model of layers of many kinds, some of which pack weights on any machine, and its input."""
    random = np.random.RandomState(3)
    windows, pixels, columns = (
        mge.Tensor(random.standard_normal(shape).astype("float32") / 10)
        for shape in ((64, 64, 3, 3), (64, 64, 1, 1), (64 * 49, 256))
    )

    def net(x):
        x = F.relu(F.conv2d(x, windows, padding=1))
        x = F.relu(F.conv2d(x, windows, stride=2, padding=1))
        x = F.relu(F.conv2d(x, pixels))
        return F.matmul(F.flatten(x, 1), columns)

    image = random.standard_normal((4, 64, 14, 14)).astype("float32")
    return write_model("layers", net, {"x": image}, "y"), image


def test_optimize_packs(run_tool, outputs_of, layers, tmp_path):
    model, image = layers
    plain, packed, cache = (
        tmp_path / "plain.mge",
        tmp_path / "packed.mge",
        tmp_path / "cache.sqlite",
    )
    ran = run_tool("load_and_run", model, "--fast-run", "--fast-run-algo-policy", cache)
    assert ran.code == 0, ran.err
    assert run_tool(TOOL, "optimize", model, plain).result["packed_weights"] == 0
    ran = run_tool(TOOL, "optimize", model, packed, "--pack", "--threads", 1, "--cache", cache)
    assert ran.code == 0, ran.err
    assert ran.result["packed_weights"] > 0
    assert packed.stat().st_size > plain.stat().st_size
    expected = outputs_of(plain, image)[0]
    np.testing.assert_allclose(
        outputs_of(packed, image)[0], expected, rtol=0, atol=1e-5 * np.abs(expected).max()
    )
    # Optimised again, the copies are those that are asked for now.
    assert run_tool(TOOL, "optimize", packed, tmp_path / "again.mge").result["packed_weights"] == 0


@pytest.fixture
def linear(tmp_path):
    """A layer large enough to be compressed: its function, and dumps of it with options."""
    weight = np.random.RandomState(1).standard_normal((128, 128)).astype("float32")
    traced = trace(
        lambda x: mge.functional.matmul(x, mge.Tensor(weight)), symbolic=True, capture_as_const=True
    )

    def dump(name, **options):
        traced.dump(tmp_path / name, **options)
        return tmp_path / name

    x = np.random.RandomState(2).standard_normal((3, 128)).astype("float32")
    traced(mge.Tensor(x))
    return x, x @ weight, dump


@pytest.mark.parametrize("bits, part, lost", [(8, 0.3, 0.02), (4, 0.2, 0.25)])
def test_optimize_keeps_weights_in_few_bits(
    run_tool, outputs_of, linear, tmp_path, bits, part, lost
):
    x, expected, dump = linear
    plain, requested = dump("plain.mge"), dump("requested.mge", weight_bits=bits)
    for model, flags in ((plain, ["--weight-bits", bits]), (requested, [])):
        out = tmp_path / "out.mge"
        ran = run_tool(TOOL, "optimize", model, out, *flags)
        assert ran.code == 0 and not ran.result["options_without_effect"], ran.err
        assert out.stat().st_size < part * plain.stat().st_size
        got = outputs_of(out, x)[0]
        np.testing.assert_allclose(got, outputs_of(requested, x)[0], rtol=1e-4, atol=1e-4)
        assert np.linalg.norm(got - expected) < lost * np.linalg.norm(expected)
    for flags in (["--without", "compress_weights"], ["--passes", "fuse_bias"]):
        ran = run_tool(TOOL, "optimize", requested, out, *flags)
        assert ran.code == 0 and out.stat().st_size > part * plain.stat().st_size


def test_weight_bits_without_effect_are_reported(run_tool, image_model, tmp_path):
    ran = run_tool(TOOL, "optimize", image_model, tmp_path / "out.mge", "--weight-bits", 8)
    assert ran.code == 0 and "--weight-bits has no effect" in ran.err
    assert ran.result["options_without_effect"] == ["--weight-bits"]
    for flags in (["--weight-bits", 3], ["--passes", "compress_weights"]):
        assert run_tool(TOOL, "optimize", image_model, tmp_path / "out.mge", *flags).code == 2


@pytest.mark.parametrize("flags", [("--threads", 1), ("--cache", "x")])
def test_how_to_pack_needs_packing(run_tool, image_model, tmp_path, flags):
    ran = run_tool(TOOL, "optimize", image_model, tmp_path / "out.mge", *flags)
    assert ran.code == 2 and "--pack" in ran.err


def test_optimize_with_chosen_passes(run_tool, image_model, tmp_path):
    def passes(*flags):
        ran = run_tool(TOOL, "optimize", image_model, tmp_path / "out.mge", *flags)
        return [p["name"] for p in ran.result["passes"]]

    assert passes("--passes", "fuse_bias,fold_batch_norm") == ["fold_batch_norm", "fuse_bias"]
    assert passes("--level", 0) == ["remove_dead_nodes"]
    assert "fuse_bias" not in passes("--without", "fuse_bias")
    ran = run_tool(TOOL, "optimize", image_model, tmp_path / "out.mge", "--passes", "magic")
    assert ran.code == 2 and "fold_batch_norm" in ran.err


def test_optimize_notes_a_layout(run_tool, conv_model, tmp_path):
    def layouts(model, *flags):
        ran = run_tool("load_and_run", model, "--iter", 1, *flags)
        assert ran.code == 0, ran.err
        return ran.result["stored_options"], ran.result["options"]["layout"], ran

    out = tmp_path / "out.mge"
    ran = run_tool(TOOL, "optimize", conv_model, out, "--enable_nchw88")
    assert ran.code == 0 and ran.result["layout"] == "NCHW88", ran.err
    assert ran.result["options_without_effect"] == []
    fate, _, run = layouts(out, "--save-plan", tmp_path / "plan.json")
    assert fate == "used"
    plan = json.loads((tmp_path / "plan.json").read_text())
    assert "8c" in json.dumps(plan) or "NCHW88" in json.dumps(plan)
    assert layouts(out, "--graph-opt-level=1")[0] == "overridden"
    # One for other machines stays noted, and says that it does nothing here.
    ran = run_tool(TOOL, "optimize", conv_model, out, "--enable-nchw4")
    assert ran.code == 0 and ran.result["options_without_effect"] == ["--enable-nchw4"]
    assert "layout NCHW4 has no effect" in ran.err
    assert run_tool(TOOL, "optimize", conv_model, out).result.get("layout") is None


def test_a_dump_carries_its_options(run_tool, conv_net, tmp_path):
    net, x = conv_net
    traced = trace(symbolic=True, capture_as_const=True)(net)
    traced(mge.Tensor(x))
    path = tmp_path / "net.mge"
    traced.dump(
        str(path),
        arg_names=["x"],
        output_names=["y"],
        input_data=["#rand(0,1," + ",".join(str(n) for n in x.shape) + ")"],
        maxerr=0.5,
        enable_nchw88=True,
        enable_fuse_conv_bias_nonlinearity=True,
    )
    info = run_tool(TOOL, "info", path).result
    assert info["test_cases"][0]["max_error"] == 0.5
    ran = run_tool("load_and_run", path, "--iter", 1)
    assert ran.code == 0 and ran.result["stored_options"] == "used", ran.err
    assert ran.result["options"]["layout"] == "NCHW88"
    assert ran.result["options"]["fuse_conv_bias_nonlinearity"] is True
    assert "nChw8c" in {step["layout"] for step in ran.result["algorithms"]}
    other = run_tool("load_and_run", path, "--iter", 1, "--jit-level", 0)
    assert other.result["stored_options"] == "overridden"
    assert other.result["options"]["layout"] == "auto"


def test_the_options_of_a_packed_model_act(run_tool, conv_model, tmp_path):
    info, packed = tmp_path / "info.json", tmp_path / "packed.lite"
    options = {"graph_opt_level": 0, "var_sanity_check_first_run": False, "jit_level": 0}
    info.write_text(json.dumps({"valid": True, "name": "net", "options": options}))
    assert run_tool(TOOL, "pack", conv_model, packed, "--info", info).code == 0
    plain, ran = (run_tool("load_and_run", m, "--iter", 1) for m in (conv_model, packed))
    assert ran.code == 0 and ran.result["stored_options"] == "used", ran.err
    assert ran.result["options"]["graph_opt_level"] == 0
    assert ran.result["options"]["jit"] == "unset"
    assert ran.result["sanity_check"] == {"skipped": True}
    steps = [[step["op"] for step in r.result["algorithms"]] for r in (plain, ran)]
    assert "relu" in steps[1] and "relu" not in steps[0]
    options["graph_opt_level"] = 9
    info.write_text(json.dumps({"valid": True, "name": "net", "options": options}))
    assert run_tool(TOOL, "pack", conv_model, packed, "--info", info).code == 0
    ran = run_tool("load_and_run", packed)
    assert ran.code == 5 and "'graph_opt_level' cannot be used" in ran.err


def test_python_uses_options_of_the_model(run_tool, conv_net, conv_model, tmp_path):
    fixed = tmp_path / "fixed.mge"
    assert run_tool(TOOL, "optimize", conv_model, fixed, "--const-shape").code == 0
    _, x = conv_net
    twice = mge.Tensor(np.concatenate([x, x]))
    assert _mge.load(str(conv_model)).run([twice])[0].shape[0] == 2 * x.shape[0]
    assert _mge.load(str(fixed)).run([mge.Tensor(x)])[0].shape[0] == x.shape[0]
    with pytest.raises(ValueError, match="const_shape"):
        _mge.load(str(fixed)).run([twice])


def test_a_layout_without_kernels_leaves_the_choice_to_the_engine(run_tool, conv_model, tmp_path):
    def plan(*flags):
        path = tmp_path / "plan.json"
        ran = run_tool("load_and_run", conv_model, "--iter", 1, "--save-plan", path, *flags)
        assert ran.code == 0, ran.err
        steps = json.loads(path.read_text())["programs"][0]["steps"]
        return [step["algorithm"] for step in steps], ran

    own, _ = plan()
    given, ran = plan("--enable-nhwcd4")
    assert given == own
    assert ran.result["options_without_effect"] == ["--enable-nhwcd4"]
    assert ran.err.count("has no effect") == 1 and "layout NHWCD4 has no effect" in ran.err


def test_optimize_measures_layouts(run_tool, conv_model, tmp_path):
    out = tmp_path / "out.mge"
    ran = run_tool(TOOL, "optimize", conv_model, out, "--layout-transform", "cpu")
    assert ran.code == 0 and ran.result["layout"], ran.err
    ran = run_tool("load_and_run", out, "--iter", 1)
    assert ran.result["stored_options"] == "used"
    assert {a["source"] for a in ran.result["algorithms"]} <= {"plan", "heuristic"}


@pytest.mark.parametrize(
    "flags, code, message",
    [
        (["--enable-nchw4", "--enable-nchw88"], 2, "contradict"),
        (["--enable-nchw88", "--layout-transform=cpu"], 2, "contradicts the layout NCHW88"),
        (["--layout-transform=tpu"], 2, "'tpu'"),
        (["--layout-transform=cuda"], 4, "layouts for GPUs"),
    ],
)
def test_optimize_refuses_layouts(run_tool, conv_model, tmp_path, flags, code, message):
    ran = run_tool(TOOL, "optimize", conv_model, tmp_path / "out.mge", *flags)
    assert ran.code == code and message in ran.err and not (tmp_path / "out.mge").exists()
