# SPDX-License-Identifier: Apache-2.0
"""mge-dump testcase --data: images, and --input-transform."""

import base64
import struct
import zlib

import numpy as np
import pytest

import megengine as mge
from megengine.jit import trace

TOOL = "mge-dump"


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
def test_images_are_bgr(run_tool, identity, tmp_path, ending):
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
def test_input_transform_matches_numpy(run_tool, identity, tmp_path, expression):
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
        ("data)", "unexpected text after the expression"),
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
def test_invalid_input_transforms(run_tool, identity, tmp_path, expression, message):
    np.save(tmp_path / "x.npy", np.ones((1, 3, 4, 5), "float32"))
    ran = run_tool(
        TOOL, "testcase", identity((1, 3, 4, 5)), tmp_path / "out.mge", "--data",
        tmp_path / "x.npy", f"--input-transform={expression}",
    )  # fmt: skip
    assert ran.code == 2 and message in ran.err and len(ran.err.splitlines()) == 1, ran.err[-500:]
    assert not (tmp_path / "out.mge").exists()


def test_mismatched_input_transform(run_tool, identity, tmp_path):
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
    assert ran.code == 2 and "--input-transform works on files" in ran.err
