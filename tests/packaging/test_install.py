# SPDX-License-Identifier: Apache-2.0
"""The C++ program of README.md is built against an installed and then moved tree, in both ways."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

CONSUMER = Path(__file__).parent / "consumer/CMakeLists.txt"
LITE_IN_C = """
#include <lite-c/global_c.h>
#include <stdio.h>

int main(void) {
    LiteTensor tensor;
    size_t bytes = 0;
    LiteTensorDesc description = default_desc;
    description.layout.ndim = 2;
    description.layout.shapes[0] = 4;
    description.layout.shapes[1] = 8;
    if (LITE_make_tensor(description, &tensor) || LITE_tensor_fill_zero(tensor)) return 1;
    if (LITE_get_tensor_total_size_in_byte(tensor, &bytes) || LITE_destroy_tensor(tensor)) return 1;
    if (LITE_make_tensor(description, NULL) != -1) return 1;
    printf("%zu bytes; %s", bytes, LITE_get_last_error());
}
"""
LITE_IN_CPP = """
#include <lite/global.h>
#include <lite/network.h>
#include <lite/pack_model.h>
#include <iostream>

int main() {
    lite::Tensor tensor(LITE_CPU, lite::Layout{{4, 8}, 2, LITE_FLOAT});
    std::cout << tensor.get_tensor_total_size_in_byte() << " bytes";
}
"""


@pytest.fixture
def program(tmp_path, readme_example):
    file = tmp_path / "main.cpp"
    file.write_text(readme_example("cpp"))
    return file


def test_find_package(prefix, program, readme_output, run):
    source, build = program.parent, program.parent / "build"
    shutil.copy(CONSUMER, source)
    run("cmake", "-S", source, "-B", build, "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={prefix}")
    run("cmake", "--build", build)
    assert readme_output in run(build / "consumer")


def test_pkg_config(prefix, check_readme_program):
    check_readme_program(prefix)


@pytest.mark.parametrize(
    ("compiler", "program", "output"),
    [
        (("cc", "-std=c11", "-x", "c"), LITE_IN_C, "128 bytes; Error: LITE_make_tensor: "),
        (("c++", "-std=c++17", "-x", "c++"), LITE_IN_CPP, "128 bytes"),
    ],
)
def test_lite(prefix, flags_of, run, tmp_path, compiler, program, output):
    source, binary = tmp_path / "program", tmp_path / "binary"
    source.write_text(program)
    run(
        *compiler,
        "-Wall",
        "-Wextra",
        "-Werror",
        "-pedantic",
        source,
        "-x",
        "none",
        *flags_of(prefix),
        "-o",
        binary,
    )
    assert output in run(binary)


COMPONENTS = """
cmake_minimum_required(VERSION 3.25)
project(consumer LANGUAGES C)
find_package(mge 1.0 {arguments})
message(STATUS "found ${{mge_FOUND}} lite ${{mge_lite_FOUND}} other ${{mge_other_FOUND}}")
"""


@pytest.mark.parametrize(
    ("arguments", "output"),
    [
        ("REQUIRED COMPONENTS lite", "found 1 lite TRUE"),
        ("REQUIRED COMPONENTS mge lite operators", "found 1 lite TRUE"),
        ("REQUIRED COMPONENTS lite OPTIONAL_COMPONENTS other", "found 1 lite TRUE other FALSE"),
        ("COMPONENTS lite other", "found 0 lite TRUE other FALSE"),
        ("REQUIRED COMPONENTS other", "no component 'other' in this installation, which has: mge,"),
    ],
)
def test_components(prefix, tmp_path, arguments, output):
    (tmp_path / "CMakeLists.txt").write_text(COMPONENTS.format(arguments=arguments))
    command = ["cmake", "-S", tmp_path, "-B", tmp_path / "build", f"-DCMAKE_PREFIX_PATH={prefix}"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode != 0) == ("no component" in output)
    assert output in " ".join((done.stdout + done.stderr).split())


def test_older_standards_get_an_error(prefix, program, flags_of):
    command = ["c++", "-std=c++17", "-fsyntax-only", program, *flags_of(prefix)]
    done = subprocess.run(command, capture_output=True, text=True)
    first = next(line for line in done.stderr.splitlines() if "error" in line)
    assert done.returncode != 0 and "libmge needs C++20" in first and "-std=c++20" in first


def test_licence_is_installed(prefix):
    text = (prefix / "share/doc/mge/LICENSE").read_text()
    assert "Apache License" in text


def test_promised_services_link_and_work(prefix, run, tmp_path):
    source, build = tmp_path / "source", tmp_path / "build"
    source.mkdir()
    shutil.copy(CONSUMER, source)
    shutil.copy(CONSUMER.with_name("services.cpp"), source / "main.cpp")
    run("cmake", "-S", source, "-B", build, "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={prefix}")
    run("cmake", "--build", build)
    assert "all services work" in run(build / "consumer", tmp_path)


def test_destdir_is_put_before_everything(build_dir, run, tmp_path):
    staging = {**os.environ, "DESTDIR": str(tmp_path)}
    run("cmake", "--install", build_dir, "--prefix", "/opt/mge", env=staging)
    assert [entry.name for entry in tmp_path.iterdir()] == ["opt"]
    assert (tmp_path / "opt/mge/include/libmge/mge.h").is_file()


def test_only_public_headers_are_installed(prefix):
    headers = {file.name for file in (prefix / "include").rglob("*.h")}
    assert {"mge.h", "tensor.h", "version.h"} <= headers
    assert not any("onednn" in name for name in headers)
