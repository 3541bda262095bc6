# SPDX-License-Identifier: Apache-2.0
# crowded: buckets past the bound of what is compared in them. `dedup` says how many pairs that leaves and counts them in the report;
# `dedup --pairs` compares all. 3,000 documents share 42 of 51 words, so in some bands of eight rows most of them have one key: 2,000
# documents are 2 million pairs, of which a bucket of fewer than 8,184 documents has 523,776 looked at (and its star). Any two have 42
# of 60 words in common (0.7). Every twentieth of the first thousand has two near copies far behind it, each with one other word: 50 of 52
# words (0.961538), the copies between themselves 49 of 53 (0.924528). They meet in some smaller bucket of the 16 bands.
# shellcheck shell=sh disable=SC2034,SC2154
awk 'function word() { state = (state * 16807) % 2147483647; return "w" state }
BEGIN {
    state = 20240607; n = 3000; apart = 20
    for (i = 0; i < 42; i++) shared = shared "shared" i " "
    for (i = 0; i < n; i++) {
        first = i % 1000; text = shared
        copy = first % apart ? 0 : int(i / 1000) # 1: the first word is another, 2: the second
        for (j = 0; j < 9; j++) {
            w = copy && j != copy - 1 ? own[first, j] : word()
            if (i < 1000) own[i, j] = w
            text = text w " "
        }
        printf "{\"id\":\"d%d\",\"text\":\"%s\"}\n", i, text
    }
    print "id_a\tid_b\tjaccard" > "right.pairs"
    for (i = 0; i < 1000; i += apart) {
        a = "d" i; b = "d" (i + 1000); c = "d" (i + 2000)
        printf "{\"group\":%d,\"kept\":\"%s\",\"size\":3,\"members\":[\"%s\",\"%s\",\"%s\"]}\n", ++g, a, a, b, c > "right.groups"
        print a "\t" b "\t0.961538\n" a "\t" c "\t0.961538" > "right.pairs"
        late = late b "\t" c "\t0.924528\n"
    }
    printf "%s", late > "right.pairs"
}' > in.jsonl
options='--shingle word:1 --perms 128 --bands 16 --rows 8 --threshold 0.8'
# shellcheck disable=SC2086 # options are words
dedup() { bm dedup in.jsonl $options "$@"; exits 0; }
count() { sed -n "s/.*\"$2\": *\([0-9]*\).*/\1/p" "$1/report.json"; }

dedup -o some
said=$(sed -n 's/^bandmill: warning: [0-9]* crowded buckets were refined: up to \([0-9]*\) pairs in them were not compared .*--pairs.*/\1/p' ../err)
[ "${said:-0}" -gt 0 ] || fail "no word of pairs that were not compared"
[ "$(count some not_compared)" = "$said" ] || fail "the report counts $(count some not_compared) pairs that were not compared"
[ "$said" -lt "$(count some candidates)" ] || fail "more pairs were left than compared"
holds some/groups.jsonl < right.groups

dedup -o one --threads 1 -q # where stderr has only errors the report has the count all the same
silent ../err
[ "$(count one not_compared)" = "$said" ] || fail "one thread leaves $(count one not_compared) pairs"
holds one/groups.jsonl < right.groups

dedup -o all --pairs
! grep -q 'not compared' ../err || fail "all pairs are asked for, and some were not compared"
[ "$(count all not_compared)" = 0 ] || fail "the report counts $(count all not_compared) pairs that were not compared"
[ "$(count all candidates)" -gt "$(count some candidates)" ] || fail "--pairs compares no more than without"
holds all/groups.jsonl < right.groups
holds all/pairs.tsv < right.pairs

# Stars have the same bound: what is taken is compared no more, what is past the bound is counted and said.
dedup -o star --cluster star
said=$(sed -n 's/^bandmill: warning: [0-9]* crowded buckets were left: up to \([0-9]*\) pairs in them were not compared .*--pairs.*/\1/p' ../err)
[ "${said:-0}" -gt 0 ] || fail "no word of pairs that were not compared for stars"
[ "$(count star not_compared)" = "$said" ] || fail "the report counts $(count star not_compared) pairs that were not compared"
[ "$(count star candidates)" -lt "$(count all candidates)" ] || fail "stars compare no fewer pairs than --pairs"
holds star/groups.jsonl < right.groups
dedup -o star_pairs --cluster star --pairs
! grep -q 'not compared' ../err || fail "all pairs are asked for, and some were not compared"
holds star_pairs/groups.jsonl < right.groups
holds star_pairs/pairs.tsv < right.pairs

# Few enough documents: nothing is left over, and nothing is said.
head -n 1000 in.jsonl > few.jsonl
mv few.jsonl in.jsonl
for cluster in components star; do
    dedup -o exact --cluster "$cluster"
    ! grep -q 'not compared' ../err || fail "all pairs fit into the bound, and some were not compared"
    [ "$(count exact not_compared)" = 0 ] || fail "the report counts $(count exact not_compared) pairs that were not compared"
    rm -r exact
done
