# SPDX-License-Identifier: Apache-2.0
"""`scripts/make_wheels` builds wheels that hold what they need, for each Python that is there."""

import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts/make_wheels"
# Libraries that every system with glibc 2.35 has, as PEP 600 lists them.
OF_THE_SYSTEM = {"libc", "libm", "libstdc++", "libgcc_s", "libz", "ld-linux-x86-64"}


def test_an_interpreter_without_headers_is_not_found(tmp_path):
    folder = tmp_path / "bin"
    folder.mkdir()
    for minor in range(10, 15):
        (folder / f"python3.{minor}").write_text("#!/bin/sh\nexit 1\n")
        (folder / f"python3.{minor}").chmod(0o755)
    program = f". {ROOT}/scripts/lib/interpreters.sh; interpreters 10 14"
    environment = {"PATH": f"{folder}:/usr/bin:/bin", "PYENV_ROOT": str(tmp_path), "HOME": "/"}
    done = subprocess.run(["bash", "-c", program], env=environment, capture_output=True, text=True)
    assert all(line.startswith("/usr/bin/python3.") for line in done.stdout.splitlines())


@pytest.fixture(scope="module")
def dist(tmp_path_factory):
    """The wheels that the script makes for the interpreter of the tests."""
    subprocess.run([SCRIPT, sys.executable], check=True)
    folder = tmp_path_factory.mktemp("dist")
    for file in (ROOT / "dist").glob("*_x86_64.whl"):
        shutil.copy(file, folder)
    return folder


# It compiles the library and the extension, and installs scikit-learn from the network: too long
# for every change. test_pip_install checks the same wheel before libraries are copied into it.
@pytest.mark.skipif("MGE_NIGHTLY" not in os.environ, reason="compiles everything again: nightly")
class TestWheels:
    def test_names_say_what_they_run_on(self, dist):
        minor = sys.version_info.minor
        tag = f"cp3{minor}-cp3{minor}" if minor < 12 else "cp312-abi3"
        names = {re.sub(r"-\d+\.\d+\.\d+-", "-VERSION-", file.name) for file in dist.iterdir()}
        assert names == {
            f"mge_engine-VERSION-{tag}-manylinux_2_35_x86_64.whl",
            "mge_engine_lite-VERSION-py3-none-manylinux_2_34_x86_64.whl",
        }

    def test_the_same_sources_give_the_same_bytes(self, dist):
        before = {file.name: file.read_bytes() for file in dist.iterdir()}
        subprocess.run([SCRIPT, sys.executable], check=True)
        assert {
            file.name: file.read_bytes() for file in (ROOT / "dist").glob("*_x86_64.whl")
        } == before

    @pytest.mark.skipif(not shutil.which("nvcc"), reason="the wheel for GPUs needs nvcc")
    def test_gpus_are_a_wheel_of_their_own(self, dist, tmp_path):
        done = subprocess.run([SCRIPT, "--gpu", sys.executable], stdout=subprocess.PIPE, text=True)
        assert done.returncode == 0
        [wheel] = (ROOT / "dist").glob("mge_engine_cuda13-*.whl")
        names = zipfile.ZipFile(wheel).namelist()
        assert [name for name in names if name.endswith(".so")] == ["megengine/lib/libmge_cuda.so"]
        assert any(name.endswith("licenses/NOTICE") for name in names)

    def test_libraries_are_inside(self, dist, tmp_path, run):
        for wheel in dist.iterdir():
            folder = tmp_path / wheel.stem
            zipfile.ZipFile(wheel).extractall(folder)
            files = [file for file in folder.rglob("*") if is_elf(file)]
            needed = set()
            for file in files:
                needed |= set(re.findall(r"\(NEEDED\).*\[(.+)\]", run("readelf", "-dW", file)))
            inside = {file.name for file in files}
            assert {name.partition(".so")[0] for name in needed - inside} <= OF_THE_SYSTEM


def is_elf(path):
    return path.is_file() and path.open("rb").read(4) == b"\x7fELF"
