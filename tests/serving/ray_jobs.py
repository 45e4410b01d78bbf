# SPDX-License-Identifier: Apache-2.0
"""Jobs in Ray on two workers, one of which is killed.

    ray_jobs.py batches MODEL FOLDER
    ray_jobs.py serve MODEL FOLDER

MODEL has an input "data" (batch, 3, 16, 16). FOLDER gets the outputs, or the answers.
"""

import json
import os
import signal
import sys
import time
from pathlib import Path

import numpy as np
import ray

from megengine.serving.ray import Predictor, deployment


def once(folder):
    """True for the first caller of all processes."""
    try:
        (Path(folder) / "killed").touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


class DyingPredictor(Predictor):
    """Kills its process in the middle of the work, once in the whole job."""

    def __init__(self, path, folder):
        super().__init__(path)
        self._folder, self._calls = folder, 0

    def __call__(self, batch):
        self._calls += 1
        if self._calls == 2 and once(self._folder):
            os.kill(os.getpid(), signal.SIGKILL)
        return super().__call__(batch)


def rows_of(numbers):
    return np.stack([np.random.RandomState(i).rand(3, 16, 16) for i in numbers]).astype("float32")


def batches(model, folder):
    data = ray.data.range(240, override_num_blocks=8)
    data = data.map_batches(lambda batch: {"id": batch["id"], "data": rows_of(batch["id"])})
    scored = data.map_batches(
        DyingPredictor,
        fn_constructor_kwargs={"path": model, "folder": folder},
        batch_size=10,
        concurrency=2,
        num_cpus=0.5,
    )
    rows = scored.take_all()
    assert (Path(folder) / "killed").exists()
    np.savez(
        Path(folder) / "scores.npz",
        id=[row["id"] for row in rows],
        score=np.stack([row["score"] for row in rows]),
    )


def replica_processes():
    """The process numbers of replicas."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            title = entry.joinpath("cmdline").read_bytes()
        except OSError:
            continue
        if title.startswith(b"ray::ServeReplica"):
            found.append(int(entry.name))
    return found


def answers(model, folder):
    from ray import serve

    handle = serve.run(deployment(model, replicas=2, threads=1), route_prefix="/")
    pending = set(range(60))
    scores = {}
    before = replica_processes()
    assert len(before) == 2, before
    end = time.monotonic() + 60
    while pending and time.monotonic() < end:
        calls = {i: handle.predict.remote({"data": rows_of([i])}) for i in sorted(pending)[:20]}
        if len(scores) >= 20 and once(folder):
            os.kill(before[0], signal.SIGKILL)
        for i, call in calls.items():
            try:
                scores[i] = call.result(timeout_s=30)["score"][0].tolist()
                pending.discard(i)
            except Exception as error:
                print("asked again:", type(error).__name__)
    (Path(folder) / "answers.json").write_text(json.dumps([scores[i] for i in range(60)]))
    serve.shutdown()


if __name__ == "__main__":
    kind, *arguments = sys.argv[1:]
    ray.init(num_cpus=2, include_dashboard=False, object_store_memory=100 << 20)
    {"batches": batches, "serve": answers}[kind](*arguments)
    ray.shutdown()
