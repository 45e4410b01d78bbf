# SPDX-License-Identifier: Apache-2.0
"""LiteNetwork with a model of MegEngine's whose outputs were recorded."""

from pathlib import Path

import numpy as np
import pytest

from megenginelite import LiteNetwork

DATA = Path(__file__).resolve().parents[1] / "data/megengine"
MODEL = DATA / "shuffle.v2.mge"
IMAGE = np.load(DATA / "shuffle.inputs.npz")["data"]
SCORES = np.load(DATA / "shuffle.outputs.npz")["out00"]


def loaded(model=MODEL):
    network = LiteNetwork()
    network.load(model)
    network.get_io_tensor("data").set_data_by_share(IMAGE)
    return network


@pytest.mark.parametrize("kind", ["text", "path", "bytes", "file"])
def test_kinds_of_files(kind):
    with open(MODEL, "rb") as file:
        model = {"text": str(MODEL), "path": MODEL, "bytes": MODEL.read_bytes(), "file": file}
        network = loaded(model[kind])
    for _ in range(3):
        network.forward()
        network.wait()
        (name,) = network.get_all_output_name()
        np.testing.assert_allclose(network.get_io_tensor(name).to_numpy(), SCORES, atol=1e-5)


def test_callbacks_see_inputs_and_outputs():
    network, seen = loaded(), []
    network.set_start_callback(lambda ios: seen.extend(io.name for io in ios))
    network.set_finish_callback(lambda ios: seen.extend(t.to_numpy().shape for t in ios.values()))
    network.forward()
    network.wait()
    assert seen == ["data", SCORES.shape]


def test_start_callback_ends_a_run():
    def refuse(ios):
        raise KeyError("no")

    network = loaded()
    network.set_start_callback(refuse)
    with pytest.raises(KeyError, match="no"):
        network.forward()


def test_asynchronous_exceptions_are_raised_by_wait():
    def fail():
        raise ValueError("late")

    network = loaded()
    network.async_with_callback(fail)
    network.forward()
    with pytest.raises(ValueError, match="late"):
        network.wait()


def test_wrong_files_raise():
    with pytest.raises(FileNotFoundError):
        LiteNetwork().load("/nowhere.mge")
    with pytest.raises(ValueError, match="s3"):
        LiteNetwork().load("s3://bucket/model.mge")
    with pytest.raises(RuntimeError):
        LiteNetwork().load(b"no model" * 100)
