# SPDX-License-Identifier: Apache-2.0
"""liblite_shared.so, the library for deployment: what it needs and shows, and that it works."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NEEDED = {"libdnnl", "libxxhash", "libgcc_s", "libm", "libc", "ld-linux-x86-64"}

CATCHES = """
#include <cstdio>
#include "lite/network.h"

int main() {
    try {
        lite::Network().load_model("nosuch.mge");
    } catch (const lite::Error& error) {
        std::puts(error.what());
    }
    try {
        lite::Tensor(LiteDeviceType::LITE_CPU, lite::Layout{{2, 3}, 2}).reshape({4});
    } catch (const std::exception& error) {
        std::puts(error.what());
    }
}
"""


@pytest.fixture(scope="module")
def library(build_dir):
    path = build_dir / "lib/lite/liblite_shared.so"
    if not path.exists():
        pytest.skip("builds with sanitizers have none")
    return path


def needed(path, run):
    listing = run("readelf", "--dynamic", "--wide", path)
    return set(re.findall(r"\(NEEDED\).*\[([\w-]+)\.so", listing))


def test_needs_little(library, run):
    assert needed(library, run) <= NEEDED


def test_no_library_of_highway_is_loaded(build_dir, run):
    """Loading it takes every process four milliseconds."""
    assert "libhwy" not in needed(build_dir / "lib/libmge.so", run)
    shown = run("nm", "--dynamic", "--defined-only", build_dir / "lib/libmge.so")
    assert "_ZN3hwy" not in shown


def test_shows_only_lite(library, run):
    shown = run("nm", "--dynamic", "--defined-only", "--demangle", library)
    names = [line.split(maxsplit=2)[2] for line in shown.splitlines()]
    own = r"LITE_\w+|default_\w+|(typeinfo (name )?for |vtable for )?lite::.+"
    assert [name for name in names if not re.fullmatch(own, re.sub(r"\[abi:.*", "", name))] == []
    assert "LITE_forward" in names


def test_programs_catch_its_errors(library, run, tmp_path):
    source, program = tmp_path / "main.cpp", tmp_path / "program"
    source.write_text(CATCHES)
    headers = ROOT / "libmge/lite/include"
    libraries = [library, f"-Wl,-rpath,{library.parent}"]
    run("c++", "-std=c++17", f"-I{headers}", source, *libraries, "-o", program)
    first, second = run(program).splitlines()
    assert "nosuch.mge" in first and "reshape" in second


def test_the_tests_of_megenginelite_pass_on_it(build_dir, library):
    environment = {
        **os.environ,
        "LITE_LIB_PATH": str(library),
        "MGE_BUILD_DIR": str(build_dir),
        "PYTHONPATH": str(build_dir / "python"),
    }
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/lite_python"],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-4000:]
