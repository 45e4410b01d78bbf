# SPDX-License-Identifier: Apache-2.0
"""Data sets, samplers, transforms, collators and loaders."""

from . import dataset, transform
from .collator import Collator
from .dataloader import DataLoader, get_worker_info
from .sampler import (
    Infinite,
    MapSampler,
    RandomSampler,
    ReplacementSampler,
    Sampler,
    SequentialSampler,
    StreamSampler,
)

__all__ = [
    "Collator",
    "DataLoader",
    "Infinite",
    "MapSampler",
    "RandomSampler",
    "ReplacementSampler",
    "Sampler",
    "SequentialSampler",
    "StreamSampler",
    "dataset",
    "get_worker_info",
    "transform",
]
