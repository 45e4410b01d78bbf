# SPDX-License-Identifier: Apache-2.0
"""``distributed`` in one process. For several, see test_processes_that_train.py."""

import functools
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import megengine as mge
import megengine.distributed as dist
import megengine.functional as F
import megengine.functional.distributed as collective
from megengine.autodiff import GradManager
from megengine.distributed import group as group_module
from megengine.distributed.helper import (
    bcast_list_,
    get_offsets,
    pack_allreduce_split,
    param_pack_concat,
    param_pack_split,
)


@pytest.fixture
def process(monkeypatch):
    """A process group of one, and none again after the test."""
    monkeypatch.setattr(group_module, "_process", None)
    monkeypatch.setattr(dist.WORLD, "proc_ranks", [])
    dist.init_process_group("localhost", 0, 1, 0, 0)


@pytest.fixture
def nothing(monkeypatch):
    """No process group."""
    monkeypatch.setattr(group_module, "_process", None)


def test_without_a_group_there_is_one_process(nothing):
    assert (dist.get_rank(), dist.get_world_size(), dist.is_distributed()) == (0, 1, False)
    assert dist.synchronized(lambda x: x + 1)(2) == 3
    dist.group_barrier()
    dist.group_start()
    dist.group_end()


@pytest.mark.parametrize(
    "call",
    [
        dist.get_backend,
        dist.get_local_device_id,
        lambda: collective.all_reduce_sum(mge.Tensor([1.0])),
        lambda: dist.make_allreduce_cb("mean"),
        lambda: dist.new_group([0]),
        lambda: dist.WORLD.rank,
    ],
)
def test_group_functions_require_a_group(nothing, call):
    with pytest.raises(AssertionError, match="please call init_process_group first"):
        call()


def test_a_group_of_one(process):
    assert dist.is_distributed() and dist.get_backend() == "auto"
    assert dist.get_local_device_id() == 0
    world, group = dist.WORLD, dist.new_group([0])
    assert world.size == group.size == 1 and world.rank == group.rank == 0
    assert world.key == group.key == "0" and group.is_single_machine
    assert group.comp_node.logical_name.endswith("0:2")
    with dist.override_backend("shm"):
        assert dist.get_backend() == "shm"
    assert dist.get_backend() == "auto"
    dist.backend = "nccl"
    assert dist.backend == dist.get_backend() == "nccl"
    with pytest.raises(AssertionError, match="distinct and below 1"):
        dist.new_group([0, 1])
    with pytest.raises(AssertionError, match="one process has no server"):
        dist.get_client()
    assert dist.get_py_server_addr() == dist.get_mm_server_addr() == ("localhost", 0)


@pytest.mark.parametrize(
    "name", [name for name in collective.__all__ if not name.startswith("remote_")]
)
def test_collectives_of_one_process_keep_values_and_gradients(process, name):
    x = mge.Parameter([1.0, 2.0])
    manager = GradManager().attach([x])
    with manager:
        y = getattr(collective, name)(x)
        manager.backward((y * y).sum())
    assert y is not x
    np.testing.assert_array_equal(y.numpy(), [1, 2])
    np.testing.assert_array_equal(x.grad.numpy(), [2, 4])


@pytest.mark.parametrize(
    "call",
    [
        *[
            functools.partial(getattr(collective, name), mge.Tensor([1.0]))
            for name in collective.__all__
            if not name.startswith("remote_")
        ],
        functools.partial(dist.functional.collective_comm, mge.Tensor([1.0]), "BROADCAST"),
        functools.partial(dist.make_allreduce_cb, "sum"),
        functools.partial(dist.bcast_list_, []),
        functools.partial(F.sync_batch_norm, F.ones((2, 1)), None, None, training=True),
        dist.group_barrier,
    ],
)
def test_list_of_ranks_is_not_a_group(process, call):
    with pytest.raises(TypeError, match=r"group must be a Group, .* got \[0\]"):
        call(group=[0])


@pytest.mark.parametrize("method", ["sum", "mean"])
def test_gradients_are_summed_over_the_processes(process, method):
    w = mge.Parameter([2.0])
    manager = GradManager().attach([w], callbacks=[dist.make_allreduce_cb(method)])
    with manager:
        manager.backward((w * w).sum())
    assert w.grad.numpy() == 4
    with pytest.raises(AssertionError, match="'sum' or 'mean'"):
        dist.make_allreduce_cb("max")


def test_failed_gradient_exchange_is_not_waited_for(process, monkeypatch):
    def fail(*arguments):
        raise MemoryError("of an exchange")

    monkeypatch.setattr(dist.helper, "pack_allreduce_split", fail)
    callback = dist.make_allreduce_cb("sum")
    future = callback(mge.Parameter([2.0]), mge.Tensor([1.0]))
    with pytest.raises(MemoryError, match="of an exchange"):
        future.get()
    with pytest.raises(RuntimeError, match="the exchange of this gradient has failed"):
        future.get()


def test_parameters_are_packed(process):
    shapes = [(2, 3), (4,)]
    tensors = [mge.Tensor(np.arange(np.prod(s), dtype="float32").reshape(s)) for s in shapes]
    offsets = get_offsets(shapes)
    assert offsets == [0, 6, 6, 10]
    packed = param_pack_concat(tensors, mge.Tensor(offsets), offsets)
    for parts in (
        param_pack_split(packed, offsets, shapes),
        pack_allreduce_split(tensors, shapes, dist.WORLD, "mean"),
    ):
        for part, tensor in zip(parts, tensors, strict=True):
            np.testing.assert_array_equal(part.numpy(), tensor.numpy())
    bcast_list_(tensors)
    assert tensors[1].numpy().tolist() == [0, 1, 2, 3]


def test_the_launcher_runs_one_process(process):
    @dist.launcher(n_gpus=1)
    def work(x):
        """Adds."""
        return x + dist.get_world_size(), dist.get_rank()

    assert work(3) == [(4, 0)] and work.__doc__ == "Adds."
    # By default: one for each GPU.
    gpus = mge.get_device_count("gpu")
    assert len(dist.launcher(lambda: 0)()) == max(1, gpus)


@pytest.mark.parametrize(
    "how, text",
    [
        (signal.SIGKILL, "ended with exit code -9"),
        (signal.SIGSTOP, "not answered within 0.3 s"),
    ],
)
def test_the_search_for_devices_ends(monkeypatch, how, text):
    monkeypatch.setattr(dist.helper, "_PROBE_SECONDS", 0.3)
    monkeypatch.setattr(dist.helper, "get_device_count", lambda kind: os.kill(os.getpid(), how))
    with pytest.raises(RuntimeError, match=f"devices of type 'gpu' has {text}"):
        dist.helper.get_device_count_by_fork("gpu")


def test_the_search_for_devices_counts():
    count = dist.helper.get_device_count_by_fork
    assert count("cpu") == mge.get_device_count("cpu")
    with pytest.raises(Exception, match="nothing"):
        count("nothing")


@pytest.mark.parametrize(
    "arguments, kind, text",
    [
        (("localhost", 0, 1, 1, 0), ValueError, "rank must be below 1"),
        (("localhost", "0", 1, 0, 0), TypeError, "port must be an integer"),
        ((1, 0, 1, 0, 0), TypeError, "master_ip must be a string"),
    ],
)
def test_wrong_groups_are_refused(nothing, arguments, kind, text):
    with pytest.raises(kind, match=text):
        dist.init_process_group(*arguments)
    assert not dist.is_distributed()


def test_the_package_is_imported_when_it_is_used():
    code = """
import sys
from concurrent.futures import ThreadPoolExecutor
import megengine as mge
assert not [name for name in sys.modules if "distributed" in name]
assert mge.distributed.get_world_size() == 1
"""
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.fixture
def clients():
    """Three clients of one server."""
    server = dist.Server()
    yield [dist.Client("localhost", server.py_server_port) for _ in range(3)]
    del server


def together(*calls):
    """The results of calls that wait for each other."""
    with ThreadPoolExecutor(len(calls)) as pool:
        return [one.result(timeout=30) for one in [pool.submit(*call) for call in calls]]


def test_values_have_names(clients):
    first, second, _ = clients
    first.user_set("k", {"a": [1, 2.5, None]})
    assert second.user_get("k") == second.user_pop("k") == {"a": [1, 2.5, None]}
    assert together((second.user_get, "later"), (first.user_set, "later", 3)) == [3, None]


def test_wait_for_values_is_bounded(clients):
    for wait in (
        lambda: clients[0].user_get("nothing", patience=0.1),
        lambda: clients[0].bcast_val(None, "nothing", 2, patience=0.1),
    ):
        with pytest.raises(RuntimeError, match=r"no client has set it for 0.1 s"):
            wait()


def test_barriers_open_again(clients):
    for _ in range(3):
        assert together(*((one.group_barrier, "here", 3) for one in clients)) == [None] * 3


def test_one_client_notifies_the_others(clients):
    first, second, third = clients
    for value in (7, 8):
        calls = (
            (first.bcast_val, value, "b", 3),
            *((c.bcast_val, None, "b", 3) for c in (second, third)),
        )
        assert together(*calls) == [value] * 3


@pytest.mark.parametrize("rank", [0, 1])
def test_missing_process(nothing, monkeypatch, rank):
    monkeypatch.setattr(dist.meeting, "_PATIENCE_SECONDS", 0.5)
    server = dist.Server()
    with pytest.raises(RuntimeError, match=f"process {1 - rank} has not joined within 0.5 s"):
        dist.init_process_group("localhost", server.py_server_port, 2, rank, 0)
    assert not dist.is_distributed()
    late = dist.Client("localhost", server.py_server_port)
    with pytest.raises(RuntimeError, match="no client has set it"):  # not what was for this meeting
        late.bcast_val(None, "token", 2, patience=0.1)


def test_missing_server(monkeypatch):
    monkeypatch.setattr(dist.server, "_PATIENCE_SECONDS", 0)
    with pytest.raises(ConnectionError, match="no server at localhost:1"):
        dist.Client("localhost", 1)
    server = dist.Server()
    with pytest.raises(OSError, match="in use"):
        dist.Server(server.py_server_port)


def test_separate_server():
    command = [sys.executable, "-m", "megengine.distributed.server", "--no-verbose"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        first, _, port = process.stdout.readline().rpartition(" ")
        assert first == "serving on port"
        client = dist.Client("localhost", int(port))
        client.user_set("k", 3)
        assert client.user_get("k") == 3
    finally:
        process.kill()
        process.communicate()


def test_children_have_no_part_in_a_server():
    server = dist.Server()
    port, child = server.py_server_port, os.fork()
    if child == 0:
        time.sleep(60)
        os._exit(0)
    try:
        del server
        assert dist.Server(port).py_server_port == port
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def test_a_closed_server_leaves_no_thread():
    before = set(threading.enumerate())
    server = dist.Server()
    client = dist.Client("localhost", server.py_server_port)
    failures = []

    def wait():
        try:
            client.user_get("nothing")
        except (OSError, RuntimeError) as failure:
            failures.append(failure)

    waiting = [threading.Thread(target=wait) for _ in range(3)]
    silent = socket.create_connection(("localhost", server.py_server_port))
    for thread in waiting:
        thread.start()
    while len(set(threading.enumerate()) - before) < 8:  # the server has 1 + 4
        time.sleep(0.01)
    start = time.monotonic()
    server.close()
    assert time.monotonic() - start < 5
    assert set(threading.enumerate()) - before <= set(waiting)
    while silent.recv(1000):  # its greeting; then the end
        pass
    silent.close()
    for thread in waiting:
        thread.join(10)
    assert len(failures) == 3


def test_a_child_ends_though_its_parent_has_a_server():
    code = """
import os
import megengine.distributed as dist
server = dist.Server()
if os.fork():
    assert os.wait()[1] == 0
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_a_program_with_a_server_ends():
    code = "import megengine.distributed as dist; server = dist.Server()"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
