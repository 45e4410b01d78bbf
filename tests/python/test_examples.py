# SPDX-License-Identifier: Apache-2.0
"""Runs the examples in the documentation of the package."""

import doctest
import hashlib
import importlib
import inspect
import pkgutil

import pytest
from interface_names import INTERFACE

import megengine as mge
import megengine.functional as F
import megengine.module as M
from megengine.hub.fetcher import GitHTTPSFetcher

# Modules that need packages of others.
OPTIONAL = {
    "megengine.utils.tensorboard": "tensorboard",
    "megengine.serving.metrics": "prometheus_client",
    "megengine.serving.mlserver_runtime": "mlserver",
    "megengine.serving.mlserver_server": "mlserver",
}


# The entry points of the repository that the examples of the hub name.
HUBCONF = '''
import megengine.module as M

def linear(size):
    """A layer as wide as its input."""
    return M.Linear(size, size)
'''


def module_names():
    found = pkgutil.walk_packages(mge.__path__, "megengine.")
    return [m.name for m in found if not m.name.endswith("._mge")]


def put_example_downloads(home):
    """As if it had been fetched before: someone/models, and https://example.org/linear.pkl."""
    folder = GitHTTPSFetcher._folder("github.com", "someone", "models", "master", None)
    repository = home / "hub" / folder
    repository.mkdir(parents=True)
    (repository / "hubconf.py").write_text(HUBCONF)
    mark = hashlib.sha256(b"https://example.org/linear.pkl").hexdigest()[:6]
    (home / "serialized").mkdir()
    mge.save({"bias": mge.Tensor([0.5])}, str(home / "serialized" / f"{mark}_linear.pkl"))


@pytest.mark.parametrize("name", module_names())
def test_examples(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # folder for files written by examples
    if name.startswith("megengine.hub"):
        monkeypatch.setenv("MGE_HOME", str(tmp_path / "home"))
        put_example_downloads(tmp_path / "home")
    if name in OPTIONAL:
        pytest.importorskip(OPTIONAL[name])
    module = importlib.import_module(name)
    scope = {
        **vars(module),
        "F": F,
        "M": M,
        "init": M.init,
        "Tensor": mge.Tensor,
        "Parameter": mge.Parameter,
        "SGD": mge.optimizer.SGD,
    }
    finder = doctest.DocTestFinder(recurse=True)
    runner = doctest.DocTestRunner(optionflags=doctest.FAIL_FAST | doctest.NORMALIZE_WHITESPACE)
    for test in finder.find(module, name, globs=scope):
        runner.run(test)
    result = runner.summarize(verbose=False)
    assert result.failed == 0


# Functions that read files of tools, or are not Python classes; ``main`` has its page.
WITHOUT_EXAMPLE = {
    "megengine.jit.TraceError",
    "megengine.tools.graph_info_analyze.comp_graph_plotter",
    "megengine.tools.graph_info_analyze.convert",
    "megengine.tools.graph_info_analyze.load_mem_info",
    "megengine.tools.graph_info_analyze.peak_mem_regist",
}


def public_things(name):
    """The classes and functions of the package that a module has by name for its users."""
    module = importlib.import_module(name)
    public = INTERFACE.get(name, frozenset()) | set(getattr(module, "__all__", ()))
    for word in sorted(public):
        thing = None if word == "backend" else getattr(module, word, None)
        if inspect.isclass(thing) or inspect.isroutine(thing):
            if str(getattr(thing, "__module__", None)).partition(".")[0] == "megengine":
                yield f"{name}.{word}", thing


@pytest.mark.parametrize("name", module_names())
def test_everything_public_has_an_example(name):
    if name in OPTIONAL:
        pytest.importorskip(OPTIONAL[name])
    without = {
        word
        for word, thing in public_things(name)
        if ">>>" not in (thing.__doc__ or "") and not word.endswith(".main")
    }
    assert without <= WITHOUT_EXAMPLE
