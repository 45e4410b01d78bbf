# SPDX-License-Identifier: Apache-2.0
"""Why a repository could not be fetched."""


class FetcherError(Exception):
    """A repository could not be fetched."""


class InvalidRepo(FetcherError):
    """The repository is not given as ``owner/name`` or ``owner/name:branch``."""


class InvalidGitHost(FetcherError):
    """The host is no name of a machine."""


class GitPullError(FetcherError):
    """git could not clone the repository."""


class GitCheckoutError(FetcherError):
    """The repository does not have the commit."""


class InvalidProtocol(FetcherError):
    """The protocol is neither ``"HTTPS"`` nor ``"SSH"``."""
