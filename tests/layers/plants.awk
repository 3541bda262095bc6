# SPDX-License-Identifier: Apache-2.0
# plants.awk -- for test_layers_catches.sh: a small tree of all rooms of the table, each with a header r_ROOM.h that declares bm_of_ROOM()
# and, but for `public`, `kernels` and `program`, which are headers only, a source u_ROOM.c that defines it.
#
#   awk -v mode=clean     -f rooms.awk -f plants.awk src/rooms.tsv    u_ROOM.c includes the header of every room and library that its row
#                                                                     names, and calls into each room
#   awk -v mode=forbidden -f rooms.awk -f plants.awk src/rooms.tsv    adds plant_ROOM.c (plant_ROOM.h), which includes and calls what its
#                                                                     row does not name; prints ROOM<tab>OTHER for each such room
#
# Run in the tree's root, whose folders exist. Plain POSIX awk.

function headers_only(room) { return room ~ /^(public|kernels|program)$/ }

function header_of(room) {
    if (room == "public") return "<bandmill/r_public.h>"
    if (room == "kernels") return "\"kernels/r_kernels.h\""
    return "\"" substr(folder[room], 5) "/r_" room ".h\""
}

BEGIN {
    header["threads"] = "pthread.h"; header["dl"] = "dlfcn.h"; header["m"] = "math.h"; header["c++"] = "new"; header["zlib"] = "zlib.h"
    header["zstd"] = "zstd.h"; header["crypto"] = "openssl/evp.h"; header["simdjson"] = "simdjson.h"; header["utf8proc"] = "utf8proc.h"
    header["lzma"] = "lzma.h"; header["bz2"] = "bzlib.h"; header["lz4"] = "lz4frame.h"; header["deflate"] = "libdeflate.h"; header["lmdb"] = "lmdb.h"
    header["curl"] = "curl/curl.h"; header["xxhash"] = "xxhash.h"; header["cl"] = "CL/cl.h"
}

function plant_clean(room,   to, i, n, part, calls) {
    to = folder[room] "/r_" room ".h"
    if (room == "public") print "__attribute__((visibility(\"default\"))) int bm_public(void);" > to
    else print "int bm_of_" room "(void);" > to
    close(to)
    if (headers_only(room)) return
    to = folder[room] "/u_" room ".c"
    # A comment and a string literal break no rule.
    print "/* strcpy(a, b) and printf(\"--x\") in a comment. */" > to
    print "#include <bandmill/r_public.h>" > to
    calls = room == "cli" ? "bm_public()" : "0"
    n = split(sees[room], part, " ")
    for (i = 1; i <= n; i++) {
        print "#include " header_of(part[i]) > to
        if (!headers_only(part[i])) calls = calls " + bm_of_" part[i] "()"
    }
    print "#include \"" substr(folder[room], 5) "/r_" room ".h\"" > to
    if (room == "base") print "int bm_public(void) { return 1; }" > to
    if (room == "cli") print "int main(void) { return bm_of_cli(); }" > to
    print "const char *bm_text_of_" room " = \"abort() exit(1)\";" > to
    print "int bm_of_" room "(void) { return " calls "; }" > to
    close(to)
    to = folder[room] "/libraries_" room ".h"
    n = split(libraries[room], part, " ")
    for (i = 1; i <= n; i++) print "#include <" header[part[i]] ">" > to
    close(to)
    print "int main(void);" > ((room == "cli" ? "tests/cli" : "tests/unit/" room) "/test_u_" room ".c")
}

function plant_forbidden(room,   to, i, other, calls, word) {
    to = folder[room] "/plant_" room (headers_only(room) ? ".h" : ".c")
    calls = "0"
    for (i = 1; i <= n_rooms; i++) {
        other = room_at[i]
        if (other == "public" || may_see(room, other)) continue
        print "#include " header_of(other) > to
        if (!headers_only(other)) calls = calls " + bm_of_" other "()"
        print room "\t" other
    }
    if (!headers_only(room)) print "int bm_plant_" room "(void);\nint bm_plant_" room "(void) { return " calls "; }" > to
    close(to)
    to = folder[room] "/other_" room ".h"
    for (word in header) if (!in_list(word, libraries[room])) { print "#include <" header[word] ">" > to; print room "\t<" header[word] ">" }
    close(to)
}

END {
    for (r = 1; r <= n_rooms; r++)
        if (mode == "clean") plant_clean(room_at[r])
        else plant_forbidden(room_at[r])
}
