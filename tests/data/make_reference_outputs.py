# SPDX-License-Identifier: Apache-2.0
"""Writes models/*.npz: small inputs of example models and what PyTorch answers in f64.

The weights are not stored: examples/models/seeded_weights.py derives them from the parameters'
names. Needs PyTorch and torchvision, which nothing else in the tests does:
benchmarks/inference/setup_peers makes an environment that has them. Run it again only when a case
is added:

    build/peers/bin/python tests/data/make_reference_outputs.py
"""

import sys
from pathlib import Path

import numpy as np
import torch

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "benchmarks" / "inference"))
import torch_models  # noqa: E402
from seeded_weights import seeded_input  # noqa: E402

# file name: (net, input shape)
CASES = {
    "lenet": (torch_models.lenet, (3, 1, 28, 28)),
    "resnet18": (torch_models.vision.resnet18, (2, 3, 64, 64)),
    "bert_encoder": (lambda: torch_models.BertEncoder(2, 64, 4, 256), (2, 16, 64)),
    "mobilenet_v3_large": (torch_models.vision.mobilenet_v3_large, (1, 3, 48, 48)),
    "efficientnet_b0": (torch_models.vision.efficientnet_b0, (1, 3, 48, 48)),
    "vision_transformer": (
        lambda: torch_models.VisionTransformer(32, 8, 2, 64, 4, 256, 10),
        (2, 3, 32, 32),
    ),
    "lstm": (lambda: torch_models.SequenceNet(24, 2), (2, 7, 24)),
    "unet": (lambda: torch_models.UNet((4, 8, 12), 3), (2, 3, 16, 20)),
    "mlp": (torch_models.mlp, (2, 784)),
}


def main():
    for name, (construct, shape) in CASES.items():
        net = torch_models.seeded(construct()).double()
        x = seeded_input(name, shape)
        with torch.inference_mode():
            y = net(torch.from_numpy(x).double()).numpy()
        np.savez_compressed(HERE / "models" / f"{name}.npz", x=x, y=y.astype(np.float32))
        print(f"{name}: {shape} -> {y.shape}, |y| up to {np.abs(y).max():.3g}")


if __name__ == "__main__":
    main()
