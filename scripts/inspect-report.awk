# SPDX-License-Identifier: Apache-2.0
# inspect-report.awk -- the rows of inspect-*.awk as Markdown tables or (json=yes) as JSON; with check=yes what is out of bounds on stderr
# and exit 1, also where there are not as many rows as `targets` must have. The first file has the kernels of one program, the second bm_sign
# of several.
#
# Columns of a row: kernel, target, registers, bytes spilled, of scratch, of local memory, occupancy in percent, calls, slots of a turn of the
# signature loop, ops of a turn, slots an op, reads of less than 128 bits, scheme, permutations, each, team, teams, the share of the best that
# documents of 100 and of 1,000 shingles reach, and ops a clock of a compute unit: of these two with slow, then with fast multiplications.
function complain(what) { print "inspect-kernels.sh: " $1 " for " $2 ": " what > "/dev/stderr"; bad = 1 }
# The least share of the best at K permutations, from 100 shingles on; gfx90a leaves a tenth of its lanes idle at 91 and 260.
function least(K, target) { return K < 64 ? .6 : target ~ /^sm_/ ? .85 : .8 }
# The most slots an op: of affine32, where min(min()) is one instruction (sm_90, sm_100, AMD) and where it is not; of other schemes on sm_90.
function most(scheme, target) {
    if (scheme != "affine32") return scheme == "legacy" ? 11 : scheme == "datatrove" ? 15.5 : 9
    return target ~ /^sm_(90|100)$/ ? 1.6 : target ~ /^(dg2|pvc)$/ ? 4.5 : 2.1
}
# The least occupancy, in percent. On AMD that of bm_sign is given up for fewer idle lanes (docs/kernels.md).
function least_occupancy(kernel, target) { return target ~ /^gfx/ ? (kernel ~ /^bm_sign/ ? 37 : 80) : target ~ /^sm_/ ? 40 : 12 }
BEGIN {
    if (json == "yes")
        printf "{\"schema\": 2, \"perms\": %d, \"made_with\": \"%s\", \"kernels\": [", perms, made_with
    else {
        print "Permutations: " perms ". Made with " made_with "."
        print "Command: scripts/inspect-kernels.sh" (commit == "" ? "" : ", on commit " commit) "."
        print ""
        print "| kernel | for | registers | spilled | scratch | local memory | occupancy | calls | loop: slots / ops | per op |"
        print "|---|---|---|---|---|---|---|---|---|---|"
    }
}
function sign_row(row,    lanes) {
    $0 = row
    if (!seconds++ && json != "yes") {
        print ""
        print "| scheme | permutations | for | each × team × teams | lanes that work | registers | per op | of the best, 100 shingles | 1,000 | ops a clock of a unit |"
        print "|---|---|---|---|---|---|---|---|---|---|"
    }
    if (json == "yes") {
        printf "%s\n {\"scheme\": \"%s\", \"perms\": %d, \"for\": \"%s\", \"each\": %d, \"team\": %d, \"teams\": %d, \"per_op\": %s, " \
            "\"of_best_100\": %s, \"of_best_1000\": %s, \"ops_a_clock\": [%s, %s, %s, %s]}",
            (seconds > 1 ? "," : ""), $13, $14, $2, $15, $16, $17, $11, $18, $19, $20, $21, $22, $23
        return
    }
    lanes = $14 / ($15 * $16)
    print "| " $13 " | " $14 " | " $2 " | " $15 " × " $16 " × " $17 " | " int(lanes * 100 + .5) " % | " $3 " | " $11 " | " \
        ($13 == "affine32" && $11 > 0 ? sprintf("%.2f | %.2f | %s", $18, $19, range()) : "– | – | –") " |"
}
function span(low, high,    a, b) {
    a = sprintf("%.3g", low < high ? low : high)
    b = sprintf("%.3g", low < high ? high : low)
    return a == b ? a : a "–" b
}
function range() { return $20 == $22 && $21 == $23 ? span($20, $21) : span($20, $21) " or " span($22, $23) }
FNR == NR {
    n++
    if ($1 == "bm_sign" && $10 > 0) signs++
    if ($1 == "bm_sign" && $11 > 0) sign_rows[++n_signs] = $0
    if (json == "yes")
        printf "%s\n {\"kernel\": \"%s\", \"for\": \"%s\", \"registers\": %d, \"spill_bytes\": %d, \"scratch_bytes\": %d, \"local_bytes\": %d, " \
            "\"occupancy_percent\": %d, \"calls\": %d, \"loop_slots\": %d, \"loop_ops\": %d, \"per_op\": %s, \"narrow_reads\": %d}",
            (n > 1 ? "," : ""), $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12
    else
        print "| `" $1 "` | " $2 " | " $3 " | " $4 " | " $5 " | " $6 " | " $7 " % | " $8 " | " \
            ($10 > 0 ? $9 " / " $10 " | " $11 : "– | –") " |"
    if (check != "yes") next
    if ($8 > 0) complain($8 " calls are left")
    if ($4 > 0) complain($4 " bytes are spilled")
    if ($5 > 0) complain($5 " bytes of scratch")
    if ($7 < least_occupancy($1, $2)) complain("occupancy " $7 " % (at least " least_occupancy($1, $2) ")")
    if ($1 == "bm_sign" && $12 > 0) complain("shingles are read in less than 128 bits")
    if ($1 == "bm_sign" && $10 > 0 && $11 > most("affine32", $2)) complain($11 " instructions an op (at most " most("affine32", $2) ")")
}
FNR < NR && $1 == "bm_sign" { sign_rows[++n_signs] = $0 }
END {
    if (json == "yes") printf "], \"signs\": ["
    for (i = 1; i <= n_signs; i++) {
        sign_row(sign_rows[i])
        if (check != "yes") continue
        if ($4 > 0) complain($13 ", K = " $14 ": " $4 " bytes are spilled")
        if ($13 == "affine32") {
            share = $18 < $19 ? $18 : $19
            if (few != "yes" && share < least($14, $2)) complain("K = " $14 ": " share " of the best (at least " least($14, $2) ")")
        } else if ($11 > most($13)) complain($13 ": " $11 " instructions an op (at most " most($13) ")")
    }
    if (json == "yes") print "]}"
    wanted = targets * (few == "yes" ? 3 : 8)
    if (check == "yes" && (n != wanted || signs < targets - 1)) {
        print "inspect-kernels.sh: " n + 0 " kernels and " signs + 0 " signature loops seen (expected " wanted " and " targets ")" > "/dev/stderr"
        bad = 1
    }
    exit bad
}
