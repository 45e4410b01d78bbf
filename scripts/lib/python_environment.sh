# SPDX-License-Identifier: Apache-2.0
# The Python virtual environment in .venv: made with the system's interpreter (CMake's search may find another one), filled
# from pyproject.toml, and seeing the extension of a build tree. Sourced in the root folder, after progress.sh.
# A script that sets venv_folder before gets an environment of its own there.

venv_folder=${venv_folder:-$PWD/.venv}
venv_python=$venv_folder/bin/python

# make_python_environment [GROUP]: makes or completes the environment with what building and a group of pyproject.toml (dev unless named)
# need; does nothing when that is there.
make_python_environment() {
    local wanted stamp=$venv_folder/requirements.txt
    [ -x "$venv_python" ] || { say "making $venv_folder" && /usr/bin/python3 -m venv "$venv_folder"; }
    wanted=$("$venv_python" scripts/lib/requirements.py "${1:-dev}")
    if [ -e "$stamp" ] && ! grep -qvxFf "$stamp" <<<"$wanted"; then
        say "all $(wc -l <<<"$wanted") Python packages are there"
        return
    fi
    printf '%s\n' "$wanted" >"$stamp.part"
    "$venv_python" -m pip install --disable-pip-version-check --progress-bar off -r "$stamp.part"
    mv "$stamp.part" "$stamp"
}

# make_serve_environment: makes build/serve-venv, where tests/serving finds servers and their clients. Triton's server is part of
# a package whose other requirements do not fit. Without the environment, the tests of servers are skipped.
make_serve_environment() {
    if ! /usr/bin/python3 -c 'import sys; sys.exit(sys.version_info >= (3, 13))'; then
        say "no build/serve-venv: MLServer needs Python 3.12 or older"
        return
    fi
    local venv_folder=$PWD/build/serve-venv
    local venv_python=$venv_folder/bin/python triton=$venv_folder/triton
    make_python_environment serve
    [ -e "$triton" ] || { "$venv_python" -m pip install --disable-pip-version-check --progress-bar off \
        --no-deps --no-compile --target "$triton.part" nvidia-pytriton==0.7.0 && mv "$triton.part" "$triton"; }
}

# make_ray_environment, make_spark_environment: make build/ray-venv and build/spark-venv for jobs in Ray and in Spark.
make_ray_environment() {
    local venv_folder=$PWD/build/ray-venv
    local venv_python=$venv_folder/bin/python
    make_python_environment ray
}
make_spark_environment() {
    local venv_folder=$PWD/build/spark-venv
    local venv_python=$venv_folder/bin/python
    make_python_environment spark
}

# use_build_tree FOLDER: lets .venv import the packages in FOLDER (build/<preset>/python) without installing them.
use_build_tree() {
    local site
    site=$("$venv_python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
    printf '%s\n' "$1" | cmp -s - "$site/mge_build_tree.pth" || printf '%s\n' "$1" >"$site/mge_build_tree.pth"
}
