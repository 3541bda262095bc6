# SPDX-License-Identifier: Apache-2.0
# report: one page about the result of dedup. tests/reference/test_report.py checks its numbers and markup.
# shellcheck shell=sh disable=SC2034,SC2154
words() { seq -f 'w%g' -s ' ' "$1" "$2"; }
doc() { printf '{"id":"%s","text":"%s"}\n' "$1" "$2"; }
{ doc a "$(words 0 39)"; doc b "$(words 5 44)"; doc c "$(words 10 49)"; doc d "$(words 15 54)"
  doc x "$(words 100 139)"; doc y "$(words 100 140)"; doc copy "$(words 0 39)"; doc alone "$(words 300 339)"; } > in.jsonl
options='--shingle word:1 --threshold 0.7 --perms 64 --bands 64 --rows 1'
# shellcheck disable=SC2086
bm dedup in.jsonl $options -q --pairs -o dir; exits 0
# shellcheck disable=SC2086
bm dedup in.jsonl $options -q -o plain; exits 0

# to stdout, to a file, as data
bm report dir; exits 0
cp ../out page.html
says page.html '^<!DOCTYPE html>$'
says page.html '<h1>5 of 8 documents were removed, [0-9.]+ k?B of text</h1>'
says page.html '<dd data-count="chained">2</dd>'
says page.html '^<tr><td>--cluster star, at 0.7</td><td class="n">3</td><td class="n">3</td><td class="n">4</td><td class="n">4</td></tr>$'
says ../err 'bandmill: [0-9]+ texts shown, 0 not available; [0-9,]+ bytes'
checks=$((checks + 1))
! grep -qE 'https?:|style="|<link|@import|url\(' page.html || fail "the page asks for something"
bm report dir -o new/page.html -q; exits 0; silent ../out; silent ../err
holds page.html < new/page.html
bm report dir --json -q; exits 0; silent ../err
says ../out '^\{"schema":1,"kind":"report","version":'
says ../out '"star":\{"threshold":0.7,"pairs":5,"groups":3,"largest":3,"removed":4\}'
says ../out '"bridges":\[\{"a":"a","b":"b","jaccard":0.777778,"with_a":2,"with_b":3\}'

# options have their names, and the command is the one that people type
says page.html '<pre><code>bandmill dedup in\.jsonl --shingle word:1 --threshold 0\.7 --perms 64 --bands 64 --rows 1 -q --pairs -o dir</code></pre>'
says page.html '<tr><th scope="row">--text-field</th><td><span class="name">text</span></td></tr>'
says page.html '<tr><th scope="row">--max-doc-bytes</th>'
! sed -n '/id="run"/,$p' page.html | grep -qE '<th scope="row">[a-z0-9]*_' || fail "a setting that is no option's name"

# copies are one node of the graph, and no link joins them
says ../out '"chained_group":\{.*"documents":5,"copies":1,"links":3,.*"drawn":4,'
says page.html '5 documents, of which 1 is a copy of another and makes one node with it, and 3 links'
says page.html '<title>a, which is kept, and 1 copy of it: 1 link</title>'
! sed 's/.*"chained_group"//; s/"other_thresholds".*//' ../out | grep -q '"jaccard":1[,}]' || fail "a link between copies"

# without pairs.tsv the links of the group come from the inputs, and other choices are not known
bm report plain --json -q; exits 0
says ../out '"from_inputs":true'
says ../out '"no_star":"the directory has no pairs.tsv'
says ../out '"of":"removed"'

# a sample, and how many of it are wrong; what is wrong with a list of labels
printf 'copy\tright\r\n\nd\twrong' > labels.tsv
bm report dir --sample-labels labels.tsv -q; exits 0
says ../out 'Of 2 that somebody judged, 1 is rightly removed: a precision of 0\.5, and with a confidence of 95 % between 0\.0945 and 0\.9055 of all'
says ../out '<span class="note">wrong</span>'
bm report dir --json -q --sample 2; exits 0; says ../out '"sample":\{"of":5,"n":2,"seed":1,"labelled":0,"right":0,"wrong":0\}'
for bad in 'alone\tright' 'copy\tmaybe' 'copy' 'copy\tright\ncopy\tright' 'x\\q\twrong'; do
    printf "$bad\n" > labels.tsv
    bm report dir --sample-labels labels.tsv; refused 3 "labels\.tsv:[12]: (the id '.*' (is not in the sample|occurs twice)|no label after the id)"
done
bm report dir --sample-labels missing.tsv; refused 4 'missing\.tsv'
bm report dir --sample-labels labels.tsv -o labels.tsv --force; refused 2 'labels\.tsv'

# a page is not written to a terminal; data is
cat > typed.py <<'END'
import os, pty, sys
code = pty.spawn(sys.argv[1:])
sys.exit(os.waitstatus_to_exitcode(code))
END
command_line='bandmill report dir, on a terminal'
"${PYTHON:-python3}" typed.py "$PROGRAM" report dir < /dev/null > ../err; rc=$?; exits 2
says ../err '^bandmill: a page of HTML to a terminal \(expected -o FILE\.html, with --open to look at it, or --json\)'
"${PYTHON:-python3}" typed.py "$PROGRAM" report dir --json -q < /dev/null > typed; rc=$?; exits 0; says typed '^\{"schema":1'
"${PYTHON:-python3}" typed.py "$PROGRAM" report dir -o typed.html -q < /dev/null > ../out; rc=$?; exits 0; holds typed.html < page.html

# --open hands the page to the desktop; without one it is there all the same
mkdir bin; printf '#!/bin/sh\necho "$1" > opened\n' > bin/xdg-open; chmod +x bin/xdg-open
(PATH=$PWD/bin:$PATH "$PROGRAM" report dir -o opened.html --open -q) || fail 'report --open failed'
echo opened.html | holds opened
(PATH=$PWD "$PROGRAM" report dir -o again.html --open) 2> ../err; rc=$?; exits 0; says ../err 'warning: xdg-open could not open the page'
holds again.html < opened.html
bm report dir --open; refused 2 '--open without a file'

# how much is shown
bm report dir --json --pairs 1 --groups 0 --text-bytes 7 -q; exits 0
says ../out '"just_above":\[\{"a":"a","b":"b","jaccard":0.777778,"shared_shingles":35\}\]'
says ../out '"text":"w0 w1 w"'
says ../out '"largest_groups":\[\]'

# none of a group is kept: all of its documents are removed, and none is named in the place of the kept one
# shellcheck disable=SC2086
bm dedup in.jsonl $options -q --pairs --keep none -o none; exits 0
bm report none --json -q; exits 0
says ../out '"largest_groups":\[\{"group":1,"kept":null,"known":false,"size":5,"removed":5,"identical":[0-9],"equal":[0-9],"chained":0,"least_jaccard":null\},\{"group":2,"kept":null,"known":false,"size":2,"removed":2,'
says ../out '"star":\{"threshold":0.7,"pairs":5,"groups":3,"largest":3,"removed":7\}'
checks=$((checks + 1))
! grep -q '"id":""' ../out || fail "a document without a name"
bm report none; exits 0
says ../out 'none of their documents stays, and 7 go\.'
says ../out '<td><span class="note">none</span></td>'
says ../err 'bandmill: [0-9]+ texts shown, 0 not available'

# an existing file: ours is replaced with --force only, a file of others never, the input never
bm report dir -o new/page.html; refused 2 'new/page.html'
bm report dir -o new/page.html --force -q; exits 0
bm report dir --json -o new/page.html --force -q; exits 0
bm report dir -o new/page.html --force -q; exits 0
holds new/page.html < page.html
echo mine > mine.html
bm report dir -o mine.html --force; refused 2 'mine.html'
bm report dir -o in.jsonl --force; refused 2 'in.jsonl'
bm report dir -o dir/page.html; refused 2 'dir/page.html'
absent dir/page.html

# a directory that dedup did not write, or one that was changed
bm report; refused 2 '0 operands'
bm report dir plain; refused 2 '2 operands'
bm filter nowhere -o no; refused 4 'nowhere: cannot open: No such file or directory'; absent no
bm report nowhere; refused 4 'nowhere: cannot open: No such file or directory'
bm sign in.jsonl -q -o signed; exits 0
bm report signed; refused 7 "signed.*holds 'signatures'"
cp -r dir broken; echo >> broken/removed.tsv
bm report broken -o no.html; refused 7 'broken/removed.tsv'
absent no.html
cp -r dir broken2; sed -i 's/0.7/0.8/' broken2/pairs.tsv
bm report broken2 -o no.html; refused 7 'broken2/pairs.tsv'
absent no.html

# the inputs: elsewhere, changed, gone
mkdir moved; mv in.jsonl moved
bm report dir --sources moved -q; exits 0
cp ../out found.html
holds found.html < page.html
cp moved/in.jsonl in.jsonl; sed -i 's/w39/w93/' in.jsonl
bm report dir; exits 0
says ../out 'its bytes differ'
says ../err 'texts are missing: .*in.jsonl'
says ../out '<dd data-count="removed">5</dd>'
rm in.jsonl
bm report dir; exits 0
says ../out '1 of 1 input is gone'
bm report plain --json -q; exits 0
says ../out '"why_not":"the directory has no pairs.tsv, which dedup --pairs writes, and the texts of the group could not be read again"'

# a corpus without pairs, an empty one
doc one "$(words 0 39)" > alone.jsonl
bm dedup alone.jsonl -q -o lone; exits 0
bm report lone; exits 0
says ../out 'There are no groups'
says ../out '<h1>Nothing was removed</h1>'
says ../out 'Of 1 record, none repeats an earlier one; the bands proposed no pairs. Every document stays.'
: > empty.jsonl
bm dedup empty.jsonl -q -o empty; exits 0
bm report empty; exits 0
says ../out '<h1>There were no documents</h1>'

# known documents, whose ids others may have: their texts are not those of these others
doc a "$(words 0 39)" > known.jsonl
{ doc a "$(words 600 639)"; doc b "$(words 1 39)"; } > new.jsonl
bm sign known.jsonl --shingle word:1 --perms 64 -q -o known; exits 0
# shellcheck disable=SC2086
bm dedup new.jsonl $options --against known -q -o against; exits 0
bm report against --json -q; exits 0
says ../out '"just_above":\[\{"a":"a","b":"b","a_known":true,"jaccard":0.975000\}\]|"just_above":\[\{"a":"a","b":"b","a_known":true,"jaccard":0.975\}\]'
says ../out '"kept":"a","known":true,"size":1'
bm report against -q; exits 0
says ../out 'The text is not shown: it is not in the inputs'
checks=$((checks + 1))
! grep -q w600 ../out || fail "the text of another document of that id"

# many files: their folders, the largest first, at most 20 rows; of one folder its largest files; a few are listed each
mkdir many
i=0
while [ $i -lt 25 ]; do
    mkdir many/$i
    seq $((i * 100)) $((i * 100 + 20 + i)) > many/$i/a.txt
    seq 5000 5009 > many/$i/b.txt
    i=$((i + 1))
done
bm dedup many -o folders -q; exits 0
tr -d ' \n' < folders/report.json > flat
says flat '"inputs_from_here":\{"names_begin":"","paths_begin":"\.\./"\}' # one list of the inputs
rows() { sed -n '/<table class="sorts inputs">/,/<\/table>/p' ../out | grep '^<tr><td>'; }
bm report folders -q; exits 0
rows > table
[ "$(wc -l < table)" = 20 ] || fail "not 20 rows"
sed -n 1p table > row; says row '<span class="name">many/24/</span> <span class="note">2 files</span></td><td class="n">2</td><td class="n">0</td><td class="n">1</td><td class="n">1</td>'
sed -n 19p table > row; says row '<span class="name">many/6/</span>'
sed -n 20p table > row; says row '<i>6 other folders, 12 files</i></td><td class="n">12</td><td class="n">0</td><td class="n">5</td><td class="n">7</td>'
sizes() { sed -E 's/.*<td class="n">([0-9,]+)<\/td><\/tr>/\1/' "$1" | tr -d ,; }
head -n 19 table > largest
sizes largest > have; sort -rn have | holds have
[ "$(sizes table | awk '{ n += $1 } END { print n }')" = "$(cat many/*/*.txt | wc -c)" ] || fail "not all bytes"
bm report folders --json -q; exits 0
[ "$(grep -o '"file":"many/[0-9]*/[ab]\.txt","documents"' ../out | wc -l)" = 50 ] || fail "not each input"
mkdir flatly
for f in many/*/a.txt; do cp "$f" "flatly/$(echo "$f" | tr / _)"; done
bm dedup flatly -o flat1 -q; exits 0
bm report flat1 -q; exits 0
rows > table
[ "$(wc -l < table)" = 20 ] || fail "not 20 rows"
sed -n 1p table > row; says row '<span class="name">flatly/many_24_a\.txt</span></td><td class="n">1</td>'
sed -n 20p table > row; says row '<i>6 other files</i></td><td class="n">6</td>'
bm dedup many/1 many/2 -o four -q; exits 0
bm report four -q; exits 0
[ "$(rows | wc -l)" = 4 ] || fail "not each of a few inputs"
