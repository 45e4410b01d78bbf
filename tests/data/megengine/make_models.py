# SPDX-License-Identifier: Apache-2.0
"""Writes the model files of this folder with MegEngine itself, and what MegEngine answers.

    PYTHON_WITH_MEGENGINE tests/data/megengine/make_models.py [--out FOLDER] [--only NET ...]

NET.VARIANT.mge is a dump, NET.inputs.npz its inputs, NET.VARIANT.outputs.npz what the file gives
when MegEngine loads it again, output by output. Needs MegEngine 1.13, which nothing else here does.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from nets import build_nets
from nets.arrays import seeded
from nets.variants import UNTRUSTED, V1, V2, VARIANTS

HERE = Path(__file__).resolve().parent


def differs(got, expected):
    return list(got) != list(expected) or any(
        got[k].shape != v.shape or not np.allclose(got[k], v, 1e-6, 1e-6, equal_nan=True)
        for k, v in expected.items()
    )


def make_one(name, out):
    import megengine as mge
    from megengine.jit import trace
    from megengine.utils.comp_graph_tools import GraphInference
    from megengine.utils.naming import AutoNaming

    net, inputs = build_nets(mge)[name]
    if hasattr(net, "named_tensors"):
        seeded(net, name, mge)
    if hasattr(net, "prepare"):
        net.prepare()
    np.savez_compressed(out / f"{name}.inputs.npz", **inputs)
    common = {}
    for variant, options in [V2, V1, *VARIANTS.get(name, [])]:
        path = out / f"{name}.{variant}.mge"
        try:
            AutoNaming.clear()
            traced = trace(symbolic=True, capture_as_const=True)(lambda *a: net(*a))
            results = traced(*[mge.Tensor(a) for a in inputs.values()])
            count = len(results) if isinstance(results, list | tuple) else 1
            options = dict(options)
            with tempfile.TemporaryDirectory() as place:
                if options.get("input_data"):
                    for key, array in inputs.items():
                        np.save(f"{place}/{key}.npy", array)
                    options["input_data"] = [";".join(f"{k}:{place}/{k}.npy" for k in inputs)]
                names = [f"out{i:02d}" for i in range(count)]
                traced.dump(str(path), arg_names=list(inputs), output_names=names, **options)
            print(f"{name}.{variant}: {path.stat().st_size} bytes, {count} outputs")
            if options.get("input_data") or (name, variant) in UNTRUSTED:
                continue
            got = GraphInference(str(path)).run(inp_dict=inputs)
            got = dict(zip(names, got.values(), strict=True))
            if not common:
                common = got
                np.savez_compressed(out / f"{name}.outputs.npz", **got)
            elif differs(got, common):
                np.savez_compressed(out / f"{name}.{variant}.outputs.npz", **got)
        except Exception as error:
            path.unlink(missing_ok=True)
            print(f"{name}.{variant}: {type(error).__name__}: {str(error).splitlines()[0]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=HERE)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--one", help=argparse.SUPPRESS)
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    if args.one:
        make_one(args.one, args.out)
        return
    import megengine as mge

    for name in args.only or build_nets(mge):
        # One process each: MegEngine numbers its operators per process, and some dumps end it.
        command = [sys.executable, __file__, "--out", str(args.out), "--one", name]
        if code := subprocess.run(command, timeout=300).returncode:
            print(f"{name}: ended with {code}")


if __name__ == "__main__":
    main()
