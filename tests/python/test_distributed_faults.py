# SPDX-License-Identifier: Apache-2.0
"""Processes that train together when one of them is lost, silent or at another exchange."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import jsonschema
import pytest
from process_groups import find_mpirun, place_of, require_engine, start_by_variables

import megengine.distributed as dist

FOLDER = Path(__file__).parent
SCRIPT = FOLDER / "exchange_until_failure.py"
SCHEMA = json.loads(
    (FOLDER.parents[1] / "docs/schemas/flight_record.schema.json").read_text("utf-8")
)
ENGINES = ["gloo", "openmpi", "mpich"]

pytestmark = pytest.mark.usefixtures("no_process_group")


def command_of(how, output, engine):
    return [sys.executable, str(SCRIPT), how, str(output), engine]


def start(engine, how, output, n, **options):
    """The processes of a run, or mpirun."""
    command = command_of(how, output, engine)
    if engine == "gloo":
        require_engine(engine)
        return start_by_variables(command, n, **options)
    return [subprocess.Popen([*find_mpirun(engine), "-n", str(n), *command], **options)]


def end(processes, seconds):
    """Exit codes."""
    limit = time.monotonic() + seconds
    try:
        return [process.wait(max(0.1, limit - time.monotonic())) for process in processes]
    finally:
        for process in processes:
            process.kill()
            process.wait()


def written_by(output, ranks):
    """The reports of processes, by rank."""
    return {rank: json.loads(Path(f"{output}.{rank}.json").read_text()) for rank in ranks}


@pytest.mark.parametrize("how", ["killed", "killed_with_children"])
def test_survivors_of_a_killed_process_raise_within_five_seconds(tmp_path, how):
    output = tmp_path / "found"
    processes = start("gloo", how, output, 3)
    codes = [processes[1].wait(120)]
    killed_at = time.time()
    codes += end([processes[0], processes[2]], 30)
    assert codes == [-signal.SIGKILL, 0, 0]
    for found in written_by(output, (0, 2)).values():
        assert "process 1 is gone" in found["error"]
        assert found["time"] - killed_at < 5


@pytest.mark.parametrize("engine", ["openmpi", "mpich"])
@pytest.mark.parametrize("how", ["killed", "fails"])
def test_mpi_ends_all_within_ten_seconds_when_one_ends(tmp_path, engine, how):
    (mpirun,) = start(
        engine,
        how,
        tmp_path / "found",
        3,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        lines = []
        while not any("exchanging" in line for line in lines[-3:]):
            lines.append(mpirun.stdout.readline())
        begin = time.monotonic()
        rest, _ = mpirun.communicate(timeout=60)
        assert mpirun.returncode != 0 and time.monotonic() - begin < 10
        assert how == "killed" or "out of luck" in "".join(lines) + rest
    finally:
        mpirun.kill()
        mpirun.wait()


def test_an_error_of_a_process_is_reported_to_the_others(tmp_path):
    output = tmp_path / "found"
    processes = start("gloo", "fails", output, 3, stderr=subprocess.DEVNULL)
    assert end(processes, 60) == [0, 1, 0]
    for found in written_by(output, (0, 2)).values():
        assert "process 1 has failed: it has ended: KeyError: 'out of luck'" in found["error"]


@pytest.mark.parametrize("engine", ENGINES)
def test_every_process_names_a_silent_one_in_time(tmp_path, monkeypatch, engine):
    monkeypatch.setenv("MGE_DISTRIBUTED_TIMEOUT", "1.5")
    output = tmp_path / "found"
    processes = start(engine, "silent", output, 3, stdout=subprocess.PIPE, text=True)
    source = processes[1] if engine == "gloo" else processes[0]
    while "silent" not in source.stdout.readline():
        pass
    begin = time.time()
    for rank in (0, 2):
        path = Path(f"{output}.{rank}.json")
        while not path.exists() or not path.stat().st_size:
            assert time.time() - begin < 30
            time.sleep(0.05)
        found = written_by(output, [rank])[rank]
        message = "no answer from process 1 for 1.5 s (MGE_DISTRIBUTED_TIMEOUT)"
        assert message in found["error"]
        assert "[all_reduce_sum of float32 (3) in processes (0, 1, 2), number " in found["error"]
        assert found["time"] - begin < 1.5 + 2
    for process in processes:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("how", "first", "others"),
    [
        ("shapes", "float32 (2, 3)", "float32 (3, 2)"),
        ("sizes", "float32 (100000)", "float32 (7)"),
        ("dtypes", "all_reduce_sum of float32 (2)", "all_reduce_sum of int32 (2)"),
        ("operations", "all_reduce_sum of float32", "all_gather of float32"),
        ("groups", "processes (0, 1)'", "processes (0, 1, 2)'"),
    ],
)
def test_unequal_exchanges_are_named_in_all_processes(tmp_path, engine, how, first, others):
    output = tmp_path / "found"
    codes = end(start(engine, how, output, 3, stderr=subprocess.DEVNULL), 60)
    assert engine != "gloo" or codes == [0, 0, 0]
    for found in written_by(output, range(3)).values():
        assert "is at another exchange" in found["error"]
        assert first in found["error"] and others in found["error"]


def test_another_version_is_refused_by_all(tmp_path):
    require_engine("gloo")
    code = """
import os
from megengine import _mge
if os.environ["RANK"] == "1":
    _mge.__version__ = "9.9"
import megengine.distributed as dist
dist.init_process_group()
"""
    processes = start_by_variables(
        [sys.executable, "-c", code], 2, stderr=subprocess.PIPE, text=True
    )
    for process in processes:
        _, error = process.communicate(timeout=60)
        assert "uses MGE 9.9 over gloo" in error and "all must use the same" in error


def test_a_process_that_does_not_prove_itself_is_refused():
    require_engine("gloo")
    code = """
import os
from megengine.distributed import meeting
if os.environ["RANK"] == "1":  # a stranger that has taken its place
    meeting._Board.proofs = lambda self: [("0" * 64, "0" * 64)] * 2
import megengine.distributed as dist
dist.init_process_group()
"""
    command = [sys.executable, "-c", code]
    processes = start_by_variables(command, 2, stderr=subprocess.PIPE, text=True)
    errors = [process.communicate(timeout=60)[1] for process in processes]
    assert all("does not know the secret" in error for error in errors), errors


def test_the_time_limit_is_an_argument():
    require_engine("gloo")

    def work(_):
        if dist.get_rank() == 0:
            with pytest.raises(RuntimeError, match="no answer from process 1 for 0.5 s"):
                dist.group_barrier()
            return True
        return time.sleep(3)

    server = dist.Server()

    def join(rank):
        port = server.py_server_port
        dist.init_process_group("localhost", port, 2, rank, 0, device_type="cpu", timeout=0.5)
        return work(rank)

    children = []
    for rank in (0, 1):
        child = os.fork()
        if child == 0:
            code = 1
            with contextlib.suppress(BaseException):
                join(rank)
                code = 0
            os._exit(code)
        children.append(child)
    assert [os.waitpid(child, 0)[1] for child in children] == [0, 0]
    with pytest.raises(ValueError, match="timeout is -1; it must be a number of seconds above 0"):
        dist.init_process_group("localhost", 1, 2, 0, 0, timeout=-1)


@contextlib.contextmanager
def network(count):
    """Machines with a link each to a common switch. Gives the prefixes of commands on them, and a
    function that cuts a link without a reset."""
    ip, names = shutil.which("ip"), [f"mge{os.getpid()}n{i}" for i in range(count + 1)]
    made = []

    def run(*arguments):
        subprocess.run([ip, *arguments], check=True, capture_output=True)

    try:
        if ip is None:
            pytest.skip("there is no command ip")
        try:
            for name in names:
                run("netns", "add", name)
                made.append(name)
                run("-n", name, "link", "set", "lo", "up")
            switch = names[-1]
            run("-n", switch, "link", "add", "switch", "type", "bridge")
            run("-n", switch, "link", "set", "switch", "up")
            for i, name in enumerate(names[:-1]):
                peer = ("peer", "name", f"p{i}", "netns", switch)
                run("-n", name, "link", "add", "eth0", "type", "veth", *peer)
                run("-n", switch, "link", "set", f"p{i}", "master", "switch", "up")
                run("-n", name, "address", "add", f"10.9.8.{i + 1}/24", "dev", "eth0")
                run("-n", name, "link", "set", "eth0", "up")
        except subprocess.CalledProcessError as error:
            pytest.skip(f"network namespaces are not allowed here: {error.stderr.decode().strip()}")
        yield (
            [[ip, "netns", "exec", name] for name in names[:-1]],
            lambda i: run("-n", switch, "link", "set", f"p{i}", "down"),
        )
    finally:
        for name in made:
            subprocess.run([ip, "netns", "delete", name], check=False)


@pytest.mark.parametrize("how", ["cut", "cut_long"])
def test_every_process_notices_a_cut_link_in_time(tmp_path, monkeypatch, how):
    require_engine("gloo")
    monkeypatch.setenv("MGE_DISTRIBUTED_TIMEOUT", "2")
    monkeypatch.setenv("MGE_DISTRIBUTED_SECRET", "the secret of this test")
    output, n = tmp_path / "found", 3
    with network(n) as (prefixes, cut):
        processes = [
            subprocess.Popen(
                [*prefix, *command_of(how, output, "gloo")],
                env=os.environ | place_of(rank, n, 29500) | {"MASTER_ADDR": "10.9.8.1"},
                stdout=subprocess.PIPE,
                text=True,
            )
            for rank, prefix in enumerate(prefixes)
        ]
        try:
            for process in processes:
                assert process.stdout.readline() == "exchanging\n"
            time.sleep(1)
            cut(2)
            cut_at = time.time()
            assert end(processes, 30) == [0, 0, 0]
        finally:
            end(processes, 0)
    found = written_by(output, range(n))
    for rank in range(2):
        assert "no answer from process 2 for 2 s" in found[rank]["error"]
    assert "no answer from process" in found[2]["error"]
    for one in found.values():
        assert one["time"] - cut_at < 2 + 2


def record_of(prefix, rank):
    record = json.loads(Path(f"{prefix}.{rank}.json").read_text())
    jsonschema.validate(record, SCHEMA)
    return record


def test_the_last_exchanges_are_written_after_a_failure(tmp_path, monkeypatch):
    prefix = tmp_path / "record"
    monkeypatch.setenv("MGE_DISTRIBUTED_RECORD", str(prefix))
    assert end(start("gloo", "dtypes", tmp_path / "found", 2), 60) == [0, 0]
    for rank, dtype in enumerate(("float32", "int32")):
        record = record_of(prefix, rank)
        assert (record["engine"], record["rank"], record["size"]) == ("gloo", rank, 2)
        *_, before, last = record["exchanges"]
        assert before["state"] == "done" and before["missing"] == [] and before["seconds"] > 0
        assert last["state"] == "failed" and "another exchange" in last["error"]
        assert (last["operation"], last["dtype"], last["shape"]) == ("all_reduce_sum", dtype, [2])
        assert (last["bytes"], last["group"], last["sequence"]) == (8, [0, 1], 2)


def test_a_signal_writes_the_last_exchanges(tmp_path, monkeypatch):
    prefix = tmp_path / "record"
    monkeypatch.setenv("MGE_DISTRIBUTED_RECORD", str(prefix))
    first, second = start(
        "gloo", "silent", tmp_path / "found", 2, stdout=subprocess.PIPE, text=True
    )
    try:
        assert second.stdout.readline() + second.stdout.readline() == "exchanging\nsilent\n"
        time.sleep(0.5)  # so that the first one waits
        first.send_signal(signal.SIGUSR2)
        path, limit = Path(f"{prefix}.0.json"), time.monotonic() + 20
        while not path.exists():
            assert time.monotonic() < limit
            time.sleep(0.05)
        last = record_of(prefix, 0)["exchanges"][-1]
        assert (last["state"], last["missing"], last["seconds"]) == ("running", [1], None)
    finally:
        for process in (first, second):
            process.kill()
            process.communicate()
