# SPDX-License-Identifier: Apache-2.0
"""Repositories cloned by git, into folders that are complete or absent."""

import contextlib
import hashlib
import os
import re
import shutil
import subprocess
import tempfile

from ..version import engine_version
from .const import DEFAULT_BRANCH_NAME
from .exceptions import (
    GitCheckoutError,
    GitPullError,
    InvalidGitHost,
    InvalidRepo,
)

# Neither may begin with a dash, which git would take for an option.
_NAME = r"[A-Za-z0-9_.][A-Za-z0-9_.-]*"
_REPO = re.compile(rf"({_NAME})/({_NAME})(?::({_NAME}(?:/{_NAME})*))?")
_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_HOST = re.compile(rf"{_LABEL}(?:\.{_LABEL})+")
# When git closes a stalled HTTP connection: seconds with less than a byte each.
_STANDSTILL = {"GIT_HTTP_LOW_SPEED_LIMIT": "1", "GIT_HTTP_LOW_SPEED_TIME": "120"}
# Time limit of a git command in seconds, because SSH has no such limit; long enough for large
# repositories.
_LONGEST = 3600.0
_COMMIT = re.compile(r"[0-9a-f]{4,64}")


class _GitFailed(Exception):
    """A command of git failed; the message is its reason, if its output was captured."""


def _git(*arguments: str, folder: str | None = None, silent: bool) -> str:
    """Returns the output of git, whose errors go to the terminal unless silent.

    Raises:
        GitPullError: git does not end in time.
        _GitFailed: git failed.
    """
    environment = {**_STANDSTILL, **os.environ, "GIT_TERMINAL_PROMPT": "0"}
    try:
        result = subprocess.run(
            ["git", *arguments],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE if silent else None,
            text=True,
            timeout=_LONGEST,
        )
    except subprocess.TimeoutExpired:
        raise GitPullError(f"git {arguments[0]} did not end within {_LONGEST:g} seconds") from None
    if result.returncode != 0:
        lines = (result.stderr or "").strip().splitlines() or [""]
        raise _GitFailed(next((line for line in lines if line.startswith("fatal:")), lines[-1]))
    return result.stdout.strip()


class RepoFetcherBase:
    """Fetches repositories into the working directory; how it reaches them, derived classes say.

    Example:
        >>> GitSSHFetcher.fetch("github.com", "-u/models")
        Traceback (most recent call last):
            ...
        megengine.hub.exceptions.InvalidRepo: repo_info: '-u/models' is invalid.
    """

    _url: str  # with {host}, {owner} and {name}

    @classmethod
    def fetch(
        cls,
        git_host: str,
        repo_info: str,
        use_cache: bool = False,
        commit: str | None = None,
        silent: bool = True,
    ) -> str:
        """Fetch a repository.

        Args:
            git_host: for example ``"github.com"``.
            repo_info: ``"owner/name"``, ``"owner/name:branch"`` or ``"owner/name:tag"``; default:
                ``master``.
            use_cache: use an existing clone.
            commit: prefix of its hash, at least four digits; the branch is ignored then.
            silent: hide the output of git.
        Returns:
            Path of the folder; each repository, branch and commit has its own.
        Raises:
            InvalidGitHost, InvalidRepo, GitCheckoutError: the host, repository or commit has
                another form.
            GitPullError: the repository or branch does not exist, git is not installed or takes
                longer than an hour.
            GitCheckoutError: the repository does not have the commit.
        """
        if not _HOST.fullmatch(git_host):
            raise InvalidGitHost(f"git_host: {git_host!r} is malformed.")
        found = _REPO.fullmatch(repo_info)
        if not found:
            raise InvalidRepo(f"repo_info: {repo_info!r} is invalid.")
        if commit is not None and not _COMMIT.fullmatch(commit):
            raise GitCheckoutError(f"commit: {commit!r} is neither a hash nor the prefix of one.")
        owner, name, branch = found.groups()
        branch = branch or DEFAULT_BRANCH_NAME
        folder = os.path.abspath(cls._folder(git_host, owner, name, branch, commit))
        if not (use_cache and os.path.isdir(folder)):
            url = cls._url.format(host=git_host, owner=owner, name=name)
            cls._clone_to(folder, url, branch, commit, silent, use_cache)
        return folder

    @staticmethod
    def _folder(*origin: str | None) -> str:
        digest = hashlib.sha256("\0".join(map(str, origin)).encode()).hexdigest()
        return f"{engine_version.replace('.', '_')}_{digest[:16]}"

    @classmethod
    def _clone_to(
        cls, folder: str, url: str, branch: str, commit: str | None, silent: bool, use_cache: bool
    ) -> None:
        with tempfile.TemporaryDirectory(prefix=".fetch-", dir=os.path.dirname(folder)) as parent:
            new = os.path.join(parent, "repository")
            which = ["--depth=1", "--branch", branch] if commit is None else ["--no-checkout"]
            if shutil.which("git") is None:
                raise GitPullError("git is not installed; repositories are fetched by it.")
            try:
                _git("clone", *which, "--", url, new, silent=silent)
            except _GitFailed as failure:
                raise GitPullError(
                    f"{url} cannot be cloned: check its name, the branch {branch!r} and the"
                    + (f" network. git reports: {failure}" if str(failure) else " network.")
                ) from None
            if commit is not None:
                _checkout(new, url, commit, silent)
            _put(new, folder, None if use_cache else os.path.join(parent, "before"))


def _put(new: str, folder: str, before: str | None) -> None:
    """Move a repository to its final path; an existing one moves to ``before``, or is kept if that
    is None.

    Other processes may do the same: a later one uses the existing repository, because processes
    that import it must not lose it.
    """
    if before is not None:
        with contextlib.suppress(FileNotFoundError):
            os.rename(folder, before)
    try:
        os.rename(new, folder)
    except OSError:
        if not os.path.isdir(folder):
            raise


def _checkout(folder: str, url: str, commit: str, silent: bool) -> None:
    # ^{commit}: neither a branch nor a tag of that name will do.
    try:
        full = _git("rev-parse", "--verify", f"{commit}^{{commit}}", folder=folder, silent=silent)
        if full.startswith(commit):
            _git("checkout", "--detach", full, folder=folder, silent=silent)
            return
    except _GitFailed:
        pass
    raise GitCheckoutError(f"{url} has no commit {commit}, or several that begin so.")


class GitSSHFetcher(RepoFetcherBase):
    """Fetches by SSH, with the keys of the user.

    Example:
        >>> GitSSHFetcher.fetch("github.com", "no such repository")
        Traceback (most recent call last):
        megengine.hub.exceptions.InvalidRepo: repo_info: 'no such repository' is invalid.
    """

    _url = "git@{host}:{owner}/{name}.git"


class GitHTTPSFetcher(RepoFetcherBase):
    """Fetches by HTTPS.

    Example:
        >>> GitHTTPSFetcher.fetch("nowhere", "owner/name")
        Traceback (most recent call last):
        megengine.hub.exceptions.InvalidGitHost: git_host: 'nowhere' is malformed.
    """

    _url = "https://{host}/{owner}/{name}.git"
