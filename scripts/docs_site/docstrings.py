# SPDX-License-Identifier: Apache-2.0
"""Adapts docstrings for the reader of mkdocstrings, which needs a blank line above each section."""

import re
from typing import Any

import griffe

SECTION = re.compile(r"\n+( *)(Args|Attributes|Returns|Yields|Raises|Example):[ ]*\n")


class Sections(griffe.Extension):
    """Separates the sections of each docstring, and reads an example as code."""

    def on_object(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        if obj.docstring:
            text = SECTION.sub(r"\n\n\1\2:\n", obj.docstring.value)
            obj.docstring.value = text.replace("\nExample:\n", "\nExamples:\n")
