# SPDX-License-Identifier: Apache-2.0
"""MegEngine's internal names, and a clear error for those that do not exist here.

The modules of ``core`` and ``utils`` that MegEngine programs import are one-line re-exports of the
modules here. This is the top layer: nothing else in the package imports it.
"""
