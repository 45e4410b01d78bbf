# SPDX-License-Identifier: Apache-2.0
"""Libraries of own operators from Python: built, loaded, used like all others, and refused."""

import inspect
import io
import os
import shutil
import threading
from pathlib import Path

import numpy as np
import pytest

import megengine as mge
import megengine.module as M
from megengine import _mge
from megengine.autodiff import GradManager
from megengine.core.ops import custom
from megengine.jit import trace
from megengine.traced_module import trace_module
from megengine.utils import custom_op_tools as tools

EXAMPLE = Path(__file__).resolve().parents[2] / "examples/own_operator"
SOURCES = [EXAMPLE / name for name in ("library.cpp", "snake.cpp", "snake.cpu.cpp")]
X = np.linspace(-2, 2, 9, dtype=np.float32)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("own operators")


@pytest.fixture(scope="module")
def library(folder):
    """The library of examples/own_operator, built by the tool."""
    return tools.build("own_operator", SOURCES, build_dir=folder)


@pytest.fixture
def loaded(library):
    yield custom.load(library)
    if any(known.path == library for known in custom.libraries()):
        custom.unload(library)


def expected(x, alpha=1.0):
    return x + np.sin(alpha * x) ** 2 / alpha


def test_is_built_once(folder, library):
    written = os.stat(library).st_mtime_ns
    assert tools.build("own_operator", SOURCES, build_dir=folder) == library
    assert os.stat(library).st_mtime_ns == written
    assert [path.name for path in folder.iterdir()] == [Path(library).name]


def test_build_and_load(folder, library):
    assert tools.build_and_load("own_operator", SOURCES, build_dir=folder) == library
    np.testing.assert_allclose(custom.snake(mge.Tensor(X)).numpy(), expected(X), atol=1e-6)
    tools.unload(library)
    assert not hasattr(custom, "snake")


def test_functions_describe_themselves(loaded):
    assert loaded.operators == ["snake"]
    assert loaded.snake is not None
    assert str(inspect.signature(custom.snake)) == "(x, *, alpha=1.0)"
    assert "How fast it oscillates" in custom.snake.__doc__
    assert "snake" in dir(custom)


def test_loading_again_does_nothing(loaded, library):
    again = custom.load(library)
    assert again.name == loaded.name == "own_operator"
    assert len(custom.libraries()) == 1


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_values(loaded, dtype):
    y = loaded.snake(mge.Tensor(X.astype(dtype)), alpha=2)
    assert y.dtype == dtype
    np.testing.assert_allclose(
        y.numpy(), expected(X, 2), atol=1e-6 if dtype == np.float32 else 2e-3
    )


def test_gradient(loaded):
    x = mge.Tensor(X)
    manager = GradManager().attach([x])
    with manager:
        manager.backward(loaded.snake(x, alpha=1.5).sum())
    step = 1e-2
    slope = (expected(X.astype(float) + step, 1.5) - expected(X.astype(float) - step, 1.5)) / (
        2 * step
    )
    np.testing.assert_allclose(x.grad.numpy(), slope, atol=1e-3)


def test_trace_and_dump(loaded, library, tmp_path):
    @trace(symbolic=True, capture_as_const=True)
    def predict(x):
        return loaded.snake(x, alpha=1.5) * 2

    for _ in range(3):
        np.testing.assert_allclose(predict(mge.Tensor(X)).numpy(), 2 * expected(X, 1.5), atol=2e-6)
    path = tmp_path / "snake.mge"
    predict.dump(str(path), arg_names=["x"], output_names=["y"])
    model = _mge.load(str(path))
    custom.unload(library)
    np.testing.assert_allclose(predict(mge.Tensor(X)).numpy(), 2 * expected(X, 1.5), atol=2e-6)
    y = model.run([mge.Tensor(X)])[0]
    np.testing.assert_allclose(y.numpy(), 2 * expected(X, 1.5), atol=2e-6)
    reason = "'snake' of library 'own_operator', which is not loaded"
    with pytest.raises(RuntimeError, match=reason):
        _mge.load(str(path))


class Snakes(M.Module):
    def __init__(self, library):
        super().__init__()
        self.library = library

    def forward(self, x):
        return self.library.snake(x, alpha=1.5) + custom.snake(x)


def test_traced_modules_call_operators(loaded, library):
    module = Snakes(loaded)
    traced = trace_module(module, mge.Tensor(X))
    assert [str(expr).split("= ")[1] for expr in traced.graph._exprs] == [
        "functions.call_own_operator(snake, x, alpha=1.5)",
        "functions.call_own_operator(snake, x, )",
        "call_own_operator_out.__add__(call_own_operator_out_1, )",
    ]
    file = io.BytesIO()
    mge.save(traced, file)
    again = mge.load(io.BytesIO(file.getvalue()), weights_only=True)
    for each in (traced, again, trace_module(again, mge.Tensor(X))):
        np.testing.assert_array_equal(each(mge.Tensor(X)).numpy(), module(mge.Tensor(X)).numpy())
    other = io.BytesIO(file.getvalue().replace(b"snake", b"loads"))
    with pytest.raises(AttributeError, match="no library of operators that is loaded has 'loads'"):
        mge.load(other, weights_only=True)(mge.Tensor(X))
    custom.unload(library)
    with pytest.raises(AttributeError, match="no library of operators that is loaded has 'snake'"):
        again(mge.Tensor(X))


def test_errors_of_the_operator(loaded):
    with pytest.raises(ValueError, match=r"\[snake\] alpha must be positive, got -1"):
        loaded.snake(mge.Tensor(X), alpha=-1)
    with pytest.raises(TypeError, match="has no argument 'beta'"):
        loaded.snake(mge.Tensor(X), beta=1)


def test_threads(loaded):
    failures = []

    def work():
        try:
            for _ in range(50):
                np.testing.assert_allclose(
                    custom.snake(mge.Tensor(X)).numpy(), expected(X), atol=1e-6
                )
        except AssertionError as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_unloaded_names(tmp_path):
    with pytest.raises(AttributeError, match="no library of operators that is loaded has 'snake'"):
        custom.snake  # noqa: B018
    with pytest.raises(KeyError, match="no library of operators named 'own_operator' is loaded"):
        custom.unload("own_operator")
    with pytest.raises(RuntimeError, match="cannot be read: No such file"):
        custom.load(tmp_path / "absent.so")
    (tmp_path / "text.so").write_text("text")
    with pytest.raises(RuntimeError, match="cannot be loaded"):
        custom.load(tmp_path / "text.so")


def test_wrong_sources(folder, tmp_path):
    with pytest.raises(RuntimeError, match="(?s)the compiler ended with 1.*nothing_like_this"):
        source = tmp_path / "wrong.cpp"
        source.write_text("nothing_like_this;")
        tools.build("wrong", source, build_dir=folder)
    # snake.cpp alone declares a kernel without a definition.
    with pytest.raises(RuntimeError, match="(?s)undefined reference to .*kernels"):
        tools.build("incomplete", SOURCES[:2], build_dir=folder)
    entry = tmp_path / "empty.cpp"
    entry.write_text("int nothing;")
    with pytest.raises(RuntimeError, match="has no function mge_operators"):
        tools.build_and_load("empty", entry, build_dir=folder)
    assert not [path for path in folder.iterdir() if path.is_dir()]


def test_wrong_arguments(folder):
    with pytest.raises(ValueError, match="cannot be the name of a library"):
        tools.build("../x", SOURCES, build_dir=folder)
    with pytest.raises(ValueError, match="there are no sources"):
        tools.build("x", [], build_dir=folder)
    with pytest.raises(RuntimeError, match="kernels for the CPU alone"):
        tools.build("x", [*SOURCES, "snake.cu"], build_dir=folder)
    with pytest.raises(RuntimeError, match="with_cuda=True"):
        tools.build("x", SOURCES, with_cuda=True, build_dir=folder)


def test_no_compiler(folder, monkeypatch):
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(RuntimeError, match="no compiler 'no-such-compiler'; the variable CXX"):
        tools.build("other", SOURCES, build_dir=folder)


def test_default_folder_is_the_cache(library, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    built = tmp_path / "mge/custom_ops/own_operator"
    built.mkdir(parents=True)
    shutil.copy(library, built)  # the expected file
    assert tools.build("own_operator", SOURCES) == str(built / Path(library).name)


def test_versions_count_changes(tmp_path):
    source = tmp_path / "a.cpp"
    source.write_text("1")
    rest = ([["-O2"]], str(tmp_path), False, False, None)
    versions = tools.Versioner()
    assert versions.get_version("a") is None
    assert versions.bump_version_if_changed("a", [source], *rest) == 0
    assert versions.bump_version_if_changed("a", [source], *rest) == 0
    source.write_text("2")
    assert versions.bump_version_if_changed("a", [source], *rest) == 1
    assert versions.get_version("a") == 1
    assert tools.version_check("test a", [source], *rest) == (0, True)
    assert tools.version_check("test a", [source], *rest) == (0, False)


def test_hashes_distinguish_groups():
    assert tools.hash_build_args(0, [["a"], ["b"]]) != tools.hash_build_args(0, [["a", "b"], []])
    assert tools.update_hash(1, "a") == tools.update_hash(1, "a") != tools.update_hash(2, "a")


def test_baton(tmp_path):
    path = tmp_path / "lock"
    first, second = tools.FileBaton(path, 0.01), tools.FileBaton(path, 0.01)
    assert first.try_acquire()
    assert not second.try_acquire()
    waiting = threading.Thread(target=second.wait)
    waiting.start()
    first.release()
    waiting.join(60)
    assert not waiting.is_alive()
    assert second.try_acquire()
    second.release()
