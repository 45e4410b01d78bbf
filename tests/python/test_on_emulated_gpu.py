# SPDX-License-Identifier: Apache-2.0
"""Tests of the Python package once more, on the GPU that the tests of CUDA emulate.

With MGE_REAL_GPU on a real one, and where pytest-xdist is there in processes beside each other.
"""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
FILES = (
    "amp",
    "attention",
    "autodiff",
    "bn_fusion",
    "comp_graph_tools",
    "complex",
    "config",
    "control",
    "core_tensor_utils",
    "corner_values",
    "dataloader",
    "distributed",
    "distributions",
    "dtr",
    "dtype_promotion",
    "dump_names",
    "dumped_models",
    "einsum",
    "gpu_properties",
    "lamb",
    "lenient_arguments",
    "low_level_grad",
    "module",
    "module_cases",
    "module_stats",
    "module_vision",
    "multiprocessing",
    "network",
    "network_nodes",
    "network_stories",
    "operator_objects",
    "optimizer_cases",
    "profile_analyzer",
    "profiler",
    "quantised_tensors",
    "quantization",
    "quantization_calls",
    "quantization_files",
    "quantization_stories",
    "random",
    "recorded_calls",
    "repr",
    "serialization",
    "sharing_on_gpus",
    "tensor",
    "trace",
    "trace_profile",
    "traced_module",
    "traced_module_files",
    "traced_module_functions",
    "traced_module_passes",
    "traced_training",
    "two_gpus",
    "updates",
    "vision",
    "weight_scaler",
    "wrong_calls",
    "zero_rank",
)
# They name the CPU, move a part of what they compute with there, or take long and show nothing new.
# On a GPU an index error is found after the traced function has ended, so both of its draws count.
OF_THE_CPU = (
    "complex.py::test_numbers",
    "complex.py::test_refused",
    "dataloader.py::test_workers_can_compute_with_tensors",
    "module.py::test_modules_move_to_another_device",
    "multiprocessing.py::test_four_processes_train_one_net_without_locks[forkserver]",
    "multiprocessing.py::test_sharing_keeps_the_value_and_the_object",
    "random.py::test_an_error_in_a_traced_function_does_not_end_the_stream[False]",
    "tensor.py::test_bfloat16_survives_pickling",
    "tensor.py::test_devices",
)


def test_the_package_works_on_a_gpu():
    folder = Path(os.environ.get("MGE_BUILD_DIR", ""))
    is_real = "MGE_REAL_GPU" in os.environ
    if not is_real and not (folder / "lib/libmge_cuda_emulated.so").exists():
        pytest.skip("the emulated GPU is not built")
    arguments = [str(HERE / f"test_{name}.py") for name in FILES]
    plugin = ["-p", "gpu_as_default", "-p", "no:cacheprovider"]
    if is_real and importlib.util.find_spec("xdist"):
        plugin += ["-n", str(min(8, os.cpu_count() or 1))]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "--tb=short", *plugin, *arguments]
        + [f"--deselect=tests/python/test_{name}" for name in OF_THE_CPU],
        cwd=HERE.parents[1],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE), *sys.path])},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-8000:]
