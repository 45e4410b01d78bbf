# SPDX-License-Identifier: Apache-2.0
"""Times training steps in Python while the workers of a DataLoader share the processors.

Each engine trains the same small convolutional network on 32 x 32 pictures that its own DataLoader
crops and normalises in worker processes. The engines take turns in rounds; mge-openmp is MGE on
OpenMP's threads. Prints a Markdown table of the median, mean and 99th percentile of a step in ms
and of the pictures per second.

    training.py [--workers 0,2] [--rounds 5] [--steps 60] [--peers build/peers]
"""

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
BATCH, WARM_UP = 64, 10


def crop_and_normalise(picture, random):
    """Augment a picture (1, 32, 32): a shifted crop, then zero mean and unit variance."""
    padded = np.pad(picture, ((0, 0), (4, 4), (4, 4)))
    y, x = random.integers(0, 9, 2)
    crop = padded[:, y : y + 32, x : x + 32]
    return ((crop - crop.mean()) / (crop.std() + 1e-5)).astype(np.float32)


class Pictures:
    """Random pictures and labels, the same for every engine."""

    def __init__(self, count):
        random = np.random.default_rng(0)
        self.pictures = random.random((1024, 1, 32, 32), dtype=np.float32)
        self.labels = random.integers(0, 10, 1024)
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        picture = crop_and_normalise(self.pictures[index % 1024], np.random.default_rng(index))
        return picture, np.int32(self.labels[index % 1024])


def mge_trainer(count, workers):
    """Return an iterable of batches and the function that trains on one."""
    import megengine as mge
    import megengine.autodiff as autodiff
    import megengine.functional as F
    import megengine.module as M
    from megengine import data, optimizer

    class Source(Pictures, data.dataset.Dataset):
        pass

    net = M.Sequential(
        M.Conv2d(1, 16, 5), M.ReLU(), M.MaxPool2d(2), M.Conv2d(16, 32, 5), M.ReLU(), M.MaxPool2d(2)
    )
    head = M.Sequential(M.Linear(800, 128), M.ReLU(), M.Linear(128, 10))
    gradients = autodiff.GradManager().attach([*net.parameters(), *head.parameters()])
    sgd = optimizer.SGD([*net.parameters(), *head.parameters()], lr=0.01, momentum=0.9)
    source = Source(count)
    sampler = data.SequentialSampler(source, batch_size=BATCH, drop_last=True)

    def step(batch):
        with gradients:
            features = F.flatten(net(mge.Tensor(batch[0])), 1)
            loss = F.nn.cross_entropy(head(features), mge.Tensor(batch[1]))
            gradients.backward(loss)
        sgd.step().clear_grad()
        return float(loss.item())

    return data.DataLoader(source, sampler=sampler, num_workers=workers), step


def torch_trainer(count, workers):
    """Return an iterable of batches and the function that trains on one."""
    import torch
    from torch import nn

    torch.set_num_threads(len(os.sched_getaffinity(0)))
    net = nn.Sequential(
        *(nn.Conv2d(1, 16, 5), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(16, 32, 5), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Flatten(), nn.Linear(800, 128), nn.ReLU(), nn.Linear(128, 10)),
    )
    sgd = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)

    def step(batch):
        sgd.zero_grad()
        loss = nn.functional.cross_entropy(net(batch[0]), batch[1].long())
        loss.backward()
        sgd.step()
        return loss.item()

    loader = torch.utils.data.DataLoader(
        Pictures(count), batch_size=BATCH, num_workers=workers, drop_last=True
    )
    return loader, step


def train(engine, workers, steps):
    """Train as one engine; print the seconds of each step and of all of them with the loading."""
    trainer = torch_trainer if engine == "torch" else mge_trainer
    batches, step = trainer((steps + WARM_UP) * BATCH, workers)
    times, begin = [], 0.0
    for index, batch in enumerate(batches):
        if index == WARM_UP:
            begin = time.perf_counter()
        started = time.perf_counter()
        loss = step(batch)
        times.append(time.perf_counter() - started)
    total = time.perf_counter() - begin
    print(json.dumps({"steps": times[WARM_UP:], "total": total, "loss": loss}))


def run_engine(engine, workers, options):
    python = options.peers / "bin/python" if engine == "torch" else Path(sys.executable)
    environment = dict(os.environ, MGE_THREAD_TEAM="openmp" if engine.endswith("openmp") else "own")
    command = [python, __file__, "--as", engine, "--workers", workers, "--steps", options.steps]
    done = subprocess.run(
        list(map(str, command)), env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"{engine} ended with status {done.returncode}:\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def compare(options, workers):
    engines = ["mge", "mge-openmp", "torch"]
    results = {engine: [] for engine in engines}
    for index in range(options.rounds):
        for engine in engines if index % 2 == 0 else engines[::-1]:
            results[engine].append(run_engine(engine, workers, options))
    for engine, runs in results.items():
        steps = np.concatenate([run["steps"] for run in runs]) * 1e3
        pictures = np.median([options.steps * BATCH / run["total"] for run in runs])
        low, high = np.quantile(steps, (0.5, 0.99))
        print(
            f"| {workers} | {engine} | {low:.1f} / {steps.mean():.1f} / {high:.1f} "
            f"| {pictures:.0f} |",
            flush=True,
        )


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--workers", default="0,2", help="of the DataLoader; several in turn")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=60, help="of each engine in a round")
    parser.add_argument("--peers", type=Path, default=ROOT / "build/peers")
    parser.add_argument("--as", dest="engine", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.engine:
        train(options.engine, int(options.workers), options.steps)
        return
    print("| workers | engine | step: median / mean / 99th percentile, ms | pictures/s |")
    print("|---|---|---|---|")
    for workers in options.workers.split(","):
        compare(options, workers)


if __name__ == "__main__":
    main()
