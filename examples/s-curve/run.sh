#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The S-curve of 20 bands of 5 rows: the table by formula, the same by simulation, and the picture.
#
#   run.sh [PAIRS]    pairs that are tried at each similarity (2,000)
. "$(dirname "$0")/../frame.sh"
pairs=${1:-2000}
plan='--bands 20 --rows 5'

# Words on purpose: $plan is several options.
# shellcheck disable=SC2086
"$bandmill" tune $plan -q --svg "$scratch/s-curve.svg" > "$scratch/tune.tsv"
picture "$scratch/s-curve.svg"

awk -v pairs="$pairs" -f "$here/pairs_at.awk" < /dev/null > "$scratch/documents.tsv"
# Every candidate, verified or not: what shares a band.
# shellcheck disable=SC2086
"$bandmill" pairs "$scratch/documents.tsv" --header no --id-field 1 --text-field 2 --shingle word:1 --words space --normalize none \
    $plan --verify none -q > "$scratch/candidates.tsv"

# The probability at each similarity, by formula and by the share of pairs that share a band.
awk -F '\t' -v pairs="$pairs" '
    FILENAME ~ /tune\.tsv$/ { if ($1 == "similarity") curve = 1; else if ($1 == "probability") curve = 0; else if (curve && NF == 2) formula[$1 * 100] = $2; next }
    FNR > 1 { split($1, a, "x"); split($2, b, "x"); if (a[1] == b[1] && a[2] == b[2]) found[a[1]]++; else strangers++ }
    END {
        for (t = 2; t <= 8; t++) printf "%d\t%.9f\t%.9f\n", t, formula[t * 10], found[t] / pairs
        printf "strangers\t%d\n", strangers
    }' "$scratch/tune.tsv" "$scratch/candidates.tsv" > "$scratch/both.tsv"

# The table as the work prints it: three decimals, four where three would be 1.
work='x .006 .047 .186 .470 .802 .975 .9996'
[ "$pairs" = 2000 ] || stand_in "$pairs pairs at each similarity"
t=2
for of_work in ${work#x }; do
    formula=$(awk -v t=$t -v digits=$((${#of_work} - 1)) '$1 == t { text = sprintf("%.*f", digits, $2); sub(/^0/, "", text); print text }' "$scratch/both.tsv")
    number "P(candidate) at s = .$t, by the formula" "$of_work" "$formula" exact
    t=$((t + 1))
done
t=2
for of_work in ${work#x }; do
    simulated=$(awk -v t=$t '$1 == t { text = sprintf("%.4f", $3); sub(/^0/, "", text); print text }' "$scratch/both.tsv")
    within=$(awk -v t=$t -v n="$pairs" '$1 == t { text = sprintf("%.4f", 3 * sqrt($2 * (1 - $2) / n) + .0005); sub(/^0/, "", text); print text }' "$scratch/both.tsv")
    number "P(candidate) at s = .$t, $pairs pairs" "$of_work" "$simulated" "$within" "drawn: within 3 standard errors, and what the work rounded off"
    t=$((t + 1))
done
number 'candidates that share no word' none "$(awk '$1 == "strangers" { print $2 }' "$scratch/both.tsv")" none
