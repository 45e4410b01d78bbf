# SPDX-License-Identifier: Apache-2.0
"""Jobs of Ray Train in two workers.

    ray_training.py collectives OUTPUT
    ray_training.py restarts FOLDER

The first runs all_collectives.py. The second trains without failures, and with a worker that is
killed at two steps; FOLDER gets the parameters of each worker.
"""

import os
import signal
import sys
from pathlib import Path

import numpy as np
import ray
from ray.train import FailureConfig, RunConfig, ScalingConfig

from megengine.distributed.ray import MGETrainer

STEPS, DEATHS = 9, (1, 7)


def fit(work, config, folder, max_failures=0):
    """Runs a function in the workers."""
    failures = FailureConfig(max_failures=max_failures)
    trainer = MGETrainer(
        work,
        train_loop_config=config,
        scaling_config=ScalingConfig(num_workers=2),
        run_config=RunConfig(storage_path=str(folder), name="run", failure_config=failures),
    )
    trainer.fit()


def collectives(config):
    import all_collectives  # only the workers need it

    all_collectives.main("auto", config["output"])


def train(config):
    """Trains from the last checkpoint on."""
    import megengine as mge
    import megengine.distributed as dist
    import megengine.module as M
    from megengine.autodiff import GradManager
    from megengine.distributed import checkpoint
    from megengine.optimizer import Adam

    dist.init_process_group()
    rank, restarts = dist.get_rank(), dist.get_restart_count()
    net = M.Linear(8, 3)
    net.weight[...] = mge.Tensor(np.random.default_rng(1).standard_normal((3, 8)), "float32")
    optimizer = dist.ShardedOptimizer(Adam, net.parameters(), lr=0.01)
    manager = GradManager().attach(net.parameters(), callbacks=[dist.make_allreduce_cb("mean")])
    folder = Path(config["folder"], config["name"])
    found = checkpoint.load(folder, net, optimizer)
    for step in range(0 if found is None else found["step"], STEPS):
        data = np.random.default_rng([step, rank]).standard_normal((4, 8)).astype("float32")
        with manager:
            manager.backward((net(mge.Tensor(data)) ** 2).mean())
        if config["name"] == "killed" and DEATHS[restarts : restarts + 1] == (step,) and rank == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        optimizer.step().clear_grad()
        if step % 3 == 2:
            checkpoint.save(folder, step + 1, net, optimizer)
    np.savez(f"{folder}.{rank}.npz", restarts=restarts, weight=net.weight, bias=net.bias)


def main(kind, folder):
    ray.init(num_cpus=2, include_dashboard=False, object_store_memory=100 << 20)
    if kind == "collectives":
        fit(collectives, {"output": folder}, Path(folder).parent)
    else:
        for name in ("whole", "killed"):
            config = {"folder": folder, "name": name}
            fit(train, config, Path(folder, "ray", name), max_failures=3)
    ray.shutdown()


if __name__ == "__main__":
    main(*sys.argv[1:])
