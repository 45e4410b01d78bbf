# SPDX-License-Identifier: Apache-2.0
# The packages of Debian and Ubuntu that the project needs, by group, and how to install the missing ones. Sourced, after progress.sh.

build_packages=(
    ccache
    cmake
    flatbuffers-compiler
    g++
    libcli11-dev
    libdnnl-dev
    libflatbuffers-dev
    libhwy-dev
    libjs-d3
    libpng-dev
    libprotobuf-dev
    libsqlite3-dev
    libssl-dev
    libturbojpeg0-dev
    libxxhash-dev
    libzip-dev
    ninja-build
    nlohmann-json3-dev
    pkg-config
    protobuf-compiler
    python3
    python3-dev
    python3-venv
)

test_packages=(
    dpkg-dev
    file
    graphviz
    libbenchmark-dev
    libgmock-dev
    libgtest-dev
    strace
    man-db
    zsh
)

# Ubuntu has browsers as snaps alone: tests that need one are skipped there.
optional_test_packages=(
    chromium-headless-shell
)

docs_packages=(
    doxygen
)

# The engines that carry exchanges between processes: a build has those whose packages are installed. Slurm's daemons, which tests start.
distributed_packages=(
    libgloo-dev
    libmpich-dev
    libopenmpi-dev
    mpich
    munge
    openmpi-bin
    slurm-client
    slurmctld
    slurmd
)

# Clients that ask servers.
serve_packages=(
    curl
)

lint_packages=(
    clang-format
)

# Checks Debian packages.
package_packages=(
    dpkg-dev
    lintian
)

# The second holds libFuzzer and the sanitizers.
fuzz_packages=(
    clang
    libclang-rt-dev
)

# Builds for 64-bit Arm, and their tests, on another machine.
arm64_packages=(
    debian-archive-keyring
    dpkg-dev
    g++-aarch64-linux-gnu
    qemu-user
)

# Libraries for arm64, which are unpacked into a folder (sysroot.sh).
arm64_sysroot_packages=(
    libbenchmark-dev
    libc6-dev
    libcli11-dev
    libdnnl-dev
    libflatbuffers-dev
    libgmock-dev
    libgtest-dev
    libhwy-dev
    libpng-dev
    libprotobuf-dev
    libsqlite3-dev
    libssl-dev
    libstdc++-12-dev
    libturbojpeg0-dev
    libxxhash-dev
    libzip-dev
    nlohmann-json3-dev
    python3-dev
    python3-venv
)

# missing_packages NAME...: those that are not installed, one per line.
missing_packages() {
    local name
    for name in "$@"; do
        [ "$(dpkg-query -W -f='${db:Status-Status}' "$name" 2>/dev/null || true)" = installed ] || echo "$name"
    done
}

# missing_optional_packages NAME...: those that are not installed and that this distribution has, one per line.
missing_optional_packages() {
    local name
    for name in $(missing_packages "$@"); do
        [ -z "$(apt-cache madison "$name" 2>/dev/null)" ] || echo "$name"
    done
}

# install_groups GROUP...: installs what the groups lack. Touches neither apt nor the network when nothing is missing.
install_groups() {
    local group missing as_root=()
    local -a wanted=() optional=()
    for group in "$@"; do
        case $group in
            build) wanted+=("${build_packages[@]}") ;;
            test)
                wanted+=("${test_packages[@]}")
                optional+=("${optional_test_packages[@]}")
                ;;
            docs) wanted+=("${docs_packages[@]}") ;;
            distributed) wanted+=("${distributed_packages[@]}") ;;
            serve) wanted+=("${serve_packages[@]}") ;;
            lint) wanted+=("${lint_packages[@]}") ;;
            package) wanted+=("${package_packages[@]}") ;;
            fuzz) wanted+=("${fuzz_packages[@]}") ;;
            arm64) wanted+=("${arm64_packages[@]}") ;;
            *) die 2 "there is no package group '$group'; there are build, test, distributed, serve, docs, lint, package, fuzz and arm64" ;;
        esac
    done
    command -v dpkg-query >/dev/null || die 2 "this is neither Debian nor Ubuntu; install these yourself: ${wanted[*]}"
    mapfile -t missing < <(missing_packages "${wanted[@]}" && missing_optional_packages "${optional[@]}")
    if [ ${#missing[@]} -eq 0 ]; then
        say "all ${#wanted[@]} packages are there"
        return
    fi
    if [ "$(id -u)" -ne 0 ]; then
        command -v sudo >/dev/null || die 2 "run this as root once: apt-get install ${missing[*]}"
        as_root=(sudo)
    fi
    "${as_root[@]}" apt-get update -q
    mapfile -t missing < <(missing_packages "${wanted[@]}" && missing_optional_packages "${optional[@]}")  # the lists are known now
    say "installing ${#missing[@]}: ${missing[*]}"
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "${missing[@]}"
}
