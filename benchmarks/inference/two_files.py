# SPDX-License-Identifier: Apache-2.0
"""Two model files in one process, run in turns.

Differences between processes, such as memory placement and the current speed of the machine, affect
both alike.

    two_files.py a.onnx a.mge --rounds 15
"""

import argparse
import statistics
import time

import numpy as np

from megengine import _mge


def inputs_of(model):
    random = np.random.default_rng(0)
    for shape, dtype in model.input_specs:
        dtype = np.dtype(dtype)
        is_real = dtype.kind == "f"
        yield random.normal(size=shape).astype(dtype) if is_real else np.ones(shape, dtype)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs=2)
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    models = [_mge.load(path) for path in options.files]
    arrays = [list(inputs_of(model)) for model in models]
    times = [[], []]
    for turn in range(options.rounds + 1):
        # The first one may find the caches cold.
        for which in (0, 1) if turn % 2 else (1, 0):
            start = time.perf_counter()
            [y.numpy() for y in models[which].run(arrays[which])]
            if turn:  # the first runs compile
                times[which].append((time.perf_counter() - start) * 1e3)
    for path, each in zip(options.files, times, strict=True):
        print(f"{path}: minimum {min(each):.2f} ms, median {statistics.median(each):.2f}")
    pairs = [a / b for a, b in zip(*times, strict=True)]
    low, middle, high = statistics.quantiles(pairs, n=4)
    ratio = min(times[0]) / min(times[1])
    print(
        f"ratio of minima {ratio:.3f}; of runs side by side {middle:.3f} ({low:.3f} to {high:.3f})"
    )


if __name__ == "__main__":
    main()
