# SPDX-License-Identifier: Apache-2.0
"""Print where the parts of the package for C++ programs are: ``python -m megengine.config``."""

import argparse
import sys
from pathlib import Path

from .. import _mge

_PACKAGE = Path(_mge.__file__).parent
_FOLDERS = {
    "cmake-dir": ("lib/cmake/mge", "the folder for CMake's mge_DIR"),
    "include-dir": ("include", "the folder of the headers"),
    "library-dir": ("lib", "the folder of libmge"),
    "pkgconfig-dir": ("lib/pkgconfig", "the folder for PKG_CONFIG_PATH"),
}


def _main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m megengine.config", description=str(__doc__).partition(":")[0] + "."
    )
    group = parser.add_mutually_exclusive_group(required=True)
    group.add_argument("--version", action="version", version=_mge.__version__)
    for name, (place, text) in _FOLDERS.items():
        group.add_argument(f"--{name}", action="store_const", const=place, dest="place", help=text)
    folder = _PACKAGE / parser.parse_args().place
    if not folder.is_dir():
        print(
            f"megengine.config: there is no {folder}: wheels have it; Debian's package libmge-dev "
            "and 'cmake --install' have the same files elsewhere",
            file=sys.stderr,
        )
        return 1
    print(folder)
    return 0


if __name__ == "__main__":
    sys.exit(_main())
