# SPDX-License-Identifier: Apache-2.0
"""Classes that are written elsewhere than where users know them."""


def set_public_home(module: str, *classes: type) -> None:
    """Pickles and messages name ``module``, as MegEngine's do."""
    for cls in classes:
        cls.__module__ = module
