#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Dumps example models with seeded random weights as .mge files.

python examples/models/dump.py resnet18 lenet --out build/models --batch 1
"""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from bert import bert_base  # noqa: E402
from efficientnet import efficientnet_b0  # noqa: E402
from lenet import lenet  # noqa: E402
from lstm import lstm  # noqa: E402
from mlp import mlp  # noqa: E402
from mobilenet_v2 import mobilenet_v2  # noqa: E402
from mobilenet_v3 import mobilenet_v3_large  # noqa: E402
from resnet import resnet18, resnet50  # noqa: E402
from seeded_weights import load_seeded_weights, seeded_input  # noqa: E402
from shufflenet_v2 import shufflenet_v2_x1_0  # noqa: E402
from unet import unet_small  # noqa: E402
from vgg import vgg16  # noqa: E402
from vit import vit_b_16  # noqa: E402

from megengine import Tensor  # noqa: E402
from megengine.jit import trace  # noqa: E402

IMAGE = (3, 224, 224)

# name: (constructor, shape of one sample)
MODELS = {
    "lenet": (lenet, (1, 28, 28)),
    "resnet18": (resnet18, IMAGE),
    "resnet50": (resnet50, IMAGE),
    "mobilenet_v2": (mobilenet_v2, IMAGE),
    "shufflenet_v2_x1_0": (shufflenet_v2_x1_0, IMAGE),
    "vgg16": (vgg16, IMAGE),
    "bert_base": (bert_base, (128, 768)),
    "mobilenet_v3_large": (mobilenet_v3_large, IMAGE),
    "efficientnet_b0": (efficientnet_b0, IMAGE),
    "vit_b_16": (vit_b_16, IMAGE),
    "lstm": (lstm, (128, 256)),
    "unet_small": (unet_small, (3, 256, 256)),
    "mlp": (mlp, (784,)),
}


def build(name, seed=0):
    """Return one of MODELS in evaluation mode with its seeded weights."""
    net = load_seeded_weights(MODELS[name][0](), seed)
    net.eval()
    return net


def dump(name, path, batch=1, seed=0):
    """Write one of MODELS to a file, with input "x" and output "y"."""
    net = build(name, seed)

    @trace(symbolic=True, capture_as_const=True)
    def forward(x):
        return net(x)

    forward(Tensor(seeded_input(name, (batch, *MODELS[name][1]), seed)))
    # The graph as recorded, named by operators: the models show what compiling makes of it.
    names = {"arg_names": ["x"], "output_names": ["y"], "keep_var_name": 0}
    forward.dump(str(path), **names, no_change_graph=True)


def main():
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("names", nargs="+", choices=MODELS, metavar="NAME", help=", ".join(MODELS))
    parser.add_argument("--out", required=True, type=Path, metavar="DIR", help="where to write")
    parser.add_argument("--batch", type=int, default=1, metavar="N", help="samples of an input")
    parser.add_argument("--seed", type=int, default=0, help="another seed, other weights")
    options = parser.parse_args()
    if options.batch < 1:
        parser.error(f"--batch must be at least 1, got {options.batch}")
    options.out.mkdir(parents=True, exist_ok=True)
    for name in options.names:
        path = options.out / f"{name}.mge"
        dump(name, path, options.batch, options.seed)
        print(f"{path}: {path.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
