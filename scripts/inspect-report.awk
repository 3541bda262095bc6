# inspect-report.awk -- the rows of inspect-*.awk as a Markdown table or (json=yes) as JSON; with check=yes what is out of bounds on stderr
# and exit 1, also where there are not `wanted` rows.
function complain(what) { print "inspect-kernels.sh: " $1 " for " $2 ": " what > "/dev/stderr"; bad = 1 }
BEGIN {
    if (json == "yes")
        printf "{\"schema\": 1, \"perms\": %d, \"clang\": \"%s\", \"libclc\": \"%s\", \"ptxas\": \"%s\", \"kernels\": [", perms, clang, libclc, ptxas
    else {
        print "Permutations: " perms ". Made with " clang "; libclc " libclc "; ptxas: " ptxas "."
        print ""
        print "| kernel | for | registers | spilled | scratch | local memory | occupancy | calls | loop: instructions / ops | per op |"
        print "|---|---|---|---|---|---|---|---|---|---|"
    }
}
{
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
END {
    if (json == "yes") print "]}"
    if (check == "yes" && (n != wanted || signs != 3)) {
        print "inspect-kernels.sh: " n + 0 " kernels and " signs + 0 " signature loops seen (expected " wanted " and 3)" > "/dev/stderr"
        bad = 1
    }
    exit bad
}
