# SPDX-License-Identifier: Apache-2.0
# overlap: items of a test set in documents, verbatim, wrapped, embedded and cropped; short items; stop shingles; refusals.
# shellcheck shell=sh disable=SC2086,SC2154
words() { seq -f 'w%g' -s ' ' "$1" "$2"; }
doc() { printf '{"id":"%s","text":"%s"}\n' "$1" "$2"; }
item() { printf '{"qid":%s,"question":"%s"}\n' "$1" "$2"; }
mkdir tests
{ item 1 "$(words 1 40)"; item 2 "$(words 101 110)"; } > tests/a.jsonl # the second has fewer words than a shingle
{ item 3 "$(words 1 40)"; item 4 "a few words"; item 5 ""; } > tests/b.jsonl
{
    doc verbatim "$(words 1 40)"
    doc wrapped "$(words 1 20)\\n\\n$(words 21 30)\\n$(words 31 40)"
    doc embedded "$(words 900 1300) $(words 1 40) $(words 1400 1700)"
    doc cropped "$(words 1 26)" # 14 of 28 shingles
    doc less "$(words 1 25)"    # 13
    doc short "z $(words 101 110) z"
    doc nearly "$(words 101 109)"
    doc none "$(words 2000 2100)"
    doc empty ""
} > train.jsonl
fields='--against-text-field question --against-id-field qid'
bm overlap train.jsonl --against tests $fields -o out; exits 0
says ../err '4 kept, 5 removed'
says ../err '3 of 5 items found'
holds out/overlap.tsv <<'END'
id	item	coverage	hits	longest	from	to	file	line
verbatim	1	1.000000	28	40	0	150	train.jsonl	1
verbatim	3	1.000000	28	40	0	150	train.jsonl	1
wrapped	1	1.000000	28	40	0	151	train.jsonl	2
wrapped	3	1.000000	28	40	0	151	train.jsonl	2
embedded	1	1.000000	28	40	2306	2456	train.jsonl	3
embedded	3	1.000000	28	40	2306	2456	train.jsonl	3
cropped	1	0.500000	14	26	0	94	train.jsonl	4
cropped	3	0.500000	14	26	0	94	train.jsonl	4
short	2	1.000000	1	10	2	51	train.jsonl	6
END
holds out/items.tsv <<'END'
item	shingles	documents	coverage	together	file	line
1	28	4	1.000000	1.000000	tests/a.jsonl	1
2	1	1	1.000000	1.000000	tests/a.jsonl	2
3	28	4	1.000000	1.000000	tests/b.jsonl	1
4	0	0			tests/b.jsonl	2
5	0	0			tests/b.jsonl	3
END
holds out/removed.tsv <<'END'
id	kept	jaccard	reason	file	line	lost
verbatim	1		overlap	train.jsonl	1	
wrapped	1		overlap	train.jsonl	2	
embedded	1		overlap	train.jsonl	3	
cropped	1		overlap	train.jsonl	4	
short	2		overlap	train.jsonl	6	
END
grep -E '"id":"(less|nearly|none|empty)"' train.jsonl > kept
holds out/kept.jsonl < kept
tr -d ' \n' < out/report.json > flat
says flat '"kind":"overlap"'
says flat '"items":5,"items_too_short":1,"items_empty":1,"items_found":3'
says flat '"against":"tests","against_state":"5documentsof2files[0-9a-f]{32}"'

# what reads the directory
bm filter out -q -o filtered; exits 0
holds filtered/kept.jsonl < kept
bm filter out -q -o marked --annotate; exits 2
bm inspect out; exits 0
says ../out 'kind: overlap'
bm inspect out/overlap.tsv out/items.tsv; exits 0

# the same bytes: threads, batches, memory, compression, shards, standard input and output, several --against
same() { for file in overlap.tsv items.tsv removed.tsv; do cut -f "1-$2" "out/$file" > wanted; cut -f "1-$2" "$1/$file" | holds wanted; done; }
bm overlap train.jsonl --against tests $fields -o four --threads 4 --batch-docs 2 --memory 64M; exits 0
same four 9
bm overlap train.jsonl --against tests/a.jsonl --against tests/b.jsonl $fields -o two; exits 0
same two 9
gzip -k train.jsonl
bm overlap train.jsonl.gz --against tests $fields -o gz --kept none; exits 0
same gz 4
holds gz/kept.jsonl < kept
bm overlap train.jsonl --against tests $fields -o -; exits 0
holds ../out < kept
"$PROGRAM" overlap - --against tests $fields -o - < train.jsonl > stdin 2> ../err || fail "standard input"
holds stdin < kept
bm overlap train.jsonl --against tests $fields -o out --resume; exits 0
says ../err 'done'

# broken after the eighth document: the work before it is saved, and once it is repaired the job goes on, if the items are the same
{ head -n 8 train.jsonl; echo '{"id":'; } > broken.jsonl
BANDMILL_SEAL_SECONDS=0
export BANDMILL_SEAL_SECONDS
bm overlap broken.jsonl --against tests $fields -o mended --batch-docs 1; exits 3
says ../err 'broken.jsonl:9: .* 8 documents before it are saved in mended.partial'
unset BANDMILL_SEAL_SECONDS
cp train.jsonl broken.jsonl
cp -R tests others
item 6 "$(words 1 50)" >> others/b.jsonl
bm overlap broken.jsonl --against others $fields -o mended --resume; exits 7
says ../err 'against.*tests'
bm overlap broken.jsonl --against tests $fields -o mended --resume; exits 0
says ../err 'resuming after 8 documents'
for file in overlap.tsv removed.tsv; do sed 's/train/broken/' out/$file > wanted; holds mended/$file < wanted; done
holds mended/items.tsv < out/items.tsv

# items have a format of their own, which their names tell, whatever that of the documents
printf 'qid\tquestion\tanswer\n7\t%s\t%s\n' "$(words 1 30)" "$(words 31 40)" > own.tsv
sed 's/.*"text":"\([^"]*\)".*/\1/; s/\\n/ /g' train.jsonl > train.raw
bm overlap train.raw --format lines --against own.tsv $fields --against-text-field answer -o own -q; exits 0
says own/overlap.tsv '^train.raw:1	7	1.000000	28	40	0	150	train.raw	1'
says own/items.tsv '^7	28	4	1.000000	1.000000	own.tsv	2'

# short items, items of few words; a lower threshold; other units
bm overlap train.jsonl --against tests $fields -o lower --threshold 0.4 -q; exits 0
says lower/overlap.tsv '^less	1	0.464286	13	25	0	90'
bm overlap train.jsonl --against tests $fields -o few --min-words 3 -q; exits 0
says few/items.tsv '^4	1	0	0.000000	0.000000'
bm overlap train.jsonl --against tests $fields -o chars --shingle char:20 -q; exits 0
says chars/overlap.tsv '^wrapped	1	[0-9.]+	[0-9]+	150	0	151'
printf '{"id":"zh","text":"一二三四五六七八九十百千万一二三四"}\n' > zh.jsonl
bm overlap zh.jsonl --against zh.jsonl -o zh -q; exits 0
says zh/overlap.tsv '^zh	zh	1.000000	5	17	0	51'

# shingles in more documents than asked for leave both sides; runs cross them
bm overlap train.jsonl --against tests $fields -o stop --stop-shingles 4 -q; exits 0
says stop/items.tsv '^1	15	3	1.000000	1.000000'
says stop/overlap.tsv '^verbatim	1	1.000000	15	40	0	150'
says stop/removed.tsv '^short	2'

# bytes before repair, and of several fields
printf '{"id":"bad","text":"\377\377 %s \355\240\200"}\n' "$(words 1 40)" > bad.jsonl
bm overlap bad.jsonl --against tests $fields -o bad -q; exits 0
says bad/overlap.tsv '^bad	1	1.000000	28	40	3	153'
printf '{"id":"two","title":"%s","text":"%s"}\n' "$(words 1 20)" "$(words 21 40)" > two.jsonl
bm overlap two.jsonl --text-field title --text-field text --against tests $fields -o fields -q; exits 0
says fields/overlap.tsv '^two	1	1.000000	28	40	0	150'

# a memory that the items do not fit into names one that is larger, and in the end one that is enough
awk 'BEGIN { for (i = 0; i < 6000; i++) { printf "%d\t", i; for (w = 0; w < 40; w++) printf "v%d ", i * 40 + w; print "" } }' > large.tsv
memory=32
bm overlap large.tsv --id-field 1 --text-field 2 --against large.tsv -o large --memory ${memory}M -q; exits 6
for attempt in 1 2 3 4; do
    more=$(sed -n 's/.*(at least \([0-9]*\)M).*/\1/p' ../err)
    [ "$more" -gt $memory ] || fail "of $memory MB a memory of '$more' MB is named"
    memory=$more
    bm overlap large.tsv --id-field 1 --text-field 2 --against large.tsv -o large --memory ${memory}M -q
    [ "$rc" != 6 ] && break
done
exits 0
[ "$(wc -l < large/overlap.tsv)" -eq 6001 ] || fail "$(wc -l < large/overlap.tsv) lines of overlap.tsv"

# documents that hold very many items at once: their rows are counted, and a memory is named that they fit into
awk 'BEGIN { for (p = 0; p < 150; p++) for (k = 0; k < 60; k++) {
        printf "%d-%d\t", p, k
        for (w = 0; w < 13; w++) printf "p%dw%d ", p, w
        for (w = 0; w < 13; w++) printf "o%dx%dy%d ", p, k, w
        print "" } }' > shared.tsv
awk 'BEGIN { for (d = 0; d < 200; d++) {
        printf "%d\t", d
        for (p = 0; p < 150; p++) { for (w = 0; w < 13; w++) printf "p%dw%d ", p, w; printf "%d ", d }
        print "" } }' > crowd.tsv
crowd='crowd.tsv --id-field 1 --text-field 2 --against shared.tsv --threshold 0.01 --kept no -q'
bm overlap $crowd -o crowd --memory 64M --threads 4; exits 6
says ../err 'the items that documents hold at once do not fit into --memory of 64M .at least [0-9]+M, or fewer documents at once: --batch-docs'
bm overlap $crowd -o crowd --memory 64M --threads 4 --batch-docs 1; exits 0
[ "$(wc -l < crowd/overlap.tsv)" -eq 1800001 ] || fail "$(wc -l < crowd/overlap.tsv) lines of overlap.tsv"
rm -r crowd

# refusals
for option in '--bag' '--weights tfidf' '--perms 64' '--scheme oph' '--bands 4' '--verify exact' '--shingle stopword:3' \
    '--threshold 0' '--min-words 0' '--hash sha1'; do
    bm overlap train.jsonl --against tests $fields -o refused $option; exits 2
done
bm overlap train.jsonl -o refused; exits 2
says ../err 'no items'
bm overlap train.jsonl --against - -o refused < /dev/null; exits 2
bm overlap train.jsonl --against tests -o refused; exits 3
says ../err 'against-text-field'
bm sign train.jsonl -o signed -q; exits 0
bm overlap signed --against tests $fields -o refused; exits 2
bm overlap train.jsonl --against signed $fields -o refused; exits 2
bm overlap train.jsonl --against tests $fields -o out; exits 2
[ ! -e refused ] || fail "something is left at a refused output"
