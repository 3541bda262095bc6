# SPDX-License-Identifier: Apache-2.0
# explain: a chain of four documents whose ends are no pair, made by hand. Each has 40 words, five of them other than the one before:
# 35 of 45 are shared by neighbours (0.777778), 30 of 50 by the next but one (0.6), 25 of 55 by the ends (0.454545). With shingles of
# one word and as many bands of one row as permutations every pair at the threshold is a candidate but with probability (1-0.777778)^64.
# shellcheck shell=sh disable=SC2034,SC2086,SC2154
words() { seq -f 'w%g' -s ' ' "$1" "$2"; }
doc() { printf '{"id":"%s","text":"%s"}\n' "$1" "$2"; }
make() {
    doc a "$(words 0 39)"; doc b "$(words 5 44)"; doc c "$(words 10 49)"; doc d "$(words 15 54)"
    doc x "$(words 100 139)"; doc y "$(words 100 140)"; doc copy "$(words 0 39)"; doc alone "$(words 300 339)"
}
make > in.jsonl
options='--shingle word:1 --threshold 0.7 --perms 64 --bands 64 --rows 1'
dedup() { bm dedup in.jsonl $options -q "$@"; exits 0; }
dedup -o plain
dedup --pairs -o pairs
dedup --pairs --cluster star -o star
holds plain/groups.jsonl <<'END'
{"group":1,"kept":"a","size":5,"members":["a","b","c","d","copy"]}
{"group":2,"kept":"x","size":2,"members":["x","y"]}
END

# the chain, its ends, its cut; removed.tsv marks what is chained; the same from pairs.tsv and from the inputs
holds plain/removed.tsv <<'END'
id	kept	jaccard	reason	file	line	lost
b	a	0.777778	near	in.jsonl	2	5
c	a	0.600000	chained	in.jsonl	3	10
d	a	0.454545	chained	in.jsonl	4	15
y	x	0.975610	near	in.jsonl	6	1
copy	a	1.000000	identical	in.jsonl	7	0
END
for dir in plain pairs; do
    bm explain $dir a d; exits 0
    holds ../out <<'END'
group 1: 5 documents (4 without copies), 3 pairs, a is kept

the shortest chain has 3 links:
  a
    0.777778  the weakest link
  b
    0.777778
  c
    0.777778
  d

above a threshold of 0.777778 the two part
a and d themselves: 0.454545, below the threshold: joined through others only
the longest run of both: 25 words, bytes 50 to 149 of a, 0 to 99 of d
  w15 w16 w17 w18 w19 w20 w21 w22 w23 w24 w25 w26 w27 w28 w29 w30 w31 w32 w33 w34 w35 w36 w37 w38 w39
to part them 1 link must go; 2 documents would stay with a, 3 with d:
  a -- b  0.777778
END
    bm explain $dir d copy --json; exits 0; silent ../err
    holds ../out <<'END'
{"schema":1,"kind":"explain","threshold":0.7,"cluster":"components","group":1,"kept":"a","documents":5,"pairs":3,"a":"d","b":"copy","similarity":0.454545,"chain":[{"id_a":"d","id_b":"c","jaccard":0.777778},{"id_a":"c","id_b":"b","jaccard":0.777778},{"id_a":"b","id_b":"copy","jaccard":0.777778}],"weakest":0,"parts_above":0.777778,"cut":[{"id_a":"c","id_b":"d","jaccard":0.777778}],"with_a":1,"with_b":4,"run":{"units":25,"text":"w15 w16 w17 w18 w19 w20 w21 w22 w23 w24 w25 w26 w27 w28 w29 w30 w31 w32 w33 w34 w35 w36 w37 w38 w39","a":[0,99],"b":[50,149]}}
END
    bm explain $dir b copy --dot -q; exits 0; silent ../err
    holds ../out <<'END'
graph bandmill {
  node [shape=box];
  n1 [label="b", penwidth=2];
  n4 [label="copy\nand 1 copy", peripheries=2, penwidth=2];
  n1 -- n4 [label="0.777778", color=red, penwidth=2];
}
END
    bm explain $dir --group 1 -o group.$dir; exits 0; silent ../out
    holds group.$dir <<'END'
group 1: 5 documents (4 without copies), 3 pairs, a is kept

documents and their links; what holds the group together, with the parts that it falls into without it:
  a  1 link, with 1 copy
  b  2 links  holds 2 parts
  c  2 links  holds 2 parts
  d  1 link

bridges, links without which the group falls in two (documents on each side):
  a -- b  0.777778  2 + 3
  b -- c  0.777778  3 + 2
  c -- d  0.777778  4 + 1
END
    bm explain $dir --group 2 --json; exits 0
    holds ../out <<'END'
{"schema":1,"kind":"explain","threshold":0.7,"cluster":"components","group":2,"kept":"x","documents":2,"pairs":1,"members":["x","y"],"copies":[],"links":[{"id_a":"x","id_b":"y","jaccard":0.97561}],"bridges":[{"id_a":"x","id_b":"y","jaccard":0.97561,"with_a":1,"with_b":1}],"articulation_points":[]}
END
    # one id: of a removed document it and the one kept, of another its group
    bm explain $dir d -q; exits 0; cp ../out one
    bm explain $dir d a -q; exits 0; holds ../out < one
    says one '^the shortest chain has 3 links:$'
    bm explain $dir a -q; exits 0; holds ../out < group.$dir
    bm explain $dir alone; refused 1 "'alone' is in no group: it is like no other document\$"
    bm explain $dir nobody; refused 2 "no document 'nobody'"
    # two copies, and a copy in its group
    bm explain $dir copy -q; exits 0
    holds ../out <<'END'
group 1: 5 documents (4 without copies), 3 pairs, a is kept

the shortest chain has 1 link:
  copy
    1.000000
  a

copy and a themselves: 1.000000, identical: the same text, byte for byte
the longest run of both: 40 words, bytes 0 to 149 of copy, 0 to 149 of a
  w0 w1 w2 w3 w4 w5 w6 w7 w8 w9 w10 w11 w12 w13 w14 w15 w16 w17 w18 w19 w20 w21 w22 w23 w24 w25 w26 w27 w28 w29 w30 w31 w32 w33 w34 w35 w36 w37 w38 w39
END
    bm explain $dir a copy --json -q; exits 0
    says ../out '"similarity":1,"texts":"identical","chain":\[\{"id_a":"a","id_b":"copy","jaccard":1\}\],"weakest":0,"parts_above":null,"cut":\[\],"with_a":5,"with_b":0,'
    bm explain $dir --group 1 --json -q; exits 0
    says ../out '"copies":\[\{"id":"copy","of":"a"\}\],"links":\[\{"id_a":"a","id_b":"b","jaccard":0.777778\},'
    bm explain $dir --group 1 --dot -q; exits 0
    says ../out '^  n0 \[label="a\\nand 1 copy", peripheries=2\];$'
    ! grep -q '1\.000000' ../out || fail "a link between copies"
    bm explain $dir --group 2 --dot; exits 0
    says ../out '^  n0 -- n1 \[label="0.975610", color=red, penwidth=2\];$'
done

# star parts the chain, and explains what it left together
holds star/groups.jsonl <<'END'
{"group":1,"kept":"a","size":3,"members":["a","b","copy"]}
{"group":2,"kept":"c","size":2,"members":["c","d"]}
{"group":3,"kept":"x","size":2,"members":["x","y"]}
END
! grep -q chained star/removed.tsv || fail "star chains"
bm explain star a d; refused 1 "no chain: 'a' is in group 1, 'd' in group 2\$"
bm explain star b copy --json; exits 0
says ../out '"cluster":"star","group":1,.*"chain":\[\{"id_a":"b","id_b":"copy","jaccard":0.777778\}\],"weakest":0,"parts_above":null'

# exit codes
bm explain plain a x; refused 1 "no chain: 'a' is in group 1, 'x' in group 2\$"
bm explain plain alone x; refused 1 "no chain: 'alone' is in no group, 'x' in group 2\$"
bm explain plain a nobody; refused 2 "no document 'nobody'"
bm explain plain a a; refused 2 "'a' twice"
bm explain plain --group 3; refused 2 'no group 3 \(plain has 2\)$'
bm explain plain --group 0; refused 2 '--group'
bm explain plain a d x; refused 2 '4 operands'
bm explain plain a d --group 1; refused 2 '3 operands'
bm explain plain; refused 2 '1 operands'
bm explain plain a d --dot --json; exits 2
bm explain plain a d -o group.plain; refused 2 'group\.plain'
bm explain plain a d -o group.plain --force; exits 0; says group.plain '^the shortest chain has 3 links:$'
bm explain plain a d -o plain/more; refused 2 'plain/more'
bm explain in.jsonl a d; refused 7 'in\.jsonl'
bm explain missing a d; refused 4 'missing: cannot open: No such file or directory'
bm sign in.jsonl -o sig -q; exits 0
bm explain sig a d; refused 7 'sig: it holds .signatures'
bm explain plain a d --json; exits 0
bm explain plain a x --json; exits 1
says ../err '"exit":1,"status":"not_found"'

# a changed input is named, whether its size tells or its bytes; with pairs.tsv only the similarity of the two themselves is lost
cp in.jsonl same.jsonl
sed 's/w300/v300/' same.jsonl > in.jsonl
bm explain plain a d; refused 7 'in\.jsonl: the file is not the one'
bm explain pairs a d; exits 0; says ../out 'themselves: not known$'; says ../err 'warning: .*not known: in\.jsonl'
says ../err 'warning: what the two have in common is not known: in\.jsonl'
bm explain pairs a d --json; exits 0; says ../out '"similarity":null,'; says ../out '"run":null}'
bm explain pairs a b; exits 0; says ../out 'themselves: 0.777778$' # their own link
doc more "$(words 0 3)" >> in.jsonl
bm explain plain a d; refused 7 'in\.jsonl: the file is not the one .* bytes'
bm explain pairs a nobody; refused 2 "'nobody' is in no group: unknown, or like no other document"
rm in.jsonl
bm explain plain a d; refused 4 'in\.jsonl'
bm explain pairs --group 1; exits 0
cp same.jsonl in.jsonl

# files of the directory that do not match its report
sed -i 's/0.777778/0.877778/' pairs/pairs.tsv
bm explain pairs a d; refused 7 'pairs/pairs\.tsv: the file has changed'
rm pairs/pairs.tsv
bm explain pairs a d; refused 4 'pairs/pairs\.tsv'
sed -i 's/"copy"/"Copy"/' plain/groups.jsonl
bm explain plain a d; refused 7 'plain/groups\.jsonl: the file has changed'

# ids with everything in them: as the inputs have them on the command line, escaped where people read them
{
    printf '{"id":"t\\ta\\\\b\\"\\u001b[31m\\u0085","text":"%s"}\n' "$(words 0 39)"
    printf '{"id":"n\\nl","text":"%s"}\n{"id":"--json","text":"%s"}\n' "$(words 1 40)" "$(words 2 41)"
} > ids.jsonl
bm dedup ids.jsonl $options -q -o ids; exits 0
odd=$(printf 't\ta\\b"\033[31m\302\205')
bm explain ids "$odd" 'n
l' -q; exits 0
says ../out '^  t\\ta\\\\b"\\x1b\[31m\\xc2\\x85$'
says ../out '^  n\\nl$'
bm explain ids --json -q -- "$odd" --json; exits 0
says ../out '"a":"t\\ta\\\\b\\"\\u001b\[31m.*","b":"--json"'
bm explain ids --group 1 --dot; exits 0
says ../out 'label="t\\\\ta\\\\\\\\b\\"\\\\x1b\[31m\\\\xc2\\\\x85"'

# pairs that were not verified have no similarity; they are links all the same
bm dedup in.jsonl $options -q --verify none -o none; exits 0
bm explain none a b; exits 0
says ../out 'not known'
bm explain none a copy; exits 0 # but identical documents have
says ../out 'themselves: 1.000000'
# by signature: an agreement of words, which comes from the inputs again
bm dedup in.jsonl $options -q --verify signature --pairs -o signature; exits 0
bm explain signature --group 2 --json; exits 0
says ../out "\"jaccard\":$(awk -F'\t' '$1 == "x" {printf "%g", $3}' signature/pairs.tsv)"
# however the inputs were read and signed: what the report says is done again, so the answer is that of pairs.tsv
same() { # OPTIONS... INPUT, then: -- A B
    rm -rf with without; what=
    for word; do shift; [ "$word" = -- ] && break; what="$what $word"; done
    bm dedup $what -q -o without; exits 0
    bm dedup $what -q --pairs -o with; exits 0
    for form in --json --dot; do
        bm explain with -q $form -- "$@"; exits 0; cp ../out answer
        bm explain without -q $form -- "$@"; exits 0
        holds ../out < answer
    done
    bm explain with --group 1 --json; exits 0; cp ../out answer
    bm explain without --group 1 --json; exits 0
    holds ../out < answer
}
same $options in.jsonl -- a d
same $options --scheme oph --perms 256 --bands 256 --seed 5 in.jsonl -- a d
same $options --verify signature --seed 9 --perms 128 in.jsonl -- a b
same $options --verify none in.jsonl -- a copy
same $options --cluster star --keep last in.jsonl -- b copy
gzip -k in.jsonl
same $options in.jsonl.gz -- d copy
awk -F'"' '{printf "%s\t%s\n", $4, toupper($8)}' in.jsonl > in.tsv
same $options --id-field 1 --text-field 2 in.tsv -- a d
same $options --id-field none --text-field 2 --header no --normalize none in.tsv -- in.tsv:1 in.tsv:4
{ cat in.jsonl; echo '{"id":"a","text":7}'; head -n 2 in.jsonl; } > twice.jsonl
same $options --duplicate-ids number --on-error skip twice.jsonl -- a#2 d
mkdir texts
awk -F'"' '{print $8 > ("texts/" $4 ".txt")}' in.jsonl
same $options texts -- texts/a.txt texts/d.txt
rm -r sig
bm sign in.jsonl --shingle word:1 -q -o sig; exits 0
same --threshold 0.7 --perms 128 --bands 64 --rows 1 sig -- a d
# and of signatures that were compared alone: what they were made from is read again
same --threshold 0.7 --perms 128 --bands 64 --rows 1 --verify signature sig -- a b
# standard input cannot be read again
command_line='bandmill dedup -'
"$PROGRAM" dedup - $options -q -o stdin < in.jsonl > ../out 2> ../err; rc=$?
exits 0
bm explain stdin a d; refused 7 'stdin/report\.json: its input was standard input'
