# SPDX-License-Identifier: Apache-2.0
"""The C++ program of README.md is built against an installed and then moved tree, in both ways."""

import os
import shutil
from pathlib import Path

import pytest

CONSUMER = Path(__file__).parent / "consumer/CMakeLists.txt"
EXPECTED = "0.0900306 0.244728 0.665241 by mge "


@pytest.fixture
def program(tmp_path, readme_example):
    file = tmp_path / "main.cpp"
    file.write_text(readme_example("cpp"))
    return file


def test_find_package(prefix, program, run):
    source, build = program.parent, program.parent / "build"
    shutil.copy(CONSUMER, source)
    run("cmake", "-S", source, "-B", build, "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={prefix}")
    run("cmake", "--build", build)
    assert EXPECTED in run(build / "consumer")


def test_pkg_config(prefix, program, run):
    environment = {**os.environ, "PKG_CONFIG_PATH": str(prefix / "lib/pkgconfig")}
    flags = run("pkg-config", "--cflags", "--libs", "mge", env=environment).split()
    binary = program.with_suffix("")
    run("c++", "-std=c++20", program, *flags, "-o", binary)
    assert EXPECTED in run(binary, env={**os.environ, "LD_LIBRARY_PATH": str(prefix / "lib")})


def test_promised_services_link_and_work(prefix, run, tmp_path):
    source, build = tmp_path / "source", tmp_path / "build"
    source.mkdir()
    shutil.copy(CONSUMER, source)
    shutil.copy(CONSUMER.with_name("services.cpp"), source / "main.cpp")
    run("cmake", "-S", source, "-B", build, "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={prefix}")
    run("cmake", "--build", build)
    assert "all services work" in run(build / "consumer", tmp_path)


def test_only_public_headers_are_installed(prefix):
    headers = {file.name for file in (prefix / "include").rglob("*.h")}
    assert {"mge.h", "tensor.h", "version.h"} <= headers
    assert not any("onednn" in name for name in headers)
