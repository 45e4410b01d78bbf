# SPDX-License-Identifier: Apache-2.0
"""The nets of the benchmark, written once for all engines.

A net takes an `Engine` (functions of one engine, see engines.py), its parameters and running
statistics by name, and a batch. So every engine does the same work on the same first weights.
"""

from dataclasses import dataclass

import numpy as np

CLASSES, PIXELS = 10, 784
WORDS, LENGTH, WIDTH, HEADS, LAYERS = 1000, 128, 256, 4, 4
# A ResNet-18: channels and first stride of each pair of blocks.
STAGES = ((64, 1), (128, 2), (256, 2), (512, 2))


@dataclass(frozen=True)
class Task:
    net: object  # (engine, state, x) -> logits
    state: object  # () -> {name: array}; names with "running" are no parameters
    batch: int
    optimizer: str
    image: tuple[int, ...] | None = None  # the shape of one image, if the net reads such
    comparable_steps: int = 100  # after which rounding has not yet grown to what a defect shows


class _State(dict):
    """First values by name, the same in each process."""

    def __init__(self):
        super().__init__()
        self._random = np.random.default_rng(2)

    def weight(self, name, *shape):
        limit = 1 / np.sqrt(np.prod(shape[1:]))
        self[name] = self._random.uniform(-limit, limit, shape).astype(np.float32)

    def layer(self, name, *shape):
        self.weight(f"{name}.weight", *shape)
        self[f"{name}.bias"] = np.zeros(shape[0], np.float32)

    def norm(self, name, size, running=False):
        self[f"{name}.scale"] = np.ones(size, np.float32)
        self[f"{name}.shift"] = np.zeros(size, np.float32)
        if running:
            self[f"{name}.running_mean"] = np.zeros(size, np.float32)
            self[f"{name}.running_var"] = np.ones(size, np.float32)


def _linear(engine, state, name, x):
    return engine.linear(x, state[f"{name}.weight"], state[f"{name}.bias"])


def lenet_state():
    state = _State()
    state.layer("conv1", 6, 1, 5, 5)
    state.layer("conv2", 16, 6, 5, 5)
    state.layer("fc1", 120, 400)
    state.layer("fc2", 84, 120)
    state.layer("fc3", CLASSES, 84)
    return state


def lenet(engine, state, x):
    for name, padding in (("conv1", 2), ("conv2", 0)):
        x = engine.conv2d(x, state[f"{name}.weight"], state[f"{name}.bias"], padding=padding)
        x = engine.max_pool2d(engine.relu(x), 2)
    x = x.reshape(x.shape[0], -1)
    for name in ("fc1", "fc2"):
        x = engine.relu(_linear(engine, state, name, x))
    return _linear(engine, state, "fc3", x)


def mlp_state():
    state = _State()
    for name, out, inner in (("fc1", 512, PIXELS), ("fc2", 256, 512), ("fc3", CLASSES, 256)):
        state.layer(name, out, inner)
    return state


def mlp(engine, state, x):
    for name in ("fc1", "fc2"):
        x = engine.relu(_linear(engine, state, name, x))
    return _linear(engine, state, "fc3", x)


def _blocks():
    """Yield (name, channels before, channels, stride) of the blocks of a ResNet-18."""
    before = STAGES[0][0]
    for stage, (channels, stride) in enumerate(STAGES):
        for block in range(2):
            yield f"{stage}.{block}", before, channels, stride if block == 0 else 1
            before = channels


def resnet18_state():
    state = _State()

    def convolution(name, out, inner, size):
        state.weight(f"{name}.weight", out, inner, size, size)
        state.norm(f"{name}.norm", out, running=True)

    convolution("stem", STAGES[0][0], 3, 3)
    for name, before, channels, stride in _blocks():
        convolution(f"{name}.a", channels, before, 3)
        convolution(f"{name}.b", channels, channels, 3)
        if stride > 1:
            convolution(f"{name}.shortcut", channels, before, 1)
    state.layer("fc", CLASSES, STAGES[-1][0])
    return state


def resnet18(engine, state, x):
    def convolution(name, x, stride=1, padding=1):
        weight = state[f"{name}.weight"]
        x = engine.conv2d(x, weight, None, stride=stride, padding=padding)
        norm = [state[f"{name}.norm.{part}"] for part in ("scale", "shift")]
        running = [state[f"{name}.norm.running_{part}"] for part in ("mean", "var")]
        return engine.batch_norm(x, *norm, *running)

    x = engine.relu(convolution("stem", x))
    for name, _, _, stride in _blocks():
        y = engine.relu(convolution(f"{name}.a", x, stride))
        y = convolution(f"{name}.b", y)
        shortcut = x if stride == 1 else convolution(f"{name}.shortcut", x, stride, 0)
        x = engine.relu(y + shortcut)
    return _linear(engine, state, "fc", x.mean((2, 3)))


def transformer_state():
    state = _State()
    state.weight("words", WORDS, WIDTH)
    state.weight("places", LENGTH, WIDTH)
    for layer in range(LAYERS):
        state.norm(f"{layer}.norm1", WIDTH)
        for part in ("query", "key", "value", "out"):
            state.layer(f"{layer}.{part}", WIDTH, WIDTH)
        state.norm(f"{layer}.norm2", WIDTH)
        state.layer(f"{layer}.wide", 4 * WIDTH, WIDTH)
        state.layer(f"{layer}.narrow", WIDTH, 4 * WIDTH)
    state.norm("norm", WIDTH)
    state.layer("head", WORDS, WIDTH)
    return state


def transformer(engine, state, words):
    def norm(name, x):
        return engine.layer_norm(x, state[f"{name}.scale"], state[f"{name}.shift"])

    def heads(x):  # as users write it, with the shape of what they have
        x = x.reshape(x.shape[0], x.shape[1], HEADS, WIDTH // HEADS)
        return engine.transpose(x, (0, 2, 1, 3))

    x = engine.embedding(words, state["words"]) + state["places"]
    for layer in range(LAYERS):
        y = norm(f"{layer}.norm1", x)
        parts = [
            heads(_linear(engine, state, f"{layer}.{part}", y))
            for part in ("query", "key", "value")
        ]
        y = engine.transpose(engine.attention(*parts), (0, 2, 1, 3))
        x = x + _linear(engine, state, f"{layer}.out", y.reshape(*x.shape))
        y = engine.gelu(_linear(engine, state, f"{layer}.wide", norm(f"{layer}.norm2", x)))
        x = x + _linear(engine, state, f"{layer}.narrow", y)
    logits = _linear(engine, state, "head", norm("norm", x))
    return logits.reshape(-1, WORDS)


TASKS = {
    "lenet": Task(lenet, lenet_state, 64, "sgd", (1, 28, 28)),
    "mlp": Task(mlp, mlp_state, 64, "adam"),
    # Its batch norms double a deviation with each step.
    "resnet18": Task(resnet18, resnet18_state, 32, "sgd", (3, 32, 32), comparable_steps=10),
    "transformer": Task(transformer, transformer_state, 8, "adam"),
}
LEARNING_RATE, MOMENTUM = {"sgd": 0.01, "adam": 1e-4}, 0.9


def batch_of(name):
    """Return (inputs, labels) of a task as arrays, the same for every engine."""
    task, random = TASKS[name], np.random.default_rng(1)
    if task.net is transformer:
        words = random.integers(0, WORDS, (task.batch, LENGTH + 1)).astype(np.int32)
        return np.ascontiguousarray(words[:, :-1]), words[:, 1:].reshape(-1)
    labels = random.integers(0, CLASSES, task.batch).astype(np.int32)
    shape = (task.batch, *(task.image or (PIXELS,)))
    return random.standard_normal(shape).astype(np.float32), labels
