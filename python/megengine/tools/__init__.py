# SPDX-License-Identifier: Apache-2.0
"""Programs: ``python -m megengine.tools.<name>``, most of them doors to the library's tools."""
