# SPDX-License-Identifier: Apache-2.0
"""trace(profiling=True) and get_profile: what compiled calls ran, in MegEngine's form."""

import json
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from at_once import at_once

import megengine as mge
import megengine.functional as F
import megengine.module as M
from megengine import Tensor, _mge
from megengine.autodiff import GradManager
from megengine.jit import TraceError, exclude_from_trace, trace
from megengine.optimizer import SGD

both_modes = pytest.mark.parametrize("symbolic", [False, True])


def ones(*shape):
    return Tensor(np.ones(shape, np.float32))


def types(profile):
    graph = profile["graph_exec"]
    return [graph["operator"][i]["type"] for i in graph["comp_seq"]]


def of_type(profile, kind):
    """The id of the only operator of this type."""
    (found,) = (i for i, o in profile["graph_exec"]["operator"].items() if o["type"] == kind)
    return found


def shapes(profile, kind):
    return profile["profiler"]["opr_footprint"][of_type(profile, kind)]["out_shapes"]


def times(profile, side="device"):
    """(start, kern, end) in the order of execution."""
    by_operator = profile["profiler"][side]
    spans = [by_operator[i].values() for i in profile["graph_exec"]["comp_seq"]]
    return [(s["start"], s["kern"], s["end"]) for (s,) in spans]


@both_modes
def test_a_profile_has_the_form_of_megengines(symbolic):
    f = trace(lambda x, y: F.softmax(F.matmul(x, y)), symbolic=symbolic, profiling=True)
    x, y = ones(64, 32), ones(32, 16)
    f(x, y)
    began = time.perf_counter()
    f(x, y).numpy()
    seconds = time.perf_counter() - began
    profile = f.get_profile()
    assert json.loads(json.dumps(profile)) == profile
    assert set(profile) == {"graph_exec", "profiler"}
    graph, profiler = profile["graph_exec"], profile["profiler"]
    assert set(graph) == {"operator", "var", "mem_chunk", "comp_seq"}
    assert set(profiler) == {"device", "host", "opr_footprint", "opr_internal_pf"}
    assert types(profile) == ["matmul", "softmax"]
    assert profiler["device"].keys() == profiler["host"].keys() == set(graph["comp_seq"])
    for operator in graph["operator"].values():
        assert all(var in graph["var"] for var in operator["input"] + operator["output"])
    (x_to, y_to), (product,) = (
        graph["operator"][graph["comp_seq"][0]][k] for k in ("input", "output")
    )
    assert graph["operator"][graph["comp_seq"][1]]["input"] == [product]
    assert graph["var"][product]["mem_plan"]["layout"]["shape"] == [64, 16]
    assert graph["var"][x_to]["mem_plan"]["layout"]["dtype"] == "Float32"
    assert graph["var"][product]["comp_node"].startswith(f'CompNode("{x.device.physical_name}"')
    footprint = profiler["opr_footprint"][graph["comp_seq"][0]]
    assert footprint["in_shapes"] == [[64, 32], [32, 16]]
    assert footprint["computation"] == 2 * 64 * 32 * 16
    assert footprint["memory"] == 4 * (64 * 32 + 32 * 16 + 64 * 16)
    last = last_host = 0
    for (start, kern, end), (host_start, host_kern, host_end) in zip(
        times(profile), times(profile, "host"), strict=True
    ):
        assert last_host <= host_start <= host_kern <= host_end
        assert last <= start <= kern <= end
        # A device that works late has a clock of its own, and the host's times are those of asking.
        assert host_kern <= start and end <= host_end or "cpu" not in x.device.physical_name
        last, last_host = end, host_end
    assert 0 < last < seconds
    assert 0 < last_host < seconds


def test_without_profiling_there_is_no_profile():
    f = trace(lambda x: x + 1)
    for _ in range(2):
        with pytest.raises(TypeError, match="trace with profiling=True"):
            f.get_profile()
        f(ones(2))


@both_modes
def test_recording_has_no_host_times(symbolic):
    f = trace(lambda x: x + 1, symbolic=symbolic, profiling=True)
    with pytest.raises(TypeError, match="no compiled call has run"):
        f.get_profile()
    f(ones(2))
    if symbolic:
        assert types(f.get_profile()) == ["add"]
    else:
        with pytest.raises(TypeError, match="no compiled call has run"):
            f.get_profile()
    f(ones(2))
    assert types(f.get_profile()) == ["add"]


def test_record_only_compiles_nothing():
    f = trace(lambda x: x + 1, record_only=True, profiling=True)
    for _ in range(3):
        assert f(ones(1)).item() == 2
    with pytest.raises(TypeError, match="record_only"):
        f.get_profile()


@both_modes
def test_profile_belongs_to_the_last_call(symbolic):
    f = trace(lambda x: F.softmax(F.exp(x), axis=0), symbolic=symbolic, profiling=True)
    f(ones(2, 3))
    before = None
    for shape in ((2, 3), (4, 5), (2, 3), (4, 5)):
        f(ones(*shape))
        profile = f.get_profile()
        assert types(profile) == ["exp", "softmax"]
        assert shapes(profile, "softmax") == [list(shape)]
        assert f.get_profile() == profile != before
        before = profile


@both_modes
def test_values_read_on_the_way_part_the_graph(symbolic):
    @trace(symbolic=symbolic, profiling=True)
    def f(x):
        y = F.exp(x)
        seen.append(y.numpy().sum())
        time.sleep(0.01)
        return F.softmax(y, axis=0)

    seen = []
    for _ in range(3):
        f(ones(4))
    profile = f.get_profile()
    assert types(profile) == ["exp", "softmax"]
    assert len(set(profile["graph_exec"]["comp_seq"])) == 2
    (_, _, first_end), (start, _, _) = times(profile)
    assert start - first_end >= 0.01


def test_graph_without_host():
    weight = ones(3, 4)
    f = trace(
        lambda x: {"y": F.relu(F.matmul(x, weight))},
        capture_as_const=True,
        without_host=True,
        profiling=True,
    )
    f(ones(2, 3))
    with pytest.raises(TypeError):
        f.get_profile()
    for rows in (2, 5):
        np.testing.assert_array_equal(f(ones(rows, 3))["y"].numpy(), np.full((rows, 4), 3))
        profile = f.get_profile()
        assert shapes(profile, "matmul") == [[rows, 4]]
    # The weights are included, without times.
    constants = [
        o for o in profile["graph_exec"]["operator"].values() if o["type"] == "ImmutableTensor"
    ]
    assert constants and len(profile["profiler"]["device"]) == len(
        profile["graph_exec"]["comp_seq"]
    )


@both_modes
def test_a_training_step(symbolic):
    def train(profiling):
        net = M.Linear(4, 2)
        net.weight._reset(Tensor(np.linspace(-1, 1, 8, dtype=np.float32).reshape(2, 4)))
        manager = GradManager().attach(net.parameters())
        optimizer = SGD(net.parameters(), lr=0.1, momentum=0.9)

        @trace(symbolic=symbolic, profiling=profiling)
        def step(x):
            with manager:
                loss = (F.exp(net(x)) ** 2).mean()
                manager.backward(loss)
            optimizer.step().clear_grad()
            return loss

        losses = [step(ones(8, 4)).item() for _ in range(4)]
        return losses, net.weight.numpy(), step

    losses, weight, step = train(True)
    expected_losses, expected_weight, _ = train(False)
    assert losses == expected_losses
    np.testing.assert_array_equal(weight, expected_weight)
    profile = step.get_profile()
    # Forward, backward and the update: each product of the layer, and the weight's new value.
    assert types(profile).count("matmul") == 2
    assert [2, 4] in [
        shape
        for footprint in profile["profiler"]["opr_footprint"].values()
        for shape in footprint["out_shapes"]
    ]
    assert sum(end - start for start, _, end in times(profile)) > 0


def test_loops_and_branches_report_inner_steps():
    @trace(symbolic=True, profiling=True)
    def f(flag, x):
        y = F.cond(flag, F.exp, lambda x: F.softmax(x, axis=0), x)
        return F.scan(lambda h, _: (F.cumsum(h, axis=0) * 0.5, None), y, length=6)[0]

    for taken, inner in ((1.0, "exp"), (0.0, "softmax")):
        f(Tensor([taken]), ones(3))
        profile = f.get_profile()
        assert types(profile) == ["cond", "scan"]
        inside = profile["profiler"]["opr_internal_pf"]
        (branch,) = inside[of_type(profile, "cond")]["steps"]
        assert (branch["type"], branch["count"]) == (inner, 1)
        steps = inside[of_type(profile, "scan")]["steps"]
        assert {step["count"] for step in steps} == {6}
        assert "cumsum" in {step["type"] for step in steps}
        assert all("/body/" in step["path"] for step in steps)
        start, _, end = times(profile)[1]
        assert 0 < sum(step["total"] for step in steps) <= end - start


@pytest.mark.parametrize("level", [0, 1, 2])
def test_at_every_async_level(level):
    before = mge.config.async_level
    mge.config.async_level = level
    try:
        f = trace(lambda x: F.softmax(F.exp(x), axis=0), profiling=True)
        for _ in range(2):
            f(ones(3))
        assert types(f.get_profile()) == ["exp", "softmax"]
    finally:
        mge.config.async_level = before


def test_calls_that_fail():
    @trace(profiling=True)
    def f(x):
        if fails_early:
            raise KeyError("early")
        y = F.exp(x)
        y.numpy()
        return F.softmax(y, axis=0) if not is_other else F.cumsum(y, axis=0)

    fails_early = is_other = False
    f(ones(3))
    f(ones(3))
    whole = f.get_profile()
    fails_early = True
    with pytest.raises(KeyError):
        f(ones(4))
    assert types(whole) == ["exp", "softmax"]
    assert f.get_profile() == whole, "nothing ran, the profile stays"
    fails_early, is_other = False, True
    with pytest.raises(TraceError):
        f(ones(5))
    broken = f.get_profile()
    assert types(broken) == ["exp"] and shapes(broken, "exp") == [[5]]
    is_other = False
    f(ones(3))
    assert types(f.get_profile()) == ["exp", "softmax"]


def test_untraced_code_is_not_in_it():
    @trace(profiling=True)
    def inner(x):
        return F.exp(x)

    @trace(profiling=True)
    def outer(x):
        with exclude_from_trace():
            F.cumsum(ones(3), axis=0)
        return F.softmax(inner(x), axis=0)

    for _ in range(2):
        outer(ones(3))
    assert types(outer.get_profile()) == ["exp", "softmax"]
    with pytest.raises(TypeError):
        inner.get_profile()


def test_another_thread_may_query_during_calls():
    f = trace(lambda x: F.softmax(F.exp(x), axis=0), symbolic=True, profiling=True)
    f(ones(50, 50))

    def call():
        for rows in range(200):
            f(ones(10 + rows % 7, 50))

    with ThreadPoolExecutor(1) as pool:
        calls = pool.submit(call)
        while not calls.done():
            assert types(f.get_profile()) == ["exp", "softmax"]
    calls.result()


def test_models_on_several_threads_have_separate_profiles():
    f = trace(
        lambda x: F.softmax(F.exp(x), axis=0),
        capture_as_const=True,
        without_host=True,
        profiling=True,
    )
    for _ in range(2):  # a call that records, and one that is compiled
        f(ones(2, 3))

    def call(number):
        f(ones(2 + number, 3))
        return f.get_profile()

    found = [profile for profiles in at_once(call, calls=50) for profile in profiles]
    rows = set()
    for profile in found:  # a profile belongs to one call, perhaps to that of another thread
        assert types(profile) == ["exp", "softmax"]
        (shape,) = shapes(profile, "exp")
        assert shapes(profile, "softmax") == [shape] and shape[1] == 3
        rows.add(shape[0])
    assert rows <= {2, 3, 4, 5}


def test_a_profiler_is_held_for_one_call():
    profiler = _mge.CallProfiler()
    recording = _mge.Trace(symbolic=True)
    x = ones(3)
    recording.begin_profiled([x], profiler)
    recording.end([F.exp(x)])
    assert not profiler.is_empty
    references = sys.getrefcount(profiler)
    recording.begin_profiled([x], profiler)
    assert sys.getrefcount(profiler) == references + 1, "between begin and end the trace holds it"
    recording.abort()
    assert sys.getrefcount(profiler) == references
    recording.begin_profiled([x], _mge.CallProfiler())
    recording.end([F.exp(x)])
    with pytest.raises(TypeError):
        recording.begin_profiled([x], "profiler")


def test_shapes_of_numbers_and_x_shape_stay_known():
    """Heads of attention, as users write them, are fused as those of fixed shapes are."""

    @trace(symbolic=True, profiling=True)
    def f(x):
        heads = x.reshape(x.shape[0], x.shape[1] // 4, 4)
        y = F.relu(heads * 2 + 1)
        return F.broadcast_to(y.reshape(*x.shape), (3, *x.shape)) - 1

    x = ones(2, 8)
    for _ in range(2):
        np.testing.assert_equal(f(x).numpy(), np.full((3, 2, 8), 2, np.float32))
        assert "fused_elementwise" in types(f.get_profile())
        assert not {"concat", "shape_of", "mul", "relu"} & set(types(f.get_profile()))
    np.testing.assert_equal(f(ones(5, 4)).numpy(), np.full((3, 5, 4), 2, np.float32))
