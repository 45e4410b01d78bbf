# SPDX-License-Identifier: Apache-2.0
"""Training in the workers of Ray Train, which ``init_process_group()`` connects."""

import os
import secrets
from collections.abc import Callable
from typing import Any

import ray.train
import ray.util
from ray.train.backend import Backend, BackendConfig
from ray.train.v2.api.data_parallel_trainer import DataParallelTrainer

from .run import RESTARTS, free_port


def _set_variables(shared: dict[str, str]) -> None:
    """Set torchrun's variables in a worker."""
    context = ray.train.get_context()
    own = {
        "RANK": context.get_world_rank(),
        "WORLD_SIZE": context.get_world_size(),
        "LOCAL_RANK": context.get_local_rank(),
    }
    os.environ.update(shared | {name: str(value) for name, value in own.items()})
    cpus = ray.get_runtime_context().get_assigned_resources().get("CPU", 1)
    os.environ.setdefault("MGE_THREADS", str(max(1, int(cpus))))


class _MGEBackend(Backend):
    """Sets the variables of each worker. One object serves a run and all its restarts."""

    _starts = 0

    def on_training_start(self, worker_group, backend_config) -> None:
        hosts = worker_group.execute(ray.util.get_node_ip_address)
        shared = {
            "MASTER_ADDR": hosts[0] if len(set(hosts)) > 1 else "127.0.0.1",
            "MASTER_PORT": str(worker_group.execute_single(0, free_port)),
            "MGE_DISTRIBUTED_SECRET": secrets.token_hex(32),
            RESTARTS: str(self._starts),
        }
        self._starts += 1
        worker_group.execute(_set_variables, shared)


class _MGEConfig(BackendConfig):
    @property
    def backend_cls(self) -> type[Backend]:
        return _MGEBackend


class MGETrainer(DataParallelTrainer):
    """A trainer of Ray Train in whose workers ``init_process_group()`` needs no arguments.

    Ray starts the workers again after a failure if the run's ``FailureConfig`` says so. The
    function then loads its last checkpoint; ``get_restart_count()`` returns the number of restarts.

    Args:
        train_loop_per_worker: the function that each worker runs.
        options: arguments of Ray's ``DataParallelTrainer``.
    Example:
        >>> from ray.train import ScalingConfig
        >>> def train():
        ...     dist.init_process_group()
        >>> trainer = MGETrainer(train, scaling_config=ScalingConfig(num_workers=2))
        >>> trainer.fit()  # doctest: +SKIP
    """

    def __init__(self, train_loop_per_worker: Callable, **options: Any) -> None:
        super().__init__(train_loop_per_worker, backend_config=_MGEConfig(), **options)
