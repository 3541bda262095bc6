# SPDX-License-Identifier: Apache-2.0
# inspect-report.awk -- the rows of inspect-*.awk as Markdown tables or (json=yes) as JSON; with check=yes what is out of bounds on stderr
# and exit 1, also where there are not `wanted` rows. The first file has the kernels of one program, the second bm_sign of several.
function complain(what) { print "inspect-kernels.sh: " $1 " for " $2 ": " what > "/dev/stderr"; bad = 1 }
# The least share of the peak at K permutations, from 100 shingles on; gfx90a leaves a tenth of its lanes idle at 91 and 260.
function least(K, arch) { return K < 64 ? .6 : arch == "sm_90" ? .85 : .8 }
# The most instructions an op of a scheme.
function most(scheme) { return scheme == "legacy" ? 11 : scheme == "datatrove" ? 15.5 : 9 }
BEGIN {
    if (json == "yes")
        printf "{\"schema\": 1, \"perms\": %d, \"clang\": \"%s\", \"libclc\": \"%s\", \"ptxas\": \"%s\", \"kernels\": [", perms, clang, libclc, ptxas
    else {
        print "Permutations: " perms ". Made with " clang ", libclc " libclc ","; print "ptxas: " ptxas "."
        print ""
        print "| kernel | for | registers | spilled | scratch | local memory | occupancy | calls | loop: instructions / ops | per op |"
        print "|---|---|---|---|---|---|---|---|---|---|"
    }
}
FNR == NR {
    n++
    signs += $1 == "bm_sign" && $10 > 0
    if (json == "yes")
        printf "%s\n {\"kernel\": \"%s\", \"for\": \"%s\", \"registers\": %d, \"spill_bytes\": %d, \"scratch_bytes\": %d, \"local_bytes\": %d, " \
            "\"occupancy_percent\": %d, \"calls\": %d, \"loop_instructions\": %d, \"loop_ops\": %d, \"per_op\": %s, \"narrow_reads\": %d}",
            (n > 1 ? "," : ""), $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12
    else
        print "| `" $1 "` | " $2 " | " $3 " | " $4 " | " $5 " | " $6 " | " $7 " % | " $8 " | " \
            ($10 > 0 ? $9 " / " $10 " | " $11 : "– | –") " |"
    if (check != "yes") next
    if ($8 > 0) complain($8 " calls are left")
    if ($4 > 0) complain($4 " bytes are spilled")
    if ($5 > 0) complain($5 " bytes of scratch")
    if ($1 == "bm_sign" && $2 == "sm_90" && $11 > 1.6) complain($11 " instructions an op (at most 1.6)")
    if ($1 == "bm_sign" && $2 == "sm_90" && $12 > 0) complain("shingles are read in less than 128 bits")
}
FNR < NR && $1 == "bm_sign" {
    if (!seconds++)
        if (json == "yes") printf "], \"signs\": ["
        else {
            print ""
            print "| scheme | permutations | for | each × team × teams | lanes that work | registers | per op | of the peak, 100 shingles | 1,000 |"
            print "|---|---|---|---|---|---|---|---|---|"
        }
    lanes = $16 / ($17 * $18)
    if (json == "yes")
        printf "%s\n {\"scheme\": \"%s\", \"perms\": %d, \"for\": \"%s\", \"each\": %d, \"team\": %d, \"teams\": %d, \"per_op\": %s, " \
            "\"of_peak_100\": %s, \"of_peak_1000\": %s}", (seconds > 1 ? "," : ""), $15, $16, $2, $17, $18, $19, $11, $13, $14
    else
        print "| " $15 " | " $16 " | " $2 " | " $17 " × " $18 " × " $19 " | " int(lanes * 100 + .5) " % | " $3 " | " $11 " | " \
            ($15 == "affine32" ? $13 " | " $14 : "– | –") " |"
    if (check != "yes") next
    if ($4 > 0) complain($15 ", K = " $16 ": " $4 " bytes are spilled")
    if ($15 == "affine32") {
        peak = $13 < $14 ? $13 : $14
        if (peak < least($16, $2)) complain("K = " $16 ": " peak " of the peak (at least " least($16, $2) ")")
    } else if ($11 > most($15)) complain($15 ": " $11 " instructions an op (at most " most($15) ")")
}
END {
    if (json == "yes") print "]}"
    if (check == "yes" && few == "no" && seconds != 16) {
        print "inspect-kernels.sh: " seconds + 0 " programs of bm_sign seen (expected 16)" > "/dev/stderr"
        bad = 1
    }
    if (check == "yes" && (n != wanted || signs != 3)) {
        print "inspect-kernels.sh: " n + 0 " kernels and " signs + 0 " signature loops seen (expected " wanted " and 3)" > "/dev/stderr"
        bad = 1
    }
    exit bad
}
