# SPDX-License-Identifier: Apache-2.0
# Debian's packages for another system. Sourced, after progress.sh.

# configure_apt FOLDER ENTRY...: writes FOLDER/apt.conf, with which apt has lists and a cache of its own, and sources from the entries, such
# as "deb debian bookworm main".
configure_apt() {
    local state=$1 entry kind repository
    mkdir -p "$state/lists/partial" "$state/cache/archives/partial"
    for entry in "${@:2}"; do
        read -r kind repository <<<"$entry"
        echo "$kind [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/$repository"
    done >"$state/sources.list"
    cat >"$state/apt.conf" <<-END
	APT::Sandbox::User "$(id -un)";
	Dir::Etc::sourcelist "$state/sources.list";
	Dir::Etc::sourceparts "-";
	Dir::State::lists "$state/lists";
	Dir::Cache "$state/cache";
	END
}

# fetch_debian_source PACKAGE FOLDER: unpacks its upstream sources below FOLDER.
fetch_debian_source() {
    local package=$1 folder=$2 state=$2/apt archive
    configure_apt "$state" "deb-src debian bookworm main"
    APT_CONFIG=$state/apt.conf apt-get update -q
    (cd "$folder" && APT_CONFIG=$state/apt.conf apt-get source -q --download-only "$package")
    for archive in "$folder/$package"_*.orig.tar.*; do tar -xf "$archive" -C "$folder"; done
}
