# SPDX-License-Identifier: Apache-2.0
"""mge-profile check, and files of strangers: refused in one line, large ones read in bounds."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROFILES = ROOT / "tests/data/profiles"
BAD_FILE = 5


def test_check(run_tool, profile, tmp_path):
    done = run_tool("mge-profile", "check", profile[0], *sorted(PROFILES.glob("*.profile.json")))
    assert done.code == 0
    assert [f["format"] for f in done.result["files"]] == ["mge-profile"] + 3 * ["megengine"]
    bad = tmp_path / "bad.json"
    bad.write_text("{}")
    done = run_tool("mge-profile", "check", bad, profile[0])
    assert done.code == BAD_FILE
    assert "fault" in done.result["files"][0]
    assert "fault" not in done.result["files"][1]


@dataclass
class Consumed:
    code: int
    err: str
    seconds: float  # processor time, which other work hardly affects
    bytes: int  # peak memory


# A child's peak memory includes its parent's at the fork: this small process is in between.
ALONE = """
import os, subprocess, sys
process = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL)
_, status, usage = os.wait4(process.pid, 0)
print(os.waitstatus_to_exitcode(status), usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024)
"""


def consumed(tool_path, *args):
    """Runs mge-profile alone and says what that took."""
    done = subprocess.run(
        [sys.executable, "-c", ALONE, tool_path("mge-profile"), *map(str, args)],
        capture_output=True,
        text=True,
        timeout=600,  # it hangs
    )
    code, seconds, size = done.stdout.split()
    return Consumed(int(code), done.stderr, float(seconds), int(size))


def megengine(**changes):
    parts = {
        "operator": '{"1": {"name": "a", "type": "T", "input": ["11"], "output": ["12"]}}',
        "var": '{"11": {"name": "u"}, "12": {"name": "v"}}',
        "comp_seq": '["1"]',
        "device": '{"1": {"cpu0": {"start": 0, "kern": 0, "end": 1}}}',
        "host": "{}",
        **changes,
    }
    return (
        f'{{"graph_exec": {{"operator": {parts["operator"]}, "var": {parts["var"]},'
        f' "mem_chunk": {{}}, "comp_seq": {parts["comp_seq"]}}},'
        f' "profiler": {{"device": {parts["device"]}, "host": {parts["host"]}}}}}'
    )


def span(end):
    return f'{{"1": {{"cpu0": {{"start": 0, "kern": 0, "end": {end}}}}}}}'


def cycle(n):
    """n operators in a ring, each reading what the one before it makes."""
    return json.dumps(
        {
            str(i): {
                "name": "o",
                "type": "T",
                "input": [str(n + i)],
                "output": [str(n + (i + 1) % n)],
            }
            for i in range(n)
        }
    )


HOSTILE = {
    "arrays": "[" * 100_000,
    "objects": '{"a":' * 100_000,
    "closed": "[" * 100_000 + "]" * 100_000,
    "inside": megengine(device="[" * 100_000 + "]" * 100_000),
    "nan": megengine(device=span("NaN")),
    "quoted nan": megengine(device=span('"NaN"')),
    "infinity": megengine(device=span("Infinity")),
    "too large": megengine(device=span("1e999")),
    "null": megengine(device=span("null")),
    "backwards": megengine(device=span("-1")),
    "own result": megengine(
        operator='{"1": {"name": "a", "type": "T", "input": ["12"], "output": ["12"]}}'
    ),
    "cycle": megengine(
        operator=cycle(10_000),
        var=json.dumps({str(i): {"name": "v"} for i in range(10_000, 20_000)}),
    ),
    "unknown id": megengine(comp_seq='["7"]'),
    "empty": "",
    "text": "profile",
    "no utf-8": b"\xff\xfe{}",
    "zeros": b"\0" * 1000,
}


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("command", ["check", "show"])
def test_hostile_profile_is_refused(tool_path, tmp_path, name, command):
    path = tmp_path / "hostile.json"
    content = HOSTILE[name]
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    done = consumed(tool_path, command, path)
    assert done.code == BAD_FILE, done.err
    assert len(done.err.strip().splitlines()) == 1
    assert len(done.err) < 500


MEGABYTES = 100


def large(kind, megabytes):
    """Pieces of a file of about so many megabytes."""
    size = megabytes * 1_000_000
    if kind == "numbers":
        yield "[0"
        yield ",0" * (size // 2)
        yield "]"
    elif kind == "arrays":
        yield '{"graph_exec":['
        yield "[]," * (size // 3)
        yield "[]]}"
    elif kind == "one name":
        operator = {"1": {"name": "x" * size, "type": "T", "input": [], "output": []}}
        yield megengine(operator=json.dumps(operator))
    elif kind == "cycle":
        n = size // 105
        names = {str(i): {"name": "v"} for i in range(n, 2 * n)}
        yield megengine(operator=cycle(n), var=json.dumps(names))
    else:
        yield from many_operators(size // 365)


def many_operators(n):
    """A sound profile of a chain of operators: the i-th makes v<i> of v<i - 1>."""

    def section(member):
        """This member n times; "<" in it stands for i - 1 and ">" for i."""
        text = json.dumps(member)[1:-1]
        for i in range(n):
            yield ("," if i else "") + text.replace("<", str(i - 1)).replace(">", str(i))

    yield '{"graph_exec": {"operator": {'
    yield from section(
        {">": {"name": "a" * 60 + ">", "type": "T", "input": ["v<"], "output": ["v>"]}}
    )
    yield '}, "var": {"v-1": {"name": "x"},'
    yield from section({"v>": {"name": "v>", "mem_plan": None, "flag": []}})
    yield '}, "mem_chunk": {}, "comp_seq": ['
    yield ",".join(f'"{i}"' for i in range(n))
    yield ']}, "profiler": {"device": {'
    yield from section({">": {"cpu0": {"start": 1e-6, "kern": 2e-6, "end": 3.5e-6}}})
    yield '}, "host": {}, "opr_footprint": {'
    footprint = {"computation": 10, "memory": 20, "in_shapes": [[4, 5]], "out_shapes": [[4, 5]]}
    yield from section({">": footprint})
    yield "}}}"


def read_large(tool_path, path, kind, megabytes):
    with open(path, "w") as file:
        file.writelines(large(kind, megabytes))
    assert path.stat().st_size > 0.9 * megabytes * 1e6
    done = consumed(tool_path, "show", path)
    path.unlink()
    assert done.code == (0 if kind in ("sound", "one name") else BAD_FILE), done.err
    return done


@pytest.mark.parametrize("kind", ["sound", "numbers", "arrays", "one name", "cycle"])
def test_large_profile(tool_path, tmp_path, kind):
    """100 MB are read, or refused, in 1 GiB, and in a time that grows with the size alone.

    Quadratic growth takes 16 times as long for 4 times the size.
    """
    # A larger cycle is refused before it is looked for.
    size = 20 if kind == "cycle" else MEGABYTES
    quarter = read_large(tool_path, tmp_path / "quarter.json", kind, size // 4)
    done = read_large(tool_path, tmp_path / "large.json", kind, size)
    if "MGE_SANITIZED" in os.environ:
        pytest.skip("time and memory of the sanitizer")
    assert done.seconds < 9 * quarter.seconds
    assert done.bytes < 1 << 30
