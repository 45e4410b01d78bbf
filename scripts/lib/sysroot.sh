# SPDX-License-Identifier: Apache-2.0
# The sysroot for cross builds: Debian's packages for another architecture, and wheels for its Python, unpacked into a folder. The
# system's packages and sources stay as they are. Sourced, after progress.sh, packages.sh, python_environment.sh and debian_sources.sh.

# make_arm64_sysroot FOLDER: downloads and unpacks what is missing. Does nothing if the folder holds the same packages.
make_arm64_sysroot() {
    local folder=$1 state wanted
    state=$folder.apt wanted="${arm64_sysroot_packages[*]}"
    if [ -f "$folder/.packages" ] && [ "$(cat "$folder/.packages")" = "$wanted" ] && [ -f "$folder/var/lib/dpkg/status" ]; then
        say "the sysroot $folder is there"
        return
    fi
    rm -rf "$folder"
    configure_apt "$state" "deb debian bookworm main" "deb debian-security bookworm-security main"
    mkdir -p "$folder"
    : >"$state/status"
    cat >>"$state/apt.conf" <<-END
	APT::Architecture "arm64";
	APT::Architectures { "arm64"; };
	Dir::State::status "$state/status";
	END
    say "downloading Debian's packages for arm64"
    APT_CONFIG=$state/apt.conf apt-get update -q
    APT_CONFIG=$state/apt.conf apt-get install -q -y --download-only --no-install-recommends "${arm64_sysroot_packages[@]}"
    say "unpacking them into $folder"
    local name package
    for name in bin lib sbin; do
        mkdir -p "$folder/usr/$name"
        ln -s "usr/$name" "$folder/$name"
    done
    for package in "$state"/cache/archives/*.deb; do
        dpkg --fsys-tarfile "$package" | tar --extract --keep-directory-symlink --no-same-owner --directory "$folder"
        record_package "$folder" "$package"
    done
    # Absolute links would lead out of the sysroot.
    local link target
    while IFS=$'\t' read -r link target; do
        ln --symbolic --force --no-dereference --relative "$folder$target" "$link"
    done < <(find "$folder" -type l -lname '/*' -printf '%p\t%l\n')
    write_arm_cpuinfo "$folder/proc"
    echo "$wanted" >"$folder/.packages"
}

# record_package FOLDER FILE: writes down what dpkg-shlibdeps asks dpkg for: which package a file of the sysroot is from, and its symbols.
record_package() {
    local database=$1/var/lib/dpkg name
    mkdir -p "$database/info"
    name=$database/info/$(dpkg-deb --field "$2" Package)
    [ "$(dpkg-deb --field "$2" Multi-Arch)" != same ] || name+=:arm64
    { dpkg-deb --field "$2" && printf 'Status: install ok installed\n\n'; } >>"$database/status"
    echo 1 >"$database/info/format"
    dpkg --fsys-tarfile "$2" | tar --list | sed -E "s#^\./((bin|lib|sbin)/)#./usr/\1#; s#^\.#$1#; s#/\$##" >"$name.list"
    dpkg-deb --control "$2" "$name.control"
    mv "$name.control/symbols" "$name.symbols" 2>/dev/null || true
    mv "$name.control/shlibs" "$name.shlibs" 2>/dev/null || true
    rm -rf "$name.control"
}

# write_arm_cpuinfo FOLDER: the processors that programs in qemu see, as Linux describes a Cortex-A53. qemu 7 would show this machine's, with
# which ONNX Runtime for Arm ends at once.
write_arm_cpuinfo() {
    local i
    mkdir -p "$1"
    for ((i = 0; i < $(nproc); i++)); do
        printf '%s\t: %s\n' processor $i Features "fp asimd cpuid" "CPU implementer" 0x41 "CPU architecture" 8 "CPU variant" 0x0 "CPU part" 0xd03 "CPU revision" 4
        echo
    done >"$1/cpuinfo"
}

# add_arm64_python_packages FOLDER GROUP: unpacks what the package and a group of pyproject.toml need for the sysroot's Python, which finds
# it there. Does nothing if that is there.
add_arm64_python_packages() {
    local folder=$1 stamp=$1/.python-packages site=$1/usr/local/lib/python3.11/dist-packages
    local wanted minor platforms=(--platform manylinux2014_aarch64)
    wanted=$("$venv_python" scripts/lib/requirements.py "$2")
    if [ -f "$stamp" ] && ! grep --quiet --invert-match --line-regexp --fixed-strings --file="$stamp" <<<"$wanted"; then
        say "all $(wc -l <<<"$wanted") Python packages of the sysroot are there"
        return
    fi
    # pip accepts the named platforms alone: those of each glibc up to Debian 12's.
    for ((minor = 17; minor <= 36; minor++)); do
        platforms+=(--platform "manylinux_2_${minor}_aarch64")
    done
    rm -rf "$site"
    echo "$wanted" >"$stamp.part"
    "$venv_python" -m pip install --disable-pip-version-check --progress-bar off --no-compile --only-binary :all: \
        --implementation cp --python-version 3.11 "${platforms[@]}" --target "$site" -r "$stamp.part"
    mv "$stamp.part" "$stamp"
}
