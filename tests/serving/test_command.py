# SPDX-License-Identifier: Apache-2.0
"""The command ``python -m megengine.serve``: its files, and how it fails."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from server_processes import build_dir


def test_write_only_makes_a_repository_that_needs_nothing_else(models, run_serve, tmp_path):
    done = run_serve(
        *(models["classifier"], "--name", "net", "--max-batch", 4, "--max-delay", 2.5),
        *("--instances", 3, "--host", "0.0.0.0", "--write-only", tmp_path / "r"),
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    settings = json.loads((tmp_path / "r/settings.json").read_text())
    assert settings["host"] == "0.0.0.0"
    assert settings["parallel_workers"] == 3
    model = json.loads((tmp_path / "r/net/model-settings.json").read_text())
    assert model["implementation"] == "megengine.serving.MGERuntime"
    assert model["parameters"]["uri"] == "./model.mge"
    assert model["parameters"]["extra"]["max_batch"] == 4
    assert model["parameters"]["extra"]["max_delay"] == 0.0025
    written = (tmp_path / "r/net/model.mge").read_bytes()
    assert written == models["classifier"].read_bytes()


def test_the_server_listens_on_this_machine_only(models, run_serve, tmp_path):
    assert run_serve(models["classifier"], "--write-only", tmp_path).returncode == 0
    assert json.loads((tmp_path / "settings.json").read_text())["host"] == "127.0.0.1"


def test_without_the_package_the_error_names_it(models, run_serve):
    """The tests' own environment has no server."""
    done = run_serve(models["classifier"], python=sys.executable)
    assert done.returncode == 4
    assert done.stderr == (
        "megengine.serve: mlserver is not installed: run pip install 'mge-engine[serve]'\n"
    )


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--max-batch", "0"], 2, "'0' is not a number of at least 1"),
        (["--max-delay", "-1"], 2, "'-1' is not a number from 0 to 60000"),
        (["--http-port", "70000"], 2, "'70000' is not a port from 1 to 65535"),
        (["--name", "a/b"], 2, "--name: 'a/b' has other characters than letters, digits, ._-"),
        (["--key-file", "absent"], 2, "No such file or directory: 'absent'"),
        (["--http-port", "9", "--grpc-port", "9"], 2, "have to differ"),
        (["--engine", "other"], 2, "invalid choice: 'other'"),
        (["--engine", "triton", "--device", "cuda"], 2, "runs models on CPUs only"),
    ],
)
def test_usage_errors(models, run_serve, arguments, code, message):
    done = run_serve(models["classifier"], *arguments)
    assert done.returncode == code
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_a_folder_with_one_model(models, run_serve, tmp_path):
    mount = tmp_path / "mount"
    mount.mkdir()
    assert "has 0 models" in run_serve(mount).stderr
    (mount / "net.mge").write_bytes(models["classifier"].read_bytes())
    (mount / "README").write_text("")
    assert run_serve(mount, "--write-only", tmp_path / "r").returncode == 0
    assert (tmp_path / "r/net/model.mge").exists()
    (mount / "other.onnx").write_bytes(b"")
    done = run_serve(mount)
    assert done.returncode == 2
    assert "has 2 models" in done.stderr


def test_errors_of_files(run_serve, tmp_path):
    done = run_serve(tmp_path / "absent.mge")
    assert done.returncode == 2
    assert "absent.mge" in done.stderr
    (tmp_path / "damaged.mge").write_bytes(b"no model")
    done = run_serve(tmp_path / "damaged.mge")
    assert done.returncode == 5
    assert "damaged.mge" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("file", "key", "code"),
    [
        ("right.mge", "key", 0),
        ("right.mge", None, 6),
        ("right.mge", "other", 6),
        ("cut.mge", "key", 6),
        ("plain.mge", "key", 6),
        ("no_model.mge", "key", 5),
        ("half.mge", "key", 5),
    ],
)
def test_codes_of_encrypted_models(models, run_serve, tmp_path, file, key, code):
    def crypt(*arguments):
        tool = build_dir() / "bin/mge-crypt"
        subprocess.run([tool, *arguments], check=True, cwd=tmp_path, stdout=subprocess.DEVNULL)

    content = models["classifier"].read_bytes()
    for name in ("key", "other"):
        crypt("keygen", name)
    for name, plain in (
        ("right.mge", content),
        ("no_model.mge", b"no model"),
        ("half.mge", content[: len(content) // 2]),
    ):
        (tmp_path / "plain.mge").write_bytes(plain)
        crypt("encrypt", "--key-file", "key", "plain.mge", name)
    (tmp_path / "plain.mge").write_bytes(content)
    (tmp_path / "cut.mge").write_bytes((tmp_path / "right.mge").read_bytes()[:-10])
    arguments = ["--key-file", tmp_path / key] if key else []
    done = run_serve(tmp_path / file, *arguments, "--write-only", tmp_path / "r")
    assert done.returncode == code
    assert done.stderr.count("\n") == (1 if code else 0)


def test_a_missing_gpu(models, run_serve):
    if Path("/dev/nvidia0").exists():
        pytest.skip("this machine has a GPU")
    done = run_serve(models["classifier"], "--device", "cuda")
    assert done.returncode == 4
    assert done.stderr.count("\n") == 1


def test_a_port_in_use(models, run_serve):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = run_serve(models["classifier"], "--metrics-port", port)
    assert done.returncode == 2
    assert f"--metrics-port {port} of 127.0.0.1: {os.strerror(98)}" in done.stderr


def test_batches_need_a_batch_dimension(models, run_serve):
    done = run_serve(models["two"], "--max-batch", 4)
    assert done.returncode == 2
    assert "two.mge has no batch dimension" in done.stderr
    assert done.stderr.count("\n") == 1
