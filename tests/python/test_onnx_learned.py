# SPDX-License-Identifier: Apache-2.0
"""Operators of classical learning in ONNX files, as scikit-learn and LightGBM export them."""

import importlib

import numpy as np
import pytest
from onnx_files import onnx, port, same_as_runtime

load = importlib.import_module("megengine.onnx.reading").load
runtime = pytest.importorskip("onnxruntime")
KINDS = onnx.TensorProto
X = np.random.default_rng(1).normal(size=(90, 3)).astype(np.float32)


def learned(tmp_path, op, outputs, version=3, dtype=KINDS.FLOAT, **attributes):
    node = onnx.helper.make_node(
        op, ["x"], [p.name for p in outputs], domain="ai.onnx.ml", name=op, **attributes
    )
    graph = onnx.helper.make_graph([node], "g", [port("x", ["n", 3], dtype)], outputs)
    sets = [onnx.helper.make_opsetid("", 17), onnx.helper.make_opsetid("ai.onnx.ml", version)]
    model = onnx.helper.make_model(graph, opset_imports=sets, ir_version=9)
    path = tmp_path / "model.onnx"
    path.write_bytes(model.SerializeToString())
    return path


# Two trees of three questions; the nodes are not in the order of a walk.
NODES = {
    "nodes_treeids": [0] * 5 + [1] * 3,
    "nodes_nodeids": [0, 1, 2, 3, 4, 0, 1, 2],
    "nodes_featureids": [0, 0, 1, 0, 0, 2, 0, 0],
    "nodes_values": [0.25, 0, -0.5, 0, 0, 0.125, 0, 0],
    "nodes_modes": ["BRANCH_LEQ", "LEAF", "BRANCH_LT", "LEAF", "LEAF"]
    + ["BRANCH_GT", "LEAF", "LEAF"],
    "nodes_truenodeids": [2, 0, 4, 0, 0, 1, 0, 0],
    "nodes_falsenodeids": [1, 0, 3, 0, 0, 2, 0, 0],
}
LEAVES = {"treeids": [0, 0, 0, 1, 1], "nodeids": [1, 3, 4, 1, 2]}


def leaves_of(what, ids, weights):
    named = {f"{what}_{key}": value for key, value in LEAVES.items()}
    return {**named, f"{what}_ids": ids, f"{what}_weights": weights}


@pytest.mark.parametrize("how", ["SUM", "AVERAGE", "MIN", "MAX"])
def test_regression_trees(tmp_path, how):
    leaves = leaves_of("target", [0, 1, 0, 0, 1], [1.0, -2.0, 3.0, 0.5, 4.0])
    path = learned(
        tmp_path,
        "TreeEnsembleRegressor",
        [port("y", ["n", 2])],
        n_targets=2,
        aggregate_function=how,
        **NODES,
        **leaves,
    )
    same_as_runtime(path, X)


@pytest.mark.parametrize(
    "classes, ids, weights, then",
    [
        ([4, 7, 9], [0, 1, 2, 1, 0], [0.1, 0.7, 0.5, 0.3, 0.2], "SOFTMAX"),
        ([4, 7, 9], [0, 1, 2, 1, 0], [0.1, 0.7, 0.5, 0.3, 0.2], "NONE"),
        ([0, 1], [0] * 5, [0.5, -1.0, 0.25, 0.5, -0.75], "LOGISTIC"),
        ([3, 5], [0] * 5, [0.1, 0.3, 0.45, 0.2, 0.1], "NONE"),
    ],
)
def test_classification_trees(tmp_path, classes, ids, weights, then):
    path = learned(
        tmp_path,
        "TreeEnsembleClassifier",
        [port("label", ["n"], KINDS.INT64), port("scores", ["n", len(classes)])],
        classlabels_int64s=classes,
        post_transform=then,
        **NODES,
        **leaves_of("class", ids, weights),
    )
    same_as_runtime(path, X)


@pytest.mark.parametrize(
    "op, attributes",
    [
        ("Scaler", {"offset": [0.5, 1, -1], "scale": [2.0, 3, 0.5]}),
        ("Normalizer", {"norm": "L1"}),
        ("Normalizer", {"norm": "L2"}),
        ("Normalizer", {"norm": "MAX"}),
        ("Binarizer", {"threshold": 0.25}),
        ("Imputer", {"imputed_value_floats": [1.0, 2, 3], "replaced_value_float": float("nan")}),
        ("LinearRegressor", {"coefficients": [1.0, 2, 3], "intercepts": [0.5], "targets": 1}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_tables_of_numbers(tmp_path, op, attributes):
    x = np.where(X > 1, np.nan, X) if op == "Imputer" else X
    width = 1 if op == "LinearRegressor" else 3
    path = learned(tmp_path, op, [port("y", ["n", width])], version=1, **attributes)
    same_as_runtime(path, x.astype(np.float32))


@pytest.mark.parametrize("kernel", ["LINEAR", "RBF", "POLY", "SIGMOID"])
def test_support_vectors(tmp_path, kernel):
    path = learned(
        tmp_path,
        "SVMRegressor",
        [port("y", ["n", 1])],
        version=1,
        n_supports=2,
        kernel_type=kernel,
        kernel_params=[0.5, 0.25, 2.0],
        support_vectors=[1.0, 2, 3, -1, 0.5, 0],
        coefficients=[0.75, -1.5],
        rho=[0.125],
    )
    same_as_runtime(path, X)


def machine_of(classes, probabilities, then="NONE", kernel="RBF"):
    """Two vectors of each class, which are compared with X."""
    rng, pairs, count = np.random.default_rng(classes), classes * (classes - 1) // 2, 2 * classes
    attributes = {
        "classlabels_ints": [3 * i + 1 for i in range(classes)],
        "kernel_type": kernel,
        "kernel_params": [0.5, 0.25, 2.0],
        "vectors_per_class": [2] * classes,
        "support_vectors": rng.normal(size=3 * count).tolist(),
        "coefficients": rng.normal(size=(classes - 1) * count).tolist(),
        "rho": rng.normal(size=pairs).tolist(),
        "post_transform": then,
    }
    if probabilities:
        attributes["prob_a"] = (-1 - rng.random(pairs)).tolist()
        attributes["prob_b"] = rng.normal(size=pairs).tolist()
    return attributes


@pytest.mark.parametrize("kernel", ["LINEAR", "RBF", "POLY", "SIGMOID"])
@pytest.mark.parametrize("probabilities", [True, False])
@pytest.mark.parametrize("classes", [2, 3, 5])
def test_classes_by_support_vectors(tmp_path, classes, probabilities, kernel):
    path = learned(
        tmp_path,
        "SVMClassifier",
        [port("label", ["n"], KINDS.INT64), port("scores", None)],
        version=1,
        **machine_of(classes, probabilities, kernel=kernel),
    )
    same_as_runtime(path, X)


@pytest.mark.parametrize(
    "changes, reason",
    [
        ({"vectors_per_class": [2, 2]}, "for 3 classes with 4 vectors"),
        ({"vectors_per_class": [2, -1, 5]}, "its vectors_per_class hold -1"),
        ({"support_vectors": [1.0] * 17}, "17 numbers for 6 support vectors"),
        ({"rho": [1.0]}, "12 coefficients and 1 constant for 3 classes"),
        ({"prob_b": [1.0]}, "its prob_a and prob_b have 3 and 1 numbers for 3 pairs"),
        ({"kernel_type": "LINE"}, "the kernel 'LINE'"),
    ],
)
def test_damaged_machines_are_refused(tmp_path, changes, reason):
    outputs = [port("label", ["n"], KINDS.INT64), port("scores", None)]
    attributes = {**machine_of(3, True), **changes}
    path = learned(tmp_path, "SVMClassifier", outputs, version=1, **attributes)
    with pytest.raises(RuntimeError, match=reason):
        load(path)


def test_a_machine_without_vectors_is_refused(tmp_path):
    outputs = [port("label", ["n"], KINDS.INT64), port("scores", None)]
    attributes = machine_of(3, False)
    del attributes["vectors_per_class"]
    path = learned(tmp_path, "SVMClassifier", outputs, version=1, **attributes)
    with pytest.raises(RuntimeError, match="a classifier without support vectors"):
        load(path)


def test_trees_of_doubles(tmp_path):
    """Thresholds that are equal to features as f32, not as f64."""
    x = np.float64(X)
    x[:, 0] = 0.25 + np.linspace(-1, 1, len(x)) * 1e-9
    path = learned(
        tmp_path,
        "TreeEnsembleRegressor",
        [port("y", ["n", 2])],
        dtype=KINDS.DOUBLE,
        n_targets=2,
        **NODES,
        **leaves_of("target", [0, 1, 0, 0, 1], [1.0, -2.0, 3.0, 0.5, 4.0]),
    )
    same_as_runtime(path, x)


def test_labels_that_are_numbers(tmp_path):
    path = learned(
        tmp_path,
        "LabelEncoder",
        [port("y", ["n", 3])],
        version=2,
        dtype=KINDS.INT64,
        keys_int64s=[1, 2, 5],
        values_floats=[0.5, 1.5, 2.5],
        default_float=-7.0,
    )
    same_as_runtime(path, np.array([[1, 2, 3], [5, 5, 0]]))


def test_categories(tmp_path):
    path = learned(
        tmp_path,
        "OneHotEncoder",
        [port("y", ["n", 3, 4])],
        version=1,
        dtype=KINDS.INT64,
        cats_int64s=[0, 2, 4, 5],
    )
    same_as_runtime(path, np.array([[0, 2, 3], [5, 4, 0]]))


def test_unknown_categories_fail_if_the_model_requires_it(tmp_path):
    named = {"version": 1, "dtype": KINDS.INT64, "cats_int64s": [0, 2, 4], "zeros": 0}
    path = learned(tmp_path, "OneHotEncoder", [port("y", ["n", 3, 3])], **named)
    same_as_runtime(path, np.array([[0, 2, 4], [4, 4, 0]]))
    with pytest.raises(RuntimeError, match="assert_equal"):
        load(path)(np.array([[0, 2, 3]]))


@pytest.mark.parametrize(
    "labels, kind",
    [({"classlabels_int64s": [4, -2, 7]}, int), ({"classlabels_strings": ["a", "b", "c"]}, str)],
)
def test_dictionaries_of_classes_are_a_matrix_with_a_column_each(tmp_path, labels, kind):
    keys = KINDS.INT64 if kind is int else KINDS.STRING
    values = onnx.helper.make_tensor_type_proto(KINDS.FLOAT, [])
    rows = onnx.helper.make_sequence_type_proto(onnx.helper.make_map_type_proto(keys, values))
    path = learned(
        tmp_path, "ZipMap", [onnx.helper.make_value_info("y", rows)], version=1, **labels
    )
    expected = runtime.InferenceSession(str(path)).run(None, {"x": X})[0]
    model = load(path)
    names = [kind(label) for label in model.metadata["onnx.classes.y"].split(",")]
    y = model(X).numpy()
    assert y.shape == X.shape and len(names) == 3
    assert [dict(zip(names, row, strict=True)) for row in y] == expected


def test_labels_with_other_columns_are_refused(tmp_path):
    path = learned(tmp_path, "ZipMap", [port("y", None)], version=1, classlabels_int64s=[0, 1])
    with pytest.raises(RuntimeError, match="2 labels for"):
        load(path)


@pytest.mark.parametrize(
    "changes, reason",
    [
        ({"nodes_values": [0.5]}, "lists of nodes differ in length"),
        ({"nodes_truenodeids": [0, 0, 4, 0, 0, 1, 0, 0]}, "two parents"),
        ({"nodes_truenodeids": [9, 0, 4, 0, 0, 1, 0, 0]}, "tree 0 has no node 9"),
        ({"nodes_nodeids": [0, 0, 2, 3, 4, 0, 1, 2]}, "is listed twice"),
        ({"nodes_modes": ["BRANCH_MAYBE"] * 8}, "node mode 'BRANCH_MAYBE'"),
    ],
)
def test_damaged_trees_are_refused(tmp_path, changes, reason):
    leaves = leaves_of("target", [0] * 5, [1.0] * 5)
    path = learned(
        tmp_path,
        "TreeEnsembleRegressor",
        [port("y", ["n", 1])],
        n_targets=1,
        **{**NODES, **changes},
        **leaves,
    )
    with pytest.raises(RuntimeError, match=reason):
        load(path)
