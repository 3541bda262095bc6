# SPDX-License-Identifier: Apache-2.0
# symbol_edges.awk -- edges.sh's edges by symbol.
#
#   awk -v parts=PARTS -v exported=FILE -f rooms.awk -f symbol_edges.awk src/rooms.tsv OBJECTS
#
# OBJECTS and `exported` are what `nm -A -P` says: "PATH: NAME TYPE ...". Plain POSIX awk.

# The word of the table for the library that has the symbol, "" for the C library.
function library_of(name) {
    if (name in has) return has[name]
    if (name ~ /^(pthread|sem|thrd|mtx|cnd|tss)_/) return "threads"
    if (name ~ /^dl(open|m?sym|vsym|close|error|addr|info)$/) return "dl"
    if (name ~ /^(_Z|__cxa_|__gxx_)/) return "c++"
    return ""
}

function read_line(line,   at) {
    at = index(line, ": ")
    path = substr(line, 1, at - 1)
    sub(/\[[^]]*\]$/, "", path) # of an archive
    split(substr(line, at + 2), word, " ")
    name = word[1]; type = word[2]
    sub(/@.*/, "", name)
}

FILENAME ~ /rooms\.tsv$/ { next }
!ready {
    ready = 1
    while ((getline line < parts) > 0) {
        split(line, part, "\t")
        if (part[1] == "library") { word_of[part[3]] = part[2]; continue }
        if (part[1] != "object") continue
        unit = part[3]; sub(/.*\//, "", unit); sub(/\..*/, "", unit)
        unit_of[part[3]] = folder[part[2]] "/" unit
    }
    while ((getline line < exported) > 0) { read_line(line); if (!(name in has)) has[name] = word_of[path] }
}
{
    read_line($0)
    if (type == "U") { n++; lacks[n] = name; who[n] = unit_of[path] }
    else if (type ~ /^[A-Z]$/ && !(name in defined)) defined[name] = unit_of[path]
}
END {
    for (i = 1; i <= n; i++) {
        if (lacks[i] in defined) to = defined[lacks[i]]
        else if ((to = library_of(lacks[i])) != "") to = "library:" to
        if (to != "" && to != who[i]) print who[i] "\t" to "\t" lacks[i]
    }
}
