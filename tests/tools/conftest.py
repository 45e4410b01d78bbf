# SPDX-License-Identifier: Apache-2.0
"""The tools as users run them: processes, with their output, exit code and checked report."""

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import jsonschema
import pytest

ROOT = Path(__file__).resolve().parents[2]
SCHEMAS = ROOT / "docs/schemas"

# Seconds after which a tool hangs. Beside other work, one that does not may take many times as long
# as alone: only the waiting for a failure gets longer.
TIMEOUT = 600


@dataclass
class Result:
    code: int
    out: str
    err: str
    report: dict | None  # what --json gave

    @property
    def result(self):
        return self.report["result"]


def check_report(tool, report):
    """A report has to fit the schema of all tools and that of its own."""
    for name in ("envelope", tool):
        schema = SCHEMAS / f"{name}.schema.json"
        if schema.exists():
            jsonschema.validate(
                report, json.loads(schema.read_text()), cls=jsonschema.Draft202012Validator
            )


@pytest.fixture(scope="session")
def build_dir():
    """The build tree under test: $MGE_BUILD_DIR, or the release one."""
    folder = Path(os.environ.get("MGE_BUILD_DIR", ROOT / "build/release")).resolve()
    if not (folder / "bin").exists():
        pytest.fail(f"no tools in {folder}; scripts/test builds them, MGE_BUILD_DIR names a tree")
    return folder


@pytest.fixture(scope="session")
def tool_path(build_dir):
    """tool_path("mge-dump") → its path."""
    return lambda name: build_dir / "bin" / name


@pytest.fixture
def run_tool(tool_path, tmp_path):
    """run_tool(name, *args, stdin=None, env=None, cwd=None, json=True, timeout=TIMEOUT) → Result.

    Each call asks for a report, in a file unless the arguments say where, and checks it; without
    one (`json=False`, --help …) Result.report is None. stdout and stderr are text.
    """

    def run(name, *args, stdin=None, env=None, cwd=None, json=True, timeout=TIMEOUT):
        args = [str(a) for a in args]
        file = tmp_path / "report.json"
        file.unlink(missing_ok=True)
        if json and not any(a.split("=")[0] == "--json" for a in args):
            args += ["--json", str(file)]
        done = subprocess.run(
            [str(tool_path(name)), *args],
            input=stdin,
            capture_output=True,
            text=True,
            errors="replace",
            env={"XDG_CACHE_HOME": str(tmp_path), **os.environ, **(env or {})},
            cwd=cwd,
            timeout=timeout,
            check=False,
        )
        return Result(
            done.returncode, done.stdout, done.stderr, read_report(name, args, file, done)
        )

    return run


def read_report(tool, args, file, done):
    if file.exists():
        text = file.read_text()
    elif "--json" in args and args[args.index("--json") + 1] == "-" and done.stdout:
        text = done.stdout
    else:
        return None
    report = json.loads(text)
    check_report(tool, report)
    if done.returncode:
        assert report["error"]["code"] == done.returncode, report
    return report


@pytest.fixture(scope="session")
def small_model(tmp_path_factory):
    """A .mge file: y = relu(x @ w + b) for x of shape (2, 3)."""
    import numpy as np

    import megengine as mge
    import megengine.functional as F
    from megengine.jit import trace

    random = np.random.RandomState(1)
    w = mge.Tensor(random.standard_normal((3, 4)).astype("float32"))
    b = mge.Tensor(random.standard_normal(4).astype("float32"))
    traced = trace(symbolic=True, capture_as_const=True)(lambda x: F.relu(F.matmul(x, w) + b))
    traced(mge.Tensor(np.ones((2, 3), "float32")))
    path = tmp_path_factory.mktemp("models") / "small.mge"
    traced.dump(str(path), arg_names=["x"], output_names=["y"])
    return path
