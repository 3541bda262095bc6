# SPDX-License-Identifier: Apache-2.0
# dedup --against DIR, which sign wrote, with exact similarities: inputs of known documents are read again, those alone that hold
# candidates; what is written is what an index of the same documents gives. Inputs that moved, changed or are gone.
# With 40 bands of one row no pair at .5 is missed. The documents are words w1 w2 …: J of w1…w20 and w3…w22 is 18/22.
# shellcheck shell=sh disable=SC2086,SC2154
words() { seq -f 'w%g' -s ' ' "$1" "$2"; }
doc() { printf '{"id":"%s","text":"%s"}\n' "$1" "$2"; }
text='--shingle word:1'
bands='--threshold 0.7 --bands 40 --rows 1'
{ doc k0 "$(words 901 920)"; doc k1 "$(words 1 20)"; doc empty ""; } > one.jsonl
{ doc x1 "$(words 801 820)"; doc x2 "$(words 821 840)"; } > two.jsonl # which nothing looks like
{ doc k2 "$(words 101 120)"; echo '{"id":"bad","text":7}'; doc k3 "$(words 102 121)"; doc same "$(words 301 320)"; } > three.jsonl
{
    doc a "$(words 3 22)"     # .818 to k1
    doc b "$(words 5 24)"     # .818 to a, .667 to k1: chained
    doc c "$(words 201 220)"  # alone, with d
    doc d "$(words 201 221)"
    doc e "$(words 101 120)"  # k2 itself; .905 to k3
    doc f "$(words 105 124)"  # .739 to k3, .667 to k2
    doc same "$(words 301 321)" # the id of a known one
    doc i "$(words 101 120)"  # a copy of e
} > new.jsonl
bm index build index one.jsonl two.jsonl three.jsonl $text $bands --on-error skip -q; exits 0
bm sign one.jsonl two.jsonl three.jsonl $text --perms 40 --on-error skip -q -o signed; exits 0
same() { # OUT EXPECTED
    for file in removed.tsv groups.jsonl kept.jsonl sources.tsv; do holds "$1/$file" < "$2/$file"; done
}

bm dedup --against index new.jsonl -q -o by.index; exits 0
cat > exact.tsv <<'END'
id	kept	jaccard	reason	file	line	lost
a	k1	0.818182	known	new.jsonl	1	2
b	k1	0.666667	chained	new.jsonl	2	4
d	c	0.952381	near	new.jsonl	4	1
e	k2	1.000000	known	new.jsonl	5	0
f	k3	0.739130	known	new.jsonl	6	3
same	same	0.952381	known	new.jsonl	7	1
i	k2	1.000000	known	new.jsonl	8	0
END
holds by.index/removed.tsv < exact.tsv
bm dedup --against signed new.jsonl $bands -v -o default; exits 0
same default by.index
says ../err '4 of 8 known documents are candidates: 2 of 3 inputs of signed are read again'
checks=$((checks + 1))
! grep -qE 'warning|skipped:' ../err || fail "a warning"
says default/report.json '"verify": "exact"'
tr -d ' \n' < default/report.json > flat
tr -d ' \n' < by.index/report.json | grep -oE '"against":\{[^}]*\}' > counts # as many candidates, verified and found
says flat "$(sed 's/"documents":[0-9]*/"documents":8/' counts)"
bm dedup --against signed new.jsonl $bands --verify exact --threads 1 --batch-docs 1 -q -o asked; exits 0
same asked by.index
bm dedup --against index new.jsonl --cluster star -q -o star.index; exits 0
bm dedup --against signed new.jsonl $bands --cluster star -q -o star; exits 0
same star star.index
bm dedup --against signed new.jsonl $bands --verify none -o no; refused 2 '.*--verify'
bm dedup --against signed new.jsonl $bands -o no --report one.jsonl --force; refused 2 '.*one.jsonl'
absent no

# new documents that were signed too: exact where the inputs of both are there
bm sign new.jsonl $text --perms 40 -q -o new.signed; exits 0
bm dedup --against signed new.signed $bands -q -o both; exits 0
same both by.index
mv new.jsonl aside
bm dedup --against signed new.signed $bands --kept no -o by.words; exits 0
says ../err 'warning: new.jsonl: the file is not there any more'
says by.words/report.json '"verify": "signature"'
mv aside new.jsonl

# an input without candidates is not opened: this one would end the job
size=$(wc -c < two.jsonl)
cp two.jsonl two.was
head -c "$size" /dev/zero | tr '\0' '{' > two.jsonl
bm dedup --against signed new.jsonl $bands -q -o unread; exits 0
same unread by.index
doc far "$(words 801 821)" > far.jsonl # a candidate of x1
bm dedup --against signed far.jsonl $bands --verify exact -o no; refused 7 'two.jsonl: the file is not the one that signed/manifest.json was made from \(its bytes differ\)'
absent no
bm dedup --against signed far.jsonl $bands -o changed; exits 0
says ../err 'warning: two.jsonl: the file is not the one that signed/manifest.json was made from.*: known documents are compared by their signatures only'
says changed/report.json '"verify": "signature"'
bm dedup --against signed far.jsonl $bands --verify signature -q -o asked.words; exits 0
same changed asked.words
cp two.was two.jsonl
: > none.jsonl
bm dedup --against signed none.jsonl $bands -q -o nothing; exits 0
silent nothing/groups.jsonl

# resumed, also where a known input changed meanwhile
broken() {
    { cat new.jsonl; echo '{"id":"z'; } > part.jsonl
    BANDMILL_SEAL_SECONDS=0 bm dedup --against signed part.jsonl $bands --batch-docs 2 -o part; exits 3
    [ -d part.partial ] || fail "nothing is sealed"
    cp new.jsonl part.jsonl
}
broken
bm dedup --against signed part.jsonl $bands -o part --resume; exits 0
cut -f 1-4 part/removed.tsv > rows
cut -f 1-4 exact.tsv | holds rows
rm -r part
broken
sed -i 's/w101 /w999 /' three.jsonl
bm dedup --against signed part.jsonl $bands --verify exact -o part --resume; exits 7
says ../err '^bandmill: three.jsonl: the file is not the one'
sed -i 's/w999 /w101 /' three.jsonl
bm dedup --against signed part.jsonl $bands --verify exact -o part --force -q; exits 0
cut -f 1-4 part/removed.tsv > rows
cut -f 1-4 exact.tsv | holds rows

# moved: beside the signatures, and below --sources
mkdir -p far/away deep/er
mv one.jsonl two.jsonl three.jsonl signed far
bm dedup --against far/signed new.jsonl $bands -q -o beside; exits 0
same beside by.index
mv far/one.jsonl far/two.jsonl far/three.jsonl deep/er
bm dedup --against far/signed new.jsonl $bands --verify exact -o no; refused 7 'one.jsonl: the file is not there any more.*--sources'
bm dedup --against far/signed new.jsonl $bands --verify exact --sources deep/er -q -o sources; exits 0
same sources by.index
bm dedup --against far/signed new.jsonl $bands -o gone; exits 0
says ../err 'warning: one.jsonl: the file is not there any more'
says gone/report.json '"verify": "signature"'
absent no
"$PROGRAM" sign - $text --perms 40 -q -o piped < deep/er/one.jsonl || fail "sign -"
bm dedup --against piped new.jsonl $bands -o through; exits 0
says ../err 'warning: .*standard input, which cannot be read again'
bm dedup --against piped new.jsonl $bands --verify exact -o no; refused 7 '.*standard input'

# other formats, compressed too, several files and directories; an id twice
mkdir dir
words 1 20 > dir/k1
words 101 120 > dir/k2
words 102 121 > dir/k3
printf 'k1\t%s\nk2\t%s\nk2\t%s\n' "$(words 1 20)" "$(words 101 120)" "$(words 102 121)" > known.tsv
printf 'name,body\nk1,"%s"\nk2,"%s\n"\nk3,%s\n' "$(words 1 20)" "$(words 101 120)" "$(words 102 121)" > known.csv
{ words 1 20; words 101 120; words 102 121; } > known.lines
{ printf '['; doc k1 "$(words 1 20)"; echo ','; doc k2 "$(words 101 120)"; echo ','; doc k3 "$(words 102 121)"; echo ']'; } > known.json
gzip -k known.tsv known.csv known.json
words 1 20 > w; gzip -c w > known.lines.gz; { words 101 120; words 102 121; } | gzip >> known.lines.gz
of() { # NAME OPTIONS of reading, and inputs
    name=$1; shift
    bm index build "$name.index" "$@" $text $bands -q; exits 0
    bm sign "$@" $text --perms 40 -q -o "$name.signed"; exits 0
    bm dedup --against "$name.index" new.jsonl -q -o "$name.1"; exits 0
    bm dedup --against "$name.signed" new.jsonl $bands --verify exact -q -o "$name.2"; exits 0
    same "$name.2" "$name.1"
    cut -f 1,3,4 "$name.2/removed.tsv" > rows
    grep -v '^same' exact.tsv | cut -f 1,3,4 | holds rows
}
of files --format files dir
for more in '' .gz; do
    of tsv$more --format tsv --id-field 1 --text-field 2 --duplicate-ids number known.tsv$more
    of csv$more --format csv --id-field name --text-field body known.csv$more
    of lines$more --format lines known.lines$more
    of json$more --format json known.json$more
done

# other elements: bags, and stop words of a file, of which the directory has its own copy; what is written is what the index gives
{ doc b1 'the cat and the dog and the cat sat on the mat'; doc b2 "$(words 1 20)"; } > bags.jsonl
{ doc n1 'the cat and the dog and the cat sat on the mat with the cat'; doc n2 "$(words 3 22)"; doc n3 'on the mat the cat sat'; } > asked.jsonl
elements() { # NAME OPTIONS
    name=$1; shift
    bm index build "$name.index" bags.jsonl "$@" --threshold 0.4 --bands 40 --rows 1 -q; exits 0
    bm sign bags.jsonl "$@" --perms 40 -q -o "$name.signed"; exits 0
    bm dedup --against "$name.index" asked.jsonl -q -o "$name.1"; exits 0
    [ ! -e stop ] || mv stop stop.gone
    bm dedup --against "$name.signed" asked.jsonl --threshold 0.4 --bands 40 --rows 1 --verify exact -q -o "$name.2"; exits 0
    for file in removed.tsv groups.jsonl kept.jsonl sources.tsv; do holds "$name.2/$file" < "$name.1/$file"; done
    says "$name.2/removed.tsv" '^n1	b1	'
}
elements bag --shingle word:1 --bag
says bag.2/removed.tsv '^n1	b1	0.800000' # 12 of 15 words
printf 'the\nand\non\n' > stop
elements stop --shingle stopword:1 --stopwords stop
