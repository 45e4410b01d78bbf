# SPDX-License-Identifier: Apache-2.0
"""Try the wheel mge-engine: the interpreter's environment holds nothing else but scikit-learn.

Trains quickstart's network, runs it with the tools, and builds programs in C++ and C against the
wheel where there is a compiler. Works in the current folder; the last line says what passed.
"""

import os
import platform
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import megengine

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENT = Path(sys.prefix)
TOOLS = re.findall(r'^(\S+) = "_mge_tools:', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
# qemu finds the libraries of programs for another processor by its settings.
EMULATOR = {name: value for name, value in os.environ.items() if name.startswith("QEMU_")}
PAGES = ("man/man1/{}.1", "bash-completion/completions/{}", "zsh/site-functions/_{}")
CONSUMER = ROOT / "tests/packaging/consumer/CMakeLists.txt"
LITE_IN_C = """
#include <lite-c/global_c.h>
int main(void) {
    int major = -1, minor, patch;
    return LITE_get_version(&major, &minor, &patch) || major < 0;
}
"""


def run(*command, **options):
    words = [str(word) for word in command]
    done = subprocess.run(
        words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options
    )
    if done.returncode:
        sys.exit(f"{' '.join(words)} ended with {done.returncode}:\n{done.stdout}")
    return done.stdout


def folder_of(name):
    return run(sys.executable, "-m", "megengine.config", f"--{name}-dir").strip()


def try_package():
    assert ENVIRONMENT in Path(megengine.__file__).parents, megengine.__file__
    version = megengine.engine_version
    assert run(sys.executable, "-m", "megengine.config", "--version").strip() == version
    for tool in TOOLS:
        assert version in run(ENVIRONMENT / "bin" / tool, "--version")
        for page in PAGES:
            assert (ENVIRONMENT / "share" / page.format(tool)).stat().st_size > 0
    run(sys.executable, "-c", "import megenginelite")


def try_quickstart():
    """The seconds that quickstart's model takes from training to its checked outputs."""
    start = time.monotonic()
    examples = ROOT / "examples/quickstart"
    run(sys.executable, examples / "train.py", "--out", ".")
    for name in ("first", "second"):
        run(
            ENVIRONMENT / "bin/load_and_run",
            "digits.mge",
            "--fast-run",
            *("--input", "image:images.npy"),
            *("--dump-outputs", f"{name}.npz"),
            *("--json", f"{name}.json"),
            env={"MGE_FASTRUN_CACHE_DIR": ".", "HOME": ".", **EMULATOR},
        )
    run(sys.executable, examples / "check.py", ".")
    return time.monotonic() - start


def try_compilers():
    """Builds programs against the wheel; returns a phrase that names them."""
    if not all(map(shutil.which, ("c++", "cmake", "ninja", "pkg-config"))):
        return "no programs in C++ (no compiler)"
    if not run("c++", "-dumpmachine").startswith(platform.machine()):
        return "no programs in C++ (the compiler is for another processor)"
    project = Path("consumer")
    project.mkdir()
    shutil.copy(CONSUMER, project)
    (example,) = re.findall(r"```cpp\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    (project / "main.cpp").write_text(example)
    settings = ("-G", "Ninja", f"-Dmge_DIR={folder_of('cmake')}")
    run("cmake", "-S", project, "-B", project / "build", *settings)
    run("cmake", "--build", project / "build")
    assert "0.665241" in run(project / "build/consumer")
    (project / "lite.c").write_text(LITE_IN_C)
    environment = {"PKG_CONFIG_PATH": folder_of("pkgconfig"), "PATH": "/usr/bin:/bin"}
    flags = run("pkg-config", "--cflags", "--libs", "mge", env=environment).split()
    run("cc", project / "lite.c", *flags, "-o", project / "lite")
    run(project / "lite")
    return "programs in C++ and C"


try_package()
seconds = try_quickstart()
print(f"quickstart's model in {seconds:.0f} s, tools, manual pages, {try_compilers()}")
