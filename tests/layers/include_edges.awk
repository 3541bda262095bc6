# SPDX-License-Identifier: Apache-2.0
# include_edges.awk -- edges.sh's edges by include: of sources given relative to the root. Plain POSIX awk.

function unit_of(path) { sub(/\.[a-z]+$/, "", path); return path }

/^[ \t]*#[ \t]*include/ {
    if (match($0, /"[^"]+"/)) {
        to = substr($0, RSTART + 1, RLENGTH - 2)
        if (FILENAME ~ /^kernels\//) to = "kernels/" to
        else if (to !~ /^kernels\//) to = "src/" to
    } else if (match($0, /<bandmill\/[^>]+>/)) to = "include/" substr($0, RSTART + 1, RLENGTH - 2)
    else next
    if (unit_of(to) != unit_of(FILENAME)) print unit_of(FILENAME) "\t" unit_of(to) "\tinclude"
}
