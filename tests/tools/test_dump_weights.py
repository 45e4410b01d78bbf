# SPDX-License-Identifier: Apache-2.0
"""mge-dump weights."""

import numpy as np
import pytest
from safetensors.numpy import load_file

TOOL = "mge-dump"


@pytest.mark.parametrize("file, load", [("w.npz", np.load), ("w.safetensors", load_file)])
def test_weights(run_tool, image_net, image_model, tmp_path, file, load):
    ran = run_tool(TOOL, "weights", image_model, tmp_path / file)
    assert ran.code == 0
    arrays = load(tmp_path / file)
    expected = [w.numpy() for w in image_net.parameters()]
    shapes = sorted(tuple(w["shape"]) for w in ran.result["weights"])
    assert sorted(arrays[n].shape for n in arrays) == shapes
    assert any(s == (4, 3, 3, 3) for s in shapes) and len(expected) >= 4
    for w in ran.result["weights"]:
        assert arrays[w["name"]].dtype == w["dtype"]


def test_both_weight_formats_agree(run_tool, image_model, tmp_path):
    for file in ("w.npz", "w.safetensors"):
        run_tool(TOOL, "weights", image_model, tmp_path / file)
    npz, safe = np.load(tmp_path / "w.npz"), load_file(tmp_path / "w.safetensors")
    assert set(npz) == set(safe)
    for name in safe:
        np.testing.assert_array_equal(npz[name], safe[name])


def test_weights_by_name(run_tool, image_model, tmp_path):
    names = [
        w["name"]
        for w in run_tool(TOOL, "weights", image_model, tmp_path / "w.npz").result["weights"]
    ]
    ran = run_tool(TOOL, "weights", image_model, tmp_path / "w.npz", "--name", f"^{names[0]}$")
    assert [w["name"] for w in ran.result["weights"]] == [names[0]]
    for pattern, message in (("nothing_like_it", "matches"), ("(", "regular expression")):
        ran = run_tool(TOOL, "weights", image_model, tmp_path / "w.npz", "--name", pattern)
        assert ran.code == 2 and message in ran.err


def test_unknown_weight_format(run_tool, image_model, tmp_path):
    ran = run_tool(TOOL, "weights", image_model, tmp_path / "w.pkl")
    assert ran.code == 2 and ".safetensors" in ran.report["error"]["hint"]
