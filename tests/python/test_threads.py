# SPDX-License-Identifier: Apache-2.0
"""Functions and models that four threads call at once: right results, and no hang."""

import faulthandler
import threading

import numpy as np
import pytest

import megengine as mge
import megengine.functional as F
import megengine.module as M
from megengine.jit import partial_trace, trace

THREADS, CALLS, SECONDS = 4, 10, 60


@pytest.fixture(autouse=True)
def time_limit():
    """Ends the process with the stacks of all threads where a call hangs."""
    faulthandler.dump_traceback_later(SECONDS, exit=True)
    yield
    faulthandler.cancel_dump_traceback_later()


def at_once(work):
    """What ``work(number)`` gives in four threads, which begin together and do it several times."""
    results, errors = [[] for _ in range(THREADS)], []
    gate = threading.Barrier(THREADS)

    def run(number):
        try:
            gate.wait()
            for _ in range(CALLS):
                results[number].append(work(number))
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return results


def net():
    mge.random.seed(3)
    return M.Sequential(M.Conv2d(2, 4, 3), M.ReLU(), M.BatchNorm2d(4), M.Dropout(0.5))


def image(number):
    values = np.random.RandomState(number).rand(1 + number, 2, 6, 6)
    return mge.Tensor(values.astype(np.float32))


WAYS = {
    "symbolic": trace(symbolic=True),
    "plain": trace,
    "constants": trace(symbolic=True, capture_as_const=True),
    "alone": trace(symbolic=True, capture_as_const=True, without_host=True),
    "recorded": trace(record_only=True),
    "partial": partial_trace,
    "profiled": trace(symbolic=True, profiling=True),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_traced_function(way):
    model = net()
    model.eval()

    def plain(x):
        return F.softmax(model(x) * 2, axis=1).sum(axis=(2, 3))

    function = WAYS[way](plain)
    wanted = [plain(image(number)).numpy() for number in range(THREADS)]
    for number, results in enumerate(at_once(lambda number: function(image(number)).numpy())):
        for result in results:
            np.testing.assert_allclose(result, wanted[number], rtol=1e-4, atol=1e-5)
