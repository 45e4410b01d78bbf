# SPDX-License-Identifier: Apache-2.0
"""Questions to graph profiles, answered as by MegEngine 1.13."""

import numpy as np
import pytest

from megengine.utils.profile_analyzer import NonExistNum, ProfileAnalyzer, TimeFuncHelper


def entry(number, kind):
    return {"id": number, "name": f"{kind}#{number}", "type": kind, "input": [1], "output": [1]}


def times(start, kern, end):
    return {"cpu0": {"start": start, "kern": kern, "end": end}}


def footprint(computation, memory):
    shapes = {"in_shapes": [[2]], "out_shapes": [[2]]}
    return {"computation": computation, "memory": memory, **shapes}


PROFILE = {
    "graph_exec": {
        "operator": {
            "10": entry("10", "conv2d"),
            "11": entry("11", "relu"),
            "12": entry("12", "conv2d"),
            "13": entry("13", "input"),
        },
        "var": {"1": {"name": "v"}},
    },
    "profiler": {
        "device": {"10": times(0, 1, 4), "11": times(4, 4, 5), "12": times(5, 6, 7)},
        "host": {"10": times(0, 0, 8)},
        "opr_footprint": {
            "10": footprint(80, 16),
            "11": footprint(None, 8),
            "12": footprint(20, 4),
        },
    },
}
LONGEST = TimeFuncHelper.eval_time_func("device", "end", np.max)


def rows(**options):
    found = ProfileAnalyzer(PROFILE).select(LONGEST, **options)
    return [(row.info["type"], row.time) for row in found]


def test_times():
    assert rows() == [("conv2d", 4), ("relu", 1), ("conv2d", 2)]
    assert rows(opr_filter=lambda opr: opr.opr_info["type"] == "relu") == [("relu", 1)]
    analyzer = ProfileAnalyzer(PROFILE)
    until_work = analyzer.select(TimeFuncHelper.eval_time_func("device", "kern", np.max))
    assert [row.time for row in until_work] == [1, 0, 1]
    host = analyzer.select(TimeFuncHelper.eval_time_func("host", "end", np.max))
    assert [row.time for row in host] == [8]
    assert [r.time for r in analyzer.select(TimeFuncHelper.min_start_func("device", "end", 0))] == [
        0,
        4,
        5,
    ]
    assert analyzer.select(TimeFuncHelper.max_end_func("device", "kern", 0))[2].time == 6


def test_computed_values():
    first, relu, _ = ProfileAnalyzer(PROFILE).select(LONGEST)
    assert (first.computation, first.flops, first.bandwidth, first.opr_id) == (80, 20, 4, 10)
    assert (first.get_column_by_name(), first.get_column_by_name("memory")) == (4, 16)
    assert str(relu.computation) == str(relu.flops) == "N/A" and relu.bandwidth == 8
    with pytest.raises(AttributeError):
        first.get_column_by_name("colour")


def test_sorting():
    assert rows(sort_by="time") == [("conv2d", 4), ("conv2d", 2), ("relu", 1)]
    assert rows(sort_by="+time", top_k=2) == [("relu", 1), ("conv2d", 2)]
    assert rows(sort_by="computation")[0][0] == "relu"


def test_combining():
    assert rows(aggregate="sum") == [("all", 7)]
    assert rows(aggregate="max", aggregate_by="type") == [("conv2d", 4), ("relu", 1)]
    (row, _) = ProfileAnalyzer(PROFILE).select(LONGEST, aggregate=sum, aggregate_by="type")
    assert (row.info["count"], row.computation, row.flops) == (2, 100, 100 / 6)
    with pytest.raises(AssertionError, match="must specify aggregate"):
        rows(aggregate_by="type")


def test_only_some_operators():
    seen = []

    def is_wanted(opr, inputs, outputs):
        seen.append((inputs[0]["name"], outputs[0]["name"]))
        return opr["type"] == "relu"

    assert len(ProfileAnalyzer(PROFILE, is_wanted).select(LONGEST)) == 1
    assert seen == [("v", "v")] * 4


def test_missing_numbers():
    assert NonExistNum() > 5 and not NonExistNum() < 5 and 5 < NonExistNum()
    assert NonExistNum() == NonExistNum() and NonExistNum() != 5
    assert NonExistNum() + 1 == 1
