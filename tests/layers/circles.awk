# SPDX-License-Identifier: Apache-2.0
# circles.awk -- find every circle of units in edges FROM<tab>TO<tab>WHAT (edges.sh), and say what ties it; exit 1 if there is one.
#
# A circle is a strongly connected component of more than one unit, found by Tarjan's algorithm: a unit's `low` is the earliest unit on
# the stack that it leads to; one that leads to none before itself closes a component. Plain POSIX awk.

function visit(v,   i, w, n, members) {
    order[v] = low[v] = ++clock
    stack[++top] = v; on_stack[v] = 1
    for (i = 1; i <= degree[v]; i++) {
        w = next_of[v, i]
        if (!(w in order)) { visit(w); if (low[w] < low[v]) low[v] = low[w] }
        else if (on_stack[w] && order[w] < low[v]) low[v] = order[w]
    }
    if (low[v] != order[v]) return
    n = 0
    do { w = stack[top--]; on_stack[w] = 0; members[++n] = w; component[w] = v } while (w != v)
    if (n > 1) tell(v, members, n)
}

function tell(v, members, n,   i, j, u) {
    circles++
    printf "circle of %d units:\n", n
    for (i = n; i >= 1; i--) {
        u = members[i]
        for (j = 1; j <= degree[u]; j++)
            if (next_of[u, j] in component && component[next_of[u, j]] == v)
                printf "  %s -> %s: %s\n", u, next_of[u, j], ties[u, next_of[u, j]]
    }
}

BEGIN { FS = "\t" }
{
    if (!($1 in degree)) { degree[$1] = 0; unit[++n_units] = $1 }
    if (($1, $2) in ties) { if (!index(" " ties[$1, $2] " ", " " $3 " ")) ties[$1, $2] = ties[$1, $2] " " $3 }
    else { ties[$1, $2] = $3; next_of[$1, ++degree[$1]] = $2 }
}
END {
    for (i = 1; i <= n_units; i++) if (!(unit[i] in order)) visit(unit[i])
    printf "%d units, %d circles\n", n_units, circles
    exit circles > 0
}
