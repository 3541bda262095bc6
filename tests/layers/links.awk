# SPDX-License-Identifier: Apache-2.0
# links.awk -- what each room is linked with: a line `ROOM<tab>ROOMS<tab>LIBRARIES` for each that has objects; ROOMS are itself, those that
# its row names and what these need.
#
#   awk -f rooms.awk -f links.awk src/rooms.tsv PARTS      (PARTS as in edges.sh)
#
# Plain POSIX awk.

function joined(list, more,   i, n, part) {
    n = split(more, part, " ")
    for (i = 1; i <= n; i++) if (!in_list(part[i], list)) list = list " " part[i]
    return list
}

FILENAME ~ /rooms\.tsv$/ { next }
{ split($0, part, "\t"); if (part[1] == "object") has_objects[part[2]] = 1 }
END {
    for (r = 1; r <= n_rooms; r++) {
        room = room_at[r]
        rooms[room] = room; needs[room] = libraries[room]
        n = split(sees[room], seen, " ")
        for (i = 1; i <= n; i++) { rooms[room] = joined(rooms[room], rooms[seen[i]]); needs[room] = joined(needs[room], needs[seen[i]]) }
        if (room in has_objects) print room "\t" rooms[room] "\t" needs[room]
    }
}
