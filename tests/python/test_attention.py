# SPDX-License-Identifier: Apache-2.0
"""Attention with several heads, against NumPy."""

import numpy as np
import pytest

import megengine as mge
import megengine.functional as F
import megengine.module as M
from megengine.autodiff import GradManager
from megengine.jit import trace

N, L, S, HEADS, WIDTH, KEY, VALUE = 2, 3, 5, 2, 8, 6, 4
random = np.random.RandomState(0)
QUERY, KEYS, VALUES = (
    random.randn(*shape).astype(np.float32) for shape in ((N, L, WIDTH), (N, S, KEY), (N, S, VALUE))
)
PACKED = random.randn(WIDTH * (WIDTH + KEY + VALUE + WIDTH) + 4 * WIDTH).astype(np.float32) / 3


def expected(added=0.0):
    """The output and the weights, with what is added to the scores (N, HEADS, L, S)."""
    rest, parts = PACKED, []
    for shape in ((WIDTH, WIDTH), (KEY, WIDTH), (VALUE, WIDTH), (WIDTH, WIDTH), *[(WIDTH,)] * 4):
        size = int(np.prod(shape))
        parts.append(rest[:size].reshape(shape))
        rest = rest[size:]

    def heads(x, i):
        return (x @ parts[i] + parts[i + 4]).reshape(N, -1, HEADS, WIDTH // HEADS).swapaxes(1, 2)

    q, k, v = heads(QUERY, 0), heads(KEYS, 1), heads(VALUES, 2)
    scores = np.exp(q @ k.swapaxes(2, 3) / np.sqrt(WIDTH // HEADS) + added)
    weights = scores / scores.sum(-1, keepdims=True)
    out = (weights @ v).swapaxes(1, 2).reshape(N, L, WIDTH) @ parts[3] + parts[7]
    return out, weights


def attention():
    module = M.MultiHeadAttention(WIDTH, HEADS, kdim=KEY, vdim=VALUE)
    module.io_weight_bias[...] = mge.Tensor(PACKED[np.newaxis])
    return module


def tensors():
    return [mge.Tensor(x) for x in (QUERY, KEYS, VALUES)]


HIDDEN = np.zeros((L, S), bool)
HIDDEN[0, 1] = HIDDEN[2, 3:] = True
PADDING = np.zeros((N, S), bool)
PADDING[1, 3:] = True
EACH = random.randn(N * HEADS, L, S).astype(np.float32)
BOUNDS = np.array([[0, 1, 2], [5, 4, 3]], np.int32)


def minus_infinity(mask):
    return np.where(mask, -np.inf, 0.0)


def within(bounds):
    at = np.arange(S)
    return minus_infinity((at < bounds[0][:, None]) | (at >= bounds[1][:, None]))


CASES = {
    "plain": ({}, 0.0),
    "causal": ({"is_causal": True}, minus_infinity(np.triu(np.ones((L, S), bool), 1))),
    "mask": ({"attn_mask": HIDDEN}, minus_infinity(HIDDEN)),
    "mask instead of causal": ({"attn_mask": HIDDEN, "is_causal": True}, minus_infinity(HIDDEN)),
    "numbers": (
        {"attn_mask": minus_infinity(HIDDEN).astype(np.float32)},
        minus_infinity(HIDDEN),
    ),
    "each head": ({"attn_mask": EACH}, EACH.reshape(N, HEADS, L, S)),
    "padding": ({"key_padding_mask": PADDING}, minus_infinity(PADDING)[:, None, None]),
    "both": (
        {"key_padding_mask": PADDING, "attn_mask": HIDDEN},
        minus_infinity(PADDING)[:, None, None] + minus_infinity(HIDDEN),
    ),
    "cuDNN's bounds": ({"attn_mask": BOUNDS, "maybe_cudnn_style_mask": True}, within(BOUNDS)),
    "cuDNN's lengths": (
        {"key_padding_mask": np.array([[3, 3], [5, 3]], np.int32), "maybe_cudnn_style_mask": True},
        minus_infinity(PADDING)[:, None, None],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_masks(name):
    arguments, added = CASES[name]
    arguments = {k: mge.Tensor(v) if isinstance(v, np.ndarray) else v for k, v in arguments.items()}
    out, weights = attention()(*tensors(), need_weights=True, **arguments)
    expected_out, expected_weights = expected(added)
    np.testing.assert_allclose(out.numpy(), expected_out, atol=1e-5)
    assert weights.shape == (N * HEADS, L, S)
    np.testing.assert_allclose(
        weights.numpy(), expected_weights.reshape(N * HEADS, L, S), atol=1e-6
    )


def test_weights_are_returned_on_request():
    assert attention()(*tensors())[1] is None
    _, mean = attention()(*tensors(), need_weights=True, average_attn_weights=True)
    np.testing.assert_allclose(mean.numpy(), expected()[1].mean(1), atol=1e-6)


def test_fully_masked_query_gives_zeros():
    hidden = np.zeros((L, S), bool)
    hidden[1] = True
    x = [mge.Tensor(random.randn(N, n, WIDTH).astype(np.float32)) for n in (L, S, S)]
    arguments = (WIDTH, HEADS, 0.0, 0.0, None, 0, 0, 0, 0)
    for need_weights in (False, True):
        out, weights = F.nn.multi_head_attention(
            *x, *arguments, attn_mask=mge.Tensor(hidden), need_weights=need_weights
        )
        assert (out.numpy()[:, 1] == 0).all() and (out.numpy()[:, [0, 2]] != 0).all()
        assert not need_weights or (weights.numpy()[:, 1] == 0).all()


def test_without_projections():
    x = mge.Tensor(QUERY)
    out, weights = F.nn.multi_head_attention(
        x, x, x, WIDTH, 1, 0.0, 0.0, None, 0, 0, 0, 0, need_weights=True, reslink=True
    )
    np.testing.assert_allclose(out.numpy(), weights.numpy() @ QUERY + QUERY, atol=1e-5)


@pytest.mark.parametrize(
    "sizes", [(0, 0, 0, 0), (0, 0, 6, 0), (0, 4, 0, 3), (10, 0, 0, 5), (10, 10, 2, 3)]
)
def test_sizes_of_projections(sizes):
    """Heads see all of an operand without a matrix; scores depend on ``embed_dim`` alone."""
    count, width = 2, 10
    own, key = width // count, 5
    widths = [width if sizes[0] else own - 3 if sizes[1] else key, key, 4]
    rng = np.random.RandomState(6)
    operands = [rng.randn(2, length, n) for length, n in zip((3, 5, 5), widths, strict=True)]
    rows = (*widths, sizes[2] or 4 * count)
    matrices = [rng.randn(n, size) for n, size in zip(rows, sizes, strict=True)]

    def heads(x, matrix):
        if not matrix.shape[1]:
            return np.stack([x] * count, axis=1)
        return (x @ matrix).reshape(*x.shape[:2], count, -1).swapaxes(1, 2)

    q, k, v = map(heads, operands, matrices)
    scores = np.exp(q @ k.swapaxes(2, 3) / np.sqrt(own if sizes[0] else widths[0]))
    wanted = scores / scores.sum(-1, keepdims=True)
    out = (wanted @ v).swapaxes(1, 2).reshape(2, 3, -1)
    packed = np.concatenate([m.ravel() for m in matrices])
    names = ("qproj_size", "kproj_size", "vproj_size", "oproj_size")
    got, weights = F.nn.multi_head_attention(
        *(mge.Tensor(x.astype(np.float32)) for x in operands),
        width if sizes[0] else widths[0],
        count,
        0.0,
        0.0,
        mge.Tensor(packed.astype(np.float32)),
        **dict(zip(names, sizes, strict=True)),
        need_weights=True,
        average_attn_weights=True,
    )
    out = out @ matrices[3] if sizes[3] else out
    np.testing.assert_allclose(got.numpy(), out, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(weights.numpy(), wanted.mean(1), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("zero", [False, True])
@pytest.mark.parametrize("drawn", [False, True])
@pytest.mark.parametrize("name", ["plain", "causal", "mask", "each head", "padding"])
def test_further_keys(name, drawn, zero):
    """As if they were among the keys, with a mask that hides none of them."""
    module = M.MultiHeadAttention(WIDTH, HEADS, bias=False, add_bias_kv=drawn, add_zero_attn=zero)
    given, added = CASES[name]
    query, keys = (mge.Tensor(random.randn(N, n, WIDTH).astype(np.float32)) for n in (L, S))
    masks = {k: v if isinstance(v, bool) else mge.Tensor(v) for k, v in given.items()}
    count = drawn + zero
    parts = module.io_weight_bias.reshape(4, WIDTH, WIDTH)
    k, v = keys @ parts[1], keys @ parts[2]
    if drawn:
        assert module.bias_k.shape == (1, 1, WIDTH) and np.ptp(module.bias_k.numpy()) > 0.1
        k, v = (
            F.concat([x, F.broadcast_to(row, (N, 1, WIDTH))], axis=1)
            for x, row in ((k, module.bias_k), (v, module.bias_v))
        )
    if zero:
        k, v = (F.concat([x, F.zeros((N, 1, WIDTH))], axis=1) for x in (k, v))
    wide = np.broadcast_to(added, (N, HEADS, L, S)).reshape(N * HEADS, L, S)
    wide = np.pad(wide, ((0, 0), (0, 0), (0, count))).astype(np.float32)
    eye = F.eye(WIDTH).reshape(-1)
    packed = F.concat([parts[0].reshape(-1), eye, eye, parts[3].reshape(-1)])
    learned = [t for t in (module.bias_k, module.bias_v, query, keys) if t is not None]
    results = []
    for call in (
        lambda: module(query, keys, keys, need_weights=True, **masks),
        lambda: F.nn.multi_head_attention(
            query,
            k,
            v,
            WIDTH,
            HEADS,
            0.0,
            0.0,
            packed,
            attn_mask=mge.Tensor(wide),
            need_weights=True,
        ),
    ):
        results.append([x.numpy() for x in call()])
    assert results[0][1].shape == (N * HEADS, L, S + count)
    for found, wanted in zip(*results, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)
    with GradManager().attach(learned) as gm:
        gm.backward((module(query, keys, keys, **masks)[0] ** 2).sum())
    assert all(np.abs(t.grad.numpy()).max() > 0 for t in learned)


def test_gradients_and_traces():
    module = attention()
    manager = GradManager().attach(module.parameters())

    def step(q, k, v):
        with manager:
            loss = (module(q, k, v, is_causal=True)[0] ** 2).mean()
            manager.backward(loss)
        return loss, module.io_weight_bias.grad

    loss, gradient = step(*tensors())
    at = 5
    moved = []
    for sign in (1, -1):
        changed = PACKED.copy()
        changed[at] += sign * 1e-2
        module.io_weight_bias[...] = mge.Tensor(changed[np.newaxis])
        moved.append(float((module(*tensors(), is_causal=True)[0] ** 2).mean()))
    slope = (moved[0] - moved[1]) / 2e-2
    assert abs(float(gradient[0, at]) - slope) < 1e-2 * max(1, abs(slope))
    run = trace(lambda q, k, v: attention()(q, k, v)[0], symbolic=True)
    for _ in range(2):
        np.testing.assert_allclose(run(*tensors()).numpy(), expected()[0], atol=1e-5)


@pytest.mark.parametrize("drop", [0.0, 1e-6])
def test_a_query_without_keys_spoils_no_gradient(drop):
    module = M.MultiHeadAttention(WIDTH, HEADS, attn_dropout=drop)
    query = mge.Tensor(QUERY)
    mask = np.zeros((L, L), np.float32)
    mask[1] = -np.inf
    manager = GradManager().attach([query, *module.parameters()])
    with manager:
        out, weights = module(query, query, query, attn_mask=mge.Tensor(mask), need_weights=True)
        manager.backward(out.sum())
    assert not weights.numpy().reshape(N, HEADS, L, L)[:, :, 1].any()
    assert weights.numpy().sum() == pytest.approx(N * HEADS * (L - 1), rel=1e-5)
    for tensor in (out, query.grad, *[parameter.grad for parameter in module.parameters()]):
        assert np.isfinite(tensor.numpy()).all()


def test_dropout_in_training_only():
    module = M.MultiHeadAttention(WIDTH, HEADS, out_dropout=0.5, attn_dropout=0.5)
    x = mge.Tensor(QUERY)
    assert (module(x, x, x)[0].numpy() == 0).mean() > 0.2
    module.eval()
    np.testing.assert_array_equal(module(x, x, x)[0].numpy(), module(x, x, x)[0].numpy())


def test_parameters_start_within_bounds():
    module = M.MultiHeadAttention(WIDTH, HEADS, kdim=KEY, vdim=VALUE)
    values = module.io_weight_bias.numpy()[0]
    assert values.shape == PACKED.shape and (values[-4 * WIDTH :] == 0).all()
    assert 0.5 < np.abs(values[: WIDTH * WIDTH]).max() <= np.sqrt(6 / (2 * WIDTH))
    assert M.MultiHeadAttention(WIDTH, HEADS, bias=False).io_weight_bias.shape == (1, 4 * WIDTH**2)


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ({"num_heads": 3}, AssertionError, "divisible"),
    ],
)
def test_wrong_modules(arguments, error, text):
    with pytest.raises(error, match=text):
        M.MultiHeadAttention(WIDTH, **arguments)


def test_wrong_calls():
    x = mge.Tensor(QUERY)
    for packed in (None, mge.Tensor(PACKED), mge.Tensor(PACKED[:50])):
        with pytest.raises(ValueError, match="io_weight_bias has"):
            F.nn.multi_head_attention(x, x, x, WIDTH, HEADS, 0.0, 0.0, packed)
    with pytest.raises(AssertionError, match="bias_k and bias_v go together"):
        F.nn.multi_head_attention(x, x, x, WIDTH, HEADS, 0.0, 0.0, x, bias_k=x)
    with pytest.raises(ValueError, match="2 or 3 dimensions"):
        attention()(*tensors(), attn_mask=mge.Tensor(np.zeros(3, np.float32)))
