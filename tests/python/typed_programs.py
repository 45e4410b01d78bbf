# SPDX-License-Identifier: Apache-2.0
"""Programs as users write them, for the checkers of types: ``scripts/lint`` reads this file.

Each ``assert_type`` fails there if the package says something else; nothing here is run.
"""

from collections.abc import Callable, Iterator
from typing import Any, assert_type

import numpy as np

import megengine as mge
import megengine.functional as F
import megengine.module as M
import megengine.optimizer as optim
from megengine import Parameter, Tensor
from megengine.autodiff import GradManager
from megengine.data import DataLoader, RandomSampler
from megengine.data.dataset import ArrayDataset
from megengine.jit import trace


def tensors() -> None:
    x = mge.Tensor([1.0, 2.0])
    assert_type(x.numpy(), np.ndarray[Any, Any])
    assert_type(mge.tensor(3), Tensor)
    assert_type(x + 1, Tensor)
    assert_type(2 * x, Tensor)
    assert_type(-x, Tensor)
    assert_type(x @ x.T, Tensor)
    assert_type(x > 0, Tensor)
    assert_type(x == 1, Tensor)
    assert_type(x[0], Tensor)
    assert_type(x[1:, None], Tensor)
    assert_type(x.shape, tuple[int, ...])
    assert_type(x.ndim, int)
    assert_type(x.reshape(1, -1).transpose(1, 0).flatten(), Tensor)
    assert_type(x.sum(axis=0, keepdims=True), Tensor)
    assert_type(x.mean().item(), Any)
    assert_type(float(x[0]) + int(x[1]), float)
    assert_type(x.astype("float16").to("cpu0").detach(), Tensor)
    assert_type(len(x), int)
    assert_type(next(iter(x)), Tensor)
    x += 1
    x[0] = 2
    x[x > 1] = np.zeros(1)
    assert_type(x, Tensor)
    p = Parameter(np.ones((2, 3), np.float32))
    p -= 0.1
    assert_type(p * 2, Tensor)
    print(f"{x.mean():.2f}", x.dtype, x.device, x.name, p.grad.numpy())


def functions(x: Tensor) -> Tensor:
    x = F.relu(x) + F.exp(-x) * F.sigmoid(2.0)
    x = F.concat([x, F.zeros_like(x), F.ones(x.shape, dtype="float32")], axis=1)
    x = F.reshape(x, (x.shape[0], -1))
    x = F.softmax(F.matmul(x, F.transpose(x, (1, 0))), axis=-1)
    values, indices = F.topk(x, 2, descending=True)
    first, second = F.split(values, 2, axis=1)
    loss = F.nn.cross_entropy(values, indices) + F.loss.l1_loss(first, second)
    x = F.where(x > 0, x, F.full((1,), 2.0)) + F.mean(x, axis=(0, 1)) + F.max(x)
    x = F.vision.interpolate(F.expand_dims(x, [0, 1]), scale_factor=2, mode="bilinear")
    x = F.conv2d(x, F.ones((1, 1, 3, 3)), padding=1, stride=(1, 1))
    x = F.nn.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    return F.stack([loss, F.sum(F.square(x))])


class Net(M.Module):
    def __init__(self, width: int = 8) -> None:
        super().__init__()
        self.body = M.Sequential(
            M.Conv2d(3, width, 3, stride=2, padding=1), M.BatchNorm2d(width), M.ReLU()
        )
        self.head = M.Linear(width, 10)
        self.scale = Parameter(np.ones(1, np.float32))
        for k in range(2):
            setattr(self, f"block{k}", M.Identity())

    def forward(self, x: Tensor, factor: float = 1.0) -> Tensor:
        x = self.block1(self.block0(self.body(x)))
        x = F.avg_pool2d(x, x.shape[2])
        return self.head(F.flatten(x, 1)) * self.scale * factor


def training() -> None:
    net = Net()
    net.train()
    gm = GradManager()
    gm.attach(net.parameters())
    solver = optim.SGD(net.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4)
    data = ArrayDataset(np.zeros((8, 3, 8, 8), np.float32), np.zeros(8, np.int32))
    loader = DataLoader(data, RandomSampler(data, batch_size=4))

    @trace(symbolic=True)
    def step(images: Tensor, labels: Tensor) -> Tensor:
        with gm:
            loss = F.nn.cross_entropy(net(images), labels)
            gm.backward(loss)
            solver.step().clear_grad()
        return loss

    for images, labels in loader:
        print(step(mge.Tensor(images), mge.Tensor(labels)).item())
    for group in solver.param_groups:
        group["lr"] = 0.01
    for name, parameter in net.named_parameters():
        print(name, parameter.numpy().shape)
    mge.save(net.state_dict(), "net.pkl")
    net.load_state_dict(mge.load("net.pkl"))


def dumping(net: Net, x: Tensor) -> None:
    net.eval()

    @trace(symbolic=True, capture_as_const=True)
    def infer(data: Tensor, *, net: Net = net) -> Tensor:
        return net(data)

    infer(x, net=net)
    infer.dump("net.mge", arg_names=["data"])
    called = trace(net, capture_as_const=True)
    called(x)


def types_of_tools(net: Net) -> Callable[..., Any]:
    parameters: Iterator[Parameter] = net.parameters()
    print(sum(p.size for p in parameters), mge.get_device_count("cpu"), mge.is_cuda_available())
    mge.random.seed(1)
    noise = mge.random.normal(0, 1, (2, 3))
    assert_type(noise, Tensor)
    return net.forward
