# SPDX-License-Identifier: Apache-2.0
"""Profiles of operators that run at once, of traced functions, of scopes and of memory."""

import json
import os
import threading
from xml.etree import ElementTree

import pytest

import megengine as mge
import megengine.functional as F
import megengine.module as M
from megengine.jit import trace
from megengine.utils import profiler as P
from megengine.utils.profiler import Profiler

X = F.ones((4, 4))
PLACE = X.device.physical_name
IS_HOST = PLACE.startswith("cpu")


def events_of(path):
    with open(path) as file:
        profile = json.load(file)
    assert int(profile["metadata"]["localTime"]) > 0
    return profile["traceEvents"]


def spans(events, name):
    """(begin, end, track) of all spans of a name."""
    found, open_ones = [], {}
    for event in events:
        if event["name"] != name or event["ph"] not in "BE":
            continue
        if event["ph"] == "B":
            open_ones.setdefault(event["tid"], []).append(event["ts"])
        else:
            found.append((open_ones[event["tid"]].pop(), event["ts"], event["tid"]))
    assert not any(open_ones.values())
    return found


def test_timeline(tmp_path):
    profiler = Profiler(str(tmp_path / "made"))
    assert not P.is_profiling()
    with profiler as entered:
        assert P.is_profiling() and entered is profiler
        with P.scope("both"):
            y = F.exp(X) + 1
        profiler.step()
    assert not P.is_profiling()
    assert profiler.path == str(tmp_path / "made" / f"{os.getpid()}.chrome_timeline.json")
    events = events_of(profiler.path)
    ((*_, thread),) = both_spans = spans(events, "both")
    # On a GPU either may end first, the call or its work.
    (exp, kernel), (add, _), (both,) = (
        sorted(found, key=lambda span: span[2] != thread)
        for found in (spans(events, "exp"), spans(events, "add"), both_spans)
    )
    assert both[0] <= exp[0] <= exp[1] <= add[0] <= add[1] <= both[1]
    assert exp[2] == both[2] != kernel[2]
    # A GPU begins what it is asked for when it comes to it.
    assert exp[:2] == kernel[:2] if IS_HOST else exp[0] <= kernel[0] <= kernel[1]
    (args,) = [e["args"] for e in events if e["name"] == "exp" and "args" in e and "cat" not in e]
    assert args["outputs"] == ["float32 (4, 4)"] and args["__device__"] == PLACE
    assert [e["ph"] for e in events if e["name"] == "StopStep"] == ["i"]
    memory = [e["args"]["value"] for e in events if e["name"] == f"{PLACE}_alloc_mem"]
    assert len(memory) == 2 and all(value >= y.size * 4 for value in memory)


def test_tracks_have_names(tmp_path):
    with Profiler(str(tmp_path)) as profiler:
        F.exp(X)
        thread = threading.Thread(target=lambda: F.log(X))
        thread.start()
        thread.join()
    events = events_of(profiler.path)
    names = {e["tid"]: e["args"]["name"] for e in events if e["ph"] == "M"}
    for name in ("exp", "log"):
        tracks = [names[track].split()[0] for *_, track in spans(events, name)]
        assert sorted(tracks) == sorted(["thread", PLACE])
    assert len({track for name in ("exp", "log") for *_, track in spans(events, name)}) == 3


def test_without_devices(tmp_path):
    with Profiler(str(tmp_path), profile_device=0) as profiler:
        F.exp(X)
    assert len(spans(events_of(profiler.path), "exp")) == 1


def test_modules_as_scopes(tmp_path):
    net = M.Sequential(M.Linear(4, 4), M.ReLU())
    call = M.Module.__call__
    with Profiler(str(tmp_path), with_scopes=True) as profiler:
        net(X)
    assert M.Module.__call__ is call
    events = events_of(profiler.path)
    ((begin, end, _),) = spans(events, "Sequential")
    ((relu_begin, relu_end, _),) = spans(events, "1")
    assert begin <= relu_begin <= spans(events, "relu")[0][0] <= relu_end <= end


def test_traced_functions(tmp_path):
    double = trace(lambda x: F.exp(x) * 2)
    double(X)
    with Profiler(str(tmp_path)) as profiler, P.scope("call"):
        double(X).numpy()
    events = events_of(profiler.path)
    names = {e["args"]["name"] for e in events if e["ph"] == "M"}
    assert any(name.startswith("traced: cpu0") for name in names)
    ((begin, end, _),) = spans(events, "call")
    kernels = [e for e in events if e.get("cat") == "Kernel"]
    assert kernels and all(begin <= e["ts"] <= end for e in kernels)
    with pytest.raises(TypeError, match="trace with profiling=True"):
        double.get_profile()


def test_memory_flow(tmp_path):
    formats = ["memory_flow.svg", "chrome_timeline.json"]
    with Profiler(str(tmp_path), formats=formats) as profiler:
        y = F.exp(F.exp(X))
    assert sorted(os.listdir(tmp_path)) == sorted(f"{os.getpid()}.{each}" for each in formats)
    first, second = ElementTree.parse(profiler.path).getroot()
    tag = "{https://megengine.org.cn}"
    assert first.get(tag + "name") == second.get(tag + "name") == "exp"
    assert first.get(tag + "layout") == "float32 (4, 4)"
    # The inner result went before the end, the outer one is still there.
    ends = [float(shape.get("x")) + float(shape.get("width")) for shape in (first, second)]
    assert ends[0] < ends[1] and abs(ends[1] - 1600) < 1
    assert y.shape == (4, 4)


def test_a_later_run_writes_over_an_earlier_one(tmp_path):
    profiler = Profiler(str(tmp_path))
    for function in (F.exp, F.log):
        with profiler:
            function(X)
    events = events_of(profiler.path)
    assert not spans(events, "exp") and spans(events, "log")


def test_one_at_a_time(tmp_path):
    with Profiler(str(tmp_path)):
        with pytest.raises(RuntimeError, match="one records already"):
            Profiler(str(tmp_path)).start()
        assert P.is_profiling()


def test_it_stops_after_an_error(tmp_path):
    with pytest.raises(RuntimeError), Profiler(str(tmp_path)) as profiler:
        F.matmul(F.ones((2, 3)), F.ones((2, 3)))
    assert not P.is_profiling() and os.path.exists(profiler.path)


def test_decorators(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    @P.profile
    def bare(x):
        "Documented."
        return x + 1

    @P.profile("other", format="memory_flow.svg")
    def given(x):
        return x + 1

    bare(X)
    given(X)
    assert bare.__doc__ == "Documented."
    assert os.listdir("profile") == [f"{os.getpid()}.chrome_timeline.json"]
    assert os.listdir("other") == [f"{os.getpid()}.memory_flow.svg"]


@pytest.mark.parametrize("options", [{"format": "xml"}, {"formats": ["xml"]}, {"colour": 1}])
def test_wrong_options(options):
    with pytest.raises(AssertionError, match="unsupported"):
        Profiler("x", **options)


@pytest.mark.parametrize("options", [{"with_backtrace": True}, {"sample_rate": 3}])
def test_options_without_effect_are_reported(options):
    (name,) = options
    with pytest.warns(UserWarning, match=f"{name} has no effect"):
        Profiler("x", **options)


def test_timelines_are_merged_by_their_times(tmp_path):
    for pid, begin in ((7, 2_000_000), (8, 5_000_000)):
        profile = {
            "traceEvents": [
                {"name": "thread_name", "ph": "M", "pid": pid},
                {"name": "exp", "ph": "B", "ts": 1.0, "pid": pid},
            ],
            "metadata": {"localTime": str(begin)},
        }
        (tmp_path / f"{pid}.chrome_timeline.json").write_text(json.dumps(profile))
    for _ in range(2):
        P.merge_trace_events(str(tmp_path))
        events = events_of(tmp_path / "merge.chrome_timeline.json")
        assert {e["pid"]: e["ts"] for e in events if "ts" in e} == {7: 1.0, 8: 3001.0}
    with pytest.raises(FileNotFoundError):
        P.merge_trace_events(str(tmp_path / "nowhere"))


def test_nothing_is_recorded_without_a_profiler():
    assert mge._mge.stop_recording() == ([], [])
