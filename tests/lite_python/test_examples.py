# SPDX-License-Identifier: Apache-2.0
"""Runs the examples in the documentation of the package."""

import doctest
import importlib
import pkgutil

import numpy as np
import pytest

import megenginelite

MODULES = [
    "megenginelite",
    *(f"megenginelite.{m.name}" for m in pkgutil.iter_modules(megenginelite.__path__)),
]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name, model_path):
    module = importlib.import_module(name)
    scope = {**vars(megenginelite), **vars(module), "np": np, "model_path": model_path}
    finder = doctest.DocTestFinder(recurse=True)
    runner = doctest.DocTestRunner(optionflags=doctest.FAIL_FAST | doctest.NORMALIZE_WHITESPACE)
    for test in finder.find(module, name, globs=scope):
        runner.run(test)
    assert runner.summarize(verbose=False).failed == 0
