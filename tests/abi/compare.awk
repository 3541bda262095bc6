# SPDX-License-Identifier: Apache-2.0
# compare.awk -v growing="A B ..." -v named=NAME OLD NEW -- two lists of contents.awk: whatever OLD has is in NEW, as it was. A line for each
# difference that a program built before would notice; exit 1 if there are any.
#
# Fields may come at the end of a struct of `growing`, and in the place of fields named reserved* of any other; nowhere else, not even
# where the compiler leaves bytes unused: a program built before may have left anything there.
# Beside abidiff, which forgets all other changes of a struct, and of what it uses, once a suppression holds for it.
function fail(text) { print named ": " text; failed = 1 }
function is_in_reserved(struct, at, size,   i, r) {
    for (i = 1; i <= n_reserved[struct]; i++) {
        split(reserved[struct, i], r, SUBSEP)
        if (at >= r[1] && at + size <= r[1] + r[2])
            return 1
    }
    return 0
}
BEGIN {
    FS = "\t"
    n = split(growing, list, " ")
    for (i = 1; i <= n; i++)
        grows[list[i]] = 1
}
# An enum's number of values, and what a struct may hold anew, are no promise.
$1 == "E" && $3 ~ /^BM_N_/ { next }
NR == FNR && $1 == "M" && $3 ~ /^reserved/ { reserved[$2, ++n_reserved[$2]] = $4 SUBSEP $5; next }
NR == FNR && $1 == "S" { old_size[$2] = $3 }
NR == FNR {
    key = $1 == "M" || $1 == "E" ? $1 " " $2 "." $3 : $1 " " $2
    old[key] = $0
    next
}
{
    key = $1 == "M" || $1 == "E" ? $1 " " $2 "." $3 : $1 " " $2
    seen[key] = 1
    if ($1 == "M" && $4 == 0 && $3 == "struct_size" && !($2 in grows))
        fail("struct " $2 " has a struct_size and is not in the list of those that may grow")
    if ($1 == "S" && $2 in old_size) {
        if ((old_size[$2] == "") != ($3 == ""))
            fail("struct " $2 " was " (old_size[$2] == "" ? "opaque" : "open"))
        else if ($2 in grows ? $3 + 0 < old_size[$2] + 0 : $3 != old_size[$2])
            fail("struct " $2 " has " $3 " bytes (" old_size[$2] ")")
    } else if (key in old) {
        if (old[key] != $0)
            fail("is [" $0 "], was [" old[key] "]")
    } else if ($1 == "M" && $2 in old_size) {
        if ($2 in grows ? $4 + 0 < old_size[$2] + 0 : !is_in_reserved($2, $4, $5))
            fail("field " $3 " of struct " $2 " at byte " $4 " is new, and not " ($2 in grows ? "at the end" : "in reserved words"))
    }
}
END {
    for (key in old)
        if (!(key in seen))
            fail("gone: [" old[key] "]")
    exit failed
}
