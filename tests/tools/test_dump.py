# SPDX-License-Identifier: Apache-2.0
"""mge-dump: each command and flag as a process."""

import base64
import json
import re
import shutil
import struct
import xml.etree.ElementTree as ElementTree
import zlib
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

import megengine as mge
import megengine.functional as F
import megengine.module as M
from megengine import _mge
from megengine.jit import trace

TOOL = "mge-dump"
MEGENGINE = Path(__file__).resolve().parents[1] / "data/megengine"


class Net(M.Module):
    def __init__(self):
        super().__init__()
        self.conv = M.Conv2d(3, 4, 3, padding=1)
        self.bn = M.BatchNorm2d(4)
        self.fc = M.Linear(4, 5)

    def forward(self, x):
        x = F.relu(self.bn(self.conv(x)))
        return F.softmax(self.fc(F.flatten(F.adaptive_avg_pool2d(x, 1), 1)), axis=1)


@pytest.fixture(scope="module")
def image_model(tmp_path_factory):
    """A net for images (1, 3, 8, 6) named data, with all names kept."""
    mge.random.seed(3)
    net = Net()
    net.eval()
    traced = trace(symbolic=True, capture_as_const=True)(lambda x: net(x))
    traced(mge.Tensor(np.ones((1, 3, 8, 6), "float32")))
    path = tmp_path_factory.mktemp("models") / "image.mge"
    traced.dump(str(path), arg_names=["data"], output_names=["prob"])
    return path


@pytest.fixture(scope="module")
def two_inputs(tmp_path_factory):
    traced = trace(symbolic=True, capture_as_const=True)(lambda a, b: a * 2 + b)
    traced(mge.Tensor(np.ones((2, 3), "float32")), mge.Tensor(np.ones(3, "float32")))
    path = tmp_path_factory.mktemp("models") / "two.mge"
    traced.dump(str(path), arg_names=["a", "b"], output_names=["c"])
    return path


def outputs_of(path, *inputs):
    return [t.numpy() for t in _mge.load(str(path)).run([mge.Tensor(x) for x in inputs])]


# info


def test_info(run_tool, image_model):
    ran = run_tool(TOOL, "info", image_model)
    assert ran.code == 0
    summary = ran.result["summary"]
    assert summary["parameters"] == sum(w["elements"] for w in ran.result["weights"])
    assert ran.result["bytes"] == image_model.stat().st_size
    assert [p["name"] for p in ran.result["inputs"]] == ["data"]
    assert ran.result["inputs"][0]["shape"] == [1, 3, 8, 6]
    assert "data" in ran.out and "prob" in ran.out


def test_flops_of_a_convolution(run_tool, image_model):
    operators = run_tool(TOOL, "info", image_model).result["operators"]
    (conv,) = (o for o in operators if "conv" in o["op"])
    # 2 for multiplication and addition, per output element and element of its window; the bias.
    assert conv["flops"] in (2 * 4 * 8 * 6 * 3 * 9, 2 * 4 * 8 * 6 * 3 * 9 + 4 * 8 * 6)


@pytest.mark.parametrize(
    "flag, heading",
    [("--params", "Weights"), ("--flops", "Operators"), ("--activations", "Activations")],
)
def test_tables(run_tool, image_model, flag, heading):
    assert f"\n{heading}\n" in run_tool(TOOL, "info", image_model, flag).out
    assert f"\n{heading}\n" not in run_tool(TOOL, "info", image_model).out
    assert f"\n{heading}\n" in run_tool(TOOL, "info", image_model, "--all").out


def test_batch_size_scales_the_work(run_tool, image_model):
    one = run_tool(TOOL, "info", image_model).result["summary"]
    four = run_tool(TOOL, "info", image_model, "--batch_size=4").result["summary"]
    assert four["flops"] == 4 * one["flops"]
    # What is made of weights alone does not grow.
    assert 3.9 < four["activation_bytes"] / one["activation_bytes"] <= 4
    assert four["weight_bytes"] == one["weight_bytes"]


def test_bars(run_tool, image_model):
    def longest(n):
        out = run_tool(TOOL, "info", image_model, "--params", "--bar-length-max", n).out
        return max(map(len, re.findall("#+", out)), default=0)

    assert longest(7) == 7 and longest(0) == 0


def test_statistics_of_weights(run_tool, image_model, tmp_path):
    assert run_tool(TOOL, "weights", image_model, tmp_path / "w.npz").code == 0
    stored = np.load(tmp_path / "w.npz")
    for row in run_tool(TOOL, "info", image_model).result["weights"]:
        values = stored[row["name"]]
        assert row["mean"] == pytest.approx(values.mean(), abs=1e-6)
        assert row["std"] == pytest.approx(values.std(), abs=1e-6)


# graph


def test_dot_goes_to_stdout(run_tool, image_model):
    ran = run_tool(TOOL, "graph", image_model, "--quiet")
    assert ran.out.startswith("digraph") and ran.out.count("{") == ran.out.count("}")
    assert ran.result["format"] == "dot"


def test_graph_formats(run_tool, image_model, tmp_path):
    assert run_tool(TOOL, "graph", image_model, tmp_path / "g.json").code == 0
    graph = json.loads((tmp_path / "g.json").read_text())
    assert len(graph["nodes"]) == run_tool(TOOL, "info", image_model).result["summary"]["operators"]
    text = run_tool(TOOL, "graph", image_model, "--format", "text").out
    assert "input" in text and "softmax(" in text


def test_graph_flags(run_tool, image_model):
    plain = run_tool(TOOL, "graph", image_model).out
    assert "shape=note" not in plain and "padding" not in plain
    assert "shape=note" in run_tool(TOOL, "graph", image_model, "--constants").out
    assert "padding" in run_tool(TOOL, "graph", image_model, "--params").out


def test_graph_around_a_node(run_tool, image_model):
    near = run_tool(TOOL, "graph", image_model, "--around", "prob", "--depth", 0).out
    assert "softmax" in near and "conv" not in near
    assert "conv" in run_tool(TOOL, "graph", image_model, "--around", "prob", "--depth=99").out
    ran = run_tool(TOOL, "graph", image_model, "--around", "nobody")
    assert ran.code == 2 and "nobody" in ran.err


@pytest.mark.skipif(not shutil.which("dot"), reason="Graphviz is not installed")
def test_svg(run_tool, image_model, tmp_path):
    assert run_tool(TOOL, "graph", image_model, tmp_path / "g.svg").code == 0
    svg = ElementTree.parse(tmp_path / "g.svg").getroot()
    texts = {t.text for t in svg.iter("{http://www.w3.org/2000/svg}text")}
    assert "softmax" in texts and "data" in texts


def test_svg_without_graphviz(run_tool, image_model, tmp_path):
    ran = run_tool(TOOL, "graph", image_model, tmp_path / "g.svg", env={"PATH": str(tmp_path)})
    assert ran.code == 4 and "graphviz" in ran.err and not (tmp_path / "g.svg").exists()


def test_graph_and_report_do_not_share_stdout(run_tool, image_model):
    assert run_tool(TOOL, "graph", image_model, "--json", "-", "-").code == 2


# weights


@pytest.mark.parametrize("file, load", [("w.npz", np.load), ("w.safetensors", load_file)])
def test_weights(run_tool, image_model, tmp_path, file, load):
    ran = run_tool(TOOL, "weights", image_model, tmp_path / file)
    assert ran.code == 0
    arrays = load(tmp_path / file)
    expected = [w.numpy() for w in Net().parameters()]
    shapes = sorted(tuple(w["shape"]) for w in ran.result["weights"])
    assert sorted(arrays[n].shape for n in arrays) == shapes
    assert any(s == (4, 3, 3, 3) for s in shapes) and len(expected) >= 4
    for w in ran.result["weights"]:
        assert arrays[w["name"]].dtype == w["dtype"]


def test_both_weight_formats_agree(run_tool, image_model, tmp_path):
    for file in ("w.npz", "w.safetensors"):
        run_tool(TOOL, "weights", image_model, tmp_path / file)
    npz, safe = np.load(tmp_path / "w.npz"), load_file(tmp_path / "w.safetensors")
    assert set(npz) == set(safe)
    for name in safe:
        np.testing.assert_array_equal(npz[name], safe[name])


def test_weights_by_name(run_tool, image_model, tmp_path):
    names = [
        w["name"]
        for w in run_tool(TOOL, "weights", image_model, tmp_path / "w.npz").result["weights"]
    ]
    ran = run_tool(TOOL, "weights", image_model, tmp_path / "w.npz", "--name", f"^{names[0]}$")
    assert [w["name"] for w in ran.result["weights"]] == [names[0]]
    for pattern, message in (("nothing_like_it", "matches"), ("(", "regular expression")):
        ran = run_tool(TOOL, "weights", image_model, tmp_path / "w.npz", "--name", pattern)
        assert ran.code == 2 and message in ran.err


def test_unknown_weight_format(run_tool, image_model, tmp_path):
    ran = run_tool(TOOL, "weights", image_model, tmp_path / "w.pkl")
    assert ran.code == 2 and ".safetensors" in ran.report["error"]["hint"]


# convert, optimize, strip

IMAGE = np.random.RandomState(0).standard_normal((1, 3, 8, 6)).astype("float32")


def test_convert(run_tool, image_model, tmp_path):
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


def test_optimize(run_tool, image_model, tmp_path):
    out = tmp_path / "out.mge"
    ran = run_tool(TOOL, "optimize", image_model, out)
    assert ran.code == 0
    before = run_tool(TOOL, "info", image_model).result["summary"]["operators"]
    assert ran.result["output"]["operators"] < before
    np.testing.assert_allclose(
        outputs_of(out, IMAGE)[0], outputs_of(image_model, IMAGE)[0], rtol=1e-5, atol=1e-7
    )


def test_optimize_with_chosen_passes(run_tool, image_model, tmp_path):
    def passes(*flags):
        ran = run_tool(TOOL, "optimize", image_model, tmp_path / "out.mge", *flags)
        return [p["name"] for p in ran.result["passes"]]

    assert passes("--passes", "fuse_bias,fold_batch_norm") == ["fold_batch_norm", "fuse_bias"]
    assert passes("--level", 0) == ["remove_dead_nodes"]
    assert "fuse_bias" not in passes("--without", "fuse_bias")
    ran = run_tool(TOOL, "optimize", image_model, tmp_path / "out.mge", "--passes", "magic")
    assert ran.code == 2 and "fold_batch_norm" in ran.err


def conv_net(size=8):
    """A model that measuring and layouts make a difference for."""
    random = np.random.RandomState(2)

    def weight(*shape):
        return mge.Tensor(random.standard_normal(shape).astype("float32") / 10)

    a, b = weight(16, 16, 3, 3), weight(16, 16, 3, 3)

    def net(x):
        return F.conv2d(F.relu(F.conv2d(x, a, padding=1)), b, padding=1)

    return net, np.ones((1, 16, size, size), "float32")


@pytest.fixture(scope="module")
def conv_model(tmp_path_factory):
    net, x = conv_net()
    traced = trace(symbolic=True, capture_as_const=True)(net)
    traced(mge.Tensor(x))
    path = tmp_path_factory.mktemp("models") / "conv.mge"
    traced.dump(str(path), arg_names=["x"], output_names=["y"])
    return path


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


def test_a_dump_carries_its_options(run_tool, tmp_path):
    net, x = conv_net()
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


def test_python_keeps_to_what_the_model_carries(run_tool, conv_model, tmp_path):
    fixed = tmp_path / "fixed.mge"
    assert run_tool(TOOL, "optimize", conv_model, fixed, "--const-shape").code == 0
    _, x = conv_net()
    twice = mge.Tensor(np.concatenate([x, x]))
    assert mge._mge.load(str(conv_model)).run([twice])[0].shape[0] == 2 * x.shape[0]
    assert mge._mge.load(str(fixed)).run([mge.Tensor(x)])[0].shape[0] == x.shape[0]
    with pytest.raises(ValueError, match="const_shape"):
        mge._mge.load(str(fixed)).run([twice])


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
        (["--layout-transform=cuda"], 4, "no CUDA backend"),
    ],
)
def test_optimize_refuses_layouts(run_tool, conv_model, tmp_path, flags, code, message):
    ran = run_tool(TOOL, "optimize", conv_model, tmp_path / "out.mge", *flags)
    assert ran.code == code and message in ran.err and not (tmp_path / "out.mge").exists()


def names_in(run_tool, model):
    graph = json.loads(run_tool(TOOL, "graph", model, "--format=json").out)
    values = {v["name"] for v in graph["values"]} - {""}
    nodes = {n["name"] for n in graph["nodes"]} - {""}
    return values, nodes


def test_strip(run_tool, tmp_path):
    model, out = MEGENGINE / "mlp.names.mge", tmp_path / "out.mge"
    all_values, all_nodes = names_in(run_tool, model)
    inputs, (output,) = (
        np.load(MEGENGINE / "mlp.inputs.npz"),
        np.load(MEGENGINE / "mlp.outputs.npz").files,
    )
    kept = {"data", output}
    assert kept < all_values and all_nodes

    def stripped(*flags):
        assert run_tool(TOOL, "strip", model, out, *flags).code == 0
        (got,) = outputs_of(out, inputs["data"])
        expected = np.load(MEGENGINE / "mlp.outputs.npz")[output]
        np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-6)
        return names_in(run_tool, out)

    assert stripped() == (kept, set())
    assert stripped("--keep-var-name=0") == ({"data"}, set())
    assert stripped("--keep_opr_name") == (kept, all_nodes)
    assert kept < stripped("--keep-param-name")[0]
    assert stripped("--keep-var-name=2", "--keep-param-name", "--keep-opr-name") == (
        all_values,
        all_nodes,
    )


def test_strip_drops_test_cases_and_metadata(run_tool, two_inputs, tmp_path):
    full, out = tmp_path / "full.mge", tmp_path / "out.mge"
    run_tool(TOOL, "testcase", two_inputs, full, "--data", "#rand(0,1)")
    assert run_tool(TOOL, "strip", full, out).result["output"]["test_cases"] == 1
    ran = run_tool(TOOL, "strip", full, out, "--drop-testcases", "--drop-metadata")
    assert ran.result["output"]["test_cases"] == 0 and ran.result["removed"]["test_cases"] == 1
    assert run_tool(TOOL, "info", out).result["metadata"] == {}
    assert run_tool(TOOL, "convert", full, out, "--no-testcases").code == 0
    assert run_tool(TOOL, "info", out).result["test_cases"] == []


# testcase


def run_test_cases(run_tool, model):
    ran = run_tool("load_and_run", model, "--iter", 1)
    assert ran.code == 0
    return ran.result["testcases"]


def test_random_test_case(run_tool, two_inputs, tmp_path):
    out = tmp_path / "out.mge"
    assert run_tool(TOOL, "testcase", two_inputs, out, "--data", "#rand(-1,1)").code == 0
    (case,) = run_test_cases(run_tool, out)
    assert case["compared"] and case["passed"]


def test_seed(run_tool, two_inputs, tmp_path):
    def written(seed):
        out = tmp_path / "out.mge"
        run_tool(TOOL, "testcase", two_inputs, out, "--data", "#rand(-1,1)", "--seed", seed)
        return out.read_bytes()

    assert written(1) == written(1) != written(2)


def test_parts_by_name(run_tool, two_inputs, tmp_path):
    np.save(tmp_path / "b.npy", np.arange(3, dtype="float32"))
    out = tmp_path / "out.mge"
    data = f"b:{tmp_path}/b.npy;a:#rand(0,1,5,...)"
    ran = run_tool(TOOL, "testcase", two_inputs, out, "--data", data)
    assert [i["shape"] for i in ran.result["test_cases"][0]["inputs"]] == [[5, 3], [3]]
    assert run_test_cases(run_tool, out)[0]["passed"]


def test_list_of_test_cases_and_append(run_tool, two_inputs, tmp_path):
    (tmp_path / "list").write_text("#rand(0,1)\n\n#rand(2,3)\n")
    first, second = tmp_path / "1.mge", tmp_path / "2.mge"
    run_tool(TOOL, "testcase", two_inputs, first, "--data", f"@{tmp_path}/list")
    ran = run_tool(
        TOOL, "testcase", first, second, "--append", "--no-assert", "--data", "#rand(4,5)"
    )
    cases = run_test_cases(run_tool, second)
    assert [c["compared"] for c in cases] == [True, True, False]
    assert [c["name"] for c in cases] == ["#rand(0,1)", "#rand(2,3)", "#rand(4,5)"]
    assert run_tool(TOOL, "testcase", first, second, "--data", "#rand(4,5)").code == ran.code == 0
    assert len(run_test_cases(run_tool, second)) == 1


def png(path, pixels):
    """Writes (H, W, 3) uint8 as an 8-bit PNG."""
    height, width, _ = pixels.shape
    raw = b"".join(b"\0" + row.tobytes() for row in pixels)

    def chunk(kind, data):
        body = kind + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    path.write_bytes(
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(raw))
        + chunk(b"IEND", b"")
    )


@pytest.fixture
def identity(tmp_path):
    def make(shape, dtype="float32"):
        traced = trace(symbolic=True, capture_as_const=True)(lambda x: x + 0)
        traced(mge.Tensor(np.ones(shape, dtype)))
        path = tmp_path / f"identity{'_'.join(map(str, shape))}.mge"
        traced.dump(str(path), arg_names=["x"], output_names=["y"])
        return path

    return make


def input_of_test_case(run_tool, model, data, tmp_path, *flags):
    out = tmp_path / "with_data.mge"
    ran = run_tool(TOOL, "testcase", model, out, "--data", data, *flags)
    assert ran.code == 0, ran.err
    ran = run_tool("load_and_run", out, "--iter", 1, "--dump-outputs", tmp_path / "o.npz")
    assert ran.code == 0, ran.err
    return np.load(tmp_path / "o.npz")["y"]


@pytest.mark.parametrize("ending", ["png", "ppm"])
def test_images_come_as_blue_green_red(run_tool, identity, tmp_path, ending):
    pixels = np.random.RandomState(1).randint(0, 256, (4, 5, 3)).astype("uint8")
    file = tmp_path / f"image.{ending}"
    if ending == "png":
        png(file, pixels)
    else:
        file.write_bytes(b"P6\n# made by a test\n5 4\n255\n" + pixels.tobytes())
    bgr = pixels[:, :, ::-1].astype("float32")
    model = identity((1, 3, 4, 5))
    got = input_of_test_case(run_tool, model, file, tmp_path)
    np.testing.assert_array_equal(got[0], bgr.transpose(2, 0, 1))
    got = input_of_test_case(run_tool, identity((1, 4, 5, 3)), file, tmp_path)
    np.testing.assert_array_equal(got[0], bgr)
    got = input_of_test_case(run_tool, identity((3, 4, 5)), f"x:{file}", tmp_path)
    np.testing.assert_array_equal(got, bgr.transpose(2, 0, 1))
    got = input_of_test_case(run_tool, identity((1, 1, 4, 5)), file, tmp_path)
    grey = pixels @ np.array([0.299, 0.587, 0.114])
    assert np.abs(got[0, 0] - grey).max() <= 0.5001
    got = input_of_test_case(run_tool, model, file, tmp_path, "--repeat", 2)
    assert got.shape == (2, 3, 4, 5) and (got[0] == got[1]).all()


# 16 x 8 pixels, the left half (200, 30, 60), the right half (20, 120, 220), quality 95.
JPEG = base64.b64decode(
    "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAAIBAQEBAQIBAQECAgICAgQDAgICAgUEBAMEBgUGBgYFBgYGBwkIBgcJBwYG"
    "CAsICQoKCgoKBggLDAsKDAkKCgr/2wBDAQICAgICAgUDAwUKBwYHCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoK"
    "CgoKCgoKCgoKCgoKCgoKCgoKCgr/wAARCAAIABADAREAAhEBAxEB/8QAHwAAAQUBAQEBAQEAAAAAAAAAAAECAwQFBgcI"
    "CQoL/8QAtRAAAgEDAwIEAwUFBAQAAAF9AQIDAAQRBRIhMUEGE1FhByJxFDKBkaEII0KxwRVS0fAkM2JyggkKFhcYGRol"
    "JicoKSo0NTY3ODk6Q0RFRkdISUpTVFVWV1hZWmNkZWZnaGlqc3R1dnd4eXqDhIWGh4iJipKTlJWWl5iZmqKjpKWmp6ip"
    "qrKztLW2t7i5usLDxMXGx8jJytLT1NXW19jZ2uHi4+Tl5ufo6erx8vP09fb3+Pn6/8QAHwEAAwEBAQEBAQEBAQAAAAAA"
    "AAECAwQFBgcICQoL/8QAtREAAgECBAQDBAcFBAQAAQJ3AAECAxEEBSExBhJBUQdhcRMiMoEIFEKRobHBCSMzUvAVYnLR"
    "ChYkNOEl8RcYGRomJygpKjU2Nzg5OkNERUZHSElKU1RVVldYWVpjZGVmZ2hpanN0dXZ3eHl6goOEhYaHiImKkpOUlZaX"
    "mJmaoqOkpaanqKmqsrO0tba3uLm6wsPExcbHyMnK0tPU1dbX2Nna4uPk5ebn6Onq8vP09fb3+Pn6/9oADAMBAAIRAxEA"
    "PwD5Pr4c/wBTD0iv9RD/AJyz/9k="
)


def test_jpeg(run_tool, identity, tmp_path):
    (tmp_path / "a.jpg").write_bytes(JPEG)
    got = input_of_test_case(run_tool, identity((1, 8, 16, 3)), tmp_path / "a.jpg", tmp_path)
    for columns, color in ((slice(0, 4), (200, 30, 60)), (slice(12, 16), (20, 120, 220))):
        assert np.abs(got[0, :, columns] - np.array(color[::-1])).max() <= 4
    (tmp_path / "a.jpg").write_bytes(JPEG[:400])
    out = tmp_path / "out.mge"
    ran = run_tool(TOOL, "testcase", identity((1, 8, 16, 3)), out, "--data", tmp_path / "a.jpg")
    assert ran.code == 5 and "a.jpg" in ran.err


def test_resize(run_tool, identity, tmp_path):
    ramp = np.repeat(np.arange(0, 160, 10, dtype="uint8")[None, :, None], 3, axis=2)
    png(tmp_path / "ramp.png", np.repeat(ramp, 2, axis=0))
    model = identity((1, 3, 2, 8))
    got = input_of_test_case(run_tool, model, tmp_path / "ramp.png", tmp_path, "--resize-input")
    # Halved: between two neighbours.
    np.testing.assert_array_equal(got[0, 0, 0], np.arange(5, 160, 20))


@pytest.mark.parametrize(
    "data, message",
    [
        ("a:#rand(0,1)", "has 1 part, the model has 2 inputs"),
        ("a:#rand(0,1);z:#rand(0,1)", "no input 'z'"),
        ("a:#rand(0,1);a:#rand(0,1)", "given twice"),
        ("a:#rand(0,1,7);b:#rand(0,1)", "rank 1"),
        ("#rand(0,x)", "'x' is not a number"),
        ("#rand(2,1)", "2 is above 1"),
        ("#rand(0,1,...,3)", "last extent"),
        ("a:/nonexistent;b:#rand(0,1)", "/nonexistent"),
        ("@/nonexistent", "/nonexistent"),
    ],
)
def test_bad_data(run_tool, two_inputs, tmp_path, data, message):
    ran = run_tool(TOOL, "testcase", two_inputs, tmp_path / "out.mge", "--data", data)
    assert ran.code == 2 and message in ran.err and len(ran.err.splitlines()) == 1
    assert not (tmp_path / "out.mge").exists()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x89PNG\r\n\x1a\nrubbish",
        b"\xff\xd8\xff\xe0rubbish",
        b"P6\n4 4\n255\nshort",
        b"P6\n99999999 99999999\n255\n",
        b"P6\n4 4\n65535\n" + bytes(96),
        b"GIF89a",
    ],
)
def test_damaged_image(run_tool, identity, tmp_path, content):
    (tmp_path / "bad.png").write_bytes(content)
    model, out = identity((1, 3, 4, 4)), tmp_path / "out.mge"
    ran = run_tool(TOOL, "testcase", model, out, "--data", tmp_path / "bad.png")
    assert ran.code == 5 and "bad.png" in ran.err


TRANSFORMS = [
    "data",
    "(data - 127.5) / 128",
    "2 * data + -1e-1 * (3 - data / .5)",
    "data - np.array([104, 117, 124]).reshape(1, 3, 1, 1)",
    "data[:, ::-1]",
    "data[:, [2, 0, 1], ::-1, :]",
    "data[..., ::-1]",
    "data[::-1, ..., [0, 0, 1, 4]]",
    "data.transpose(0, 1, 3, 2).transpose((0, 1, -1, -2))",
    "-data.reshape(1, 5, 3, -1).transpose(0, 2, 3, 1)[..., ::-1]",
    "np.float32(data).astype('float32').astype(np.float64) / 3",
    "data.transpose().reshape([1, 3, 4, 5])",
    "+-+data",
]


@pytest.mark.parametrize("expression", TRANSFORMS)
def test_input_transform_means_what_numpy_means(run_tool, identity, tmp_path, expression):
    values = np.random.RandomState(1).standard_normal((1, 3, 4, 5)).astype("float32")
    np.save(tmp_path / "x.npy", values)
    expected = eval(expression, {"data": values.astype("float64"), "np": np})
    got = input_of_test_case(
        run_tool,
        identity(expected.shape),
        tmp_path / "x.npy",
        tmp_path,
        f"--input-transform={expression}",
    )
    np.testing.assert_allclose(got, expected, rtol=1e-6, atol=1e-6)


def test_input_transform_of_an_image(run_tool, identity, tmp_path):
    pixels = np.random.RandomState(1).randint(0, 256, (4, 5, 3)).astype("uint8")
    png(tmp_path / "image.png", pixels)
    model = identity((2, 3, 4, 5))
    flags = ["--repeat", 2, "--input-transform", "(data[:, ::-1] - 128) / 255"]
    got = input_of_test_case(run_tool, model, tmp_path / "image.png", tmp_path, *flags)
    # Bytes do not wrap; channels backwards of blue, green, red.
    expected = (pixels.transpose(2, 0, 1).astype("float64") - 128) / 255
    np.testing.assert_allclose(got, [expected, expected], rtol=1e-6)


def test_input_transform_of_integers(run_tool, identity, tmp_path):
    np.save(tmp_path / "x.npy", np.array([[-3, 7, 40]], "int32"))
    model = identity((1, 3), "int32")
    flags = ["--input-transform", "data / 2"]
    got = input_of_test_case(run_tool, model, tmp_path / "x.npy", tmp_path, *flags)
    np.testing.assert_array_equal(got, [[-1, 3, 20]])


@pytest.mark.parametrize(
    "expression, message",
    [
        ("data +", "column 7"),
        ("image / 255", "'image' is not known"),
        ("np.exp(data)", "numpy's 'exp' is not known"),
        ("data.mean()", "method 'mean'"),
        ("__import__('os')", "'__import__' is not known"),
        ("data ** 2", "column 7"),
        ("(data", "expected ')'"),
        ("data)", "something is left over"),
        ("data[0]", "expected ':'"),
        ("data[:, :, :, :, :]", "(1, 3, 4, 5)"),
        ("data[:, [3]]", "position 3 of 3"),
        ("data.transpose(0, 1, 1, 2)", "each once"),
        ("data.reshape(7, -1)", "60 elements"),
        ("data.astype('uint8')", "float32 or float64"),
        ("data + np.array([1, 2])", "--input-transform"),
        ("(" * 1000 + "data" + ")" * 1000, "too deep"),
        ("-" * 100000 + "x", "'x' is not known"),
        ("data.reshape(60)", "after --input-transform"),
    ],
    ids=lambda text: text[:20],
)
def test_input_transforms_that_are_none(run_tool, identity, tmp_path, expression, message):
    np.save(tmp_path / "x.npy", np.ones((1, 3, 4, 5), "float32"))
    ran = run_tool(
        TOOL, "testcase", identity((1, 3, 4, 5)), tmp_path / "out.mge", "--data",
        tmp_path / "x.npy", f"--input-transform={expression}",
    )  # fmt: skip
    assert ran.code == 2 and message in ran.err and len(ran.err.splitlines()) == 1, ran.err[-500:]
    assert not (tmp_path / "out.mge").exists()


def test_input_transform_that_does_not_fit(run_tool, identity, tmp_path):
    np.save(tmp_path / "x.npy", np.ones((1, 3), "float32"))
    model = identity((1, 3), "int32")
    for expression in ("data * 1e12", "data / 0", "(data - data) / 0"):
        ran = run_tool(
            TOOL, "testcase", model, tmp_path / "out.mge", "--data", tmp_path / "x.npy",
            "--input-transform", expression,
        )  # fmt: skip
        assert ran.code == 2 and "does not fit" in ran.err
    random = ["--data", "#rand(0,1)", "--input-transform", "data"]
    ran = run_tool(TOOL, "testcase", model, tmp_path / "out.mge", *random)
    assert ran.code == 2 and "--input-transform is for files" in ran.err


def test_maxerr_is_kept_and_decides(run_tool, conv_model, tmp_path):
    out, other = tmp_path / "out.mge", tmp_path / "other.mge"
    data = ["--data", "#rand(-1,1)"]
    ran = run_tool(TOOL, "testcase", conv_model, out, *data, "--maxerr", "1e-3")
    assert ran.code == 0 and ran.result["test_cases"][0]["max_error"] == 1e-3
    # Another rewriting keeps it.
    assert run_tool(TOOL, "convert", out, other).code == 0
    ran = run_tool(TOOL, "info", other)
    assert ran.result["test_cases"][0]["max_error"] == 1e-3 and "largest error 0.001" in ran.out
    assert run_test_cases(run_tool, other)[0]["passed"]
    # Level 2 does not compute bit by bit what the plain graph did.
    assert run_tool(TOOL, "testcase", conv_model, out, *data, "--maxerr", "0").code == 0
    ran = run_tool("load_and_run", out, "--iter", 1)
    (case,) = ran.result["testcases"]
    assert (ran.code == 7) == (case["largest_error"] > 0)
    assert run_tool(TOOL, "testcase", conv_model, out, *data).code == 0
    assert "max_error" not in run_tool(TOOL, "info", out).result["test_cases"][0]
    for flags in (["--maxerr=-1"], ["--maxerr=nan"], ["--maxerr=1", "--no-assert"]):
        assert run_tool(TOOL, "testcase", conv_model, out, *data, *flags).code == 2, flags


# doctor


def test_doctor(run_tool):
    ran = run_tool(TOOL, "doctor")
    assert ran.code == 0
    facts = {f["name"]: f for f in ran.result["machine"]}
    assert {"isa", "threads", "huge_pages", "libraries", "gpu", "memory"} <= set(facts)
    assert "oneDNN" in facts["libraries"]["found"] and "libgomp" in facts["libraries"]["found"]
    for fact in facts.values():
        assert fact["state"] == "ok" or fact["advice"]


def test_doctor_sees_limits(run_tool):
    ran = run_tool(TOOL, "doctor", env={"MGE_ISA": "sse4", "MGE_THREADS": "1"})
    facts = {f["name"]: f for f in ran.result["machine"]}
    assert facts["isa"]["state"] == "limited" and "MGE_ISA=sse4" in facts["isa"]["advice"]
    ran = run_tool(TOOL, "doctor", "--require", "isa,cpu", env={"MGE_ISA": "sse4"})
    assert ran.code == 4 and ran.report["error"]["kind"] == "device" and "result" in ran.report
    assert run_tool(TOOL, "doctor", "--require", "cpu").code == 0
    ran = run_tool(TOOL, "doctor", "--require", "warp_drive")
    assert ran.code == 2 and "threads" in ran.err


# The command line


def test_commands(run_tool, image_model):
    ran = run_tool(TOOL)
    assert ran.code == 2 and "a command is missing" in ran.err and "doctor" in ran.err
    ran = run_tool(TOOL, "inof", image_model)
    assert ran.code == 2 and "did you mean 'info'?" in ran.err
    ran = run_tool(TOOL, "info", image_model, "--parms")
    assert ran.code == 2 and "did you mean '--params'?" in ran.err
    ran = run_tool(TOOL, "info", image_model, "graph")
    assert ran.code == 2 and "no further argument 'graph'" in ran.err


def test_globals_before_and_behind_the_command(run_tool, image_model):
    assert run_tool(TOOL, "--quiet", "info", image_model).out == ""
    assert run_tool(TOOL, "info", "--quiet", image_model).out == ""
    for command in ([], ["info"]):
        ran = run_tool(TOOL, *command, "--help", json=False)
        assert ran.code == 0 and "--json" in ran.out or "Global options" in ran.out
