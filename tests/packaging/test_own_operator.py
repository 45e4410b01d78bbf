# SPDX-License-Identifier: Apache-2.0
"""examples/own_operator: built against an installed tree, used by C++, Python and the tools."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

EXAMPLE = Path(__file__).resolve().parents[2] / "examples/own_operator"


@pytest.fixture(scope="module")
def example(build_project):
    return build_project(EXAMPLE)


@pytest.fixture(scope="module")
def model(example, build_dir, run, tmp_path_factory):
    """The dump of use_snake.py, which also checks values and gradient."""
    path = tmp_path_factory.mktemp("model") / "snake.mge"
    environment = {**os.environ, "PYTHONPATH": str(build_dir / "python")}
    script, library = EXAMPLE / "use_snake.py", example / "own_operator.so"
    printed = run(sys.executable, script, library, path, env=environment)
    assert "own_operator has snake" in printed
    assert "gradient agrees with finite differences" in printed
    return path


def load_and_run(prefix, *arguments):
    """Exit code, what it printed as an error, and the report's result."""
    command = [prefix / "bin/load_and_run", *arguments, "--json", "-", "--quiet"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stderr, json.loads(done.stdout).get("result")


RUN_LITE = """
import sys
import numpy as np
from megenginelite import LiteGlobal, LiteNetwork
library, model = sys.argv[1:]
network = LiteNetwork()
try:
    network.load(model)
except RuntimeError as error:
    assert "own_operator" in str(error), error
else:
    sys.exit("it was loaded without its operator")
LiteGlobal.set_loader_lib_path(library)
network.load(model)
name = network.get_input_name(0)
x = np.linspace(-1, 1, 5, dtype=np.float32)
network.get_io_tensor(name).set_data_by_copy(x)
network.forward()
network.wait()
print(*network.get_io_tensor(network.get_output_name(0)).to_numpy())
"""


def test_lite_in_python(example, build_dir, run, tmp_path):
    model, library = tmp_path / "snake.mge", example / "own_operator.so"
    run(example / "run_snake", library, model)
    environment = {**os.environ, "PYTHONPATH": str(build_dir / "python")}
    printed = run(sys.executable, "-c", RUN_LITE, library, model, env=environment)
    assert [float(word) for word in printed.split()] == pytest.approx(
        [x + np.sin(2 * x) ** 2 / 2 for x in np.linspace(-1, 1, 5)], abs=1e-6
    )


def test_cpp_program(example, prefix, run, tmp_path):
    model = tmp_path / "snake.mge"
    printed = run(example / "run_snake", example / "own_operator.so", model).splitlines()
    assert printed[0] == "library own_operator has snake"
    # x + sin²(2x) / 2
    values = [float(word) for word in printed[1].split()]
    assert values == pytest.approx([-0.586589, -0.145963, 0, 0.854037, 1.413411], abs=1e-6)
    code, _, result = load_and_run(prefix, model, "--c-opr-lib", example / "own_operator.so")
    assert code == 0
    assert result["operator_libraries"] == {"own_operator": ["snake"]}


def test_fast_run_measures_its_algorithms(example, prefix, model, tmp_path):
    cache = tmp_path / "cache.sqlite"
    fast = ["--fast-run", "--fast-run-algo-policy", cache, "--input", "x:[1,2,3]"]
    code, error, result = load_and_run(
        prefix, model, "--c-opr-lib", example / "own_operator.so", *fast
    )
    assert code == 0, error
    (step,) = result["algorithms"]
    assert step["algorithm"].startswith("snake_")
    assert step["source"] == "measured"


def test_without_the_library_the_model_names_it(prefix, model):
    code, error, _ = load_and_run(prefix, model)
    assert code == 5
    assert "'snake' of library 'own_operator', which is not loaded" in error


def test_wrong_library(prefix, model, tmp_path):
    text = tmp_path / "text.so"
    text.write_text("no library")
    for given, reason in [(text, "cannot be loaded"), (tmp_path / "absent.so", "cannot be read")]:
        code, error, _ = load_and_run(prefix, model, "--c-opr-lib", given)
        assert code == 2
        assert str(given) in error
        assert reason in error


def test_other_tools(example, prefix, model, run, tmp_path):
    library = example / "own_operator.so"
    assert "snake" in run(prefix / "bin/mge-dump", "info", model, "--c-opr-lib", library)
    run(
        prefix / "bin/mge-fastrun-cache",
        "build",
        tmp_path / "c.sqlite",
        model,
        "--c-opr-lib",
        library,
    )
