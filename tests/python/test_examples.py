# SPDX-License-Identifier: Apache-2.0
"""Runs the examples in the documentation of the package."""

import doctest
import hashlib
import importlib
import inspect
import pkgutil
import re

import pytest
from interface_names import INTERFACE

import megengine as mge
import megengine.functional as F
import megengine.module as M
from megengine.hub.fetcher import GitHTTPSFetcher

# Modules that need packages of others.
OPTIONAL = {
    "megengine.distributed.ray": "ray",
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
# Steps of a class that the library calls: an example that uses the class runs them.
STEPS = {
    *("forward", "backward", "apply", "apply_op", "fake_quant_forward", "get_kernel", "sample"),
    *("create_cell", "init_hidden", "get_output_from_hidden"),
    *("before_backward", "after_backward", "backward_has_failed"),
    *("check_raw_file", "collect_class", "collect_samples", "bytes2array", "process", "untar"),
    *("auto_naming_for_outputs", "clear_node", "describe", "make", "module_of"),
    *("qparams", "value", "wrap", "wrap_safe"),
}
# Methods that fetch files, read archives of others or remove the user's files.
METHODS_WITHOUT_EXAMPLE = {
    "megengine.data.dataset.vision.cifar.CIFAR10.download",
    "megengine.data.dataset.vision.imagenet.ImageNet.meta",
    "megengine.data.dataset.vision.imagenet.ImageNet.valid_ground_truth",
    "megengine.data.dataset.vision.mnist.MNIST.download",
    "megengine.utils.persistent_cache.PersistentCacheOnServer.clean",
}
# Docstrings of methods that no program should call, or that have their example elsewhere.
NEEDS_NONE = re.compile(r"No effect|Not available|As ``Tensor\.|.*\(deprecated|.* by functions")


def is_ours(thing):
    return str(getattr(thing, "__module__", None)).partition(".")[0] == "megengine"


def public_things(name):
    """The classes and functions of the package that a module has by name for its users."""
    module = importlib.import_module(name)
    public = INTERFACE.get(name, frozenset()) | set(getattr(module, "__all__", ()))
    for word in sorted(public):
        thing = None if word == "backend" else getattr(module, word, None)
        if (inspect.isclass(thing) or inspect.isroutine(thing)) and is_ours(thing):
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


def methods_of(kind):
    """The functions of the public methods and properties that a class itself defines."""
    for name, member in vars(kind).items():
        if isinstance(member, property):
            member = member.fget
        elif isinstance(member, (classmethod, staticmethod)):
            member = member.__func__
        if not name.startswith("_") and inspect.isfunction(member):
            yield name, member


def is_shown(kind, name):
    """Whether the docstrings of the class, its methods or its bases show a use of the method."""
    for base in filter(is_ours, kind.__mro__):
        own = dict(methods_of(base))
        if name in own and ">>>" in (own[name].__doc__ or ""):
            return True
        texts = [base.__doc__, *(method.__doc__ for method in own.values())]
        rows = [row for text in texts if text for row in text.splitlines()]
        examples = "\n".join(row for row in rows if row.strip().startswith((">>>", "...")))
        if re.search(rf"\.{name}\b", examples):
            return True
    return False


@pytest.mark.parametrize("name", module_names())
def test_every_public_method_is_shown(name):
    """CONTRIBUTING.md has the rule."""
    if name in OPTIONAL:
        pytest.importorskip(OPTIONAL[name])
    hidden = {
        f"{kind.__module__}.{kind.__qualname__}.{word}"
        for _, kind in public_things(name)
        if inspect.isclass(kind)
        for word, method in methods_of(kind)
        if not (word in STEPS or word.startswith("calc_"))
        if not NEEDS_NONE.match(method.__doc__ or "")
        if not is_shown(kind, word)
    }
    assert hidden <= METHODS_WITHOUT_EXAMPLE
