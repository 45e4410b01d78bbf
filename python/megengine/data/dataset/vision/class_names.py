# SPDX-License-Identifier: Apache-2.0
"""The names of the classes of data sets, from class_names.json."""

import json
from pathlib import Path

_FILE = Path(__file__).with_suffix(".json")


def names_of(dataset: str) -> tuple[str, ...]:
    """Returns the names of a data set's classes in their order.

    Args:
        dataset: the name of its class, for example ``"COCO"``.
    """
    return tuple(json.loads(_FILE.read_text(encoding="utf-8"))[dataset])
