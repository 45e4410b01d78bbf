# SPDX-License-Identifier: Apache-2.0
"""The stub of the extension module says what the module is."""

import ast
import importlib.util
import os
from pathlib import Path

import pytest

import megengine
from megengine import _mge

ROOT = Path(__file__).resolve().parents[2]


def load_script():
    path = ROOT / "scripts" / "make_stubs.py"
    spec = importlib.util.spec_from_file_location("make_stubs", path)
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    return script


@pytest.mark.skipif("MGE_SANITIZED" in os.environ, reason="a build with sanitizers writes no stub")
def test_build_writes_stub_next_to_the_extension():
    stub = Path(_mge.__file__).with_name("_mge.pyi")
    assert stub.read_text() == load_script().make_stub()


def test_methods_in_the_stub_have_an_object_and_a_result():
    tree = ast.parse(load_script().make_stub())
    tensor = next(n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == "Tensor")
    methods = {n.name: n for n in tensor.body if isinstance(n, ast.FunctionDef)}
    assert {"numpy", "detach", "__radd__", "__neg__", "__iadd__", "__float__"} <= set(methods)
    for name, method in methods.items():
        assert method.args.posonlyargs + method.args.args, name
        assert (method.args.posonlyargs + method.args.args)[0].arg == "self", name
        assert method.returns is not None, name


@pytest.mark.parametrize("package", ["megengine", "megenginelite"])
def test_packages_declare_types(package):
    assert (ROOT / "python" / package / "py.typed").exists()
    assert (Path(megengine.__file__).parents[1] / package / "py.typed").exists()


def test_stub_documents_every_operator():
    tree = ast.parse(load_script().make_stub())
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    found = {node.name: ast.get_docstring(node) for node in classes["ops"].body[1:]}
    assert set(found) == {name for name in dir(_mge.ops) if not name.startswith("_")}
    assert all(found.values())
