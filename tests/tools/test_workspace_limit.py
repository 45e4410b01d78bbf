# SPDX-License-Identifier: Apache-2.0
"""A limit on workspaces leaves every model an algorithm for each step, whatever the layouts."""

import numpy as np
import pytest

import megengine as mge
import megengine.functional as F
from megengine.jit import trace


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """Convolutions whose blocked kernels need a workspace: wide ones, and ones of one channel."""
    random = np.random.RandomState(5)

    def weight(*shape):
        return mge.Tensor(random.standard_normal(shape).astype("float32") / 10)

    first, wide, narrow = weight(6, 1, 5, 5), weight(96, 6, 1, 1), weight(24, 96, 1, 1)

    def net(x):
        y = F.relu(F.conv2d(x, first, padding=2))
        return F.conv2d(F.relu(F.conv2d(y, wide)), narrow)

    traced = trace(symbolic=True, capture_as_const=True)(net)
    traced(mge.Tensor(np.ones((1, 1, 28, 28), "float32")))
    path = tmp_path_factory.mktemp("models") / "wide.mge"
    traced.dump(str(path), arg_names=["x"], output_names=["y"])
    return path


@pytest.mark.parametrize("limit", [0, 100, "64KiB"])
@pytest.mark.parametrize("flag", [None, "--fast-run", "--enable-nchw88", "--reproducible"])
def test_every_step_respects_it(run_tool, model, tmp_path, limit, flag):
    outputs = []
    for more in (["--workspace-limit", limit], []):
        flags = ["--dump-outputs", tmp_path / "y.npz", *([flag] if flag else []), *more]
        ran = run_tool("load_and_run", model, "--iter", 1, *flags)
        assert ran.code == 0, ran.err
        outputs.append(np.load(tmp_path / "y.npz")["y"])
        if more:
            allowed = 65536 if limit == "64KiB" else limit
            assert all(step["workspace"] <= allowed for step in ran.result["algorithms"])
    np.testing.assert_allclose(outputs[0], outputs[1], rtol=1e-4, atol=1e-5)


def test_refusals_stay_on_one_line(run_tool, model, tmp_path):
    cache = tmp_path / "cache.sqlite"
    assert run_tool("mge-fastrun-cache", "build", cache, model, "--threads", 1).code == 0
    ran = run_tool(
        "mge-fastrun-cache", "explain", cache, model, "--threads", 1, "--workspace-limit", 0
    )
    assert ran.code == 0 and "Its graph was" not in ran.err, ran.err
