# SPDX-License-Identifier: Apache-2.0
"""A script run under ``megengine.utils.profiler``.

python -m megengine.tools.profiler -o FOLDER SCRIPT.py ARGUMENTS...
python -m megengine.tools.profiler -o FOLDER -m MODULE ARGUMENTS...
"""

import argparse
import os
import runpy
import sys

from ..utils.profiler import Profiler, merge_trace_events

_OPTIONS = ("sample_rate", "profile_device", "num_tensor_watch", "enable_cupti")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="megengine.tools.profiler")
    parser.add_argument("-m", "--module", action="store_true", help="run a module, not a file")
    parser.add_argument("-o", "--output", default="profile", help="folder to write the profiles to")
    parser.add_argument(
        "-f",
        "--format",
        action="append",
        choices=sorted(Profiler.valid_formats),
        help="format to write; may be repeated",
    )
    parser.add_argument(
        "--merge_trace_events", action="store_true", help="merge the timelines of all processes"
    )
    parser.add_argument("--clean", action="store_true", help="remove older profiles first")
    for name in _OPTIONS:
        parser.add_argument(f"--{name}", type=int, help="same as in Profiler")
    parser.add_argument("script", nargs="?", help="file to run; with -m a module")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="arguments of the script")
    return parser


def run_script(filename: str) -> None:
    """Run a file as Python would; ``sys.argv`` is its command line.

    Args:
        filename: its path.
    Raises:
        OSError: it cannot be read.
    Example:
        >>> with open("script.py", "w") as file:
        ...     print("print(1 + 1)", file=file)
        >>> run_script("script.py")
        2
    """
    sys.path[0] = os.path.dirname(os.path.abspath(filename))
    runpy.run_path(filename, run_name="__main__")


def run_module(modulename: str) -> None:
    """Run a module as ``python -m`` would; ``sys.argv`` is its command line.

    Args:
        modulename: its name.
    Raises:
        ImportError: there is no such module.
    Example:
        >>> with open("my_program.py", "w") as file:
        ...     print("print(1 + 1)", file=file)
        >>> run_module("my_program")
        2
    """
    sys.path[0] = os.getcwd()
    runpy.run_module(modulename, run_name="__main__", alter_sys=True)


def _clean(folder: str) -> None:
    for name in os.listdir(folder) if os.path.isdir(folder) else ():
        if name.split(".", 1)[-1] in Profiler.valid_formats:
            os.unlink(os.path.join(folder, name))


def main() -> None:
    """Run the program.

    Raises:
        SystemExit: the command line is wrong, or the script ends with it.
    Example:
        >>> import subprocess, sys
        >>> command = [sys.executable, "-m", "megengine.tools.profiler", "--help"]
        >>> subprocess.run(command, check=True, capture_output=True, text=True).stdout[:6]
        'usage:'
    """
    parser = _parser()
    args = parser.parse_args()
    if args.clean:
        _clean(args.output)
    if args.script:
        options = {name: getattr(args, name) for name in _OPTIONS}
        given = {name: value for name, value in options.items() if value is not None}
        sys.argv[:] = [args.script, *args.arguments]
        with Profiler(args.output, formats=args.format, **given):
            (run_module if args.module else run_script)(args.script)
    elif not (args.clean or args.merge_trace_events):
        parser.error("a script is needed")
    if args.merge_trace_events:
        merge_trace_events(args.output)


if __name__ == "__main__":
    main()
