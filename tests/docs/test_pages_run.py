# SPDX-License-Identifier: Apache-2.0
"""Every code block of the tutorials and how-to pages runs, in the order of its page."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
RUNNER = Path(__file__).with_name("run_page.py")
PAGES = sorted(
    page for folder in ("tutorials", "how-to") for page in (ROOT / "docs" / folder).glob("*.md")
)
TIMEOUT = 600  # seconds after which a page hangs; beside other work it may take long

specification = importlib.util.spec_from_file_location("run_page", RUNNER)
run_page = importlib.util.module_from_spec(specification)
sys.modules["run_page"] = run_page
specification.loader.exec_module(run_page)


@pytest.fixture(scope="session")
def build_dir():
    """The build tree under test: $MGE_BUILD_DIR, or the release one."""
    folder = Path(os.environ.get("MGE_BUILD_DIR", ROOT / "build/release")).resolve()
    if not (folder / "bin").exists():
        pytest.fail(f"no tools in {folder}; scripts/test builds them, MGE_BUILD_DIR names a tree")
    return folder


@pytest.fixture(scope="session")
def prefix(build_dir, tmp_path_factory):
    """An installed tree, for the pages that compile programs."""
    folder = tmp_path_factory.mktemp("mge")
    command = ["cmake", "--install", build_dir, "--prefix", folder]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return folder


@pytest.fixture
def environment(build_dir, prefix, tmp_path):
    """The environment of a user: mge is installed in $PREFIX, its repository is $MGE."""
    found = [build_dir / "bin", Path(sys.executable).parent, os.environ["PATH"]]
    return {
        **os.environ,
        "PATH": ":".join(map(str, found)),
        "PYTHONPATH": str(build_dir / "python"),
        "PKG_CONFIG_PATH": str(prefix / "lib/pkgconfig"),
        "PREFIX": str(prefix),
        "MGE": str(ROOT),
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
    }


@pytest.mark.parametrize("page", PAGES, ids=lambda page: f"{page.parent.name}/{page.stem}")
def test_page_runs(page, environment, tmp_path):
    folder = tmp_path / "work"
    folder.mkdir()
    done = subprocess.run(
        [sys.executable, RUNNER, page],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=TIMEOUT,
    )
    assert done.returncode == 0, done.stdout[-6000:]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: f"{page.parent.name}/{page.stem}")
def test_no_block_escapes(page):
    """Indented blocks have no language, so nothing would run them."""
    outside = re.sub(r"^ *```.*?^ *```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    assert not re.findall(r"^    \S.*", outside, re.MULTILINE)


TEXT = """
```python
x = 1
```
<!-- file: a.cpp -->
```cpp
int x;
```

<!-- skip: needs a GPU -->
```bash
false
```

```text
no code
```

  ```bash
  true
  ```
"""


def test_blocks_are_found():
    blocks = run_page.blocks_of(TEXT)
    assert [block.language for block in blocks] == ["python", "cpp", "bash", "bash"]
    assert (blocks[1].mark, blocks[1].value) == ("file", "a.cpp")
    assert (blocks[2].mark, blocks[2].value) == ("skip", "needs a GPU")
    assert blocks[3].code == "true\n"


@pytest.mark.parametrize(
    ("block", "fault"),
    [
        ("```python\nx = 1 / 0\n```\n", "ZeroDivisionError"),
        ("```bash\nfalse\n```\n", "exit code 1"),
        ("```cpp\nint x;\n```\n", "needs a name"),
        ("```bash\necho 1\n```\n\n<!-- output -->\n```text\n2\n```\n", "another output"),
        ("```python\nprint(1)\n```\n\n<!-- output -->\n```text\n2\n```\n", "another output"),
    ],
)
def test_a_wrong_block_fails(block, fault, tmp_path):
    page = tmp_path / "page.md"
    page.write_text(block)
    done = subprocess.run([sys.executable, RUNNER, page], capture_output=True, text=True)
    assert done.returncode == 1 and fault in done.stderr
