# SPDX-License-Identifier: Apache-2.0
# The Python interpreters of this machine. Sourced.

# interpreters FROM TO: the paths of one CPython 3.MINOR each, for minor versions FROM to TO that are installed with headers and venv, on
# PATH or by pyenv.
interpreters() {
    local minor candidate
    for ((minor = $1; minor <= $2; minor++)); do
        for candidate in "/usr/bin/python3.$minor" "$(command -v "python3.$minor")" \
            "${PYENV_ROOT:-$HOME/.pyenv}/versions/3.$minor".*/bin/"python3.$minor"; do
            [ -x "$candidate" ] && can_build "$candidate" && echo "$candidate" && break
        done
    done
}

# can_build PYTHON: whether extensions can be built for it. A shim of pyenv fails where its version is not chosen.
can_build() {
    "$1" -c 'import os, sys, sysconfig, venv, ensurepip
sys.exit(not os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")))' 2>/dev/null
}
