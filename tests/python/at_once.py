# SPDX-License-Identifier: Apache-2.0
"""Runs work in several threads at once, and in a forked child, with a time limit."""

import faulthandler
import os
import pickle
import signal
import sys
import threading
from contextlib import contextmanager

THREADS, CALLS, SECONDS = 4, 10, 60


@contextmanager
def time_limit():
    """Ends the process with the stacks of all threads where a call hangs."""
    faulthandler.dump_traceback_later(SECONDS, exit=True)
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()


def at_once(work, threads=THREADS, calls=CALLS):
    """Results of ``work(number)`` in threads that begin together and repeat it."""
    results, errors = [[] for _ in range(threads)], []
    gate = threading.Barrier(threads)

    def run(number):
        try:
            gate.wait()
            for _ in range(calls):
                results[number].append(work(number))
        except BaseException as error:
            errors.append(error)

    workers = [threading.Thread(target=run, args=(number,)) for number in range(threads)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)  # so that threads come between each other's lines
    try:
        with time_limit():
            for worker in workers:
                worker.start()
            for worker in workers:
                worker.join()
    finally:
        sys.setswitchinterval(interval)
    if errors:
        raise errors[0]
    return results


def in_child(work):
    """The result of ``work()`` in a child made by fork, or the text of its error."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        # Ends the child where it hangs, with its stack.
        faulthandler.register(signal.SIGALRM, chain=True)
        signal.alarm(SECONDS // 3)
        try:
            found = work()
        except BaseException as error:
            found = f"{type(error).__name__}: {error}"
        os.write(writer, pickle.dumps(found))
        os._exit(0)
    os.close(writer)
    with open(reader, "rb") as pipe:
        content = pipe.read()
    status = os.waitpid(child, 0)[1]
    assert status == 0, f"the child ended with {status}: {signal.SIGALRM.value} is a hang"
    return pickle.loads(content)
