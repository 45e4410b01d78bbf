# SPDX-License-Identifier: Apache-2.0
"""Common behaviour of all tools: global flags, MegEngine's spellings, errors and the envelope."""

import os
import pty
import subprocess

import pytest

TOOL = "load_and_run"


def test_report_has_the_envelope(run_tool, small_model):
    ran = run_tool(TOOL, small_model, "--iter", 2)
    assert ran.code == 0 and ran.report["tool"] == TOOL
    assert ran.result["runs"] == 2
    # Readers of the first reports look at the top level.
    assert ran.report["runs"] == 2 and ran.report["outputs"] == ran.result["outputs"]


@pytest.mark.parametrize(
    "spelling", ["--warmup-iter=3", "--warmup_iter=3", "-warmup_iter=3", "-warmup-iter 3"]
)
def test_spellings_of_an_option(run_tool, small_model, spelling):
    ran = run_tool(TOOL, small_model, *spelling.split(" "))
    assert "--warmup-iter" in " ".join(ran.report["command"])


@pytest.mark.parametrize("spelling", ["--nomodel_info", "--no-model-info", "--model_info=false"])
def test_a_flag_is_switched_off(run_tool, small_model, spelling):
    assert "Runtime Model Info" in run_tool(TOOL, small_model, "-model_info").out
    ran = run_tool(TOOL, small_model, "--model-info", spelling)
    assert ran.code == 0 and "Runtime Model Info" not in ran.out


def test_the_last_of_several_values_counts(run_tool, small_model):
    assert run_tool(TOOL, small_model, "--iter=5", "--iter=3").result["runs"] == 3


def test_global_flags_may_precede_the_model(run_tool, small_model, tmp_path):
    file = tmp_path / "r.json"
    assert run_tool(TOOL, "--json", file, small_model).code == 0
    assert file.exists()


def test_quiet_prints_no_results(run_tool, small_model):
    ran = run_tool(TOOL, small_model, "--quiet")
    assert ran.out == "" and ran.report["runs"] == 10


@pytest.mark.parametrize(
    "flag, text", [("--io-dump-stdout", " produced: name="), ("--model-info", "Runtime Model Info")]
)
def test_quiet_prints_requested_text(run_tool, small_model, flag, text):
    ran = run_tool(TOOL, small_model, "--quiet", flag)
    assert text in ran.out and "Performance summary" not in ran.out
    ran = run_tool(TOOL, small_model, "--quiet", flag, "--json", "-")
    assert ran.report["tool"] == TOOL and text in ran.err


def test_stdout_contains_only_json(run_tool, small_model):
    ran = run_tool(TOOL, small_model, "--json", "-")
    assert ran.report["tool"] == TOOL and "Performance summary" in ran.err


def test_verbose_prints_more(run_tool, small_model):
    assert "Algorithms" in run_tool(TOOL, small_model, "--verbose").out
    assert "Algorithms" not in run_tool(TOOL, small_model).out


def test_version(run_tool):
    ran = run_tool(TOOL, "--version", json=False)
    assert ran.code == 0 and ran.out.startswith("load_and_run 1.")


# Flag files


def test_flagfile(run_tool, small_model, tmp_path):
    (tmp_path / "inner").write_text("--warmup_iter 2\n")
    (tmp_path / "flags").write_text(
        f"# a comment\n\n  -iter=4\n--model_info\n--flagfile={tmp_path}/inner\n"
    )
    ran = run_tool(TOOL, small_model, "--flagfile", tmp_path / "flags")
    assert ran.result["runs"] == 4 and "Runtime Model Info" in ran.out
    assert "--warmup-iter=2" in ran.report["command"]


def test_flags_after_a_flagfile_win(run_tool, small_model, tmp_path):
    (tmp_path / "flags").write_text("--iter=4\n")
    ran = run_tool(TOOL, small_model, f"--flagfile={tmp_path}/flags", "--iter=6")
    assert ran.result["runs"] == 6


@pytest.mark.parametrize(
    "content, message",
    [
        ("--iter=3\nresnet.mge\n", "line 2 of"),
        ("--flagfile=FILE", "reads itself"),
        ("--flagfile=/proc/nonexistent", "cannot open"),
        ("--no-such-flag", "no-such-flag"),
    ],
)
def test_bad_flagfile(run_tool, small_model, tmp_path, content, message):
    file = tmp_path / "flags"
    file.write_text(content.replace("FILE", str(file)))
    ran = run_tool(TOOL, small_model, "--flagfile", file)
    assert ran.code == 2 and message in ran.err and message in ran.report["error"]["message"]


def test_report_of_a_flagfile_is_written(run_tool, small_model, tmp_path):
    (tmp_path / "flags").write_text(f"--json={tmp_path}/r.json\n--bad\n")
    ran = run_tool(TOOL, small_model, f"--flagfile={tmp_path}/flags", json=False)
    assert ran.code == 2 and (tmp_path / "r.json").exists()


# Errors


@pytest.mark.parametrize(
    "arguments, message, hint",
    [
        (["M", "--fast-rum"], "there is no option '--fast-rum'", "did you mean '--fast-run'?"),
        (["M", "--iter", "0"], "--iter", "--help"),
        (["M", "--iter", "many"], "many", "--help"),
        (["M", "--iter"], "--iter", "--help"),
        ([], "model", "--help"),
    ],
)
def test_usage_errors(run_tool, small_model, arguments, message, hint):
    ran = run_tool(TOOL, *(str(small_model) if a == "M" else a for a in arguments))
    assert ran.code == 2
    assert len(ran.err.splitlines()) == 1 and ran.err.startswith("load_and_run: error: ")
    error = ran.report["error"]
    assert error["kind"] == "usage" and message in error["message"] and hint in error["hint"]


def test_unwritable_report(run_tool, small_model):
    for path in ("/proc/nonexistent/r.json", "/dev/full"):
        ran = run_tool(TOOL, small_model, "--json", path)
        assert ran.code == 2 and path in ran.err and ran.err.count("error: ") == 1, ran.err


def test_full_stdout_is_an_error(tool_path, small_model):
    with open("/dev/full", "w") as full:
        ran = subprocess.run(
            [tool_path(TOOL), small_model, "--json", "-"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
        )
    assert ran.returncode == 2 and "stdout cannot be written" in ran.stderr


# Colours


def stderr_on_terminal(command, env=None):
    master, slave = pty.openpty()
    subprocess.run(command, stderr=slave, env={**os.environ, "TERM": "xterm", **(env or {})})
    os.close(slave)
    text = os.read(master, 10000).decode()
    os.close(master)
    return text


def test_colours_only_on_a_terminal(tool_path, run_tool):
    command = [tool_path(TOOL), "--bad"]
    assert "\033[31m" in stderr_on_terminal(command)
    assert "\033" not in stderr_on_terminal([*command, "--no-color"])
    assert "\033" not in stderr_on_terminal(command, {"NO_COLOR": "1"})
    assert "\033" not in stderr_on_terminal(command, {"TERM": "dumb"})
    assert "\033" not in run_tool(TOOL, "--bad").err
