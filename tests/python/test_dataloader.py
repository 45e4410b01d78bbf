# SPDX-License-Identifier: Apache-2.0
"""DataLoader: order, workers, streams, and what goes wrong in workers."""

import multiprocessing
import os
import signal
import threading
import time

import numpy as np
import pytest

import megengine as mge
from megengine.data import (
    DataLoader,
    RandomSampler,
    SequentialSampler,
    StreamSampler,
    get_worker_info,
)
from megengine.data.dataset import ArrayDataset, Dataset, StreamDataset
from megengine.data.transform import Transform

IMAGES = np.arange(40, dtype=np.float32).reshape(20, 2)
LABELS = np.arange(20, dtype=np.int32)
DATA = ArrayDataset(IMAGES, LABELS)


class Calls(Dataset):
    """A data set whose items come from a function."""

    def __init__(self, function, length=8):
        self.function, self.length = function, length

    def __getitem__(self, index):
        return self.function(index)

    def __len__(self):
        return self.length


class Numbers(StreamDataset):
    """Rising numbers, shared by the workers if wanted."""

    def __init__(self, count, is_shared=False):
        self.count, self.is_shared = count, is_shared

    def __iter__(self):
        info = get_worker_info()
        if self.is_shared and info:
            return iter(range(info.idx, self.count, info.worker))
        return iter(range(self.count))


@pytest.mark.parametrize("kwargs", [{}, {"num_workers": 1}, {"preload": True}])
def test_an_epoch_has_a_length(kwargs):
    batches = iter(DataLoader(DATA, SequentialSampler(DATA, 3), **kwargs))
    assert len(batches) == 7 and len(next(batches)[1]) == 3 and len(batches) == 7
    assert iter(batches) is batches and len(list(batches)) == 6
    with pytest.raises(TypeError, match="len"):
        len(iter(DataLoader(Numbers(3), StreamSampler(2))))


@pytest.mark.parametrize("workers", [0, 1, 3])
def test_batches_are_in_order(workers):
    loader = DataLoader(DATA, SequentialSampler(DATA, 3), num_workers=workers)
    assert len(loader) == 7
    for _ in range(2):
        batches = list(loader)
        assert len(batches) == 7
        np.testing.assert_array_equal(np.concatenate([b[1] for b in batches]), LABELS)
        np.testing.assert_array_equal(np.concatenate([b[0] for b in batches]), IMAGES)


def test_workers_get_the_samplers_indices():
    sampler = RandomSampler(DATA, 4, drop_last=True, seed=3)
    labels = np.concatenate([b[1] for b in DataLoader(DATA, sampler, num_workers=2)])
    assert sorted(labels) == list(range(20))


def test_a_slow_worker_does_not_change_the_order():
    def item(k):
        time.sleep(0.02 if k % 2 else 0)
        return k

    loader = DataLoader(Calls(item), num_workers=2)
    assert [int(b[0]) for b in loader] == list(range(8))


def test_large_batches_pass_through_pipes():
    big = np.arange(300_000, dtype=np.float32)
    loader = DataLoader(Calls(lambda k: big + k, 4), num_workers=2)
    assert [b[0, 0] for b in loader] == [0, 1, 2, 3]


def test_a_large_task_does_not_wait_for_a_large_batch():
    size = 50_000  # as numbers of samples and as a batch more than what a pipe takes at once
    data = Calls(lambda k: k, 100_000)
    loader = DataLoader(
        data, SequentialSampler(data, size, indices=[70_000] * 4 * size), None, None, 1
    )
    process = multiprocessing.get_context("fork").Process(target=lambda: list(loader))
    process.start()
    process.join(300)
    process.kill()
    assert process.exitcode == 0


@pytest.mark.parametrize("workers", [0, 1])
def test_transforms_and_collators_need_no_base_class(workers):
    class Doubled:
        def apply(self, input):
            return 2 * input

        def apply_batch(self, inputs):
            return [self.apply(sample) + 100 for sample in inputs]

    class Listed:
        def apply(self, inputs):
            return list(inputs)

    data = Calls(lambda k: k, 3)
    sampler = SequentialSampler(data, 2)
    loader = DataLoader(data, sampler, Doubled(), Listed(), num_workers=workers)
    assert list(loader) == [[100, 102], [104]]
    # A stream has no batches before they are put together.
    loader = DataLoader(Numbers(3), StreamSampler(2), Doubled(), Listed(), num_workers=workers)
    assert list(loader) == [[0, 2], [4]]


def test_transforms_and_collators_need_their_methods():
    with pytest.raises(TypeError, match="transform should have a method apply_batch, got function"):
        DataLoader(DATA, transform=lambda x: x)
    with pytest.raises(TypeError, match="transform should have a method apply, got int"):
        DataLoader(Numbers(3), transform=3)
    with pytest.raises(TypeError, match="collator should have a method apply, got list"):
        DataLoader(DATA, collator=[])


def test_transform_runs_in_the_workers():
    class Add(Transform):
        def apply(self, input):
            return input[0] + 1, os.getpid()

    batches = list(DataLoader(DATA, SequentialSampler(DATA, 10), Add(), num_workers=1))
    assert batches[0][0][0, 0] == 1 and batches[0][1][0] != os.getpid()


def test_preload_returns_tensors():
    batches = list(DataLoader(DATA, SequentialSampler(DATA, 5), preload=True))
    assert len(batches) == 4 and all(isinstance(t, mge.Tensor) for t in batches[0])
    np.testing.assert_array_equal(batches[3][1].numpy(), LABELS[15:])


def test_streams():
    loader = DataLoader(Numbers(5), StreamSampler(2))
    assert [b.tolist() for b in loader] == [[0, 1], [2, 3], [4]]
    assert [b.tolist() for b in list(loader)] == [[0, 1], [2, 3], [4]]
    with pytest.raises(TypeError, match="does not have length"):
        len(loader)


def test_a_stream_is_read_once_for_all_workers():
    loader = DataLoader(Numbers(7), StreamSampler(2), num_workers=2)
    assert [b.tolist() for b in loader] == [[0, 1], [2, 3], [4, 5], [6]]

    class Where(Transform):
        def apply(self, input):
            return os.getpid()

    makers = DataLoader(Numbers(8), StreamSampler(2), Where(), num_workers=2)
    found = {pid for b in makers for pid in b.tolist()}
    assert len(found) == 2 and os.getpid() not in found


def test_a_stream_is_read_by_each_worker_if_wanted():
    each = DataLoader(Numbers(4), StreamSampler(2), num_workers=2, parallel_stream=True)
    assert sorted(sum((b.tolist() for b in each), [])) == [0, 0, 1, 1, 2, 2, 3, 3]
    shared = DataLoader(Numbers(7, True), StreamSampler(2), num_workers=2, parallel_stream=True)
    assert sorted(sum((b.tolist() for b in shared), [])) == list(range(7))
    assert get_worker_info() is None


class Stalling(StreamDataset):
    """One sample, then none until the event is set."""

    def __init__(self, event):
        self.event = event

    def __iter__(self):
        yield 1
        self.event.wait()
        raise KeyError("after the wait")


@pytest.mark.parametrize("workers", [0, 1])
def test_a_stream_that_stalls_is_noticed(workers):
    event = threading.Event()
    loader = DataLoader(Stalling(event), StreamSampler(1), num_workers=workers, timeout=0.5)
    with pytest.raises(RuntimeError, match="timeout.*made no sample within 0.5 seconds"):
        list(loader)
    event.set()


@pytest.mark.parametrize("workers", [0, 1])
@pytest.mark.parametrize("timeout", [0, 60])
def test_an_error_of_a_stream_reaches_the_caller(workers, timeout):
    event = threading.Event()
    event.set()
    loader = DataLoader(Stalling(event), StreamSampler(1), num_workers=workers, timeout=timeout)
    with pytest.raises(KeyError, match="after the wait"):
        list(loader)


def test_a_time_limit_does_not_change_a_stream():
    loader = DataLoader(Numbers(5), StreamSampler(2), timeout=60)
    assert [b.tolist() for b in loader] == [[0, 1], [2, 3], [4]]


def test_workers_are_seeded():
    def draw():
        mge.random.seed(5)
        loader = DataLoader(Calls(lambda k: np.random.random()), num_workers=2)
        return [float(b[0]) for b in loader]

    first = draw()
    assert first == draw() and len(set(first)) == 8


def test_error_in_a_worker_is_shown_and_the_loader_can_be_used_again():
    broken = True

    def item(k):
        if broken and k == 5:
            raise KeyError("sample five")
        return k

    loader = DataLoader(Calls(item), num_workers=2)
    with pytest.raises(RuntimeError, match="Caught KeyError in DataLoader worker process") as info:
        list(loader)
    assert "sample five" in str(info.value)
    broken = False
    assert len(list(loader)) == 8


def test_killed_worker_is_noticed():
    def item(k):
        if k == 2:
            os.kill(os.getpid(), signal.SIGKILL)
        return k

    with pytest.raises(RuntimeError, match="exited unexpectedly"):
        list(DataLoader(Calls(item), num_workers=2))


def test_timeout():
    loader = DataLoader(Calls(lambda k: time.sleep(3600)), num_workers=1, timeout=0.2)
    start = time.monotonic()
    with pytest.raises(RuntimeError, match="timeout"):
        next(iter(loader))
    assert (
        time.monotonic() - start < 1800
    )  # it does not wait for the worker, however busy it is here


def workers_of(iterator):
    return iterator._batches.gi_frame.f_locals["workers"]


# The worker is in the middle of its second batch, which is larger than what a pipe holds.
@pytest.mark.parametrize(
    "sent, message", [(signal.SIGSTOP, "timeout"), (signal.SIGKILL, "exited unexpectedly")]
)
def test_worker_that_stops_within_a_batch_is_noticed(sent, message):
    big = np.arange(1_000_000, dtype=np.float32)
    iterator = iter(DataLoader(Calls(lambda k: big + k), num_workers=1, timeout=1))
    next(iterator)
    workers = workers_of(iterator)
    assert workers._pipes[0].poll(300)
    signal.alarm(300)  # instead of a wait without end
    os.kill(workers._processes[0].pid, sent)
    with pytest.raises(RuntimeError, match=message):
        list(iterator)
    signal.alarm(0)


def test_stopped_worker_that_reads_no_task_is_noticed():
    data = Calls(lambda k: k, 200_000)
    sampler = SequentialSampler(data, 50_000, indices=[70_000] * 200_000)
    iterator = iter(DataLoader(data, sampler, num_workers=1, timeout=1))
    signal.alarm(300)
    with pytest.raises(RuntimeError, match="timeout"):
        for _ in iterator:
            os.kill(workers_of(iterator)._processes[0].pid, signal.SIGSTOP)
    signal.alarm(0)


def test_workers_end_when_iteration_is_abandoned():
    iterator = iter(DataLoader(DATA, SequentialSampler(DATA, 1), num_workers=2))
    next(iterator)
    processes = workers_of(iterator)._processes
    assert all(p.is_alive() for p in processes)
    iterator.close()
    assert not any(p.is_alive() for p in processes)


def test_sample_that_cannot_be_sent_is_an_error():
    loader = DataLoader(
        Calls(lambda k: {"f": k}),
        num_workers=1,
        collator=type("Bad", (mge.data.Collator,), {"apply": lambda self, inputs: lambda: None})(),
    )
    with pytest.raises(RuntimeError, match="Caught"):
        list(loader)


@pytest.mark.parametrize("option", ["num_workers", "timeout"])
def test_negative_options_are_refused(option):
    with pytest.raises(ValueError, match=option):
        DataLoader(DATA, **{option: -1})


def test_sampler_must_fit_the_data_set():
    with pytest.raises(AssertionError, match="StreamSampler"):
        DataLoader(Numbers(3), SequentialSampler(DATA))
    with pytest.raises(AssertionError, match="MapSampler"):
        DataLoader(DATA, StreamSampler(1))
    with pytest.raises(AssertionError, match="Dataset"):
        DataLoader([1, 2])


def test_workers_can_compute_with_tensors():
    weight = mge.Tensor(np.ones((64, 64), np.float32))
    mge.functional.matmul(weight, weight)  # the parent's threads are running

    class Multiply(Transform):
        def apply(self, input):
            x = mge.Tensor(np.full((64, 64), input[1], np.float32))
            return mge.functional.matmul(x, weight).numpy()

    loader = DataLoader(DATA, SequentialSampler(DATA, 2), Multiply(), num_workers=2, timeout=600)
    for k, batch in enumerate(loader):
        np.testing.assert_array_equal(batch[:, 0, 0], [64 * 2 * k, 64 * (2 * k + 1)])
