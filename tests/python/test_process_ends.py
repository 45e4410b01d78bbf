# SPDX-License-Identifier: Apache-2.0
"""How processes that train together start, wait and end."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time

import pytest
from process_groups import in_processes, mine

import megengine.distributed as dist
from megengine.distributed import functional as collective

pytestmark = pytest.mark.usefixtures("no_process_group")


def test_the_end_of_a_process_is_seen_while_its_children_live():
    def work():
        if dist.get_rank() == 0:
            with pytest.raises(RuntimeError, match="process 1 is gone"):
                collective.all_reduce_sum(mine())
            return True
        if os.fork() == 0:
            time.sleep(30)
            os._exit(0)
        os._exit(0)

    begin = time.monotonic()
    assert in_processes(2, work) == [True, None]
    assert time.monotonic() - begin < 25


def test_failing_process_ends_all(capfd):
    def work(how):
        if dist.get_rank() == 1:
            how()
        while True:
            time.sleep(1)

    def leave():
        sys.exit(3)

    def kill():
        os.kill(os.getpid(), signal.SIGKILL)

    def fail():
        raise ValueError("of process 1")

    for how, code in ((leave, 3), (kill, -9), (fail, 1)):
        begin = time.monotonic()
        with pytest.raises(AssertionError, match=f"subprocess 1 exit with code {code}"):
            in_processes(2, work, how)
        assert time.monotonic() - begin < 60  # the others would wait for ever
    assert "ValueError: of process 1" in capfd.readouterr().err


def test_failing_process_is_noticed_while_its_children_run():
    def fail():
        if os.fork() == 0:
            time.sleep(60)
        os.kill(os.getpid(), signal.SIGKILL)

    def work():
        if dist.get_rank() == 1:
            fail()
        time.sleep(60)

    begin = time.monotonic()
    with pytest.raises(AssertionError, match="subprocess 1 exit with code -9"):
        in_processes(2, work)
    assert time.monotonic() - begin < 30


def test_process_without_a_result_is_reported(caplog):
    def work():
        if dist.get_rank() == 0:
            sys.exit(0)
        return 1

    assert in_processes(2, work) == [None, 1]


def test_processors_are_shared_by_default():
    # In a process whose threads have not worked yet: forked from others, there is one thread.
    code = """
from megengine import _mge
import megengine.distributed as dist
print(_mge.get_threads(), *dist.launcher(_mge.get_threads, n_gpus=2, device_type="cpu")())
"""

    def threads(**environment):
        environment = {k: v for k, v in os.environ.items() if k != "MGE_THREADS"} | environment
        printed = subprocess.run(
            [sys.executable, "-c", code],
            env=environment,
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        return [int(word) for word in printed.split()]

    alone, *shared = threads()
    assert shared == [max(1, alone // 2)] * 2
    assert threads(MGE_THREADS="3") == [3, 3, 3]


def test_programs_that_start_their_processes_themselves():
    code = """
import sys
import megengine as mge
import megengine.distributed as dist
rank, port = int(sys.argv[1]), int(sys.argv[2])
if rank == 0:
    server = dist.Server()  # on a thread of a process that waits for others
    port = server.py_server_port
    print(port, flush=True)
dist.init_process_group("localhost", port, 2, rank, 0, device_type="cpu")
print(dist.functional.all_reduce_sum(mge.Tensor([1.0 + rank])).numpy()[0])
print(dist.functional.broadcast(mge.Tensor([5.0 + rank])).numpy()[0])
dist.group_barrier()
"""

    def start(rank, port):
        command = [sys.executable, "-c", code, str(rank), str(port)]
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

    first = start(0, 0)
    second = start(1, int(first.stdout.readline()))
    for process in (first, second):
        printed, _ = process.communicate(timeout=120)
        assert process.returncode == 0
        assert printed == "3.0\n5.0\n"


def test_the_first_process_elsewhere_needs_a_port():
    with pytest.raises(AssertionError, match="give the port"):
        dist.launcher(len, n_gpus=1, world_size=2, rank_start=1)


# Two processes without `launcher`; ready, they wait for each other.
WAITING = """
import signal
import sys
import megengine as mge
import megengine.distributed as dist
rank, port, is_traced = (int(word) for word in sys.argv[1:])
signal.signal(signal.SIGINT, signal.default_int_handler)  # whatever the parent does
dist.init_process_group("localhost", port, 2, rank, 0, device_type="cpu")
def exchange():
    dist.functional.all_reduce_sum(mge.Tensor([1.0])).numpy()
if is_traced:
    exchange = mge.jit.trace(exchange, symbolic=True)
if rank == 1:
    sys.stdin.readline()
for _ in range(2 - rank):
    try:
        print("ready", flush=True)
        exchange()
    except (KeyboardInterrupt, RuntimeError) as error:
        print(type(error).__name__, error, flush=True)
if rank == 0:
    sys.stdin.readline()  # it ends after the other one has seen that it has left
"""


@pytest.mark.parametrize("is_traced", [0, 1])
def test_ctrl_c_reaches_a_process_that_waits_for_others(is_traced):
    server = dist.Server()
    command = [sys.executable, "-c", WAITING]
    first, second = processes = [
        subprocess.Popen(
            [*command, str(rank), str(server.py_server_port), str(is_traced)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for rank in (0, 1)
    ]
    limit = threading.Timer(60, lambda: [process.kill() for process in processes])
    limit.start()
    try:
        assert first.stdout.readline() == "ready\n"
        time.sleep(0.5)  # so that it waits
        first.send_signal(signal.SIGINT)
        assert first.stdout.readline() == "KeyboardInterrupt \n"
        assert first.stdout.readline() == "ready\n"
        assert "has failed before" in first.stdout.readline()
        printed, _ = second.communicate("go on\n", timeout=30)
        assert "process 0 has failed" in printed and "was interrupted" in printed
        first.communicate("go on\n", timeout=30)
        assert [process.returncode for process in processes] == [0, 0]
    finally:
        limit.cancel()
        for process in processes:
            process.kill()
            process.wait()


def test_a_server_answers_while_its_process_waits_in_a_trace():
    code = """
import sys
import time
import megengine as mge
import megengine.distributed as dist
rank, port = int(sys.argv[1]), int(sys.argv[2])
if rank == 0:
    server = dist.Server()
    port = server.py_server_port
    print(port, flush=True)
dist.init_process_group("localhost", port, 2, rank, 0, device_type="cpu")
if rank == 1:
    time.sleep(1)  # until the other one waits
    dist.get_client().user_set("key", 1)
@mge.jit.trace(symbolic=True)
def exchange():
    print(float(dist.functional.all_reduce_sum(mge.Tensor(1.0))))
exchange()
"""

    def start(rank, port):
        command = [sys.executable, "-c", code, str(rank), str(port)]
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

    first = start(0, 0)
    second = start(1, int(first.stdout.readline()))
    try:
        assert [p.communicate(timeout=60)[0] for p in (first, second)] == ["2.0\n"] * 2
    finally:
        first.kill()
        second.kill()


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP", "SIGKILL"])
def test_processes_end_with_their_launcher(name):
    code = f"""
import os
import signal
import time
import megengine.distributed as dist
if "{name}" != "SIGKILL":
    signal.signal(signal.{name}, signal.SIG_DFL)
def work():
    os.write(1, b"%d\\n" % os.getpid())  # at once
    time.sleep(600)
dist.launcher(work, n_gpus=2, device_type="cpu")()
"""
    launcher = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    children = [int(launcher.stdout.readline()) for _ in range(2)]
    launcher.send_signal(getattr(signal, name))
    try:
        # The children hold the other end of the pipe.
        assert launcher.communicate(timeout=30)[0] == ""
    except subprocess.TimeoutExpired:
        for child in children:
            os.kill(child, signal.SIGKILL)
        raise
    assert launcher.returncode == -getattr(signal, name)


MEETING = """
import sys
import megengine as mge
import megengine.distributed as dist
from megengine import _mge
host, port, rank = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
open_engine = _mge.open_engine
def print_host(engine, host, *place):
    print(host)
    return open_engine(engine, host, *place)
_mge.open_engine = print_host
dist.init_process_group(host, port, 2, rank, 0, device_type="cpu")
print(float(dist.functional.all_reduce_sum(mge.Tensor(1.0))))
"""


def hosts_of_two_processes(second_knows):
    """The addresses at which two processes can be reached; the first is at localhost."""
    server = dist.Server()
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", MEETING, host, str(server.py_server_port), str(rank)],
            stdout=subprocess.PIPE,
            text=True,
        )
        for rank, host in enumerate(("localhost", second_knows))
    ]
    printed = [process.communicate(timeout=120)[0].splitlines() for process in processes]
    assert [lines.pop() for lines in printed] == ["2.0", "2.0"]
    return printed


def test_processes_of_one_machine_listen_locally_only():
    assert hosts_of_two_processes("localhost") == [["127.0.0.1"]] * 2


def test_other_machines_find_the_one_that_calls_itself_localhost():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # nothing is sent
        except OSError:
            pytest.skip("this machine has no public address")
        address = probe.getsockname()[0]
    # The second process does the same on another machine.
    assert hosts_of_two_processes(address) == [[address]] * 2
