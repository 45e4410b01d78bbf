# SPDX-License-Identifier: Apache-2.0
"""Names and places of the hub."""

DEFAULT_BRANCH_NAME = "master"
DEFAULT_GIT_HOST = "github.com"
DEFAULT_PROTOCOL = "HTTPS"

HUBCONF = "hubconf.py"
HUBDEPENDENCY = "dependencies"

ENV_MGE_HOME = "MGE_HOME"
ENV_XDG_CACHE_HOME = "XDG_CACHE_HOME"
DEFAULT_CACHE_DIR = "~/.cache"
