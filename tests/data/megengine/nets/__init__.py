# SPDX-License-Identifier: Apache-2.0
"""The nets that make_models.py dumps, one module per kind."""

from . import arithmetic, detection, layers, pictures, places, quantisation, sequences, volumes

KINDS = (arithmetic, detection, layers, pictures, places, quantisation, sequences, volumes)


def build_nets(mge):
    """Name -> (function or module, {input name: array})."""
    return {name: net for kind in KINDS for name, net in kind.nets(mge).items()}
