# SPDX-License-Identifier: Apache-2.0
"""Fixtures: servers, and the models that they serve."""

import contextlib
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

from server_processes import (  # noqa: E402
    DATA,
    PYTHON,
    dump_classifier,
    dump_two_inputs,
    environment,
    running,
    write_embedding,
)


@pytest.fixture(scope="session")
def serve_python():
    """The interpreter of the environment with the servers' packages."""
    if not PYTHON.exists():
        pytest.skip(f"no {PYTHON}: scripts/test creates it, with Python 3.12 or older")
    return PYTHON


@pytest.fixture
def run_serve(serve_python):
    """Runs the command to its end."""

    def run(*arguments, python=serve_python, **options):
        command = [python, "-m", "megengine.serve", *map(str, arguments)]
        return subprocess.run(
            command, capture_output=True, text=True, timeout=120, env=environment(), **options
        )

    return run


@pytest.fixture
def serve(serve_python, tmp_path):
    """Starts servers, waits until they are ready, and ends them with Ctrl-C."""
    with contextlib.ExitStack() as stack:
        yield lambda *arguments, **options: stack.enter_context(
            running(serve_python, tmp_path, arguments, **options)
        )


@pytest.fixture(scope="session")
def models(tmp_path_factory):
    """The files of models by name."""
    folder = tmp_path_factory.mktemp("models")
    dump_classifier(folder / "classifier.mge")
    dump_two_inputs(folder / "two.mge")
    write_embedding(folder / "embedding.onnx")
    recorded = {
        "mlp": DATA / "megengine/mlp.v2.mge",
        "bert": DATA / "megengine/bert.v1.mge",
        "shuffle": DATA / "megengine/shuffle.v2.mge",
        "mobilenet": DATA / "onnx/tv_mobilenet_v2_ts.onnx",
        "hf_bert": DATA / "onnx/hf_bert_ts.onnx",
    }
    made = {path.stem: path for path in folder.iterdir()}
    return made | recorded
