# SPDX-License-Identifier: Apache-2.0
"""Mistakes of new users: each tool reports one line with the right exit code."""

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from tool_names import TOOLS

OK, USAGE, BAD_FILE, CRYPTO = 0, 2, 5, 6

DATA = Path(__file__).resolve().parents[1] / "data"

# Commands in which @IN is the file to read, and @OUT, where there is one, the file to write.
READERS = {
    "load_and_run": ["load_and_run", "@IN"],
    "compare": ["load_and_run", "@MODEL", "--compare", "@IN"],
    "input": ["load_and_run", "@MODEL", "--input", "x:@IN.npy"],
    "replay-plan": ["load_and_run", "@MODEL", "--replay-plan", "@IN"],
    "info": ["mge-dump", "info", "@IN"],
    "graph": ["mge-dump", "graph", "@IN"],
    "convert": ["mge-dump", "convert", "@IN", "@OUT"],
    "optimize": ["mge-dump", "optimize", "@IN", "@OUT"],
    "strip": ["mge-dump", "strip", "@IN", "@OUT"],
    "weights": ["mge-dump", "weights", "@IN", "@OUT.npz"],
    "testcase": ["mge-dump", "testcase", "@MODEL", "@OUT", "--data", "@IN"],
    "pack": ["mge-dump", "pack", "@IN", "@OUT"],
    "unpack": ["mge-dump", "unpack", "@IN", "@OUT"],
    "iodiff": ["mge-dump", "iodiff", "@IN", "@IN"],
    "decrypt": ["mge-crypt", "decrypt", "@IN", "@OUT", "--key-file", "@KEY"],
    "rekey": ["mge-crypt", "rekey", "@IN", "@OUT", "--key-file", "@KEY", "--new-key-file", "@KEY"],
    "key": ["mge-crypt", "encrypt", "@MODEL", "@OUT", "--key-file", "@IN"],
    "list": ["mge-fastrun-cache", "list", "@IN"],
    "verify": ["mge-fastrun-cache", "verify", "@IN"],
    "explain": ["mge-fastrun-cache", "explain", "@IN", "@MODEL"],
    "prune": ["mge-fastrun-cache", "prune", "@IN", "--here"],
    "build": ["mge-fastrun-cache", "build", "@OUT", "@IN", "--threads", "1"],
    "import": ["mge-fastrun-cache", "import", "@OUT", "@IN"],
    "show": ["mge-profile", "show", "@IN"],
    "diff": ["mge-profile", "diff", "@IN", "@IN"],
    "export": ["mge-profile", "export", "@IN", "--csv", "@OUT"],
    "check": ["mge-profile", "check", "@IN"],
}


@pytest.fixture
def fill_in(small_model, tmp_path):
    (tmp_path / "key").write_bytes(bytes(range(32)))
    (tmp_path / "key").chmod(0o600)
    words = {"@MODEL": str(small_model), "@KEY": f"{tmp_path}/key", "@OUT": f"{tmp_path}/out"}

    def fill(command, **more):
        filled = []
        for word in command:
            for name, value in {**words, **more}.items():
                word = word.replace(name, value)
            filled.append(word)
        return filled

    return fill


def files_of(kind, folder):
    """A path of that kind."""
    path = folder / kind
    if kind == "folder":
        path.mkdir()
    elif kind == "empty":
        path.write_bytes(b"")
    elif kind == "noise":
        path.write_bytes(bytes(i * i % 251 for i in range(5000)))
    elif kind == "text":
        path.write_text("hello\n" * 20)
    elif kind == "zeros":
        path.write_bytes(bytes(5000))
    elif kind == "device":
        return "/dev/null"
    elif kind == "long_name":
        return str(folder / ("n" * 300))
    elif kind == "below_a_file":
        (folder / "file").write_text("x")
        return str(folder / "file/x")
    return str(path)


KINDS = ["missing", "folder", "empty", "noise", "text", "zeros", "device", "long_name"]
KINDS += ["below_a_file"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("reader", READERS)
def test_unreadable_files(run_tool, fill_in, tmp_path, reader, kind):
    command = fill_in(READERS[reader], **{"@IN.npy": "@IN.npy"})
    path = files_of(kind, tmp_path)
    if reader == "input":
        # By its name it is an array.
        if kind in ("device", "long_name", "below_a_file"):
            pytest.skip("has no such name")
        if kind != "missing":
            os.rename(path, path + ".npy")
    tool, *arguments = fill_in(command, **{"@IN": path})
    before = sorted(os.listdir(tmp_path))
    ran = run_tool(tool, *arguments, env={"MGE_LOG": ""})
    assert ran.code in (USAGE, BAD_FILE, CRYPTO), ran.err
    lines = [
        line for line in ran.err.splitlines() if not line.startswith(("=== ", "mge: warning:"))
    ]
    assert len(lines) == 1 and lines[0].startswith(f"{tool}: error: "), ran.err
    assert "report" in ran.report["error"]["message"] or len(lines[0]) < 1500
    if kind == "missing" and reader not in ("testcase",):
        assert "missing" in lines[0], "names the file"
    after = sorted(os.listdir(tmp_path))
    new = {f for f in after if f not in before} - {"report.json"}
    # A cache is made before the models are read.
    assert new <= {"out", "out-wal", "out-shm"}, new


OUTPUTS = [
    ["mge-dump", "convert", "@MODEL", "@TO"],
    ["mge-dump", "graph", "@MODEL", "@TO"],
    ["mge-dump", "pack", "@MODEL", "@TO"],
    ["mge-dump", "testcase", "@MODEL", "@TO", "--data", "#rand(0,1)"],
    ["mge-crypt", "encrypt", "@MODEL", "@TO", "--key-file", "@KEY"],
    ["mge-crypt", "keygen", "@TO"],
    ["load_and_run", "@MODEL", "--model-dump", "@TO"],
    ["load_and_run", "@MODEL", "--save-plan", "@TO"],
    ["load_and_run", "@MODEL", "--io-dump", "@TO"],
    ["load_and_run", "@MODEL", "--profile", "@TO"],
    ["load_and_run", "@MODEL", "--dump-outputs", "@TO"],
    ["load_and_run", "@MODEL", "--packed-model-dump", "@TO"],
    ["mge-fastrun-cache", "build", "@TO", "@MODEL", "--threads", "1"],
]


@pytest.mark.parametrize("to", ["/dev/full", "/proc/nonexistent/file", "@FOLDER", "@KEY/x"])
@pytest.mark.parametrize("command", OUTPUTS, ids=lambda c: f"{c[0]} {c[1]} {c[-2]}")
def test_unwritable_files(run_tool, fill_in, tmp_path, command, to):
    if command[0] == "mge-fastrun-cache" and to == "/dev/full":
        pytest.skip("SQLite would leave a journal in /dev")
    (tmp_path / "folder").mkdir()
    to = to.replace("@FOLDER", f"{tmp_path}/folder")
    tool, *arguments = fill_in(fill_in(command, **{"@TO": to}))
    ran = run_tool(tool, *arguments)
    assert ran.code in (USAGE, BAD_FILE), ran.err
    lines = [
        line for line in ran.err.splitlines() if not line.startswith(("=== ", "mge: warning:"))
    ]
    assert len(lines) == 1 and lines[0].startswith(f"{tool}: error: "), ran.err
    assert list((tmp_path / "folder").iterdir()) == []


@pytest.mark.parametrize("to", ["/dev/full", "/proc/nonexistent/r.json", "@FOLDER"])
@pytest.mark.parametrize("tool", TOOLS)
def test_unwritable_reports(run_tool, fill_in, tmp_path, tool, to):
    work = {
        "load_and_run": ["@MODEL"],
        "mge-dump": ["info", "@MODEL"],
        "mge-crypt": ["keygen", "@OUT"],
        "mge-fastrun-cache": ["build", "@OUT", "@MODEL", "--threads", "1"],
        "mge-profile": ["check", "/proc/nonexistent"],
    }
    ran = run_tool(tool, *fill_in(work[tool]), "--json", to.replace("@FOLDER", str(tmp_path)))
    assert ran.code == USAGE
    lines = [line for line in ran.err.splitlines() if not line.startswith("=== ")]
    assert len(lines) == 1 and lines[0].startswith(f"{tool}: error: "), ran.err


# Two outputs in one file


@pytest.mark.parametrize(
    "command",
    [
        ["load_and_run", "@MODEL", "--json", "@OUT", "--dump-outputs", "@OUT"],
        ["load_and_run", "@MODEL", "--profile", "@OUT", "--json=@OUT"],
        ["load_and_run", "@MODEL", "--save-plan", "@OUT", "--memory-timeline", "./@OUT"],
        ["load_and_run", "@MODEL", "--json", "@MODEL"],
        ["load_and_run", "@MODEL", "--profile", "@MODEL"],
        ["mge-crypt", "encrypt", "@MODEL", "@OUT", "--key-file", "@OUT"],
        ["mge-dump", "convert", "@MODEL", "@OUT", "--json", "@OUT"],
        ["mge-dump", "unpack", "@MODEL", "@OUT", "--info", "@OUT"],
        ["mge-dump", "info", "@MODEL", "--json", "@MODEL"],
        ["mge-crypt", "encrypt", "@MODEL", "@OUT", "--json", "@OUT"],
        ["mge-fastrun-cache", "export", "@MODEL", "@OUT", "--json", "@OUT"],
        ["mge-profile", "export", "@MODEL", "--html", "@OUT", "--csv", "@OUT"],
        ["load_and_run", "@MODEL", "--compare", "@OUT", "--dump-outputs", "@OUT"],
        ["load_and_run", "@MODEL", "--baseline", "@OUT", "--profile", "@OUT"],
        ["load_and_run", "@MODEL", "--compare", "@MODEL", "--json", "@MODEL"],
    ],
    ids=" ".join,
)
def test_two_outputs_in_one_file(run_tool, small_model, tmp_path, command):
    model = tmp_path / "model.mge"
    model.write_bytes(small_model.read_bytes())
    (tmp_path / "link").symlink_to("out.json")
    tool, *arguments = command
    # By another name of the same file, too.
    arguments = [a.replace("@MODEL", "model.mge").replace("@OUT", "out.json") for a in arguments]
    arguments[-1] = arguments[-1].replace("out.json", "link")
    ran = run_tool(tool, *arguments, cwd=tmp_path, json=False)
    assert ran.code == USAGE and ("both name" in ran.err or "overwrite" in ran.err), ran.err
    assert len(ran.err.splitlines()) == 1
    assert not (tmp_path / "out.json").exists()
    assert model.read_bytes() == small_model.read_bytes()


def test_outputs_may_share_a_device_file(run_tool, small_model):
    ran = run_tool(
        "load_and_run", small_model, "--json", "/dev/null", "--profile", "/dev/null", "--iter", "1"
    )
    assert ran.code == OK, ran.err


# stdout


@pytest.mark.parametrize(
    "command",
    [
        ["load_and_run", "@MODEL"],
        ["load_and_run", "@MODEL", "--json", "-"],
        ["load_and_run", "@MODEL", "--io-dump-stdout"],
        ["mge-dump", "info", "@MODEL", "--all"],
        ["mge-dump", "graph", "@MODEL"],
        ["mge-dump", "doctor"],
        ["mge-crypt", "--help"],
        ["mge-profile", "show", "--help"],
        ["mge-fastrun-cache", "--version"],
    ],
    ids=" ".join,
)
def test_unwritable_stdout(tool_path, fill_in, tmp_path, command):
    tool, *arguments = fill_in(command)
    run = [str(tool_path(tool)), *arguments]
    env = {**os.environ, "XDG_CACHE_HOME": str(tmp_path)}
    with open("/dev/full", "w") as full:
        ran = subprocess.run(run, stdout=full, stderr=subprocess.PIPE, text=True, env=env)
    assert ran.returncode == USAGE and "stdout cannot be written" in ran.stderr, ran.stderr
    # A reader that stops early.
    read, write = os.pipe()
    os.close(read)
    ran = subprocess.run(run, stdout=write, stderr=subprocess.PIPE, text=True, env=env)
    os.close(write)
    assert ran.returncode == 0 and "error" not in ran.stderr, ran.stderr
    # None at all: what is printed goes into no other file.
    ran = subprocess.run(
        ["bash", "-c", '"$@" >&-', "-", *run], stderr=subprocess.PIPE, text=True, env=env
    )
    assert ran.returncode == USAGE and ran.stderr.count("stdout is closed") == 1, ran.stderr


def test_report_is_complete_when_the_reader_disconnects(tool_path, small_model, tmp_path):
    arguments = [tool_path("load_and_run"), small_model, "--verbose", "--json", tmp_path / "r.json"]
    command = ["bash", "-c", '"$@" | head -1', "-", *arguments]
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    assert '"latency_ms"' in (tmp_path / "r.json").read_text()


def test_a_closed_stdout_spoils_no_file(tool_path, run_tool, small_model, tmp_path):
    arguments = [tool_path("mge-dump"), "convert", small_model, tmp_path / "a.mge"]
    subprocess.run(["bash", "-c", '"$@" >&- 2>&- <&-', "-", *arguments], check=True)
    assert run_tool("mge-dump", "convert", small_model, tmp_path / "b.mge").code == 0
    assert (tmp_path / "a.mge").read_bytes() == (tmp_path / "b.mge").read_bytes()


# Surroundings


def test_without_home(run_tool, tool_path, small_model, tmp_path):
    bare = {"PATH": "/usr/bin:/bin"}
    for command in (
        ["load_and_run", small_model, "--iter", "1"],
        ["mge-dump", "doctor"],
        ["mge-fastrun-cache", "--help"],
    ):
        ran = subprocess.run(
            [tool_path(command[0]), *command[1:]], env=bare, capture_output=True, text=True
        )
        assert ran.returncode == 0, ran.stderr


def test_a_cache_folder_that_cannot_be_made(run_tool, small_model, tmp_path):
    (tmp_path / "file").write_text("no folder")
    ran = run_tool(
        "load_and_run", small_model, "--fast-run", env={"XDG_CACHE_HOME": str(tmp_path / "file")}
    )
    assert ran.code == 0 and "going on without it" in ran.err
    assert ran.err.count("warning") == 1


def test_names_that_are_not_utf8(tool_path, small_model, tmp_path):
    name = os.fsencode(tmp_path) + b"/m\xf6del \xff'\n.mge"
    with open(name, "wb") as file:
        file.write(small_model.read_bytes())
    report = tmp_path / "r.json"
    for tool, *arguments in (
        ["load_and_run", name, "--iter", "1"],
        ["mge-dump", "info", name],
        ["mge-dump", "convert", name, name + b".again"],
        ["mge-fastrun-cache", "build", name + b".db", name, "--threads", "1"],
    ):
        ran = subprocess.run(
            [tool_path(tool), *arguments, "--json", report], capture_output=True, check=False
        )
        assert ran.returncode == 0, ran.stderr
        assert "del" in report.read_text(encoding="utf-8")
    ran = subprocess.run([tool_path("mge-dump"), "info", name + b"none"], capture_output=True)
    assert ran.returncode == USAGE


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_leaves_nothing_half_done(tool_path, small_model, tmp_path, number):
    out = tmp_path / "out"
    out.mkdir()
    command = [tool_path("load_and_run"), small_model, "--duration", "3600"]
    command += ["--json", out / "r.json", "--model-dump", out / "m.mge"]
    running = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # Jobs in the background of a shell ignore interrupts, and so do their children.
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),
    )
    time.sleep(0.7)
    running.send_signal(number)
    assert running.wait(timeout=600) == -number
    assert list(out.iterdir()) == []


@pytest.mark.parametrize("setting", ["MGE_THREADS=0", "MGE_THREADS=1e1", "MGE_ISA=pdp11"])
@pytest.mark.parametrize(
    "model", ["megengine/attention.v2.mge", "onnx/torch_unet_ts.onnx"], ids=["mgb", "onnx"]
)
def test_invalid_variable_is_not_a_model_error(run_tool, setting, model):
    name, value = setting.split("=")
    for command in (["mge-dump", "info"], ["load_and_run"]):
        ran = run_tool(*command, DATA / model, env={name: value})
        assert ran.code == USAGE and ran.report["error"]["message"].startswith(f"[{name}]"), ran.err


# The command line


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize(
    "arguments", [["--no-such-flag"], ["no-such-command", "x", "y", "z", "w"], ["--"]]
)
def test_wrong_command_lines(run_tool, tool, arguments):
    ran = run_tool(tool, *arguments, json=False)
    assert ran.code == USAGE, ran.err
    assert len(ran.err.splitlines()) == 1 and ran.err.startswith(f"{tool}: error: ")


@pytest.mark.parametrize("tool", [tool for tool in TOOLS if tool != "load_and_run"])
def test_a_file_without_a_command_lists_the_commands(run_tool, tool, tmp_path):
    file = tmp_path / "some.file"
    file.touch()
    ran = run_tool(tool, file, json=False)
    assert ran.code == USAGE
    assert f"no command comes before the file '{file}'; give one of " in ran.err
    assert run_tool(tool, "--quiet", json=False).err.endswith(ran.err.partition("; ")[2])
