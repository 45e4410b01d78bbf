# SPDX-License-Identifier: Apache-2.0
"""The model cache: packed weights that one process keeps for the next."""

import os
import subprocess
import sys

import numpy as np
import pytest

from megengine import Tensor, jit
from megengine import functional as F


@pytest.fixture
def model(tmp_path):
    """A .mge file with one large weight."""
    weight = Tensor(np.linspace(-1, 1, 128 * 128 * 9, dtype=np.float32).reshape(128, 128, 3, 3))

    @jit.trace(symbolic=True, capture_as_const=True)
    def net(x):
        return F.conv2d(x, weight, padding=1)

    net(Tensor(np.ones((1, 128, 14, 14), np.float32)))
    path = tmp_path / "net.mge"
    net.dump(str(path), arg_names=["x"], output_names=["y"])
    return path


@pytest.fixture
def cache(tmp_path):
    return tmp_path / "weights"


def files_in(folder):
    return sorted(folder.iterdir()) if folder.exists() else []


def test_second_start_writes_nothing(run_tool, model, cache):
    first = run_tool("load_and_run", model, "--iter", 1, env={"MGE_MODEL_CACHE": str(cache)})
    (file,) = files_in(cache)
    written = file.stat().st_mtime_ns
    assert file.stat().st_mode & 0o077 == 0
    second = run_tool("load_and_run", model, "--iter", 1, env={"MGE_MODEL_CACHE": str(cache)})
    assert files_in(cache) == [file]
    assert file.stat().st_mtime_ns == written
    outputs = [r.result for r in (first, second)]
    assert (
        outputs[0]["memory_bytes"]["packed_weights"]
        == outputs[1]["memory_bytes"]["packed_weights"]
        > 0
    )


@pytest.mark.parametrize("how", ["flag", "variable"])
def test_is_off_on_request(run_tool, model, cache, how):
    flags = ["--no-model-cache"] if how == "flag" else []
    folder = str(cache) if how == "flag" else "0"
    result = run_tool("load_and_run", model, "--iter", 1, *flags, env={"MGE_MODEL_CACHE": folder})
    assert result.code == 0
    assert not cache.exists()


def test_encrypted_model_leaves_nothing(run_tool, model, cache, tmp_path):
    key = tmp_path / "key"
    key.write_bytes(b"k" * 32)
    sealed = tmp_path / "net.enc"
    done = run_tool("mge-crypt", "encrypt", model, sealed, "--key-file", key)
    assert done.code == 0, done.err
    result = run_tool(
        "load_and_run", sealed, "--iter", 1, "--key-file", key, env={"MGE_MODEL_CACHE": str(cache)}
    )
    assert result.code == 0, result.err
    assert not cache.exists()


def test_lite_and_loaded_models_share_it(run_tool, model, cache):
    lite = run_tool(
        "load_and_run", model, "--iter", 1, "--lite", env={"MGE_MODEL_CACHE": str(cache)}
    )
    assert lite.code == 0, lite.err
    (file,) = files_in(cache)
    plain = run_tool("load_and_run", model, "--iter", 1, env={"MGE_MODEL_CACHE": str(cache)})
    assert plain.code == 0
    assert files_in(cache) == [file]


LOADS = """
import sys
from megengine import Tensor, _mge
model = _mge.load(sys.argv[1])
model.run([Tensor([0.0] * 128 * 14 * 14).reshape(1, 128, 14, 14)])
"""


def test_copies_of_models_loaded_in_python_name_them(run_tool, model, cache):
    env = {"MGE_MODEL_CACHE": str(cache)}
    subprocess.run(
        [sys.executable, "-c", LOADS, model], env=os.environ | env, check=True, timeout=120
    )
    (weight,) = run_tool("mge-fastrun-cache", "models", env=env).result["weights"]
    assert weight["model"] == str(model)


def test_models_command_shows_and_clears(run_tool, model, cache):
    env = {"MGE_MODEL_CACHE": str(cache)}
    assert run_tool("mge-fastrun-cache", "models", env=env).result["packed_weights"] == 0
    run_tool("load_and_run", model, "--iter", 1, env=env)
    shown = run_tool("mge-fastrun-cache", "models", env=env)
    assert "1 packed weight" in shown.out
    assert shown.result["packed_weights"] == 1
    cleared = run_tool("mge-fastrun-cache", "models", "--clear", env=env)
    assert cleared.result["cleared"] == 1
    assert files_in(cache) == []
    off = run_tool("mge-fastrun-cache", "models", env={"MGE_MODEL_CACHE": "0"})
    assert off.result["is_on"] is False
    assert "off" in off.out


def test_models_are_listed_and_removed(run_tool, model, cache, tmp_path):
    env = {"MGE_MODEL_CACHE": str(cache)}
    copy = tmp_path / "an\x1bother.mge"
    copy.write_bytes(model.read_bytes())
    for path in (model, copy):
        assert run_tool("load_and_run", path, "--iter", 1, env=env).code == 0
    (file,) = files_in(cache)
    shown = run_tool("mge-fastrun-cache", "models", "--verbose", env=env)
    (row,), (weight,) = shown.result["models"], shown.result["weights"]
    assert row["model"] == weight["model"] == str(model), "the first one"
    assert row["packed_weights"] == 1 and row["bytes"] == file.stat().st_size
    assert weight["fingerprint"] == file.stem
    assert weight["made_for"].startswith("128x128x3x3 f32 for oneDNN ")
    for text in (file.stem, weight["made_for"], str(model)):
        assert text in shown.out
    assert str(model) in run_tool("mge-fastrun-cache", "models", env=env).out

    def left(*flags):
        done = run_tool("mge-fastrun-cache", "models", *flags, env=env)
        assert done.code == 0, done.err
        return done.result["packed_weights"], done.result["cleared"], len(files_in(cache))

    assert left("--model", "nothing", "--remove") == (0, 0, 1)
    assert left("--older-than", 2, "--remove") == (0, 0, 1)
    assert left("--model", "net[.]mge$") == (1, 0, 1)
    assert left("--model", "net[.]mge$", "--remove") == (1, 1, 0)
    assert run_tool("load_and_run", copy, "--iter", 1, env=env).code == 0
    shown = run_tool("mge-fastrun-cache", "models", env=env)
    assert "an\\x1bother.mge" in shown.out and "\x1b" not in shown.out
    assert left("--older-than", 0, "--remove") == (1, 1, 0)


@pytest.mark.parametrize(
    "flags, message",
    [
        (["--remove"], "--older-than"),
        (["--clear", "--model", "a"], "--remove"),
        (["--model", "("], "regular"),
    ],
)
def test_models_refuses_what_it_cannot_do(run_tool, cache, flags, message):
    done = run_tool("mge-fastrun-cache", "models", *flags, env={"MGE_MODEL_CACHE": str(cache)})
    assert done.code == 2 and message in done.err


def test_copies_without_labels_are_used_and_listed(run_tool, model, cache):
    """Those of older versions."""
    env = {"MGE_MODEL_CACHE": str(cache)}
    run_tool("load_and_run", model, "--iter", 1, env=env)
    (file,) = files_in(cache)
    content = bytearray(file.read_bytes())
    label = int.from_bytes(content[40:44], "little")
    assert 0 < label < 4096
    content[40:44] = bytes(4)
    file.write_bytes(content[:-label])
    before = file.stat().st_mtime_ns
    assert run_tool("load_and_run", model, "--iter", 1, env=env).code == 0
    assert file.stat().st_mtime_ns == before
    shown = run_tool("mge-fastrun-cache", "models", env=env)
    assert shown.result["weights"][0]["model"] == shown.result["weights"][0]["made_for"] == ""
    # A damaged label does not matter.
    file.write_bytes(content[:-label] + b"\xff\n")
    assert run_tool("mge-fastrun-cache", "models", "--verbose", env=env).code == 0


def test_folder_of_others_is_refused(run_tool, model, cache):
    cache.mkdir(mode=0o777)
    cache.chmod(0o777)
    result = run_tool("load_and_run", model, "--iter", 1, env={"MGE_MODEL_CACHE": str(cache)})
    assert result.code == 0
    assert "other users can write" in result.err
    assert files_in(cache) == []
