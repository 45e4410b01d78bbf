# SPDX-License-Identifier: Apache-2.0
"""PyTorch: eager, channels last; with --variant compile through inductor with frozen weights."""

import sys
from pathlib import Path

import protocol
import torch
import torch._inductor.config as inductor_config

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import torch_models  # noqa: E402

options = protocol.arguments()
torch.set_num_threads(options.threads)
torch.set_num_interop_threads(1)
torch.set_grad_enabled(False)


def load():
    net = torch_models.build(options.model)
    x = torch.from_numpy(protocol.load_case(options)[0])
    if options.variant == "compile":
        inductor_config.freezing = True
        net = torch.compile(net, dynamic=False)
        net(x)
    elif x.ndim == 4:
        net, x = (
            net.to(memory_format=torch.channels_last),
            x.to(memory_format=torch.channels_last),
        )
    last = []

    def run():
        last[:] = [net(x)]

    return run, lambda: last[0].numpy()


version = torch.__version__.split("+")[0]
protocol.serve("PyTorch " + (options.variant or "eager"), version, load, options)
