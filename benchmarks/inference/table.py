# SPDX-License-Identifier: Apache-2.0
"""Markdown tables of the benchmark's results."""


def threads_text(count):
    return f"{count} thread{'' if count == 1 else 's'}"


def _milliseconds(value):
    digits = 4 if value < 0.1 else 3 if value < 1 else 2
    return f"{value:.{digits}f}"


def _ratio(line):
    if "ours_over_this" not in line:
        return "" if not line["label"].startswith("mge") else "1"
    text = f"{line['ours_over_this']:.3f} ({line['ci_low']:.3f}–{line['ci_high']:.3f})"
    return f"**{text}**" if line["is_best_peer"] else text


def _row(line):
    times = [_milliseconds(line[key]) for key in ("median_ms", "p90_ms", "min_ms")]
    cells = [
        line["model"],
        f"{line['engine']} {line['version']}",
        *times,
        _ratio(line),
        f"{line['load_ms']:.0f}",
        f"{line['start_ms']:.0f}",
        f"{line['peak_mb']:.0f}",
        f"{line['error']:.0e}",
        f"{line['rounds']}{'' if line['quiet'] else ' noisy'}",
    ]
    return f"| {' | '.join(cells)} |"


HEAD = (
    "| model | engine | median ms | p90 | min | ours ÷ this (95 % CI) | load + compile ms "
    "| process start → result ms | peak MB | error | rounds |"
)


def print_tables(lines):
    """Print one table per machine, number of threads and mode; the best peer's ratio is bold."""
    groups = {}
    for line in lines:
        key = (line["cpu"], line["isa"], line["cores"], line["date"], line["threads"], line["mode"])
        groups.setdefault(key, []).append(line)
    for (cpu, isa, cores, date, threads, mode), rows in groups.items():
        print(f"\n### {threads_text(threads)}, {mode} caches\n")
        print(f"{cpu}, {cores} core{'' if cores == 1 else 's'}, {isa}; {date}; f32, batch 1\n")
        print(HEAD)
        print("|" + "---|" * HEAD.count(" | ") + "---|")
        models = list(dict.fromkeys(row["model"] for row in rows))
        for row in sorted(rows, key=lambda r: (models.index(r["model"]), r["median_ms"])):
            print(_row(row))
