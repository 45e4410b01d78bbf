# SPDX-License-Identifier: Apache-2.0
"""Complex Tensors against NumPy's complex numbers, in all ways that they can be made and used."""

import pickle

import numpy as np
import pytest

import megengine as mge
import megengine.functional as F
from megengine import Tensor
from megengine.autodiff import GradManager
from megengine.jit import trace
from megengine.utils.comp_graph_tools import GraphInference

rng = np.random.default_rng(3)


def numbers(*shape):
    return (rng.normal(size=shape) + 1j * rng.normal(size=shape)).astype(np.complex64)


def expect(got, want):
    assert got.dtype == np.complex64 and got.shape == np.shape(want)
    assert got.ndim == np.ndim(want) and got.size == np.size(want)
    np.testing.assert_allclose(got.numpy(), want, rtol=1e-5, atol=1e-6)


def test_parts():
    a = numbers(2, 3)
    x = F.complex(Tensor(a.real), Tensor(a.imag))
    expect(x, a)
    np.testing.assert_array_equal(F.real(x).numpy(), a.real)
    np.testing.assert_array_equal(F.imag(x).numpy(), a.imag)
    expect(F.complex(1.0, Tensor([1.0, 2.0])), np.array([1 + 1j, 1 + 2j]))
    expect(F.polar(Tensor([2.0, 1.0]), Tensor(0.5)), np.array([2, 1]) * np.exp(0.5j))
    expect(abs(x).astype("complex64"), np.abs(a))


@pytest.mark.parametrize(
    "make",
    [
        Tensor,
        lambda a: Tensor(a.astype(np.complex128)),
        lambda a: Tensor(a.real, dtype="float32").astype(complex) + Tensor(1j * a.imag),
        lambda a: Tensor(Tensor(a), dtype="complex64"),
        lambda a: pickle.loads(pickle.dumps(Tensor(a))),
        lambda a: Tensor(a).detach(),
        lambda a: +Tensor(a),
        lambda a: Tensor(a).to("cpu1").to("cpu0"),
        lambda a: F.copy(Tensor(a)),
    ],
)
def test_ways_to_make_one(make):
    a = numbers(2, 2)
    expect(make(a), a)


def test_numbers():
    x = Tensor(1 + 2j)
    assert x.shape == () and x.item() == complex(x) == 1 + 2j
    assert Tensor(np.complex64(2j)).tolist() == 2j
    assert repr(Tensor(np.array([1 + 2j]))) == "Tensor([1.+2.j], dtype=complex64, device=xpux:0)"
    with pytest.raises(AssertionError, match="one element"):
        Tensor(numbers(2)).item()
    with pytest.raises(TypeError):
        float(x)


ARITHMETIC = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "div": lambda x, y: x / y,
    "negative": lambda x, y: -x,
    "real beside": lambda x, y: 2.0 * x + 1,
    "complex beside": lambda x, y: (1 + 2j) * x - 1j,
    "over": lambda x, y: 1 / x,
}


@pytest.mark.parametrize("name", ARITHMETIC)
def test_arithmetic(name):
    a, b = numbers(3, 2), numbers(2)
    expect(ARITHMETIC[name](Tensor(a), Tensor(b)), ARITHMETIC[name](a, b))
    real = b.real.copy()
    expect(ARITHMETIC[name](Tensor(a), Tensor(real)), ARITHMETIC[name](a, real))


def test_equality():
    a = np.array([1 + 1j, 1 + 2j, 2 + 1j], np.complex64)
    assert (Tensor(a) == (1 + 1j)).tolist() == [True, False, False]
    assert (Tensor(a) != Tensor(a)).tolist() == [False] * 3


MOVES = {
    "reshape": lambda x, n: x.reshape(4, 6),
    "transpose": lambda x, n: x.transpose(2, 0, 1),
    "index": lambda x, n: x[1],
    "last": lambda x, n: x[..., 1],
    "slices": lambda x, n: x[:, ::2, None],
    "array": lambda x, n: x[np.array([1, 0])],
    "sum": lambda x, n: x.sum(axis=1),
    "mean": lambda x, n: x.mean(axis=0, keepdims=True),
    "all": lambda x, n: x.sum(),
    "concat": lambda x, n: (np.concatenate if n else F.concat)([x, x], axis=2),
    "stack": lambda x, n: (np.stack if n else F.stack)([x, x], axis=1),
    "broadcast": lambda x, n: (np if n else F).broadcast_to(x, (2, 2, 3, 4)),
    "cumsum": lambda x, n: (np if n else F).cumsum(x, 1),
    "expand": lambda x, n: (np if n else F).expand_dims(x, 1),
    "split": lambda x, n: (np if n else F).split(x, 2, axis=2)[1],
    "tile": lambda x, n: (np if n else F).tile(x, (1, 2, 1)),
    "roll": lambda x, n: (np if n else F).roll(x, 1, 2),
    "zeros": lambda x, n: (np if n else F).zeros_like(x),
    "ones": lambda x, n: (np if n else F).ones((2,), dtype="complex64"),
}


@pytest.mark.parametrize("name", MOVES)
def test_moves(name):
    a = numbers(2, 3, 4)
    expect(MOVES[name](Tensor(a), False), MOVES[name](a, True))


def test_chosen():
    a, mask = numbers(5), np.array([1, 0, 1, 1, 0], bool)
    expect(Tensor(a)[Tensor(mask)], a[mask])
    expect(F.where(Tensor(mask), Tensor(a), Tensor(a.real)), np.where(mask, a, a.real))


def test_products_of_matrices():
    a, b = numbers(3, 4), numbers(4, 2)
    expect(Tensor(a) @ Tensor(b), a @ b)


@pytest.mark.parametrize(
    "key, value",
    [(0, 1j), (slice(None, None, 2), 2.5), ((Ellipsis, 1), numbers(3)), (np.array([2, 0]), 0)],
)
def test_assignment(key, value):
    a = numbers(3, 2)
    x = Tensor(a)
    x[key] = value if np.ndim(value) == 0 else Tensor(value)
    a[key] = value
    expect(x, a)
    x += Tensor(a)
    expect(x, a + a)


def test_gradients_go_through_the_parts():
    p, q = Tensor([1.0, 2.0]), Tensor([3.0, 4.0])
    gm = GradManager().attach([p, q])
    with gm:
        x = F.complex(p, q)
        gm.backward(F.real(x * x).sum())
    assert p.grad.tolist() == [2, 4] and q.grad.tolist() == [-6, -8]
    with gm:
        gm.backward(F.imag(F.polar(p, q)).sum())
    np.testing.assert_allclose(p.grad.numpy() - [2, 4], np.sin([3, 4]), rtol=1e-5)


def rotated(x, y):
    return F.complex(x, y) * 1j


@pytest.mark.parametrize("options", [{}, {"symbolic": True}, {"without_host": True}])
def test_traced(options):
    a = numbers(4)
    traced = trace(rotated, **options)
    for _ in range(3):
        expect(traced(Tensor(a.real.copy()), Tensor(a.imag.copy())), a * 1j)


def test_python_code_runs_once_on_meanings():
    a, scale, calls = numbers(3), Tensor(2j), []

    @trace(without_host=True)
    def scaled(x):
        calls.append(1)
        state[...] = state + x
        return x * scale, x.astype(complex)

    state = Tensor(np.zeros(3, np.complex64))
    for n in range(1, 4):
        for got, want in zip(scaled(Tensor(a)), (a * 2j, a), strict=True):
            expect(got, want)
        expect(state, n * a)
    assert len(calls) == 1


def test_traced_with_complex_arguments(tmp_path):
    a = numbers(2, 3)
    traced = trace(lambda x: F.real(x * x), symbolic=True, capture_as_const=True)
    for _ in range(2):
        np.testing.assert_allclose(traced(Tensor(a)).numpy(), (a * a).real, rtol=1e-5)
    traced.dump(tmp_path / "net.mge", arg_names=["x"])
    pairs = np.stack([a.real, a.imag], -1)
    (got,) = GraphInference(tmp_path / "net.mge").run(pairs).values()
    np.testing.assert_allclose(got, (a * a).real, rtol=1e-5)


def test_saved(tmp_path):
    a = numbers(3)
    mge.save({"x": Tensor(a)}, tmp_path / "x.pkl")
    expect(mge.load(tmp_path / "x.pkl", weights_only=True)["x"], a)


REFUSED = {
    "no meaning": (lambda x: F.exp(x), RuntimeError, "exp.*real and imag"),
    "to real": (lambda x: x.astype("float32"), RuntimeError, "functional.real"),
    "complex parts": (lambda x: F.polar(x, 1.0), RuntimeError, "real parts"),
    "real of real": (lambda x: F.real(Tensor([1.0])), RuntimeError, "takes a complex Tensor"),
    "attached": (lambda x: GradManager().attach([x]), AssertionError, "complex64"),
    "dtype": (lambda x: Tensor(x, dtype="float32"), RuntimeError, "complex numbers; use astype"),
    "dlpack": (lambda x: np.from_dlpack(x), BufferError, "functional.real"),
    "order": (lambda x: x < x, RuntimeError, "less"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name):
    call, error, words = REFUSED[name]
    with pytest.raises(error, match=words):
        call(Tensor(numbers(2)))


def test_no_gradient_of_a_complex_result():
    p = Tensor([1.0])
    gm = GradManager().attach([p])
    with gm, pytest.raises(TypeError, match="real and imaginary"):
        gm.backward(F.complex(p, p))
