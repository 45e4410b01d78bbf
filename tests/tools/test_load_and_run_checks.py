# SPDX-License-Identifier: Apache-2.0
"""load_and_run's checks as processes: accuracy, determinism, inspection, and their exit codes."""

import json
import os
import re
import struct
import sys
from pathlib import Path

import jsonschema
import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
OK, USAGE, DEVICE, MODEL, ACCURACY, MEMORY = 0, 2, 4, 5, 7, 8
SHORT = ("--iter", "1", "--warmup-iter", "0")


@pytest.fixture(scope="session")
def dump_net(tmp_path_factory):
    """dump_net(name, function, inputs, names) → path of the traced function as a model."""
    import megengine as mge
    from megengine.jit import trace

    def dump(name, function, inputs):
        traced = trace(symbolic=True, capture_as_const=True)(function)
        traced(*[mge.Tensor(v) for v in inputs.values()])
        path = tmp_path_factory.mktemp("models") / f"{name}.mge"
        traced.dump(str(path), arg_names=list(inputs), output_names=["y"])
        return path

    return dump


def convolutions(scale=1.0, channels=16, size=12):
    """Two convolutions and a mean; `scale` changes the weights of the second one."""
    import megengine as mge
    import megengine.functional as F

    random = np.random.RandomState(3)

    def weights(*shape):
        return mge.Tensor(random.standard_normal(shape).astype("float32") / 10)

    a, b = weights(channels, 3, 3, 3), weights(channels, channels, 3, 3) * scale
    bias = weights(1, channels, 1, 1)

    def net(x):
        y = F.relu(F.conv2d(x, a, bias, padding=1))
        y = F.relu(F.conv2d(y, b, bias, padding=1))
        return F.mean(y, axis=(2, 3))

    return net, {"x": random.standard_normal((2, 3, size, size)).astype("float32")}


@pytest.fixture(scope="session")
def conv_model(dump_net):
    return dump_net("conv", *convolutions())


@pytest.fixture(scope="session")
def changed_model(dump_net):
    return dump_net("changed", *convolutions(scale=1.2))


@pytest.fixture(scope="session")
def conv_input(tmp_path_factory):
    path = tmp_path_factory.mktemp("inputs") / "x.npy"
    np.save(path, convolutions()[1]["x"])
    return f"x:{path}"


@pytest.fixture
def run(run_tool, conv_model, conv_input):
    """run(*flags) → Result of the convolution model on its input."""
    return lambda *flags, **how: run_tool(
        "load_and_run", conv_model, "--input", conv_input, *SHORT, *flags, **how
    )


@pytest.fixture
def outputs(run, tmp_path):
    path = tmp_path / "outputs.npz"
    assert run("--dump-outputs", path).code == OK
    return dict(np.load(path)), path


class TestCompare:
    def test_own_outputs_agree(self, run, outputs):
        got = run("--compare", outputs[1])
        assert got.code == OK, got.err
        compared = got.result["compare"]
        assert compared["passed"] and compared["compared"] == 1
        assert compared["values"][0]["error"] == 0

    @pytest.mark.parametrize(
        "metric", "max-abs max-rel l1 l2 rms cosine megengine assert-equal".split()
    )
    def test_beyond_the_tolerance_is_exit_code_7(self, run, outputs, tmp_path, metric):
        values, _ = outputs
        values["y"] = values["y"].copy()
        values["y"][1, 2] += 0.5
        np.savez(tmp_path / "other.npz", **values)
        flags = ("--compare", tmp_path / "other.npz", "--metric", metric)
        got = run(*flags, "--rtol", "1e-5")
        assert got.code == ACCURACY
        value = got.result["compare"]["values"][0]
        assert value["error"] == value["errors"][metric] > value["limit"]
        assert value["largest"]["place"] == [1, 2]
        assert got.report["error"]["kind"] == "accuracy"
        assert "y" in got.err and "[1, 2]" in got.err
        assert run(*flags, "--rtol", "1e-5", "--atol", "1e4").code == OK

    def test_arrays_without_names_go_by_position(self, run, outputs, tmp_path):
        np.savez(tmp_path / "plain.npz", outputs[0]["y"])
        assert run("--compare", tmp_path / "plain.npz").code == OK

    def test_nothing_in_common_is_a_usage_error(self, run, tmp_path):
        np.savez(tmp_path / "other.npz", z=np.zeros(3))
        got = run("--compare", tmp_path / "other.npz")
        assert got.code == USAGE and "no value in common" in got.err

    def test_other_model(self, run, conv_model, changed_model):
        assert run("--compare", conv_model).code == OK
        got = run("--compare", changed_model)
        assert got.code == ACCURACY
        assert got.result["compare"]["reference"] == str(changed_model)

    @pytest.mark.parametrize(
        "how", ["reference", "heuristic", "level=0", "layout=nchw", "threads=1", "reproducible"]
    )
    def test_other_ways_to_compile(self, run, how):
        got = run("--compare-with", how)
        assert got.code == OK, got.err
        assert got.result["compare"]["reference"] == how

    def test_io_dumps(self, run, run_tool, conv_model, tmp_path):
        run("--io-dump", tmp_path / "a.txt", "--bin-io-dump", tmp_path / "bin")
        for reference in (tmp_path / "a.txt", tmp_path / "bin"):
            got = run("--compare", reference)
            assert got.code == OK, got.err
            assert got.result["compare"]["compared"] >= 3
        other = run_tool("load_and_run", conv_model, *SHORT, "--compare", tmp_path / "a.txt")
        assert other.code == ACCURACY

    @pytest.mark.parametrize(
        "flags",
        [
            ("--compare", "/proc/nonexistent"),
            ("--compare-with", "magic"),
            ("--compare-with", "layout=abc"),
            ("--first-diff",),
            ("--first-diff", "--compare-with", "reference", "--dump-outputs", "x.npz"),
            ("--first-diff", "--compare-with", "reference", "--check-finite"),
            ("--metric", "l3", "--compare-with", "reference"),
        ],
    )
    def test_usage_errors(self, run, flags):
        assert run(*flags).code == USAGE


class TestFirstDifference:
    def test_none_is_accepted(self, run):
        got = run("--first-diff", "--compare-with", "reference")
        assert got.code == OK, got.err
        found = got.result["first_diff"]
        assert found["passed"] and found["first"] is None and found["compared"] > 2

    def test_names_the_changed_operator(self, run, changed_model):
        got = run("--first-diff", "--compare", changed_model)
        assert got.code == ACCURACY
        first = got.result["first_diff"]["first"]
        assert first["op"] == "conv2d"
        assert first["alone"]["differs"] and first["alone"]["inputs_from_reference"] == 1
        assert first["got"]["max"] < first["expected"]["max"]
        assert got.result["first_diff"]["cause"]["step"] == first["step"]
        assert "conv2d" in got.err

    def test_against_a_dump(self, run, tmp_path):
        run("--io-dump", tmp_path / "all.npz")
        assert run("--first-diff", "--compare", tmp_path / "all.npz").code == OK
        values = dict(np.load(tmp_path / "all.npz"))
        inner = [n for n, v in values.items() if v.ndim == 4 and v.shape[1:] == (16, 12, 12)]
        assert inner
        values[inner[0]] = values[inner[0]] + 1
        np.savez(tmp_path / "wrong.npz", **values)
        got = run("--first-diff", "--compare", tmp_path / "wrong.npz")
        assert got.code == ACCURACY
        assert got.result["first_diff"]["first"]["output"] == inner[0]

    def test_memory_stays_small(self, dump_net, run_tool):
        """Sixty values of 16 MiB each: weights, two layers and 256 MiB are enough."""
        import megengine.functional as F

        def chain(x):
            for i in range(12):
                x = F.concat([F.relu(x[:, 1:]), x[:, :1] + i], axis=1)
            return x

        path = dump_net("chain", chain, {"x": np.zeros((4, 8), "float32")})
        got = run_tool(
            "load_and_run", path, "--input", "x:#rand(-1,1,2048,2048)", "--first-diff",
            "--compare-with", "level=0",
        )  # fmt: skip
        assert got.code == OK, got.err
        layer = 2 * 2048 * 2048 * 4
        if "MGE_SANITIZED" not in os.environ:  # the sanitizer keeps what is freed
            assert got.result["process_peak"] <= 2 * layer + (256 << 20)


@pytest.fixture(scope="session")
def log_model(dump_net):
    import megengine.functional as F

    return dump_net("log", lambda x: F.log(x) * 2, {"x": np.ones((2, 2), "float32")})


class TestGuards:
    def guarded(self, run_tool, model, values, *flags):
        return run_tool("load_and_run", model, "--input", f"x:[{values}]", *SHORT, *flags)

    def test_check_finite(self, run_tool, log_model):
        bad, good = "[1.0,2.0],[0.0,3.0]", "[1.0,2.0],[4.0,3.0]"
        got = self.guarded(run_tool, log_model, bad.strip(), "--check-finite")
        assert got.code == ACCURACY
        finding = got.result["finding"]
        assert finding["place"][-2:] == [1, 0] and finding["value"] == "-inf"
        assert finding["output"] and finding["op"]
        assert "not finite" in got.err
        assert self.guarded(run_tool, log_model, good, "--check-finite").code == OK
        assert self.guarded(run_tool, log_model, bad).code == OK

    def test_range(self, run_tool, log_model):
        values = "[1.0,2.0],[4.0,3.0]"
        assert self.guarded(run_tool, log_model, values, "--range", "5").code == OK
        got = self.guarded(run_tool, log_model, values, "--range", "3.5")
        assert got.code == ACCURACY
        assert got.result["finding"]["value"] == 4

    def test_check_var_value(self, run):
        assert run("--check-var-value", "1", "--iter", "8").code == OK
        assert run("--check-var-value", "2:1", "--iter", "8").code == OK
        assert run("--check-var-value", "1:9999").code == USAGE
        assert run("--check-var-value", "0").code == USAGE
        assert run("--check-var-value", "x").code == USAGE

    def test_check_dispatch(self, run):
        got = run("--check-dispatch", "--iter", "3")
        assert got.code == OK, got.err
        assert got.result["guards"] == ["check-dispatch"]


def read_binary(path):
    raw = path.read_bytes()
    name_bytes, dtype, rank = struct.unpack("III", raw[:12])
    shape = [d for d in struct.unpack("I" * rank, raw[12 : 12 + 4 * rank]) if d]
    start = 12 + 4 * rank
    name = raw[start : start + name_bytes].decode("ascii")
    kinds = {0: "float32", 1: "uint8", 4: "int32", 9: "float16"}
    return name, np.frombuffer(raw[start + name_bytes :], kinds[dtype]).reshape(shape)


class TestGuardsAndProfile:
    """Both look at every run."""

    def test_all_runs_are_profiled_and_dumped(self, run, tmp_path):
        got = run(
            "--profile", tmp_path / "p.json", "--bin-out-dump", tmp_path / "out", "--check-finite",
            "--iter", "3", "--warmup-iter", "2",
        )  # fmt: skip
        assert got.code == OK, got.err
        profile = json.loads((tmp_path / "p.json").read_text())
        assert len(profile["runs"]) == got.result["profile"]["runs"] == 3
        # The first run, two to warm up, three that count.
        assert len(list((tmp_path / "out").iterdir())) == 6
        # The guards' work is between the steps: each has its own start.
        for one in profile["runs"]:
            assert len(one["begins_ns"]) == len(one["ends_ns"]) == len(profile["steps"])
            assert all(b <= e for b, e in zip(one["begins_ns"], one["ends_ns"], strict=True))

    def test_each_test_has_separate_guards(self, run, tmp_path):
        flags = ("--check-var-value", "1", "--iter", "4", "--profile", tmp_path / "p.json")
        got = run(*flags, "--batch-size", "1,3")
        assert got.code == OK, got.err
        assert (tmp_path / "p.1.json").exists()


class TestFitting:
    def rejected(self, run, *flags):
        got = run("--fitting", *flags)
        assert got.code == OK, got.err
        states = [c["state"] for c in got.result["fitting"]["candidates"]]
        return [s for s in states if s.startswith("rejected: output")]

    def test_tolerance_follows_the_flags(self, run):
        # Other layouts and algorithms round in other ways.
        assert self.rejected(run, "--rtol", "0", "--atol", "0")
        assert not self.rejected(run, "--rtol", "0", "--atol", "100")


class TestDumps:
    def test_every_form_at_once(self, run, outputs, tmp_path):
        got = run(
            "--io-dump", tmp_path / "io.txt", "--bin-io-dump", tmp_path / "bin",
            "--bin-out-dump", tmp_path / "out", "--io-dump-stderr", "--warmup-iter", "1",
        )  # fmt: skip
        assert got.code == OK, got.err
        text = (tmp_path / "io.txt").read_text()
        assert "var" in text and " produced: name=x " in text and text in got.err
        files = sorted((tmp_path / "bin").iterdir())
        assert all(len(f.name) == 6 for f in files)
        assert text.count(" produced: ") == len(files)
        by_name = {n.split(", name:")[1].split(",")[0]: v for n, v in map(read_binary, files)}
        np.testing.assert_array_equal(by_name["y"], outputs[0]["y"])
        # First run, warm-up and one timed run.
        runs = sorted(f.name.split("-")[0] for f in (tmp_path / "out").iterdir())
        assert runs == ["run0", "run1", "run2"]

    def test_npz(self, run, outputs, tmp_path):
        assert run("--io-dump", tmp_path / "io.npz").code == OK
        values = np.load(tmp_path / "io.npz")
        np.testing.assert_array_equal(values["y"], outputs[0]["y"])
        assert "x" in values

    def test_stdout(self, run):
        got = run("--io-dump-stdout")
        assert got.code == OK and " produced: name=y " in got.out
        assert run("--io-dump-stdout", "--io-dump-stderr").code == USAGE


class TestDeterminism:
    def test_reproducible(self, run):
        got = run("--reproducible")
        assert got.code == OK, got.err
        found = got.result["reproducible"]
        assert found["equal"] and found["runs"] == 2 and found["values"] >= 3

    def test_plan_is_replayed(self, run, tmp_path):
        plan = tmp_path / "plan.json"
        first = run("--fast-run", "--save-plan", plan, "--dump-outputs", tmp_path / "a.npz")
        assert first.code == OK, first.err
        saved = json.loads(plan.read_text())
        schema = json.loads((ROOT / "docs/schemas/plan.schema.json").read_text())
        jsonschema.validate(saved, schema, cls=jsonschema.Draft202012Validator)
        again = run("--replay-plan", plan, "--dump-outputs", tmp_path / "b.npz")
        assert again.code == OK, again.err
        chosen = [(s["op"], s["algorithm"]) for s in first.report["algorithms"]]
        assert [(s["op"], s["algorithm"]) for s in again.report["algorithms"]] == chosen
        assert {s["source"] for s in again.report["algorithms"]} == {"plan"}
        a, b = np.load(tmp_path / "a.npz"), np.load(tmp_path / "b.npz")
        np.testing.assert_array_equal(a["y"], b["y"])

    @pytest.mark.parametrize(
        "flags",
        [
            ("--graph-opt-level", "0", "--enable-fuse-conv-bias-nonlinearity"),
            ("--graph-opt-level", "0", "--jit-level", "2"),
            ("--jit-level", "0"),
            ("--jit-fuse-reduce",),
            ("--noweight-preprocess",),
            ("--enable-ioc16",),
        ],
        ids=" ".join,
    )
    def test_a_plan_repeats_the_switches(self, run_tool, dump_net, tmp_path, flags):
        import megengine.functional as F

        means, inputs = convolutions(channels=8)

        def net(x):
            y = F.exp(means(x) * 0.5 + 1)
            return F.sum(F.tanh(y) * y, axis=1)

        model = dump_net("net", net, inputs)
        plan = tmp_path / "plan.json"
        values = ("--input", "x:#rand(-1,1,2,3,12,12)")
        saved = run_tool("load_and_run", model, *values, *SHORT, *flags, "--save-plan", plan)
        assert saved.code == OK, saved.err
        schema = json.loads((ROOT / "docs/schemas/plan.schema.json").read_text())
        jsonschema.validate(json.loads(plan.read_text()), schema)
        again = run_tool("load_and_run", model, *values, *SHORT, "--replay-plan", plan)
        assert again.code == OK, again.err
        chosen = [(s["op"], s["algorithm"]) for s in saved.report["algorithms"]]
        assert [(s["op"], s["algorithm"]) for s in again.report["algorithms"]] == chosen
        assert (
            again.result["memory_bytes"]["packed_weights"]
            == saved.result["memory_bytes"]["packed_weights"]
        )

    def test_missing_algorithm_is_exit_code_4(self, run, tmp_path):
        plan = tmp_path / "plan.json"
        run("--save-plan", plan)
        saved = json.loads(plan.read_text())
        saved["programs"][0]["steps"][1]["algorithm"] = "onednn:none_such"
        plan.write_text(json.dumps(saved))
        got = run("--replay-plan", plan)
        assert got.code == DEVICE
        assert "step 1" in got.err and "onednn:none_such" in got.err and "not offered" in got.err

    def test_plan_of_another_model_or_shape(self, run, run_tool, small_model, tmp_path):
        plan = tmp_path / "plan.json"
        run("--save-plan", plan)
        got = run("--replay-plan", plan, "--batch-size", "5")
        assert got.code == USAGE
        assert "is a plan for the inputs float32(2, 3, 12, 12), but given are float32(5," in got.err
        other = run_tool("load_and_run", small_model, "--replay-plan", plan)
        assert other.code == USAGE and "the plan of another model" in other.err
        saved = json.loads(plan.read_text())
        saved["programs"][0]["model"] = "0" * 16
        plan.write_text(json.dumps(saved))
        assert run("--replay-plan", plan).code == USAGE
        plan.write_text("{}")
        assert run("--replay-plan", plan).code == MODEL
        assert run("--replay-plan", tmp_path / "none.json").code == USAGE

    def test_require_cache(self, run, tmp_path):
        cache = tmp_path / "cache.sqlite"
        assert run("--fast-run", "--fast-run-algo-policy", cache).code == OK
        filled = run("--require-cache", "--fast-run-algo-policy", cache)
        assert filled.code == OK, filled.err
        assert filled.result["cache_misses"] == 0
        other = run("--require-cache", "--fast-run-algo-policy", cache, "--batch-size", "3")
        assert other.code == DEVICE
        assert "conv2d" in other.err and "step 0" in other.err


@pytest.fixture(scope="module")
def heavy(dump_net):
    """Weights of 9 MiB in its second convolution."""
    return dump_net("heavy", *convolutions(channels=512, size=8))


@pytest.mark.skipif("MGE_SANITIZED" in os.environ, reason="figures of the sanitizer's allocator")
class TestMemory:
    def test_by_class(self, run):
        self.check_classes(run().result["memory"])

    @staticmethod
    def check_classes(memory):
        for name, figures in memory.items():
            if name == "process":
                continue
            near = max(0.05 * figures["predicted"], 2 << 20)
            assert abs(figures["measured"] - figures["predicted"]) <= near, name
            assert abs(figures["system"] - figures["predicted"]) <= near, name

    # A search takes seconds, so it is tried with the best instruction set only.
    @pytest.mark.parametrize(
        ("isa", "flag"),
        [
            (isa, flag)
            for isa in ("sse4", "avx2", "avx512")
            for flag in ("--model-info", "--enable-ioc16")
        ]
        + [("", "--fast-run")],
    )
    def test_every_algorithm_counts_its_memory(self, run_tool, heavy, isa, flag):
        """Copies, scratch memory and generated code, whichever algorithm a processor prefers."""
        got = run_tool("load_and_run", heavy, *SHORT, flag, env={"MGE_ISA": isa} if isa else None)
        if "[MGE_ISA]" in got.err:
            pytest.skip(got.err)
        assert got.code == OK, got.err
        self.check_classes(got.result["memory"])

    def test_weights_are_released_when_packed(self, run_tool, heavy, tmp_path):
        original = 512 * 512 * 9 * 4

        def run(*flags):
            got = run_tool("load_and_run", heavy, *SHORT, *flags)
            assert got.code == OK, got.err
            self.check_classes(got.result["memory"])
            return got

        on = run("--weight-preprocess", "--dump-outputs", tmp_path / "on.npz")
        figures = on.result["memory_bytes"]
        assert figures["packed_weights"] >= original
        assert figures["weights"] + figures["made_weights"] <= 0.05 * figures["packed_weights"]
        assert figures["released_weights"] >= original
        assert on.result["memory"]["weights"]["system"] <= 0.05 * figures["packed_weights"] + 65536
        off = run("--noweight-preprocess", "--compare", tmp_path / "on.npz")
        assert off.result["memory_bytes"]["packed_weights"] == 0
        assert off.result["memory_bytes"]["weights"] >= original
        # Other shapes need the originals again.
        shapes = ("--input", "x:#rand(-1,1,3,3,8,8)", "--input", "x:#rand(-1,1,2,3,11,5)")
        run("--weight-preprocess", *shapes, "--compare-with", "reference", "--rtol", "1e-3")
        run("--weight-preprocess", "--batch-size", "1,4")
        # Dumps show them as they were.
        run("--weight-preprocess", "--io-dump", tmp_path / "values.npz")
        shown = np.load(tmp_path / "values.npz")
        assert any(shown[name].shape == (512, 512, 3, 3) for name in shown.files)

    def test_undroppable_weights_are_reported(self, run_tool, heavy):
        got = run_tool("load_and_run", heavy, *SHORT, "--share-param-mem")
        assert got.code == OK, got.err
        self.check_classes(got.result["memory"])
        assert got.result["memory"]["weights"]["predicted"] >= 512 * 512 * 9 * 4

    @staticmethod
    def limited_bytes(memory):
        """The tool's own inputs and copies of outputs are under no limit."""
        return sum(
            memory[name]["predicted"] for name in ("weights", "made_weights", "program", "context")
        )

    def test_limit_counts_packed_weights_once(self, run_tool, heavy):
        needed = self.limited_bytes(run_tool("load_and_run", heavy, *SHORT).result["memory"])
        # The allocator rounds up by at most 1/32.
        limit = needed + needed // 32
        enough = run_tool("load_and_run", heavy, *SHORT, "--mem-limit", str(limit))
        assert enough.code == OK, enough.err
        assert enough.result["memory_limit"]["allocated_peak"] <= limit
        got = run_tool("load_and_run", heavy, *SHORT, "--mem-limit", str(needed - needed // 8))
        assert got.code == MEMORY

    def test_limit(self, run):
        needed = self.limited_bytes(run().result["memory"])
        enough = run("--mem-limit", str(needed + 65536))
        assert enough.code == OK, enough.err
        assert enough.result["memory_limit"]["allocated_peak"] <= needed + 65536
        got = run("--mem-limit", str(needed - 4096))
        assert got.code == MEMORY
        assert "conv2d" in got.err or "mean" in got.err
        assert run("--mem-limit", "1K").code == MEMORY

    def test_given_limit_is_reported(self, run_tool, heavy):
        """Not what is left of it, nor with the tool's own data added."""
        needed = self.limited_bytes(run_tool("load_and_run", heavy, *SHORT).result["memory"])
        seen = set()
        for eighths in range(1, 9):
            limit = needed * eighths // 8 - 4096
            got = run_tool("load_and_run", heavy, *SHORT, "--mem-limit", str(limit))
            assert got.code == MEMORY
            (limit_text,) = re.findall(r"limit (of|is) (\d+)", got.err)
            assert int(limit_text[1]) == limit, got.err
            seen.add(limit_text[0])
        assert seen == {"of", "is"}, "both the allocator and the prediction refused"

    def test_limit_that_is_wrong(self, run):
        for wrong in ("0", "x", "5X", "-1"):
            assert run(f"--mem-limit={wrong}").code == USAGE

    def test_timeline(self, run, tmp_path):
        assert run("--memory-timeline", tmp_path / "t.json").code == OK
        timeline = json.loads((tmp_path / "t.json").read_text())
        schema = json.loads((ROOT / "docs/schemas/memory_timeline.schema.json").read_text())
        jsonschema.validate(timeline, schema, cls=jsonschema.Draft202012Validator)
        in_use = [s["bytes_in_use"] for s in timeline["steps"]]
        assert max(in_use) == timeline["peak"]["bytes"] <= timeline["arena"]
        assert run("--memory-timeline", tmp_path / "t.svg").code == OK
        assert (tmp_path / "t.svg").read_text().count("<rect") == 1 + len(timeline["blocks"])
        assert run("--memory-timeline", tmp_path / "t.txt").code == USAGE

    def test_static_memory_info(self, run, tmp_path):
        assert run("--get-static-mem-info", "info/here", cwd=tmp_path).code == OK
        folder = tmp_path / "info/here"
        graph = json.loads((folder / "graph.json").read_text())
        info = json.loads((folder / "StaticMemoryInfo.json").read_text())
        for operator in graph["operator"].values():
            assert all(v in graph["var"] for v in operator["input"] + operator["output"])
        assert len(graph["comp_seq"]) == len(graph["operator"]) == len(info["opr"])
        for chunk in info["chunk"].values():
            assert all(isinstance(v, str) for v in chunk.values())
            assert 0 <= int(chunk["time_begin"]) < int(chunk["time_end"]) <= len(info["opr"])
        assert run("--get-static-mem-info", "a b").code == USAGE


if __name__ == "__main__":
    sys.exit(pytest.main([__file__]))
