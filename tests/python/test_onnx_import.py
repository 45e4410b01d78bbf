# SPDX-License-Identifier: Apache-2.0
"""ONNX files: real exports, ONNX's own cases, and what is refused."""

import importlib
import json
import os
import warnings
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from onnx_files import model_of, onnx, port, same_as_runtime

from megengine.utils.network import Network

load = importlib.import_module("megengine.onnx.reading").load
FILES = Path(__file__).resolve().parents[1] / "data" / "onnx"
EXPORTS = [json.loads(line) for line in (FILES / "index.jsonl").read_text().splitlines()]
NIGHTLY = bool(os.environ.get("MGE_NIGHTLY"))

# Cases whose results differ: name and why.
# Each stands for its expanded form too. The suite adds sixteen bits at a time, and rounds each sum.
ROUNDED_ELSEWHERE = [
    "test_attention_3d_causal_bf16",
    "test_attention_4d_attn_mask_causal_bf16",
    "test_attention_4d_causal_bf16",
    "test_attention_4d_causal_padded_kv_bf16",
    "test_attention_4d_padded_kv_bf16",
]
OTHER_GENERATOR = [
    "test_bernoulli",
    "test_bernoulli_double",
    "test_bernoulli_seed",
    "test_training_dropout",
    "test_training_dropout_default",
    "test_training_dropout_default_mask",
    "test_training_dropout_mask",
]
KNOWN_DIFFERENCES = {
    **dict.fromkeys(OTHER_GENERATOR, "the numbers of another generator"),
    **dict.fromkeys(ROUNDED_ELSEWHERE, "the sums are rounded to 16 bits elsewhere"),
    **dict.fromkeys(
        [f"test_resize_downsample_scales_{how}_align_corners" for how in ("linear", "cubic")],
        "the extent before it is rounded counts, unlike in ONNX Runtime and PyTorch",
    ),
    "test_dft_inverse": "where 0 is right, 2e-7 is expected",
    "test_dft_inverse_opset19": "where 0 is right, 2e-7 is expected",
}
# Number of single-operator cases (1884 in onnx 1.23).
LEAST_PASSING = 1804


@pytest.mark.parametrize("row", EXPORTS, ids=lambda row: row["name"])
def test_real_exports_match_onnx_runtime(row):
    model = load(FILES / f"{row['name']}.onnx")
    inputs = np.load(FILES / f"{row['name']}.inputs.npz")
    expected = np.load(FILES / f"{row['name']}.outputs.npz")
    outputs = model(**{name: inputs[name] for name in inputs.files})
    for name, y in zip(model.output_names, [outputs], strict=True):
        error = np.abs(y.numpy() - expected[name]).max() / np.abs(expected[name]).max()
        assert y.numpy().dtype == expected[name].dtype and error <= row["tolerance"]


@pytest.mark.parametrize(
    "name, shape", [("tv_mobilenet_v2_ts", (5, 3, 64, 64)), ("torch_unet_ts", (1, 1, 48, 64))]
)
def test_open_extents_stay_open(name, shape):
    runtime = pytest.importorskip("onnxruntime")
    x = np.random.default_rng(3).normal(size=shape).astype(np.float32)
    expected = runtime.InferenceSession(str(FILES / f"{name}.onnx")).run(None, {"x": x})[0]
    np.testing.assert_allclose(load(FILES / f"{name}.onnx")(x).numpy(), expected, atol=1e-5)


def array_of(value):
    """The array of a tensor as the suite has it: casts come as messages."""
    is_message = isinstance(value, onnx.TensorProto)
    return onnx.numpy_helper.to_array(value) if is_message else np.asarray(value)


def difference(y, z):
    """Difference of a result from that of the suite; empty: equal."""
    if isinstance(z, onnx.SequenceProto):
        z = onnx.numpy_helper.to_list(z)
    if isinstance(z, list):
        if not isinstance(y, list) or len(y) != len(z):
            return "another number of items"
        return next(filter(None, map(difference, y, z)), "")
    z = array_of(z)
    if isinstance(y, np.ndarray):
        return "" if y.shape == z.shape and y.tolist() == z.tolist() else "other texts"
    y = y.numpy()
    if z.dtype.name == "bfloat16":  # ml_dtypes has another dtype
        y = y.view(z.dtype)
    if y.dtype != z.dtype or y.shape != z.shape:
        return f"{y.dtype}{y.shape} instead of {z.dtype}{z.shape}"
    if z.dtype.kind not in "iub":
        y, z = y.astype(np.float64), z.astype(np.float64)
    return "" if np.allclose(y, z, rtol=1e-3, atol=1e-7, equal_nan=True) else "other values"


def free_inputs(model):
    """Those that no initialiser gives a value."""
    weights = {weight.name for weight in model.graph.initializer}
    return [port for port in model.graph.input if port.name not in weights]


def run_case(case, tmp_path):
    """ "passed", "refused", or what is wrong."""
    path = tmp_path / "case.onnx"
    path.write_bytes(case.model.SerializeToString())
    try:
        model = load(path)
    except RuntimeError as error:
        assert "is not a valid ONNX model" in str(error) or "not supported" in str(error)
        return "refused"
    ports = case.model.graph.input
    free = free_inputs(case.model)
    for inputs, expected in case.data_sets:
        names = [port.name for port in (free if len(inputs) == len(free) else ports)]
        given = dict(zip(names, inputs, strict=False))
        arrays = [array_of(given[name]) for name in model.input_names]
        outputs = model(*arrays)
        for y, z in zip(
            outputs if len(model.output_names) > 1 else [outputs], expected, strict=True
        ):
            if found := difference(y, z):
                return found
    return "passed"


def test_cases_of_onnx_pass_or_are_refused(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cases = importlib.import_module("onnx.backend.test.case.node").collect_testcases(None)
    step = 1 if NIGHTLY else 3
    results = {case.name: run_case(case, tmp_path) for case in cases[::step]}
    fine = {"passed", "refused"}
    wrong = {name: result for name, result in results.items() if result not in fine}
    assert {name.removesuffix("_expanded") for name in wrong} <= set(KNOWN_DIFFERENCES), wrong
    counts = Counter(results.values())
    assert counts["passed"] >= 0.95 * LEAST_PASSING / step, counts


def message_in(path, port):
    """The value in a file has the type of its input or output."""
    is_sequence = port.type.HasField("sequence_type")
    message = onnx.SequenceProto() if is_sequence else onnx.TensorProto()
    message.ParseFromString(path.read_bytes())
    return message


def case_of_files(path):
    """A model with pairs of inputs and outputs beside it; a light net has outputs alone."""
    model = onnx.load(path)
    inputs = free_inputs(model)
    if path.name != "model.onnx":
        runner = importlib.import_module("onnx.backend.test.runner").Runner
        given = [runner.generate_dummy_data(port, name="", random=False) for port in inputs]
        outputs = [
            message_in(path.with_name(f"{path.stem}_output_{i}.pb"), port)
            for i, port in enumerate(model.graph.output)
        ]
        return SimpleNamespace(model=model, data_sets=[(given, outputs)])
    sets = []
    for folder in sorted(path.parent.glob("test_data_set_*")):
        count = len(list(folder.glob("input_*.pb")))
        ports = inputs if count == len(inputs) else model.graph.input
        given = [message_in(folder / f"input_{i}.pb", ports[i]) for i in range(count)]
        wanted = [
            message_in(folder / f"output_{i}.pb", port) for i, port in enumerate(model.graph.output)
        ]
        sets.append((given, wanted))
    return SimpleNamespace(model=model, data_sets=sets)


@pytest.mark.parametrize(
    "kind, least",
    [("pytorch-converted", 82), ("pytorch-operator", 35), ("simple", 15), ("light", 9)],
)
def test_models_of_onnx_pass_or_are_refused(kind, least, tmp_path):
    folder = Path(onnx.__file__).parent / "backend/test/data" / kind
    paths = sorted(folder.glob("*.onnx" if kind == "light" else "*/model.onnx"))
    step = 1 if NIGHTLY or kind == "simple" else 3
    results = {str(path): run_case(case_of_files(path), tmp_path) for path in paths[::step]}
    fine = {"passed", "refused"}
    assert not {name: result for name, result in results.items() if result not in fine}
    assert Counter(results.values())["passed"] >= least // step


def test_all_missing_names_are_listed_at_once(tmp_path):
    nodes = [
        onnx.helper.make_node("RegexFullMatch", ["x"], ["a"], name="first"),
        onnx.helper.make_node("StringSplit", ["a"], ["b"], name="second"),
        onnx.helper.make_node("Relu", ["x"], ["y"], name="third", alpha=1.0),
    ]
    path = model_of(nodes, [port("x", [2, 2])], [port("b", []), port("y", [2, 2])], tmp_path)
    with pytest.raises(RuntimeError) as caught:
        load(path)
    for part in [
        "'first' (RegexFullMatch, opset 17)",
        "'second' (StringSplit, opset 17)",
        "'third'",
        "its attribute 'alpha'",
    ]:
        assert part in str(caught.value)


def test_functions_of_the_model_and_their_attributes(tmp_path):
    node = onnx.helper.make_node("LeakyRelu", ["a"], ["b"])
    node.attribute.add(name="alpha", ref_attr_name="slope", type=onnx.AttributeProto.FLOAT)
    function = onnx.helper.make_function(
        "own", "Leak", ["a"], ["b"], [node], [onnx.helper.make_opsetid("", 17)], ["slope"]
    )
    call = onnx.helper.make_node("Leak", ["x"], ["y"], domain="own", slope=0.5)
    path = model_of([call], [port("x", ["n"])], [port("y", ["n"])], tmp_path, functions=[function])
    np.testing.assert_array_equal(load(path)([-4.0, 2.0]).numpy(), [-2, 2])


@pytest.mark.parametrize("taken", [True, False])
def test_run_time_branches(tmp_path, taken):
    def branch(name, op):
        node = onnx.helper.make_node(op, ["x"], ["r"])
        return onnx.helper.make_graph([node], name, [], [port("r", [2])])

    node = onnx.helper.make_node(
        "If", ["c"], ["y"], then_branch=branch("then", "Neg"), else_branch=branch("else", "Abs")
    )
    inputs = [port("c", [], onnx.TensorProto.BOOL), port("x", [2])]
    model = load(model_of([node], inputs, [port("y", [2])], tmp_path))
    np.testing.assert_array_equal(
        model(np.array(taken), [-1.0, 3.0]).numpy(), [1, -3] if taken else [1, 3]
    )


def test_long_sums_of_products_of_steps_are_exact(tmp_path):
    """Longer than what float32 holds of them."""
    node = onnx.helper.make_node("MatMulInteger", ["a", "b", "c"], ["y"])
    kinds = onnx.TensorProto
    inputs = [
        port("a", [3, 777], kinds.UINT8),
        port("b", [777, 2], kinds.INT8),
        port("c", [], kinds.UINT8),
    ]
    model = load(model_of([node], inputs, [port("y", [3, 2], kinds.INT32)], tmp_path))
    random = np.random.default_rng(5)
    a, b = random.integers(200, 256, (3, 777)), random.integers(100, 128, (777, 2))
    y = model(a.astype(np.uint8), b.astype(np.int8), np.array(3, np.uint8))
    np.testing.assert_array_equal(y.numpy(), ((a - 3) @ b).astype(np.int32))


KINDS = onnx.TensorProto
RARE = [(np.float64, KINDS.DOUBLE), (np.uint32, KINDS.UINT32), (np.uint64, KINDS.UINT64)]


@pytest.mark.parametrize("dtype, kind", [*RARE, (np.int64, KINDS.INT64)])
def test_numbers_without_tensor_dtype_are_kept(dtype, kind, tmp_path):
    node = onnx.helper.make_node("Add", ["x", "w"], ["y"])
    last = 1 + 2**-40 if dtype == np.float64 else np.iinfo(dtype).max - 1
    values = np.array([3, 1, last], dtype)
    for raw in [False, True]:
        data = values.tobytes() if raw else values
        weight = onnx.helper.make_tensor("w", kind, [3], data, raw=raw)
        ports = [port("x", [3], kind)], [port("y", [3], kind)]
        model = load(model_of([node], *ports, tmp_path, initializers=[weight]))
        for x in [np.zeros(3, dtype), np.array([1, 0, 0], dtype)]:
            y = model(x).numpy()
            assert y.dtype == dtype
            np.testing.assert_array_equal(y, values + x)
    np.testing.assert_array_equal(model([0, 0, 0]).numpy(), values)


NARROW = {
    "float8_e4m3fn": KINDS.FLOAT8E4M3FN,
    "float8_e4m3fnuz": KINDS.FLOAT8E4M3FNUZ,
    "float8_e5m2": KINDS.FLOAT8E5M2,
    "float8_e5m2fnuz": KINDS.FLOAT8E5M2FNUZ,
    "float8_e8m0fnu": KINDS.FLOAT8E8M0,
    "float4_e2m1fn": KINDS.FLOAT4E2M1,
    "int4": KINDS.INT4,
    "uint4": KINDS.UINT4,
    "int2": KINDS.INT2,
    "uint2": KINDS.UINT2,
}


@pytest.mark.parametrize("name, kind", NARROW.items())
def test_narrow_weights_are_unpacked_moved_and_converted(name, kind, tmp_path):
    narrow = pytest.importorskip("ml_dtypes")
    dtype = np.dtype(getattr(narrow, name))
    weight = np.array([1, 2, 1, 4, 1], np.float32).astype(dtype)
    if name.endswith("int2"):
        weight = np.array([1, 0, 1, 1, 0]).astype(dtype)
    proto = onnx.numpy_helper.from_array(weight, "w")
    typed = onnx.helper.make_tensor("w", kind, [5], weight.astype(np.float32).tolist())
    nodes = [
        onnx.helper.make_node("Concat", ["x", "w"], ["y"], axis=0),
        onnx.helper.make_node("Cast", ["y"], ["z"], to=KINDS.FLOAT),
    ]
    ports = [port("x", [5], kind)], [port("y", [10], kind), port("z", [10])]
    for tensor in [proto, typed]:
        model = load(model_of(nodes, *ports, tmp_path, initializers=[tensor], opset=25))
        y, z = model(weight[::-1].copy())
        expected = np.concatenate([weight[::-1], weight])
        assert y.numpy().dtype == dtype
        np.testing.assert_array_equal(y.numpy().view(np.uint8), expected.view(np.uint8))
        np.testing.assert_array_equal(z.numpy(), expected.astype(np.float32))


def test_operators_that_lack_a_dtype_are_named(tmp_path):
    """Softmax has float64 by other operators, a convolution has not."""
    nodes = [
        onnx.helper.make_node("Softmax", ["x"], ["s"], name="here"),
        onnx.helper.make_node("Conv", ["s", "w"], ["y"], name="there"),
    ]
    ports = [port("x", [1, 1, 3], KINDS.DOUBLE), port("w", [1, 1, 1], KINDS.DOUBLE)]
    path = model_of(nodes, ports, [port("y", [1, 1, 3], KINDS.DOUBLE)], tmp_path)
    with pytest.raises(RuntimeError, match="1 part that is not supported") as caught:
        load(path)
    assert "'there'" in str(caught.value) and "float64" in str(caught.value)


def test_cut_packed_weights_are_refused(tmp_path):
    weight = onnx.TensorProto(name="w", data_type=KINDS.INT4, dims=[5], raw_data=b"ab")
    node = onnx.helper.make_node("Identity", ["w"], ["y"])
    path = model_of([node], [], [port("y", [5], KINDS.INT4)], tmp_path, initializers=[weight])
    with pytest.raises(RuntimeError, match="a constant of .* has 2 bytes"):
        load(path)


def external(location, tmp_path, **keys):
    weight = onnx.TensorProto(name="w", data_type=onnx.TensorProto.FLOAT, dims=[2])
    weight.data_location = onnx.TensorProto.EXTERNAL
    for key, value in {"location": location, **keys}.items():
        weight.external_data.add(key=key, value=str(value))
    node = onnx.helper.make_node("Add", ["x", "w"], ["y"])
    return model_of([node], [port("x", [2])], [port("y", [2])], tmp_path, initializers=[weight])


def test_external_weights_are_read_in_place(tmp_path):
    (tmp_path / "weights.bin").write_bytes(np.float32([9, 1, 2]).tobytes())
    model = load(external("weights.bin", tmp_path, offset=4, length=8))
    np.testing.assert_array_equal(model([1.0, 1.0]).numpy(), [2, 3])


@pytest.mark.parametrize(
    "location, keys, reason",
    [
        ("../outside.bin", {}, "outside"),
        ("link.bin", {}, "outside"),
        ("missing.bin", {}, "cannot be found"),
        (".", {}, "not a regular file"),
        ("inside.bin", {"offset": 4}, "needs 8 from byte 4 on"),
        ("inside.bin", {"offset": "many"}, "not a number"),
        ("inside.bin", {"offset": 2**64 - 4}, "the constant needs 8"),
    ],
)
def test_external_weights_stay_inside_of_the_folder(tmp_path, location, keys, reason):
    folder = tmp_path / "model"
    folder.mkdir()
    (tmp_path / "outside.bin").write_bytes(bytes(8))
    (folder / "inside.bin").write_bytes(bytes(8))
    (folder / "link.bin").symlink_to(tmp_path / "outside.bin")
    with pytest.raises(RuntimeError, match=reason):
        load(external(location, folder, **keys))


def test_external_weights_need_the_models_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.float32([1, 2]).tofile("weights.bin")
    content = external("weights.bin", tmp_path).read_bytes()
    with pytest.raises(RuntimeError, match="load it by that, not from memory"):
        load(content)


def test_external_weights_may_be_behind_the_users_own_link(tmp_path):
    """A cache keeps contents apart from names: model and data are links into one folder."""
    snapshot, blobs = tmp_path / "snapshots" / "1" / "onnx", tmp_path / "blobs"
    for folder in (snapshot, blobs):
        folder.mkdir(parents=True)
    model = external("weights.bin", tmp_path)
    np.arange(2, dtype=np.float32).tofile(blobs / "b")
    (blobs / "a").write_bytes(model.read_bytes())
    for name, target in (("model.onnx", "a"), ("weights.bin", "b")):
        (snapshot / name).symlink_to(f"../../../blobs/{target}")
    np.testing.assert_array_equal(load(snapshot / "model.onnx")([1.0, 1.0]).numpy(), [1, 2])
    (tmp_path / "outside").write_bytes(bytes(8))
    (snapshot / "weights.bin").unlink()
    (snapshot / "weights.bin").symlink_to("../../../outside")
    with pytest.raises(RuntimeError, match="outside"):
        load(snapshot / "model.onnx")


def is_refused(data, path):
    path.write_bytes(data)
    try:
        load(path)
    except (RuntimeError, ValueError):
        return True
    return False


def test_cut_and_doubled_files_are_refused(tmp_path):
    whole = (FILES / "hf_bert_ts.onnx").read_bytes()
    cuts = np.random.default_rng(11).integers(len(whole), size=40)
    for data in [whole[:cut] for cut in cuts] + [whole + whole]:
        assert is_refused(data, tmp_path / "damaged.onnx"), len(data)


def test_changed_bytes_do_no_more_than_refuse(tmp_path):
    whole = (FILES / "hf_bert_ts.onnx").read_bytes()
    random = np.random.default_rng(12)
    refused = 0
    for _ in range(200):
        changed = bytearray(whole)
        changed[random.integers(len(whole))] = random.integers(256)
        refused += is_refused(bytes(changed), tmp_path / "damaged.onnx")
    assert 20 < refused < 200


def test_hundredfold_expansion_is_refused(tmp_path):
    inputs = b"\x5a\x00" * (5 << 20)
    size = len(inputs)
    length = bytes([size & 127 | 128, size >> 7 & 127 | 128, size >> 14 & 127 | 128, size >> 21])
    (tmp_path / "inputs.onnx").write_bytes(b"\x08\x08\x3a" + length + inputs)
    with pytest.raises(RuntimeError, match="bytes of memory"):
        load(tmp_path / "inputs.onnx")


def test_search_in_many_problems_is_bounded(tmp_path):
    nodes = [onnx.helper.make_node("No", [], [f"{i}"]) for i in range(10_001)]
    graph = onnx.helper.make_graph(nodes, "g", [], [])
    onnx.save(onnx.helper.make_model(graph), tmp_path / "no.onnx")
    with pytest.raises(RuntimeError, match="has 10000 parts .* more; the rest was not checked"):
        load(tmp_path / "no.onnx")


def test_a_network_of_an_onnx_file_can_be_changed():
    network = Network.load(str(FILES / "tv_mobilenet_v2_ts.onnx"))
    assert [v.name for v in network.input_vars] == ["x"]
    assert [v.name for v in network.output_vars] == ["y"]


@pytest.mark.parametrize("op", ["RandomNormal", "RandomUniform", "RandomUniformLike"])
def test_random_numbers_are_the_same_in_every_run(tmp_path, op):
    inputs, shape = (["x"], {}) if op.endswith("Like") else ([], {"shape": [5, 200]})
    nodes = [
        onnx.helper.make_node(op, inputs, ["r"], seed=3.5, **shape),
        onnx.helper.make_node(op, inputs, ["s"], **shape),
        onnx.helper.make_node("Add", ["x", "r"], ["y"]),
    ]
    path = model_of(
        nodes, [port("x", [5, 200])], [port("y", [5, 200]), port("s", [5, 200])], tmp_path
    )
    model, x = load(path), np.zeros((5, 200), np.float32)
    y, s = (output.numpy() for output in model(x))
    assert y.std() > 0.25 and s.std() > 0.25 and abs(np.corrcoef(y.ravel(), s.ravel())[0, 1]) < 0.1
    np.testing.assert_array_equal(y, model(x)[0].numpy())


def test_a_result_that_is_an_output_twice(tmp_path):
    """As Keras writes the state of a layer that is its result, too."""
    nodes = [onnx.helper.make_node("Relu", ["x"], ["y"])]
    path = model_of(nodes, [port("x", [2])], [port("y", [2]), port("y", [2])], tmp_path)
    same_as_runtime(path, np.float32([-1, 2]))
    assert [out.name for out in Network.load(str(path)).output_vars] == ["y", "y_1"]
