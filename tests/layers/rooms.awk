# SPDX-License-Identifier: Apache-2.0
# rooms.awk -- the table of rooms, src/rooms.tsv, for `awk -f rooms.awk -f ANOTHER.awk rooms.tsv FILE...`: folder[room], the rooms that a
# room may see in sees[room], its libraries in libraries[room], its place in the table in place[room]. Plain POSIX awk.

# The room of a path: the longest folder of the table that starts it.
function room_of(path,   r, best, len) {
    best = ""; len = 0
    for (r in folder)
        if (index(path, folder[r] "/") == 1 && length(folder[r]) > len) { best = r; len = length(folder[r]) }
    return best
}

function in_list(word, list) { return index(" " list " ", " " word " ") > 0 }

function exists(path,   line, ok) { ok = (getline line < path) >= 0; close(path); return ok }

function may_see(from, to) { return from == to || in_list(to, sees[from]) }

FILENAME ~ /rooms\.tsv$/ && !/^#/ && split($0, part, "\t") >= 2 {
    folder[part[1]] = part[2]; sees[part[1]] = part[3]; libraries[part[1]] = part[4]; place[part[1]] = ++n_rooms; room_at[n_rooms] = part[1]
    row_of[part[1]] = FNR
}
