# SPDX-License-Identifier: Apache-2.0
"""The manifests and Dockerfiles of the examples."""

import os
import re
import subprocess
from pathlib import Path

import pytest
from server_processes import ROOT

EXAMPLES = ROOT / "examples/serving"
CHECKER = Path(__file__).with_name("check_manifests.py")
KSERVE_PYTHON = Path(os.environ.get("MGE_KSERVE_PYTHON", ROOT / "build/kserve-venv/bin/python"))
INSTRUCTIONS = "ARG CMD COPY ENTRYPOINT ENV EXPOSE FROM RUN STOPSIGNAL USER WORKDIR".split()


def test_manifests_have_the_fields_of_kserve():
    if not KSERVE_PYTHON.exists():
        pytest.skip(f"kserve is not installed: no {KSERVE_PYTHON}")
    manifests = sorted((EXAMPLES / "kubernetes").glob("*.yaml"))
    assert len(manifests) == 2
    done = subprocess.run(
        [KSERVE_PYTHON, CHECKER, *manifests], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "2 manifests\n"


def test_the_service_names_the_runtime():
    runtime = (EXAMPLES / "kubernetes/serving-runtime.yaml").read_text()
    service = (EXAMPLES / "kubernetes/inference-service.yaml").read_text()
    (name,) = re.findall(r"^metadata:\n  name: (\S+)", runtime, re.MULTILINE)
    assert re.findall(r"runtime: (\S+)", service) == [name]
    formats = re.findall(r"^    - name: (\S+)\n      version", runtime, re.MULTILINE)
    assert re.findall(r"modelFormat:\n        name: (\S+)", service)[0] in formats


@pytest.mark.parametrize("name", ["Dockerfile.cpu", "Dockerfile.cuda"])
def test_dockerfiles(name):
    """Known instructions, a fixed base, no root at run time, an entry point that exists."""
    text = (EXAMPLES / name).read_text()
    logical = re.sub(r"\\\n", " ", re.sub(r"^#.*\n", "", text, flags=re.MULTILINE))
    lines = [line.split(None, 1) for line in logical.splitlines() if line.strip()]
    assert [line[0] for line in lines if line[0] not in INSTRUCTIONS] == []
    assert lines[0] == ["FROM", "debian:12-slim"]
    instructions = dict(lines)
    assert instructions["USER"] == "65534:65534"
    assert '"megengine.serve"' in instructions["ENTRYPOINT"]
    for _, command in (line for line in lines if line[0] == "RUN"):
        shell = subprocess.run(["sh", "-n"], input=command, text=True, capture_output=True)
        assert shell.returncode == 0, shell.stderr
        assert "apt-get update" not in command or "rm -rf /var/lib/apt/lists/*" in command
