# SPDX-License-Identifier: Apache-2.0
"""Effects of untrusted files on the tools: memory, output, and waits."""

import json
import os
import resource
import shlex
import sqlite3
import struct
import subprocess
import zipfile
import zlib

import numpy as np
import pytest

import megengine as mge
from megengine.jit import trace

USAGE, MODEL = 2, 5
GIB = 1 << 30


def limit_memory(memory, env):
    """Keyword arguments of a process that ends when it needs more."""
    if "MGE_SANITIZED" not in os.environ:
        return {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_AS, (memory, memory))}
    # The sanitizer maps terabytes, so it watches what is resident itself.
    limit = f"{os.environ.get('ASAN_OPTIONS', '')}:hard_rss_limit_mb={memory >> 20}"
    env["ASAN_OPTIONS"] = limit.removeprefix(":")
    return {}


@pytest.fixture
def run_small(tool_path):
    """Runs a tool with a limit of its memory."""

    def run(name, *args, memory=2 * GIB, **env):
        limit = limit_memory(memory, env)
        return subprocess.run(
            [str(tool_path(name)), *map(str, args)],
            capture_output=True,
            text=True,
            timeout=600,  # it hangs
            check=False,
            env={**os.environ, "MGE_THREADS": "1", **env},
            **limit,
        )

    return run


def npy_header(shape):
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode()


def write_zeros(path, name, head, size):
    """An archive whose one entry is `head` and zeros, compressed."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        with archive.open(name, "w", force_zip64=True) as entry:
            entry.write(head)
            while size > 0:
                entry.write(bytes(min(size, 1 << 24)))
                size -= 1 << 24


def test_an_entry_is_compared_with_its_header_before_it_is_unpacked(
    run_small, small_model, tmp_path
):
    write_zeros(tmp_path / "bomb.npz", "x.npy", npy_header((2, 3)), 3 * GIB)
    ran = run_small("load_and_run", small_model, "--input", tmp_path / "bomb.npz", memory=GIB)
    assert ran.returncode == MODEL and "its header requires 152" in ran.stderr


def test_unpacked_size_is_limited(run_small, small_model, tmp_path):
    count = 100_000_000
    write_zeros(tmp_path / "large.npz", "x.npy", npy_header((count,)), 4 * count)
    for flags, env in ((["--file-limit", "100MiB"], {}), ([], {"MGE_FILE_LIMIT": "100MiB"})):
        ran = run_small(
            "load_and_run",
            small_model,
            "--input",
            tmp_path / "large.npz",
            *flags,
            memory=GIB,
            **env,
        )
        assert ran.returncode == MODEL
        assert "requests 762.94 MiB of memory" in ran.stderr
        assert "100 MiB; --file-limit (MGE_FILE_LIMIT) raises that" in ran.stderr


def test_entries_are_limited_together(run_small, small_model, tmp_path):
    part = npy_header((1_000_000,)) + bytes(4_000_000)
    with zipfile.ZipFile(tmp_path / "many.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        for i in range(20):
            archive.writestr(f"a{i}.npy", part)
    archive = tmp_path / "many.npz"
    ran = run_small("load_and_run", small_model, "--input", archive, "--file-limit", "64MiB")
    assert ran.returncode == MODEL and "--file-limit" in ran.stderr


def png(width, height):
    def chunk(kind, data):
        body = kind + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    rows = zlib.compress(bytes(1000))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


def test_an_image_is_limited(run_small, small_model, tmp_path):
    (tmp_path / "large.png").write_bytes(png(60_000, 60_000))
    (tmp_path / "large.ppm").write_bytes(b"P6 900000 900000 255\n" + bytes(1000))
    for name in ("large.png", "large.ppm"):
        ran = run_small("load_and_run", small_model, "--input", f"x:{tmp_path / name}")
        assert ran.returncode == MODEL and "--file-limit" in ran.stderr, ran.stderr


def test_text_that_becomes_objects_is_limited(run_small, small_model, tmp_path):
    (tmp_path / "deep.json").write_text("[" + "[]," * 1_000_000 + "0]")
    (tmp_path / "flags").write_text("--quiet\n" * 100_000)
    limit = ("--file-limit", "16MiB")
    for flags in (
        ("--input", tmp_path / "deep.json"),
        ("--replay-plan", tmp_path / "deep.json"),
        ("--baseline", tmp_path / "deep.json"),
    ):
        ran = run_small("load_and_run", small_model, *flags, *limit)
        assert ran.returncode == MODEL and "--file-limit" in ran.stderr, ran.stderr
    ran = run_small("mge-profile", "show", tmp_path / "deep.json", "--file-limit", "4MiB")
    assert ran.returncode == MODEL and "--file-limit" in ran.stderr
    ran = run_small(
        "mge-dump", "info", small_model, "--flagfile", tmp_path / "flags", MGE_FILE_LIMIT="1M"
    )
    assert ran.returncode == MODEL and "MGE_FILE_LIMIT" in ran.stderr


def test_flag_files_that_name_each_other_many_times_end(run_small, small_model, tmp_path):
    for level in range(8):
        line = f"--flagfile={tmp_path}/{level + 1}\n" if level < 7 else "--quiet\n"
        (tmp_path / str(level)).write_text(line * 100)
    ran = run_small("mge-dump", "info", small_model, "--flagfile", tmp_path / "0")
    assert ran.returncode == MODEL and "--file-limit" in ran.stderr


def test_an_export_of_a_cache_is_limited(run_small, tmp_path):
    (tmp_path / "rows.json").write_text('{"rows": [' + "[]," * 1_000_000 + "0]}")
    ran = run_small(
        "mge-fastrun-cache",
        "import",
        tmp_path / "c.sqlite",
        tmp_path / "rows.json",
        "--file-limit",
        "8M",
    )
    assert ran.returncode == MODEL and "--file-limit" in ran.stderr


def test_cache_database_contains_only_tables(run_tool, small_model, run_small, tmp_path):
    """A view instead of the table could yield endless rows, a generated column endless values."""
    cache = tmp_path / "c.sqlite"
    assert run_tool("mge-fastrun-cache", "build", cache, small_model).code == 0
    columns = (
        "machine, problem, algorithm, milliseconds, workspace, attributes, measured_at, checksum"
    )
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)"
    attacks = (
        f"CREATE VIEW measurement AS {endless} SELECT 'm' AS machine, 'p' AS problem, i AS"
        " algorithm, 1.0 AS milliseconds, 0 AS workspace, 0 AS attributes, 0 AS measured_at,"
        " 0 AS checksum FROM n",
        "CREATE TABLE measurement (machine, problem, milliseconds, workspace, attributes,"
        " measured_at, checksum, algorithm GENERATED ALWAYS AS (hex(zeroblob(400000000))))",
    )
    for attack in attacks:
        database = sqlite3.connect(cache)
        (kind,) = database.execute(
            "SELECT type FROM sqlite_master WHERE name = 'measurement'"
        ).fetchone()
        database.execute(f"DROP {kind} measurement")
        database.execute(attack)
        if "TABLE" in attack:
            names = columns.replace("algorithm, ", "")
            row = "('m', 'p', 1.0, 0, 0, 0, 0)"
            database.execute(f"INSERT INTO measurement ({names}) VALUES {row}")
        database.commit()
        database.close()
        ran = run_small("mge-fastrun-cache", "list", cache, memory=GIB)
        assert ran.returncode in (USAGE, MODEL), ran.stderr
        ran = run_small(
            "load_and_run",
            small_model,
            "--fast-run",
            "--fast-run-algo-policy",
            cache,
            memory=2 * GIB,
        )
        assert ran.returncode in (0, USAGE, MODEL), ran.stderr


def test_wrong_limit_is_reported(run_tool, small_model):
    for given in ("0", "many", "-1"):
        assert run_tool("mge-dump", "info", small_model, f"--file-limit={given}").code == USAGE
    wrong = run_tool("mge-dump", "info", small_model, env={"MGE_FILE_LIMIT": "many"})
    assert wrong.code == USAGE and "[MGE_FILE_LIMIT] 'many' is not a size" in wrong.err


INPUTS = (
    ("load_and_run", "FILE"),
    ("load_and_run", "MODEL", "--replay-plan", "FILE"),
    ("load_and_run", "MODEL", "--baseline", "FILE"),
    ("load_and_run", "MODEL", "--input", "x:FILE.npy"),
    ("load_and_run", "MODEL", "--input", "FILE.npz"),
    ("load_and_run", "MODEL", "--input", "FILE.json"),
    ("load_and_run", "MODEL", "--compare", "FILE"),
    ("load_and_run", "MODEL", "--flagfile", "FILE"),
    ("mge-profile", "show", "FILE"),
    ("mge-profile", "diff", "FILE", "FILE"),
    ("mge-dump", "info", "FILE"),
    ("mge-dump", "iodiff", "FILE", "FILE"),
    ("mge-dump", "unpack", "FILE", "out"),
    ("mge-crypt", "info", "FILE"),
)


@pytest.mark.parametrize("command", INPUTS, ids=" ".join)
def test_pipe_without_writer_does_not_block(run_tool, small_model, tmp_path, command):
    name = next(word for word in command if "FILE" in word).split(":")[-1]
    os.mkfifo(tmp_path / name)
    args = [
        w.replace("FILE", f"{tmp_path}/FILE").replace("MODEL", str(small_model)) for w in command
    ]
    ran = run_tool(*args, cwd=tmp_path)
    assert ran.code == USAGE and "a pipe without a writer" in ran.err


@pytest.mark.parametrize(
    "command",
    [
        "load_and_run <(cat {model}) --iter 1",
        "load_and_run {model} --iter 1 --flagfile <(echo --quiet)",
        "load_and_run {model} --iter 1 --replay-plan <(cat {plan})",
        "mge-dump info <(cat {model})",
        "mge-profile show <(cat {profile})",
        "mge-profile diff <(cat {profile}) <(cat {profile})",
    ],
)
def test_files_may_be_pipes(tool_path, run_tool, small_model, tmp_path, command):
    flags = ("--iter", 1, "--save-plan", tmp_path / "plan", "--profile", tmp_path / "profile")
    assert run_tool("load_and_run", small_model, *flags).code == 0
    line = command.format(
        model=shlex.quote(str(small_model)),
        plan=shlex.quote(str(tmp_path / "plan")),
        profile=shlex.quote(str(tmp_path / "profile")),
    )
    tools = tool_path("load_and_run").parent
    ran = subprocess.run(
        ["bash", "-c", f"{shlex.quote(str(tools))}/{line}"],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr


def test_device_is_not_a_file(run_tool, small_model):
    for args in (("mge-profile", "show", "/dev/zero"), ("load_and_run", "/dev/zero")):
        ran = run_tool(*args)
        assert ran.code == USAGE and "not a regular file or a pipe" in ran.err


def test_a_new_key_replaces_nothing(run_tool, tmp_path):
    (tmp_path / "dangling").symlink_to(tmp_path / "elsewhere")
    ran = run_tool("mge-crypt", "keygen", tmp_path / "dangling")
    assert ran.code == USAGE and "--force" in ran.err
    assert not (tmp_path / "elsewhere").exists() and (tmp_path / "dangling").is_symlink()
    assert run_tool("mge-crypt", "keygen", tmp_path / "dangling", "--force").code == 0
    assert (tmp_path / "elsewhere").stat().st_mode & 0o777 == 0o600


@pytest.fixture(scope="module")
def odd_model(tmp_path_factory):
    """A model with two test cases, whose names contain terminal control codes."""
    folder = tmp_path_factory.mktemp("odd")
    traced = trace(symbolic=True, capture_as_const=True)(lambda x: mge.functional.exp(x) + 1)
    traced(mge.Tensor(np.ones((2, 3), "float32")))
    names = {"arg_names": ["x\x1b[2J\x9b31m"], "output_names": ["y\x1b]0;title\x07\u202e"]}
    np.save(folder / "x.npy", np.ones((2, 3), "float32"))
    traced.dump(str(folder / "odd.mge"), input_data=[str(folder / "x.npy")] * 2, **names)
    return folder / "odd.mge"


@pytest.mark.parametrize(
    "args",
    [
        ("mge-dump", "graph", "MODEL", "-", "--format", "text"),
        ("mge-dump", "graph", "MODEL", "-", "--format", "json"),
        ("mge-dump", "graph", "MODEL", "-", "--format", "dot"),
        ("mge-dump", "info", "MODEL"),
        ("load_and_run", "MODEL", "--iter", "1"),
        ("load_and_run", "MODEL", "--iter", "1", "--model-info"),
        ("load_and_run", "MODEL", "--iter", "1", "--verbose"),
        ("load_and_run", "MODEL", "--input", "nosuch:1"),
    ],
    ids=lambda args: " ".join(args),
)
def test_names_reach_no_terminal_raw(tool_path, odd_model, tmp_path, args):
    command = [str(odd_model) if word == "MODEL" else word for word in args]
    ran = subprocess.run(
        [str(tool_path(command[0])), *command[1:]], capture_output=True, timeout=600, check=False
    )
    text = (ran.stdout + ran.stderr).decode()
    controls = {*map(chr, range(32)), "\x7f"} - {"\n", "\t", "\r"}
    if "json" not in args and "dot" not in args:  # data for programs: UTF-8 as it is
        controls |= {"\x9b", "\u202e"}
    assert not set(text) & controls
    if "json" in args:
        json.loads(ran.stdout)


def test_names_in_csv_are_text(run_tool, tool_path, odd_model, tmp_path):
    assert run_tool("load_and_run", odd_model, "--iter", 1, "--profile", tmp_path / "p").code == 0
    ran = run_tool("mge-profile", "export", tmp_path / "p", "--csv", "-", json=False)
    assert ran.code == 0 and "\x1b" not in ran.out and "\x9b" not in ran.out


# Too large for an int, for an int64, for a double's whole numbers, and no whole number.
ODD_NUMBERS = [2**32 + 1, 2**63, 1e308, 1.5, -(2**40)]


@pytest.mark.parametrize("number", ODD_NUMBERS)
@pytest.mark.parametrize("name", ["threads", "level"])
def test_numbers_of_a_plan_are_not_cut(run_tool, small_model, tmp_path, name, number):
    plan = tmp_path / "plan.json"
    assert run_tool("load_and_run", small_model, "--save-plan", plan).code == 0
    content = json.loads(plan.read_text())
    content["programs"][0][name] = number
    plan.write_text(json.dumps(content))
    done = run_tool("load_and_run", small_model, "--replay-plan", plan)
    assert done.code == MODEL
    assert "is not a readable plan" in done.err


@pytest.mark.parametrize("number", [2**63, 1e308, 1.5])
@pytest.mark.parametrize("name", ["measured_at", "workspace", "doubts"])
def test_numbers_of_an_export_are_not_cut(run_tool, small_model, tmp_path, name, number):
    cache, rows = tmp_path / "cache.sqlite", tmp_path / "rows.json"
    flags = ("--fast-run", "--fast-run-algo-policy", cache)
    assert run_tool("load_and_run", small_model, *flags).code == 0
    assert run_tool("mge-fastrun-cache", "export", cache, rows).code == 0
    content = json.loads(rows.read_text())
    content["rows"][0][name] = number
    rows.write_text(json.dumps(content))
    done = run_tool("mge-fastrun-cache", "import", tmp_path / "other.sqlite", rows)
    assert done.code == MODEL
    assert "has another type" in done.err


@pytest.mark.skipif("MGE_SANITIZED" in os.environ, reason="frames of the sanitizer are larger")
def test_patterns_on_long_names(run_tool, small_model, tmp_path):
    """The matcher calls itself for each character."""
    long = "x" * 1_000_000
    onnx = pytest.importorskip("onnx")
    weight = onnx.numpy_helper.from_array(np.ones(3, np.float32), long)
    ports = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [3]) for name in "ay"]
    node = onnx.helper.make_node("Add", ["a", long], ["y"])
    graph = onnx.helper.make_graph([node], "g", ports[:1], ports[1:], [weight])
    model = tmp_path / "model.onnx"
    model.write_bytes(onnx.helper.make_model(graph, ir_version=10).SerializeToString())
    out = tmp_path / "out.safetensors"
    assert run_tool("mge-dump", "weights", model, out, "--name", "(x|y)*x").code == 0
    # No name that long is searched to its end.
    assert run_tool("mge-dump", "weights", model, out, "--name", "x$").code == USAGE

    row = {"machine": "m", "problem": long, "algorithm": "a", "milliseconds": 1, "workspace": 0}
    row |= {"attributes": [], "measured_at": 1}
    source, cache = tmp_path / "rows.json", tmp_path / "cache.sqlite"
    file = {"format": "mge-fastrun-cache", "version": 1, "rows": [row]}
    source.write_text(json.dumps(file))
    assert run_tool("mge-fastrun-cache", "import", cache, source).code == 0
    ran = run_tool("mge-fastrun-cache", "list", cache, "--problem", "(x|y)*x")
    assert ran.code == 0 and ran.result["rows"] == 1


DEEP = "[" * 300_000 + "]" * 300_000


@pytest.mark.parametrize("kind", ["input", "baseline", "plan", "export"])
def test_json_within_json_within_json(kind, run_tool, small_model, tmp_path):
    """Copying, comparing and printing it calls itself for each level."""
    base, file = tmp_path / "base.json", tmp_path / "deep.json"
    run = ("load_and_run", small_model)
    assert run_tool(*run, "--iter", 5, "--json", base).code == 0
    report = json.loads(base.read_text())
    report["result"]["tests"][0]["inputs"] = "deep"
    contents = {
        "input": {"x": {"shape": [1], "type": "float32", "raw": "deep"}},
        "baseline": report,
        "plan": {"kind": "deep"},
        "export": {"format": "mge-fastrun-cache", "version": "deep"},
    }
    file.write_text(json.dumps(contents[kind]).replace('"deep"', DEEP))
    commands = {
        "input": (*run, "--input", file),
        "baseline": (*run, "--iter", 5, "--baseline", file),
        "plan": (*run, "--replay-plan", file),
        "export": ("mge-fastrun-cache", "import", tmp_path / "cache.sqlite", file),
    }
    ran = run_tool(*commands[kind])
    assert ran.code == MODEL and "nested more than 64 deep" in ran.err
