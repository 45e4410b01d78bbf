# SPDX-License-Identifier: Apache-2.0
"""Names of the interface that this version lacks raise an error, and do not appear to exist."""

import importlib
import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest
from interface_names import INTERFACE

import megengine as mge
import megengine.functional as F

MODULES = (
    "module.external",
    "lite",
)
NAMES = (
    (mge.module, "external"),
    (F.vision, "nvof"),
    (mge.jit, "xla_trace"),
)


@pytest.mark.parametrize("name", MODULES)
def test_missing_modules(name):
    parent, _, last = f"megengine.{name}".rpartition(".")
    for statement in (f"import megengine.{name}", f"from {parent} import {last}"):
        with pytest.raises(
            mge.NotAvailableError, match="is not available in this version"
        ) as found:
            exec(statement)
        assert isinstance(found.value, ModuleNotFoundError)
    assert f"megengine.{name}" not in sys.modules


@pytest.mark.parametrize("owner, name", NAMES, ids=lambda value: getattr(value, "__name__", value))
def test_missing_names(owner, name):
    assert not hasattr(owner, name) and getattr(owner, name, 5) == 5
    with pytest.raises(mge.NotAvailableError, match=f"{name} is not available") as found:
        getattr(owner, name)
    assert isinstance(found.value, AttributeError)
    if not isinstance(owner, type):
        with pytest.raises(mge.NotAvailableError, match=name) as found:
            exec(f"from {owner.__name__} import {name}")
        assert isinstance(found.value, ImportError)


def test_functions_for_other_hardware_are_there_and_refuse_to_run():
    from megengine.functional.external import tensorrt_runtime_opr

    assert tensorrt_runtime_opr([mge.Tensor(1.0)]) is None
    with pytest.raises(mge.NotAvailableError, match="does not run TensorRT engines"):
        tensorrt_runtime_opr([mge.Tensor(1.0)], data=b"engine")


def test_existence_of_modules_can_be_queried():
    assert importlib.util.find_spec("megengine.lite") is None
    assert importlib.util.find_spec("megengine.functional") is not None


def test_names_that_were_never_there_are_ordinary_errors():
    for owner, name in ((mge, "nosuch"), (F, "nosuch"), (F, "cross_entropy"), (F.math, "conv2d")):
        with pytest.raises(AttributeError) as found:
            getattr(owner, name)
        assert not isinstance(found.value, mge.NotAvailableError)
    with pytest.raises(ModuleNotFoundError) as found:
        importlib.import_module("megengine.nosuch")
    assert not isinstance(found.value, mge.NotAvailableError)
    with pytest.raises(ImportError, match="cannot import name 'nosuch'"):
        exec("from megengine.functional.math import nosuch")


def test_every_name_exists_or_is_listed_as_missing(monkeypatch):
    # `distributed.backend` is there once a group of processes is.
    group = mge.distributed.group
    monkeypatch.setattr(group, "_process", group._Process(0, 1, 0, "auto", "xpu", ("", 0)))
    documented = names_of_the_table()
    names = [(module, name) for module, names in INTERFACE.items() for name in names]
    assert len(names) >= 1585
    missing = {f"{module}.{name}" for module, name in names if not is_there(module, name)}
    assert {
        name for name in missing if not any(is_inside(name, row) for row in documented)
    } == set()
    # And nothing is called missing that is there.
    assert {row for row in documented if not any(is_inside(name, row) for name in missing)} == set()


def names_of_the_table():
    page = Path(__file__).resolve().parents[2] / "docs" / "megengine-differences.md"
    section = page.read_text().partition("## Missing names")[2].partition("\n## ")[0]
    rows = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
    assert rows
    return [f"megengine.{name}" for row in rows for name in re.findall(r"`([\w.]+)`(?!\))", row)]


def is_inside(name, owner):
    return name == owner or name.startswith(owner + ".")


def is_there(module, name):
    """Whether a name is there; one that is not has to say so by the one typed error."""
    try:
        owner = importlib.import_module(module)
        for part in name.split("."):
            owner = getattr(owner, part)
    except mge.NotAvailableError:
        return False
    return True


def test_lazily_imported_modules_name_missing_attributes():
    code = """
import sys, megengine
from megengine.compat import missing_names
missing_names._MISSING = {"megengine.utils.naming": {"added", "AutoNaming.added"}}
missing_names._modules = lambda: {"megengine.utils.naming"}
sys.modules.pop("megengine.utils.naming", None)
import megengine.utils.naming as naming
for read in (lambda: naming.added, lambda: naming.AutoNaming.added):
    try:
        read()
    except megengine.NotAvailableError as e:
        assert "added is not available" in str(e)
    else:
        raise AssertionError
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_guarded_import_falls_back():
    code = """
try:
    import megengine.lite as lite
except ImportError:
    lite = None
try:
    from megengine.jit import xla_trace
except ModuleNotFoundError:
    xla_trace = None
assert lite is None and xla_trace is None
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_short_names_of_functions_in_other_modules():
    assert F.topk_accuracy is F.metric.topk_accuracy
    assert not (mge.is_atlas_available() or mge.is_cambricon_available() or mge.is_rocm_available())
    assert F.distributed.all_gather is mge.distributed.functional.all_gather


def test_names_that_megengine_has_in_two_places():
    from megengine.experimental import get_scaled_model, weight_scaler
    from megengine.tensor import tensor

    assert tensor is mge.Tensor and get_scaled_model is weight_scaler.get_scaled_model
    assert mge.get_cuda_version is mge.device.get_cuda_version
