# SPDX-License-Identifier: Apache-2.0
"""Entry points of repositories, and files of weights."""

import builtins
import functools
import hashlib
import os
import types
from collections.abc import Callable
from typing import Any
from urllib.parse import urldefrag, urlparse

from ..core.digest import file_digest
from ..serialization import load as _load_file
from ..utils.http_download import HTTPDownloadError, download_from_url
from .const import (
    DEFAULT_CACHE_DIR,
    DEFAULT_GIT_HOST,
    DEFAULT_PROTOCOL,
    ENV_MGE_HOME,
    ENV_XDG_CACHE_HOME,
    HUBCONF,
    HUBDEPENDENCY,
)
from .exceptions import InvalidProtocol
from .fetcher import GitHTTPSFetcher, GitSSHFetcher
from .tools import cd, check_module_exists, load_module

PROTOCOLS = {"HTTPS": GitHTTPSFetcher, "SSH": GitSSHFetcher}


def _get_megengine_home() -> str:
    """Cache folder of fetched files: ``$MGE_HOME``, else ``megengine`` in the user's cache."""
    cache = os.environ.get(ENV_XDG_CACHE_HOME, DEFAULT_CACHE_DIR)
    home = os.environ.get(ENV_MGE_HOME, os.path.join(cache, "megengine"))
    return os.path.expanduser(home)


def _get_repo(
    git_host: str,
    repo_info: str,
    use_cache: bool = False,
    commit: str | None = None,
    protocol: str = DEFAULT_PROTOCOL,
) -> str:
    if protocol not in PROTOCOLS:
        raise InvalidProtocol(
            f"Invalid protocol, the value should be one of {', '.join(PROTOCOLS)}."
        )
    folder = os.path.join(_get_megengine_home(), "hub")
    os.makedirs(folder, exist_ok=True)
    with cd(folder):
        return PROTOCOLS[protocol].fetch(git_host, repo_info, use_cache, commit)


def _entry_of(module: types.ModuleType, name: str) -> Callable:
    entry = getattr(module, name, None)
    if not callable(entry):
        raise RuntimeError(f"Cannot find callable {name} in {HUBCONF}")
    return entry


def import_module(
    repo_info: str,
    git_host: str = DEFAULT_GIT_HOST,
    use_cache: bool = True,
    commit: str | None = None,
    protocol: str = DEFAULT_PROTOCOL,
) -> types.ModuleType:
    """Fetch a repository and run its ``hubconf.py``. This runs foreign code.

    Args:
        repo_info: ``"owner/name"``, ``"owner/name:branch"`` or ``"owner/name:tag"``.
        git_host: host of the repository.
        use_cache: use an existing clone.
        commit: prefix of the hash of an exact commit.
        protocol: ``"HTTPS"`` or ``"SSH"``.
    Returns:
        The file as a module.
    Raises:
        FetcherError: the repository cannot be fetched.
        RuntimeError: it depends on modules that are not installed.
        OSError: it has no ``hubconf.py``.
    Example:
        >>> conf = import_module("someone/models")  # runs github.com/someone/models/hubconf.py
        >>> conf.linear(2)
        Linear(in_features=2, out_features=2, bias=True)
    """
    path = os.path.join(_get_repo(git_host, repo_info, use_cache, commit, protocol), HUBCONF)
    module = load_module(HUBCONF, path)
    wanted = getattr(module, HUBDEPENDENCY, ())
    missing = [name for name in wanted if not check_module_exists(name)]
    if missing:
        raise RuntimeError(f"Missing dependencies: {', '.join(missing)}")
    return module


def list(
    repo_info: str,
    git_host: str = DEFAULT_GIT_HOST,
    use_cache: bool = True,
    commit: str | None = None,
    protocol: str = DEFAULT_PROTOCOL,
) -> builtins.list[str]:
    """The entry points of a repository; see ``import_module``.

    Args:
        repo_info, git_host, use_cache, commit, protocol: as in ``import_module``.
    Returns:
        Sorted names of the callables in its ``hubconf.py``.
    Raises:
        FetcherError: the repository cannot be fetched.
        RuntimeError: it depends on modules that are not installed.
    Example:
        >>> import megengine.hub as hub
        >>> hub.list("someone/models")
        ['linear']
    """
    module = import_module(repo_info, git_host, use_cache, commit, protocol)
    return [
        name
        for name in dir(module)
        if not name.startswith("__") and callable(getattr(module, name))
    ]


def load(
    repo_info: str,
    entry: str,
    *args,
    git_host: str = DEFAULT_GIT_HOST,
    use_cache: bool = True,
    commit: str | None = None,
    protocol: str = DEFAULT_PROTOCOL,
    **kwargs,
) -> Any:
    """Call an entry point of a repository; see ``import_module``.

    Args:
        entry: its name.
        args, kwargs: its arguments.
        repo_info, git_host, use_cache, commit, protocol: as in ``import_module``.
    Returns:
        Its result, usually a Module.
    Raises:
        FetcherError: the repository cannot be fetched.
        RuntimeError: there is no such entry point, or modules are not installed.
    Example:
        >>> import megengine.hub as hub
        >>> hub.load("someone/models", "linear", size=2)
        Linear(in_features=2, out_features=2, bias=True)
    """
    module = import_module(repo_info, git_host, use_cache, commit, protocol)
    return _entry_of(module, entry)(*args, **kwargs)


def help(
    repo_info: str,
    entry: str,
    git_host: str = DEFAULT_GIT_HOST,
    use_cache: bool = True,
    commit: str | None = None,
    protocol: str = DEFAULT_PROTOCOL,
) -> str:
    """The documentation of an entry point; see ``import_module``.

    Args:
        entry: its name.
        repo_info, git_host, use_cache, commit, protocol: as in ``import_module``.
    Returns:
        Its docstring.
    Raises:
        FetcherError: the repository cannot be fetched.
        RuntimeError: there is no such entry point, or modules are not installed.
    Example:
        >>> import megengine.hub as hub
        >>> hub.help("someone/models", "linear")
        'A layer as wide as its input.'
    """
    module = import_module(repo_info, git_host, use_cache, commit, protocol)
    return _entry_of(module, entry).__doc__


def _check_hash(path: str, wanted: str) -> None:
    """Compare with ``sha256=…``; a file that is another one goes."""
    kind, _, digest = wanted.partition("=")
    if kind != "sha256":
        raise HTTPDownloadError(f"#{wanted}: files are checked by #sha256=… only")
    found = file_digest(path, "sha256")
    if found != digest.lower():
        os.unlink(path)
        raise HTTPDownloadError(f"{path} had sha256 {found} instead of {digest}, and was removed")


def load_serialized_obj_from_url(url: str, model_dir: str | None = None) -> Any:
    """Fetch a file, unless it was fetched before, and load it.

    Loading runs code from the file, see ``megengine.load``; a hash ensures that it is the expected
    file.

    Args:
        url: ``http://…`` or ``https://…``; with ``#sha256=…`` at its end the file must have that
            hash.
        model_dir: folder for the file; None: ``serialized`` in ``$MGE_HOME``.
    Returns:
        The object saved in it.
    Raises:
        HTTPDownloadError: it cannot be fetched, or has another hash.
    Example:
        >>> load_serialized_obj_from_url("https://example.org/linear.pkl")["bias"]
        Tensor([0.5], device=xpux:0)
    """
    url, digest = urldefrag(url)
    folder = os.path.expanduser(model_dir or os.path.join(_get_megengine_home(), "serialized"))
    mark = hashlib.sha256(url.encode()).hexdigest()[:6]
    path = os.path.join(folder, f"{mark}_{os.path.basename(urlparse(url).path)}")
    if not os.path.exists(path):
        download_from_url(url, path)
    if digest:
        _check_hash(path, digest)
    return _load_file(path)


class pretrained:
    """A decorator of functions that make Modules: ``pretrained=True`` loads weights into them.

    Args:
        url: of a saved ``state_dict``; see ``load_serialized_obj_from_url``.
    Example:
        >>> @pretrained("https://example.org/linear.pkl")
        ... def linear(size=2):
        ...     return M.Linear(size, size)
        >>> linear(size=3)
        Linear(in_features=3, out_features=3, bias=True)
    """

    def __init__(self, url: str):
        self.url = url

    def __call__(self, func: Callable) -> Callable:
        @functools.wraps(func)
        def make(*args, pretrained: bool = False, **kwargs):
            module = func(*args, **kwargs)
            if pretrained:
                module.load_state_dict(load_serialized_obj_from_url(self.url))
            return module

        return make
