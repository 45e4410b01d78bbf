# SPDX-License-Identifier: Apache-2.0
"""`pip install .` gives a package that works alone, away from the source and build trees."""

import os
import re
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# As deep as build/release, so that relative paths agree and ccache answers nearly everything.
SETTINGS = (
    "cmake.define.CMAKE_COMPILE_WARNING_AS_ERROR=ON",
    f"build-dir={ROOT}/build/wheel",
)


@pytest.fixture(scope="module")
def site(run, tmp_path_factory):
    """A folder with the package in it, installed by pip."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "pip", "install", "--disable-pip-version-check"]
    command += ["--no-build-isolation", "--no-deps", "--target", folder]
    for setting in SETTINGS:
        command += ["--config-settings", setting]
    # The compiler under the name in the build tree, because ccache distinguishes names.
    run(*command, ROOT, env={**os.environ, "CXX": "c++"})
    return folder


@pytest.fixture
def python(site, run, tmp_path):
    """Runs a program with the installed package, in an empty folder."""

    def run_python(program):
        environment = {**os.environ, "PYTHONPATH": str(site)}
        return run(sys.executable, "-c", program, cwd=tmp_path, env=environment)

    return run_python


def test_package_is_the_installed_one(site, python):
    files = python(
        "import megengine as m, megengine._mge as x; print(m.__file__); print(x.__file__)"
    )
    assert [Path(line).parent for line in files.splitlines()[-2:]] == [site / "megengine"] * 2


def test_version_is_defined_once(site, python):
    (metadata,) = site.glob("mge_engine-*.dist-info")
    version = python("import megengine._mge; print(megengine._mge.__version__)").strip()
    assert metadata.name == f"mge_engine-{version}.dist-info"
    with open(ROOT / "pyproject.toml", "rb") as file:
        assert "version" not in tomllib.load(file)["project"]


def test_library_is_inside_once(site):
    assert len(list(site.rglob("libmge.so*"))) == 1


def test_tools_are_inside(site, run, tool_names, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(site))
    for tool in tool_names:
        assert run(site / "bin" / tool, "--version").startswith(tool)


def test_programs_in_cpp_are_built_against_it(site, run, monkeypatch, check_readme_program):
    monkeypatch.setenv("PYTHONPATH", str(site))
    for name, place in {"pkgconfig": "lib/pkgconfig", "cmake": "lib/cmake/mge"}.items():
        folder = run(sys.executable, "-m", "megengine.config", f"--{name}-dir").strip()
        assert folder == str(site / "megengine" / place)
    assert (site / "megengine/lib/cmake/mge/mgeTargets-release.cmake").is_file()
    check_readme_program(site / "megengine")


def test_readme_example(readme_example, python, tmp_path):
    # The log of the dump is between the lines that the program prints.
    (loss,) = re.findall(r"^loss (.*)$", python(readme_example("python")), re.MULTILINE)
    assert float(loss) < 0.01
    assert (tmp_path / "sum.mge").stat().st_size > 0
