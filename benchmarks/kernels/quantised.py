# SPDX-License-Identifier: Apache-2.0
"""The convolutions of ResNet-50 in int8 beside ours in float32, one image, each layer by itself.

    .venv/bin/python benchmarks/kernels/quantised.py

Times are CPU time of one thread, which other work on the machine disturbs little: the best of ten
medians of five runs, both kinds in turns.
"""

import statistics
import time

import numpy as np

import megengine as mge
from megengine import Tensor, jit
from megengine.core.tensor.dtype import qint8, qint32
from megengine.functional import nn, quantized

# Channels in and out, size, kernel, stride, and how many there are.
LAYERS = [
    (3, 64, 224, 7, 2, 1),
    (64, 64, 56, 1, 1, 1),
    (64, 64, 56, 3, 1, 3),
    (64, 256, 56, 1, 1, 4),
    (256, 64, 56, 1, 1, 2),
    (256, 128, 56, 1, 1, 1),
    (128, 128, 56, 3, 2, 1),
    (128, 512, 28, 1, 1, 4),
    (256, 512, 56, 1, 2, 1),
    (512, 128, 28, 1, 1, 3),
    (128, 128, 28, 3, 1, 3),
    (512, 256, 28, 1, 1, 1),
    (256, 256, 28, 3, 2, 1),
    (256, 1024, 14, 1, 1, 6),
    (512, 1024, 28, 1, 2, 1),
    (1024, 256, 14, 1, 1, 5),
    (256, 256, 14, 3, 1, 5),
    (1024, 512, 14, 1, 1, 1),
    (512, 512, 14, 3, 2, 1),
    (512, 2048, 7, 1, 1, 3),
    (1024, 2048, 14, 1, 2, 1),
    (2048, 512, 7, 1, 1, 2),
    (512, 512, 7, 3, 1, 2),
]


def kinds_of_layer(channels, filters, size, kernel, stride):
    """The layer in int8 and in float32, each with its input."""
    rng = np.random.default_rng(0)
    window = {"stride": stride, "padding": kernel // 2}
    x, weight, bias = (
        Tensor(rng.standard_normal(shape, dtype=np.float32))
        for shape in (
            (1, channels, size, size),
            (filters, channels, kernel, kernel),
            (1, filters, 1, 1),
        )
    )
    steps = [x.astype(qint8(0.03)), weight.astype(qint8(0.03)), bias.astype(qint32(9e-4))]

    @jit.trace(without_host=True, capture_as_const=True)
    def in_int8(x):
        return quantized.conv_bias_activation(
            x, *steps[1:], qint8(0.5), nonlinear_mode="relu", **window
        )

    @jit.trace(without_host=True, capture_as_const=True)
    def in_f32(x):
        return mge.functional.relu(nn.conv2d(x, weight, bias, **window))

    return (in_int8, steps[0]), (in_f32, x)


def median_of_runs(function, x):
    """Seconds of the median of five runs."""
    times = []
    for _ in range(5):
        start = time.process_time()
        function(x)
        times.append(time.process_time() - start)
    return statistics.median(times)


def main():
    mge._mge.set_threads(1)
    totals = [0.0, 0.0]
    print(f"{'layer':34} {'int8, us':>9} {'f32, us':>9} {'ratio':>6}")
    for *layer, count in LAYERS:
        kinds = kinds_of_layer(*layer)
        for function, x in kinds:
            median_of_runs(function, x)
        rounds = [[median_of_runs(*kind) for kind in kinds] for _ in range(10)]
        best = [min(times) for times in zip(*rounds, strict=True)]
        totals = [total + count * b for total, b in zip(totals, best, strict=True)]
        name = f"{count} x {layer[0]} -> {layer[1]}, {layer[2]}^2, {layer[3]}^2/{layer[4]}"
        us = [seconds * 1e6 for seconds in best]
        print(f"{name:34} {us[0]:9.0f} {us[1]:9.0f} {us[0] / us[1]:6.2f}")
    ms = [total * 1e3 for total in totals]
    print(f"{'all 53, ms':34} {ms[0]:9.2f} {ms[1]:9.2f} {ms[0] / ms[1]:6.2f}")


if __name__ == "__main__":
    main()
