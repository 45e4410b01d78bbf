# SPDX-License-Identifier: Apache-2.0
"""Models with external weights name files: files outside of the model's folder are never opened,
and only plain files are read."""

import os
import re
import shutil
import socket
import subprocess

import pytest

onnx = pytest.importorskip("onnx")

MODEL = 5

# Locations of a weight. @ROOT is the path of the folder around the model's.
LOCATIONS = [
    "../secret.bin",
    "..//secret.bin",
    "./../secret.bin",
    "sub/../../secret.bin",
    "sub/../sub/../../secret.bin",
    "a/../../secret.bin",
    "./a/b/c/../../../../secret.bin",
    "../model/../secret.bin",
    "@ROOT/secret.bin",
    "/@ROOT/secret.bin",
    "@ROOT/model/../secret.bin",
    "//etc/passwd",
    "/etc/passwd",
    "/proc/self/environ",
    "/proc/self/mem",
    "/proc/self/fd/0",
    "/dev/stdin",
    "/dev/zero",
    "../../../../../../../../../../etc/passwd",
    "file://@ROOT/secret.bin",
    "C:\\secret.bin",
    "\\\\server\\share\\secret.bin",
    "..\\secret.bin",
    "%2e%2e/secret.bin",
    "~/secret.bin",
    "${HOME}/secret.bin",
    "link.bin",
    "chain.bin",
    "linked/secret.bin",
    "sub/up/secret.bin",
    "loop.bin",
    "dangling.bin",
    "inside.bin\0../secret.bin",
    "pipe",
    "socket",
    "sub",
    ".",
    "",
    "n" * 300,
    "sub/" * 3000 + "secret.bin",
]


@pytest.fixture
def folder(tmp_path):
    """The model's, with what a stranger may have put into it."""
    folder = tmp_path / "model"
    (folder / "sub").mkdir(parents=True)
    (tmp_path / "secret.bin").write_bytes(b"\1" * 8)
    (folder / "inside.bin").write_bytes(bytes(8))
    (folder / "link.bin").symlink_to("../secret.bin")
    (folder / "chain.bin").symlink_to("link.bin")
    (folder / "linked").symlink_to(tmp_path, target_is_directory=True)
    (folder / "sub/up").symlink_to("../..", target_is_directory=True)
    (folder / "loop.bin").symlink_to("loop.bin")
    (folder / "dangling.bin").symlink_to("../nothing.bin")
    os.mkfifo(folder / "pipe")
    # The path of a socket may not be long.
    here = os.getcwd()
    os.chdir(folder)
    try:
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind("socket")
    finally:
        os.chdir(here)
    return folder


def model_with_a_weight_at(location, folder):
    """y = x + w, with w of two floats at that location."""
    weight = onnx.TensorProto(name="w", data_type=onnx.TensorProto.FLOAT, dims=[2])
    weight.data_location = onnx.TensorProto.EXTERNAL
    weight.external_data.add(key="location", value=location)
    node = onnx.helper.make_node("Add", ["x", "w"], ["y"])
    ports = [
        onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [2]) for name in ("x", "y")
    ]
    graph = onnx.helper.make_graph([node], "g", ports[:1], ports[1:], initializer=[weight])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)])
    path = folder / "net.onnx"
    path.write_bytes(model.SerializeToString())
    return path


def opened_of(trace, folder):
    """Paths in the trace inside the folder around the model's, but outside the model's."""
    paths = re.findall(r'open(?:at|at2)?\([^"]*"([^"]*)"', trace)
    around = os.path.realpath(folder.parent)
    found = {os.path.realpath(os.path.join(folder, path)) for path in paths}
    return {path for path in found if path.startswith(around) and not path.startswith(f"{folder}/")}


def can_trace(tmp_path):
    if not (strace := shutil.which("strace")):
        return False
    probe = [strace, "-f", "-o", tmp_path / "probe", "true"]
    return subprocess.run(probe, check=False, capture_output=True).returncode == 0


@pytest.mark.parametrize("location", LOCATIONS, ids=lambda text: ascii(text)[1:40])
def test_nothing_outside_of_the_models_folder_is_read(run_tool, folder, location):
    model = model_with_a_weight_at(location.replace("@ROOT", str(folder.parent)), folder)
    ran = run_tool("mge-dump", "info", model, timeout=600)
    assert ran.code == MODEL, ran.err
    assert len(ran.err.splitlines()) == 1 and "'w'" in ran.err, ran.err


def test_a_weight_inside_is_read(run_tool, folder):
    # A hard link is a plain file of its folder: docs/explanation/security.md says why it is read.
    os.link(folder.parent / "secret.bin", folder / "hard.bin")
    for location in ("inside.bin", "./inside.bin", "sub/../inside.bin", "hard.bin"):
        assert run_tool("mge-dump", "info", model_with_a_weight_at(location, folder)).code == 0


def test_nothing_outside_is_even_opened(tool_path, folder, tmp_path):
    if "MGE_SANITIZED" in os.environ or not can_trace(tmp_path):
        pytest.skip("needs strace and the right to trace")
    log = tmp_path / "trace"
    trace = ["strace", "-f", "-s", "4096", "-e", "trace=open,openat,openat2", "-o", str(log)]
    command = [*trace, str(tool_path("mge-dump")), "info"]
    outside = {str(log)}
    for location in LOCATIONS:
        model = model_with_a_weight_at(location.replace("@ROOT", str(folder.parent)), folder)
        subprocess.run([*command, model], check=False, capture_output=True, timeout=600)
        opened = opened_of(log.read_text(errors="replace"), folder) - outside
        named = {"/etc/passwd", "/proc/self/environ", "/dev/zero"} & set(
            re.findall(r'"([^"]*)"', log.read_text(errors="replace"))
        )
        assert not opened and not named, location
