# SPDX-License-Identifier: Apache-2.0
"""A picture of a graph, from the JSON of ``trace.get_profile`` or ``--get-static-mem-info``.

    python -m megengine.tools.draw_graph -i profile.json -o net.dot --profile

Pictures other than ``.dot`` take the program ``dot`` of Graphviz. ``mge-dump graph`` draws model
files.
"""

import argparse
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from ..files.opening import written_atomically
from .graph_files import linked_graph, read_json

_LARGEST, _SMALLEST = 3.0, 1.0  # inches of a node by its time


def _graph_and_times(data: dict) -> tuple[dict, dict[int, float]]:
    times = {}
    if "graph_exec" in data:
        for number, spans in data["profiler"]["device"].items():
            times[int(number)] = max(span["end"] - span["start"] for span in spans.values())
        data = data["graph_exec"]
    return linked_graph(data), times


def _quoted(text: str) -> str:
    """A text in a label of a record."""
    for mark in '\\{}|<>"':
        text = text.replace(mark, "\\" + mark)
    return text.replace("\n", "\\n")


class _Drawing:
    """The part of a graph that is shown, as Graphviz writes it."""

    def __init__(self, graph: dict, times: dict[int, float], extra: list[str]):
        self._operators, self._values = graph["operator"], graph["var"]
        self._times, self._extra = times, extra
        self._slowest = max(times.values(), default=0)

    def owner_of(self, value: int) -> int:
        """The operator that computes a value."""
        if "owner_opr" not in self._values.get(value, {}):
            raise ValueError(f"the graph has no variable {value}")
        return self._values[value]["owner_opr"]

    def needed(self, values: list[int], depth: int | None, known: set[int]) -> set[int]:
        """The operators needed for values within a number of steps back, without the known ones."""
        found: set[int] = set()
        front = {self.owner_of(value) for value in values}
        while front - known - found and (depth is None or depth >= 0):
            front -= known | found
            found |= front
            read = (value for number in front for value in self._operators[number]["input"])
            front = {self.owner_of(value) for value in read}
            depth = None if depth is None else depth - 1
        return found

    def lines(self, shown: set[int], is_pruned: bool) -> Iterator[str]:
        """The text of the picture."""
        shown = {n for n in shown if self._operators[n]["type"] != "ImmutableTensor"}
        used = {value for number in shown for value in self._operators[number]["input"]}
        yield "digraph {"
        for number in sorted(shown):
            outputs = self._operators[number]["output"]
            visible = [v for v in outputs if v in used] if is_pruned else outputs
            yield f"  opr{number} [{self._attributes(number, visible)}]"
            for value in self._operators[number]["input"]:
                if self.owner_of(value) in shown:
                    yield f"  opr{self.owner_of(value)}:{value} -> opr{number}:{value}"
        yield "}"

    def _attributes(self, number: int, outputs: list[int]) -> str:
        node = self._operators[number]
        rows = [node["name"], node["type"]]
        rows += [f"{name}: {node['extra'].get(name, 'N/A')}" for name in self._extra]
        if self._times:
            rows.append(f"time: {self._times.get(number, 0) * 1e3:.3f}ms")
        parts = (
            self._ports({v: self._seen_by(v) for v in node["input"]}),
            _quoted("\n".join(rows)),
            self._ports({v: self._named(v, node) for v in outputs}),
        )
        label = f'label="{{{{{parts[0]}}}|{parts[1]}|{{{parts[2]}}}}}", shape=record'
        return label + (self._size(number) if self._times else "")

    def _seen_by(self, value: int) -> str:
        owner = self._operators[self.owner_of(value)]
        return "<const>" if owner["type"] == "ImmutableTensor" else self._values[value]["shape"]

    def _named(self, value: int, owner: dict) -> str:
        var = self._values[value]
        return "\n".join([var["name"]] * (var["name"] != owner["name"]) + [var["shape"]])

    @staticmethod
    def _ports(labels: dict[int, str]) -> str:
        return "|".join(f"<{value}> {_quoted(label)}" for value, label in labels.items())

    def _size(self, number: int) -> str:
        share = math.sqrt(self._times.get(number, 0) / self._slowest) if self._slowest else 0
        size = max(_LARGEST * share, _SMALLEST)
        return f", width={size:.3g}, height={size / 2:.3g}, fontsize={size * 5:.3g}, fixedsize=true"


def _draw(args) -> str:
    what = "a graph or a profile of one"
    graph, times = read_json(args.input, what, _graph_and_times)
    if args.profile and not times:
        raise ValueError(f"{args.input!r} has no times; write it with trace(profiling=True)")
    drawing = _Drawing(graph, times if args.profile else {}, args.opr_attr)
    known: set[int] = set()
    if args.end_vars_from:
        known = set(read_json(args.end_vars_from, what, _graph_and_times)[0]["operator"])
    shown = set(graph["operator"]) - known
    if args.dest_nodes:
        values = [int(number) for number in args.dest_nodes.split(",")]
        shown = drawing.needed(values, args.depth, known)
    print(f"plot with {len(shown)} oprs, {len(graph['var'])} vars")
    return "\n".join(drawing.lines(shown, args.prune_dangling_vars)) + "\n"


def _write(text: str, path: Path, kind: str) -> None:
    content = text.encode()
    if kind != "dot":
        with tempfile.TemporaryDirectory() as folder:
            made = os.path.join(folder, "picture")
            command = ["dot", f"-T{kind}", "-o", made]
            drawn = subprocess.run(command, input=content, capture_output=True)
            if drawn.returncode:
                raise ValueError(f"dot: {drawn.stderr.decode(errors='replace').strip()}")
            content = Path(made).read_bytes()
    with written_atomically(path) as file:
        file.write(content)


def main() -> None:
    """Run the tool with this program's command line.

    Raises:
        SystemExit: the command line or a file is wrong, or ``dot`` is not installed.
    Example:
        >>> import subprocess, sys
        >>> command = [sys.executable, "-m", "megengine.tools.draw_graph", "--help"]
        >>> subprocess.run(command, check=True, capture_output=True, text=True).stdout[:6]
        'usage:'
    """
    parser = argparse.ArgumentParser(description="draw a graph")
    parser.add_argument("-i", "--input", required=True, help="JSON file of a graph or profile")
    parser.add_argument(
        "-o", "--output", required=True, help="picture to write; the format sets its ending"
    )
    parser.add_argument(
        "-d",
        "--dest-nodes",
        help="draw only what these variables need; numbers separated by commas",
    )
    parser.add_argument("--depth", type=int, help="number of operators back from --dest-nodes")
    parser.add_argument("--end-vars-from", help="omit operators that are also in this file's graph")
    parser.add_argument(
        "--profile", action="store_true", help="show times, and scale operators by them"
    )
    parser.add_argument("--prune-dangling-vars", action="store_true", help="omit unused outputs")
    parser.add_argument(
        "--opr-attr",
        action="append",
        default=[],
        help="attribute of operators to show; may be repeated",
    )
    parser.add_argument(
        "--output-format", default="dot", help="format of the picture: dot, png, pdf, svg, ..."
    )
    args = parser.parse_args()
    kind = args.output_format.lstrip(".")
    path = Path(args.output).with_suffix(f".{kind}")
    try:
        _write(_draw(args), path, kind)
    except FileNotFoundError as error:
        is_dot = error.filename == "dot"
        sys.exit(f"draw_graph: {'no dot: install Graphviz for pictures' if is_dot else error}")
    except (OSError, ValueError) as error:
        sys.exit(f"draw_graph: {error}")


if __name__ == "__main__":
    main()
