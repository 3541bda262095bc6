# SPDX-License-Identifier: Apache-2.0
# dedup, pairs and filter on documents whose similarities can be counted on the fingers. With word:1 a document is the set of its words:
#   a {1..10}; b = a, other order; c {1..9,x}: J(a,c) = 9/11; d {1..8,x,y}: J(c,d) = 9/11, J(a,d) = 8/12; e apart; f without words.
# 128 bands of 1 row find a pair of J >= 0.6 with 1 - 0.4^128.
# shellcheck shell=sh disable=SC2034,SC2154
cat > in.jsonl << 'END'
{"id":"a","text":"one two three four five six seven eight nine ten"}
{"id":"b","text":"Ten nine eight seven six five four three two one","note":"kept lines are byte for byte"}
{"id":"e","text":"nothing in common with those others"}
{"id":"c","text":"one two three four five six seven eight nine X"}
{"id":"f","text":"... !"}
{"id":"d","text":"one two three four five six seven eight X Y"}
END
set -- --shingle word:1 --bands 128 --rows 1

bm dedup in.jsonl "$@" --threshold 0.8 --pairs -o out; exits 0; silent ../out
says ../err '^bandmill: 1 of the removed is chained.*--cluster star'
printf 'id\tkept\tjaccard\treason\tfile\tline\tlost\nb\ta\t1.000000\tnear\tin.jsonl\t2\t0\nc\ta\t0.818182\tnear\tin.jsonl\t4\t1\nd\ta\t0.666667\tchained\tin.jsonl\t6\t2\n' | holds out/removed.tsv
printf '{"group":1,"kept":"a","size":4,"members":["a","b","c","d"]}\n' | holds out/groups.jsonl
printf 'id_a\tid_b\tjaccard\na\tb\t1.000000\na\tc\t0.818182\nb\tc\t0.818182\nc\td\t0.818182\n' | holds out/pairs.tsv
grep -E '"(a|e|f)"' in.jsonl | holds out/kept.jsonl
printf 'file\tfirst_row\tdocuments\tskipped\tremoved\tkept\nin.jsonl\t0\t6\t0\t3\t3\n' | holds out/sources.tsv
for count in '"records": ?6' '"documents": ?6' '"empty": ?1' '"groups": ?1' '"removed": ?3' '"kept": ?3' '"chained": ?1' '"edges": ?4'; do
    says out/report.json "$count\\b"
done

# stars: d is not at the threshold to a, so it stays
bm dedup in.jsonl "$@" --threshold 0.8 --cluster star -o star; exits 0
printf '{"group":1,"kept":"a","size":3,"members":["a","b","c"]}\n' | holds star/groups.jsonl
printf 'id\tkept\tjaccard\treason\tfile\tline\tlost\nb\ta\t1.000000\tnear\tin.jsonl\t2\t0\nc\ta\t0.818182\tnear\tin.jsonl\t4\t1\n' | holds star/removed.tsv

# a threshold that only just holds: 9/11 is an edge at 9/11, not above
bm pairs in.jsonl "$@" --threshold 0.8181818181818181; exits 0
printf 'id_a\tid_b\tjaccard\na\tb\t1.000000\na\tc\t0.818182\nb\tc\t0.818182\nc\td\t0.818182\n' | holds ../out
bm pairs in.jsonl "$@" --threshold 0.8181818181818183; exits 0
printf 'id_a\tid_b\tjaccard\na\tb\t1.000000\n' | holds ../out
bm pairs in.jsonl "$@" --threshold 0.6 --candidates all -q; exits 0; silent ../err
printf 'id_a\tid_b\tjaccard\na\tb\t1.000000\na\tc\t0.818182\na\td\t0.666667\nb\tc\t0.818182\nb\td\t0.666667\nc\td\t0.818182\n' | holds ../out
cp ../out all.tsv
bm pairs in.jsonl "$@" --threshold 0.6 -o lsh.tsv; exits 0; silent ../out
holds lsh.tsv < all.tsv
bm pairs in.jsonl "$@" --threshold 0.9 --json; exits 0
says ../out '^\{.*"id_a": ?"a".*"id_b": ?"b".*"jaccard": ?1'
silent ../err
bm pairs in.jsonl "$@" --threshold 0.9 --verify none; exits 0
says ../out '^a	b	$'

# --keep; a and b are equally long, and ties go to the first
for keep in last:d longest:a shortest:d; do
    bm dedup in.jsonl "$@" --threshold 0.8 --keep "${keep%%:*}" -o "keep.${keep%%:*}"; exits 0
    says "keep.${keep%%:*}/groups.jsonl" "\"kept\":\"${keep##*:}\""
done

# filter writes what dedup would have kept; a changed input is refused
bm dedup in.jsonl "$@" --threshold 0.8 --kept no -o find; exits 0
[ ! -e find/kept.jsonl ] || fail "--kept no wrote kept.jsonl"
bm filter find in.jsonl -o clean; exits 0
holds clean/kept.jsonl < out/kept.jsonl
bm filter find -o named; exits 0 # the inputs that the report names
holds named/kept.jsonl < out/kept.jsonl
bm filter find in.jsonl -o packed --kept gz; exits 0
gzip -dc packed/kept.jsonl.gz | cmp -s - out/kept.jsonl || fail "packed/kept.jsonl.gz differs"
cp in.jsonl was.jsonl
sed 's/X Y/X Z/' was.jsonl > in.jsonl
bm filter find in.jsonl -o changed; refused 7 'in\.jsonl'; absent changed
cp was.jsonl in.jsonl

# signatures in place of documents: the same result
bm sign in.jsonl --shingle word:1 --perms 128 -o sig; exits 0
bm dedup sig --threshold 0.8 --bands 128 --rows 1 -o from_sig; exits 0
holds from_sig/groups.jsonl < out/groups.jsonl
holds from_sig/removed.tsv < out/removed.tsv
bm sign in.jsonl --shingle word:2 -o sig2; exits 0
cp in.jsonl in2.jsonl
sed 's/"id":"/"id":"2/' in.jsonl > in2.jsonl
bm sign in2.jsonl --shingle word:2 -o sig3; exits 0
bm dedup sig sig3 -o mixed; refused 7 ''; absent mixed
bm inspect sig --json; exits 0
says ../out '"kind": ?"signatures"'

# the same bytes for any number of threads and batch size, and from stdin
for how in '--threads 1' '--threads 2' '--threads 7' '--batch-docs 1' '--batch-docs 2 --threads 3'; do
    # shellcheck disable=SC2086
    bm dedup in.jsonl "$@" --threshold 0.8 --pairs -o again $how; exits 0
    for file in removed.tsv groups.jsonl pairs.tsv kept.jsonl sources.tsv; do holds "again/$file" < "out/$file"; done
    rm -r again
done
command_line='cat in.jsonl | bandmill dedup -'
gzip -c in.jsonl | "$PROGRAM" dedup - "$@" --threshold 0.8 -o piped > ../out 2> ../err; rc=$?
exits 0
holds piped/groups.jsonl < out/groups.jsonl
sed 's/in.jsonl/-/' out/removed.tsv | holds piped/removed.tsv

# several inputs keep their names below their common directory
mkdir -p src/x
head -n 3 in.jsonl > src/one.jsonl
tail -n 3 in.jsonl | gzip > src/x/two.jsonl.gz
bm dedup src "$@" --threshold 0.8 -o several; exits 0
grep -E '"(a|e)"' in.jsonl | holds several/kept/one.jsonl
gzip -dc several/kept/x/two.jsonl.gz > two.jsonl
grep '"f"' in.jsonl | holds two.jsonl
printf 'src/one.jsonl\nsrc/x/two.jsonl.gz\n' > list
bm dedup --files-from list "$@" --threshold 0.8 -o listed; exits 0
holds listed/removed.tsv < several/removed.tsv
tr '\n' '\0' < list > list0
bm dedup --files-from list0 -0 "$@" --threshold 0.8 -o listed0; exits 0
holds listed0/removed.tsv < several/removed.tsv

# --json: the summary on stdout, nothing on stderr, --report the same
bm dedup in.jsonl "$@" --threshold 0.8 -o json --json --report report.json; exits 0; silent ../err
says ../out '"schema": ?1'
holds report.json < ../out

# rows are written in ranges: of 9,000 documents, each of them three times
awk 'BEGIN { for (i = 0; i < 9000; i++) printf "{\"id\":\"%d\",\"text\":\"a %d b\"}\n", i, i % 3000 }' > many.jsonl
awk 'BEGIN { for (i = 0; i < 3000; i++)
    printf "{\"group\":%d,\"kept\":\"%d\",\"size\":3,\"members\":[\"%d\",\"%d\",\"%d\"]}\n", i + 1, i, i, i + 3000, i + 6000 }' > groups
awk 'BEGIN { OFS = "\t"; print "id", "kept", "jaccard", "reason", "file", "line", "lost"
    for (i = 3000; i < 9000; i++) print i, i % 3000, "1.000000", "identical", "many.jsonl", i + 1, 0 }' > removed
for threads in 1 2 7; do
    bm dedup many.jsonl --shingle word:3 --threads $threads --kept no -o many; exits 0
    holds many/groups.jsonl < groups
    holds many/removed.tsv < removed
    rm -r many
done

# --candidates all: without bands, and what cannot be beside it; a recall of 1 is refused with its name, by pairs too
printf '{"text":"a b c d e f g h"}\n{"text":"a b c d e f g x"}\n{"text":"q r s t"}\n' > few.jsonl
bm dedup few.jsonl --candidates all --threshold 0.5 -v -o every; exits 0; says ../err 'plan: no bands; every pair is compared, exactly'
says every/report.json '"candidates": ?"all"'; says every/report.json '"plan": ?null'
printf '{"group":1,"kept":"few.jsonl:1","size":2,"members":["few.jsonl:1","few.jsonl:2"]}\n' | holds every/groups.jsonl
bm report every --json; exits 0
bm explain every --group 1; exits 0
bm filter every -o again -q; exits 0; holds again/kept.jsonl < every/kept.jsonl
bm dedup few.jsonl --candidates length --preset datatrove --threshold 0.5 --force -q -o every; exits 0; says every/report.json '"candidates": ?"all"'
bm sign few.jsonl -q -o known; exits 0
for options in '--bands 4 --rows 2:--bands with --candidates all' '--verify signature:--candidates all compares exactly' '--threshold 0:--threshold' \
    '--verify none:--candidates all compares exactly' '--verify contained:--candidates all compares exactly' \
    '--against known:--against with --candidates all' '--recall 1:--recall 1 .*--candidates all finds every pair'; do
    # shellcheck disable=SC2086
    bm dedup few.jsonl --candidates all ${options%%:*} -o no; refused 2 "${options#*:}"; absent no
done
bm dedup few.jsonl --recall 1 -o no; refused 2 '--recall 1 .*--candidates all finds every pair'
bm pairs few.jsonl --recall 1; refused 2 '--recall 1 .*--candidates all finds every pair'
bm query --targets few.jsonl few.jsonl --recall 1; refused 2 '--recall 1 .more than 0, less than 1.'
