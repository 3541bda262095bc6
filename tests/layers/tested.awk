# SPDX-License-Identifier: Apache-2.0
# tested.awk -- each source has a test of its own name, or says at its head which test covers it.
#
#   awk -f rooms.awk -f tested.awk src/rooms.tsv SOURCE... tests/FILE...      (relative to the root; run there)
#
# For src/…/STEM.c of the room ROOM that is tests/unit/ROOM/test_STEM.c, of the room cli tests/cli/test_STEM.c. Otherwise a line
# "Tests: FILE..." within the file's first comment names them, as paths from the root. Plain POSIX awk.

function say(line, what) { printf "%s:%d: tested: %s\n", FILENAME, line, what; bad++ }

function own_test(path,   stem, room) {
    room = room_of(path)
    stem = path; sub(/.*\//, "", stem); sub(/\..*/, "", stem)
    return (room == "cli" ? "tests/cli" : "tests/unit/" room) "/test_" stem ".c"
}

function end_of_file() {
    if (source != "" && !named && !exists(own_test(source))) {
        printf "%s:1: tested: there is no %s, and no line \"Tests: FILE\" in the head\n", source, own_test(source)
        bad++
    }
    source = ""
}

FILENAME ~ /rooms\.tsv$/ { next }
FNR == 1 { end_of_file(); source = FILENAME; named = 0; head = 1; start = 1 }
/^\/\* SPDX-License-Identifier: [^ ]+ \*\/$/ { start = FNR + 1; next } # the head is the comment below it
head && match($0, /^( \*|\/\*)[ \t]*Tests:/) {
    n = split(substr($0, RSTART + RLENGTH), part, " ")
    for (i = 1; i <= n; i++) {
        sub(/[,.]+$/, "", part[i])
        if (part[i] == "*/" || part[i] == "and") continue
        if (part[i] !~ /^tests\// || !exists(part[i])) say(FNR, part[i] " is no file below tests/")
        else named = 1
    }
}
/\*\// || (FNR <= start && !/^\/\*/) { head = 0 }
END { end_of_file(); exit bad > 0 }
