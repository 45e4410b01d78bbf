# SPDX-License-Identifier: Apache-2.0
"""Joins requests that wait at the same time into one run of the model."""

import asyncio
import time
from collections.abc import Callable, Container, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import accumulate

import numpy as np

Arrays = Mapping[str, np.ndarray]


@dataclass
class _Request:
    arrays: Arrays
    rows: int
    answer: asyncio.Future
    since: float = field(default_factory=time.perf_counter)


class Batcher:
    """Runs checked requests, one batch at a time; for one event loop.

    A batch consists of requests whose arrays differ in the number of rows only. The first one
    starts at once, or after ``max_delay``; those that arrive during a run form the next batch. A
    batch has one of the planned sizes if the waiting requests allow it, because planning another
    size takes much longer than a run.

    Args:
        run: computes the outputs of a batch, in a thread of its own.
        sizes: the planned numbers of rows.
        max_batch: largest number of rows of a batch; 1: requests run one by one.
        max_delay: number of seconds that a request waits for a full batch.
        observe: gets the number of rows of each batch, and the seconds that each of its requests
            waited.
    """

    def __init__(
        self,
        run: Callable[[Arrays], dict[str, np.ndarray]],
        sizes: Container[int] = (),
        max_batch: int = 1,
        max_delay: float = 0.0,
        observe: Callable[[int, list[float]], None] = lambda rows, waits: None,
    ) -> None:
        self._run = run
        self._sizes = sizes
        self._max_batch = max_batch
        self._max_delay = max_delay
        self._observe = observe
        self._thread = ThreadPoolExecutor(1, "mge-batch")
        self._waiting: dict[tuple, list[_Request]] = {}  # by shapes of a row, oldest first
        self._is_running = False
        self._timer: asyncio.TimerHandle | None = None

    async def __call__(self, arrays: Arrays, rows: int) -> dict[str, np.ndarray]:
        """Compute the outputs of a request.

        Args:
            arrays: its inputs.
            rows: the number of rows of each of them.
        Returns:
            Its outputs.
        Raises:
            Exception: that of ``run``.
            RuntimeError: the batcher was closed.
        """
        request = _Request(arrays, rows, asyncio.get_running_loop().create_future())
        key: tuple = (id(request),)
        if self._max_batch > 1:
            key = tuple((name, array.shape[1:]) for name, array in sorted(arrays.items()))
        self._waiting.setdefault(key, []).append(request)
        self._start()
        return await request.answer

    def close(self) -> None:
        """Wait for the current run and end the thread; requests that still wait fail."""
        self._thread.shutdown()

    def _start(self) -> None:
        """Start the batch whose first request is oldest, if it is due."""
        if self._is_running:
            return
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        now = time.perf_counter()
        next_due = None
        for key, requests in sorted(self._waiting.items(), key=lambda item: item[1][0].since):
            due = requests[0].since + self._max_delay
            if due <= now or sum(request.rows for request in requests) >= self._max_batch:
                batch = self._take(key)
                if batch:
                    self._is_running = True
                    asyncio.ensure_future(self._compute(batch))
                    return
            else:
                next_due = due if next_due is None else min(due, next_due)
        if next_due is not None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(max(next_due - now, 0), self._start)

    def _take(self, key: tuple) -> list[_Request]:
        """Removes requests of one batch from the waiting ones; cancelled requests are dropped."""
        requests = [r for r in self._waiting.pop(key) if not r.answer.done()]
        fits = [
            total
            for total in accumulate(request.rows for request in requests)
            if total <= self._max_batch
        ]
        planned = [index for index, total in enumerate(fits, 1) if total in self._sizes]
        count = planned[-1] if planned else max(len(fits), 1)
        if requests[count:]:
            self._waiting[key] = requests[count:]
        return requests[:count]

    async def _compute(self, batch: list[_Request]) -> None:
        now = time.perf_counter()
        self._observe(sum(r.rows for r in batch), [now - r.since for r in batch])
        try:
            loop = asyncio.get_running_loop()
            answers: list[dict[str, np.ndarray] | Exception]
            try:
                answers = await loop.run_in_executor(self._thread, self._run_batch, batch)
            except RuntimeError:  # close() has ended the thread
                answers = [RuntimeError("the model was unloaded") for _ in batch]
            for request, answer in zip(batch, answers, strict=True):
                if request.answer.done():
                    continue
                if isinstance(answer, Exception):
                    request.answer.set_exception(answer)
                else:
                    request.answer.set_result(answer)
        finally:
            self._is_running = False
            self._start()

    def _run_batch(self, batch: list[_Request]) -> list[dict[str, np.ndarray] | Exception]:
        """The outputs of each request. If a batch fails, its requests run one by one."""
        if len(batch) == 1:
            return [self._run_alone(batch[0])]
        names = batch[0].arrays.keys()
        try:
            outputs = self._run(
                {name: np.concatenate([r.arrays[name] for r in batch]) for name in names}
            )
        except Exception:
            return [self._run_alone(request) for request in batch]
        ends = np.cumsum([request.rows for request in batch])
        return [
            {name: value[end - request.rows : end] for name, value in outputs.items()}
            for request, end in zip(batch, ends, strict=True)
        ]

    def _run_alone(self, request: _Request) -> dict[str, np.ndarray] | Exception:
        try:
            return self._run(request.arrays)
        except Exception as error:
            return error
