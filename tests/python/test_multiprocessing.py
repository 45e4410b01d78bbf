# SPDX-License-Identifier: Apache-2.0
"""Tensors in several processes: by handle, with every start method, errors in place of waiting."""

import multiprocessing
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import megengine as mge
import megengine.functional as F
import megengine.module as M
import megengine.multiprocessing as mp
from megengine import _mge

ON_GPU = "MGE_TESTS_ON_GPU" in os.environ
if ON_GPU:
    import gpu_as_default  # noqa: F401  in the processes that are started, too
LAST_GPU = f"gpu{mge.get_device_count('gpu') - 1}"

# A child of fork() cannot use a GPU.
METHODS = ("spawn", "forkserver") if ON_GPU else ("fork", "spawn", "forkserver")
pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")


def descriptors():
    _mge.collect_loans()  # otherwise a GPU's memory is looked at when the next Tensor is sent
    return len(os.listdir("/proc/self/fd"))


def answer(requests, answers):
    while (tensor := requests.get()) is not None:
        tensor[0] = tensor[0] + 100
        answers.put((type(tensor).__name__, str(tensor.dtype), str(tensor.device), tensor))
    answers.put(requests.get())  # the parent still has what it sent


@pytest.mark.parametrize("method", METHODS)
def test_queues_pass_memory_on(method):
    context = mp.get_context(method)
    requests, answers = context.Queue(), context.Queue()
    process = context.Process(target=answer, args=(requests, answers), daemon=True)
    process.start()
    sent = [
        mge.Tensor([1.0, 2.0]),
        mge.Parameter([[1], [2]], name="weight"),
        mge.Tensor([1.0, 2.0], dtype="bfloat16", device="cpu1"),
        mge.Tensor([1.0, 2.0], device=LAST_GPU if ON_GPU else "cpu0"),
    ]
    sent[0].grad = mge.Tensor([5.0, 6.0])
    for tensor in sent:
        requests.put(tensor)
        kind, dtype, device, back = answers.get(timeout=60)
        assert kind == type(tensor).__name__ and device == str(tensor.device)
        assert dtype == str(tensor.dtype) and back.name == tensor.name
        first = tensor[0].astype("float32").numpy()
        assert (first == 101).all()  # the child's write is seen
        back[1] = 7
        assert (tensor[1].astype("float32").numpy() == 7).all()  # and ours in what came back
        assert back.is_shared() and tensor.is_shared()
        assert type(back) is type(tensor)
    np.testing.assert_array_equal(sent[0].grad.numpy(), [5, 6])
    requests.put(None)
    requests.put("end")
    assert answers.get(timeout=60) == "end"
    process.join(60)
    assert process.exitcode == 0


def test_shapes_views_and_quantised_tensors_arrive():
    context = mp.get_context(METHODS[0])
    receiver, sender = context.Pipe(duplex=False)
    base = mge.Tensor(np.arange(12, dtype=np.float32).reshape(3, 4)).share_memory()
    quantised = mge.Tensor([1.0, 2.0]).astype(mge.core.tensor.dtype.qint8(0.5))
    for tensor in (base, base[1], mge.Tensor(3), F.zeros((0, 2)), quantised):
        sender.send(tensor)
        back = receiver.recv()
        assert back.shape == tensor.shape and back.dtype == tensor.dtype
        np.testing.assert_array_equal(back.numpy(), tensor.numpy())


def test_nothing_is_left_open():
    context = mp.get_context(METHODS[0])
    receiver, sender = context.Pipe(duplex=False)

    def trips(count):
        for _ in range(count):
            sender.send(mge.Tensor([1.0, 2.0]))
            receiver.recv()

    trips(3)
    before = descriptors()
    trips(50)
    end = time.monotonic() + 30
    while descriptors() > before and time.monotonic() < end:
        time.sleep(0.01)  # the server of descriptors closes its last connections when it gets time
    assert descriptors() <= before


def keep_receiving(tensors, done):
    while tensors.get() is not None:
        done.put(time.process_time())


def test_a_large_tensor_is_not_copied():
    context = mp.get_context(METHODS[0])
    tensors, done = context.Queue(), context.Queue()
    process = context.Process(target=keep_receiving, args=(tensors, done), daemon=True)
    process.start()
    large = F.zeros((25_000_000,)).share_memory()

    def trip():
        tensors.put(large)
        return time.process_time() + done.get(timeout=60)

    # Processor time of both, which other work changes little: a millisecond; a copy takes fifty.
    times = [trip() for _ in range(21)]
    assert min(np.diff(times)) < 0.01
    tensors.put(None)
    process.join(60)


def train(index, net, xs, ys):
    optimizer = mge.optimizer.SGD(net.parameters(), lr=0.05)
    gm = mge.autodiff.GradManager().attach(net.parameters())
    rng = np.random.default_rng(index)
    for _ in range(150):
        rows = rng.integers(0, len(xs), 16)
        with gm:
            y = net(mge.Tensor(xs[rows]))
            gm.backward(F.nn.cross_entropy(y, mge.Tensor(ys[rows])))
        optimizer.step().clear_grad()


def sample_problem():
    rng = np.random.default_rng(0)
    xs = rng.normal(size=(400, 2)).astype(np.float32)
    return xs, (xs[:, 0] * xs[:, 1] > 0).astype(np.int32)


@pytest.mark.parametrize("method", METHODS)
def test_four_processes_train_one_net_without_locks(method):
    mge.random.seed(2)
    xs, ys = sample_problem()
    net = M.Sequential(M.Linear(2, 32), M.ReLU(), M.BatchNorm1d(32), M.Linear(32, 2)).share_memory()
    start = {name: value.copy() for name, value in net.state_dict().items()}

    def loss():
        net.eval()
        value = float(F.nn.cross_entropy(net(mge.Tensor(xs)), mge.Tensor(ys)))
        net.train()
        return value

    before = loss()
    mp.spawn(train, (net, xs, ys), nprocs=4, start_method=method)
    assert loss() < 0.25 < 0.6 < before
    assert all((value != start[name]).any() for name, value in net.state_dict().items())


def fail(index):
    if index == 1:
        raise KeyError("of process 1")
    time.sleep(600)


def vanish(index):
    if index == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(600)


def leave(index):
    raise SystemExit(3 if index else 0)


def test_failure_ends_all_processes():
    start = time.monotonic()
    with pytest.raises(
        mp.ProcessRaisedError, match=r"process 1 raised(.|\n)*KeyError: 'of process 1'"
    ):
        mp.spawn(fail, nprocs=3, start_method="fork")
    with pytest.raises(mp.ProcessExitedError, match="process 1 was ended by signal 9"):
        mp.spawn(vanish, nprocs=3, start_method="fork")
    with pytest.raises(mp.ProcessExitedError, match="process 1 ended with exit code 3"):
        mp.spawn(leave, nprocs=2, start_method="fork")
    assert time.monotonic() - start < 500  # no process sleeps to the end
    assert not multiprocessing.active_children()


INTERRUPTED = """
import os, signal, sys, time
import megengine.multiprocessing as mp
def work(index):
    if index:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.write(1, b"%d\\n" % os.getpid())
    time.sleep(600)
try:
    mp.spawn(work, nprocs=3, start_method="fork")
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


def test_an_interrupted_parent_ends_all():
    parent = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED], stdout=subprocess.PIPE, text=True
    )
    workers = [int(parent.stdout.readline()) for _ in range(3)]
    start = time.monotonic()
    parent.send_signal(signal.SIGINT)
    output, _ = parent.communicate(timeout=60)
    assert output == "interrupted\n" and time.monotonic() - start < 10
    for worker in workers:
        with pytest.raises(ProcessLookupError):
            os.kill(worker, 0)


# Presses Ctrl-C at each line in turn of spawn's file, from the first start to the wait.
INTERRUPTED_AT_EACH_LINE = """
import itertools, multiprocessing, os, signal, sys, time
from megengine.multiprocessing import spawning
def work(index):
    time.sleep(600)
class Waits(Exception):
    pass
def interrupt_at(last):
    parent, lines = os.getpid(), itertools.count(1)
    def trace(frame, event, _):
        code = frame.f_code
        if code.co_filename != spawning.__file__ or os.getpid() != parent:
            return None
        if event == "line" and multiprocessing.active_children():
            if next(lines) == last:
                sys.settrace(None)
                signal.raise_signal(signal.SIGINT)
            elif code.co_name == "_wait":
                raise Waits
        return trace
    sys.settrace(trace)
    spawning.spawn(work, nprocs=2, start_method="fork")
for last in itertools.count(1):
    try:
        interrupt_at(last)
    except KeyboardInterrupt:
        if multiprocessing.active_children():
            print("processes are left after line", last)
    except Waits:
        print(last)
        break
    finally:
        for process in multiprocessing.active_children():
            process.kill()
"""


def test_an_interrupt_at_any_time_leaves_no_process():
    output = subprocess.check_output([sys.executable, "-c", INTERRUPTED_AT_EACH_LINE], text=True)
    assert output.strip().isdigit() and int(output) > 10, output  # the number of lines alone


FULL = """
import multiprocessing, resource, time
import megengine.multiprocessing as mp
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
try:
    mp.spawn(work, nprocs=200, start_method="fork")
except OSError:
    print(multiprocessing.active_children(), flush=True)
"""


def test_a_process_too_many_leaves_none():
    program = "def work(index):\n    __import__('time').sleep(600)\n" + FULL
    output = subprocess.check_output([sys.executable, "-c", program], text=True, timeout=300)
    assert output == "[]\n"


def test_waiting_may_have_an_end():
    context = mp.spawn(time.sleep, nprocs=2, join=False, start_method="fork")
    assert context.join() and len(context.pids()) == 2  # they sleep for 0 and 1 seconds
    context = mp.spawn(fail, nprocs=1, join=False, start_method="fork")
    assert not context.join(timeout=0.1)
    context.processes[0].kill()
    with pytest.raises(mp.ProcessExitedError, match="signal 9"):
        context.join(timeout=60)


def send_and_die(tensors):
    tensors.put(mge.Tensor([1.0]))
    tensors.close()
    tensors.join_thread()
    os._exit(0)


def test_ended_sender_is_an_error():
    context = mp.get_context(METHODS[0])
    tensors = context.Queue()
    process = context.Process(target=send_and_die, args=(tensors,))
    process.start()
    process.join(60)
    with pytest.raises(mp.SenderGoneError, match="has ended before it was received"):
        tensors.get(timeout=60)


def copied(tensor):
    return F.copy(tensor)


def test_module_replaces_pythons_module():
    assert set(multiprocessing.__all__) <= set(mp.__all__)
    assert mp.Process is multiprocessing.Process and mp.cpu_count() > 0
    with mp.get_context(METHODS[0]).Pool(2) as pool:
        tensors = [mge.Tensor([float(k)]) for k in range(4)]
        doubled = pool.map(copied, tensors)
        assert [t.item() for t in doubled] == [0, 1, 2, 3]


def test_sharing_keeps_the_value_and_the_object():
    weight = mge.Parameter([1.0, 2.0])
    assert not weight.is_shared() and weight.share_memory() is weight and weight.is_shared()
    place = weight.numpy().ctypes.data
    weight *= 2
    weight[0] = 5
    assert weight.share_memory().numpy().ctypes.data == place
    np.testing.assert_array_equal(weight.numpy(), [5, 4])
    value = weight * 1
    assert not value.is_shared()


def hold(tensors, done):
    tensor = tensors.get()
    done.put(float(tensor.sum()))
    done.get()
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.skipif(not ON_GPU, reason="CPU memory lives as long as its references")
def test_gpu_memory_lives_as_long_as_its_references():
    context = mp.get_context("spawn")
    tensors, done = context.Queue(), context.Queue()
    process = context.Process(target=hold, args=(tensors, done), daemon=True)
    process.start()
    sent = F.ones((1 << 20,))
    tensors.put(sent)
    assert done.get(timeout=60) == 1 << 20
    del sent
    _mge.collect_loans()
    there = mge.device.get_allocated_memory("gpu0")
    assert there >= 4 << 20  # the other process has it
    done.put(None)
    process.join(60)  # it ends without a word
    mge.device.coalesce_free_memory()
    assert mge.device.get_allocated_memory("gpu0") <= there - (4 << 20)


def keep_summing(index, tensor):
    tensor.sum().item()


@pytest.mark.skipif(not ON_GPU, reason="a child of fork() can use a CPU")
def test_forked_child_gets_an_error_that_names_spawn():
    with pytest.raises(mp.ProcessRaisedError, match="start processes by spawn"):
        mp.spawn(keep_summing, (mge.Tensor([1.0]),), nprocs=1, start_method="fork")
