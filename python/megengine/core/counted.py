# SPDX-License-Identifier: Apache-2.0
"""Numbers of things in messages."""


def counted(count: int, one: str, many: str | None = None) -> str:
    """``1 run``, ``3 runs``; ``many`` where an s is not enough."""
    return f"{count} {one if count == 1 else many or one + 's'}"
