# SPDX-License-Identifier: Apache-2.0
# Configuring and building a preset. Sourced in the root folder, after progress.sh and python_environment.sh.

# build_preset PRESET [TARGET...]: configures and builds it, all of it unless targets are named; ninja shows how far it is.
build_preset() {
    local preset=$1 log=build/configure_$1.log
    shift
    mkdir -p build
    say "configuring ($log)"
    cmake --preset "$preset" -DPython_EXECUTABLE="$venv_python" >"$log" 2>&1 ||
        { tail -n 40 "$log" >&2 && die 1 "cmake could not configure the preset $preset"; }
    cmake --build --preset "$preset" --parallel "$(nproc)" --target "${@:-all}"
}
