# SPDX-License-Identifier: Apache-2.0
"""OpenCV, imported on first use."""

import functools
from typing import Any


@functools.cache
def opencv() -> Any:
    """The module ``cv2``.

    Raises:
        ImportError: OpenCV is not installed.
    """
    try:
        import cv2  # is optional
    except ImportError as e:
        raise ImportError(
            f"[megengine] this works with OpenCV, which cannot be imported ({e});"
            " install it: pip install opencv-python-headless"
        ) from e
    return cv2
