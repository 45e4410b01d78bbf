# SPDX-License-Identifier: Apache-2.0
"""Checkpoints that several processes write and read."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from process_groups import in_processes

import megengine as mge
import megengine.distributed as dist
import megengine.functional as F
import megengine.module as M
import megengine.optimizer as optim
from megengine.autodiff import GradManager
from megengine.distributed import checkpoint

pytestmark = pytest.mark.usefixtures("no_process_group")


class Net(M.Module):
    def __init__(self):
        super().__init__()
        self.conv = M.Conv2d(1, 4, 3)
        self.norm = M.BatchNorm2d(4)
        self.drop = M.Dropout(0.3)
        self.out = M.Linear(4, 3)

    def forward(self, x):
        return self.out(self.drop(F.relu(self.norm(self.conv(x))).mean((2, 3))))


def made(kind):
    mge.random.seed(11 + (dist.get_rank() if dist.is_distributed() else 0))
    net = Net()
    if dist.is_distributed():
        dist.bcast_list_(net.tensors())
    if kind == "plain":
        return net, optim.Adam(net.parameters(), lr=0.01)
    return net, dist.ShardedOptimizer(getattr(optim, kind), net.parameters(), lr=0.01)


def train(net, optimizer, steps):
    callbacks = [dist.make_allreduce_cb("mean")]
    manager = GradManager().attach(net.parameters(), callbacks=callbacks)
    for step in steps:
        random = np.random.default_rng(100 * dist.get_rank() + step)
        images = mge.Tensor(random.standard_normal((4, 1, 6, 6)).astype(np.float32))
        labels = mge.Tensor(random.integers(0, 3, 4).astype(np.int32))
        with manager:
            manager.backward(F.nn.cross_entropy(net(images), labels))
        optimizer.step().clear_grad()


def values_of(net, optimizer):
    state = optimizer.state_dict()["state"]
    found = [value for _, value in sorted(net.state_dict().items())]
    return found + [v for _, states in sorted(state.items()) for _, v in sorted(states.items())]


def assert_same(found, expected):
    assert len(found) == len(expected)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("kind", ["plain", "Adam", "LAMB"])
@pytest.mark.parametrize("count", [1, 2, 3])
def test_training_resumes_as_if_uninterrupted(tmp_path, kind, count):
    def whole():
        net, optimizer = made(kind)
        train(net, optimizer, range(6))
        return values_of(net, optimizer)

    def first():
        net, optimizer = made(kind)
        assert checkpoint.load(tmp_path, net, optimizer) is None
        train(net, optimizer, range(3))
        checkpoint.save(tmp_path, 3, net, optimizer, {"epoch": 1})
        train(net, optimizer, range(3, 5))

    def second():
        net, optimizer = made(kind)
        mge.random.seed(99)
        assert checkpoint.load(tmp_path, net, optimizer) == {"step": 3, "epoch": 1}
        train(net, optimizer, range(3, 6))
        return values_of(net, optimizer)

    expected = in_processes(count, whole)
    in_processes(count, first)
    for found, wanted in zip(in_processes(count, second), expected, strict=True):
        assert_same(found, wanted)


@pytest.mark.parametrize("before,after", [("Adam", "plain"), ("plain", "Adam"), ("LAMB", "LAMB")])
def test_another_number_of_processes_reads_it(tmp_path, before, after):
    def write():
        net, optimizer = made(before)
        train(net, optimizer, range(2))
        checkpoint.save(tmp_path, 2, net, optimizer)
        return values_of(net, optimizer)

    def read():
        net, optimizer = made(after)
        checkpoint.load(tmp_path, net, optimizer)
        return values_of(net, optimizer)

    expected = in_processes(3, write)[0]
    for count in (1, 2, 4):
        for found in in_processes(count, read):
            assert_same(found, expected)


def test_other_programs_read_the_model(tmp_path):
    def write():
        net, optimizer = made("Adam")
        checkpoint.save(tmp_path, 0, net, optimizer)
        return dict(net.state_dict(keep_var=False))

    expected = in_processes(2, write)[0]
    folder = tmp_path / "step-00000000"
    index = json.loads((folder / "model.safetensors.index.json").read_text())
    assert set(index) == {"metadata", "weight_map"} and index["metadata"]["total_size"] > 0
    homes = {f"model-0000{i}-of-00002.safetensors" for i in (1, 2)}
    assert set(index["weight_map"].values()) == homes
    tensors = mge.load(folder / "model.safetensors.index.json")
    assert set(tensors) == set(expected)
    for name, value in expected.items():
        np.testing.assert_array_equal(tensors[name].numpy().reshape(value.shape), value)
    other = pytest.importorskip("safetensors.numpy")
    found = {name for home in homes for name in other.load_file(folder / home)}
    assert found == set(expected)


def test_old_checkpoints_are_deleted_and_one_can_be_replaced(tmp_path):
    values = {"a": mge.Tensor([1.0])}
    for step in (1, 2, 3, 3):
        values["a"] += 1
        checkpoint.save(tmp_path, step, values, keep=2)
    assert sorted(os.listdir(tmp_path)) == ["step-00000002", "step-00000003"]
    assert checkpoint.latest_step(tmp_path) == 3
    found = {}
    assert checkpoint.load(tmp_path, found) == {"step": 3} and found["a"].numpy() == 5
    assert checkpoint.load(tmp_path, found, step=2) == {"step": 2} and found["a"].numpy() == 3


def test_errors(tmp_path):
    w = mge.Parameter([1.0])
    with pytest.raises(ValueError, match="at least 0, got -1"):
        checkpoint.save(tmp_path, -1)
    with pytest.raises(TypeError, match="cannot hold <object"):
        checkpoint.save(tmp_path, 1, extra={"a": object()})
    checkpoint.save(tmp_path, 1, {"w": w})
    with pytest.raises(FileNotFoundError, match="no checkpoint of step 7"):
        checkpoint.load(tmp_path, {}, step=7)
    with pytest.raises(KeyError, match="has no optimizer"):
        checkpoint.load(tmp_path, None, optim.SGD([w], lr=0.1))
    checkpoint.save(tmp_path, 2, None, optim.SGD([w], lr=0.1))
    dist.init_process_group("localhost", 0, 1, 0, 0)
    sharded = dist.ShardedOptimizer(optim.SGD, [w], lr=0.1, momentum=0.9)
    with pytest.raises(KeyError, match="no state 'momentum_buffer' of parameter 0"):
        checkpoint.load(tmp_path, None, sharded)


def test_all_processes_raise_when_one_cannot_write(tmp_path):
    def work():
        if dist.get_rank() == 1:

            def fail(*arguments):
                raise OSError(28, "No space left on device")

            checkpoint._write_tensors = fail
        with pytest.raises(OSError, match=r"process 1 cannot write .* No space left"):
            checkpoint.save(tmp_path, 1, {"a": mge.Tensor([1.0]), "b": mge.Tensor([2.0])})
        return checkpoint.latest_step(tmp_path)

    assert in_processes(2, work) == [None, None]


def test_all_processes_raise_when_a_tensor_has_no_form_in_the_file(tmp_path):
    def work():
        tensors = {"a": F.ones(100), "b": F.complex(mge.Tensor([1.0]), mge.Tensor([2.0]))}
        try:
            checkpoint.save(tmp_path, 1, tensors)
        except (OSError, TypeError) as error:
            return type(error).__name__, str(error)

    (_, shared), own = in_processes(2, work)
    assert own[0] == "TypeError" and "has no dtype for 'b'" in own[1]
    assert "process 1 cannot write" in shared and "has no dtype for 'b'" in shared


def test_a_checkpoint_of_an_earlier_step_is_kept(tmp_path):
    for step in (10, 20, 5):
        assert checkpoint.save(tmp_path, step, {"a": mge.Tensor([1.0])}, keep=2).exists()
    assert checkpoint.load(tmp_path, {}, step=5) == {"step": 5}


KILLED = """
import os, signal, sys
import megengine as mge
import megengine.distributed as dist
from megengine.distributed import checkpoint

folder, rank_to_kill, last_call = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])

def work():
    checkpoint.save(folder, 1, {"a": mge.Tensor([1.0]), "b": mge.Tensor([1.0])})
    calls = 0

    def counted(function):
        def wrapper(*arguments, **options):
            nonlocal calls
            if calls == last_call and dist.get_rank() == rank_to_kill:
                os.kill(os.getpid(), signal.SIGKILL)
            calls += 1
            return function(*arguments, **options)
        return wrapper

    for name in ("fsync", "rename", "open", "mkdir", "unlink"):
        setattr(os, name, counted(getattr(os, name)))
    values = {"a": mge.Tensor([2.0]), "b": mge.Tensor([2.0])}
    checkpoint.save(folder, 1, values)
    checkpoint.save(folder, 2, values)

dist.launcher(work, n_gpus=2, device_type="cpu")()
"""


@pytest.mark.parametrize("rank", [0, 1])
def test_a_process_that_is_killed_while_it_saves_leaves_the_earlier_checkpoint(tmp_path, rank):
    script = tmp_path / "save.py"
    script.write_text(KILLED)
    seen = set()
    for last_call in range(0, 100, 1 if rank else 3):
        folder = tmp_path / f"run{last_call}"
        done = subprocess.run(
            [sys.executable, script, folder, str(rank), str(last_call)],
            capture_output=True,
            timeout=100,
            check=False,
        )
        found = {}
        step = checkpoint.load(folder, found)["step"]
        seen.add((step, float(found["a"])))
        assert found["a"].numpy() == found["b"].numpy() and (step, float(found["a"])) in (
            (1, 1.0),
            (1, 2.0),
            (2, 2.0),
        )
        if done.returncode == 0:
            break
        # The next run is not in the way of what is left.
        checkpoint.save(folder, 5, found)
        assert not list(folder.glob(".step-*.part"))
    else:
        pytest.fail("the process was killed each time")
    assert seen >= {(1, 1.0), (2, 2.0)}
