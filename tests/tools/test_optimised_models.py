# SPDX-License-Identifier: Apache-2.0
"""Models optimised ahead of time: they work at every shape, and their layers are found."""

import io
import json
import re

import numpy as np
import pytest

SHORT = ("--iter", "1", "--warmup-iter", "0")
OK, USAGE, ACCURACY = 0, 2, 7


def net(planted=-1, training=False, dropped=False):
    """Three blocks of convolution and batch norm, one with a shortcut, and a classifier.

    `planted`: the block whose first weight is one more.
    """
    import megengine as mge
    import megengine.functional as F
    import megengine.module as M

    random = np.random.RandomState(5)

    class Block(M.Module):
        def __init__(self, inputs, outputs, is_planted):
            super().__init__()
            self.conv = M.Conv2d(inputs, outputs, 3, padding=1, bias=False)
            weight = random.standard_normal(self.conv.weight.shape).astype("float32") / 4
            weight.flat[0] += is_planted
            self.conv.weight[...] = mge.Tensor(weight)
            self.bn = M.BatchNorm2d(outputs)

        def forward(self, x):
            return self.bn(self.conv(x))

    class Net(M.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b, self.c = (Block(3 if i == 0 else 8, 8, i == planted) for i in range(3))
            self.dropout = M.Dropout(0.5)
            self.fc = M.Linear(8 * 16, 5)
            weight = random.standard_normal((5, 128)).astype("float32")
            self.fc.weight[...] = mge.Tensor(weight)

        def forward(self, x):
            x = F.relu(self.a(x))
            x = F.relu(self.b(x) + x)
            x = F.relu(self.c(x))
            if dropped:
                x = self.dropout(x)
            x = F.avg_pool2d(x, 2)
            return self.fc(F.flatten(x, 1))

    result = Net()
    result.train(training)
    return result


@pytest.fixture(scope="session")
def dump(tmp_path_factory):
    """dump(batch=6, **options of net) → its path; the test case has another batch."""
    import megengine as mge
    from megengine.jit import trace

    def write(batch=6, halves=False, **options):
        traced = trace(symbolic=True, capture_as_const=True)(net(**options))
        traced(mge.Tensor(np.ones((batch, 3, 8, 8), "float32")))
        path = tmp_path_factory.mktemp("nets") / "net.mge"
        traced.dump(
            str(path),
            arg_names=["data"],
            output_names=["y"],
            input_data=["#rand(-1,1,2,3,8,8)"],
            keep_var_name=0,
            training=options.get("training", False),
            enable_io16xc32=halves,
            no_change_graph=True,
        )
        return path

    return write


@pytest.fixture
def optimised(run_tool, tmp_path):
    def optimise(model, *flags):
        path = tmp_path / f"{model.parent.name}.optimised.mge"
        ran = run_tool("mge-dump", "optimize", model, path, *flags)
        assert ran.code == OK, ran.err
        return path

    return optimise


@pytest.mark.parametrize("batch", [1, 2, 6, 7])
def test_works_at_every_batch(run_tool, dump, optimised, tmp_path, batch):
    model = dump()
    flags = ("--batch-size", batch, "--seed", 1, *SHORT)
    reference = run_tool("load_and_run", model, *flags, "--dump-outputs", tmp_path / "y.npz")
    assert reference.code == OK, reference.err
    for tried in ([optimised(model)], [model, "--optimize-for-inference"]):
        ran = run_tool("load_and_run", *tried, *flags, "--compare", tmp_path / "y.npz")
        assert ran.code == OK, ran.err
        assert ran.result["testcases"][0]["passed"]


def test_the_models_own_test_case_passes(run_tool, dump, optimised):
    model = dump()
    ran = run_tool("load_and_run", optimised(model), *SHORT)
    assert ran.code == OK and ran.result["testcases"][0]["passed"], ran.err
    assert run_tool("load_and_run", model, "--optimize-for-inference", *SHORT).code == OK


def test_fixing_shapes_is_optional_and_reported(run_tool, dump, tmp_path):
    model = dump(batch=2)
    fixed = tmp_path / "fixed.mge"
    ran = run_tool("mge-dump", "optimize", model, fixed, "--const-shape")
    assert ran.code == OK and ran.result["const_shape"], ran.err
    assert run_tool("load_and_run", fixed, *SHORT).code == OK
    ran = run_tool("load_and_run", fixed, "--batch-size", 3, *SHORT)
    assert ran.code == USAGE and "the model keeps its shapes" in ran.err
    ran = run_tool("mge-dump", "optimize", dump(batch=6), fixed, "--const-shape")
    assert ran.code == USAGE and "the test case" in ran.err and "strip --drop-testcases" in ran.err


def planted_difference(run_tool, here, there, *flags):
    ran = run_tool("load_and_run", here, "--compare", there, "--first-diff", *flags)
    assert ran.code == ACCURACY, ran.err
    return ran, ran.result["first_diff"]


@pytest.mark.parametrize("side", ["here", "there", "both", "neither"])
def test_a_planted_weight_is_found(run_tool, dump, optimised, side):
    """In the second block, regardless of the optimisation."""
    planted, clean = dump(planted=1), dump()
    here = optimised(planted) if side in ("here", "both") else planted
    there = optimised(clean) if side in ("there", "both") else clean
    ran, found = planted_difference(run_tool, here, there)
    first = found["first"]
    assert first["name"] == "conv2d#3+batch_norm#4+add#5+relu#6"
    assert first["between"]["steps"] == [first["step"]]
    assert found["compared"] == found["values"]
    assert f"compared {found['compared']} of {found['values']} values" in ran.out
    assert "the first operator that differs" in ran.err and first["name"] in ran.err


def test_no_operator_is_named_for_uncompared_values(run_tool, dump, optimised):
    ran, found = planted_difference(
        run_tool, dump(planted=1), optimised(dump()), "--graph-opt-level", "0"
    )
    # Both sides are walked without passes: only what was fused ahead of time is one step.
    first = found["first"]
    assert first["output"] == "relu#6"
    assert [o.split("'")[1] for o in first["between"]["operators"]] == [
        "conv2d#3",
        "batch_norm#4",
        "add#5",
        "relu#6",
    ]
    assert first["between"]["values"] == ["relu#2"]
    assert "arose between 'relu#2' and 'relu#6'" in ran.err
    assert found["compared"] < found["values"]


def test_halves_are_compared_layer_by_layer(run_tool, dump):
    ran = run_tool(
        "load_and_run", dump(halves=True), "--compare", dump(), "--first-diff", "--rtol", "1e-2"
    )
    assert ran.code == OK, ran.err
    assert ran.result["first_diff"]["compared"] >= 4
    planted_difference(run_tool, dump(halves=True, planted=2), dump(), "--rtol", "1e-2")


def test_training_mode_is_dumped_on_request(run_tool, dump):
    with pytest.raises(RuntimeError, match=r"training=True"):
        import megengine as mge
        from megengine.jit import trace

        traced = trace(symbolic=True, capture_as_const=True)(net(training=True))
        traced(mge.Tensor(np.ones((2, 3, 8, 8), "float32")))
        traced.dump(io.BytesIO())
    learning = dump(training=True, dropped=True)
    assert run_tool("load_and_run", learning, *SHORT).code == OK
    ran, found = planted_difference(run_tool, learning, dump(), "--graph-opt-level", "0")
    # The statistics of the batch are not those of all batches.
    assert found["first"]["name"] == "batch_norm#1"
    assert found["first"]["between"]["steps"] == [found["first"]["step"]]
    assert found["compared"] >= 2


def test_training_and_inference_match_after_a_dropout(run_tool, dump):
    """Differences with a known reason are accepted: everything else is still compared."""
    learning = dump(training=True, dropped=True)
    # One layout: a change of layout is a value of its own, and each CPU chooses otherwise.
    flags = ("--compare", dump(), "--first-diff", "--atol", 1e6, "--enable-nchw88")
    ran = run_tool("load_and_run", learning, *flags)
    assert ran.code == OK, ran.err
    found = ran.result["first_diff"]
    assert found["compared"] >= 6 and found["compared"] < found["values"]
    assert "no difference in the values that were compared" in ran.out


def test_io_dumps_name_the_same_layers(run_tool, dump, optimised, tmp_path):
    model = dump()
    dumped = tmp_path / "plain.txt"
    assert run_tool("load_and_run", model, *SHORT, "--io-dump", dumped).code == OK
    ran = run_tool("load_and_run", optimised(model), *SHORT, "--compare", dumped)
    assert ran.code == OK, ran.err
    compared = {v["name"] for v in ran.result["compare"]["values"]}
    assert {"relu#2", "relu#6", "relu#9", "y"} <= compared
    found = ran.result["compare"]
    assert f"compared {found['compared']} of {found['comparable']} values" in ran.out


def layers(changes):
    """The common layers of both profiles, as {name: (steps before, after)}."""
    return {
        c["name"]: (c["count_before"], c["count_after"])
        for c in changes
        if c["before_s"] is not None and c["after_s"] is not None
    }


def test_profiles_of_one_network_are_compared_layer_by_layer(run_tool, dump, optimised, tmp_path):
    """Fused or not, with a dropout more or not: a layer is the same one."""
    plain, learning = dump(), dump(training=True, dropped=True)
    runs = {
        "plain": (plain, "--graph-opt-level", "0"),
        "optimised": (optimised(plain),),
        "learning": (learning, "--graph-opt-level", "0"),
    }
    for name, flags in runs.items():
        profile = ("--profile", tmp_path / f"{name}.json")
        assert run_tool("load_and_run", *flags, *SHORT, *profile).code == OK

    def changes(before, after):
        files = (tmp_path / f"{name}.json" for name in (before, after))
        ran = run_tool("mge-profile", "diff", *files, "--top", "0")
        assert ran.code == OK, ran.err
        return ran

    ran = changes("plain", "optimised")
    found = layers(ran.result["changes"])
    assert {c["type"] for c in ran.result["changes"] if c["name"] not in found} <= {"reorder"}
    assert found["conv2d#3+batch_norm#4+add#5+relu#6"] == (4, 1)
    assert "4 -> 1" in ran.out and "conv2d+batch_norm+add+relu" in ran.out
    total = sum(c["before_s"] or 0 for c in ran.result["changes"])
    assert total == pytest.approx(ran.result["total_before_s"])
    found = layers(changes("optimised", "plain").result["changes"])
    assert found["conv2d#3+batch_norm#4+add#5+relu#6"] == (1, 4)
    # The dropout is between: later operators have other numbers there.
    ran = changes("optimised", "learning")
    found = layers(ran.result["changes"])
    assert found["conv2d#0+batch_norm#1+relu#2"] == (1, 3)
    assert {"avg_pool2d#10", "y"} <= found.keys()
    alone = {c["type"] for c in ran.result["changes"] if c["name"] not in found}
    assert alone - {"reorder"} == {"dropout"}


@pytest.fixture
def same_data(tmp_path):
    np.save(tmp_path / "x.npy", np.random.RandomState(1).rand(6, 3, 8, 8).astype("float32"))
    return ("--input", f"data:{tmp_path / 'x.npy'}")


@pytest.fixture
def io_dumps(run_tool, tmp_path, same_data):
    """io_dumps(name, *flags): dumps of all values, a text and a folder."""

    def write(name, *flags):
        folder, file = tmp_path / name, tmp_path / f"{name}.txt"
        folder.mkdir()
        dumps = ("--io-dump", file, "--bin-io-dump", folder)
        ran = run_tool("load_and_run", *flags, *SHORT, *same_data, *dumps)
        assert ran.code == OK, ran.err
        return file, folder

    return write


def test_io_dumps_of_one_network_are_compared_layer_by_layer(run_tool, dump, optimised, io_dumps):
    plain = io_dumps("plain", dump(), "--graph-opt-level", "0")
    fused = io_dumps("fused", optimised(dump()))
    for a, b in zip(plain, fused, strict=True):
        ran = run_tool("mge-dump", "iodiff", a, b)
        assert ran.code == OK, ran.out
        # Whatever the optimised model computes is a value of the other, too.
        assert [name for name in ran.result["only_in_b"] if not name.startswith("reorder")] == []
        assert ran.result["compared"] >= 7
        assert {"conv2d#3", "batch_norm#4:o0", "add#5"} <= set(ran.result["only_in_a"])


def test_io_dumps_name_the_changed_operator(run_tool, dump, optimised, io_dumps):
    planted = io_dumps("planted", dump(planted=1), "--graph-opt-level", "0")
    fused = io_dumps("fused", optimised(dump()))
    for a, b in zip(planted, fused, strict=True):
        ran = run_tool("mge-dump", "iodiff", a, b)
        assert ran.code == ACCURACY, ran.out
        (root,) = ran.result["roots"]
        assert root["value"] == "relu#6"
        assert root["not_compared"] == ["add#5", "batch_norm#4", "conv2d#3"]
        assert "or an operator before it that was not compared: add#5" in ran.out
        (root,) = run_tool("mge-dump", "iodiff", b, a).result["roots"]
        assert root["value"] == "relu#6" and root["not_compared"] == []


def test_io_dumps_match_after_a_dropout(run_tool, dump, optimised, io_dumps):
    learning = io_dumps("learning", dump(training=True, dropped=True), "--graph-opt-level", "0")
    fused = io_dumps("fused", optimised(dump()))
    plain = io_dumps("plain", dump(), "--graph-opt-level", "0")
    for flags in ((), ("--match", "origin")):
        for a, b in zip(learning, fused, strict=True):
            ran = run_tool("mge-dump", "iodiff", a, b, "-e", "1e9", *flags)
            assert ran.code == OK, ran.out
            assert ran.result["compared"] >= 7
            assert "relu#6" not in ran.result["only_in_a"] + ran.result["only_in_b"]
            assert "y" not in ran.result["only_in_a"] + ran.result["only_in_b"]
    # The statistics of the batch are not those of all batches.
    for a, b in zip(learning, plain, strict=True):
        ran = run_tool("mge-dump", "iodiff", a, b)
        assert ran.code == ACCURACY
        assert ran.result["roots"][0]["operator"] == "batch_norm#1"
        assert ran.result["roots"][0]["not_compared"] == []


def test_an_io_dump_is_a_reference_for_another_form_of_the_network(
    run_tool, dump, optimised, io_dumps, same_data
):
    """Behind the dropout the numbers are others: none of them is taken for a name."""
    learning = io_dumps("learning", dump(training=True, dropped=True), "--graph-opt-level", "0")
    for there in learning:
        for flags in (("--first-diff",), ()):
            ran = run_tool(
                "load_and_run", optimised(dump()), *same_data, *SHORT,
                "--compare", there, "--atol", 1e9, *flags,
            )  # fmt: skip
            assert ran.code == OK, ran.err
            assert ran.result["first_diff" if flags else "compare"]["compared"] >= 5


def test_one_name_for_a_step_in_every_tool(run_tool, dump, optimised, tmp_path):
    model = dump()
    names = []
    for each in (model, optimised(model)):
        profile, plan = tmp_path / "p.json", tmp_path / "plan.json"
        ran = run_tool("load_and_run", each, *SHORT, "--profile", profile, "--save-plan", plan)
        assert ran.code == OK, ran.err
        names.append([a["name"] for a in ran.result["algorithms"]])
        assert [s["name"] for s in json.loads(profile.read_text())["steps"]] == names[-1]
        steps = json.loads(plan.read_text())["programs"][0]["steps"]
        assert [s["name"] for s in steps] == names[-1]
    assert names[0] == names[1]
    assert "conv2d#3+batch_norm#4+add#5+relu#6" in names[0]


def test_one_name_for_an_operator_in_texts_and_pictures(run_tool, dump, optimised):
    for model in (dump(), optimised(dump())):
        names = [row["name"] for row in run_tool("mge-dump", "info", model).result["operators"]]

        def graph(*flags, model=model):
            ran = run_tool("mge-dump", "graph", model, *flags)
            assert ran.code == OK, ran.err
            return ran.out

        text = graph("--format", "text")
        assert [line.split('"')[-2] for line in text.splitlines() if '"' in line] == names
        nodes = json.loads(graph("--format", "json"))["nodes"]
        assert [node["label"] for node in nodes] == names
        drawn = graph().replace("+\\n", "+")
        for name in names:
            assert re.search(rf'label="(\w+\\n)?{re.escape(name)}"', drawn), name
            assert graph("--around", name, "--depth", 0).count("fillcolor") >= 1
        # A part of what was fused is found, too.
        near = graph("--around", "batch_norm#4", "--depth", 0).replace("+\\n", "+")
        assert next(name for name in names if "batch_norm#4" in name) in near
        assert "conv2d#0" not in near
    assert "conv2d#3+batch_norm#4+add#5+relu#6" in names


def test_values_have_the_names_of_dumps_in_a_text(run_tool, dump, io_dumps):
    text = run_tool("mge-dump", "graph", dump(), "--format", "text").out
    file, _ = io_dumps("plain", dump(), "--graph-opt-level", "0")
    computed = re.findall(r"name=(\S+#\d+\S*) layout", file.read_text())
    computed = [name for name in computed if not name.startswith("constant#")]
    assert {"batch_norm#4:o0", "add#5"} <= set(computed)
    for name in computed:
        assert f":{name} float32" in text


def test_incomparable_models_are_refused_before_the_runs(run_tool, dump, small_model):
    model = dump()
    for flags in (
        ("--compare-with", "level=9"),
        ("--compare-with", "threads=x"),
        ("--compare", small_model),
    ):
        ran = run_tool("load_and_run", model, *SHORT, *flags)
        assert ran.code == USAGE, flags
        assert "finished test" not in ran.err + ran.out
        assert "Performance summary" not in ran.out
    assert "does not accept these inputs" in ran.err and "'x' is float32(2, 3, 8, 8)" in ran.err


def test_an_input_of_wrong_rank_is_named(run_tool, dump):
    ran = run_tool("load_and_run", dump(), "--input", "data:{1,2}", *SHORT)
    assert ran.code == USAGE
    assert "input 'data' is float32(1, 2), the model's is float32(6, 3, 8, 8)" in ran.err


def test_the_largest_difference_is_shown_and_counted_once(run_tool, small_model, tmp_path):
    np.save(tmp_path / "x.npy", np.array([[1, 2, 3], [4, 5, 6]], "float32"))
    x = ("--input", f"x:{tmp_path / 'x.npy'}", *SHORT)
    assert run_tool("load_and_run", small_model, *x, "--dump-outputs", tmp_path / "y.npz").code == 0
    y = np.load(tmp_path / "y.npz")["y"].copy()
    y[0, 1] += 0.25
    y[1, 2] += 2
    y[1, 3] += 1e-6
    np.savez(tmp_path / "other.npz", y=y)
    for flags in ((), ("--first-diff",)):
        ran = run_tool("load_and_run", small_model, *x, "--compare", tmp_path / "other.npz", *flags)
        assert ran.code == ACCURACY
        assert "element 6 [1, 2]" in ran.err and "max-abs 2 " in ran.err
        assert "2 of 8 beyond the limit" in ran.err and "2 of 8 beyond the limit" in ran.out
        assert "differ)" not in ran.out + ran.err
