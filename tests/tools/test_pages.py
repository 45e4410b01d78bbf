# SPDX-License-Identifier: Apache-2.0
"""The sessions on the pages of docs/tools are what the tools print."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts/make_tool_pages.py"


def make_pages(build_dir, *arguments):
    return subprocess.run(
        [sys.executable, SCRIPT, *arguments],
        # Without LD_PRELOAD: a sanitizer's runtime ends system programs that sessions use (dd).
        env={**os.environ, "MGE_BUILD_DIR": str(build_dir), "LD_PRELOAD": ""},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


@pytest.mark.skipif(
    "MGE_SANITIZED" in os.environ, reason="sessions run Python without the sanitizer's runtime"
)
@pytest.mark.parametrize("page", sorted((ROOT / "docs/tools").glob("*.md")), ids=lambda p: p.stem)
def test_page_is_up_to_date(page, build_dir):
    ran = make_pages(build_dir, "--check", page)
    assert ran.returncode == 0, ran.stdout


CPUS = [
    "AMD EPYC",
    "Intel(R) Xeon(R) Processor",
    "Intel(R) Core(TM)2 Duo CPU     E8400  @ 3.00GHz",
    "QEMU Virtual CPU version 2.5+",
    "Some, CPU",
]


@pytest.mark.parametrize("cpu", CPUS)
@pytest.mark.parametrize("isa", ["sse4", "avx2", "avx_vnni", "avx512_bf16", "amx"])
def test_a_page_holds_on_every_machine(cpu, isa, tmp_path):
    specification = importlib.util.spec_from_file_location("make_tool_pages", SCRIPT)
    pages = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(pages)
    cpuinfo = tmp_path / "cpuinfo"
    cpuinfo.write_text(f"processor\t: 0\nmodel\t\t: 207\nmodel name\t: {cpu}\nstepping\t: 2\n")
    assert pages.name_of_cpu(cpuinfo) == cpu
    printed = pages.shown_on_pages(f"Summary ({cpu}, {isa}, 64 threads)\n9 steps, {cpu}, x\n", cpu)
    page = ["Summary (AMD EPYC, avx512_bf16, 2 threads)", "9 steps, AMD EPYC, x"]
    assert pages.matches(page, printed.splitlines(), pages.VARYING)
    assert not pages.matches(page, ["Summary (Other, avx2, 2 threads)", page[1]], pages.VARYING)


def test_this_machine_is_not_on_a_page(build_dir, tmp_path):
    page = tmp_path / "page.md"
    name = "sed -n '/^model name/{s/^[^:]*: //p;q}' /proc/cpuinfo | grep . || echo unknown CPU"
    page.write_text(f"```console\n$ {name}\nAMD EPYC\n```\n")
    checked = make_pages(build_dir, "--check", page)
    assert checked.returncode == 0, checked.stdout


PAGE = """Text.
<!-- run: echo 1 > file -->
<!-- varies: x\\d+ -->
```console
$ cat file; echo x3 took 12.5 ms
1
x77 took 3 ms
$ seq 9
1
...
9
$ exit 7
(exit 7)
```
End.
"""


def test_varying_values_are_not_stale(build_dir, tmp_path):
    page = tmp_path / "page.md"
    page.write_text(PAGE)
    assert make_pages(build_dir, "--check", page).returncode == 0
    assert make_pages(build_dir, page).returncode == 0
    assert page.read_text() == PAGE


@pytest.mark.parametrize(
    "old, new", [("\n1\n", "\n2\n"), ("x77 took", "x77 takes"), ("...\n9", "...\n8")]
)
def test_stale_page_is_found_and_renewed(old, new, build_dir, tmp_path):
    page = tmp_path / "page.md"
    page.write_text(PAGE.replace(old, new, 1))
    checked = make_pages(build_dir, "--check", page)
    assert checked.returncode == 1 and "stale" in checked.stdout
    assert make_pages(build_dir, page).returncode == 0
    assert make_pages(build_dir, "--check", page).returncode == 0


def test_another_exit_code_is_stale(build_dir, tmp_path):
    page = tmp_path / "page.md"
    page.write_text(PAGE.replace("(exit 7)\n", ""))
    checked = make_pages(build_dir, "--check", page)
    assert checked.returncode == 1 and "ended with 7, the page says 0" in checked.stdout
