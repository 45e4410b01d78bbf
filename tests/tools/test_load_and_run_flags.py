# SPDX-License-Identifier: Apache-2.0
"""Every flag in the tables of load_and_run.md and compile-options.md has its promised effect."""

import json
import os
import re
import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/tools/load_and_run.md"
OPTIONS = ROOT / "docs/compile-options.md"  # its third column has the flags of options
# Each flag, an example of its use, and the field of the result, or exit code, that shows it.
EXAMPLES = ROOT / "tests/tools/load_and_run_flags.tsv"


def rows():
    lines = EXAMPLES.read_text().splitlines()[1:]
    return [tuple(line.split("\t")) for line in lines]


def field(result, path):
    """ "tests[0].name" of a result; None when it is not there."""
    for part in re.findall(r"[^.\[\]]+", path):
        try:
            result = result[int(part)] if part.isdigit() else result[part]
        except (KeyError, IndexError):
            return None
    return result


PLAIN = {}


@pytest.fixture
def plain(run_tool, small_model):
    """The report of a run without any flag."""
    if small_model not in PLAIN:
        PLAIN[small_model] = run_tool("load_and_run", small_model).result
    return PLAIN[small_model]


@pytest.fixture
def fill_in(tmp_path, run_tool, small_model):
    """Examples name files of the folder that they run in by @OUT, @BASELINE …"""

    def fill(example):
        if "@BASELINE" in example:
            run_tool("load_and_run", small_model, "--json", tmp_path / "base.json")
        return (
            example.replace("@BASELINE", "base.json")
            .replace("@OUT", "out.file")
            .replace("@CPU", str(min(os.sched_getaffinity(0))))
        )

    return fill


def test_the_page_has_every_flag(run_tool):
    shown = run_tool("load_and_run", "--help-all", json=False).out
    flags = set(re.findall(r"^ +(?:-h,)?--([a-z0-9-]+)", shown, re.M))
    shared = {
        "json",
        "quiet",
        "verbose",
        "no-color",
        "wide",
        "flagfile",
        "file-limit",
        "version",
        "help",
        "help-all",
    }
    cells = re.findall(r"^\| (`--[^|]*) \|", PAGE.read_text(), re.M)
    cells += re.findall(r"^\|[^|]*\|[^|]*\| (`--[^|]*) \|", OPTIONS.read_text(), re.M)
    documented = set(re.findall(r"`--([a-z0-9-]+)", " ".join(cells)))
    assert flags - shared <= documented, sorted(flags - shared - documented)
    assert documented == {flag for flag, _, _ in rows()}


@pytest.mark.parametrize(("flag", "example", "seen"), rows(), ids=[r[0] for r in rows()])
def test_flag(run_tool, small_model, plain, fill_in, tmp_path, flag, example, seen):
    import megengine as mge

    if flag == "cuda" and mge.is_cuda_available():
        pytest.skip("there is a GPU here")
    example = fill_in(example)
    # MegEngine's spelling: one dash, underscores, the value as a word of its own.
    name, _, value = example[2:].partition("=")
    other = ["-" + name.replace("-", "_")] + ([value] if value else [])
    for spelling in ([example], other):
        done = run_tool("load_and_run", small_model, *spelling, stdin="\n", cwd=tmp_path)
        if seen.startswith("exit "):
            assert done.code == int(seen.removeprefix("exit ")), done.err
            assert f"--{flag}" in done.err or "key" in flag
            assert "there is no option" not in done.err
            continue
        assert done.code == 0, done.err
        assert field(done.result, seen) != field(plain, seen), (seen, field(plain, seen))


def test_flags_can_be_turned_off(run_tool, small_model, plain, tmp_path):
    shown = run_tool("load_and_run", "--help-all", json=False).out
    flags = re.findall(r"^ +--([a-z0-9-]+)(?: +[A-Z][a-z ]|$)", shown, re.M)
    flags = [f for f in flags if f not in ("help", "help-all", "version", "quiet", "no-color")]
    assert len(flags) > 25
    file = tmp_path / "flags"
    file.write_text("# all of them off\n" + "".join(f"--no{f}\n" for f in flags))
    done = run_tool("load_and_run", small_model, "--flagfile", file)
    assert done.code == 0, done.err
    assert done.result["options"]["weight_preprocess"] is False
    assert done.result["options"]["measures_algorithms"] is False
    assert done.result["interface"] == plain["interface"]


@pytest.mark.parametrize(
    "flags",
    [
        ["--enable-nchw44", "--enable-nchw88"],
        ["--layout-transform=cpu", "--enable-nchw88"],
        ["--fast-run", "--full-run"],
        ["--lite", "--mdl"],
        ["--multithread=2", "--multithread-default=2"],
        ["--multithread=2", "--threads=2"],
        ["--multithread=0"],
        ["--record-comp-seq2", "--no-sanity-check", "--fake-first"],
        ["--thread=2", "--streams=2"],
        ["--layout-transform=opencl"],
        ["--baseline=x.json", "--fail-if=speed>+3%"],
        ["--graph-opt-level=7"],
        ["--enable-dtr-memory-opt", "--enable-sublinear-memory-opt"],
        ["--graph-opt-level=-1", "--enable-dtr-memory-opt"],
        ["--force-output-dynamic-alloc", "--force-output-use-user-specified-memory"],
        ["--sublinear-genetic-nr-iter=1", "--sublinear-genetic-pool-size=1"],
        ["--async-exec-level=8"],
        ["--affinity=4095"],
        ["--affinity=1-0"],
    ],
    ids=" ".join,
)
def test_contradictions_end_with_2(run_tool, small_model, flags):
    done = run_tool("load_and_run", small_model, *flags)
    assert done.code == 2, done.err
    assert len(done.err.strip().splitlines()) == 1


def test_a_seed_without_random_values_is_listed(run_tool, small_model):
    for flags, expected in (
        (["--input", "[[1,2,3],[4,5,6]]"], ["--seed"]),
        (["--input", "[[1,2,3],[4,5,6]]", "--batch-size", "4"], ["--seed"]),
        (["--input", "#rand(0,1)"], []),
        (["--input", "[[1,2,3],[4,5,6]]", "--rate", "1000", "--iter", "3"], []),
        ([], []),
    ):
        done = run_tool("load_and_run", small_model, "--seed=0", *flags)
        assert done.code == 0 and done.result["options_without_effect"] == expected, flags
        assert done.err.count("--seed") == len(expected)


def test_flags_without_effect_are_listed(run_tool, small_model):
    flags = ["--enable-fuse-conv-bias-with-z", "--fuse-grain", "--enable-memory-swap"]
    done = run_tool("load_and_run", small_model, *flags)
    assert done.code == 0, done.err
    assert sorted(done.result["options_without_effect"]) == sorted(flags)
    assert done.err.count("has no effect") == len(flags)
    done = run_tool("load_and_run", small_model, *(f"--no-{f[2:]}" for f in flags))
    assert done.code == 0 and done.result["options_without_effect"] == []


def test_errors_of_compiling_name_the_flag(run_tool, small_model):
    done = run_tool("load_and_run", small_model, "--sublinear-memory-endpoint=nowhere")
    assert done.code == 2
    assert "[--sublinear-memory-endpoint] there is no operator 'nowhere'" in done.err


def test_outputs_in_memory_of_the_tool_and_further_shapes(run_tool, small_model):
    done = run_tool("load_and_run", small_model, "--force-output-use-user-specified-memory")
    plain = run_tool("load_and_run", small_model)
    assert done.code == 0, done.err
    assert done.result["options"]["force_output_use_user_specified_memory"] is True
    assert [t["outputs"] for t in done.result["tests"]] == [
        t["outputs"] for t in plain.result["tests"]
    ]


def test_companions(run_tool, small_model, tmp_path):
    result = run_tool("load_and_run", small_model, "--record-comp-seq2", "--no-sanity-check").result
    assert result["options"]["comp_node_seq_record_level"] == 2
    flags = ["--record-comp-seq", "--record-comp-seq2", "--no-sanity-check"]
    result = run_tool("load_and_run", small_model, *flags).result
    assert result["options"]["comp_node_seq_record_level"] == 2
    result = run_tool(
        "load_and_run", small_model, "--fast-run", "--fast-run-shared-batch-size=4"
    ).result
    assert result["options"]["shared_batch_size"] == 4
    cpu = min(os.sched_getaffinity(0))
    result = run_tool(
        "load_and_run", small_model, "--multithread-default=1", f"--multi-thread-core-ids={cpu}"
    ).result
    assert result["device"]["pinned_to"] == [cpu]


def test_shape_that_is_not_constant(run_tool, small_model):
    done = run_tool("load_and_run", small_model, "--const-shape", "--batch-size=3")
    assert done.code == 2
    assert "a constant" in done.err
    flags = ["--record-comp-seq2", "--no-sanity-check", "--batch-size=3,4"]
    done = run_tool("load_and_run", small_model, *flags)
    assert done.code == 2
    assert "recorded" in done.err


def test_list_devices_needs_no_model(run_tool):
    done = run_tool("load_and_run", "--list-devices")
    assert done.code == 0
    assert done.result["devices"][0]["name"] == "cpu0"
    done = run_tool("load_and_run")
    assert done.code == 2
    assert "usage" in done.err


@pytest.mark.parametrize(
    ("device", "code"), [("cpu", 0), ("gpu200", 4), ("cuda200", 4), ("opencl", 4), ("tpu", 2)]
)
def test_require_device(run_tool, small_model, device, code):
    done = run_tool("load_and_run", small_model, f"--require-device={device}")
    assert done.code == code, done.err


def test_several_tests_in_one_run(run_tool, small_model):
    flags = ["--input=#rand(0,1,2,3)", "--input=x:{7,3}", "--batch-size=1,5", "--seed=3"]
    done = run_tool("load_and_run", small_model, *flags, "--iter=2")
    assert [t["inputs"][0]["shape"] for t in done.result["tests"]] == [
        [1, 3],
        [5, 3],
        [1, 3],
        [5, 3],
    ]
    for i in range(4):
        assert f"=== finished test #{i}: time=" in done.err
    quiet = run_tool("load_and_run", small_model, *flags, "--iter=2", "--quiet")
    assert quiet.code == 0 and quiet.err == "" and quiet.out == ""


def test_streams_loads_and_rate(run_tool, small_model):
    for flags, runs in (
        (["--streams=3"], 30),
        (["--thread=2"], 20),
        (["--rate=5000", "--streams=2"], 10),
    ):
        result = run_tool("load_and_run", small_model, *flags).result
        assert result["tests"][0]["runs"] == runs
    waits, times = result["tests"][0]["waits_ms"], result["tests"][0]["times_ms"]
    assert len(waits) == len(times) == 10
    assert all(0 <= w <= t for w, t in zip(waits, times, strict=True))


def test_model_dump_runs_again(run_tool, small_model, tmp_path):
    flags = ["--optimize-for-inference", "--model-dump", tmp_path / "out.mge", "--input=1,2,3"]
    outputs = ["--dump-outputs", tmp_path / "a.npz"]
    first = run_tool("load_and_run", small_model, *flags[:-1], "--input=[[1,2,3]]", *outputs)
    assert first.code == 0, first.err
    assert first.result["optimize_for_inference"]["nodes_after"] < 3
    again = run_tool(
        "load_and_run",
        tmp_path / "out.mge",
        "--input=[[1,2,3]]",
        "--dump-outputs",
        tmp_path / "b.npz",
    )
    assert again.code == 0, again.err
    import numpy as np

    a, b = np.load(tmp_path / "a.npz"), np.load(tmp_path / "b.npz")
    np.testing.assert_allclose(a["y"], b["y"], rtol=1e-6)


def test_inputs_of_all_kinds(run_tool, small_model, tmp_path):
    import numpy as np

    x = np.arange(6, dtype="float32").reshape(2, 3)
    np.save(tmp_path / "x.npy", x)
    np.savez(tmp_path / "x.npz", x=x)
    data = {"x": {"shape": [2, 3], "type": "float32", "raw": x.ravel().tolist()}}
    (tmp_path / "x.json").write_text(json.dumps(data))
    outputs = []
    for value in (tmp_path / "x.npy", tmp_path / "x.npz", tmp_path / "x.json", "[0,1,2],[3,4,5]"):
        done = run_tool(
            "load_and_run", small_model, f"--input=x:{value}", "--dump-outputs", tmp_path / "y.npz"
        )
        assert done.code == 0, done.err
        outputs.append(np.load(tmp_path / "y.npz")["y"])
    for y in outputs[1:]:
        np.testing.assert_array_equal(y, outputs[0])
    data["x"]["raw"].pop()
    (tmp_path / "x.json").write_text(json.dumps(data))
    done = run_tool("load_and_run", small_model, f"--input={tmp_path / 'x.json'}")
    assert done.code == 5
    assert "5 numbers" in done.err


def test_baseline_verdicts(run_tool, small_model, tmp_path):
    """A report against itself passes; one that says it took half the time fails."""
    base = tmp_path / "base.json"
    report = run_tool("load_and_run", small_model, "--iter=200", "--json", base).report
    shutil.copy(base, tmp_path / "half.json")
    half = json.loads(base.read_text())
    for test in half["result"]["tests"]:
        test["times_ms"] = [t / 20 for t in test["times_ms"]]
    (tmp_path / "half.json").write_text(json.dumps(half))
    flags = ["--iter=200", "--fail-if=p50>+100%"]
    done = run_tool("load_and_run", small_model, "--baseline", tmp_path / "half.json", *flags)
    assert done.code == 3, done.err
    assert done.result["baseline"][0]["is_worse"] is True
    assert report is None or report["tool"] == "load_and_run"
    (tmp_path / "bad.json").write_text("{}")
    assert run_tool("load_and_run", small_model, "--baseline", tmp_path / "bad.json").code == 5
