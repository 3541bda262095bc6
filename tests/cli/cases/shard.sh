# SPDX-License-Identifier: Apache-2.0
# sign --shard: refusals, the entries of the manifest, missing shares, and the whole way to a report. reference/test_shards.py checks that
# all shares together are the whole.
# shellcheck shell=sh disable=SC2034,SC2154
for i in 1 2 3 4 5 6; do
    echo "{\"id\":$i,\"text\":\"some words of a document that stands here more than once\"}"
done > six.jsonl
size=$(wc -c < six.jsonl)
third=$((size / 3))

for bad in 0/2 3/2 1/0 2 1/ /2 1/2/3 -1/2 1/1x 1/1000000000; do
    bm sign six.jsonl --shard $bad -o out; refused 2 "--shard: unusable value \"$bad\" \\(expected I/N"
done
bm sign - --shard 1/2 -o out < six.jsonl; refused 2 '--shard of standard input'
bm sign six.jsonl --shard 1/2 --duplicate-ids number -o out; refused 2 '--shard with --duplicate-ids number'
bm sign six.jsonl --shard 1/2 --weights tfidf -o out; refused 2 '--shard with --weights'
printf 'x' > hashes.npy
bm sign hashes.npy --format hashes --offsets hashes.npy --shard 1/2 -o out; refused 2 '--shard of --format hashes'
bm dedup six.jsonl --shard 1/2 -o out; refused 2 '--shard is an option of sign'
bm sign none.jsonl --shard 1/2 -o out; refused 4 'none\.jsonl'
absent out

# the part of the file, its digest, and the lines before it
for i in 1 2 3; do bm sign six.jsonl --shard $i/3 -o s$i --id-field none; exits 0; done
says s2/ids.txt '^six\.jsonl:3$'
says s2/sources.tsv '^file	first_row	documents	skipped	removed	kept	from_record$'
says s2/sources.tsv '^six\.jsonl	0	2	0	0	2	2$'
tr -d ' \n' < s2/manifest.json > flat
says flat '"shard":\{"index":2,"of":3,"inputs_xxh3_128":"[0-9a-f]{32}"\}'
says flat "\"bytes\":$third,\"xxh3_128\":\"[0-9a-f]{32}\",\"from_byte\":$third,\"file_bytes\":$size\\}"
bm inspect s2/sources.tsv; exits 0; says ../out 'kind: sources'
bm inspect s2; exits 0; says ../out '^ *index: 2$'

# all of them, in any order; else the one is named
bm dedup s1 s3 -o out; refused 7 's1/manifest\.json: it is share 1 of 3, and share 2 of its inputs is missing'
bm pairs s3 s2; refused 7 's3/manifest\.json: it is share 3 of 3, and share 1 of its inputs is missing'
bm dedup s1 s2 s3 s2 -o out; refused 7 's1/manifest\.json: .*share 2 of its inputs is given twice'
bm sign six.jsonl --shard 2/4 -o t2 --id-field none; exits 0
bm dedup s1 t2 s3 -o out; refused 7 's1/manifest\.json: .*share 2 .*missing'
absent out
for verify in exact signature; do
    bm dedup s3 s1 s2 --verify $verify -o $verify; exits 0
    says $verify/sources.tsv '^six\.jsonl	0	6	0	5	1$'
    bm filter $verify -o $verify.kept; exits 0
    head -n 1 six.jsonl | holds $verify.kept/kept.jsonl
done
tr -d ' \n' < signature/report.json > flat
says flat "\"bytes\":$size,\"parts\":\\[\\{\"from_byte\":0,\"bytes\":$third,"
bm report signature -o page.html; exits 0
bm explain exact six.jsonl:1 six.jsonl:6; exits 0

# one of them alone: its rows are there, its file is not read again
bm export s2 --to npy -o exported; exits 0
bm sign six.jsonl -o more --id-field none; exits 0
bm dedup six.jsonl --id-field none --against s2 --verify exact -o out; refused 7 's2/manifest\.json: of six\.jsonl it has bytes [0-9]* to [0-9]* of [0-9]* \(a share'
bm dedup six.jsonl --against s2 -o known; exits 0; says ../err 's2/manifest\.json: .*by their signatures only'

# a share that is done, another one in its place, and a file that changed under them
bm sign six.jsonl --shard 2/3 -o s2 --id-field none --resume; exits 0
bm sign six.jsonl --shard 3/3 -o s2 --id-field none --resume; refused 2 's2: the output exists already'
sed 's/words/swords/; s/once/one/' six.jsonl > other.jsonl
mv other.jsonl six.jsonl
bm dedup s1 s2 s3 --verify exact -o out; refused 7 'six\.jsonl: the file is not the one that s1/manifest\.json was made from'
