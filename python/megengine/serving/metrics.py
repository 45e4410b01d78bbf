# SPDX-License-Identifier: Apache-2.0
"""The metrics of a served model, for Prometheus."""

import functools
from types import SimpleNamespace

from prometheus_client import Counter, Histogram

_LABELS = ("model_name", "model_version")
_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
_ROWS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)


# Not at import: MLServer decides before the first metric whether processes share them.
@functools.cache
def _metrics() -> SimpleNamespace:
    return SimpleNamespace(
        request=Histogram(
            "mge_request_duration_seconds",
            "Seconds from the decoded request to its outputs",
            _LABELS,
            buckets=_SECONDS,
        ),
        queue=Histogram(
            "mge_queue_duration_seconds",
            "Seconds that a request waited for its batch to start",
            _LABELS,
            buckets=_SECONDS,
        ),
        batch=Histogram("mge_batch_size", "Rows of a batch", _LABELS, buckets=_ROWS),
        refused=Counter("mge_refused_requests", "Requests that do not fit the model", _LABELS),
        misses=Counter(
            "mge_plan_cache_misses", "Runs whose input shapes had to be planned", _LABELS
        ),
    )


class ModelMetrics:
    """The metrics of one model.

    Args:
        name, version: of the model.
    """

    def __init__(self, name: str, version: str) -> None:
        for kind, metric in vars(_metrics()).items():
            setattr(self, kind, metric.labels(name, version))
