# SPDX-License-Identifier: Apache-2.0
"""Runs the examples in the documentation of the package."""

import doctest
import importlib
import pkgutil

import pytest

import megengine as mge
import megengine.functional as F
import megengine.module as M

# Modules that need packages of others.
OPTIONAL = {"megengine.utils.tensorboard": "tensorboard"}


def module_names():
    found = pkgutil.walk_packages(mge.__path__, "megengine.")
    return [m.name for m in found if not m.name.endswith("._mge")]


@pytest.mark.parametrize("name", module_names())
def test_examples(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # what examples write lies there
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
