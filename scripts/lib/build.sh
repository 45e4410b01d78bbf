# SPDX-License-Identifier: Apache-2.0
# Configuring and building a preset. Sourced in the root folder, after progress.sh and python_environment.sh.

# build_preset PRESET: configures and builds it; ninja shows how far it is.
build_preset() {
    local log=build/configure_$1.log
    mkdir -p build
    say "configuring ($log)"
    cmake --preset "$1" -DPython_EXECUTABLE="$venv_python" >"$log" 2>&1 ||
        { tail -n 40 "$log" >&2 && die 1 "cmake could not configure the preset $1"; }
    cmake --build --preset "$1" --parallel "$(nproc)"
}
