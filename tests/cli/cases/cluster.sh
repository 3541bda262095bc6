# SPDX-License-Identifier: Apache-2.0
# cluster: groups of a list of pairs that can be counted on the fingers. A chain a-b-c-d, a pair x-y, a pair without similarity.
# shellcheck shell=sh disable=SC2034,SC2154
printf 'id_a\tid_b\tjaccard\na\tb\t0.900000\nb\tc\t0.800000\nx\ty\t0.700000\nc\td\t0.850000\n' > p.tsv

bm cluster p.tsv; exits 0
printf '{"group":1,"kept":"a","size":4,"members":["a","b","c","d"]}\n{"group":2,"kept":"x","size":2,"members":["x","y"]}\n' | holds ../out
bm cluster p.tsv --threshold 0.8 --keep last -q; exits 0; silent ../err
printf '{"group":1,"kept":"d","size":4,"members":["a","b","c","d"]}\n' | holds ../out
bm cluster p.tsv --cluster star --threshold 0.8 -o star.jsonl; exits 0; silent ../out
printf '{"group":1,"kept":"a","size":2,"members":["a","b"]}\n{"group":2,"kept":"c","size":2,"members":["c","d"]}\n' | holds star.jsonl
bm cluster p.tsv -o star.jsonl; refused 2 'star.jsonl'
bm cluster p.tsv -o p.tsv --force; refused 2 'p.tsv'

# the table, in the order asked for, the same from stdin and from CR LF behind a byte order mark
printf 'threshold\tpairs\tgroups\tlargest\tremoved\n0.7\t4\t2\t4\t4\n0.95\t0\t0\t0\t0\n0.85\t2\t2\t2\t2\n0.8\t3\t1\t4\t3\n' > table
bm cluster p.tsv --threshold 0.7,0.95,0.85,0.8; exits 0
holds ../out < table
command_line='bandmill cluster -'
{ printf '\357\273\277'; sed 's/$/\r/' p.tsv; } | "$PROGRAM" cluster - --threshold 0.7,0.95,0.85,0.8 > ../out 2> ../err; rc=$?
exits 0
holds ../out < table
bm cluster p.tsv --cluster star --threshold 0.8,0.7; exits 0
printf 'threshold\tpairs\tgroups\tlargest\tremoved\n0.8\t3\t2\t2\t2\n0.7\t4\t3\t2\t3\n' | holds ../out
bm cluster p.tsv --threshold 0.8,0.7 --json; exits 0
says ../out '"thresholds": ?\[\{"threshold": ?0.8,"pairs": ?3,"groups": ?1'

# escapes, and a pair whose similarity is not known
printf 'id_a\tid_b\tjaccard\nt\\tb\tn\\nl\t\n' > e.tsv
bm cluster e.tsv --threshold 1; exits 0
printf '{"group":1,"kept":"t\\tb","size":2,"members":["t\\tb","n\\nl"]}\n' | holds ../out
says ../err 'no similarity'

# bad rows: file, line, field
bad() {
    printf 'id_a\tid_b\tjaccard\na\tb\t1\n%b' "$1" > bad.tsv
    bm cluster bad.tsv; refused 3 "bad\\.tsv:3: $2"
}
bad 'a\tb\n' 'the row'
bad 'a\tb\t1\t2\n' 'the row'
bad '\n' 'the row'
bad 'a\ta\t1\n' 'id_b'
bad '\\x61\ta\t1\n' 'id_b' # one id, written in two ways
bad 'a\\q\tb\t1\n' 'id_a'
for number in 1.5 -0.1 nan ' 0.5' 0x1 .5 1. 1e 2e0; do bad "a\\tc\\t$number\\n" 'jaccard'; done
printf 'a\tb\t1\n' > bad.tsv
bm cluster bad.tsv; refused 3 'bad\.tsv:1: '
bm cluster missing.tsv; refused 4 'missing\.tsv'
for wrong in '--threshold 0' '--threshold 1.5' '--threshold 0.5,' '--threshold a' '--keep longest' '--keep max:a' '--cluster none'; do
    # shellcheck disable=SC2086
    bm cluster p.tsv $wrong; refused 2 ''
done
bm cluster; refused 2 ''
bm cluster p.tsv p.tsv; refused 2 ''

# a pair that is repeated, also turned round and with another similarity, counts as a row each time and joins once
printf 'id_a\tid_b\tjaccard\na\tb\t0.9\nb\ta\t0.7\na\tb\t0.9\nc\tb\t0.6\nd\te\t\n' > r.tsv
bm cluster r.tsv --threshold 0.9,0.7,0.6,1; exits 0
printf 'threshold\tpairs\tgroups\tlargest\tremoved\n0.9\t3\t2\t2\t2\n0.7\t4\t2\t2\t2\n0.6\t5\t2\t3\t3\n1\t1\t1\t2\t1\n' | holds ../out
says ../err '^bandmill: 5 pairs of 5 documents$'
bm cluster r.tsv --cluster star --keep last --threshold 0.6; exits 0
printf '{"group":1,"kept":"c","size":2,"members":["b","c"]}\n{"group":2,"kept":"e","size":2,"members":["d","e"]}\n' | holds ../out
# the groups do not depend on the order of the rows; only their order does: groups come in the order in which rows first name them
{ head -n 1 p.tsv; tail -n +2 p.tsv | sort -r; } > turned.tsv
bm cluster turned.tsv --threshold 0.7,0.95,0.85,0.8; exits 0
holds ../out < table
bm cluster turned.tsv; exits 0
printf '{"group":1,"kept":"x","size":2,"members":["x","y"]}\n{"group":2,"kept":"c","size":4,"members":["c","d","b","a"]}\n' | holds ../out
# no rows at all; no newline at the end; JSON of the table; a table in a file
printf 'id_a\tid_b\tjaccard\n' > none.tsv
bm cluster none.tsv; exits 0; silent ../out
bm cluster none.tsv --threshold 0.5,0.6; exits 0
printf 'threshold\tpairs\tgroups\tlargest\tremoved\n0.5\t0\t0\t0\t0\n0.6\t0\t0\t0\t0\n' | holds ../out
printf 'id_a\tid_b\tjaccard\na\tb\t1' > cut.tsv
bm cluster cut.tsv -o cut.jsonl; exits 0
printf '{"group":1,"kept":"a","size":2,"members":["a","b"]}\n' | holds cut.jsonl
bm cluster e.tsv --threshold 0.5,1 --json; exits 0
printf '%s\n' '{"schema":1,"kind":"cluster","cluster":"components","pairs":1,"documents":2,"unknown":1,"thresholds":[{"threshold":0.5,"pairs":1,"groups":1,"largest":2,"removed":1},{"threshold":1,"pairs":1,"groups":1,"largest":2,"removed":1}]}' | holds ../out
# a bad row leaves no output
printf 'id_a\tid_b\tjaccard\na\tb\t1\na\tb\n' > bad.tsv
bm cluster bad.tsv -o bad.jsonl; refused 3 'bad\.tsv:3: '
absent bad.jsonl
# what dedup --pairs and pairs wrote is such a list, escapes and all
printf '{"id":"t\\ta","text":"a b c d e f"}\n{"id":"n\\nl\\\\","text":"a b c d e f"}\n{"id":"other","text":"u v w x y z"}\n' > ids.jsonl
bm dedup ids.jsonl --pairs -q -o ids; exits 0
bm cluster ids/pairs.tsv; exits 0
holds ../out < ids/groups.jsonl
