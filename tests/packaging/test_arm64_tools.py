# SPDX-License-Identifier: Apache-2.0
"""Tools for 64-bit Arm, built here and run in qemu-user, agree with the tools of this machine, and
each reads the files of the other."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts/arm64"
TOOLS = ["load_and_run", "mge-fastrun-cache", "mge-crypt"]
# Cortex-A53 has NEON alone, max has every extension that qemu knows.
PROCESSORS = ["cortex-a53", "max"]
NETS = ["lenet", "mlp", "lstm", "mobilenet_v2", "shufflenet_v2_x1_0", "resnet18"]
INT8 = ["onnx/ort_int8_qdq.onnx", "megengine/quantized.v2.mge"]
ONCE = ["--threads", "1", "--iter", "1"]


def runner(*prefix, folder, **settings):
    """Returns a function that runs a tool, expects an exit code and returns the output."""
    environment = {**os.environ, "MGE_MODEL_CACHE": "0", "XDG_CACHE_HOME": str(folder), **settings}

    def run(tool, *arguments, code=0):
        command = [*prefix[:-1], prefix[-1] / tool, *arguments]
        ended = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
        assert ended.returncode == code, f"{command}: {ended.stdout}{ended.stderr}"
        return ended.stdout + ended.stderr

    return run


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The folder of all files, which holds the example networks."""
    folder = tmp_path_factory.mktemp("arm64")
    command = [sys.executable, ROOT / "examples/models/dump.py", *NETS, "--out", folder]
    subprocess.run(command, check=True)
    return folder


@pytest.fixture(scope="module")
def here(folder):
    """Runs a tool of this machine."""
    build = Path(os.environ.get("MGE_BUILD_DIR", ROOT / "build/release")).resolve()
    return runner(build / "bin", folder=folder)


@pytest.fixture(scope="module", params=PROCESSORS)
def on_arm(folder, request):
    """Runs a tool for Arm."""
    subprocess.run([SCRIPT, "build", *TOOLS], check=True)
    tools = ROOT / "build/arm64/bin"
    return runner(SCRIPT, "run", tools, folder=folder, QEMU_CPU=request.param)


# It compiles the library again, which takes most of an hour on two cores.
@pytest.mark.skipif("MGE_NIGHTLY" not in os.environ, reason="compiles everything again: nightly")
class TestArm64:
    @pytest.mark.parametrize("net", NETS)
    def test_nets_agree(self, net, here, on_arm):
        here("mge-dump", "testcase", f"{net}.mge", "cases.mge", "--data", "#rand(-1,1)")
        on_arm("load_and_run", "cases.mge", *ONCE)

    @pytest.mark.parametrize("name", INT8)
    def test_int8_results_have_the_same_bits(self, name, here, on_arm, folder):
        model = ROOT / "tests/data" / name
        here("load_and_run", model, *ONCE, "--dump_outputs", "here.npz")
        on_arm("load_and_run", model, *ONCE, "--dump_outputs", "arm.npz")
        with np.load(folder / "here.npz") as expected, np.load(folder / "arm.npz") as found:
            assert expected.files == found.files
            for key in expected.files:
                assert expected[key].tobytes() == found[key].tobytes(), key

    def test_kernels_apply_fused_activations(self, on_arm):
        """oneDNN's depthwise kernels for 512-bit SVE leave hswish out."""
        model = ROOT / "tests/data/megengine/blocked.v2.mge"
        on_arm("load_and_run", model, *ONCE, "--compare-with", "reference")

    def test_weights_packed_for_the_other_processor_are_packed_again(self, here, on_arm):
        here("mge-dump", "optimize", "mlp.mge", "packed.mge", "--pack", "--threads", "1")
        here("mge-dump", "testcase", "packed.mge", "cases.mge", "--data", "#rand(-1,1)")
        on_arm("load_and_run", "cases.mge", *ONCE)

    def test_caches_of_the_other_processor_are_kept_and_not_used(self, here, on_arm, folder):
        run = ["mlp.mge", *ONCE, "--fast-run-algo-policy", "cache.sqlite", "--require-cache"]
        for write, read in ((here, on_arm), (on_arm, here)):
            (folder / "cache.sqlite").unlink(missing_ok=True)
            write("mge-fastrun-cache", "build", "cache.sqlite", "mlp.mge", "--threads", "1")
            assert "the cache has no algorithm for" in read("load_and_run", *run, code=4)
            read("mge-fastrun-cache", "build", "cache.sqlite", "mlp.mge", "--threads", "1")
            for side in (write, read):
                side("load_and_run", *run)

    def test_plans_of_the_other_processor_are_refused(self, here, on_arm):
        """Each replays its own plan. That of the other one names algorithms that it lacks."""
        run = ["shufflenet_v2_x1_0.mge", *ONCE]
        for write, read in ((here, on_arm), (on_arm, here)):
            write("load_and_run", *run, "--save-plan", "plan.json")
            write("load_and_run", *run, "--replay-plan", "plan.json")
            assert "algorithm" in read("load_and_run", *run, "--replay-plan", "plan.json", code=4)

    def test_each_decrypts_what_the_other_encrypted(self, here, on_arm, folder):
        (folder / "key").write_bytes(bytes(range(32)))
        key = ["--key-file", "key"]
        for write, read in ((here, on_arm), (on_arm, here)):
            write("mge-crypt", "encrypt", "lenet.mge", "encrypted", *key)
            read("mge-crypt", "decrypt", "encrypted", "decrypted.mge", *key)
            read("load_and_run", "encrypted", *key, *ONCE)
            assert (folder / "decrypted.mge").read_bytes() == (folder / "lenet.mge").read_bytes()
