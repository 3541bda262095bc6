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

# the table, in the order asked for, the same from stdin and from CR LF
printf 'threshold\tpairs\tgroups\tlargest\tremoved\n0.7\t4\t2\t4\t4\n0.95\t0\t0\t0\t0\n0.85\t2\t2\t2\t2\n0.8\t3\t1\t4\t3\n' > table
bm cluster p.tsv --threshold 0.7,0.95,0.85,0.8; exits 0
holds ../out < table
command_line='bandmill cluster -'
sed 's/$/\r/' p.tsv | "$PROGRAM" cluster - --threshold 0.7,0.95,0.85,0.8 > ../out 2> ../err; rc=$?
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
bad 'a\ta\t1\n' 'id_b'
bad 'a\\q\tb\t1\n' 'id_a'
for number in 1.5 -0.1 nan ' 0.5' 0x1 .5 1. 1e 2e0; do bad "a\\tc\\t$number\\n" 'jaccard'; done
printf 'a\tb\t1\n' > bad.tsv
bm cluster bad.tsv; refused 3 'bad\.tsv:1: '
bm cluster missing.tsv; refused 4 'missing\.tsv'
for wrong in '--threshold 0' '--threshold 1.5' '--threshold 0.5,' '--threshold a' '--keep longest' '--cluster none'; do
    # shellcheck disable=SC2086
    bm cluster p.tsv $wrong; refused 2 ''
done
bm cluster; refused 2 ''
bm cluster p.tsv p.tsv; refused 2 ''
