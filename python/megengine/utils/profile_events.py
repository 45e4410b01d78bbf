# SPDX-License-Identifier: Apache-2.0
"""Recordings of a profiler as events of Chrome's trace viewer, and as a picture of memory."""

from collections.abc import Iterator
from typing import NamedTuple
from xml.sax.saxutils import quoteattr


class Note(NamedTuple):
    """An annotation from Python code."""

    phase: str  # "B" and "E" for the ends of a scope, "i" for a moment
    name: str
    time: int
    thread: int


class Recording(NamedTuple):
    """All that was seen; times are nanoseconds of the monotonic clock."""

    began: int
    ended: int
    local_time: int  # nanoseconds of the wall clock at the beginning
    pid: int
    operators: list[dict]
    blocks: list[dict]
    traced: list[tuple[int, dict]]  # when a call began, and the profile of its graphs
    notes: list[Note]


class _Track:
    """The events of one recording, and the numbers of their threads and devices."""

    def __init__(self, recording: Recording):
        self._recording = recording
        self._tracks: dict[str, int] = {}
        self.events: list[dict] = []

    def add(self, phase: str, name: str, time: float, track: str, **more) -> None:
        self.events.append(
            {
                "name": name,
                "ph": phase,
                "ts": (time - self._recording.began) / 1000,
                "pid": self._recording.pid,
                "tid": self._tracks.setdefault(track, len(self._tracks)),
                **more,
            }
        )

    def add_span(self, name: str, begin: float, end: float, track: str, **more) -> None:
        args = more.pop("args", None)
        self.add("B", name, begin, track, **more)
        self.add("E", name, end, track, **more, **({"args": args} if args else {}))

    def names(self) -> Iterator[dict]:
        for name, tid in self._tracks.items():
            yield {
                "name": "thread_name",
                "ph": "M",
                "pid": self._recording.pid,
                "tid": tid,
                "args": {"name": name},
            }


def _thread(number: int) -> str:
    return f"thread {number}"


def _add_operators(track: _Track, recording: Recording, with_devices: bool) -> None:
    for number, ran in enumerate(recording.operators):
        args = {
            "__id__": number,
            "__name__": ran["name"],
            "__device__": ran["device"],
            "inputs": ran["inputs"],
            "outputs": ran["outputs"],
        }
        track.add_span(ran["name"], ran["begin"], ran["end"], _thread(ran["thread"]), args=args)
        if with_devices:
            span = ran["device_begin"], ran["device_end"]
            track.add_span(ran["name"], *span, ran["device"], cat="Kernel")
        name = f"{ran['device']}_alloc_mem"
        value = {"value": ran["allocated"]}
        track.add("C", name, ran["end"], _thread(ran["thread"]), args=value)


def _add_traced(track: _Track, began: int, profile: dict, with_devices: bool) -> None:
    """Add the operators of compiled graphs, whose times are relative to the start of the call."""
    operators = profile["graph_exec"]["operator"]
    for kind, wanted in (("host", True), ("device", with_devices)):
        for number, places in profile["profiler"][kind].items() if wanted else ():
            for place, times in places.items():
                name = operators[number]["type"]
                begin, end = (began + times[key] * 1e9 for key in ("start", "end"))
                args = {"__id__": int(number), "__name__": operators[number]["name"]}
                category = {"cat": "Kernel"} if kind == "device" else {}
                track.add_span(name, begin, end, f"traced: {place}", args=args, **category)


def timeline(recording: Recording, with_devices: bool) -> dict:
    """The events for Chrome's trace viewer.

    Args:
        recording: the recording.
        with_devices: include tracks of devices.
    Returns:
        A dict for ``json``.
    """
    track = _Track(recording)
    track.add("i", "StartProfile", recording.began, "profiler", s="p")
    for note in recording.notes:
        more = {"s": "t"} if note.phase == "i" else {}
        track.add(note.phase, note.name, note.time, _thread(note.thread), **more)
    _add_operators(track, recording, with_devices)
    for began, profile in recording.traced:
        _add_traced(track, began, profile, with_devices)
    track.add("i", "StopProfile", recording.ended, "profiler", s="p")
    # Ends before starts: adjacent spans do not contain each other.
    events = sorted(track.events, key=lambda event: (event["ts"], event["ph"] != "E"))
    return {
        "traceEvents": [*track.names(), *events],
        "metadata": {"localTime": str(recording.local_time)},
    }


_WIDTH, _HEIGHT = 1600, 800
_COLOURS = ("#c6dbef", "#9ecae1", "#6baed6", "#3182bd", "#08519c")  # from short-lived to lasting


def _rows(blocks: list[dict]) -> dict[int, tuple[int, int]]:
    """Position and height of each address in the drawing, without the gaps between them."""
    sizes: dict[int, int] = {}
    for block in blocks:
        sizes[block["address"]] = max(sizes.get(block["address"], 0), block["bytes"])
    rows, at = {}, 0
    for address in sorted(sizes):
        rows[address] = at, sizes[address]
        at += sizes[address]
    return rows


def _rectangle(recording: Recording, block: dict, row: tuple[int, int], scale: float) -> str:
    duration = recording.ended - recording.began or 1
    erased = recording.ended if block["erased"] is None else block["erased"]
    lives = erased - block["produced"]
    x = (block["produced"] - recording.began) / duration * _WIDTH
    place = {
        "x": f"{x:.2f}",
        "y": f"{row[0] * scale:.2f}",
        "width": f"{max(lives / duration * _WIDTH, 0.5):.2f}",
        "height": f"{max(block['bytes'] * scale, 0.5):.2f}",
        "fill": _COLOURS[min(int(lives / duration * len(_COLOURS)), len(_COLOURS) - 1)],
        "tag:type": "tensor",
        "tag:name": recording.operators[block["made_by"]]["name"],
        "tag:address": hex(block["address"]),
        "tag:size": f"{block['bytes']}B",
        "tag:layout": block["layout"],
        "tag:produced": f"{(block['produced'] - recording.began) / 1000:.3f}us",
        "tag:erased": f"{(erased - recording.began) / 1000:.3f}us",
        "tag:duration": f"{lives / 1000:.3f}us",
    }
    attributes = " ".join(f"{name}={quoteattr(str(value))}" for name, value in place.items())
    title = f"{place['tag:name']}: {place['tag:layout']}, {place['tag:size']}"
    return f"<rect {attributes}><title>{title}</title></rect>"


def memory_flow(recording: Recording) -> str:
    """A picture of the memory that operators made for their results: time from left to right,
    addresses from top to bottom, one rectangle for each result.

    Args:
        recording: the recording.
    Returns:
        SVG.
    """
    rows = _rows(recording.blocks)
    total = sum(size for _, size in rows.values()) or 1
    shapes = (
        _rectangle(recording, block, rows[block["address"]], _HEIGHT / total)
        for block in recording.blocks
    )
    head = (
        '<svg xmlns="http://www.w3.org/2000/svg" xmlns:tag="https://megengine.org.cn"'
        f' viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" height="{_HEIGHT}">'
    )
    return "\n".join([head, *shapes, "</svg>", ""])
