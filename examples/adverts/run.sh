#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Classified adverts that repeat each other's sentences: where copies part from the rest, what 42 bands of 3 rows propose, and the giant group
# that a low threshold makes of it.
#
#   run.sh [ADVERTS [SENTENCES]]    how many (4,000), made of the sentences of a file (sentences.txt; bench/adverts.py says its form)
. "$(dirname "$0")/../frame.sh"
need_python
count=${1:-4000}
sentences=${2:-$here/sentences.txt}
[ "$count $sentences" = "4000 $here/sentences.txt" ] || stand_in "$count adverts of $sentences"
plan='--bands 42 --rows 3'
text='--bag --shingle word:3'

# say LINE...: for people only.
say() {
    [ -n "${EXAMPLES_TABLE:-}" ] || printf '%s\n' "$@"
}

# column FILE KEY NUMBER: that column of the row of FILE whose first is KEY.
column() {
    awk -F '\t' -v key="$2" -v n="$3" '$1 == key { print $n; exit }' "$1"
}

# member FILE NAME: the number of that name in a report, wherever it first stands.
member() {
    sed -n "s/^ *\"$2\": \([-0-9.e+]*\),\{0,1\}\$/\1/p" "$1" | head -n 1
}

# largest FILE: the size of the largest group in a report.
largest() {
    sed -n 's/^ *"size": \([0-9]*\),/\1/p' "$1" | sort -n | tail -n 1
}

corpus=$scratch/adverts.jsonl
"$python" "$root/bench/adverts.py" "$count" "$sentences" "$corpus" > "$scratch/made"
say "$(cat "$scratch/made")" ''

# 1. The plan: .99 of the pairs at .5, and .006 at most of those at .05.
"$bandmill" tune --threshold .5 --recall .99 --ceiling .05:.006 -q > "$scratch/plans"
awk -F '\t' '
    function short(x) { x = sprintf("%.4f", x); sub(/^0/, "", x); return x }
    $1 == 42 && $2 == 3 && NF == 7 { print short($5) "\t" short($6) }' "$scratch/plans" > "$scratch/plan"
say 'The plan'
number '42 bands of 3 rows: candidates at .5' .9963 "$(cut -f 1 "$scratch/plan")" exact
number '42 bands of 3 rows: candidates at .05' .0052 "$(cut -f 2 "$scratch/plan")" exact

# 2. The histogram of a sample for each length of shingle: unrelated adverts are one heap, copies another.
# shellcheck disable=SC2086
"$bandmill" tune "$corpus" --bag --shingle word:1 --shingle word:2 --shingle word:3 --shingle word:4 --sample 2000 --threshold .5 $plan \
    --svg "$scratch/lengths.svg" -q > "$scratch/tune"
picture "$scratch/lengths.svg"
"$python" "$here/parts.py" "$corpus" "$scratch/tune" > "$scratch/parts"
say '' 'Shingles of 1 to 4 words'
for k in 1 2 3 4; do
    number "word:$k: where most pairs are" none "$(column "$scratch/parts" word:$k 2)" none
    number "word:$k: from where on half of the pairs are copies" none "$(column "$scratch/parts" word:$k 3)" none
    number "word:$k: share of all copies from there on" none "$(column "$scratch/parts" word:$k 4)" none
done

# 3. The candidates of the plan by similarity, beside the S-curve: their share of all pairs at that similarity, which the sample tells.
# shellcheck disable=SC2086
"$bandmill" pairs "$corpus" $text $plan --threshold 0.000001 -q --histogram "$scratch/candidates" --histogram-svg "$scratch/bars.svg" > /dev/null
awk -f "$here/curve.awk" -v bands=42 -v rows=3 "$scratch/bars.svg" > "$scratch/candidates.svg"
picture "$scratch/candidates.svg"
awk -F '\t' '
    function short(x) { x = sprintf("%.3f", x); sub(/^0/, "", x); return x }
    FILENAME ~ /candidates$/ { if (FNR > 1) found[int($1 * 100 + .5)] = $3; next }
    $1 == "word:3" && NF == 6 { pairs[int($2 * 100 + .5)] = $5 }
    END {
        for (low = 0; low < 100; low += 5) {
            all = some = expected = 0
            for (bin = low; bin < low + 5; bin++) {
                s = (bin + .5) / 100
                all += pairs[bin]; some += found[bin]; expected += pairs[bin] * (1 - (1 - s ^ 3) ^ 42)
            }
            if (all > 0) printf ".%02d\t%d\t%d\t%s\t%s\n", low, all, some, short(expected / all), short(some / all)
        }
    }' "$scratch/candidates" "$scratch/tune" > "$scratch/shares"
say '' 'Candidates of word:3 by similarity (pairs: from the sample)' 'from	pairs	candidates	S-curve	share' "$(cat "$scratch/shares")" ''
for low in .05 .10 .15 .20 .25 .30 .35; do
    curve=$(column "$scratch/shares" $low 4)
    beside "share of the pairs in the twentieth from $low on that are candidates" "$curve" "$(column "$scratch/shares" $low 5)" \
        "$(awk -v p="$curve" 'BEGIN { printf "%.3f", .005 + .2 * p * (1 - p) }' | sed 's/^0//')" \
        'by the S-curve, which the work draws without numbers; one draw of 126 permutations, and a sample'
done

if [ "$count" -le 20000 ]; then # the comparison of all pairs takes minutes for many
    # shellcheck disable=SC2086
    "$bandmill" pairs "$corpus" $text --candidates all --threshold .5 -q > "$scratch/all"
    # shellcheck disable=SC2086
    "$bandmill" pairs "$corpus" $text $plan --threshold .5 -q > "$scratch/found"
    beside 'of the pairs at .5 or above, found' .9963 "$(awk 'FNR > 1 { n[FILENAME]++ } END { printf "%.4f\n", n[ARGV[1]] / n[ARGV[2]] }' "$scratch/found" "$scratch/all" | sed 's/^0//')" .0037 \
        'of pairs at .5 itself; those above are found more surely'
fi

# 4. How fast candidates are verified: timed, so in no table.
# shellcheck disable=SC2086
"$bandmill" dedup "$corpus" $text $plan --threshold .4 --pairs --kept no -q --json --threads 1 --device cpu -o "$scratch/groups" > "$scratch/report"
say '' "$(member "$scratch/report" verified) candidates verified in $(member "$scratch/report" verify_seconds) s on one core"
# What tune expects, and the farther end of the range in which nine runs of ten lie.
awk -F '\t' '
    $1 == "word:3" && NF == 11 { low = $10; high = $11 }
    $1 == "word:3" && NF == 9 { printf "%d\t%d\n", $4, (high - $4 > $4 - low ? high - $4 : $4 - low) }' "$scratch/tune" > "$scratch/expected"
beside 'candidates of word:3' "$(cut -f 1 "$scratch/expected")" "$(member "$scratch/report" verified)" "$(cut -f 2 "$scratch/expected")" \
    'by tune, in whose range nine runs of ten lie'

# 5. Groups at .4.
"$bandmill" cluster "$scratch/groups/pairs.tsv" --threshold .4,.42,.44,.46,.48,.5 -q > "$scratch/thresholds"
say '' 'Groups of word:3' "$(cat "$scratch/thresholds")" ''
number 'pairs at .4' none "$(member "$scratch/report" edges)" none
number 'groups at .4' none "$(member "$scratch/report" groups)" none
number 'the giant group at .4' none "$(column "$scratch/thresholds" 0.4 4)" none
"$python" "$here/ends.py" "$corpus" "$scratch/groups" 3 > "$scratch/ends"
first=$(cut -f 1 "$scratch/ends")
number 'of it share nothing with its first advert' none "$(cut -f 2 "$scratch/ends")" none
ends='near far'
[ "$(cut -f 2 "$scratch/ends")" != 0 ] || ends= # no giant, no ends
for end in $ends; do
    case $end in
    near) other=$(cut -f 3 "$scratch/ends") ;;
    far) other=$(cut -f 4 "$scratch/ends") ;;
    esac
    "$bandmill" explain "$scratch/groups" "$first" "$other" -q > "$scratch/chain"
    if [ "$end" = near ]; then
        say '' "$(cat "$scratch/chain")" ''
        cp "$scratch/chain" "$scratch/chain.txt"
        picture "$scratch/chain.txt"
    fi
    number "first advert and $end end: similarity" none "$(sed -n 's/.* themselves: \([0-9.]*\),.*/\1/p' "$scratch/chain")" none
    number "first advert and $end end: links of the shortest chain" none "$(sed -n 's/^the shortest chain has \([0-9]*\) link.*/\1/p' "$scratch/chain")" none
    # to part them N links must go; X documents would stay with A, Y with B:
    number "first advert and $end end: links of the cut" none "$(sed -n 's/^to part them \([0-9]*\) link.*/\1/p' "$scratch/chain")" none
    number "first advert and $end end: adverts on either side of the cut" none \
        "$(sed -n 's/^to part them .* must go; \([0-9]*\) document.* with .*, \([0-9]*\) with .*/\1 and \2/p' "$scratch/chain")" none
done

# 6. What helps: a star, whose documents are each at the threshold to the one that is kept; a higher threshold.
# shellcheck disable=SC2086
"$bandmill" dedup "$corpus" $text $plan --threshold .4 --cluster star --kept no -q --json -o "$scratch/stars" > "$scratch/star_report"
say '' 'What helps'
number 'largest group at .4, --cluster star' none "$(largest "$scratch/star_report")" none
# Weighted, a sentence that many adverts have counts for little: ln(N/df) for each of its shingles. (Weights are of occurrences: no --bag.)
# shellcheck disable=SC2086
"$bandmill" dedup "$corpus" --shingle word:3 --weights tfidf $plan --threshold .4 --pairs --kept no -q --json -o "$scratch/weighted" > "$scratch/weighted_report"
number 'pairs at .4, --weights tfidf' none "$(member "$scratch/weighted_report" edges)" none
number 'largest group at .4, --weights tfidf' none "$(largest "$scratch/weighted_report")" none
number 'chained documents at .4' none "$(member "$scratch/report" chained)" none
number 'chained documents at .4, --weights tfidf' none "$(member "$scratch/weighted_report" chained)" none
number 'chained documents at .4, --cluster star' none "$(member "$scratch/star_report" chained)" none
number 'largest group at .44' none "$(column "$scratch/thresholds" 0.44 4)" none
number 'largest group at .5' none "$(column "$scratch/thresholds" 0.5 4)" none
