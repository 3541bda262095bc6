# SPDX-License-Identifier: Apache-2.0
# Mistakes that users make in a shell, each with its exit code and the message that says how to correct it: CODE | ARGUMENTS | MESSAGE.
# shellcheck shell=sh disable=SC2034,SC2086,SC2154
printf '{"id":"a","text":"one two three four five six"}\n{"id":"b","text":"seven eight nine ten eleven"}\n' > in.jsonl
printf 'one line\nanother line\n' > lines.txt
cp in.jsonl 'in'
printf '{"id":"a","content":"one two"}\n' > content.jsonl
printf '[{"id":"a","text":"one"}]' > array.jsonl
printf "{'id':'a','text':'one'}\n" > quotes.jsonl
printf '{"id":"a","text":5}\n' > number.jsonl
printf '{"id":"a","text":"one"}\n{"id":"a","text":"two"}\n' > twice.jsonl
printf 'id;text\n1;hello\n' > semicolons.csv
gzip -c in.jsonl | head -c 80 > cut.jsonl.gz
{ gzip -c in.jsonl | head -c -8; printf 'XXXXXXXX'; } > changed.jsonl.gz
iconv -t UTF-16 in.jsonl > utf16.jsonl
printf '{"turns":[{"say":"one two"},{"say":"three four"}],"notes":["five"]}\n' > lists.jsonl
mkdir mixed; cp in.jsonl lines.txt mixed/
bm dedup in.jsonl -q -o result; exits 0
bm sign in.jsonl -q -o signed; exits 0
bm index build index in.jsonl -q; exits 0
while IFS='|' read -r code arguments message; do
    bm $arguments; refused "${code% }" "${message# }"
done << 'END'
2 | dedupe in.jsonl -o no | unknown command "dedupe" \(did you mean dedup\?\)
2 | in.jsonl | unknown command "in\.jsonl" \(bandmill help lists the commands\)
2 | index in.jsonl | unknown command "index in\.jsonl"
2 | dedup -o no | no input \(expected files, directories, - for stdin, or --files-from\)
2 | dedup in.jsonl | no output \(expected -o DIR\); -o - is stdout
2 | dedup in.jsonl -o | --output needs a value \(expected DIR\)
2 | dedup in.jsonl -o result | result: the output exists already \(--force replaces it\)
2 | dedup in.jsonl -o in.jsonl | in\.jsonl: the output is the input in\.jsonl
4 | dedup missing.jsonl -o no | missing\.jsonl: cannot open: No such file
2 | dedup result -o no | result: is a result of bandmill \(its documents are in result/kept\.jsonl\)
2 | dedup in.jsonl lines.txt -o no | inputs differ in format: in\.jsonl is jsonl, lines\.txt is files \(one --format for all; of a folder, --include reads some files only, such as '\*\.arrow', and --exclude leaves out some\)
2 | dedup in -o no | in: its first line is a JSON object, and its name tells no format \(--format jsonl
2 | dedup in.jsonl -o no --treshold .8 | unknown option --treshold \(did you mean --threshold\?\)
2 | dedup in.jsonl -o no --threshold 80 | --threshold: unusable value "80" \(expected a number above 0 and at most 1\)
2 | dedup in.jsonl -o no --num-perm 256 | unknown option --num-perm \(here it is --perms K\)
2 | dedup in.jsonl -o no --text content | unknown option --text \(here it is --text-field NAME\)
2 | dedup in.jsonl -o no --ngram 5 | unknown option --ngram \(here it is --shingle word:N\)
2 | dedup in.jsonl -o no --shingle 5 | --shingle: unusable value "5" \(expected word:K, char:K
2 | dedup -i in.jsonl -o no | unknown option -i \(here it is a path without an option\)
2 | dedup in.jsonl --output-dir no | unknown option --output-dir \(here it is -o\)
3 | dedup in.jsonl -o no --text-field content | in\.jsonl:1: no field 'content' \(a string or null; the record has 'id', 'text'; --on-error skip
2 | dedup in.jsonl -o no --format txt | --format: unknown value "txt" \(expected one of auto jsonl
2 | dedup in.jsonl -o no --keep best | --keep 'best': there is no such rule \(expected first last longest
2 | dedup in.jsonl -o no --bands 10 | --bands without --rows
2 | pairs in.jsonl --keep last | --keep is an option of dedup, not of pairs
2 | query index | no queries \(expected files, directories, - for stdin, --files-from, or --follow\)
1 | explain result a | 'a' is in no group: it is like no other document$
2 | explain result | 1 operand
7 | report signed | signed/manifest\.json: it holds .signatures. \(a directory that dedup wrote\)
7 | filter in.jsonl -o no | in\.jsonl: no manifest\.json and no report\.json in it
7 | query in.jsonl in.jsonl | in\.jsonl: is not an index \(a directory that index build made\)
2 | index in.jsonl -o no | unknown command "index in\.jsonl" \(expected index build, add, remove, info, check or compact\)
3 | dedup content.jsonl -o no | content\.jsonl:1: no field 'text' \(a string or null; --text-field names another; the record has 'id', 'content';
3 | dedup semicolons.csv -o no | semicolons\.csv:1: no field 'text' in the header \(--text-field names another; its 1 column, by name or number: 'id;text'; --delimiter names what separates columns\)
3 | dedup array.jsonl -o no | array\.jsonl:1: not a JSON object \(--format json reads a file that is one array of objects; --on-error skip
3 | dedup quotes.jsonl -o no | quotes\.jsonl:1: broken JSON at byte 2: a single quote \(a key in double quotes or } was expected; JSON has double quotes
3 | dedup number.jsonl -o no | number\.jsonl:1: field 'text' is a number \(a string or null; --on-error skip uses the other records\)
3 | dedup twice.jsonl -o no | twice\.jsonl:2: the id 'a' was seen before, at twice\.jsonl:1 \(ids must differ; --duplicate-ids number makes them so\)
3 | dedup cut.jsonl.gz -o no | cut\.jsonl\.gz: the gzip data is cut short \(--on-error skip uses the records before that\)$
3 | dedup changed.jsonl.gz -o no | changed\.jsonl\.gz: broken gzip data \([^)]*; --on-error skip uses the records before that\)$
3 | dedup utf16.jsonl -o no | utf16\.jsonl: this is text in UTF-16, which is not read \(iconv -f UTF-16
2 | dedup mixed -o no | inputs differ in format: mixed/in\.jsonl is jsonl, mixed/lines\.txt is files \(one --format for all; of a folder, --include
4 | dedup ~elsewhere/in.jsonl -o no | ~elsewhere/in\.jsonl: ~ is not expanded here: cannot open
2 | dedup in.jsonl -o no --perms 64 --bands 20 --rows 5 | --bands 20 --rows 5 use 100 permutations \(expected at most 64\)
2 | dedup in.jsonl -o no --lowercase | unknown option --lowercase \(here it is --normalize invisible,lower\)
2 | dedup in.jsonl -o no -t .8 | unknown option -t \(here it is --threshold T\)
2 | index build in.jsonl -o new | --output is no option of index build \(the first operand is the index: bandmill index build INDEX INPUT\.\.\.\)
2 | index add in.jsonl -o index | --output is no option of index add \(the first operand is the index: bandmill index add INDEX INPUT\.\.\.\)
3 | dedup lists.jsonl --text-field turns.say -o no | lists\.jsonl:1: no field 'turns\.say': a list is on the way \(turns\[\]\.say has the texts of its elements
3 | dedup lists.jsonl --text-field notes -o no | lists\.jsonl:1: field 'notes' is a list \(notes\[\] has the texts of its elements
3 | dedup lists.jsonl --text-field notes.say -o no | lists\.jsonl:1: no field 'notes\.say' \(a string or null; the record has 'turns', 'notes'
2 | dedup in.jsonl -o no --recall 1 | --recall 1 \(bands find less; --candidates all finds every pair, and takes no --recall\)
2 | dedup in.jsonl -o no --candidates all --against index | --against with --candidates all: known documents are found by bands \(--candidates lsh\)
2 | dedup in.jsonl -o no --candidates all --verify none | --candidates all compares exactly \(--verify exact\)
2 | dedup in.jsonl -o no --candidates all --bands 4 --rows 2 | --bands with --candidates all, which compares every pair
2 | pairs in.jsonl --recall 1 | --recall 1 \(bands find less; --candidates all finds every pair
2 | dedup in.jsonl -o no --candidates al | --candidates: unknown value "al" \(expected
2 | filter result --annotate --kept no -o no | --kept no leaves nothing to do
2 | completions install csh | no completions for the shell "csh" \(bash, zsh or fish\)
2 | tune --sample 10 | --sample without documents, of which it draws some \(name an input\)
2 | tune 0.8 | no file "0\.8" \(a threshold is --threshold 0\.8\)
2 | cluster result | result is a directory \(expected its pairs\.tsv, which --pairs writes\)
END
bm query index 'one text of some words'; refused 2 'no file "one text of some words" \(a text goes to stdin: echo TEXT \| bandmill query INDEX - --format lines\)'
echo 'one two three four five six' | "$PROGRAM" query index - --format lines > ../out 2> ../err || fail 'the hint does not help'
says ../out '^-:1	a	1\.000000$'
absent no

# the message about a file that is cut off is true
bm dedup cut.jsonl.gz -o before --kept none --on-error skip; exits 0
says before/kept.jsonl '^{"id":"a",'
says before/skipped.tsv '^cut\.jsonl\.gz	2	the rest of the file cannot be read: the gzip data is cut short$'
