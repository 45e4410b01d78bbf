# SPDX-License-Identifier: Apache-2.0
"""Metadata of a model file, under MegEngine's names and under those in files."""

import base64
import binascii
import json
import pickle
from collections.abc import Iterable

from .plain_pickle import load_plain

NO_METADATA = {"user_info": None, "graph_modified": False, "optimized_for_inference": False}

# Keys that are written, and those of MegEngine's files. Options are words, or "none".
_USER_INFO, _MODIFIED, _OPTIMISED = "user_info", "graph_modified", "optimized_for_inference"
_OPTIONS, _MEGENGINE_VERSION = "optimize_options", "megengine_version"
_OWN = {_USER_INFO, _MODIFIED, _OPTIMISED, _OPTIONS, _MEGENGINE_VERSION}


def metadata_of(stored: dict[str, str], keywords: dict[str, str]) -> dict | None:
    """``Network.metadata`` from the stored metadata; None if nothing of that kind is stored.

    Args:
        stored: metadata of the file.
        keywords: Python's name of each option, by its name in files.
    Raises:
        UnsafePickleError: the user's part contains more than plain values; it is not unpickled.
    """
    if not set(stored) & (_OWN - {_MEGENGINE_VERSION}):
        return None
    options = stored.get(_OPTIONS, "none")
    words = [] if options == "none" else options.split()
    found = {
        "user_info": _user_info(stored),
        "graph_modified": stored.get(_MODIFIED) == "true",
        "optimized_for_inference": bool(words) or stored.get(_OPTIMISED) == "true",
    }
    return found | {keywords.get(word, word): True for word in words}


def _user_info(stored: dict[str, str]):
    text = stored.get(_USER_INFO)
    if text is None:
        return None
    try:
        if _MEGENGINE_VERSION in stored:
            return json.loads(text)
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError, RecursionError):
        return text
    return load_plain(data, "the user_info of the model")[0]


def stored_metadata(
    user_info, *, is_modified: bool, is_optimised: bool, options: Iterable[str]
) -> dict[str, str]:
    """The metadata to store in a dumped model.

    Args:
        user_info: any picklable object, or None.
        is_modified: the graph was changed by hand.
        is_optimised: options for inference were let act.
        options: their words.
    """
    stored = {_OPTIMISED: "true" if is_optimised else "false"}
    if is_modified:
        stored[_MODIFIED] = "true"
    if words := " ".join(options):
        stored[_OPTIONS] = words
    if user_info is not None:
        stored[_USER_INFO] = base64.b64encode(pickle.dumps(user_info)).decode()
    return stored


def foreign_metadata(stored: dict[str, str]) -> dict[str, str]:
    """The part of a file's metadata that others wrote."""
    return {key: value for key, value in stored.items() if key not in _OWN}
