# SPDX-License-Identifier: Apache-2.0
"""Weights that follow from a parameter's name, its shape and a seed alone.

Any engine that names the parameters alike gets the same numbers, so two engines can be compared
without a weight file: every parameter has a random generator of its own, seeded by its name. A
shape may carry extra axes of length one or split groups: only the order of the elements counts.

    >>> seeded_array("fc.bias", (3,)).shape
    (3,)
"""

import zlib

import numpy as np

# Half-way between vanishing and exploding activations in nets of up to a hundred layers whose
# normalisation statistics are not those of the data.
SCALE_RANGE = (0.4, 0.8)
VARIANCE_RANGE = (0.6, 1.4)
SMALL = 0.1


def seeded_array(name, shape, seed=0):
    """Return the float32 values of one parameter or buffer.

    name: full dotted name, as `megengine.module` and PyTorch give it ("layer1.0.conv1.weight").
    shape: shape wanted; the same number of elements gives the same numbers.
    seed: another seed, another net.
    """
    random = np.random.RandomState((zlib.crc32(name.encode()) + seed) % 2**32)
    count = int(np.prod(shape, dtype=np.int64))
    kind = name.rsplit(".", 1)[-1]
    if kind == "running_var":
        values = random.uniform(*VARIANCE_RANGE, count)
    elif kind in ("running_mean", "bias"):
        values = random.standard_normal(count) * SMALL
    elif _is_matrix(shape):
        values = random.standard_normal(count) * _deviation(shape)
    else:  # the scale of a normalisation
        values = random.uniform(*SCALE_RANGE, count)
    return values.astype(np.float32).reshape(shape)


def _is_matrix(shape):
    return sum(length > 1 for length in shape) > 1


def _deviation(shape):
    """Keeps the variance: 2 / fan-in before a ReLU (convolutions), 1 / fan-in in linear layers."""
    if len(shape) >= 4:
        return np.sqrt(2.0 / np.prod(shape[-3:]))
    return np.sqrt(1.0 / shape[-1])


def load_seeded_weights(module, seed=0):
    """Give every parameter and buffer of a `megengine.module.Module` its seeded values."""
    state = {
        name: seeded_array(name, value.shape, seed) for name, value in module.state_dict().items()
    }
    module.load_state_dict(state)
    return module


def seeded_input(name, shape, seed=0):
    """Return the float32 input of the net `name` for `seed`."""
    random = np.random.RandomState((zlib.crc32(("input:" + name).encode()) + seed) % 2**32)
    return random.standard_normal(shape).astype(np.float32)
