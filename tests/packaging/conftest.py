# SPDX-License-Identifier: Apache-2.0
"""Common part of the packaging tests: the build tree under test and the examples of README.md."""

import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def build_dir():
    """The build tree that is installed: $MGE_BUILD_DIR, or the release one."""
    folder = Path(os.environ.get("MGE_BUILD_DIR", ROOT / "build/release"))
    if not (folder / "CMakeCache.txt").exists():
        pytest.fail(
            f"no build tree in {folder}; scripts/test makes one, MGE_BUILD_DIR names another"
        )
    return folder


@pytest.fixture(scope="session")
def tool_names():
    """The tools that a wheel has as scripts."""
    return re.findall(r'^(\S+) = "_mge_tools:', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)


@pytest.fixture(scope="session")
def readme_example():
    """The one example of README.md in a language, as text."""

    def find(language):
        (example,) = re.findall(
            rf"```{language}\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL
        )
        return example

    return find


@pytest.fixture(scope="session")
def run():
    """Runs a command and returns its output; a failing one fails the test with all it printed."""

    def run_command(*command, **options):
        words = [str(word) for word in command]
        done = subprocess.run(
            words,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            **options,
        )
        if done.returncode:
            pytest.fail(f"{' '.join(words)} ended with {done.returncode}:\n{done.stdout}")
        return done.stdout

    return run_command


@pytest.fixture(scope="session")
def prefix(build_dir, run, tmp_path_factory):
    """An installed tree, moved after that."""
    folder = tmp_path_factory.mktemp("install")
    run("cmake", "--install", build_dir, "--prefix", folder / "first")
    return (folder / "first").rename(folder / "moved")


@pytest.fixture(scope="session")
def build_project(prefix, run, tmp_path_factory):
    """Builds a project of a user against the installed tree; gives the folder with what it made."""

    def build(source):
        folder = tmp_path_factory.mktemp("build")
        flags = [f"-DCMAKE_PREFIX_PATH={prefix}", "-DCMAKE_BUILD_TYPE=Release"]
        run("cmake", "-S", source, "-B", folder, "-G", "Ninja", *flags)
        run("cmake", "--build", folder)
        return folder

    return build


@pytest.fixture(scope="session")
def flags_of(run):
    """The compiler's flags for an installed tree, by pkg-config."""

    def query(prefix):
        environment = {**os.environ, "PKG_CONFIG_PATH": str(prefix / "lib/pkgconfig")}
        return run("pkg-config", "--cflags", "--libs", "mge", env=environment).split()

    return query


@pytest.fixture(scope="session")
def readme_output():
    """The output of README.md's C++ program, without the version at the end."""
    return "0.0900306 0.244728 0.665241 by mge "


@pytest.fixture
def check_readme_program(flags_of, readme_example, readme_output, run, tmp_path):
    """Builds the C++ program of README.md against an installed tree by pkg-config, and runs it."""

    def check(prefix):
        source, binary = tmp_path / "readme.cpp", tmp_path / "readme"
        source.write_text(readme_example("cpp"))
        run("c++", "-std=c++20", source, *flags_of(prefix), "-o", binary)
        assert readme_output in run(binary)

    return check
