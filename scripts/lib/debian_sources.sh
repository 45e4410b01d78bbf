# SPDX-License-Identifier: Apache-2.0
# Sources of Debian's packages, for libraries that are compiled for another system. Sourced, after progress.sh.

# fetch_debian_source PACKAGE FOLDER: unpacks its upstream sources below FOLDER. apt works with lists of its own.
fetch_debian_source() {
    local package=$1 folder=$2 state=$2/apt
    mkdir -p "$state/lists/partial" "$state/cache/archives/partial"
    cat >"$state/sources.list" <<-END
	deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian bookworm main
	END
    cat >"$state/apt.conf" <<-END
	APT::Sandbox::User "$(id -un)";
	Dir::Etc::sourcelist "$state/sources.list";
	Dir::Etc::sourceparts "-";
	Dir::State::lists "$state/lists";
	Dir::Cache "$state/cache";
	END
    APT_CONFIG=$state/apt.conf apt-get update -q
    (cd "$folder" && APT_CONFIG=$state/apt.conf apt-get source -q --download-only "$package")
    local archive
    for archive in "$folder/$package"_*.orig.tar.*; do tar -xf "$archive" -C "$folder"; done
}
