# SPDX-License-Identifier: Apache-2.0
"""Graphs and memory plans for TensorBoard, from the output of ``--get-static-mem-info``.

    load_and_run net.mge --get-static-mem-info plan
    python -m megengine.tools.graph_info_analyze -i plan -o log
    tensorboard --logdir log

Subfolders are included. At the peak of memory use, the operators whose results are alive are listed
by size; the graph marks them.
"""

import argparse
import os
import sys

from ..utils.module_stats import sizeof_fmt
from ..utils.tensorboard import SummaryWriterExtend
from .graph_files import linked_graph, read_json


def load_single_graph(fpath) -> dict:
    """A graph; see ``graph_files.linked_graph``.

    Args:
        fpath: a ``graph.json``.
    Raises:
        ValueError: it contains no graph.
        OSError: it cannot be read.
    Example:
        >>> with open("graph.json", "w") as file:
        ...     print('{"operator": {}, "var": {}}', file=file)
        >>> load_single_graph("graph.json")
        {'operator': {}, 'var': {}}
    """
    return read_json(fpath, "a graph", linked_graph)


def comp_graph_plotter(input, writer) -> None:
    """Write a graph for TensorBoard; constants are left out.

    Args:
        input: a ``graph.json``.
        writer: a ``SummaryWriterExtend``.
    Raises:
        ValueError: it contains no graph.
    """
    graph = load_single_graph(input)
    operators, values = graph["operator"], graph["var"]

    def owners(node: dict):
        read = (operators[values[port]["owner_opr"]] for port in node["input"])
        return [owner["name"] for owner in read if owner["type"] != "ImmutableTensor"]

    for node in operators.values():
        if node["type"] != "ImmutableTensor":
            writer.add_node_raw(node["name"], node["type"], owners(node))
    writer.add_graph_by_node_raw_list()


def _life(chunk: dict) -> range:
    """The steps during which a chunk is in use; one in the place of another begins later."""
    takes_over = chunk["overwrite_dest_id"] != "-1"
    return range(int(chunk["time_begin"]) + takes_over, int(chunk["time_end"]))


def _with_sizes(data: dict) -> dict:
    operators, chunks = data["opr"], data["chunk"]
    for node in operators.values():
        node["size"] = 0
    data["peak_memory"] = data["weight_memory"] = 0
    for chunk in chunks.values():
        end = int(chunk["logic_addr_end"])
        chunk["size"] = end - int(chunk["logic_addr_begin"])
        if chunk["type"] == "weight_mem":
            data["weight_memory"] += chunk["size"]
        if chunk["type"] != "static_mem":
            continue
        chunk["owner_opr"] = operators[chunk["time_begin"]]["name"]
        data["peak_memory"] = max(data["peak_memory"], end)
        for step in _life(chunk):
            operators[str(step)]["size"] += chunk["size"]
    return data


def load_mem_info(fpath) -> dict:
    """A plan of memory with sums.

    Args:
        fpath: a ``StaticMemoryInfo.json``.
    Returns:
        The content of the file; each chunk has its ``size`` in bytes and ``owner_opr``, each
        operator the ``size`` of all chunks in use while it runs; ``peak_memory`` and
        ``weight_memory`` in
        bytes.
    Raises:
        ValueError: it contains no such plan.
        OSError: it cannot be read.
    """
    return read_json(fpath, "a plan of memory", _with_sizes)


def _peaks(plan: dict):
    """The steps where most is in use, with the chunks by size; of equal neighbours the first."""
    most = max((node["size"] for node in plan["opr"].values()), default=0)
    before = None
    for step in sorted(int(n) for n, node in plan["opr"].items() if node["size"] == most):
        chunks = [
            chunk
            for chunk in plan["chunk"].values()
            if chunk["type"] == "static_mem" and step in _life(chunk)
        ]
        chunks.sort(key=lambda chunk: -chunk["size"])
        ids = [chunk["id"] for chunk in chunks]
        if ids and ids != before:
            yield plan["opr"][str(step)]["name"], most, chunks
        before = ids


def peak_mem_regist(input, writer) -> None:
    """Write where memory is used most for TensorBoard: texts, and marks on the graph.

    Args:
        input: a ``StaticMemoryInfo.json``.
        writer: a ``SummaryWriterExtend`` that has the nodes of ``comp_graph_plotter``.
    Raises:
        ValueError: it contains no memory plan.
    """
    plan = load_mem_info(input)
    for name in ("peak_memory", "weight_memory"):
        text = f"{sizeof_fmt(plan[name])}({plan[name]} B)"
        writer.add_text(f"{name.upper()}_SIZE", [text])
    for number, (step, most, chunks) in enumerate(_peaks(plan)):
        summary = f"PEAK{number}/<SUMMARY_INFO>"
        writer.add_text(summary, [f"reached_max_opr_name:    {step}"], 0)
        writer.add_text(summary, [f"max_used_size:    {sizeof_fmt(most)}"], 1)
        for place, chunk in enumerate(chunks):
            _write_chunk(writer, chunk, most, number, place)
    writer.add_graph_by_node_raw_list()


def _write_chunk(writer, chunk: dict, most: int, number: int, place: int) -> None:
    name, size = chunk["owner_opr"], sizeof_fmt(chunk["size"])
    percent = f"{round(chunk['size'] / most * 100, 3)}%"
    lines = (f"percent:    {percent}", f"memory_size:    {size}", f"owner_opr:    {name}")
    for step, text in enumerate(lines):
        writer.add_text(f"PEAK{number}/MAX{place}_OPR", [text], step)
    shown = {
        f"memory_{chunk['id']}": size,
        "memory_percent": percent,
        f"summary_memory_{number}": sizeof_fmt(most),
    }
    writer.add_node_raw_attributes(name, shown)
    writer.add_node_raw_name_suffix(name, f"_PEAK{number}_MAX{place}")


_STEPS = {"graph.json": comp_graph_plotter, "StaticMemoryInfo.json": peak_mem_regist}


def convert(args) -> int:
    """Write the contents of a folder and its subfolders for TensorBoard.

    Args:
        args: ``input``, the folder, and ``output``, the folder for the logs.
    Returns:
        The number of folders with contents.
    Raises:
        ValueError: a file has another content.
        OSError: a file cannot be read, or a log cannot be written.
    """
    count = 0
    for folder, _, files in os.walk(args.input):
        found = [step for step in _STEPS.items() if step[0] in files]
        if not found:
            continue
        log = os.path.join(args.output, os.path.relpath(folder, args.input))
        with SummaryWriterExtend(os.path.normpath(log)) as writer:
            for name, write in found:
                write(os.path.join(folder, name), writer)
        count += 1
    return count


def main() -> None:
    """Run the tool with this program's command line.

    Raises:
        SystemExit: the command line or a file is wrong.
    Example:
        >>> import subprocess, sys
        >>> command = [sys.executable, "-m", "megengine.tools.graph_info_analyze", "--help"]
        >>> subprocess.run(command, check=True, capture_output=True, text=True).stdout[:6]
        'usage:'
    """
    parser = argparse.ArgumentParser(description="write graphs and plans of memory for TensorBoard")
    parser.add_argument(
        "-i", "--input", required=True, help="folder written by load_and_run --get-static-mem-info"
    )
    parser.add_argument("-o", "--output", required=True, help="folder to write for TensorBoard")
    args = parser.parse_args()
    try:
        if convert(args) == 0:
            sys.exit(f"graph_info_analyze: {args.input!r} has no {' or '.join(_STEPS)}")
    except (OSError, ValueError, ImportError) as error:
        sys.exit(f"graph_info_analyze: {error}")


if __name__ == "__main__":
    main()
