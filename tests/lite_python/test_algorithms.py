# SPDX-License-Identifier: Apache-2.0
"""How a network's algorithms are chosen: by policy, within a workspace, from a cache."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from megenginelite import LiteAlgoSelectStrategy, LiteNetwork

from .conftest import run, scores_of, tool

HEURISTIC = LiteAlgoSelectStrategy.LITE_ALGO_HEURISTIC
PROFILE = LiteAlgoSelectStrategy.LITE_ALGO_PROFILE
REPRODUCIBLE = LiteAlgoSelectStrategy.LITE_ALGO_REPRODUCIBLE
OPTIMIZED = LiteAlgoSelectStrategy.LITE_ALGO_OPTIMIZED


@pytest.mark.parametrize(
    "policy",
    [
        HEURISTIC,
        HEURISTIC | PROFILE,
        HEURISTIC | REPRODUCIBLE,
        PROFILE | REPRODUCIBLE,
        PROFILE | OPTIMIZED,
    ],
    ids=str,
)
def test_policies_are_set_before_loading(models, image, expected, policy):
    network = LiteNetwork()
    network.set_network_algo_policy(policy)
    scores = scores_of(network, models / "net.mge", image)
    np.testing.assert_allclose(scores, expected, atol=1e-5)
    if policy & REPRODUCIBLE:
        for _ in range(20):
            np.testing.assert_array_equal(run(network, image), scores)


def test_policy_may_change_after_loading(network, image, expected):
    for policy in (HEURISTIC, PROFILE | REPRODUCIBLE, PROFILE | OPTIMIZED):
        network.set_network_algo_policy(
            policy, shared_batch_size=1, binary_equal_between_batch=True
        )
        np.testing.assert_allclose(run(network, image), expected, atol=1e-5)
        network.set_network_algo_workspace_limit(1000)
        np.testing.assert_allclose(run(network, image), expected, atol=1e-5)


def test_wrong_policies(network):
    for policy in (REPRODUCIBLE, OPTIMIZED):
        with pytest.raises(RuntimeError, match="neither"):
            network.set_network_algo_policy(policy)


def test_workspace_limits(network, image, expected):
    with pytest.raises(RuntimeError, match="no model is loaded"):
        LiteNetwork().set_network_algo_workspace_limit(1000)
    with pytest.raises(RuntimeError, match="negative"):
        network.set_network_algo_workspace_limit(-1)
    for limit in (0, 1000, 2**30):
        network.set_network_algo_workspace_limit(limit)
        np.testing.assert_allclose(run(network, image), expected, atol=1e-5)


MEASURE = """
import sys
from megenginelite import LiteAlgoSelectStrategy, LiteGlobal, LiteNetwork
LiteGlobal.set_persistent_cache(sys.argv[1], always_sync=True)
network = LiteNetwork()
network.set_network_algo_policy(LiteAlgoSelectStrategy.LITE_ALGO_PROFILE)
network.load(sys.argv[2])
"""


def test_a_second_process_measures_nothing(models, tmp_path):
    def rows_after_loading():
        command = [sys.executable, "-c", MEASURE, tmp_path / "cache", models / "net.mge"]
        subprocess.run(command, check=True, env=os.environ)
        tool("mge-fastrun-cache", "export", tmp_path / "cache", tmp_path / "rows.json")
        return json.loads((tmp_path / "rows.json").read_text())

    rows = rows_after_loading()
    # Times that were measured again would be others.
    assert rows and rows_after_loading() == rows
