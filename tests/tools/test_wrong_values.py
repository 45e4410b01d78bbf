# SPDX-License-Identifier: Apache-2.0
"""Invalid values of options, and options without an effect: reported once, with their name."""

import os
import re
import subprocess
import threading
from pathlib import Path

import numpy as np
import pytest

DATA = Path(__file__).resolve().parents[1] / "data"
MOBILENET = DATA / "onnx/tv_mobilenet_v2_ts.onnx"

COMMANDS = {
    "mge-crypt": ["keygen", "encrypt"],
    "mge-dump": ["convert", "info", "iodiff", "optimize", "pack", "testcase"],
    "mge-fastrun-cache": ["build", "list", "prune"],
    "mge-profile": ["show", "diff"],
}
LINE = re.compile(r"^  (?:-\w,)?(--[a-z0-9-]+)(?: ([^\s=]+)(?:=\S*)?)?(?:  .*| .*)?$", re.MULTILINE)
NUMBERS = ("INT", "UINT", "FLOAT", "N", "FD", "BYTES", "SIZE", "SECONDS", "N,...")


@pytest.mark.parametrize("tool", COMMANDS)
def test_wrong_values_are_usage_errors(tool_path, tool):
    path = str(tool_path(tool))
    tried = 0
    for command in COMMANDS[tool]:
        shown = subprocess.run(
            [path, command, "--help"], capture_output=True, text=True, check=True
        )
        for flag, kind in LINE.findall(shown.stdout):
            is_choice = kind.startswith("{") or "{" in kind
            if flag in ("--help", "--version") or (kind and kind not in NUMBERS and not is_choice):
                continue
            tried += 1
            ran = subprocess.run(
                [path, command, f"{flag}=12x"], capture_output=True, text=True, check=False
            )
            assert ran.returncode == 2, (command, flag, ran.stderr)
            assert flag in ran.stderr and "'12x'" in ran.stderr, (command, flag, ran.stderr)
            assert "Could not" not in ran.stderr
    assert tried >= len(COMMANDS[tool])


def test_names_in_messages(run_tool, small_model, tmp_path):
    def message(*arguments, code=2):
        ran = run_tool(*arguments, json=False)
        assert ran.code == code, ran.err
        return ran.err

    assert "the argument b is missing" in message("mge-dump", "iodiff", "a")
    assert "'foo' is not a device" in message(
        "load_and_run", small_model, "--require-device", "foo"
    )
    assert "contradicts" in message("load_and_run", small_model, "--quiet", "--verbose")
    assert "empty entry" in message("load_and_run", small_model, "--percentile", "50,,")
    assert "last,max,mean" in message("mge-profile", "show", "p", "--statistic", "x")
    assert ".pth" in message("mge-dump", "convert", small_model, tmp_path / "x.pth")
    assert not (tmp_path / "x.pth").exists()
    cache = tmp_path / "c"
    named = ("--fast-run", "--fast-run-algo-policy", cache, "--cache-key-env", "NOPE")
    assert "--cache-key-env" in message("load_and_run", small_model, *named)


@pytest.mark.parametrize(
    "flags",
    [
        ["--enable-sublinear-memory-opt"],
        ["--enable-dtr-memory-opt", "--dtr-eviction-threshold", "1000000000"],
        ["--dtr-eviction-threshold", "1000"],
        ["--sublinear-lb-memory", "100"],
        ["--sublinear-genetic-nr-iter", "3"],
        ["--workspace-factor", "2"],
        ["--metric", "max-abs"],
        ["--rtol", "1"],
        ["--enable-nchw44"],
    ],
)
def test_options_without_effect_warn_once(run_tool, small_model, flags):
    ran = run_tool("load_and_run", small_model, *flags, "--iter", 1)
    assert ran.code == 0, ran.err
    assert ran.result["options_without_effect"] == [flags[0]]
    assert ran.err.count("has no effect") == 1, ran.err


def test_recomputation_without_effect_is_reported(run_tool):
    for flag in ("--enable-sublinear-memory-opt", "--enable-dtr-memory-opt"):
        ran = run_tool("load_and_run", MOBILENET, flag, "--iter", 1)
        assert ran.result["options_without_effect"] == [flag], ran.err


def test_opset_of_a_file_without_one(run_tool, small_model, tmp_path):
    ran = run_tool("mge-dump", "convert", small_model, tmp_path / "x.mge", "--opset", 13)
    assert ran.code == 0 and ran.result["options_without_effect"] == ["--opset"]
    assert "--opset has no effect" in ran.err
    ran = run_tool("mge-dump", "convert", small_model, tmp_path / "x.onnx", "--opset", 13)
    assert ran.code == 0 and ran.result["options_without_effect"] == []


@pytest.mark.parametrize("junk", [b"", b"x" * 5000, b"SQLite format 3\0" + b"x" * 5000])
def test_invalid_cache_is_not_packed(run_tool, small_model, tmp_path, junk):
    cache, packed = tmp_path / "junk", tmp_path / "x.lite"
    cache.write_bytes(junk)
    ran = run_tool("mge-dump", "pack", small_model, packed, "--cache", cache)
    assert ran.code == 5 and "junk" in ran.err and not packed.exists()
    ran = run_tool(
        "load_and_run",
        small_model,
        "--packed-model-dump",
        packed,
        "--pack-cache",
        cache,
        "--iter",
        1,
    )
    assert ran.code == 5 and "junk" in ran.err and not packed.exists()


def test_a_model_from_stdin(tool_path, small_model):
    for command in (["load_and_run", "-", "--iter", "1"], ["mge-dump", "info", "-"]):
        tool, *arguments = command
        ran = subprocess.run(
            [tool_path(tool), *arguments], input=small_model.read_bytes(), capture_output=True
        )
        assert ran.returncode == 0, ran.stderr


def test_text_and_binary_dumps_of_one_run_agree(run_tool, image_model, tmp_path):
    text, binary = tmp_path / "dump.txt", tmp_path / "dump"
    assert run_tool("load_and_run", image_model, "--io-dump", text, "--iter", 1).code == 0
    assert run_tool("load_and_run", image_model, "--bin-io-dump", binary, "--iter", 1).code == 0
    for pair in ((text, binary), (binary, text)):
        ran = run_tool("mge-dump", "iodiff", *pair)
        assert ran.code == 0 and ran.result["compared"] > 3, ran.err


def test_the_version_names_the_commit(run_tool):
    shown = run_tool("load_and_run", "--version", json=False).out
    assert re.search(r"^load_and_run \d+\.\d+\.\d+( \(commit [0-9a-f]{12}(, changed)?\))?$", shown)


def test_keys_are_not_written_through_links(run_tool, tmp_path):
    precious, link = tmp_path / "precious", tmp_path / "link"
    precious.write_text("mine")
    link.symlink_to(precious)
    assert run_tool("mge-crypt", "keygen", link, "--force").code == 0
    assert precious.read_text() == "mine"
    assert not link.is_symlink() and len(link.read_text().strip()) == 64


def test_keys_from_named_pipes(run_tool, small_model, tmp_path):
    pipe, key, sealed = tmp_path / "pipe", tmp_path / "key", tmp_path / "sealed"
    os.mkfifo(pipe)
    ran = run_tool("mge-crypt", "encrypt", small_model, sealed, "--key-file", pipe)
    assert ran.code == 2 and "without a writer" in ran.err
    assert run_tool("mge-crypt", "keygen", key).code == 0
    writer = threading.Thread(target=lambda: pipe.write_bytes(key.read_bytes()))
    writer.start()
    ran = run_tool("mge-crypt", "encrypt", small_model, sealed, "--key-file", pipe)
    writer.join()
    assert ran.code == 0, ran.err
    assert run_tool("load_and_run", sealed, "--key-file", key, "--iter", 1).code == 0


def test_names_with_colons(run_tool, write_model, tmp_path):
    model = write_model("colon", lambda x: x + 1, {"in:put;0": np.ones(2, "float32")}, "y")
    np.save(tmp_path / "x.npy", np.ones(2, "float32"))
    ran = run_tool("load_and_run", model, "--input", f"in:put;0:{tmp_path / 'x.npy'}", "--iter", 1)
    assert ran.code == 0, ran.err


def test_names_contain_no_colours(tool_path, write_model):
    model = write_model("red", lambda x: x + 1, {"\x1b[31mred": np.ones(2, "float32")}, "y")
    shown = subprocess.run(
        [tool_path("load_and_run"), model, "--model-info", "--iter", "1"], capture_output=True
    )
    assert shown.returncode == 0 and b"\\x1b[31mred" in shown.stdout and b"\x1b" not in shown.stdout


def test_fish_completes(run_tool):
    script = run_tool("mge-dump", "--print-completion", "fish", json=False).out
    assert "complete -c mge-dump -f -n __fish_use_subcommand -a info" in script
    assert "__fish_seen_subcommand_from convert' -l format -x -a 'mge onnx'" in script
