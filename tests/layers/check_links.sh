#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check_links.sh ROOT PARTS [ROOM...] -- link each room, or those given: its objects with those of the rooms that its row in src/rooms.tsv
# names and what these need, and with their libraries; no symbol may be missing. The room cli is linked with the shared library alone, and
# stubs of what the rooms that its row names declare, which is not exported.
# PARTS as in edges.sh. Prints what the linker says of a room that does not link; exit 1 if there is one.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$1 parts=$2
shift 2
cd "$root"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Paths of the parts of a kind that belong to one of the words given.
paths() {
    kind=$1
    shift
    awk -F '\t' -v kind="$kind" -v words=" $* " '$1 == kind && index(words, " " $2 " ") { print $3 }' "$parts"
}

failed=0
awk -f "$here/rooms.awk" -f "$here/links.awk" src/rooms.tsv "$parts" > "$work/plan"
while IFS='	' read -r room rooms libraries; do
    case " ${*:-$room} " in *" $room "*) ;; *) continue ;; esac
    if [ "$room" = cli ]; then
        echo 'typedef int stubs;' > "$work/stubs.c"
        for folder in $(awk -F '\t' '$1 == "cli" { words = " " $3 " " } { folder[$1] = $2 } END { for (r in folder) if (index(words, " " r " ")) print folder[r] }' src/rooms.tsv); do
            find "$folder" -name '*.h' -exec cat '{}' + 2> /dev/null
        done | sed -n 's/^[a-z].*[ *]\(bm_[a-z0-9_]*\)(.*/void \1(void); void \1(void) {}/p' | sort -u >> "$work/stubs.c"
        { paths object cli; paths shared bandmill; echo "$work/stubs.c"; } > "$work/files"
    else
        # shellcheck disable=SC2086 # words
        { printf '%s\n' -shared -Wl,-z,defs; paths object $rooms; paths library $libraries; } > "$work/files"
    fi
    for library in $libraries; do
        case $library in
        threads) echo -pthread ;;
        dl) echo -ldl ;;
        m) echo -lm ;;
        c++) echo -lstdc++ ;;
        esac
    done >> "$work/files"
    if ! tr '\n' '\0' < "$work/files" | xargs -0 "${CC:-cc}" -o "$work/linked" 2> "$work/said"; then
        printf 'room %s does not link with what its row names:\n' "$room"
        grep 'undefined reference' "$work/said" | sed 's/^[^:]*: //' | LC_ALL=C sort -u | head -n 20 || head -n 20 "$work/said"
        failed=1
    fi
done < "$work/plan"
exit $failed
