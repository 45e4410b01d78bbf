# SPDX-License-Identifier: Apache-2.0
"""Questions to a graph profile: which operators take how long. ``mge-profile`` answers more."""

import functools
from collections import defaultdict
from collections.abc import Callable

import numpy as np


@functools.total_ordering
class NonExistNum:
    """A missing number: larger than every number, and unchanged by arithmetic.

    Example:
        >>> NonExistNum() > 1e300, str(NonExistNum() / 2)
        (True, 'N/A')
    """

    def __truediv__(self, other):
        return self

    def __add__(self, other):
        return other

    __radd__ = __add__

    def __eq__(self, other) -> bool:
        return isinstance(other, NonExistNum)

    def __gt__(self, other) -> bool:
        return not isinstance(other, NonExistNum)

    def __hash__(self) -> int:
        return hash(NonExistNum)

    def __str__(self) -> str:
        return "N/A"

    __repr__ = __str__


class OprProfRst:
    """An operator with its times and its footprint.

    Args:
        entry: its entry in ``graph_exec``: ``name``, ``type`` and ``id``.
    Example:
        >>> OprProfRst({"name": "y", "type": "matmul", "id": "3"}).opr_info["type"]
        'matmul'
        >>> opr = OprProfRst({"name": "y", "type": "matmul", "id": "3"})
        >>> opr.update_device_prof_info({"start": 0.0, "kern": 0.1, "end": 0.5})
        >>> opr.update_host_prof_info({"start": 0.0, "kern": 0.0, "end": 0.2})
        >>> opr.update_footprint({"computation": 100, "memory": 8})
        >>> opr.time_dict["device"][0]["end"], opr.footprint["memory"]
        (0.5, 8)
    """

    def __init__(self, entry: dict):
        self.opr_info = {key: entry[key] for key in ("name", "type", "id")}
        self.time_dict: defaultdict[str, list[dict]] = defaultdict(list)
        self.footprint: defaultdict = defaultdict(NonExistNum)

    def update_device_prof_info(self, dev_time: dict) -> None:
        """Add a time of the device.

        Args:
            dev_time: ``start``, ``kern`` and ``end`` in seconds.
        """
        self.time_dict["device"].append(dict(dev_time))

    def update_host_prof_info(self, host_time: dict) -> None:
        """Add a time of the host.

        Args:
            host_time: ``start``, ``kern`` and ``end`` in seconds.
        """
        self.time_dict["host"].append(dict(host_time))

    def update_footprint(self, footprint: dict) -> None:
        """Set its numbers of operations and bytes.

        Args:
            footprint: ``computation``, ``memory``, ``in_shapes``, ``out_shapes``.
        """
        self.footprint.update(footprint)


class Record:
    """One row of a result.

    Args:
        time: seconds.
        info: information about the operator, or about several that were aggregated.
        footprint: numbers of operations and bytes.
    Example:
        >>> Record(0.5, {"type": "matmul"}, {"memory": 8}).bandwidth
        16.0
        >>> Record(0.5, {"type": "matmul"}, {"memory": 8}).get_column_by_name("memory")
        8
    """

    def __init__(self, time: float, info: dict, footprint: dict):
        assert isinstance(time, (int, float, np.number)), f"[Record] time is a number, got {time!r}"
        self.time = time
        self.info = dict(info)
        self.computation = footprint.get("computation")
        if self.computation is None:
            self.computation = NonExistNum()
        self.memory = footprint["memory"]
        self.in_shapes = footprint.get("in_shapes")
        self.in_layouts = footprint.get("in_layouts")
        self.out_shapes = footprint.get("out_shapes")
        self.flops = self._per_second(self.computation)
        self.bandwidth = self._per_second(self.memory)
        self.opr_id = info.get("id")
        if str(self.opr_id).isdigit():
            self.opr_id = int(self.opr_id)

    def _per_second(self, amount):
        return amount / self.time if self.time else NonExistNum()

    def get_column_by_name(self, name: str | None = None):
        """A value by its name.

        Args:
            name: ``"time"``, ``"computation"``, ``"memory"``, ``"flops"``, ``"bandwidth"``,
                ``"in_shapes"``, ``"out_shapes"``; None: the time.
        Returns:
            The value.
        Raises:
            AttributeError: there is no such value.
        """
        return getattr(self, "time" if name is None else name)


class ProfileAnalyzer:
    """Answers questions to one profile.

    Args:
        obj: ``trace.get_profile()``, or the content of a file of ``load_and_run --profile`` for
            MegEngine's tools: ``graph_exec`` and ``profiler``.
        opr_filter: ``opr_filter(operator, inputs, outputs)``, called with their dicts: whether to
            include it.
    Example:
        >>> from megengine.jit import trace
        >>> double = trace(lambda x: x * 2, profiling=True)
        >>> for value in (1.0, 2.0):
        ...     y = double(Tensor([value]))
        >>> longest = TimeFuncHelper.eval_time_func("device", "end", np.max)
        >>> [row.info["type"] for row in ProfileAnalyzer(double.get_profile()).select(longest)]
        ['mul']
    """

    def __init__(self, obj: dict, opr_filter: Callable = lambda opr, inp, out: True):
        graph, profiler = obj["graph_exec"], obj["profiler"]
        self._operators: list[OprProfRst] = []
        for number, entry in graph["operator"].items():
            inputs = [graph["var"][str(var)] for var in entry["input"]]
            outputs = [graph["var"][str(var)] for var in entry["output"]]
            if not opr_filter(entry, inputs, outputs):
                continue
            result = OprProfRst({**entry, "id": entry.get("id", number)})
            for times in profiler["device"].get(number, {}).values():
                result.update_device_prof_info(times)
            for times in profiler["host"].get(number, {}).values():
                result.update_host_prof_info(times)
            result.update_footprint(profiler["opr_footprint"].get(number, {}))
            self._operators.append(result)

    def select(
        self,
        time_func: Callable,
        opr_filter: Callable = lambda opr: True,
        aggregate: str | Callable | None = None,
        aggregate_by: str | None = None,
        sort_by: str | None = None,
        top_k: int = 0,
    ) -> list[Record]:
        """Choose, put together, sort.

        Args:
            time_func: returns the time of an ``OprProfRst``, or None to omit it: see
                ``TimeFuncHelper``.
            opr_filter: returns whether to include an ``OprProfRst``.
            aggregate: combines several numbers into one: a function, or the name of a NumPy
                function.
            aggregate_by: ``"type"``: one row per type; None: one row.
            sort_by: a column of ``Record``, largest first; smallest first with ``+`` before it.
            top_k: number of rows; 0: all.
        Returns:
            The rows.
        Raises:
            AssertionError: ``aggregate_by`` without ``aggregate``.
            AttributeError: there is no such column.
        """
        found = ((opr, time_func(opr)) for opr in self._operators if opr_filter(opr))
        records = [
            Record(time, opr.opr_info, opr.footprint) for opr, time in found if time is not None
        ]
        assert aggregate or not aggregate_by, "must specify aggregate op"
        if aggregate:
            records = self._aggregate(records, aggregate, aggregate_by)
        if sort_by:
            records = self._sort(records, sort_by)
        return records[:top_k] if top_k else records

    @staticmethod
    def _aggregate(records: list[Record], aop: str | Callable, atype: str | None) -> list[Record]:
        combine = getattr(np, aop) if isinstance(aop, str) else aop
        groups: dict[str, list[Record]] = {}
        for record in records:
            groups.setdefault(record.info["type"] if atype == "type" else "all", []).append(record)

        def combined(rows: list[Record], column: str):
            values = [row.get_column_by_name(column) for row in rows]
            there = [value for value in values if not isinstance(value, NonExistNum)]
            return combine(there) if there else NonExistNum()

        return [
            Record(
                combined(rows, "time"),
                {"type": name, "count": len(rows), "id": "N/A"},
                {column: combined(rows, column) for column in ("computation", "memory")},
            )
            for name, rows in groups.items()
        ]

    @staticmethod
    def _sort(records: list[Record], sort_by: str) -> list[Record]:
        column = sort_by.removeprefix("+")
        is_descending = column == sort_by
        return sorted(
            records, key=lambda row: row.get_column_by_name(column), reverse=is_descending
        )


class TimeFuncHelper:
    """Makes functions that return the time of an ``OprProfRst``, or None without one.

    ``prof_type`` is ``"device"`` or ``"host"``, ``end_key`` ``"end"`` or ``"kern"``: until its
    work began. ``func`` makes one time of several.

    Example:
        >>> longest = TimeFuncHelper.eval_time_func("device", "end", np.max)
        >>> callable(longest)
        True
        >>> opr = OprProfRst({"name": "y", "type": "matmul", "id": "3"})
        >>> opr.update_device_prof_info({"start": 0.25, "kern": 0.25, "end": 0.5})
        >>> TimeFuncHelper.min_start_func("device", "end", np.max)(opr)
        0.25
        >>> TimeFuncHelper.max_end_func("device", "end", np.max)(opr)
        0.5
    """

    @staticmethod
    def _times(opr: OprProfRst, prof_type: str, func: Callable, of: Callable):
        times = [of(each) for each in opr.time_dict.get(prof_type, ())]
        return func(times) if times else None

    @staticmethod
    def eval_time_func(prof_type: str, end_key: str, func: Callable) -> Callable:
        """The duration of an operator."""

        def duration(times: dict) -> float:
            return times[end_key] - times["start"]

        return lambda opr: TimeFuncHelper._times(opr, prof_type, func, duration)

    @staticmethod
    def min_start_func(prof_type: str, end_key: str, func: Callable) -> Callable:
        """The start time of an operator."""
        return lambda opr: TimeFuncHelper._times(opr, prof_type, min, lambda times: times["start"])

    @staticmethod
    def max_end_func(prof_type: str, end_key: str, func: Callable) -> Callable:
        """The end time of an operator, or the start of its work."""
        return lambda opr: TimeFuncHelper._times(opr, prof_type, max, lambda times: times[end_key])
