# SPDX-License-Identifier: Apache-2.0
"""One script that trains under every launcher and over every engine, with equal bits."""

import os
import shutil
import subprocess
import sys

import pytest

SCRIPT = """
import hashlib, pathlib, sys
import numpy as np
import megengine as mge
import megengine.distributed as dist
import megengine.distributed.checkpoint as checkpoint
import megengine.functional as F
import megengine.module as M
from megengine.autodiff import GradManager
from megengine.distributed.launch import find_launch
from megengine.optimizer import Adam


def train(folder):
    mge.random.seed(7 + dist.get_rank())
    net = M.Sequential(*[M.Linear(64, 64) for _ in range(4)])
    dist.bcast_list_(net.tensors())
    callback = dist.make_allreduce_cb("mean", bucket_bytes=20000)
    manager = GradManager().attach(net.parameters(), callbacks=[callback])
    optimizer = dist.ShardedOptimizer(Adam, net.parameters(), lr=0.01)

    def step(x):
        with manager:
            manager.backward((F.relu(net(x)) ** 2).mean())
        optimizer.step().clear_grad()

    traced = mge.jit.trace(step, symbolic=True)
    for i in range(6):
        x = np.random.default_rng([i, dist.get_rank()]).standard_normal((8, 64))
        (traced if i > 2 else step)(mge.Tensor(x.astype("float32")))
    checkpoint.save(folder, 6, net, optimizer)
    values = b"".join(p.numpy().tobytes() for p in net.parameters())
    line = f"{dist.get_world_size()} {hashlib.sha256(values).hexdigest()}"
    pathlib.Path(f"{folder}.{dist.get_rank()}").write_text(line)


if __name__ == "__main__":
    if find_launch().world_size > 1:
        dist.init_process_group(backend=sys.argv[2])
        train(sys.argv[1])
    else:
        dist.launcher(train, n_gpus=int(sys.argv[3]), device_type="cpu")(sys.argv[1])
"""


def has_engine(engine):
    folder = os.environ.get("MGE_BUILD_DIR", "")
    return os.path.exists(os.path.join(folder, "lib", f"libmge_{engine}.so"))


def commands(count):
    """Yields name, command before the script, and engine of each launcher."""
    launch = [sys.executable, "-m", "megengine.distributed.launch", "-n", str(count)]
    yield "launch", launch, "auto"
    yield "launch, gloo", launch, "gloo"
    for engine in ("openmpi", "mpich"):
        flags = ["--allow-run-as-root", "--oversubscribe"] if engine == "openmpi" else []
        command = [f"mpirun.{engine}", *flags, "-n", str(count), sys.executable]
        yield f"mpirun of {engine}", command, engine


def values_of(command, script, folder, engine, count):
    """The lines that the processes wrote, which are equal."""
    line = [*map(str, command), str(script), str(folder), engine, str(count)]
    done = subprocess.run(line, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    lines = {(folder.parent / f"{folder.name}.{rank}").read_text() for rank in range(count)}
    assert len(lines) == 1
    return lines.pop()


@pytest.mark.parametrize("count", [2, 3])
def test_one_script_gives_the_same_bits_under_each_launcher(tmp_path, count):
    script = tmp_path / "train.py"
    script.write_text(SCRIPT)
    expected = values_of([sys.executable], script, tmp_path / "forked", "auto", count)
    assert expected.startswith(f"{count} ")
    tried = 0
    for name, command, engine in commands(count):
        if shutil.which(command[0]) is None or not (engine == "auto" or has_engine(engine)):
            continue
        found = values_of(command, script, tmp_path / f"run{tried}", engine, count)
        assert found == expected, name
        tried += 1
    assert tried > 0
