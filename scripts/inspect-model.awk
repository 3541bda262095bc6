# SPDX-License-Identifier: Apache-2.0
# inspect-model.awk -- how many ops a clock bm_sign does on a compute unit, by lanes and by issue, for documents of so many shingles; no latency,
# no traffic. An op is one shingle and one permutation.
#
# Variables: arch, perms, each, team, teams, tile; warp: lanes that run in step. A slot is what a scheduler issues for a warp. By kernel: per_op
# and multiply, slots an op in the signature loop and those of multiplications among them; load, slots a quad that is read into local memory.
#
#   NVIDIA  an SM issues 128 lanes a clock, and multiplies 64 beside the rest: the longer of the two counts, and an op takes two slots at best
#   AMD     a CU issues 64 lanes a clock. A 32-bit multiplication takes four slots (slow) or one (fast): which one is not known, since LLVM's
#           models of these processors disagree. An op is one multiply-add and .75 minima at best.
#   Intel   a vector engine takes 8 lanes a clock, of the Max series 16. A 32-bit multiplication is two instructions, of two slots (slow) or one
#           (fast) each. An op is these, an addition and a minimum at best.
function group_of(kernel) { return kernel ~ /^bm_text/ ? text_group : kernel ~ /^bm_sign/ ? team * teams : 64 }
function up(n, by) { return int((n + by - 1) / by) }
function lanes_a_clock() { return arch ~ /^sm_/ ? 128 : arch ~ /^gfx/ ? 64 : native }
# The ops a clock of a unit at best, with slow multiplications.
function peak() { return lanes_a_clock() / (arch ~ /^sm_/ ? 2 : arch ~ /^gfx/ ? 4.75 : 6) }
function ops_a_clock(shingles, slow, kernel,    q, docs, full, rest, shared, turns, warps, issue, time) {
    q = up(shingles, 4)
    docs = q > tile ? 1 : int(tile / q)
    warps = up(team * teams, warp)
    rest = docs % teams
    full = (docs - rest) / teams
    shared = (teams - rest) * rest * q * each > 10 * rest * rest * teams # as bm_shared_docs of kernels/teams.cl
    turns = warps * full * q
    if (shared) turns += warps * rest * up(q, teams)
    else if (rest) turns += up(rest * team, warp) * q
    issue = turns * 4 * each * per_op[kernel] + load[kernel] * docs * q / warp # the loop, and the tile
    issue += warps * (100 + full * (20 + 6 * each)) # a chunk; words of a document and their places
    if (shared) issue += warps * rest * (60 + 8 * each)
    multiply_ops = turns * 4 * each + 8 * docs * q / warp
    if (arch ~ /^sm_/) time = issue > 2 * multiply_ops ? issue : 2 * multiply_ops
    else time = issue + (slow ? (arch ~ /^gfx/ ? 3 : multiply[kernel]) * multiply_ops : 0)
    return docs * shingles * perms * lanes_a_clock() / (time * warp)
}
# A row of the report; its columns are in inspect-report.awk.
function row(regs, spilled, scratch, local_bytes, occupancy, calls,    i, sizes, loop) {
    printf "%s\t%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%.3f\t%d\t%s\t%d\t%d\t%d\t%d", kernel, name, regs, spilled, scratch, local_bytes, occupancy,
        calls, turn[kernel], ops[kernel], per_op[kernel], narrow_reads[kernel], scheme, perms, each, team, teams
    split("100 1000", sizes, " ")
    loop = kernel == "bm_sign" && per_op[kernel] != 0
    for (i = 1; i <= 2; i++) printf "\t%.3f", (loop ? ops_a_clock(sizes[i], 1, kernel) / peak() : 0)
    for (i = 0; i < 4; i++) printf "\t%.3f", (loop ? ops_a_clock(sizes[i % 2 + 1], i < 2, kernel) : 0)
    print ""
}
