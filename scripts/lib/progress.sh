# SPDX-License-Identifier: Apache-2.0
# Progress of a script in a uniform format: numbered steps with the time since the start. Sourced.

step_number=0

elapsed() { printf '%d:%02d' $((SECONDS / 60)) $((SECONDS % 60)); }

# step TEXT: the next thing the user waits for.
step() {
    step_number=$((step_number + 1))
    printf '\n== %d. %s   [%s]\n' "$step_number" "$1" "$(elapsed)"
}

say() { printf '   %s\n' "$*"; }

# die CODE TEXT: one line that says what to change, then the end.
die() {
    local code=$1
    shift
    printf '%s: %s\n' "$(basename "$0")" "$*" >&2
    exit "$code"
}

# The comment block under the SPDX line is the help text of a script.
print_help() { sed -n '3,/^[^#]/s/^# \{0,1\}//p' "$0"; }
