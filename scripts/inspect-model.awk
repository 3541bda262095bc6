# SPDX-License-Identifier: Apache-2.0
# inspect-model.awk -- what share of a GPU's peak bm_sign reaches by lanes and by issue, for documents of so many shingles; no latency, no traffic.
#
# Variables: perms, each, team, teams, tile, warp (lanes that run in step). `per_op`: instructions an op in the signature loop; `load`: instructions
# a quad that is read into local memory. An op is one shingle and one permutation.
#
# NVIDIA (sm_80, sm_90): four schedulers of an SM issue an instruction of a warp each a clock, and its multipliers take half of that, beside the rest:
# the longer of the two counts, and an op takes two slots at best. AMD (gfx90a): a 32-bit multiplication holds its SIMD for four slots, what else
# there is one; the loop's 64 ops have 64 multiply-adds and 48 minima, so an op takes 4.75 at best.
function up(n, by) { return int((n + by - 1) / by) }
function fraction(shingles, per_op, load, amd,    q, docs, full, rest, shared, turns, warps, issue, multiply, time) {
    q = up(shingles, 4)
    docs = q > tile ? 1 : int(tile / q)
    warps = up(team * teams, warp)
    rest = docs % teams
    full = (docs - rest) / teams
    shared = (teams - rest) * rest * q * each > 10 * rest * rest * teams # as bm_shared_docs of kernels/teams.cl
    turns = warps * full * q
    if (shared) turns += warps * rest * up(q, teams)
    else if (rest) turns += up(rest * team, warp) * q
    multiply = turns * 4 * each + 8 * docs * q / warp
    issue = turns * 4 * each * per_op + load * docs * q / warp # the loop, and the tile
    issue += warps * (100 + full * (20 + 6 * each)) # a chunk; words of a document and their places
    if (shared) issue += warps * rest * (60 + 8 * each)
    if (amd) time = issue + 3 * multiply
    else time = issue > 2 * multiply ? issue : 2 * multiply
    return docs * shingles * perms / warp * (amd ? 4.75 : 2) / time
}
