# SPDX-License-Identifier: Apache-2.0
"""The model of data-parallel steps (benchmarks/scale/model.py)."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "benchmarks/scale"


@pytest.fixture(scope="module")
def model():
    spec = importlib.util.spec_from_file_location("scale_model", FOLDER / "model.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look for it
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    "processes,algorithm,efficiency",
    [(64, "ring", 0.848), (64, "rabenseifner", 0.862), (1024, "ring", 0.661)]
    + [(1024, "rabenseifner", 0.860)],
)
def test_efficiencies_without_overlap(model, processes, algorithm, efficiency):
    link = model.Link(43e-6, 0.8e-9)  # 10 Gbit/s
    step = model.even_step(1.0, 100e6)
    seconds = step.seconds(link, processes, 25e6, algorithm, overlap=False)
    assert step.compute / seconds == pytest.approx(efficiency, abs=0.002)


def test_exchanges_overlap_with_the_rest_of_the_backward_pass(model):
    layers = [model.Layer(1.0, 10.0)] * 4
    step = model.Step(2.0, layers, update=0.5)
    assert step.compute == 6.5 and step.size == 40
    assert step.buckets(20) == [(4.0, 20.0), (6.0, 20.0)]
    assert step.buckets(25) == [(5.0, 30.0), (6.0, 10.0)]
    link = model.Link(0.0, 0.05)  # 20 bytes take a second in two processes
    assert step.seconds(link, 2, 20, "ring") == 2 + 4 + 1 + 0.5
    assert step.seconds(link, 2, 20, "ring", overlap=False) == 2 + 4 + 2 + 0.5
    slow = model.Link(0.0, 0.5)
    assert step.seconds(slow, 2, 20, "ring") == 4 + 20 + 0.5
    assert step.seconds(link, 1, 20) == step.compute


def test_the_direct_exchange_has_a_latency_for_each_block(model):
    link = model.Link(1e-3, 0.0, message=1e-4)
    assert link.exchange(4, 2) == pytest.approx(4e-3)
    assert link.exchange(10 << 20, 4) == pytest.approx(3 * (4e-3 + 4e-4))


def test_the_table_is_marked_as_modelled():
    command = [sys.executable, FOLDER / "simulate.py", "table"]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert text.startswith("Modelled, not measured: 100 MB")
    assert "| 1024 | rabenseifner |" in text
