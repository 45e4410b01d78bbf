# SPDX-License-Identifier: Apache-2.0
"""load_and_run on other devices than the first CPU: the second one, the shadow device of the
tests, whose memory the host cannot read and whose queues work late, and a GPU that the host
emulates. The results equal those of the first."""

import json
from pathlib import Path

import jsonschema
import numpy as np
import pytest

PROFILE_SCHEMA = json.loads(
    (Path(__file__).resolve().parents[2] / "docs/schemas/profile.schema.json").read_text()
)
OK, USAGE, DEVICE, ACCURACY, MEMORY = 0, 2, 4, 7, 8
SHORT = ("--iter", "3", "--warmup-iter", "1")
STEPS = 5


def dumped(folder, name, function, inputs):
    """The traced function as a model with one test case, and the file of its inputs."""
    import megengine as mge
    from megengine.jit import trace

    traced = trace(symbolic=True, capture_as_const=True)(function)
    traced(*[mge.Tensor(value) for value in inputs.values()])
    path, values = folder / f"{name}.mge", folder / f"{name}.npz"
    traced.dump(str(path), arg_names=list(inputs), output_names=["y"])
    np.savez(values, **inputs)
    return path, ("--input", str(values))


@pytest.fixture(scope="session")
def models(tmp_path_factory):
    """By name, a model and the arguments that give it inputs."""
    import megengine as mge
    import megengine.functional as F

    folder = tmp_path_factory.mktemp("devices")
    random = np.random.RandomState(5)

    def values(*shape):
        return (random.standard_normal(shape) / 4).astype("float32")

    a, b = mge.Tensor(values(6, 1, 5, 5)), mge.Tensor(values(16, 6, 5, 5))
    scale, shift = mge.Tensor(values(1, 6, 1, 1)), mge.Tensor(values(1, 16, 1, 1))
    c, d = mge.Tensor(values(16 * 25, 120)), mge.Tensor(values(120, 10))

    def lenet(x):
        y = F.max_pool2d(F.relu(F.conv2d(x, a, padding=2) * scale), 2, 2)
        y = F.max_pool2d(F.relu(F.conv2d(y, b) + shift), 2, 2)
        return F.softmax(F.matmul(F.relu(F.matmul(F.flatten(y, 1), c)), d), axis=1)

    weight = mge.Tensor(values(4, 4))

    def loop(h, xs):
        return F.scan(lambda h, x: (F.relu(F.matmul(h, weight) + x), None), h, xs)[0]

    return {
        "lenet": dumped(folder, "lenet", lenet, {"x": values(2, 1, 28, 28)}),
        "loop": dumped(folder, "loop", loop, {"h": values(1, 4), "xs": values(STEPS, 1, 4)}),
        "log": dumped(folder, "log", lambda x: F.log(x) * 2, {"x": values(2, 8)}),
        "chosen": dumped(
            folder, "chosen", lambda x: F.cond_take(x > 0, x)[0] * 2, {"x": values(2, 8)}
        ),
    }


@pytest.fixture(scope="session")
def shadow(build_dir):
    """The arguments that load the shadow device."""
    return ("--c-opr-lib", str(build_dir / "lib/libmge_shadow_device.so"))


@pytest.fixture(scope="session")
def gpu(build_dir):
    """The arguments that load the emulated GPU."""
    return ("--c-opr-lib", str(build_dir / "lib/libmge_cuda_emulated.so"))


@pytest.fixture(params=["cpu1", "shadow1:2"])
def device(request, shadow):
    """The arguments that run a model on another device, by the kernels of the CPU."""
    library = shadow if "shadow" in request.param else ()
    return (*library, "--device", request.param)


@pytest.fixture
def run(run_tool, models):
    """run("lenet", flag…) → Result of that model on its inputs."""
    return lambda name, *flags: run_tool(
        "load_and_run", models[name][0], *models[name][1], *SHORT, *flags
    )


def outputs(run, tmp_path, name, *flags):
    file = tmp_path / "outputs.npz"
    done = run(name, *flags, "--dump-outputs", file)
    assert done.code == OK, done.err
    return dict(np.load(file)), done


def assert_same(got, expected):
    assert got.keys() == expected.keys()
    for key, value in expected.items():
        np.testing.assert_array_equal(got[key], value, err_msg=key)


VARIANTS = [
    ("lenet",),
    ("loop",),
    ("chosen",),
    ("loop", "--graph-opt-level=0"),
    ("lenet", "--streams", "2"),
    ("loop", "--streams", "2"),
    ("lenet", "--thread", "2"),
    ("lenet", "--record-comp-seq", "--copy-to-host"),
    ("lenet", "--async-exec-level=4", "--fake-first"),
    ("chosen", "--force-dynamic-alloc", "--share-param-mem"),
    ("lenet", "--optimize-for-inference", "--reproducible"),
    ("loop", "--force-output-use-user-specified-memory", "--disable-mem-opt"),
    ("lenet", "--enable-memory-swap", "--weight-preprocess=false"),
    ("lenet", "--enable-sublinear-memory-opt"),
]


@pytest.mark.parametrize("variant", VARIANTS, ids=" ".join)
def test_outputs_match_the_first_cpu(run, tmp_path, device, variant):
    expected, _ = outputs(run, tmp_path, *variant)
    got, done = outputs(run, tmp_path, *variant, *device)
    assert_same(got, expected)
    where = device[-1] if ":" in device[-1] else device[-1] + ":0"
    assert done.result["device"]["name"] == where
    assert {step["device"] for step in done.result["algorithms"]} == {where}
    assert done.result["memory_bytes"]["allocated_peak"] > 0
    assert done.result["latency_ms"]["mean"] > 0


@pytest.mark.parametrize("variant", VARIANTS, ids=" ".join)
def test_outputs_of_a_gpu_are_close(run, tmp_path, gpu, variant):
    expected, _ = outputs(run, tmp_path, *variant)
    got, done = outputs(run, tmp_path, *variant, *gpu, "--cuda")
    assert got.keys() == expected.keys()
    for key, value in expected.items():
        np.testing.assert_allclose(got[key], value, rtol=1e-4, atol=1e-6, err_msg=key)
    assert done.result["device"]["name"] == "gpu0:0"
    assert {step["device"] for step in done.result["algorithms"]} == {"gpu0:0"}
    assert done.result["memory_bytes"]["allocated_peak"] > 0


def test_a_gpu_measures_and_keeps_it(run, tmp_path, gpu):
    cache = ("--fast-run", "--fast-run-algo-policy", tmp_path / "cache.sqlite")
    for source in ("measured", "cache"):
        done = run("lenet", *gpu, "--cuda", *cache)
        assert done.code == OK, done.err
        assert source in {step["source"] for step in done.result["algorithms"]}


def test_fast_run_measures_there_and_keeps_it(run, tmp_path, device):
    expected, _ = outputs(run, tmp_path, "lenet")
    cache = ("--fast-run", "--fast-run-algo-policy", tmp_path / "cache.sqlite")
    cold, first = outputs(run, tmp_path, "lenet", *device, *cache)
    warm, second = outputs(run, tmp_path, "lenet", *device, *cache)
    sources = [[step["source"] for step in done.result["algorithms"]] for done in (first, second)]
    assert "measured" in sources[0]
    assert "measured" not in sources[1]
    assert "cache" in sources[1]
    for got in (cold, warm):
        np.testing.assert_allclose(got["y"], expected["y"], rtol=1e-4, atol=1e-6)
    # Times measured there are not used for the first CPU, unless it is the same device.
    here = run("lenet", *cache)
    at_home = [step["source"] for step in here.result["algorithms"]]
    assert ("measured" in at_home) == ("shadow" in device[-1])
    required = run("lenet", *device, "--require-cache", *cache[1:])
    assert required.code == OK, required.err


def test_a_cache_is_built_for_a_device(run, run_tool, models, tmp_path, shadow):
    tool, file, there = "mge-fastrun-cache", tmp_path / "c.sqlite", (*shadow, "--device", "shadow1")
    model = models["lenet"][0]
    built = run_tool(tool, "build", file, model, *there)
    assert built.code == OK, built.err
    (counts,) = built.result["runs"]
    assert counts["device"] == "shadow1:0"
    assert counts["measured"] > 0
    explained = [run_tool(tool, "explain", file, model, *where) for where in (there, ())]
    known, unknown = [done.result["runs"][0] for done in explained]
    assert (known["hits"], unknown["hits"]) == (known["lookups"], 0)
    assert explained[0].result["machine"] != explained[1].result["machine"]
    cache = ("--require-cache", "--fast-run-algo-policy", file)
    required = run("lenet", *there, *cache)
    assert required.code == OK, required.err


def test_rows_of_all_devices_are_of_this_machine(run_tool, models, tmp_path, shadow):
    tool, file, model = "mge-fastrun-cache", tmp_path / "c.sqlite", models["lenet"][0]
    for there in ((), (*shadow, "--device", "shadow1")):
        assert run_tool(tool, "build", file, model, *there).code == OK
    rows = run_tool(tool, "list", file).result["rows"]
    on_cpus = run_tool(tool, "list", file, "--here").result["rows"]
    assert 0 < on_cpus < rows
    assert run_tool(tool, "list", file, "--here", *shadow).result["rows"] == rows
    pruned = run_tool(tool, "prune", file, "--other-machines", *shadow)
    assert (pruned.code, pruned.result["removed"]) == (OK, []), pruned.err
    pruned = run_tool(tool, "prune", file, "--other-machines")
    assert pruned.result["rows"] == on_cpus


def test_outputs_of_test_cases_are_computed_on_a_device(run_tool, models, tmp_path, device):
    written = tmp_path / "tested.mge"
    data = ("--data", "#rand(0,1)", "--seed", "3")
    done = run_tool("mge-dump", "testcase", models["lenet"][0], written, *data, *device)
    assert done.code == OK, done.err
    ran = run_tool("load_and_run", written, *SHORT)
    assert ran.code == OK, ran.err
    assert ran.result["testcases"][0]["passed"]


def test_a_layout_is_measured_on_a_device(run_tool, models, tmp_path, device):
    written = tmp_path / "chosen.mge"
    command = ("mge-dump", "optimize", models["lenet"][0], written, *device)
    done = run_tool(*command, "--layout-transform", "cpu")
    assert done.code == OK, done.err
    assert done.result["layout"]
    assert run_tool(*command).code == USAGE


@pytest.mark.parametrize(
    "command",
    [
        ("mge-fastrun-cache", "build", "c.sqlite", "MODEL"),
        ("mge-fastrun-cache", "explain", "c.sqlite", "MODEL"),
        ("mge-dump", "testcase", "MODEL", "t.mge", "--data", "#rand(0,1)"),
        ("mge-dump", "optimize", "MODEL", "t.mge", "--enable-nchw88"),
    ],
    ids=lambda command: " ".join(command[:2]),
)
def test_tools_name_a_missing_device(run_tool, models, tmp_path, command):
    model = models["lenet"][0]
    if "explain" in command:
        assert run_tool("mge-fastrun-cache", "build", tmp_path / "c.sqlite", model).code == OK
    arguments = [model if word == "MODEL" else word for word in command]
    for name, code in (("nowhere", USAGE), ("rocm0", USAGE), ("cpu77777", USAGE)):
        done = run_tool(*arguments, "--device", name, cwd=tmp_path)
        assert done.code == code
        assert "--device" in done.err
        assert name in done.err


@pytest.mark.parametrize("model", ["lenet", "loop"])
def test_io_dumps_hold_the_same_values(run, tmp_path, device, model):
    def dump(name, *flags):
        text, folder = tmp_path / f"{name}.txt", tmp_path / name
        assert run(model, *flags, "--io-dump", text, "--bin-io-dump", folder).code == OK
        lines = text.read_text().replace(f"{device[-1]}:0", "cpu0:0").replace(device[-1], "cpu0:0")
        files = {file.name: file.read_bytes() for file in folder.iterdir()}
        return lines, files

    assert dump("there", *device) == dump("here")


def test_archives_hold_the_same_values(run, tmp_path, device):
    def dump(name, *flags):
        file = tmp_path / f"{name}.npz"
        assert run("lenet", *flags, "--io-dump", file).code == OK
        return dict(np.load(file))

    assert_same(dump("there", *device), dump("here"))


def test_outputs_of_each_run(run, tmp_path, device):
    folder = tmp_path / "runs"
    assert run("lenet", *device, "--bin-out-dump", folder).code == OK
    assert len({file.read_bytes() for file in folder.iterdir()}) == 1


def test_guards_find_non_finite_values(run, device):
    done = run("log", *device, "--check-finite")
    assert done.code == ACCURACY, done.err
    here = run("log", "--check-finite")
    assert done.result["finding"] == here.result["finding"]


@pytest.mark.parametrize(
    "flags",
    [("--check-finite",), ("--range", "100"), ("--check-dispatch",), ("--check-var-value=1",)],
    ids=" ".join,
)
@pytest.mark.parametrize("model", ["lenet", "loop"])
def test_guards_accept_correct_values(run, device, model, flags):
    done = run(model, *device, *flags)
    assert done.code == OK, done.err
    assert done.result["guards"]


@pytest.mark.parametrize("model", ["lenet", "loop"])
@pytest.mark.parametrize("flag", ["--profile", "--profile-host"])
def test_profiles_are_read_by_the_other_tool(run, run_tool, tmp_path, device, model, flag):
    file = tmp_path / "profile.json"
    assert run(model, *device, flag, file).code == OK
    shown = run_tool("mge-profile", "show", file)
    assert shown.code == OK, shown.err
    for command in (("check", file), ("export", file, "--chrome", tmp_path / "chrome.json")):
        assert run_tool("mge-profile", *command).code == OK


@pytest.mark.parametrize("flag", ["--profile", "--profile-host"])
@pytest.mark.parametrize("variant", [("lenet",), ("loop",), ("lenet", "--record-comp-seq")])
def test_profiles_have_the_times_of_the_gpu(run, run_tool, tmp_path, gpu, variant, flag):
    file, trace = tmp_path / "profile.json", tmp_path / "trace.json"
    done = run(*variant, *gpu, "--cuda", flag, file)
    assert done.code == OK, done.err
    content = json.loads(file.read_text())
    jsonschema.validate(content, PROFILE_SCHEMA)
    (device,) = content["devices"]
    assert device["name"] == "gpu0"
    assert "peak" not in content["host"], "the processor's is no roof of a GPU's work"
    assert {step["device"] for step in content["steps"]} == {"gpu0:0"}
    assert all(run["late"] for run in content["runs"])
    # They are inside the run, which was timed by the host.
    for timed in content["runs"]:
        times = zip(timed["begins_ns"], timed["ends_ns"], strict=True)
        assert sum(end - begin for begin, end in times) <= done.result["latency_ms"]["max"] * 1e6
    shown = run_tool("mge-profile", "show", file, "--show-host")
    assert shown.code == OK, shown.err
    assert f", on {device['model']}, " in shown.out
    assert shown.result["total_device_time_s"] > 0
    assert (shown.result["total_host_time_s"] is not None) == (flag == "--profile-host")
    assert run_tool("mge-profile", "check", file).code == OK
    assert run_tool("mge-profile", "show", file, "--peak").code == USAGE
    page = tmp_path / "page.html"
    wrote = run_tool("mge-profile", "export", file, "--chrome", trace, "--html", page)
    assert wrote.code == OK, wrote.err
    events = json.loads(trace.read_text())["traceEvents"]
    names = [event["args"]["name"] for event in events if event["name"] == "thread_name"]
    assert names == ["gpu0:0"] + ["cpu0:0 (host)"] * (flag == "--profile-host")


def test_comparisons(run, models, tmp_path, device):
    dump = tmp_path / "values.npz"
    assert run("lenet", "--io-dump", dump).code == OK
    references = (
        ("--compare-with", "reference"),
        ("--compare-with", "reference", "--first-diff"),
        ("--compare", models["lenet"][0], "--compare-with", "level=0"),
        ("--compare", dump),
        ("--compare", dump, "--first-diff"),
    )
    for flags in references:
        done = run("lenet", *device, *flags)
        assert done.code == OK, (flags, done.err)
    wrong = tmp_path / "wrong.npz"
    values = dict(np.load(dump))
    values["y"] = values["y"] + 1
    np.savez(wrong, **values)
    for flags in ((), ("--first-diff",)):
        done = run("lenet", *device, "--compare", wrong, *flags)
        assert done.code == ACCURACY, (flags, done.err)


def test_plans(run, tmp_path, device):
    plan = tmp_path / "plan.json"
    expected, _ = outputs(run, tmp_path, "lenet", *device, "--save-plan", plan)
    got, done = outputs(run, tmp_path, "lenet", *device, "--replay-plan", plan)
    assert_same(got, expected)
    assert {step["source"] for step in done.result["algorithms"]} == {"plan"}


def test_memory_limits(run, device):
    done = run("lenet", *device, "--mem-limit", "64M")
    assert done.code == OK, done.err
    assert 0 < done.result["memory_limit"]["allocated_peak"] < 64 << 20
    done = run("lenet", *device, "--mem-limit", "1K")
    assert done.code == MEMORY
    assert "1024" in done.err


def test_fitting(run, device):
    done = run("lenet", *device, "--fitting")
    assert done.code == OK, done.err
    assert {step["device"].split(":")[0] for step in done.result["algorithms"]} == {
        device[-1].split(":")[0]
    }


def test_a_library_lists_its_devices(run_tool, small_model, shadow):
    done = run_tool("load_and_run", "--list-devices", *shadow)
    assert done.code == OK, done.err
    names = [device["name"] for device in done.result["devices"]]
    assert names == ["cpu0", "shadow0", "shadow1"]
    assert "a shadow" in done.out
    done = run_tool("load_and_run", small_model, *shadow, "--require-device", "shadow")
    assert done.code == OK, done.err
    assert done.result["required_device"] == "shadow0:0"
    assert done.result["operator_libraries"] == {"shadow": []}


@pytest.mark.parametrize(
    ("device", "code", "reason"),
    [
        ("shadow0", USAGE, "'shadow0' is not a device name"),
        ("gpu200", DEVICE, "device 'gpu200'"),
        ("cpu999", USAGE, "'cpu999' is not a device name"),
    ],
)
def test_missing_devices(run_tool, small_model, device, code, reason):
    done = run_tool("load_and_run", small_model, "--device", device)
    assert done.code == code
    assert "--device" in done.err
    assert reason in done.err


@pytest.mark.parametrize(
    "flags", [("--cpu",), ("--cpu-default",), ("--multithread", "2"), ("--cuda",)], ids=" ".join
)
def test_contradictions(run_tool, small_model, shadow, flags):
    done = run_tool("load_and_run", small_model, *shadow, "--device", "shadow0", *flags)
    assert done.code == USAGE
    assert "contradicts" in done.err


def test_several_cpus_are_cpus(run_tool, small_model):
    done = run_tool("load_and_run", small_model, "--device", "cpu1", "--cpu", *SHORT)
    assert done.code == OK, done.err
    assert done.result["device"]["asked"] == "cpu1"
