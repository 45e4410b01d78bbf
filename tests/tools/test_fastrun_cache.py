# SPDX-License-Identifier: Apache-2.0
"""mge-fastrun-cache, end to end."""

import fcntl
import json
import os
import pty
import re
import shutil
import signal
import sqlite3
import struct
import subprocess
import tempfile
import termios
import time
from pathlib import Path

import pytest

TOOL = "mge-fastrun-cache"


@pytest.fixture
def cache(run_tool, small_model, tmp_path):
    path = tmp_path / "cache.sqlite"
    assert run_tool(TOOL, "build", path, small_model, "--threads", "1").code == 0
    return path


def change(path, statement):
    with sqlite3.connect(path) as db:
        db.execute(statement)


def test_build_measures_once(run_tool, small_model, cache):
    first = run_tool(TOOL, "list", cache).result
    assert first["problems"] and first["rows"] >= len(first["problems"])
    done = run_tool(TOOL, "build", cache, small_model, "--batch", "2,5", "--threads", "1")
    same, other = done.result["runs"]
    assert same["batch"] == 2 and same["measured"] == 0 and same["from_cache"] == same["steps"]
    assert other["measured"] > 0


def test_killed_build_resumes(tool_path, run_tool, small_model, tmp_path):
    path = tmp_path / "killed.sqlite"
    batches = ",".join(str(n) for n in range(1, 1500))
    command = [tool_path(TOOL), "build", path, small_model, "--threads", "1", "--batch", batches]
    running = subprocess.Popen(command, stdout=subprocess.DEVNULL)

    def has_rows():
        listed = run_tool(TOOL, "list", path) if path.exists() else None
        return listed and listed.code == 0 and listed.result["problems"]

    while not has_rows():
        time.sleep(0.001)
    running.send_signal(signal.SIGKILL)
    assert running.wait() != 0, "the build ended before it was killed"
    assert run_tool(TOOL, "verify", path).code == 0
    kept = {p["problem"]: p["measured_at"] for p in run_tool(TOOL, "list", path).result["problems"]}
    assert kept
    time.sleep(1.1)  # a row that is measured again has a later second
    assert (
        run_tool(TOOL, "build", path, small_model, "--threads", "1", "--batch", batches).code == 0
    )
    after = {
        p["problem"]: p["measured_at"] for p in run_tool(TOOL, "list", path).result["problems"]
    }
    assert len(after) > len(kept)
    assert {key: after[key] for key in kept} == kept


def test_build_reports_own_measurements(run_tool, small_model, cache, tmp_path):
    """Layouts are compared before the steps choose: their measurements are of this run, too."""
    fresh = tmp_path / "fresh.sqlite"
    for found, known in (("measured", "from_cache"), ("from_cache", "measured")):
        run = run_tool(TOOL, "build", fresh, small_model, "--threads", "1").result["runs"][0]
        assert run[found] == run["steps"] and run[known] == 0
    report = tmp_path / "second.sqlite"
    ran = run_tool("load_and_run", small_model, "--fast-run", "--fast-run-algo-policy", report)
    assert {step["source"] for step in ran.result["algorithms"]} == {"measured"}


def test_doubtful_rows(run_tool, small_model, cache, tmp_path):
    """Doubtful times are reported, kept, used, and measured again when due."""
    rows = run_tool(TOOL, "show", cache).result["rows"]
    assert all(row["doubts"] >= 0 for row in rows)

    def doubt(row):
        row["doubts"] = 2

    doubted = rewritten(run_tool, cache, tmp_path, doubt)
    shown = run_tool(TOOL, "show", doubted)
    assert {row["doubts"] for row in shown.result["rows"]} == {2} and "doubtful" in shown.out
    assert {p["doubts"] for p in run_tool(TOOL, "list", doubted).result["problems"]} == {2}
    used = ("--fast-run-algo-policy", doubted, "--threads", "1")
    ran = run_tool("load_and_run", small_model, "--require-cache", *used)
    assert ran.code == 0 and all(step["doubtful"] for step in ran.result["algorithms"])
    run = run_tool(TOOL, "build", doubted, small_model, "--threads", "1").result["runs"][0]
    assert run["from_cache"] == run["doubtful"] == run["steps"], "they are some minutes old"
    before = len(rows)
    assert len(run_tool(TOOL, "prune", cache, "--doubtful", "--dry-run").result["removed"]) == sum(
        row["doubts"] > 0 for row in rows
    )
    assert len(run_tool(TOOL, "prune", doubted, "--doubtful").result["removed"]) == before


def test_a_row_that_an_older_version_exported_is_doubted(run_tool, cache, tmp_path):
    def forget(row):
        del row["doubts"]

    path = rewritten(run_tool, cache, tmp_path, forget)
    assert {row["doubts"] for row in run_tool(TOOL, "show", path).result["rows"]} == {1}


def as_unprivileged(tool_path, name, *arguments):
    """Run a tool as a user who may read, but not write."""

    def become():
        if os.getuid() == 0:
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)

    return subprocess.run(
        [str(tool_path(name)), *map(str, arguments)],
        capture_output=True,
        text=True,
        preexec_fn=become,
        env={"PATH": "/usr/bin:/bin", "HOME": "/proc/nonexistent"},
        check=False,
    )


def test_a_cache_that_cannot_be_written_is_read(tool_path, run_tool, small_model):
    try:
        as_unprivileged(tool_path, TOOL, "--version")
    except (PermissionError, subprocess.SubprocessError):
        pytest.skip("the build tree is closed to other users, or there is no user 'nobody'")
    folder = Path(tempfile.mkdtemp(prefix="mge_shared_"))  # pytest's own folders are private
    try:
        cache, model = folder / "cache.sqlite", folder / "model.mge"
        shutil.copy(small_model, model)
        assert run_tool(TOOL, "build", cache, model, "--threads", "1").code == 0
        for path, mode in ((cache, 0o444), (model, 0o444), (folder, 0o555)):
            path.chmod(mode)
        one = ("--threads", "1")
        for command in (
            (TOOL, "list", cache),
            (TOOL, "show", cache),
            (TOOL, "verify", cache),
            (TOOL, "explain", cache, model, *one),
            (TOOL, "export", cache, "-"),
            (TOOL, "prune", cache, "--here", "--dry-run"),
            ("load_and_run", model, "--fast-run-algo-policy", cache, "--iter", "1", *one),
            ("load_and_run", model, "--require-cache", "--fast-run-algo-policy", cache, *one),
        ):
            done = as_unprivileged(tool_path, *command)
            assert done.returncode == 0 and "warning" not in done.stderr, (command, done.stderr)
        tuned = as_unprivileged(
            tool_path, "load_and_run", model, "--fast-run", "--fast-run-algo-policy", cache, *one
        )
        assert tuned.returncode == 0 and tuned.stderr.count("is not kept") == 1
        for command in ((TOOL, "build", cache, model), (TOOL, "prune", cache, "--here")):
            done = as_unprivileged(tool_path, *command)
            assert done.returncode == 2 and str(cache) in done.stderr
        assert sorted(path.name for path in folder.iterdir()) == ["cache.sqlite", "model.mge"]
    finally:
        folder.chmod(0o755)
        shutil.rmtree(folder)


def test_pipe_is_not_a_cache(run_tool, small_model, tmp_path):
    pipe = tmp_path / "pipe.sqlite"
    os.mkfifo(pipe)
    for arguments in (
        ("list", pipe),
        ("show", pipe),
        ("verify", pipe),
        ("explain", pipe, small_model),
        ("export", pipe, "-"),
        ("build", pipe, small_model),
        ("prune", pipe, "--here"),
        ("merge", tmp_path / "out.sqlite", pipe),
        ("merge", pipe, pipe),
    ):
        done = run_tool(TOOL, *arguments)
        assert done.code == 2 and "pipe" in done.err, (arguments, done.err)
    done = run_tool("load_and_run", small_model, "--fast-run-algo-policy", pipe)
    assert done.code in (0, 2) and "pipe" in done.err


def test_show_and_filters(run_tool, cache):
    everything = run_tool(TOOL, "show", cache).result["rows"]
    assert {"machine", "problem", "algorithm", "milliseconds", "workspace", "attributes"} <= set(
        everything[0]
    )
    name = everything[0]["algorithm"]
    pattern = "^" + re.sub(r"\W", ".", name) + "$"
    some = run_tool(TOOL, "show", cache, "--algorithm", pattern, "--here").result["rows"]
    assert some and all(row["algorithm"] == name for row in some)
    assert run_tool(TOOL, "show", cache, "--problem", "no such operator").result["rows"] == []
    assert run_tool(TOOL, "show", cache, "--machine", "no such machine").result["rows"] == []
    wrong = run_tool(TOOL, "list", cache, "--problem", "(")
    assert wrong.code == 2 and "--problem" in wrong.err


def reasons(run_tool, cache, model, *arguments):
    run = run_tool(TOOL, "explain", cache, model, *arguments).result["runs"][0]
    assert run["hits"] + len(run["misses"]) == run["lookups"]
    return {miss["reason"] for miss in run["misses"]}


def test_explain_names_the_reason(run_tool, small_model, cache, tmp_path):
    assert reasons(run_tool, cache, small_model, "--threads", "1") == set()
    assert reasons(run_tool, cache, small_model, "--threads", "2") == {"thread count"}
    assert reasons(run_tool, cache, small_model, "--threads", "1", "--batch", "7") == {"shape"}
    for statement, reason in {
        "UPDATE measurement SET milliseconds = milliseconds + 1": "damaged",
        "DELETE FROM measurement": "absent",
    }.items():
        copy = tmp_path / "copy.sqlite"
        shutil.copy(cache, copy)
        change(copy, statement)
        assert reasons(run_tool, copy, small_model, "--threads", "1") == {reason}


def rewritten(run_tool, cache, tmp_path, change_row):
    """A cache whose rows went through export, a change and import."""
    exported = tmp_path / "rows.json"
    assert run_tool(TOOL, "export", cache, exported).code == 0
    content = json.loads(exported.read_text())
    for row in content["rows"]:
        change_row(row)
    exported.write_text(json.dumps(content))
    path = tmp_path / "rewritten.sqlite"
    path.unlink(missing_ok=True)
    done = run_tool(TOOL, "import", path, exported)
    assert done.code == 0 and done.result["changed"] == len(content["rows"])
    return path


def test_explain_prints_each_fact_once(run_tool, small_model, cache):
    arguments = (TOOL, "explain", cache, small_model, "--batch", "3", "--threads", "1")
    done = run_tool(*arguments)
    assert done.out.startswith("batch 3, 1 thread: 0 of ")
    miss = done.result["runs"][0]["misses"][0]
    assert miss["detail"] in done.out
    assert miss["problem"] not in done.out and miss["nearest"]["problem"] not in done.out
    output = run_tool(*arguments, "--verbose").out
    assert miss["problem"] in output and miss["nearest"]["problem"] in output


def test_build_shows_its_progress_on_a_terminal(tool_path, small_model, tmp_path):
    """Before its end, and with the table on lines of its own."""
    batches = ",".join(str(n) for n in range(1, 1500))
    options = ["--threads=1", "--batch", batches]
    command = [tool_path(TOOL), "build", tmp_path / "c.sqlite", small_model, *options]
    pid, terminal = pty.fork()
    if pid == 0:
        os.execv(command[0], command)
    phases = b"comparing layouts|measuring algorithms|choosing algorithms"
    shown, drawn = b"", re.compile(rb"small\.mge \(\d+ of 1499\): (?:" + phases + rb") \d+/\d+ ")
    deadline = time.monotonic() + 600
    try:
        while not drawn.search(shown) and time.monotonic() < deadline:
            try:
                shown += os.read(terminal, 10000)
            except OSError:  # it has ended
                break
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(terminal)
    assert drawn.search(shown), shown[-300:]


def test_texts_fit_the_terminal(tool_path, cache, small_model):
    """Tables and all other lines, but for words that are longer than a line."""

    def shown(*arguments, width=60):
        primary, secondary = pty.openpty()
        fcntl.ioctl(secondary, termios.TIOCSWINSZ, struct.pack("HHHH", 24, width, 0, 0))
        running = subprocess.Popen([tool_path(TOOL), *arguments], stdout=secondary)
        os.close(secondary)
        text = b""
        while True:
            try:
                text += os.read(primary, 10000)
            except OSError:
                break
        os.close(primary)
        assert running.wait() == 0
        return text.decode().replace("\r\n", "\n").splitlines()

    def is_fitting(line):
        line = re.sub(r"\x1b\[[0-9;]*m", "", line)
        return len(line) <= 60 or " " not in line.strip()

    commands = [
        ("list", cache),
        ("show", cache),
        ("explain", cache, small_model, "--batch=5", "--verbose"),
    ]
    for command in commands:
        assert [line for line in shown(*command) if not is_fitting(line)] == [], command
        assert max(map(len, shown(*command, "--wide"))) > 60, command
    # Names and times that were measured may fit into 60 columns.
    assert any(line.startswith("(hidden") for line in shown(*commands[0], width=30))


def test_explain_names_other_machines(run_tool, small_model, cache, tmp_path):
    def other_processor(row):
        row["machine"] = "ZX81 |" + row["machine"].split("|", 1)[1]

    def other_library(row):
        row["machine"] = row["machine"].replace("oneDNN ", "oneDNN 9")

    def other_attributes(row):
        row["attributes"] = []

    def much_workspace(row):
        row["workspace"] = 1 << 40

    arguments = (small_model, "--threads", "1")
    path = rewritten(run_tool, cache, tmp_path, other_processor)
    assert reasons(run_tool, path, *arguments) == {"other CPU or ISA"}
    path = rewritten(run_tool, cache, tmp_path, other_library)
    assert reasons(run_tool, path, *arguments) == {"library version"}
    path = rewritten(run_tool, cache, tmp_path, other_attributes)
    assert reasons(run_tool, path, *arguments, "--reproducible") == {"attribute"}
    path = rewritten(run_tool, cache, tmp_path, much_workspace)
    assert reasons(run_tool, path, *arguments, "--workspace-limit", "1000000") == {
        "workspace limit"
    }


def test_verify_and_prune_damaged(run_tool, cache):
    assert run_tool(TOOL, "verify", cache).result["intact"]
    change(cache, "UPDATE measurement SET workspace = workspace + 64")
    damaged = run_tool(TOOL, "verify", cache)
    assert damaged.code == 5 and damaged.result["faults"]
    assert run_tool(TOOL, "prune", cache, "--damaged", "--dry-run").result["rows"] > 0
    assert run_tool(TOOL, "prune", cache, "--damaged").result["rows"] == 0
    assert run_tool(TOOL, "verify", cache).code == 0


def test_prune_criteria(run_tool, cache):
    before = run_tool(TOOL, "list", cache).result
    assert run_tool(TOOL, "prune", cache).code == 2
    assert run_tool(TOOL, "prune", cache, "--older-than", "1").result["removed"] == []
    assert run_tool(TOOL, "prune", cache, "--other-machines").result["removed"] == []
    fastest = run_tool(TOOL, "prune", cache, "--keep-fastest", "1").result
    assert fastest["rows"] == len(before["problems"])
    assert run_tool(TOOL, "prune", cache, "--problem", ".").result["rows"] == 0


def test_the_fastest_kept_is_that_of_all_rows(run_tool, tmp_path):
    source, path = tmp_path / "rows.json", tmp_path / "imported.sqlite"
    row = {"machine": "m", "problem": "p", "workspace": 0, "attributes": []}
    now = int(time.time())
    rows = [
        row | {"algorithm": name, "milliseconds": milliseconds, "measured_at": second}
        for name, milliseconds, second in (("new", 1, now), ("old", 2, 1), ("older", 3, 0))
    ]
    source.write_text(json.dumps({"format": "mge-fastrun-cache", "version": 1, "rows": rows}))
    assert run_tool(TOOL, "import", path, source).code == 0
    flags = ("--older-than", "30", "--keep-fastest", "1", "--dry-run")
    removed = run_tool(TOOL, "prune", path, *flags).result["removed"]
    assert [row["algorithm"] for row in removed] == ["old", "older"]


def test_merge(run_tool, small_model, cache, tmp_path):
    other, out = tmp_path / "other.sqlite", tmp_path / "out.sqlite"
    assert run_tool(TOOL, "build", other, small_model, "--threads", "1", "--batch", "9").code == 0
    rows = [run_tool(TOOL, "list", path).result["rows"] for path in (cache, other)]
    merged = run_tool(TOOL, "merge", out, cache, other).result
    assert merged["rows"] == merged["changed"] == sum(rows)
    assert run_tool(TOOL, "merge", out, cache).result["changed"] == 0
    missing = run_tool(TOOL, "merge", out, cache, tmp_path / "missing.sqlite")
    assert missing.code == 2 and "missing.sqlite" in missing.err


def test_invalid_cache_files(run_tool, small_model, tmp_path):
    junk = tmp_path / "junk.sqlite"
    junk.write_bytes(b"x" * 8192)
    for arguments in (["list"], ["show"], ["verify"], ["explain"], ["export"]):
        extra = {"explain": [small_model], "export": ["-"]}.get(arguments[0], [])
        done = run_tool(TOOL, *arguments, junk, *extra)
        assert done.code == 5 and "junk.sqlite" in done.err, arguments
    assert junk.read_bytes() == b"x" * 8192
    assert run_tool(TOOL, "list", tmp_path / "none.sqlite").code == 2


def block(data):
    return struct.pack("<I", len(data)) + data


def megengine_cache():
    """Two algorithms of one convolution, by the description of the format."""

    def algorithm(name, seconds, workspace):
        blob = struct.pack("<IIII", 2, 7, 3, len(name)) + b"abc" + name
        return block(blob) + block(f":1;{seconds};{workspace}:".encode() + b"\0")

    value = struct.pack("<I", 2) + algorithm(b"FAST", 1e-3, 64) + algorithm(b"SLOW", 2e-3, 0)
    entries = (
        struct.pack("<I", 1) + block(b"1,3,8,8;Float32|4,3,3,3;Float32|\x01\x02") + block(value)
    )
    return struct.pack("<I", 1) + block(b"profile:plat=cpu:ConvBiasForwardv5x") + entries


def test_import_of_megengines_cache(run_tool, tmp_path):
    source, path = tmp_path / "cache.bin", tmp_path / "imported.sqlite"
    source.write_bytes(megengine_cache())
    assert run_tool(TOOL, "import", path, source).result["changed"] == 2
    rows = run_tool(TOOL, "show", path).result["rows"]
    assert [(r["algorithm"], r["milliseconds"], r["workspace"]) for r in rows] == [
        ("FAST", 1.0, 64),
        ("SLOW", 2.0, 0),
    ]
    assert rows[0]["machine"] == "MegEngine | plat=cpu"
    assert rows[0]["problem"].startswith("ConvBiasForwardv5x(0102) 1,3,8,8;Float32|")


def test_every_cut_of_a_cache_of_megengine_is_refused(run_tool, tmp_path):
    whole = megengine_cache()
    source, path = tmp_path / "cut.bin", tmp_path / "imported.sqlite"
    for size in range(0, len(whole), 7):
        source.write_bytes(whole[:size])
        done = run_tool(TOOL, "import", path, source)
        assert done.code == 5 and "cut.bin" in done.err, size
    source.write_bytes(whole + b"x")
    assert run_tool(TOOL, "import", path, source).code == 5


@pytest.mark.parametrize(("second", "date"), [(-(2**63), "-"), (0, "-"), (951782400, "2000-02-29")])
def test_invalid_calendar_time(run_tool, tmp_path, second, date):
    source, path = tmp_path / "rows.json", tmp_path / "imported.sqlite"
    row = {"machine": "m", "problem": "p", "algorithm": "a", "milliseconds": 1, "workspace": 0}
    rows = [row | {"attributes": [], "measured_at": second}]
    source.write_text(json.dumps({"format": "mge-fastrun-cache", "version": 1, "rows": rows}))
    assert run_tool(TOOL, "import", path, source).code == 0
    head, line = run_tool(TOOL, "list", path).out.splitlines()[:2]
    assert line[head.index("measured") :].split()[0] == date


def test_import_refuses_foreign_json(run_tool, tmp_path):
    source, path = tmp_path / "rows.json", tmp_path / "imported.sqlite"
    row = {"machine": "m", "problem": "p", "algorithm": "a", "milliseconds": 1, "workspace": 0}
    row |= {"attributes": [], "measured_at": 1}
    for content in (
        "{",
        "{}",
        '{"format": "mge-fastrun-cache", "version": 9, "rows": []}',
        json.dumps({"format": "mge-fastrun-cache", "version": 1, "rows": [{"machine": "m"}]}),
        json.dumps(
            {"format": "mge-fastrun-cache", "version": 1, "rows": [row | {"milliseconds": -1}]}
        ),
        json.dumps(
            {"format": "mge-fastrun-cache", "version": 1, "rows": [row | {"workspace": -1}]}
        ),
        json.dumps(
            {"format": "mge-fastrun-cache", "version": 1, "rows": [row | {"algorithm": ""}]}
        ),
    ):
        source.write_text(content)
        done = run_tool(TOOL, "import", path, source)
        assert done.code == 5 and "rows.json" in done.err, content


@pytest.mark.parametrize("flags", [(), ("--fast-run",), ("--fast-run", "--lite")], ids=" ".join)
def test_load_and_run_continues_with_a_damaged_cache_only(run_tool, small_model, cache, flags):
    """A file that the user names and that is no cache is an error, for Lite, too."""
    content = cache.read_bytes()
    for damaged, code in ((content[:100] + b"\xff" * 4000 + content[4100:], 0), (b"x" * 8192, 5)):
        cache.write_bytes(damaged)
        done = run_tool("load_and_run", small_model, *flags, "--fast-run-algo-policy", cache)
        assert done.code == code, done.err
        assert done.err.count("cache.sqlite'") == 1, done.err
        assert cache.read_bytes() == damaged


def test_a_list_in_a_file_is_120_columns_wide(run_tool, cache):
    lines = run_tool(TOOL, "list", cache).out.splitlines()
    assert 60 < max(map(len, lines)) <= 120
    wide = run_tool(TOOL, "list", cache, "--wide").out.splitlines()
    rows = run_tool(TOOL, "list", cache).result["problems"]
    assert max(map(len, wide)) > 120 and len(wide) == len(rows) + 2
