# SPDX-License-Identifier: Apache-2.0
"""Whether a trace records on this thread, known without importing ``megengine.jit``."""

import threading


class _State(threading.local):
    tracing = False  # a trace records or replays
    symbolic_shape = False  # Tensor.shape gives a Tensor


state = _State()
