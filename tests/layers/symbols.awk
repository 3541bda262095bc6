# SPDX-License-Identifier: Apache-2.0
# symbols.awk -- hold edges.sh's edges against the table of rooms.
#
#   awk -f rooms.awk -f symbols.awk src/rooms.tsv kind=header HEADER... kind=program HEADER... kind=export EXPORTS kind=edge EDGES      (run in the root)
#
# The headers are the public ones, then those of the room `program`, what the library offers to its own program and does not export.
# EXPORTS: the names that the shared library exports, a line each. Plain POSIX awk.

function say(where, rule, what) { print where ": " rule ": " what; bad++ }

function check_edge(from, to, what,   room, other) {
    room = room_of(from)
    if (to ~ /^library:/) {
        sub(/^library:/, "", to)
        if (!in_list(to, libraries[room])) say(from, "library", "uses " what " of " to ", which the row of room " room " does not name")
        return
    }
    other = room_of(to)
    used[room, other] = 1
    if (what == "include" || room == other) return # layers.awk holds the includes
    if (room == "cli") {
        if (!may_see(room, other) && !(what in exported) && !(what in for_program)) say(from, "symbol", "uses " what " of " to ", which the library does not export")
    } else if (!may_see(room, other)) say(from, "symbol", "room " room " uses " what " of room " other " (" to ")")
}

kind == "header" || kind == "program" {
    gsub(/[^A-Za-z0-9_]+/, " ")
    n = split($0, part, " ")
    for (i = 1; i <= n; i++) if (kind == "header") declared[part[i]] = 1; else for_program[part[i]] = 1
}
kind == "export" { exported[$1] = 1; if (!($1 in declared)) say("include/bandmill", "export", "declares no " $1 ", which the library exports") }
kind == "edge" { split($0, part, "\t"); check_edge(part[1], part[2], part[3]) }
END {
    for (r = 1; r <= n_rooms; r++) {
        room = room_at[r]
        n = split(sees[room], part, " ")
        for (i = 1; i <= n; i++)
            if (!((room, part[i]) in used)) say("src/rooms.tsv:" row_of[room], "unused", "room " room " may see " part[i] ", and does not")
    }
    exit bad > 0
}
