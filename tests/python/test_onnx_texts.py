# SPDX-License-Identifier: Apache-2.0
"""Texts in ONNX files: numbers in the graph, arrays of str for callers of `megengine.onnx.load`."""

import importlib
import json

import numpy as np
import pytest
from onnx_files import model_of, onnx, port

load = importlib.import_module("megengine.onnx.reading").load
runtime = pytest.importorskip("onnxruntime")
KINDS = onnx.TensorProto
LEARNING = "ai.onnx.ml"
NAMES = np.array([["b", "ü"], ["z", "a"], ["", "b"]], object)
X = np.random.default_rng(1).normal(size=(20, 3)).astype(np.float32)


def learned(op, inputs, outputs, **attributes):
    return onnx.helper.make_node(op, inputs, outputs, domain=LEARNING, name=op, **attributes)


def written(tmp_path, nodes, inputs, outputs, initializers=()):
    graph = onnx.helper.make_graph(nodes, "g", inputs, outputs, list(initializers))
    sets = [onnx.helper.make_opsetid("", 17), onnx.helper.make_opsetid(LEARNING, 3)]
    model = onnx.helper.make_model(graph, opset_imports=sets, ir_version=9)
    path = tmp_path / "model.onnx"
    path.write_bytes(model.SerializeToString())
    return path


def same_as_runtime(path, **inputs):
    expected = runtime.InferenceSession(str(path)).run(None, inputs)
    model = load(path)
    outputs = model(**inputs)
    outputs = outputs if isinstance(outputs, list) else [outputs]
    for y, z in zip(outputs, expected, strict=True):
        if z.dtype == object:
            assert y.shape == z.shape and y.tolist() == z.tolist()
        else:
            y = y.numpy()
            assert y.dtype == z.dtype and y.shape == z.shape
            np.testing.assert_allclose(y, z, rtol=1e-5, atol=1e-6)
    return model


def test_labels_that_are_texts(tmp_path):
    node = learned(
        "LinearClassifier",
        ["x"],
        ["label", "scores"],
        coefficients=np.random.default_rng(2).normal(size=9).tolist(),
        intercepts=[0.1, 0.2, -0.1],
        classlabels_strings=["setosa", "versicolor", "virginica"],
        post_transform="SOFTMAX",
    )
    outputs = [port("label", ["n"], KINDS.STRING), port("scores", ["n", 3])]
    path = written(tmp_path, [node], [port("x", ["n", 3])], outputs)
    model = same_as_runtime(path, x=X)
    assert json.loads(model.metadata["onnx.texts"]) == ["setosa", "versicolor", "virginica"]
    assert json.loads(model.metadata["onnx.texts.of"]) == ["label"]


@pytest.mark.parametrize(
    "keys, values, kind",
    [
        ({"keys_strings": ["a", "b", ""]}, {"values_int64s": [7, 8, 9]}, KINDS.INT64),
        ({"keys_strings": ["a", "b"]}, {"values_floats": [0.5, 1.5]}, KINDS.FLOAT),
        ({"keys_strings": ["a", "b"]}, {"values_strings": ["A", "b"]}, KINDS.STRING),
    ],
)
def test_texts_are_looked_up(tmp_path, keys, values, kind):
    node = learned("LabelEncoder", ["x"], ["y"], **keys, **values)
    outputs = [port("y", ["n", 2], kind)]
    path = written(tmp_path, [node], [port("x", ["n", 2], KINDS.STRING)], outputs)
    same_as_runtime(path, x=NAMES)


def test_numbers_become_texts(tmp_path):
    named = {"keys_int64s": [3, 1], "values_strings": ["three", "one"], "default_string": "many"}
    node = learned("LabelEncoder", ["x"], ["y"], **named)
    outputs = [port("y", ["n"], KINDS.STRING)]
    path = written(tmp_path, [node], [port("x", ["n"], KINDS.INT64)], outputs)
    same_as_runtime(path, x=np.array([1, 2, 3, 1]))


def test_categories_that_are_texts(tmp_path):
    # A column each, as scikit-learn's converter writes a ColumnTransformer.
    nodes = [
        learned("ArrayFeatureExtractor", ["x", "second"], ["column"]),
        learned("OneHotEncoder", ["column"], ["y"], cats_strings=["a", "b", "c"]),
    ]
    second = onnx.numpy_helper.from_array(np.array([1]), "second")
    outputs = [port("y", None)]
    inputs = [port("x", ["n", 2], KINDS.STRING)]
    path = written(tmp_path, nodes, inputs, outputs, [second])
    same_as_runtime(path, x=NAMES)


def test_texts_outside_files_are_moved_too(tmp_path):
    fixed = onnx.helper.make_tensor("fixed", KINDS.STRING, [1, 2], [b"b", b"q"])
    nodes = [
        onnx.helper.make_node("Transpose", ["x"], ["turned"], perm=[1, 0]),
        onnx.helper.make_node("Constant", [], ["shape"], value_ints=[-1]),
        onnx.helper.make_node("Reshape", ["turned", "shape"], ["flat"]),
        onnx.helper.make_node("Concat", ["x", "fixed"], ["longer"], axis=0),
        onnx.helper.make_node("Gather", ["longer", "places"], ["y"], axis=0),
    ]
    outputs = [port("flat", None, KINDS.STRING), port("y", None, KINDS.STRING)]
    inputs = [port("x", ["n", 2], KINDS.STRING), port("places", ["k"], KINDS.INT64)]
    model = load(written(tmp_path, nodes, inputs, outputs, [fixed]))
    flat, y = model(NAMES, np.array([3, 0, -3]))
    assert flat.tolist() == NAMES.T.ravel().tolist()
    # ONNX Runtime 1.32 loses all but the first of each row here.
    assert y.tolist() == [["b", "q"], ["b", "ü"], ["z", "a"]]


def test_words_are_counted(tmp_path):
    node = onnx.helper.make_node(
        "TfIdfVectorizer",
        ["x"],
        ["y"],
        mode="TFIDF",
        min_gram_length=1,
        max_gram_length=2,
        max_skip_count=0,
        ngram_counts=[0, 2],
        ngram_indexes=[2, 0, 1],
        pool_strings=["a", "b", "a", "b"],
        weights=[0.5, 2.0, 3.0],
    )
    path = written(tmp_path, [node], [port("x", ["n", 4], KINDS.STRING)], [port("y", ["n", 3])])
    same_as_runtime(path, x=np.array([list("abab"), list("xbaa")], object))


def test_non_text_is_refused_by_a_call(tmp_path):
    nodes = [onnx.helper.make_node("Identity", ["x"], ["y"])]
    ports = [port(name, ["n"], KINDS.STRING) for name in "xy"]
    model = load(model_of(nodes, ports[:1], ports[1:], tmp_path))
    assert model(["q", "q", b"w"]).tolist() == ["q", "q", "w"]
    with pytest.raises(TypeError, match="a int in an input of texts"):
        model([1, 2])


TEXT, NUMBER = port("x", ["n"], KINDS.STRING), port("x", ["n"], KINDS.INT64)


@pytest.mark.parametrize(
    "node, given, reason",
    [
        (onnx.helper.make_node("Neg", ["x"], ["y"]), TEXT, "text as an input"),
        (
            onnx.helper.make_node("Cast", ["x"], ["y"], to=1),
            TEXT,
            "a conversion between numbers and text",
        ),
        (
            onnx.helper.make_node("Cast", ["x"], ["y"], to=8),
            NUMBER,
            "a conversion between numbers and text",
        ),
        (onnx.helper.make_node("StringNormalizer", ["x"], ["y"]), TEXT, "unknown operator"),
        (
            onnx.helper.make_node("Concat", ["x", "n"], ["y"], axis=0),
            TEXT,
            "text is expected, not a number, as input 1",
        ),
        (
            learned("LabelEncoder", ["x"], ["y"], keys_strings=["a"], values_int64s=[1]),
            NUMBER,
            "its keys are text, its input is numbers",
        ),
        (
            learned("LabelEncoder", ["x"], ["y"], keys_int64s=[1], values_int64s=[1]),
            TEXT,
            "its keys are numbers, its input is text",
        ),
        (
            learned("OneHotEncoder", ["x"], ["y"], cats_strings=["a"]),
            NUMBER,
            "its categories are text, its input is numbers",
        ),
        (learned("OneHotEncoder", ["x"], ["y"]), TEXT, "no categories"),
    ],
)
def test_ambiguous_text_numbers_are_refused(tmp_path, node, given, reason):
    numbers = onnx.numpy_helper.from_array(np.array([1]), "n")
    path = written(tmp_path, [node], [given], [port("y", None)], [numbers])
    with pytest.raises(RuntimeError, match=reason):
        load(path)


@pytest.mark.parametrize("listed", ["{", '{"a": 1}', "[1, 2]", '"x"'])
def test_foreign_metadata_need_not_be_strings(tmp_path, listed):
    nodes = [onnx.helper.make_node("Neg", ["x"], ["y"])]
    path = model_of(nodes, [port("x", [2])], [port("y", [2])], tmp_path)
    model = onnx.load(path)
    onnx.helper.set_model_props(model, {"onnx.texts": listed, "onnx.texts.of": listed})
    path.write_bytes(model.SerializeToString())
    assert load(path)(np.float32([1, 2])).numpy().tolist() == [-1, -2]
