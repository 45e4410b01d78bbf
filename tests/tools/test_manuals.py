# SPDX-License-Identifier: Apache-2.0
"""Manual pages and shell completions that the build makes from the tools' own definitions."""

import os
import pty
import re
import select
import shlex
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from tool_names import TOOLS

ROOT = Path(__file__).resolve().parents[2]


def help_flag(tool):
    """The flag that shows all options: load_and_run has too many for --help."""
    return "--help-all" if tool == "load_and_run" else "--help"


@pytest.mark.parametrize("tool", TOOLS)
def test_manual_page_has_no_warning(tool, build_dir):
    page = build_dir / f"share/man/man1/{tool}.1"
    ran = subprocess.run(
        ["man", "--warnings", "-l", str(page)],
        capture_output=True,
        text=True,
        # Without LD_PRELOAD: a sanitizer's runtime does not fit the programs behind man.
        env={**os.environ, "MANWIDTH": "100", "LC_ALL": "C.UTF-8", "LD_PRELOAD": ""},
    )
    assert ran.returncode == 0 and ran.stderr == ""
    sections = ["NAME", "SYNOPSIS", "DESCRIPTION", "EXIT STATUS"]
    sections += ["ENVIRONMENT", "EXAMPLES", "SEE ALSO"]
    if tool in ("load_and_run", "mge-fastrun-cache"):
        sections.append("FILES")
    for section in sections:
        assert section in ran.stdout.splitlines()
    for other in TOOLS:
        assert (f"{other}(1)" in ran.stdout.split("SEE ALSO")[1]) == (other != tool)


@pytest.mark.parametrize("tool", TOOLS)
def test_descriptions_are_put_together_in_lower_case(tool, build_dir):
    page = (build_dir / f"share/man/man1/{tool}.1").read_text()
    assert re.findall(r"[a-z] (?:The|An?|To|From|Of) .*", page) == []


def roff_section(build_dir, tool, title):
    """The entries of a section: their terms, in plain text."""
    page = (build_dir / f"share/man/man1/{tool}.1").read_text().replace("\\-", "-")
    section = page.split(f".SH {title}\n")[1].split("\n.SH ")[0]
    return re.findall(r"^\.TP\n\\fB(.*)\\fR$", section, re.MULTILINE)


@pytest.mark.parametrize("tool", TOOLS)
def test_examples_of_the_manual_work(tool, build_dir, tool_path, small_model, tmp_path):
    """One after the other, in a folder that holds model.mge."""
    shutil.copy(small_model, tmp_path / "model.mge")
    examples = roff_section(build_dir, tool, "EXAMPLES")
    assert len(examples) >= 4
    shown = subprocess.run(
        [tool_path(tool), help_flag(tool)], capture_output=True, text=True
    ).stdout
    for command in examples:
        assert command in shown
        path = f"{build_dir / 'bin'}:{os.environ['PATH']}"
        ran = subprocess.run(
            ["bash", "-c", command],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            env={**os.environ, "PATH": path, "XDG_CACHE_HOME": str(tmp_path / "cache")},
        )
        # A machine may have become slower meanwhile: that is what the example is about.
        assert ran.returncode == 0 or (ran.returncode == 3 and "--fail-if" in command), ran.stderr


def test_environment_matches_the_page(build_dir):
    known = re.findall(r"^\| `(\w+)`", (ROOT / "docs/environment.md").read_text(), re.MULTILINE)
    documented = roff_section(build_dir, "mge-dump", "ENVIRONMENT")
    of_python = {
        "LITE_LIB_PATH",
        "MEGENGINE_LOGGING_LEVEL",
        "MGE_DATASET_ROOT",
        "MGE_DISTRIBUTED_RECORD",
        "MGE_DISTRIBUTED_SECRET",
        "MGE_DISTRIBUTED_TIMEOUT",
        "MGE_FASTRUN_CACHE_DIR",
        "MGE_FASTRUN_CACHE_TYPE",
        "MGE_HOME",
        "MGE_RESTARTS",
        "MGE_TOOLS",
        "MGE_TRITON_BACKENDS",
    }
    assert set(documented) == set(known) - of_python


def long_options(tool_path, tool, *command):
    help_text = subprocess.run(
        [tool_path(tool), *command, help_flag(tool)], capture_output=True, text=True
    ).stdout
    return set(re.findall(r"^ +(?:-\w,)?(--[a-z0-9-]+)", help_text, re.MULTILINE))


@pytest.mark.parametrize("tool", TOOLS)
def test_manual_page_and_completions_have_every_option(tool, build_dir, tool_path):
    options = long_options(tool_path, tool)
    assert "--json" in options
    page = (build_dir / f"share/man/man1/{tool}.1").read_text().replace("\\-", "-")
    bash = (build_dir / f"share/bash-completion/completions/{tool}").read_text()
    zsh = (build_dir / f"share/zsh/site-functions/_{tool}").read_text()
    for option in options:
        assert option in page and option in bash and option in zsh


def type_into(command, setup, line, expected, env=None):
    """The output of a shell on a terminal after the keys of `line`, up to `expected`."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execvpe(command[0], command, {**os.environ, "TERM": "dumb", "PS1": "$ ", **(env or {})})
    shown = b""
    try:
        os.write(terminal, f"{setup}; echo rea''dy\n".encode())
        deadline = time.monotonic() + 600
        sent = False
        while time.monotonic() < deadline and expected.encode() not in shown.replace(b"\a", b""):
            if select.select([terminal], [], [], 0.2)[0]:
                shown += os.read(terminal, 10000)
            if not sent and b"\nready" in shown:
                os.write(terminal, line.encode())
                sent = True
                shown = b""
    finally:
        os.write(terminal, b"\x03exit\n")
        os.close(terminal)
        os.waitpid(pid, 0)
    return shown.decode(errors="replace").replace("\a", "")


def complete_in_bash(build_dir, tool, words):
    """The candidates that the script gives for the last of the words."""
    script = build_dir / f"share/bash-completion/completions/{tool}"
    quoted = shlex.join(words)
    function = "_" + tool.replace("-", "_")
    ran = subprocess.run(
        [
            "bash",
            "-c",
            f"source {shlex.quote(str(script))}; COMP_WORDS=({quoted});"
            f"COMP_CWORD={len(words) - 1}; {function};"
            'printf "%s\\n" "${COMPREPLY[@]}"',
        ],
        capture_output=True,
        text=True,
    )
    assert ran.stderr == ""
    return ran.stdout.split()


def test_bash_completes_an_option_on_a_terminal(build_dir):
    script = build_dir / "share/bash-completion/completions/load_and_run"
    shown = type_into(
        ["bash", "--norc", "--noprofile", "-i"],
        f"source {shlex.quote(str(script))}",
        "load_and_run --fast\t",
        "--fast-run",
    )
    assert "load_and_run --fast-run" in shown


def test_bash_candidates(build_dir, tmp_path, monkeypatch):
    assert "--fast-run" in complete_in_bash(
        build_dir, "load_and_run", ["load_and_run", "x.mge", "--fast"]
    )
    (tmp_path / "a model.mge").touch()
    (tmp_path / "b.mge").touch()
    monkeypatch.chdir(tmp_path)
    assert complete_in_bash(build_dir, "load_and_run", ["load_and_run", "b"]) == ["b.mge"]
    words = ["load_and_run", "--json", "=", "b"]
    assert complete_in_bash(build_dir, "load_and_run", words) == ["b.mge"]


@pytest.mark.parametrize(
    "tool, words, expected",
    [
        ("load_and_run", ["x.mge", "--metric", "max"], {"max-abs", "max-rel"}),
        ("load_and_run", ["x.mge", "--metric", "=", "cos"], {"cosine"}),
        ("load_and_run", ["x.mge", "--layout-transform", "c"], {"cpu", "cuda"}),
        ("mge-dump", ["optimize", "a", "b", "--layout-transform", "cp"], {"cpu"}),
        ("mge-profile", ["show", "f", "--style", "g"], {"grid"}),
        ("mge-profile", ["show", "f", "--aggregate", "m"], {"max", "min", "mean"}),
    ],
)
def test_bash_completes_values_that_are_few(build_dir, tool, words, expected):
    assert set(complete_in_bash(build_dir, tool, [tool, *words])) == expected


@pytest.mark.parametrize(
    "words, expected",
    [
        (["i"], {"info", "iodiff"}),
        (["graph", "--form"], {"--format"}),
        (["graph", "--format", "s"], {"svg"}),
        (["--quiet", "doctor", "--requ"], {"--require"}),
        (["doctor", "--params"], set()),
        (["optimize", "a", "b", "--passes", "fuse_b"], {"fuse_bias"}),
    ],
)
def test_bash_completes_commands_and_their_options(build_dir, words, expected):
    assert set(complete_in_bash(build_dir, "mge-dump", ["mge-dump", *words])) == expected


@pytest.mark.skipif(not shutil.which("zsh"), reason="there is no zsh")
def test_zsh_completes_an_option_on_a_terminal(build_dir):
    folder = build_dir / "share/zsh/site-functions"
    shown = type_into(
        ["zsh", "-f", "-i"],
        f"fpath=({shlex.quote(str(folder))} $fpath); autoload -Uz compinit; compinit -u -D",
        "load_and_run --model-i\t",
        "--model-info",
    )
    assert "--model-info" in shown


@pytest.mark.skipif(not shutil.which("zsh"), reason="there is no zsh")
def test_zsh_completes_a_command_on_a_terminal(build_dir):
    folder = build_dir / "share/zsh/site-functions"
    shown = type_into(
        ["zsh", "-f", "-i"],
        f"fpath=({shlex.quote(str(folder))} $fpath); autoload -Uz compinit; compinit -u -D",
        "mge-dump doc\t--requ\t",
        "--require",
    )
    assert "mge-dump doctor " in shown and "--require" in shown


def test_unknown_shell_is_a_usage_error(run_tool):
    ran = run_tool("load_and_run", "--print-completion", "csh")
    assert ran.code == 2 and "csh" in ran.err
