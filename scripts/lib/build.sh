# SPDX-License-Identifier: Apache-2.0
# Configuring and building a preset. Sourced in the root folder, after progress.sh and python_environment.sh.

# build_preset PRESET [-DNAME=VALUE...] [TARGET...]: configures the preset with these cache variables and builds the targets, by
# default all of them; ninja shows the progress.
build_preset() {
    local preset=$1 log=build/configure_$1.log settings=()
    shift
    while [[ ${1:-} == -D* ]]; do
        settings+=("$1")
        shift
    done
    mkdir -p build
    say "configuring ($log)"
    cmake --preset "$preset" -DPython_EXECUTABLE="$venv_python" "${settings[@]}" >"$log" 2>&1 ||
        { tail -n 40 "$log" >&2 && die 1 "cmake could not configure the preset $preset"; }
    cmake --build --preset "$preset" --parallel "$(nproc)" --target "${@:-all}"
}
