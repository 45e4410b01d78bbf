# SPDX-License-Identifier: Apache-2.0
"""Options of compilation by their keywords in Python, from the list of the library."""

from .. import _mge

LIST = _mge.list_options()
# Name by keyword.
NAMES = {row["keyword"]: row["name"] for row in LIST if row["keyword"]}
# Layouts for images, by the keyword of a dump. MegEngine has another name for one of them.
LAYOUTS = {
    f"enable_{word.lower().replace('nhwcd4', 'hwcd4')}": word
    for row in LIST
    if row["path"] == "graph_opt.layout_transform"
    for word in row["words"]
    if word
}


def options_of(keyword: str, config) -> dict:
    """The settings of an object, by the names of the options."""
    return {
        name: getattr(config, word.partition(".")[2])
        for word, name in NAMES.items()
        if word.startswith(f"{keyword}.")
    }
