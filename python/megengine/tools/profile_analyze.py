# SPDX-License-Identifier: Apache-2.0
"""Tables of a graph profile: ``mge-profile show`` in MegEngine's style.

    python -m megengine.tools.profile_analyze PROFILE.json --top 5 --type conv2d

The options are those of the tool, ``mge-profile show --help`` lists them.
"""

import sys

from .native import run_and_exit


def main(passed_args: list[str] | None = None) -> None:
    """Run the tool.

    Args:
        passed_args: the command line; None: this program's.
    Raises:
        SystemExit: always, with its exit code.
    """
    arguments = sys.argv[1:] if passed_args is None else passed_args
    styled = {"--style", "--confluence", "--wiki"} & {each.split("=")[0] for each in arguments}
    run_and_exit("mge-profile", ["show", *([] if styled else ["--style", "grid"]), *arguments])


if __name__ == "__main__":
    main()
