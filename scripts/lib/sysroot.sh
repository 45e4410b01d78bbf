# SPDX-License-Identifier: Apache-2.0
# The sysroot for cross builds: Debian's packages for another architecture, unpacked into a folder. apt works with lists and a
# cache of its own, so the system's packages and sources stay as they are. Sourced, after progress.sh and packages.sh.

# make_arm64_sysroot FOLDER: downloads and unpacks what is missing. Does nothing if the folder holds the same packages.
make_arm64_sysroot() {
    local folder=$1 state wanted
    state=$folder.apt wanted="${arm64_sysroot_packages[*]}"
    if [ -f "$folder/.packages" ] && [ "$(cat "$folder/.packages")" = "$wanted" ]; then
        say "the sysroot $folder is there"
        return
    fi
    rm -rf "$folder"
    mkdir -p "$state/lists/partial" "$state/cache/archives/partial" "$folder"
    : >"$state/status"
    cat >"$state/sources.list" <<-END
	deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian bookworm main
	deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian-security bookworm-security main
	END
    cat >"$state/apt.conf" <<-END
	APT::Architecture "arm64";
	APT::Architectures { "arm64"; };
	APT::Sandbox::User "$(id -un)";
	Dir::Etc::sourcelist "$state/sources.list";
	Dir::Etc::sourceparts "-";
	Dir::State::status "$state/status";
	Dir::State::lists "$state/lists";
	Dir::Cache "$state/cache";
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
    done
    # Their packages' scripts, which are for the other architecture, would make these links.
    for name in blas lapack; do
        ln -sf "$name/lib$name.so.3" "$folder/usr/lib/aarch64-linux-gnu/lib$name.so.3"
    done
    echo "$wanted" >"$folder/.packages"
}
