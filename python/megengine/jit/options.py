# SPDX-License-Identifier: Apache-2.0
"""Options of compilation by the keywords that Python has for them; the list is the library's."""

from .. import _mge

LIST = _mge.list_options()
# Name by keyword.
NAMES = {row["keyword"]: row["name"] for row in LIST if row["keyword"]}
# Layouts that images can be asked to have, by the keyword of a dump. MegEngine calls one otherwise.
LAYOUTS = {
    f"enable_{word.lower().replace('nhwcd4', 'hwcd4')}": word
    for row in LIST
    if row["field"] == "graph_opt.layout_transform"
    for word in row["words"]
    if word
}


def options_of(keyword: str, config) -> dict:
    """What an object with settings says, by the names of the options."""
    return {
        name: getattr(config, word.partition(".")[2])
        for word, name in NAMES.items()
        if word.startswith(f"{keyword}.")
    }
