# SPDX-License-Identifier: Apache-2.0
"""Samples put together into a batch."""

from collections.abc import Mapping, Sequence

import numpy as np


class Collator:
    """Puts the fields of samples together.

    Example:
        >>> Collator().apply([(1, "a"), (2, "b")])
        [array([1, 2]), ('a', 'b')]
    """

    def apply(self, inputs: Sequence):
        """Put samples together.

        Args:
            inputs: samples of one kind: arrays are stacked, numbers become an array, strings stay
                as they are; tuples, lists, dicts and named tuples are put together by fields.
        Returns:
            The batch.
        Raises:
            TypeError: a field is of another type.
            ValueError: sequences have different lengths.
        """
        first = inputs[0]
        if isinstance(first, (str, bytes)):
            return inputs
        if isinstance(first, (np.ndarray, np.generic)):
            return np.ascontiguousarray(np.stack(inputs))
        if isinstance(first, (bool, int, float)):
            return np.array(inputs)
        if isinstance(first, Mapping):
            return {key: self.apply([sample[key] for sample in inputs]) for key in first}
        if isinstance(first, tuple) and hasattr(first, "_fields"):
            return type(first)(*(self.apply(field) for field in zip(*inputs, strict=True)))
        if isinstance(first, Sequence):
            if any(len(sample) != len(first) for sample in inputs):
                raise ValueError("the samples of a batch have different numbers of fields")
            return [self.apply(field) for field in zip(*inputs, strict=True)]
        raise TypeError(
            "a sample must hold arrays, numbers, strings, dicts or sequences,"
            f" got {type(first).__name__}"
        )
