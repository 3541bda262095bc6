# SPDX-License-Identifier: Apache-2.0
# inspect-rates.awk -- what each GPU of inspect-gpus.tsv, the last file, could sign with the ops a clock of the rows of inspect-*.awk: a table for
# docs/gpu.md. The lower end: documents of 100 shingles, the worst compiler, nine tenths of the highest clock. The higher end: documents of
# 1,000, the best compiler, the highest clock. Slow and fast multiplications are a range each (inspect-model.awk).
function widen(target, which, low, high) {
    if (!((target, which) in lowest) || low < lowest[target, which]) lowest[target, which] = low
    if (high > highest[target, which]) highest[target, which] = high
}
FNR == 1 { gpus = FILENAME ~ /inspect-gpus/ } # files of rows may be empty
!gpus && $1 == "bm_sign" && $13 == "affine32" && $14 == perms && $11 > 0 {
    target = $2
    sub(/ .*/, "", target)
    widen(target, "slow", $20 < $21 ? $20 : $21, $20 < $21 ? $21 : $20)
    widen(target, "fast", $22 < $23 ? $22 : $23, $22 < $23 ? $23 : $22)
}
function rate(target, which,    clocks, low, high) {
    clocks = units * mhz / 1000 / perms
    low = int(.9 * clocks * lowest[target, which] + .5)
    high = int(clocks * highest[target, which] + .5)
    return low "–" high
}
function thousands(n) { return n >= 1000 ? int(n / 1000) sprintf(",%03d", n % 1000) : n }
gpus && FNR == 1 {
    print "| GPU | target | compute units × MHz | G shingles a second |"
    print "|---|---|---|---|"
}
gpus && !/^#/ && ($2, "slow") in lowest {
    units = $3
    mhz = $4
    slow = rate($2, "slow")
    fast = rate($2, "fast")
    print "| " $1 " | " $2 " | " thousands(units) " × " thousands(mhz) " | " slow (fast == slow ? "" : " or " fast) " |"
}
