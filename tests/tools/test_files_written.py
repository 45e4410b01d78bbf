# SPDX-License-Identifier: Apache-2.0
"""Paths of written files, and errors that are reported before long work instead of after it."""

import os
import resource
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

USAGE = 2


@pytest.fixture
def convert(run_tool, small_model):
    return lambda to, **how: run_tool("mge-dump", "convert", small_model, to, **how)


def test_a_link_stays_and_its_target_is_written(convert, run_tool, tmp_path):
    (tmp_path / "far").mkdir()
    (tmp_path / "far/model.mge").write_text("old")
    (tmp_path / "link.mge").symlink_to("far/model.mge")
    (tmp_path / "dangling.mge").symlink_to(tmp_path / "far/new.mge")
    for link, target in (("link.mge", "far/model.mge"), ("dangling.mge", "far/new.mge")):
        assert convert(tmp_path / link).code == 0
        assert (tmp_path / link).is_symlink()
        assert run_tool("mge-dump", "info", tmp_path / target).code == 0
    (tmp_path / "round").symlink_to("round")
    assert convert(tmp_path / "round").code == USAGE


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o444])
def test_a_replaced_file_keeps_its_permissions(convert, tmp_path, mode):
    (tmp_path / "model.mge").write_text("old")
    (tmp_path / "model.mge").chmod(mode)
    assert convert(tmp_path / "model.mge").code == 0
    assert (tmp_path / "model.mge").stat().st_mode & 0o777 == mode


def test_decrypted_content_is_for_its_owner(run_tool, small_model, tmp_path):
    (tmp_path / "plain").write_text("old")
    (tmp_path / "plain").chmod(0o644)
    key = ("--key-file", tmp_path / "key")
    assert run_tool("mge-crypt", "keygen", tmp_path / "key").code == 0
    assert run_tool("mge-crypt", "encrypt", small_model, tmp_path / "enc", *key).code == 0
    assert run_tool("mge-crypt", "decrypt", tmp_path / "enc", tmp_path / "plain", *key).code == 0
    assert (tmp_path / "plain").stat().st_mode & 0o777 == 0o600


def test_dash_is_not_a_file(convert, run_tool, small_model, tmp_path):
    ran = convert("-", cwd=tmp_path)
    assert ran.code == USAGE and "'./-'" in ran.err and not (tmp_path / "-").exists()
    ran = run_tool("load_and_run", small_model, "--dump-outputs", "-", cwd=tmp_path)
    assert ran.code == USAGE and not (tmp_path / "-").exists()
    assert convert("./-", cwd=tmp_path).code == 0 and (tmp_path / "-").exists()


@pytest.mark.parametrize("name", ["graph.png", "graph.pdf", "graph.mge"])
def test_unknown_graph_format(run_tool, small_model, tmp_path, name):
    ran = run_tool("mge-dump", "graph", small_model, tmp_path / name)
    assert ran.code == USAGE and "names no format" in ran.err and not (tmp_path / name).exists()
    ran = run_tool("mge-dump", "graph", small_model, tmp_path / name, "--format", "dot")
    assert ran.code == 0 and (tmp_path / name).read_text().startswith("digraph")
    ran = run_tool("mge-dump", "graph", small_model, tmp_path / "graph.gv")
    assert ran.result["format"] == "dot"


def test_exports_do_not_overwrite_each_other(run_tool, small_model, tmp_path):
    profile = tmp_path / "run.json"
    assert run_tool("load_and_run", small_model, "--profile", profile).code == 0
    content = profile.read_bytes()
    for outputs, message in (
        (["--csv", profile], "'FILE' both name"),
        (["--csv", "-", "--chrome", "-"], "both go to stdout"),
    ):
        ran = run_tool("mge-profile", "export", profile, *outputs)
        assert ran.code == USAGE and message in ran.err and ran.out == ""
    assert profile.read_bytes() == content


@pytest.mark.parametrize(
    "flags",
    [
        ["--model-dump"],
        ["--layout-transform", "cpu", "--layout-transform-dump"],
        ["--fitting", "--duration", 1, "--dump-fitting-model"],
    ],
    ids=lambda flags: flags[-1],
)
def test_a_model_may_take_the_place_of_the_one_read(run_tool, small_model, tmp_path, flags):
    model = tmp_path / "model.mge"
    model.write_bytes(small_model.read_bytes())
    ran = run_tool("load_and_run", model, *flags, model)
    assert ran.code == 0, ran.err
    assert run_tool("load_and_run", model, "--compare", small_model).code == 0


def test_a_report_may_take_the_place_of_its_baseline(run_tool, small_model, tmp_path):
    report = tmp_path / "before.json"
    command = ("load_and_run", small_model, "--json", report)
    assert run_tool(*command, json=False).code == 0
    assert run_tool(*command, "--baseline", report, json=False).code == 0
    assert "baseline" in report.read_text()


@pytest.mark.parametrize(
    ("flags", "code"),
    [
        (["--json", "nowhere/r.json"], USAGE),
        (["--json", "model.mge/r.json"], USAGE),
        (["--profile", "nowhere/p.json"], USAGE),
        (["--dump-outputs=nowhere/o.npz"], USAGE),
        (["--save-plan", "nowhere/plan"], USAGE),
        (["--baseline", "nowhere.json"], USAGE),
        (["--baseline", "model.mge"], 5),
    ],
    ids=[
        *("folder of the report", "a file in the place of the folder", "folder of the profile"),
        *("folder of the outputs", "folder of the plan", "no baseline", "what is no baseline"),
    ],
)
def test_reported_before_the_runs(run_tool, small_model, tmp_path, flags, code):
    (tmp_path / "model.mge").write_bytes(small_model.read_bytes())
    command = ("load_and_run", small_model, "--duration", 3600, *flags)
    ran = run_tool(*command, json=False, cwd=tmp_path)
    assert ran.code == code and len(ran.err.splitlines()) == 1


def test_unwritable_report_is_named(run_tool, small_model, tmp_path):
    command = ("load_and_run", small_model, "--duration", 3600, "--profile", "no/p")
    ran = run_tool(*command, cwd=tmp_path)
    message = ran.report["error"]["message"]
    assert ran.code == USAGE and message.startswith("[--profile] there is no folder")
    ran = run_tool("mge-dump", "convert", small_model, "no/model.mge", cwd=tmp_path)
    assert ran.code == USAGE and ran.report["error"]["message"].startswith("there is no folder")


def test_folder_writable_by_others(homeless, open_folder, small_model):
    model = shutil.copy(small_model, open_folder)
    closed = open_folder / "closed"
    closed.mkdir(0o755)
    file = closed / "file"
    for flag in ("--profile", "--json"):
        ran = homeless(model, "--duration", "3600", flag, file, folder=open_folder)
        assert ran.returncode == USAGE and f"[{flag}] cannot write '{file}'" in ran.stderr
        assert "Permission denied" in ran.stderr and len(ran.stderr.splitlines()) == 1
    # Each can be written by everybody, or makes what is missing.
    made = open_folder / "new/folder"
    flags = ("--json", "/dev/null", "--bin-out-dump", made, "--fast-run")
    cache = made / "c.sqlite"
    ran = homeless(model, *flags, "--fast-run-algo-policy", cache, folder=open_folder)
    assert ran.returncode == 0 and cache.exists(), ran.stderr


@pytest.mark.parametrize(
    "command",
    [
        ("mge-dump", "convert", "@MODEL", "out"),
        ("mge-dump", "weights", "@MODEL", "out.npz"),
        ("mge-crypt", "keygen", "out"),
        ("load_and_run", "@MODEL", "--fast-run", "--dump-outputs", "out.npz"),
    ],
    ids=lambda command: " ".join(command[:2]).replace(" @MODEL", ""),
)
def test_files_may_not_become_so_large(tool_path, small_model, tmp_path, command):
    """The system's limit is an error of writing, not the end by a signal."""
    tool, *arguments = (str(small_model) if word == "@MODEL" else word for word in command)
    done = subprocess.run(
        [tool_path(tool), *arguments],
        env={**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (16, 16)),
        check=False,
    )
    assert done.returncode == USAGE and "File too large" in done.stderr, done.stderr
    assert not list(tmp_path.glob("*out*"))


def test_a_relative_cache_folder_is_ignored(run_tool, small_model, tmp_path):
    (tmp_path / "home").mkdir()
    places = {"XDG_CACHE_HOME": "cache", "HOME": str(tmp_path / "home")}
    ran = run_tool("load_and_run", small_model, "--fast-run", env=places, cwd=tmp_path)
    assert ran.code == 0 and not (tmp_path / "cache").exists()
    assert (tmp_path / "home/.cache/mge/fastrun.sqlite").exists()


@pytest.fixture
def homeless(tool_path):
    """homeless(*args, folder) runs load_and_run as a user that the system does not know."""
    if os.geteuid() != 0:
        pytest.skip("only root can run a tool as another user")
    unprivileged = 12345  # no such user

    def run(*args, folder):
        variables = {k: v for k, v in os.environ.items() if k not in ("HOME", "XDG_CACHE_HOME")}
        return subprocess.run(
            [tool_path("load_and_run"), *args],
            env={**variables, "TMPDIR": str(folder), "MGE_THREADS": "1"},
            user=unprivileged,
            group=unprivileged,
            extra_groups=[],
            cwd="/",
            capture_output=True,
            text=True,
            check=False,
        )

    run.user = unprivileged
    try:
        run("--version", folder="/tmp")
    except (OSError, subprocess.SubprocessError):
        pytest.skip("the build tree is closed to other users, or the user does not exist")
    return run


@pytest.fixture
def open_folder():
    """Everyone may write there, as in /tmp."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o1777)
        yield Path(folder)


def test_user_without_home_has_a_separate_cache(homeless, open_folder, small_model):
    model = shutil.copy(small_model, open_folder)
    ran = homeless(model, "--fast-run", folder=open_folder)
    assert ran.returncode == 0 and ran.stderr.count("warning") == 0, ran.stderr
    own = open_folder / f"mge-{homeless.user}"
    assert (own / "mge/fastrun.sqlite").exists()
    assert own.stat().st_mode & 0o777 == 0o700


def test_a_planted_cache_folder_is_not_used(homeless, open_folder, small_model):
    model = shutil.copy(small_model, open_folder)
    planted = open_folder / f"mge-{homeless.user}"
    planted.mkdir()
    planted.chmod(0o777)
    ran = homeless(model, "--fast-run", folder=open_folder)
    assert ran.returncode == 0 and "new measurements are not saved" in ran.stderr
    assert list(planted.iterdir()) == []
    ran = homeless(model, "--require-cache", folder=open_folder)
    assert ran.returncode == USAGE and "XDG_CACHE_HOME" in ran.stderr


def test_names_of_operators_match_profiles(run_tool, tmp_path):
    """Operators without a name have the same generated names in mge-dump as in reports of runs."""
    import numpy as np

    import megengine as mge
    import megengine.functional as F
    from megengine.jit import trace

    traced = trace(symbolic=True, capture_as_const=True)(lambda x: F.exp(F.sum(x, axis=0)) + 1)
    traced(mge.Tensor(np.ones((2, 3), "float32")))
    traced.dump(str(tmp_path / "net.mge"), arg_names=["x"], output_names=["y"])
    flags = ("--iter", 1, "--profile", tmp_path / "p.json", "--graph-opt-level", 0)
    assert run_tool("load_and_run", tmp_path / "net.mge", *flags).code == 0
    shown = run_tool("mge-profile", "show", tmp_path / "p.json").result["device"]
    listed = run_tool("mge-dump", "info", tmp_path / "net.mge").result["operators"]
    assert sorted(row["name"] for row in shown) == sorted(row["name"] for row in listed)
    around = run_tool("mge-dump", "graph", tmp_path / "net.mge", "--around", shown[0]["name"])
    assert around.code == 0 and os.linesep in around.out
