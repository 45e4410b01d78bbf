# SPDX-License-Identifier: Apache-2.0
"""`cpack -G DEB` makes packages with files below /usr and complete dependencies, which work
unpacked."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(
    "MGE_SANITIZED" in os.environ, reason="cpack hangs with the sanitizer's runtime"
)
ROOT = Path(__file__).resolve().parents[2]

# A project that is packed as this one is.
PACKED_PROJECT = """cmake_minimum_required(VERSION 3.25)
project(packed VERSION 1.2 DESCRIPTION "Something" LANGUAGES NONE)
set(MGE_SOVERSION 0)
install(FILES LICENSE DESTINATION share COMPONENT library)
include(cmake/MgePackage.cmake)
"""


@pytest.fixture(scope="module")
def packages(build_dir, run, tmp_path_factory):
    """The packages' files by their names."""
    folder = tmp_path_factory.mktemp("packages")
    run("cpack", "-G", "DEB", "-B", folder, cwd=build_dir)
    return {file.name.partition("_")[0]: file for file in folder.glob("*.deb")}


@pytest.fixture(scope="module")
def root(packages, run, tmp_path_factory):
    """A folder into which all of them are unpacked."""
    folder = tmp_path_factory.mktemp("root")
    for file in packages.values():
        run("dpkg-deb", "--extract", file, folder)
    return folder


def field(package, name):
    return subprocess.check_output(["dpkg-deb", "--field", package, name], text=True).strip()


def test_names_and_dependencies(packages):
    assert {"libmge0", "libmge-dev", "mge-tools", "python3-mge"} <= packages.keys()
    needs = field(packages["libmge0"], "Depends")
    # Distributions have different versions of oneDNN: libdnnl2, libdnnl3, ...
    assert all(
        re.search(rf"\b{library} \(", needs)
        for library in ("libc6", r"libdnnl[\d.]+", "libsqlite3-0")
    )
    assert "libssl3" in needs  # opened when it is needed
    minor = sys.version_info.minor
    of_python = field(packages["python3-mge"], "Depends")
    assert f"python3 (>= 3.{minor}), python3 (<< 3.{minor + 1})" in of_python
    version = field(packages["libmge0"], "Version")
    for other in packages.keys() - {"libmge0", "libmge-lite"}:
        assert f"libmge0 (= {version})" in field(packages[other], "Depends")


def test_all_files_are_below_usr(root):
    assert [entry.name for entry in root.iterdir()] == ["usr"]


def test_tools_work_with_their_pages(root, run, tool_names):
    programs = sorted(file.name for file in (root / "usr/bin").iterdir())
    assert programs == tool_names
    for program in programs:
        assert "--help" in run(root / "usr/bin" / program, "--help")
        assert (root / f"usr/share/man/man1/{program}.1.gz").is_file()


def test_each_package_has_its_licences(packages, root):
    for name in packages:
        folder = root / "usr/share/doc" / name
        assert "Apache-2.0" in (folder / "copyright").read_text()
        assert (folder / "changelog.gz").is_file()
        assert (folder / "third_party/NOTICE").is_file()


def test_python_packages_work(root, run):
    environment = {
        "PYTHONPATH": str(root / "usr/lib/python3/dist-packages"),
        "LD_LIBRARY_PATH": str(root / "usr/lib"),
    }
    program = "import megengine, megenginelite; print(megengine.__file__, megengine.Tensor(3) * 2)"
    assert run(sys.executable, "-c", program, env=environment).startswith(str(root))


def test_programs_are_built_against_them(root, check_readme_program):
    check_readme_program(root / "usr")


@pytest.mark.parametrize("is_native", [False, True])
def test_kernels_for_one_machine_are_not_packed(tmp_path, run, is_native):
    (tmp_path / "CMakeLists.txt").write_text(PACKED_PROJECT)
    for name in ("cmake", "LICENSE"):
        (tmp_path / name).symlink_to(ROOT / name)
    build = tmp_path / "build"
    run(
        "cmake", "-S", tmp_path, "-B", build, f"-DMGE_NATIVE_KERNELS={'ON' if is_native else 'OFF'}"
    )
    packed = subprocess.run(
        ["cpack", "-G", "DEB"], cwd=build, capture_output=True, text=True, check=False
    )
    assert (packed.returncode != 0) == is_native, packed.stdout + packed.stderr
    assert (list(build.glob("*.deb")) == []) == is_native
    refusal = "CPU kernels for one machine alone; packages are made of the preset release"
    assert (refusal in " ".join(packed.stderr.split())) == is_native
