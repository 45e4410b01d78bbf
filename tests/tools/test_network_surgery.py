# SPDX-License-Identifier: Apache-2.0
"""Models that were changed as a Network, in load_and_run."""

import numpy as np

import megengine as mge
import megengine.functional as F
from megengine.jit import trace
from megengine.utils import network_node as nodes
from megengine.utils.network import Network

RANDOM = np.random.default_rng(5)
WEIGHT = mge.Tensor(RANDOM.random((4, 3, 3, 3), np.float32))


def test_a_changed_batch_size_and_activation_run(run_tool, tmp_path):
    traced = trace(symbolic=True, capture_as_const=True)(
        lambda x: F.flatten(F.relu(F.conv2d(x, WEIGHT) - 5), 1)
    )
    traced(mge.Tensor(RANDOM.random((1, 3, 6, 6), np.float32)))
    path = tmp_path / "before.mge"
    traced.dump(path, arg_names=["x"], output_names=["y"], silent=True)

    net = Network.load(path)
    relu = net.opr_filter.type(nodes.Elemwise).name("relu*").as_unique()
    net.replace_vars({relu.outputs[0]: F.leaky_relu(relu.inputs[0], 0.5)})
    net.reset_batch_size(3)
    net.dump(tmp_path / "after.mge")

    image = RANDOM.random((3, 3, 6, 6), np.float32)
    np.save(tmp_path / "x.npy", image)
    file = tmp_path / "y.npz"
    flags = ["--iter=1", "--input", f"x:{tmp_path / 'x.npy'}", "--dump-outputs", file]
    done = run_tool("load_and_run", tmp_path / "after.mge", *flags)
    assert done.code == 0, done.err
    want = F.flatten(F.leaky_relu(F.conv2d(mge.Tensor(image), WEIGHT) - 5, 0.5), 1).numpy()
    assert want.shape == (3, 64) and (want < 0).any()
    np.testing.assert_allclose(np.load(file)["y"], want, rtol=1e-5, atol=1e-6)
