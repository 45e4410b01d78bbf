# SPDX-License-Identifier: Apache-2.0
"""Sweeps of load_and_run: several models and values in one call, one row per run."""

import csv
import io
import json
import sqlite3
import subprocess

import numpy as np
import pytest

FIELDS = {
    *("date", "version", "build_commit", "cpu", "isa", "cpus", "device", "model", "test", "batch"),
    *("threads", "streams", "precision", "runs", "load_ms", "compile_ms", "first_run_ms"),
    *("min_ms", "mean_ms", "p50_ms", "p90_ms", "p99_ms", "max_ms", "throughput_per_s"),
    *("joules_per_run", "memory_bytes", "error"),
}


@pytest.fixture(scope="module")
def other_model(write_model):
    inputs = {"a": np.ones((2, 5), "float32")}
    return write_model("other", lambda a: a * 3 + 1, inputs, "c")


def rows_of(text):
    return [json.loads(line) for line in text.splitlines()]


def test_every_combination_is_a_row(run_tool, small_model, other_model):
    flags = ["--threads", "1,2", "--batch", "1-4*2", "--streams", "1,2", "--precision=strict,fast"]
    ran = run_tool("load_and_run", small_model, other_model, *flags, "--iter=2", "--format=jsonl")
    assert ran.code == 0, ran.err
    rows = rows_of(ran.out)
    keys = ("model", "precision", "threads", "streams", "batch")
    models = [str(small_model), str(other_model)]
    expected = [
        (model, precision, threads, streams, batch)
        for model in models
        for precision in ("strict", "fast")
        for threads in (1, 2)
        for streams in (1, 2)
        for batch in (1, 2, 4)
    ]
    assert [tuple(row[key] for key in keys) for row in rows] == expected
    for row in rows:
        assert set(row) == FIELDS
        assert row["runs"] == 2 * row["streams"] and row["error"] is None
        assert 0 < row["min_ms"] <= row["p50_ms"] <= row["max_ms"]
    assert ran.result["sweep"]["rows"] == rows and ran.result["sweep"]["failed"] == 0


def test_rows_hold_machine_and_commit(run_tool, tool_path, small_model):
    ran = run_tool("load_and_run", small_model, "--iter=1", "--format=jsonl")
    (row,) = rows_of(ran.out)
    shown = subprocess.run([tool_path("load_and_run"), "--version"], capture_output=True, text=True)
    assert row["build_commit"] in shown.stdout and row["version"] in shown.stdout
    host = ran.report["host"]
    assert (row["cpu"], row["isa"]) == (host["cpu"], host["isa"])
    assert row["cpus"] >= 1 and row["date"].endswith("Z")


def test_csv_and_sql_hold_the_same(run_tool, small_model):
    flags = ["--batch=1,3", "--threads=1,2", "--iter=2"]
    table = run_tool("load_and_run", small_model, *flags, "--format=csv")
    rows = list(csv.DictReader(io.StringIO(table.out)))
    assert set(rows[0]) == FIELDS and len(rows) == 4
    assert [(row["threads"], row["batch"]) for row in rows] == [
        *(("1", "1"), ("1", "3"), ("2", "1"), ("2", "3"))
    ]
    script = run_tool("load_and_run", small_model, *flags, "--format=sql", "--quiet")
    database = sqlite3.connect(":memory:")
    database.executescript(script.out)
    database.executescript(script.out)  # a second sweep is added to the table
    found = database.execute(
        "SELECT threads, batch, model, p50_ms > 0 FROM load_and_run"
    ).fetchall()
    once = [(t, b, str(small_model), 1) for t in (1, 2) for b in (1, 3)]
    assert found == once + once


def test_names_with_quotes_and_commas(run_tool, small_model, tmp_path):
    path = tmp_path / "a,'b\"|.mge"
    path.write_bytes(small_model.read_bytes())
    run = ["load_and_run", path, "--iter=1"]
    (row,) = csv.DictReader(io.StringIO(run_tool(*run, "--format=csv").out))
    assert row["model"] == str(path)
    database = sqlite3.connect(":memory:")
    database.executescript(run_tool(*run, "--format=sql").out)
    assert database.execute("SELECT model FROM load_and_run").fetchall() == [(str(path),)]
    assert "\\|" in run_tool(*run, "--format=md").out


def test_markdown_is_one_table(run_tool, small_model):
    ran = run_tool("load_and_run", small_model, "--batch=1,2", "--iter=1", "--format=md")
    lines = ran.out.splitlines()
    assert len(lines) == 4 and all(line.startswith("|") and line.endswith("|") for line in lines)
    bars = {line.replace("\\|", "").count("|") for line in lines}
    assert len(bars) == 1
    for heading in ("commit", "cpu", "model", "batch", "threads", "p50 ms", "samples/s"):
        assert f" {heading} " in lines[0]


def test_without_format_a_table_shows_what_differs(run_tool, small_model):
    ran = run_tool("load_and_run", small_model, "--threads=1,2", "--iter=1")
    assert ran.code == 0, ran.err
    machine, heading, *rows = ran.out.splitlines()
    assert ran.report["host"]["cpu"] in machine and "load_and_run" in machine
    assert heading.split()[0] == "threads" and [row.split()[0] for row in rows] == ["1", "2"]
    assert "=== finished" not in ran.err


def test_threads_do_not_carry_over(run_tool, small_model):
    """The default of two streams is half of the threads; that of the next run is not half of it."""
    flags = ["--streams=1,2,1", "--iter=1", "--format=jsonl"]
    rows = rows_of(run_tool("load_and_run", small_model, *flags, env={"MGE_THREADS": "4"}).out)
    assert [row["threads"] for row in rows] == [4, 2, 4]


def test_a_failure_is_in_its_row_and_the_others_run(run_tool, small_model, tmp_path):
    broken = tmp_path / "broken.mge"
    broken.write_bytes(b"no model at all")
    ran = run_tool("load_and_run", broken, small_model, "--iter=1", "--format=jsonl")
    assert ran.code == 5 and str(broken) in ran.report["error"]["message"]
    first, second = rows_of(ran.out)
    assert first["error"] and first["p50_ms"] is None
    assert second["error"] is None and second["p50_ms"] > 0
    assert ran.result["sweep"]["failed"] == 1


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--batch", "4-2"], "the range '4-2' is empty"),
        (["--batch", "1-4*1"], "does not end"),
        (["--batch", "0-4"], "out of range"),
        (["--batch", "1-4/2"], "is not a range"),
        (["--batch", "1-100000"], "more than 1024 numbers"),
        (["--threads", "1,2", "--profile", "p.json"], "[--profile] acts on one run"),
        (["--threads", "1,2", "--compare", "x.npz"], "[--compare] acts on one run"),
        (["--format", "md", "--dump-outputs", "x.npz"], "[--dump-outputs] acts on one run"),
        (["--threads", "1,2", "--reproducible"], "[--reproducible] acts on one run"),
        (["--format", "csv", "--percentile", "75"], "[--percentile] acts on one run"),
        (["--format", "csv", "--json", "-"], "cannot both go to stdout"),
        (["--format", "xml"], "is not one of md,csv,jsonl,sql"),
        (["--batch=1-1000", "--threads=1-100"], "the sweep has 100000 runs"),
        (["no_such_file.mge"], "no_such_file.mge"),
    ],
)
def test_misuse(run_tool, small_model, flags, message):
    ran = run_tool("load_and_run", small_model, *flags, json=False)
    assert ran.code == 2 and message in ran.err, ran.err
    assert len(ran.err.splitlines()) == 1
    assert ran.out == "" or "--json" in flags


def test_a_sweep_needs_a_model(run_tool):
    ran = run_tool("load_and_run", "--format=md", json=False)
    assert ran.code == 2 and "a model is missing" in ran.err


def test_a_missing_device_fails_every_row(run_tool, small_model):
    flags = ["--threads", "1,2", "--iter=1", "--require-device", "gpu7"]
    ran = run_tool("load_and_run", small_model, *flags)
    assert ran.code == 4, ran.err
    rows = ran.result["sweep"]["rows"]
    assert len(rows) == 2 and all("[--require-device]" in row["error"] for row in rows)
