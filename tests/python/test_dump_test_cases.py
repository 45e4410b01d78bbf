# SPDX-License-Identifier: Apache-2.0
"""The test cases that ``dump`` reads from texts: random numbers, arrays and images in files."""

import io

import numpy as np
import pytest

import megengine.functional as F
from megengine import Tensor
from megengine.jit import trace
from megengine.jit.test_cases import ModelInput, Reading, read_test_cases

X = ModelInput("x", (2, 3), "float32")
PICTURE = np.arange(4 * 6 * 3, dtype=np.uint8).reshape(4, 6, 3)


def cases(text, *inputs, **reading):
    return [arrays for _, arrays in read_test_cases(text, list(inputs or [X]), Reading(**reading))]


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("#rand(2,3)", (2, 3)),
        ("x:#rand(2, 3)", (2, 3)),
        ("#rand(2,3,5,3)", (5, 3)),
        ("#rand(2, 3, 7, ...)", (7, 3)),
        ("#rand(2,3,...)", (2, 3)),
    ],
)
def test_random_numbers_have_the_shape_of_the_input(text, shape):
    [[data]] = cases(text, repeat=3)  # which is for files
    assert data.shape == shape and data.dtype == np.float32
    assert data.min() >= 2 and data.max() <= 3


def test_one_number_for_an_input_without_axes():
    [[data]] = cases("#rand(2, 3, 1)", ModelInput("x", (), "float32"))
    assert data.shape == () and 2 <= data <= 3


def test_random_numbers_for_all_inputs():
    y = ModelInput("y", (4,), "int32")
    [[first, second]] = cases("#rand(0,100)", X, y)
    assert first.shape == (2, 3) and second.shape == (4,) and second.dtype == np.int32


def test_files_are_repeated_and_changed(tmp_path):
    np.save(tmp_path / "x.npy", np.array([[1, 2, 3]]))
    (tmp_path / "list.txt").write_text(f"{tmp_path}/x.npy\n\nx:{tmp_path}/x.npy\n")
    found = cases(f"@{tmp_path}/list.txt", repeat=2, transform="data + np.float32(0.5)")
    assert [arrays[0].tolist() for arrays in found] == [[[1.5, 2.5, 3.5]] * 2] * 2


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        ((1, 3, 4, 6), PICTURE.transpose(2, 0, 1)[None]),
        ((8, 4, 6, 3), PICTURE[None]),
        ((3, 4, 6), PICTURE.transpose(2, 0, 1)),
        (None, PICTURE.transpose(2, 0, 1)[None]),
    ],
)
def test_images_take_the_form_of_the_input(tmp_path, shape, expected):
    cv2 = pytest.importorskip("cv2")
    path = str(tmp_path / "x.png")
    cv2.imwrite(path, PICTURE)
    [[data]] = cases(path, ModelInput("x", shape, "float32"))
    np.testing.assert_array_equal(data, expected)


def test_images_are_resized_and_become_grey(tmp_path):
    cv2 = pytest.importorskip("cv2")
    path = str(tmp_path / "x.png")
    cv2.imwrite(path, np.full((4, 6, 3), 7, np.uint8))
    [[data]] = cases(path, ModelInput("x", (1, 1, 5, 9), "uint8"), resize=True, repeat=2)
    np.testing.assert_array_equal(data, np.full((2, 1, 5, 9), 7))
    with pytest.raises(ValueError, match="is an image, the input x has shape"):
        cases(path, ModelInput("x", (1, 4), "float32"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("#rand(1)", r"expected #rand\(min,max\)"),
        ("#rand(0,1,a)", r"expected #rand\(min,max\)"),
        ("#rand(0,1,2)", r"has shape \(2,\), the input x \(2, 3\)"),
        ("y:#rand(0,1)", "the inputs are"),
    ],
)
def test_wrong_texts(text, message):
    with pytest.raises(ValueError, match=message):
        cases(text)
    with pytest.raises(ValueError, match="which input"):
        cases("a.npy", X, X._replace(name="y"))
    with pytest.raises(ValueError, match="has no shape"):
        cases("#rand(0,1)", X._replace(shape=None))
    with pytest.raises(TypeError, match="list of texts"):
        cases([5])


def test_invalid_number_files(tmp_path):
    pytest.importorskip("cv2")
    (tmp_path / "x.txt").write_text("nothing")
    with pytest.raises(ValueError, match="nor an image nor a .npy file"):
        cases(str(tmp_path / "x.txt"))


def test_models_hold_the_cases():
    net = trace(symbolic=True, capture_as_const=True)(lambda x, y: F.relu(x + y))
    net(Tensor(np.ones((2, 3), np.float32)), Tensor(np.ones(3, np.float32)))
    sizes = []
    for texts in (None, ["#rand(0,1)"], ["#rand(0,1)", "arg_0:#rand(0,1,9,...);arg_1:#rand(0,1)"]):
        file = io.BytesIO()
        net.dump(file, input_data=texts, silent=True)
        sizes.append(file.tell())
    assert sizes[0] < sizes[1] < sizes[2]
