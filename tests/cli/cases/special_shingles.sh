# SPDX-License-Identifier: Apache-2.0
# --shingle stopword:K with --stopwords, and --bag: what they find, refusals, that signatures and indexes know them, that a list that
# is gone is not missed, and that a job is not resumed with another list. (What they come to exactly: tests/reference/test_special.py.)
# shellcheck shell=sh disable=SC2034,SC2154
printf '%s\n' '{"id":"a","text":"The cat sat on the mat and the dog sat on the mat."}' \
    '{"id":"b","text":"A dog sat on the mat and the cat sat on the mat."}' \
    '{"id":"c","text":"Cats sit here before"}' '{"id":"d","text":"none"}' \
    '{"id":"e","text":""}' > in.jsonl
printf '\357\273\277The\r\n\nON \nthe\n' > list.txt

# The shingles of a are {the cat sat, on the mat, the mat and, and the dog, the dog sat}, those of b {a dog sat, on the mat, the mat and,
# and the cat, the cat sat}, by hand: 3 of 7 in common.
bm pairs in.jsonl --shingle stopword:2 --threshold .1 -q; exits 0
printf 'id_a\tid_b\tjaccard\na\tb\t0.428571\n' | holds ../out
# Without `and` and `a`: {the cat sat, on the mat, the mat and, the dog sat}, {on the mat, the mat and, the cat sat}.
bm pairs in.jsonl --shingle stopword:2 --stopwords list.txt --threshold .1 -q; exits 0
printf 'id_a\tid_b\tjaccard\na\tb\t0.750000\n' | holds ../out
# The words of a: the 4, cat, sat 2, on 2, mat 2, and, dog; of b: the 3, a, the rest alike. 12 of 14.
bm pairs in.jsonl --shingle word:1 --bag --threshold .1 --candidates all -q; exits 0
printf 'id_a\tid_b\tjaccard\na\tb\t0.857143\n' | holds ../out

# --- refused ---
for command in sign dedup pairs; do
    bm $command in.jsonl -o out --stopwords en; refused 2 '--stopwords is for --shingle stopword:K$'
    bm $command in.jsonl -o out --shingle stopword:2 --stopwords nowhere; refused 4 'nowhere: cannot open: No such file'
    absent out
done
printf 'the\nof the\n' > two.txt
bm sign in.jsonl -o out --shingle stopword:2 --stopwords two.txt; refused 3 'two\.txt:2: more than one word '
printf 'the\n\n--\n' > none.txt
bm sign in.jsonl -o out --shingle stopword:2 --stopwords none.txt; refused 3 'none\.txt:3: no word '
printf 'the\nof\377\n' > latin.txt
bm sign in.jsonl -o out --shingle stopword:2 --stopwords latin.txt; refused 3 'latin\.txt:2: no UTF-8 '
printf '\r\n \n' > empty.txt
bm sign in.jsonl -o out --shingle stopword:2 --stopwords empty.txt; refused 3 'empty\.txt: no stop words '
bm sign in.jsonl -o out --shingle stopword:2 --stopwords .; refused 4 '\.: cannot read: Is a directory'
bm pairs in.jsonl -o list.txt --force --shingle stopword:2 --stopwords list.txt; exits 2; says ../err 'list\.txt'
absent out

# --- signatures ---
bm sign in.jsonl -o list --shingle stopword:2 --stopwords list.txt -q; exits 0
bm sign in.jsonl -o english --shingle stopword:2 -q; exits 0
bm sign in.jsonl -o english2 --shingle stopword:2 --stopwords en -q; exits 0
bm sign in.jsonl -o bag --shingle stopword:2 --bag -q; exits 0
says list/manifest.json '"stopwords": ?"on the"'
says english/manifest.json '"stopwords": ?"a about above'
says english/manifest.json '"stopwords_xxh3": ?"b4f4a2dda641327c"'
says bag/manifest.json '"bag": ?1'
says english/manifest.json '"empty": ?2' # e, and c, which has words enough, but no stop word with two behind it
says english/manifest.json '"short": ?1'
holds english2/signatures.npy < english/signatures.npy
bm pairs english list; refused 7 'list/manifest\.json: provenance\.stopwords differs from that of english/manifest\.json'
bm pairs english bag; refused 7 'bag/manifest\.json: provenance\.bag differs'
bm pairs english --bag; refused 2 '--bag yes contradicts the signatures of english \(no\)'
bm pairs bag --bag --shingle stopword:2 --stopwords en -q; exits 0
bm pairs english --shingle stopword:2 --stopwords list.txt; refused 2 '--stopwords [0-9a-f]{16} contradicts the signatures of english \(en\)'
bm pairs list --shingle stopword:2 --stopwords en; refused 2 '--stopwords en contradicts'
bm pairs list --shingle stopword:2 -q; exits 0
printf 'on\nthe\nON' > same.txt
bm pairs list --shingle stopword:2 --stopwords same.txt -q; exits 0

# --- an index ---
bm index build index in.jsonl --shingle stopword:2 --stopwords list.txt --bag --threshold .3 -q; exits 0
bm dedup in.jsonl -o work --shingle stopword:2 --stopwords list.txt --bag --pairs --threshold .3 -q; exits 0
rm list.txt
bm index check index; exits 0
printf '{"id":"q","text":"The cat sat on the mat and the dog sat on the mat."}\n' > q.jsonl
bm query index q.jsonl -q --top 1; exits 0
printf 'query\ttarget\tjaccard\nq\ta\t1.000000\n' | holds ../out
bm query index q.jsonl --shingle stopword:2; exits 0
bm index add index q.jsonl --shingle stopword:3; refused 2 '--shingle stopword:3 contradicts the index index \(stopword:2\)'
bm index add index q.jsonl --stopwords en --shingle stopword:2; refused 2 '--stopwords en contradicts'
bm index add index q.jsonl -q; exits 0
bm index compact index -q; exits 0
bm index info index; exits 0; says ../out '^  stopwords: on the$'; says ../out '^  bag: 1$'
bm query index q.jsonl -q; exits 0; says ../out '^q	q	1\.000000$'
bm dedup q.jsonl --against index -o known -q; exits 0; says known/removed.tsv '^q	a	1\.000000	known'

# --- what dedup wrote, from the list that is gone ---
bm explain work a b; exits 0
bm pairs list --threshold .1 -q; exits 0; says ../out '^a	b	0\.750000$'

# --- another list is another job ---
printf 'on\nthe\n' > list.txt
mkdir lines
i=0
while [ $i -lt 300 ]; do
    echo "the words of document $((i / 2)) on line $i the end"
    i=$((i + 1))
done > lines/in.txt
bm sign lines --format lines -o done --shingle stopword:1 --stopwords list.txt -q; exits 0
bm sign lines --format lines -o done --shingle stopword:1 --stopwords same.txt --resume -q; exits 0
printf 'on\nthe\nline\n' > list.txt
bm sign lines --format lines -o done --shingle stopword:1 --stopwords list.txt --resume; refused 2 'done: the output exists already'

# --- tune: panels of several kinds ---
bm tune in.jsonl --shingle word:1 --shingle stopword:2 --stopwords same.txt --bag --threshold .5 --json; exits 0
says ../out '"shingle": ?"stopword:2"'
bm tune in.jsonl --shingle word:1 --stopwords same.txt; refused 2 '--stopwords is for'

# --- arrays of hashes ---
if $PYTHON -c 'import numpy' 2> /dev/null; then
    $PYTHON -c 'import numpy; numpy.save("h.npy", numpy.array([7, 7, 8, 9, 9, 9, 7, 8, 9, 9, 5], "<u8"))
numpy.save("o.npy", numpy.array([0, 6, 11], "<i8"))'
    # {7 7 8 9 9 9} and {7 8 9 9 5}: 4 of 7.
    bm pairs --format hashes h.npy --offsets o.npy --bag --threshold .5 --candidates all -q; exits 0
    says ../out '	0\.571429$'
fi
