# SPDX-License-Identifier: Apache-2.0
"""Networks that several threads use at once, and in a forked child: right results, and no hang."""

import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from megenginelite import LiteNetwork

from .conftest import run

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))
from at_once import at_once, in_child  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")


def loaded(models, threads=1, in_place=False):
    network = LiteNetwork()
    network.threads_number = threads
    if in_place:
        network.enable_cpu_inplace_mode()
    network.load(models / "net.mge")
    return network


@pytest.mark.parametrize("threads", [1, 2])
def test_one_network_per_thread(models, image, expected, threads):
    networks = [loaded(models, threads) for _ in range(4)]
    for found in at_once(lambda number: run(networks[number], image), calls=3):
        for scores in found:
            np.testing.assert_array_equal(scores, expected)


def test_one_network_of_six_threads(models, image, expected):
    """Runs wait for each other. Each run overwrites the scores, so they are read at the end."""
    network = loaded(models)
    run(network, image)

    def work(number):
        network.forward()
        network.wait()

    at_once(work, threads=6)
    np.testing.assert_array_equal(network.get_io_tensor("score").to_numpy(), expected)


def test_one_network_of_threads_that_take_turns(models, image, expected):
    network, lock = loaded(models), threading.Lock()
    other = run(network, image * 2)

    def work(number):
        with lock:
            return run(network, image * (1 + number % 2))

    for number, found in enumerate(at_once(work, calls=3)):
        for scores in found:
            np.testing.assert_array_equal(scores, other if number % 2 else expected)


def test_callbacks_are_set_while_others_run(models, image, expected):
    network, runs = loaded(models), []
    run(network, image)

    def work(number):
        if number == 0:
            network.set_finish_callback(lambda outputs: runs.append(1) or 0)
        network.forward()
        network.wait()
        return 0

    at_once(work)
    assert runs


def test_a_network_is_destroyed_by_another_thread(models, image):
    """A call in flight finishes; the next one is an error."""
    for _ in range(5):
        network = loaded(models)
        run(network, image)
        errors = []

        def work(network=network, errors=errors):
            try:
                while True:
                    network.forward()
                    network.wait()
            except RuntimeError as error:
                errors.append(str(error))

        thread = threading.Thread(target=work)
        thread.start()
        network._end()
        thread.join(60)
        assert not thread.is_alive() and "was destroyed" in errors[0]


@pytest.mark.parametrize("threads, in_place", [(1, False), (2, False), (1, True)])
def test_a_child_runs_the_network_of_its_parent(models, image, expected, threads, in_place):
    network = loaded(models, threads, in_place)
    run(network, image)
    other = run(network, image * 2)
    run(network, image)
    found = in_child(lambda: [run(network, image * k) for k in (1, 2)])
    np.testing.assert_array_equal(found[0], expected)
    np.testing.assert_array_equal(found[1], other)
    np.testing.assert_array_equal(run(network, image), expected)


def test_a_child_that_is_made_during_a_run(models, image, expected):
    """The run is its parent's: waiting for it is an error, the next one works."""
    network = loaded(models)
    large = np.zeros((8, 3, 512, 512), np.float32)
    run(network, large)
    network.forward()

    def wait_and_run():
        text = ""
        try:
            network.wait()
        except RuntimeError as error:
            text = str(error)
        return text, run(network, image)

    text, scores = in_child(wait_and_run)
    assert "was forked" in text or text == ""  # the run may have ended before
    np.testing.assert_array_equal(scores, expected)
    network.wait()


def test_a_child_loads_a_network(models, image, expected):
    run(loaded(models), image)
    np.testing.assert_array_equal(in_child(lambda: run(loaded(models), image)), expected)
