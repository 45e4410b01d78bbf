# SPDX-License-Identifier: Apache-2.0
"""Modules and weights that others publish: in git repositories with a ``hubconf.py``.

Its functions are the repository's entry points. They are foreign code, which runs here when a
function is called: use only repositories that you trust, and give the commit if you can.
"""

from .hub import (
    help,
    import_module,
    list,
    load,
    load_serialized_obj_from_url,
    pretrained,
)

__all__ = [
    "help",
    "import_module",
    "list",
    "load",
    "load_serialized_obj_from_url",
    "pretrained",
]
