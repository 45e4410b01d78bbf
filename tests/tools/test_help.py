# SPDX-License-Identifier: Apache-2.0
"""--help of load_and_run fits two screens; --help-all shows the rest."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import termios

WIDTH, HEIGHT = 80, 24


def shown_on_terminal(command):
    """The lines that the command prints on a terminal of that size."""
    pid, terminal = pty.fork()
    if pid == 0:
        fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", HEIGHT, WIDTH, 0, 0))
        os.execv(command[0], command)
    shown = b""
    try:
        while part := os.read(terminal, 10000):
            shown += part
    except OSError:  # the end of a terminal
        pass
    os.close(terminal)
    assert os.waitpid(pid, 0)[1] == 0
    return shown.decode().replace("\r\n", "\n").splitlines()


def test_help_fits_two_screens(tool_path):
    lines = shown_on_terminal([str(tool_path("load_and_run")), "--help"])
    assert len(lines) <= 2 * HEIGHT
    assert max(len(line) for line in lines) <= WIDTH
    options = [line.split()[0] for line in lines if line.startswith("  --")]
    assert len(options) == 20
    assert {"--threads", "--input", "--fast-run", "--profile", "--json"} <= set(options)
    assert "--help-all lists" in lines[-1]


def test_help_has_all_options_in_groups(tool_path):
    def run(flag):
        ran = subprocess.run([tool_path("load_and_run"), flag], capture_output=True, text=True)
        assert ran.returncode == 0
        return ran.stdout

    first, everything = run("--help"), run("--help-all")
    all_options = set(re.findall(r"^  (?:-h,)?(--[a-z0-9-]+)", everything, re.M))
    first_options = set(re.findall(r"^  (--[a-z0-9-]+)", first, re.M))
    assert first_options < all_options
    (more,) = re.findall(r"lists (\d+) further", first)
    assert int(more) == len(all_options) - len(first_options)
    for group in ("Runs and times", "Graph", "Determinism", "Inspection", "Kept for compatibility"):
        assert re.search(f"^{group}", everything, re.M)
