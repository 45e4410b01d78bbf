# SPDX-License-Identifier: Apache-2.0
"""Shapes that a traced function turns into numbers, which dump reports and the model keeps."""

import math
import warnings

import numpy as np
import pytest

import megengine as mge
import megengine.functional as F
import megengine.module as M
from megengine import _mge
from megengine.jit import trace
from megengine.utils.torch_functions import _attend as attend


def recorded(function, *shapes, **options):
    traced = trace(function, symbolic=True, capture_as_const=True, **options)
    traced(*(F.ones(shape) for shape in shapes))
    return traced


@pytest.fixture
def dumped(tmp_path):
    """Dumps a trace and loads the file; gives the model and the warnings about shapes."""

    def dump(traced, **options):
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            traced.dump(tmp_path / "net.mge", **options)
        warned = [str(w.message) for w in seen if "[dump]" in str(w.message)]
        return _mge.load(tmp_path / "net.mge"), warned

    return dump


def pooled(x):
    return F.avg_pool2d(x, (x.shape[2], x.shape[3]))


def computed_window(x):
    rows = x.shape[2] // 2
    return F.max_pool2d(F.relu(x), (rows, 1))


def counted(x):
    return x.reshape(int(x.shape[0]), -1)


def unrolled(x):
    return sum(x[i] for i in range(x.shape[0]))


def plain(size, method):
    return getattr(size, method)() if isinstance(size, mge.Tensor) else size


class Pool(M.Module):
    def forward(self, x):
        return M.AvgPool2d((x.shape[2], x.shape[3]))(x)


def read_twice(x):
    rows = x.shape[2]
    assert rows
    return x * int(rows)


def unpacked(x):
    first, second = x
    return first - second


RECORDED, TALL, ONE, NARROW = (2, 3, 4, 6), (2, 3, 8, 6), (1, 3, 4, 6), (2, 3, 4, 5)
# The numbers of each function, and the shapes for which they are others.
CONSTANTS = {
    "pooled": (pooled, [4, 6], [TALL, NARROW]),
    "computed": (computed_window, [2], [TALL]),
    "int": (counted, [2], [ONE]),
    "range": (unrolled, [2], [ONE]),
    "module": (Pool(), [4, 6], [TALL, NARROW]),
    "window": (lambda x: F.max_pool2d(x, x.shape[2]), [4], [TALL]),
    "grid": (lambda x: F.adaptive_avg_pool2d(x, x.shape[2] // 2), [2], [TALL]),
    "float": (lambda x: x.sum() / float(x.shape[0]), [2.0], [ONE]),
    "root": (lambda x: x / math.sqrt(x.shape[3]), [6.0], [NARROW]),
    "item": (lambda x: x * plain(x.shape[0], "item"), [2], [ONE]),
    "tolist": (lambda x: x * plain(x.shape[2], "tolist"), [4], [TALL]),
    "numpy": (lambda x: x * float(plain(x.shape[3], "numpy")), [6], [NARROW]),
    "scalar": (lambda x: x * np.float32(x.shape[0]), [2], [ONE]),
    "twice": (read_twice, [4], [TALL]),
    "length": (lambda x: x * len(x), [2], [ONE]),
    "rows": (lambda x: sum(row for row in F.relu(x)), [2], [ONE]),
    "list": (lambda x: F.stack(list(x), axis=1), [2], [ONE]),
    "pairs": (lambda x: F.concat([a * b for a, b in zip(x, x + 1, strict=True)]), [2], [ONE]),
    "unpacked": (unpacked, [2], [ONE]),
    "reversed": (lambda x: F.stack(list(reversed(x.transpose(2, 0, 1, 3)))), [4], [TALL]),
    "channels": (lambda x: x.reshape(-1, int(x.shape[1]) * 2), [3], []),
}


@pytest.mark.parametrize("symbolic", [True, False])
@pytest.mark.parametrize("name", sorted(CONSTANTS))
def test_dump_reports_the_line_and_the_model_keeps_its_numbers(dumped, name, symbolic):
    function, numbers, refused = CONSTANTS[name]
    traced = trace(function, symbolic=symbolic, capture_as_const=True)
    traced(F.ones(RECORDED))
    model, warned = dumped(traced, arg_names="image")
    (message,) = warned
    assert "shapes of image into numbers" in message
    assert all(f"{number} at {__file__}" in message for number in numbers)
    for shape in (RECORDED, TALL, ONE, NARROW):
        x = mge.Tensor(np.random.default_rng(0).random(shape).astype("float32"))
        if shape in refused:  # by the check, or by an operator that does not fit
            own = r" at test_shape_constants\.py:\d+ is a constant of the model, got"
            with pytest.raises(RuntimeError, match=f"{own}|larger than x|out of range"):
                model.run([x])
        else:
            np.testing.assert_allclose(model.run([x])[0].numpy(), function(x).numpy(), rtol=1e-6)


@pytest.mark.parametrize(
    "channels, read",
    [
        (lambda size: np.array(size)[1], [2, 3, 4, 6]),
        (lambda size: plain(size, "numpy")[1], [2, 3, 4, 6]),
        (lambda size: plain(size, "tolist")[1], [2, 3, 4, 6]),
        (lambda size: size.item(1) if isinstance(size, mge.Tensor) else size[1], [3]),
    ],
)
def test_dump_reports_lists_of_sizes_which_the_model_does_not_check(dumped, channels, read):
    def function(x):
        return x.reshape(x.shape[0], -1) * int(channels(x.shape))

    model, (message,) = dumped(recorded(function, RECORDED))
    assert f"numbers, which are constants of the model: {read} at {__file__}" in message
    assert message.endswith("lists of numbers are not checked")
    for shape in (RECORDED, TALL, ONE):
        np.testing.assert_array_equal(
            model.run([F.ones(shape)])[0].numpy(), function(F.ones(shape))
        )


def test_options_of_dump_do_not_hide_it(dumped):
    for options in ({"enable_metadata": False}, {"optimize_for_inference": False}):
        model, warned = dumped(recorded(pooled, (1, 2, 4, 4)), **options)
        assert len(warned) == 1
        with pytest.raises(RuntimeError, match="constant"):
            model.run([F.ones((1, 2, 8, 8))])


def checked(x):
    assert x.shape[1] == 3 and bool(x.shape[0] < 5)
    if x.shape[2] > 100 or x.size > 10**6:
        x = x * 2
    return x


def split_heads(x):
    heads = F.concat([x, x, x], 1).reshape(x.shape[0], 3, x.shape[1], -1)
    q, k, v = heads.transpose(1, 0, 2, 3)
    return q * k + v


FOLLOWING = {
    "heads": split_heads,
    "rank": lambda x: x * len(x.shape),
    "sizes": lambda x: F.zeros([size for size in x.shape[2:]]) + x[0],
    "fixed rows": lambda x: sum(row.mean() for row in x.reshape(3, -1)),
    "reshape": lambda x: x.reshape(x.shape[0], -1),
    "interpolate": lambda x: F.nn.interpolate(x, (x.shape[2] * 2, x.shape[3])),
    "arange": lambda x: F.arange(x.shape[0]) + F.zeros((x.shape[2], 1)),
    "repeat": lambda x: F.repeat(x, x.shape[0], axis=0),
    "mean": lambda x: F.mean(x, axis=(2, 3)) / x.shape[1],
    "checked": checked,
    "printed": lambda x: (repr(x.shape), x)[1],
    "shuffled": lambda x: F.pixel_shuffle(F.concat([x, x[:, :1]], 1), 2),
    "normalised": lambda x: F.batch_norm(x, F.zeros(3), F.ones(3)),
    "diagonal": lambda x: F.diag(x[0, 0], 1),
    "matrix": lambda x: F.diag(x[0, 0, 0], -1),
}


@pytest.mark.parametrize("name", sorted(FOLLOWING))
def test_functions_that_follow_the_shape_are_not_reported(dumped, name):
    function = FOLLOWING[name]
    model, warned = dumped(recorded(function, (2, 3, 4, 6)))
    assert not warned
    x = mge.Tensor(np.random.default_rng(1).random((3, 3, 5, 7)).astype("float32"))
    np.testing.assert_allclose(model.run([x])[0].numpy(), function(x).numpy(), rtol=1e-6)


def test_widths_that_weights_fix_are_not_reported(dumped):
    packed = F.ones((6 * 6,))
    sizes = {"qproj_size": 0, "kproj_size": 0, "vproj_size": 0, "oproj_size": 6}

    def attended(x):
        found = F.nn.multi_head_attention(x, x, x, 6, 1, 0.0, 0.0, packed, **sizes)
        return found[0], attend(x, x, x)

    model, warned = dumped(recorded(attended, (2, 4, 6)))
    assert not warned
    x = mge.Tensor(np.random.default_rng(2).random((3, 5, 6)).astype("float32"))
    for got, wanted in zip(model.run([x]), attended(x), strict=True):
        np.testing.assert_allclose(got.numpy(), wanted.numpy(), rtol=1e-5, atol=1e-6)


def halved(x):
    while float(x.sum()) > 1:
        x = x / 2
    return x


def doubled(x):
    return x * 2 if F.relu(x).mean() > 0 else x


READING = {
    "while": (halved, ["36.0 at", "2.25 at", "and 2 more"]),
    "if": (doubled, ["True at"]),
    "argument": (lambda x: x * float(x[0, 0]) if x[0, 0].item() else x, ["1.0 at"]),
    "array": (lambda x: x * F.exp(x).numpy().max(), ["an array at"]),
}


@pytest.mark.parametrize("symbolic", [True, False])
@pytest.mark.parametrize("name", sorted(READING))
def test_dump_reports_values_that_the_function_reads(tmp_path, name, symbolic):
    function, parts = READING[name]
    traced = trace(function, symbolic=symbolic, capture_as_const=True)
    traced(F.ones((6, 6)))
    with pytest.warns(UserWarning, match="read values computed from image") as seen:
        traced.dump(tmp_path / "net.mge", arg_names="image")
    (message,) = [str(each.message) for each in seen]
    assert all(part in message for part in parts) and __file__ in message


def test_numbers_independent_of_shapes_are_not_reported(dumped):
    def function(x):
        return F.max_pool2d(x, int(mge.Tensor(1) + 1))

    assert not dumped(recorded(function, (1, 2, 4, 4)))[1]
    assert int(mge.Tensor(3)) == 3 and [5, 6][mge.Tensor(1)] == 6


def test_a_replayed_trace_is_checked_as_before():
    traced = recorded(pooled, (1, 2, 4, 4))
    with pytest.raises(RuntimeError, match="trace error because"):
        traced(F.ones((1, 2, 8, 8)))
