# SPDX-License-Identifier: Apache-2.0
"""The time of a data-parallel training step, from the latency and the bandwidth of a link.

An exchange of S bytes between n processes takes, with latency a (seconds of a message), b (seconds
for each byte of a link in one direction) and m (seconds of a further message of a process):

- ring: 2 (n - 1) a + 2 (n - 1) / n S b
- Rabenseifner: 2 ceil(log2 n) a + 2 (n - 1) / n S b
- direct: (4 a + 2 (n - 2) m) for each block of 4 MB, + 2 (n - 1) / n S b

"direct" is the exchange of MGE. Every process sends its parts of a block to all others, and each
part follows an announcement.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

BLOCK_BYTES = 4 << 20
ALGORITHMS = ("direct", "ring", "rabenseifner")


@dataclass(frozen=True)
class Link:
    """Latency in seconds, seconds per byte, seconds for each further message of a process."""

    latency: float
    byte: float
    message: float = 0.0

    def exchange(self, size: float, processes: int, algorithm: str = "direct") -> float:
        """Seconds of an all-reduce of `size` bytes."""
        n = processes
        if n == 1:
            return 0.0
        data = 2 * (n - 1) / n * size * self.byte
        if algorithm == "ring":
            return 2 * (n - 1) * self.latency + data
        if algorithm == "rabenseifner":
            return 2 * math.ceil(math.log2(n)) * self.latency + data
        blocks = max(1, math.ceil(size / BLOCK_BYTES))
        return blocks * (4 * self.latency + 2 * (n - 2) * self.message) + data


@dataclass(frozen=True)
class Layer:
    """A layer of which the gradient takes `seconds` and has `size` bytes."""

    seconds: float
    size: float


@dataclass(frozen=True)
class Step:
    """A training step of one process: seconds of the forward pass, layers in the order of their
    gradients, seconds of the update."""

    forward: float
    layers: Sequence[Layer]
    update: float = 0.0

    @property
    def compute(self) -> float:
        """Seconds without exchanges."""
        return self.forward + sum(layer.seconds for layer in self.layers) + self.update

    @property
    def size(self) -> float:
        """Bytes of all gradients."""
        return sum(layer.size for layer in self.layers)

    def buckets(self, bucket_bytes: float) -> list[tuple[float, float]]:
        """When each bucket is complete, and its bytes."""
        found, now, size = [], self.forward, 0.0
        for layer in self.layers:
            now += layer.seconds
            size += layer.size
            if size >= bucket_bytes:
                found.append((now, size))
                size = 0.0
        return [*found, (now, size)] if size else found

    def communication(
        self, link: Link, processes: int, bucket_bytes: float, algorithm: str = "direct"
    ) -> float:
        """Seconds of the exchanges alone."""
        sizes = (size for _, size in self.buckets(bucket_bytes))
        return sum(link.exchange(size, processes, algorithm) for size in sizes)

    def seconds(
        self,
        link: Link,
        processes: int,
        bucket_bytes: float,
        algorithm: str = "direct",
        overlap: bool = True,
    ) -> float:
        """Seconds of the step.

        Buckets are exchanged one after the other, each when it is complete; without overlap when
        all are.
        """
        done = 0.0
        for ready, size in self.buckets(bucket_bytes):
            begin = ready if overlap else self.compute - self.update
            done = max(done, begin) + link.exchange(size, processes, algorithm)
        return max(done, self.compute - self.update) + self.update


def even_step(compute: float, size: float, layers: int = 50) -> Step:
    """A step whose backward pass takes two thirds of the time, with equal layers."""
    part = Layer(2 / 3 * compute / layers, size / layers)
    return Step(compute / 3, [part] * layers)
