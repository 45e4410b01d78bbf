# SPDX-License-Identifier: Apache-2.0
"""Data sets."""

from .meta_dataset import ArrayDataset, ConcatDataset, Dataset, StreamDataset

__all__ = ["ArrayDataset", "ConcatDataset", "Dataset", "StreamDataset"]
