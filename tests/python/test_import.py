# SPDX-License-Identifier: Apache-2.0
"""``import megengine`` imports the parts that every program needs, the others when asked for."""

import importlib.metadata
import json
import subprocess
import sys

import pytest

import megengine
from megengine import _mge, version

CODE = """
import json, sys
import megengine as mge
early = [name for name in sys.modules if name.startswith("megengine.")]
others = [name for name in ("numpy.random", "tempfile", "multiprocessing") if name in sys.modules]
loaded = [getattr(mge, name).__name__ for name in mge.__all__ if f"megengine.{name}" in sys.modules
         or name in ("autodiff", "data", "jit", "module", "optimizer", "random", "utils")]
print(json.dumps([early, others, loaded, set(mge.__all__) <= set(dir(mge)), mge.load is mge.load]))
"""


def test_lazy_modules_are_imported_on_first_use():
    done = subprocess.run([sys.executable, "-c", CODE], check=True, capture_output=True, text=True)
    early, others, packages, listed, same = json.loads(done.stdout)
    for name in ("autodiff", "data", "jit", "module", "optimizer", "serialization", "distributed"):
        assert f"megengine.{name}" not in early
    assert not others and listed and same
    assert {"megengine.module", "megengine.data", "megengine.random"} <= set(packages)


def test_versions_of_the_interface_and_of_the_engine():
    assert megengine.__version__ == version.__version__ == "1.13.0"
    assert megengine.engine_version == version.engine_version == _mge.__version__


ALONE = """
import sys
import megengine as mge, megengine.functional as F
from megengine.data import SequentialSampler
from megengine.quantization import SyncMinMaxObserver
assert (len(SequentialSampler(range(4))), SequentialSampler(range(4)).world_size) == (4, 1)
F.sync_batch_norm(F.ones((2, 3)), None, None, training=True, eps_mode="max")
SyncMinMaxObserver()(F.ones(3))
print("megengine.distributed" in sys.modules)
"""


def test_single_process_imports_no_distributed_modules():
    done = subprocess.run([sys.executable, "-c", ALONE], check=True, capture_output=True)
    assert done.stdout.split() == [b"False"]


COMPLETE = """
import importlib, sys, types
module = importlib.import_module(sys.argv[1])
names = vars(module)
for name in names:
    for later in sys.argv[2:]:
        getattr(module, later)
assert all(name in names and name in dir(module) for name in sys.argv[2:])
assert names is vars(module) and isinstance(module, types.ModuleType)
"""


@pytest.mark.parametrize(
    "module, later",
    [
        ("megengine", "data jit load cgtools hub random save traced_module utils"),
        ("megengine.data.dataset", "vision MNIST CIFAR10 ImageFolder Dataset"),
        ("megengine.onnx", "export load"),
    ],
)
def test_the_names_of_a_module_are_complete_when_they_are_read(module, later):
    subprocess.run([sys.executable, "-c", COMPLETE, module, *later.split()], check=True)


def test_installation_has_the_version():
    assert importlib.metadata.version("mge-engine") == megengine.engine_version


# Only what the package depends on can be imported; sysconfig looks for a module of its own.
WITHOUT_OTHERS = """
import importlib, pkgutil, sys
import numpy, megengine, megenginelite
needed = {"numpy", "tqdm", "megengine", "megenginelite", *sys.stdlib_module_names}
class Others:
    def find_spec(name, path=None, target=None):
        if name.partition(".")[0] not in needed and not name.startswith("_"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Others)
def fail(name):
    raise
# Subclasses of a server's classes, which the server imports.
of_servers = {"metrics", "mlserver_runtime", "mlserver_server"}
of_servers = {f"megengine.serving.{name}" for name in of_servers} | {"megengine.distributed.ray"}
for package in (megengine, megenginelite):
    for module in pkgutil.walk_packages(package.__path__, package.__name__ + ".", fail):
        if module.name not in of_servers:
            importlib.import_module(module.name)
try:
    megengine.utils.tensorboard.text("a", "b")
except ModuleNotFoundError as error:
    print(error)
"""


def test_every_module_is_imported_without_optional_packages():
    done = subprocess.run([sys.executable, "-c", WITHOUT_OTHERS], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "pip install 'mge-engine[tensorboard]'" in done.stdout


def test_package_names_can_be_imported():
    code = "from megengine import load, module, save; from megengine import *; data.DataLoader"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_modules_are_attributes_of_their_packages():
    paths = [
        "version.__version__",
        "serialization.load",
        "quantization.observer",
        "core.tensor.utils",
        "core.autodiff.grad",
        "core.ops.builtin",
        "core._imperative_rt.core2",
        "core._imperative_rt.graph",
        "utils.deprecation",
        "utils.network",
    ]
    for path in paths:  # each in a process of its own: to import one names others
        code = f"import megengine as mge; mge.{path}; print(hasattr(mge.{path}, 'nosuchname'))"
        done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
        assert done.stdout.split() == [b"False"], path
