# SPDX-License-Identifier: Apache-2.0
"""Compilers are called through ccache; the checksum of a precompiled header is stored beside it."""

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

import pytest

LAUNCHER = Path(__file__).resolve().parents[2] / "cmake/launch_ccache"
# Lists an earlier header, then makes one; fails on request.
CCACHE = """#!/bin/sh
echo "$CCACHE_BASEDIR:$*"
ls
[ "$1" = broken ] && exit 3
printf header > "$3"
"""


def launch(folder: Path, *arguments: str):
    ccache = folder / "programs/ccache"
    ccache.parent.mkdir()
    ccache.write_text(CCACHE)
    ccache.chmod(0o755)
    work = folder / "work"
    work.mkdir()
    (work / "all.gch").write_text("old")
    (work / "all.gch.sum").write_text("old")
    command = ["sh", LAUNCHER, "/source", ccache, *arguments]
    ended = subprocess.run(command, cwd=work, env=os.environ, capture_output=True, text=True)
    return ended, work


def test_header_is_rebuilt_with_checksum(tmp_path):
    ended, work = launch(tmp_path, "c++", "-o", "all.gch", "-c", "all.h")
    assert ended.returncode == 0
    assert ended.stdout == "/source:c++ -o all.gch -c all.h\n"  # and nothing of the old one
    assert (work / "all.gch.sum").read_text().split()[0] == hashlib.sha256(b"header").hexdigest()


def test_other_outputs_have_no_name(tmp_path):
    ended, work = launch(tmp_path, "c++", "-o", "all.o", "-c", "all.cpp", "-include", "all.gch")
    assert ended.returncode == 0 and (work / "all.o").exists()
    assert not (work / "all.o.sum").exists() and (work / "all.gch.sum").read_text() == "old"


def test_compiler_failure_is_reported(tmp_path):
    for output in ["all.o", "all.gch"]:
        folder = tmp_path / output
        folder.mkdir()
        ended, work = launch(folder, "broken", "-o", output)
        assert ended.returncode == 3
    assert not (work / "all.gch.sum").exists()


# A header of macros alone is nothing once preprocessed, which is what ccache looks at where it may.
@pytest.mark.skipif(not shutil.which("ccache"), reason="there is no ccache")
def test_a_macro_that_changes_is_seen(tmp_path):
    environment = {**os.environ, "CCACHE_DIR": str(tmp_path / "cache")}
    environment.pop("CCACHE_DEPEND", None)

    def run(*arguments):
        command = ["sh", LAUNCHER, tmp_path, shutil.which("ccache"), "g++", *arguments]
        subprocess.run(command, cwd=tmp_path, env=environment, check=True)

    (tmp_path / "main.cpp").write_text("int main() { return NUMBER; }")
    (tmp_path / "all.cpp").write_text("")
    for number in [1, 2, 1]:
        (tmp_path / "all.h").write_text(f"#define NUMBER {number}\n")
        header = ["-x", "c++-header", "-include", "all.h", "-MD", "-MF", "all.d"]
        run(*header, "-o", "all.h.gch", "-c", "all.cpp")
        use = ["-Winvalid-pch", "-include", "all.h", "-MD", "-MF", "main.d"]
        run(*use, "-o", "main.o", "-c", "main.cpp")
        subprocess.run(["g++", "main.o", "-o", "main"], cwd=tmp_path, check=True)
        assert subprocess.run([tmp_path / "main"]).returncode == number


@pytest.mark.skipif(not shutil.which("ccache"), reason="there is no ccache")
def test_builds_with_other_warnings_and_folders_share_objects(tmp_path):
    environment = {**os.environ, "CCACHE_DIR": str(tmp_path / "cache")}
    (tmp_path / "main.cpp").write_text("int main() {}")
    for options in [["-fmacro-prefix-map=/a/="], ["-Werror", "-fmacro-prefix-map=/b/="]]:
        command = ["sh", LAUNCHER, tmp_path, shutil.which("ccache"), "g++", *options]
        command += ["-o", "main.o", "-c", "main.cpp"]
        subprocess.run(command, cwd=tmp_path, env=environment, check=True)
    statistics = subprocess.run(
        ["ccache", "--print-stats"], env=environment, check=True, capture_output=True, text=True
    ).stdout
    counts = dict(line.split("\t") for line in statistics.splitlines())
    assert int(counts["cache_miss"]) == 1
    assert int(counts["direct_cache_hit"]) + int(counts["preprocessed_cache_hit"]) == 1
