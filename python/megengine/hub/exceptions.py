# SPDX-License-Identifier: Apache-2.0
"""Why a repository could not be fetched."""


class FetcherError(Exception):
    """A repository could not be fetched.

    Example:
        >>> import megengine.hub as hub
        >>> try:
        ...     hub.load("someone/models/linear", "linear")
        ... except FetcherError as error:
        ...     print(type(error).__name__)
        InvalidRepo
    """


class InvalidRepo(FetcherError):
    """The repository is not given as ``owner/name`` or ``owner/name:branch``.

    Example:
        >>> import megengine.hub as hub
        >>> hub.list("models")
        Traceback (most recent call last):
            ...
        megengine.hub.exceptions.InvalidRepo: repo_info: 'models' is invalid.
    """


class InvalidGitHost(FetcherError):
    """The host is not a valid host name.

    Example:
        >>> import megengine.hub as hub
        >>> hub.list("someone/models", git_host="github")
        Traceback (most recent call last):
            ...
        megengine.hub.exceptions.InvalidGitHost: git_host: 'github' is malformed.
    """


class GitPullError(FetcherError):
    """git could not clone the repository.

    Example:
        >>> issubclass(GitPullError, FetcherError)
        True
    """


class GitCheckoutError(FetcherError):
    """The repository does not have the commit.

    Example:
        >>> import megengine.hub as hub
        >>> try:
        ...     hub.list("someone/models", commit="HEAD")
        ... except GitCheckoutError as error:
        ...     print(error)
        commit: 'HEAD' is neither a hash nor the prefix of one.
    """


class InvalidProtocol(FetcherError):
    """The protocol is neither ``"HTTPS"`` nor ``"SSH"``.

    Example:
        >>> import megengine.hub as hub
        >>> try:
        ...     hub.list("someone/models", protocol="FTP")
        ... except InvalidProtocol as error:
        ...     print(error)
        Invalid protocol, the value should be one of HTTPS, SSH.
    """
