# SPDX-License-Identifier: Apache-2.0
"""mge-dump iodiff on dumps that MegEngine wrote, as they are and changed in one place."""

import shutil
import struct
from pathlib import Path

import numpy as np
import pytest

TOOL = "mge-dump"
DATA = Path(__file__).resolve().parents[1] / "data"
RECORDED = DATA / "oracle/io_dump"


@pytest.fixture
def dumps(tmp_path):
    """Two copies of a recorded binary dump: what a test changes is in the second."""
    for name in "ab":
        shutil.copytree(RECORDED / "dynamic.io_bin", tmp_path / name, copy_function=shutil.copyfile)
        (tmp_path / name).chmod(0o755)
    return tmp_path / "a", tmp_path / "b"


def read(file):
    """(name, values as floats, bytes before the values)."""
    data = file.read_bytes()
    length, dtype = struct.unpack_from("<2I", data)
    head = 40 + length
    return (
        data[40:head].decode(),
        np.frombuffer(data[head:], "float32" if dtype == 0 else "u1"),
        head,
    )


def change(file, index, value):
    _, values, head = read(file)
    values = values.copy()
    values[index] = value
    file.write_bytes(file.read_bytes()[:head] + values.tobytes())


def chain(folder):
    """A file, and a later one whose operator read the former: both of float32."""
    files = {}
    for file in sorted(folder.iterdir()):
        name, values, _ = read(file)
        files[file.name] = (name, values)
    for name, (text, values) in files.items():
        inputs = text.split(" owner_opr_inputs=")[-1]
        for source, (_, source_values) in files.items():
            read_by = f"{{id:{int(source, 16)}," in inputs
            if read_by and values.dtype == source_values.dtype == np.float32 and source != name:
                return folder / source, folder / name
    raise AssertionError("no operator of the dump reads another's output")


def test_equal_dumps(run_tool, dumps):
    ran = run_tool(TOOL, "iodiff", *dumps)
    assert ran.code == 0 and ran.result["differences"] == []
    assert ran.result["compared"] == len(list(dumps[0].iterdir()))


def test_root_operator(run_tool, dumps):
    source, reader = chain(dumps[1])
    change(source, 0, 1e6)
    change(reader, 1, 1e6)
    ran = run_tool(TOOL, "iodiff", *dumps)
    assert ran.code == 7 and ran.report["error"]["kind"] == "accuracy"
    assert {d["file"] for d in ran.result["differences"]} == {source.name, reader.name}
    (root,) = (d for d in ran.result["differences"] if d["root"])
    assert root["file"] == source.name and root["index"] == 0
    assert [r["value"] for r in ran.result["roots"]] == [root["name"]]
    assert root["name"] in ran.out and "Root operators" in ran.out


@pytest.mark.parametrize("flag", ["--max-err", "-e", "--max_err"])
def test_largest_error(run_tool, dumps, flag):
    source, _ = chain(dumps[1])
    old = float(read(source)[1][0])
    change(source, 0, old + 0.01 * max(abs(old), 1))
    assert run_tool(TOOL, "iodiff", *dumps).code == 7
    ran = run_tool(TOOL, "iodiff", *dumps, flag, 0.02)
    assert ran.code == 0


def test_nan_differs(run_tool, dumps):
    source, _ = chain(dumps[1])
    change(source, 0, np.nan)
    ran = run_tool(TOOL, "iodiff", *dumps, "-e", 1e9)
    assert ran.code == 7 and ran.result["differences"][0]["error"] is None


@pytest.mark.parametrize("flag", ["-s", "--stop-on-error"])
def test_stop_on_error(run_tool, dumps, flag):
    for file in chain(dumps[1]):
        change(file, 0, 1e6)
    ran = run_tool(TOOL, "iodiff", *dumps, flag)
    assert len(ran.result["differences"]) == 1
    compared = ran.result["compared"]
    assert compared < len(list(dumps[0].iterdir()))
    assert f"{compared} value{'s' * (compared != 1)} compared, 1 differ" in ran.out


def test_single_files(run_tool, dumps):
    source, reader = chain(dumps[1])
    assert run_tool(TOOL, "iodiff", dumps[0] / source.name, source).code == 0
    change(source, 0, 1e6)
    assert run_tool(TOOL, "iodiff", dumps[0] / source.name, source).code == 7


def test_values_are_matched_by_name_when_files_are_called_otherwise(run_tool, dumps):
    for file in sorted(dumps[1].iterdir()):
        file.rename(file.with_name(f"{int(file.name, 16) + 0x100000:06x}"))
    ran = run_tool(TOOL, "iodiff", *dumps)
    assert ran.code == 0 and ran.result["compared"] == len(list(dumps[0].iterdir()))
    assert run_tool(TOOL, "iodiff", *dumps, "--match", "name").code == 0
    ran = run_tool(TOOL, "iodiff", *dumps, "--match", "file")
    assert ran.code == 2 and "no value in common" in ran.err


def test_a_value_of_one_dump_only(run_tool, dumps):
    next(iter(sorted(dumps[1].iterdir()))).unlink()
    ran = run_tool(TOOL, "iodiff", *dumps, "--match=file")
    assert ran.code == 0 and len(ran.result["only_in_a"]) == 1 and "only in the first" in ran.out


def test_texts(run_tool, tmp_path):
    text = RECORDED / "dynamic.io.txt"
    assert run_tool(TOOL, "iodiff", text, text).code == 0
    lines = text.read_text().splitlines()
    index = next(i for i, line in enumerate(lines) if line.startswith(" val: [") and "max=" in line)
    head, tail = lines[index].split("max=", 1)
    lines[index] = f"{head}max=12345 {tail.split(' ', 1)[1]}"
    (tmp_path / "changed.txt").write_text("\n".join(lines) + "\n")
    ran = run_tool(TOOL, "iodiff", text, tmp_path / "changed.txt")
    assert ran.code == 7 and "12345" in ran.out
    ran = run_tool(TOOL, "iodiff", text, tmp_path / "changed.txt", "--match", "file")
    assert ran.code == 2


def test_a_text_and_the_files_of_the_same_run(run_tool, dumps):
    ran = run_tool(TOOL, "iodiff", RECORDED / "dynamic.io.txt", dumps[0])
    assert ran.code == 0 and ran.result["compared"] > 10, ran.out


def test_bad_dumps(run_tool, dumps, tmp_path):
    assert run_tool(TOOL, "iodiff", dumps[0], tmp_path / "none").code == 2
    file = sorted(dumps[1].iterdir())[0]
    file.write_bytes(file.read_bytes()[:60])
    assert run_tool(TOOL, "iodiff", *dumps).code == 5


def test_root_precedes_a_value_of_another_shape(run_tool, tmp_path):
    """The result of a reshape shares the memory of its input, and differs with it."""
    net = DATA / "megengine/resnet.v2.mge"
    for seed in "12":
        (tmp_path / seed).mkdir()
        dumps = ["--io-dump", tmp_path / f"{seed}.txt", "--bin-io-dump", tmp_path / seed]
        assert run_tool("load_and_run", net, "--iter", 1, "--seed", seed, *dumps).code == 0
    for end in (".txt", ""):
        ran = run_tool(TOOL, "iodiff", tmp_path / f"1{end}", tmp_path / f"2{end}")
        assert [root["value"] for root in ran.result["roots"]] == ["data"]
    ran = run_tool("load_and_run", net, "--seed", 1, "--compare", tmp_path / "2", "--first-diff")
    assert ran.code == 7 and "no operator differs by itself" in ran.out
