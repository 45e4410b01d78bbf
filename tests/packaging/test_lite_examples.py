# SPDX-License-Identifier: Apache-2.0
"""The programs of examples/lite and of docs/tutorials/lite.md, built against an installed tree."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

MODELS = """
import sys
import numpy as np, megengine as mge, megengine.functional as F
from megengine.jit import trace

def dump(path, function, *shapes):
    run = trace(function, symbolic=True, capture_as_const=True)
    run(*(mge.Tensor(np.zeros(shape, np.float32)) for shape in shapes))
    run.dump(path, arg_names=["data"], output_names=["result"])

weight = mge.Tensor(np.arange(12, dtype=np.float32).reshape(4, 3))
dump(sys.argv[1], lambda x: F.softmax(F.linear(x.mean(-1).mean(-1), weight), 1), (1, 3, 8, 8))
dump(sys.argv[2], lambda x: x * 2 + 1, (2, 5))
dump(sys.argv[3], lambda x: x - 3, (2, 5))
"""


@pytest.fixture(scope="module")
def programs(build_project):
    return build_project(ROOT / "examples" / "lite")


@pytest.fixture(scope="module")
def models(build_dir, run, tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    paths = [folder / name for name in ("classifier.mge", "first.mge", "second.mge")]
    run(
        sys.executable,
        "-c",
        MODELS,
        *paths,
        env={**os.environ, "PYTHONPATH": str(build_dir / "python")},
    )
    return paths


def test_classify(programs, models, run, tmp_path):
    pixels = bytes([255, 0, 128] * 20)
    (tmp_path / "image.ppm").write_bytes(b"P6 5 4 255\n" + pixels)
    printed = run(programs / "classify", models[0], tmp_path / "image.ppm")
    # The rows of the weight grow, so does the score of a class.
    assert re.findall(r"^class (\d)", printed, re.MULTILINE) == ["3", "2", "1", "0"]
    assert run(programs / "classify_c", models[0]).startswith("class 3: ")


def test_classify_reports_errors(programs, models, tmp_path):
    (tmp_path / "text").write_text("no picture")
    for command in (
        [programs / "classify", models[0], tmp_path / "text"],
        [programs / "classify", tmp_path / "text", tmp_path / "text"],
        [programs / "classify_c", tmp_path / "text"],
    ):
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 1 and "text" in done.stderr


def test_pipeline(programs, models, run):
    printed = run(programs / "pipeline", models[1], models[2], "3")
    inputs = [[item + i % 7 / 7 for i in range(10)] for item in range(3)]
    expected = [sum(2 * x - 2 for x in values) for values in inputs]
    sums = [float(value) for value in re.findall(r"item \d: (\S+)", printed)]
    assert sums == pytest.approx(expected, abs=1e-3)


def test_encrypted(programs, models, run, tmp_path):
    secret = tmp_path / "secret"
    run(programs / "encrypted", "encrypt", models[1], secret, "key")
    assert secret.read_bytes() != models[1].read_bytes()
    assert run(programs / "encrypted", "run", secret, "key") == "result: 40 bytes\n"
    done = subprocess.run([programs / "encrypted", "run", secret, "other"], capture_output=True)
    assert done.returncode == 1


def test_shared_weights(programs, models, run):
    assert run(programs / "shared_weights", models[1], "20") == "0.25 gives 1.5, 0.75 gives 2.5\n"


def documented(language):
    """The programs in a language, in the order of the page."""
    page = (ROOT / "docs" / "tutorials" / "lite.md").read_text()
    return re.findall(rf"```{language}\n(.*?)```", page, re.DOTALL)


PRINTED = {"cpp": ["result: 1\n"], "c": ["result: 1\n", "result: 1, first of 2\n"]}


@pytest.mark.parametrize(("suffix", "language"), [("cpp", "CXX"), ("c", "C")])
def test_documented_programs(build_project, models, run, tmp_path, suffix, language):
    programs = documented(suffix)
    for i, program in enumerate(programs):
        (tmp_path / f"{i}.{suffix}").write_text(program)
    (tmp_path / "CMakeLists.txt").write_text(
        f"cmake_minimum_required(VERSION 3.25)\nproject(programs LANGUAGES {language})\n"
        "set(CMAKE_C_STANDARD 11)\nset(CMAKE_CXX_STANDARD 17)\nfind_package(mge REQUIRED)\n"
        + "".join(
            f"add_executable(program{i} {i}.{suffix})\n"
            f"target_link_libraries(program{i} PRIVATE mge::lite)\n"
            for i in range(len(programs))
        )
    )
    folder = build_project(tmp_path)
    printed = [run(folder / f"program{i}", models[1]) for i in range(len(programs))]
    assert printed == PRINTED[suffix]
    for i in range(len(programs)):
        done = subprocess.run([folder / f"program{i}", tmp_path / "none"], capture_output=True)
        assert done.returncode == 1 and b"none" in done.stderr


def test_documented_program_by_pkg_config(prefix, flags_of, models, run, tmp_path):
    for program, printed in zip(documented("c"), PRINTED["c"], strict=True):
        (tmp_path / "main.c").write_text(program)
        strict = ["-std=c11", "-Wall", "-Wextra", "-Werror"]
        run("cc", *strict, tmp_path / "main.c", *flags_of(prefix), "-o", tmp_path / "main")
        environment = {**os.environ, "LD_LIBRARY_PATH": str(prefix / "lib")}
        assert run(tmp_path / "main", models[1], env=environment) == printed


def test_documented_python(build_dir, models, run):
    environment = {**os.environ, "PYTHONPATH": str(build_dir / "python")}
    *_, program = documented("python")  # the one before makes the model
    printed = run(sys.executable, "-c", program, models[1], env=environment)
    assert printed == "result: 1\n"
