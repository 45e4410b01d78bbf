# SPDX-License-Identifier: Apache-2.0
"""Models of the tests: a classifier of the shapes of a ShuffleNet, in every kind of file."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))  # common part of the tests


def is_library_for_deployment():
    return "liblite_shared" in os.environ.get("LITE_LIB_PATH", "")


def tool(name, *arguments):
    path = Path(os.environ["MGE_BUILD_DIR"]) / "bin" / name
    subprocess.run([path, *map(str, arguments)], check=True, capture_output=True)


def make_classifier(path):
    """ "data" (1, 3, 224, 224) to "score" (1, 1000); any batch and size of at least 32."""
    import megengine as mge
    import megengine.functional as F
    import megengine.module as M
    from megengine.jit import trace

    random = np.random.RandomState(0)

    class Classifier(M.Module):
        def __init__(self):
            super().__init__()
            self.first = M.Conv2d(3, 8, 3, stride=4, padding=1)
            self.depth = M.Conv2d(8, 8, 3, stride=2, padding=1, groups=8)
            self.point = M.Conv2d(16, 32, 1)
            self.last = M.Linear(32, 1000)
            for parameter in self.parameters():
                values = random.randn(*parameter.shape).astype(np.float32)
                parameter[...] = mge.Tensor(values / 3)

        def forward(self, x):
            x = F.max_pool2d(F.relu(self.first(x)), 2)
            x = F.concat([F.relu(self.depth(x)), F.avg_pool2d(x, 3, 2, 1)], 1)
            n, c, h, w = (x.shape[i] for i in range(4))
            x = F.transpose(x.reshape(n, 2, 8, h, w), (0, 2, 1, 3, 4)).reshape(n, 16, h, w)
            x = F.relu(self.point(x)).mean(-1).mean(-1)
            return F.softmax(self.last(x), 1)

    net = Classifier()
    net.eval()
    run = trace(lambda data: net(data), symbolic=True, capture_as_const=True)
    run(mge.Tensor(np.zeros((1, 3, 224, 224), np.float32)))
    run.dump(str(path), arg_names=["data"], output_names=["score"])


def make_two_inputs(path):
    """ "a" and "b" (4,) to "sum" and "difference"."""
    import megengine as mge
    from megengine.jit import trace

    run = trace(lambda a, b: (a + b, a - b), symbolic=True, capture_as_const=True)
    run(mge.Tensor(np.zeros(4, np.float32)), mge.Tensor(np.zeros(4, np.float32)))
    run.dump(str(path), arg_names=["a", "b"], output_names=["sum", "difference"])


@pytest.fixture(scope="session")
def models(tmp_path_factory):
    """A folder with the models by name."""
    folder = tmp_path_factory.mktemp("models")
    make_classifier(folder / "net.mge")
    make_two_inputs(folder / "two.mge")
    for cipher in ("AES_default", "RC4_default", "SIMPLE_FAST_RC4_default"):
        tool("mge-crypt", "encrypt", folder / "net.mge", folder / cipher, "--cipher", cipher)
    (folder / "info.json").write_text(
        '{"name": "net", "valid": true, "version": "1.13.0", "device": {"type": "CPU",'
        ' "number_threads": 2}, "extra_info": {"author": "someone"}}'
    )
    tool("mge-dump", "convert", folder / "net.mge", folder / "net.onnx")
    tool("mge-dump", "pack", folder / "net.mge", folder / "packed", "--info", folder / "info.json")
    return folder


@pytest.fixture(scope="session")
def image():
    return np.random.RandomState(1).rand(1, 3, 224, 224).astype(np.float32)


@pytest.fixture(scope="session")
def expected(models, image):
    """The results of the plain model for the image."""
    from megenginelite import LiteNetwork

    return scores_of(LiteNetwork(), models / "net.mge", image)


def scores_of(network, path, image):
    network.load(path)
    return run(network, image)


def run(network, image):
    network.get_io_tensor("data").set_data_by_copy(image)
    network.forward()
    network.wait()
    return network.get_io_tensor("score").to_numpy()


@pytest.fixture
def model_path(models):
    return str(models / "net.mge")


@pytest.fixture
def network(models):
    from megenginelite import LiteNetwork

    network = LiteNetwork()
    network.load(models / "net.mge")
    return network
