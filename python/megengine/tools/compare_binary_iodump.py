# SPDX-License-Identifier: Apache-2.0
"""Two dumps of all values compared: ``mge-dump iodiff``.

python -m megengine.tools.compare_binary_iodump FOLDER FOLDER --max-err 1e-3 --stop-on-error
"""

import sys

from .native import door


def main() -> None:
    """Run the tool with this program's command line.

    Raises:
        SystemExit: always, with its exit code: 7 when the dumps differ.
    """
    door("mge-dump", ["iodiff", *sys.argv[1:]])


if __name__ == "__main__":
    main()
