# SPDX-License-Identifier: Apache-2.0
# Resident memory: at most --memory and 64 MiB, with 200,000 streamed documents of about 1 kB and --memory 52M (BANDMILL_TEST_SIZE=full: 500,000
# and 128M); the planted pairs are found as the S-curve says, and clusters are never merged. The same for crowded buckets.
# shellcheck shell=sh disable=SC2034,SC2154
peak_of() { sed -n 's/^ *"peak_resident_bytes": *\([0-9]*\),*/\1/p' "$1"; }
within() { # within REPORT MIB
    checks=$((checks + 1))
    [ "$(peak_of "$1")" -le $((($2 + 64) * 1048576)) ] || fail "$1: $(peak_of "$1") bytes resident, --memory $2M"
}

n=200000 memory=52
[ "${BANDMILL_TEST_SIZE:-normal}" != full ] || { n=500000 memory=128; }
command_line="planted $n | bandmill dedup - --memory ${memory}M"
"$PLANTED" $n --truth truth.tsv | "$PROGRAM" dedup - --threads 2 --memory ${memory}M --kept no -o out > ../out 2> ../err
rc=$?
exits 0
within out/report.json $memory
says out/report.json '"sets_from": "file"'

# 13 bands of 7 rows: P(candidate) = 1 - (1 - J^7)^13 of each planted J; a pair counts as found where both lie in one group
checks=$((checks + 1))
awk -F '\t' '
    FNR == NR { # groups: members in order, without quotes
        members = $0; sub(/.*"members":\[/, "", members); sub(/\].*/, "", members); gsub(/"/, "", members)
        n = split(members, m, ","); for (i = 1; i <= n; i++) group[m[i]] = FNR
        next
    }
    FNR > 1 {
        planted[$3]++
        if (($1 in group) && group[$1] == group[$2]) found[$3]++
        if ($1 in group) expect[group[$1] SUBSEP $1] = 1
        a[FNR] = $1; b[FNR] = $2
    }
    END {
        for (j in planted) {
            p = j < .8 ? 0 : 1 - (1 - j ^ 7) ^ 13
            got = found[j] / planted[j]; error = sqrt(p * (1 - p) / planted[j]) + 1e-9
            # two pairs of a cluster of three bring the third with them: more is found than by bands alone
            low = p - 4 * error; high = j < .8 ? 0 : (j == "0.875000" || j == "0.818182") ? 1 : p + 4 * error
            if (j == "0.934783") high = 1
            printf "J %s: %d of %d found, %.4f; by the S-curve %.4f\n", j, found[j], planted[j], got, p
            if (got < low || got > high) bad = 1
        }
        exit bad
    }' out/groups.jsonl truth.tsv > ../curve || { cat ../curve; fail "found otherwise than the S-curve says"; }
# no group holds documents of two plantings: every pair of a group is planted
checks=$((checks + 1))
awk -F '\t' '
    FNR == NR { planted[$1 "," $2] = 1; next }
    { members = $0; sub(/.*"members":\[/, "", members); sub(/\].*/, "", members); gsub(/"/, "", members)
      n = split(members, m, ","); for (i = 1; i <= n; i++) for (k = i + 1; k <= n; k++) if (!(m[i] "," m[k] in planted)) bad++ }
    END { if (bad > 0) { print bad " pairs in groups that were not planted"; exit 1 } }' truth.tsv out/groups.jsonl > ../merged ||
    fail "$(cat ../merged)"

# one bucket that holds all
"$PLANTED" 20000 --mode one-word > word.jsonl # whose pairs would be 1.6 GB
bm dedup word.jsonl --threads 2 --memory 32M --kept no -o word -q; exits 0
within word/report.json 32
says word/groups.jsonl '"size":20000'
