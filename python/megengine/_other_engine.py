# SPDX-License-Identifier: Apache-2.0
"""Refuses to be imported where PyPI's package MegEngine is installed into the same folder.

pip lets packages overwrite each other's files, so neither of the two would work. This package
imports the module first. MegEngine imports it by way of ``core/_imperative_rt``, the folder that
Python prefers to MegEngine's extension module of the same name.
"""

import os

_FOLDER = os.path.dirname(os.path.abspath(__file__))
# A file that only MegEngine has.
if os.path.exists(os.path.join(_FOLDER, "_env_initlization.py")):
    raise ImportError(
        f"mge-engine and MegEngine are both installed in {_FOLDER}, where they overwrite each "
        "other's files: run 'pip uninstall mge-engine megengine', then install one of them"
    )
