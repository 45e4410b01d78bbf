# SPDX-License-Identifier: Apache-2.0
"""Model files of MegEngine, run by load_and_run and compared with what MegEngine answered."""

from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[1] / "data/megengine"
# They contain operators without a counterpart: the error names every operator.
REFUSED = {"chances.v1": "operator 6 (GammaRNG)", "chances.v2": "(GammaRNG)"}


def expected_outputs(model):
    own = FOLDER / f"{model.stem}.outputs.npz"
    return own if own.exists() else FOLDER / f"{model.name.split('.')[0]}.outputs.npz"


@pytest.mark.parametrize("model", sorted(FOLDER.glob("*.mge")), ids=lambda path: path.stem)
def test_matches_megengine_outputs(model, run_tool):
    net = model.name.split(".")[0]
    arguments = ["--input", FOLDER / f"{net}.inputs.npz", "--iter", "1", "--threads", "1"]
    if "no_names" not in model.name:  # without names there is nothing to compare by
        rtol = "1e-2" if "16" in model.stem.split(".")[1] else "1e-4"
        arguments += ["--compare", expected_outputs(model), "--rtol", rtol]
    done = run_tool("load_and_run", model, *arguments)
    if model.stem in REFUSED:
        assert done.code == 5 and REFUSED[model.stem] in done.err
    else:
        assert done.code == 0, done.err
