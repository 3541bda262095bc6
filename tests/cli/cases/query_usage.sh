# SPDX-License-Identifier: Apache-2.0
# What query refuses, and how the message names it.
# shellcheck shell=sh disable=SC2034,SC2154
echo '{"id":"a","text":"one two three four five six"}' > t.jsonl
echo '{"id":"b","text":"one two three four five six"}' > q.jsonl
bm index build ix t.jsonl --threshold 0.5; exits 0
bm query; refused 2 'no index'
bm query ix; refused 2 'no queries'
bm query --targets t.jsonl; refused 2 'no queries'
bm query nowhere q.jsonl; refused 4 'nowhere'
mkdir folder
bm query folder q.jsonl; refused 7 'folder'
bm query t.jsonl q.jsonl; refused 7 't\.jsonl'
bm query ix missing.jsonl; refused 4 'missing\.jsonl'
bm sign t.jsonl -o signed -q
bm query ix signed; refused 2 'signed holds signatures \(documents are expected\)'
bm query --targets signed q.jsonl; refused 2 'signed holds signatures'
bm sign signed -o again; refused 2 'signed holds signatures'; absent again
bm bench signed; refused 2 'signed holds signatures'
bm query ix q.jsonl --verify none; refused 2 '--verify none'
bm query ix q.jsonl --top 0; refused 2 '--top'
bm query ix q.jsonl --threshold 0; refused 2 '--threshold'
bm query ix - --follow; refused 2 '--follow'
bm query ix --follow --files-from list; refused 2 '--follow'
bm query ix --follow -o rows.tsv < /dev/null; refused 2 '.*--follow'
bm query ix --follow --format csv < /dev/null; refused 2 '--format'
bm query --targets - - < t.jsonl; refused 2 'standard input'
bm query --targets - --follow < t.jsonl; refused 2 'standard input'
bm query ix q.jsonl --duplicate-ids replace; refused 2 '--duplicate-ids'

# what contradicts the index is named; what it has itself is fine
for option in '--shingle word:4' '--normalize none' '--words space' '--short skip' '--scheme oph' '--seed 2' '--perms 64' '--bands 5 --rows 5'; do
    # shellcheck disable=SC2086
    bm query ix q.jsonl $option; refused 2 "${option%% *} .*contradicts the index ix"
done
bm query ix q.jsonl --shingle word:5 --seed 1 --normalize invisible,lower; exits 0
bm query ix q.jsonl --recall 0.9; exits 0

# ids of queries differ, or get numbers
cat q.jsonl q.jsonl > twice.jsonl
bm query ix twice.jsonl; exits 3
says ../err 'twice\.jsonl:2: .*twice\.jsonl:1'
bm query ix twice.jsonl --duplicate-ids number; exits 0
printf 'query\ttarget\tjaccard\nb\ta\t1.000000\nb#2\ta\t1.000000\n' | holds ../out

# a bad record ends it, or is skipped; nothing is at the output's place
printf '{"id":"x"}\n' >> q.jsonl
bm query ix q.jsonl -o out.tsv; refused 3 'q\.jsonl:2: .*'
absent out.tsv
bm query ix q.jsonl --on-error skip; exits 0
printf 'query\ttarget\tjaccard\nb\ta\t1.000000\n' | holds ../out

# no output over the index, nor over targets
cp t.jsonl kept.jsonl
bm query --targets t.jsonl q.jsonl -o t.jsonl --force; refused 2 't\.jsonl: .*input'
holds t.jsonl < kept.jsonl
bm query ix q.jsonl -o ix/data.mdb --force; exits 2
bm index check ix; exits 0
