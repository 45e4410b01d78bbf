# SPDX-License-Identifier: Apache-2.0
"""As many threads as the process may use: by affinity, and by the quota of its control groups."""

import contextlib
import json
import math
import os
import subprocess
from pathlib import Path

import pytest

V1 = [Path("/sys/fs/cgroup/cpu"), Path("/sys/fs/cgroup/cpu,cpuacct")]
V2 = [Path("/sys/fs/cgroup"), Path("/sys/fs/cgroup/unified")]
PERIOD = 100_000
CPUS = sorted(os.sched_getaffinity(0))


def has_cpu_v2(folder):
    control = folder / "cgroup.subtree_control"
    return control.exists() and "cpu" in control.read_text().split()


@contextlib.contextmanager
def nested_groups(outer_cpus, inner_cpus):
    """The folder of a group inside of another one, each with a quota; None: without."""
    v1 = [folder for folder in V1 if (folder / "cpu.cfs_quota_us").exists()]
    v2 = [folder for folder in V2 if has_cpu_v2(folder)]
    if not v1 + v2:
        pytest.skip("no cgroup hierarchy here has the controller 'cpu'")
    outer = (v1 + v2)[0] / f"mge_test_{os.getpid()}"
    inner = outer / "inner"
    if v1 and None not in (outer_cpus, inner_cpus) and inner_cpus > outer_cpus:
        pytest.skip("cgroup v1 refuses a quota that is larger than the outer group's")
    try:
        outer.mkdir()
    except OSError as error:
        pytest.skip(f"no cgroup can be made here: {error}")
    try:
        if v1:
            inner.mkdir()
        else:
            (outer / "cgroup.subtree_control").write_text("+cpu")
            inner.mkdir()
        for group, cpus in ((outer, outer_cpus), (inner, inner_cpus)):
            if cpus is not None and v1:
                (group / "cpu.cfs_quota_us").write_text(str(int(cpus * PERIOD)))
            elif cpus is not None:
                (group / "cpu.max").write_text(f"{int(cpus * PERIOD)} {PERIOD}")
        yield inner
    finally:
        if inner.exists():
            inner.rmdir()
        outer.rmdir()


def run_in(tool_path, tmp_path, tool, *args, group=None, cpus=None):
    """Runs a tool in a group, bound to some processors; returns the result it reports."""

    def enter():
        if cpus is not None:
            os.sched_setaffinity(0, cpus)

    report = tmp_path / "report.json"
    command = [tool_path(tool), *args, "--json", report]
    if group is not None:
        command = ["sh", "-c", 'echo $$ > "$0/cgroup.procs" && exec "$@"', group, *command]
    environment = {"XDG_CACHE_HOME": str(tmp_path), **os.environ}
    environment.pop("MGE_THREADS", None)
    done = subprocess.run(
        [str(word) for word in command],
        env=environment,
        capture_output=True,
        text=True,
        timeout=600,
        preexec_fn=enter,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(report.read_text())["result"]


def doctor(tool_path, tmp_path, **where):
    result = run_in(tool_path, tmp_path, "mge-dump", "doctor", **where)
    return {fact["name"]: fact for fact in result["machine"]}["threads"]


# Which quota holds, and which group's folder sets it.
QUOTAS = {
    "inner_half": (None, 0.5, "inner"),
    "outer_half": (0.5, None, "outer"),
    "inner_smaller": (1.5, 0.5, "inner"),
    "outer_smaller": (0.5, 1.5, "outer"),
    "one_and_a_half": (1.5, None, "outer"),
}


@pytest.mark.parametrize("outer, inner, setter", QUOTAS.values(), ids=QUOTAS)
def test_quota_of_the_own_group(outer, inner, setter, tool_path, tmp_path, small_model):
    quota = min(q for q in (outer, inner) if q is not None)
    threads = min(math.ceil(quota), len(CPUS))
    with nested_groups(outer, inner) as group:
        fact = doctor(tool_path, tmp_path, group=group)
        assert fact["found"].startswith(f"{threads} of "), fact
        folder = group if setter == "inner" else group.parent
        assert f"cgroup quota {quota:g} in {folder}" in fact["found"]
        if quota < len(CPUS):
            assert fact["state"] == "limited" and "CPU quota" in fact["advice"]
        ran = run_in(tool_path, tmp_path, "load_and_run", small_model, "--iter", "3", group=group)
        assert ran["device"]["threads"] <= math.ceil(quota)


@pytest.mark.parametrize("count", [1, 2])
def test_affinity(count, tool_path, tmp_path, small_model):
    if len(CPUS) < count:
        pytest.skip(f"this needs {count} processors")
    cpus = set(CPUS[:count])
    assert f"affinity allows {count}," in doctor(tool_path, tmp_path, cpus=cpus)["found"]
    ran = run_in(tool_path, tmp_path, "load_and_run", small_model, "--iter", "3", cpus=cpus)
    assert ran["device"]["threads"] <= count
