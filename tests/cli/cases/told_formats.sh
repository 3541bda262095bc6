# SPDX-License-Identifier: Apache-2.0
# How formats are recognised by first bytes and names: UTF-16, UTF-32 and Arrow streams are refused (3); the endings of names count in any
# case; a name without a known ending whose content is JSON Lines needs --format (2); a binary document of `files` is a bad record.
# shellcheck shell=sh disable=SC2034,SC2154
command -v iconv > /dev/null || skip 'no iconv'
line='{"id":"x","text":"some words of a text"}'
printf '%s\n' "$line" > utf8.jsonl
for encoding in UTF-16 UTF-16LE UTF-16BE UTF-32 UTF-32LE UTF-32BE; do
    family=${encoding%?E}
    printf '%s\n' "$line" | iconv -f UTF-8 -t $encoding > u.jsonl
    printf 'text of a file\n' | iconv -f UTF-8 -t $encoding > u.txt
    bm sign u.jsonl -o out; refused 3 "u\.jsonl: this is text in $family.*iconv -f $encoding -t UTF-8"; absent out
    bm sign u.txt -o out; refused 3 "u\.txt: this is text in $family.*iconv"; absent out
    bm dedup u.txt --format lines -o out; refused 3 "u\.txt: this is text in $family"; absent out
    gzip -c u.jsonl > u.jsonl.gz
    bm dedup u.jsonl.gz -o out; refused 3 "u\.jsonl\.gz: this is text in $family"; absent out
    command_line="bandmill sign - < u.jsonl ($encoding)"
    "$PROGRAM" sign - -o out < u.jsonl > ../out 2> ../err; rc=$?
    refused 3 "-: this is text in $family"; absent out
    # as the hint says
    iconv -f $encoding -t UTF-8 u.jsonl > new.jsonl
    bm sign new.jsonl -o out; exits 0
    printf 'x\n' | holds out/ids.txt
    rm -r out
done
printf '\357\273\277%s\n' "$line" > bom.jsonl
bm sign bom.jsonl -o out; exits 0; rm -r out

printf '\377\377\377\377\170\000\000\000\020\000\000\000\000\000\012\000' > a.arrows
bm sign a.arrows -o out; refused 3 'a\.arrows: .*Arrow'; absent out
printf 'ARROW1\000\000' > a.arrow
bm sign a.arrow -o out; refused 3 'a\.arrow: .*Arrow'; absent out

# names, in any case
for name in x.JSONL x.ndjson x.LDJSON x.Json x.ldjson x.JSONL.GZ; do
    case $name in
    *.GZ) gzip -c utf8.jsonl > "$name" ;;
    *) cp utf8.jsonl "$name" ;;
    esac
    bm sign "$name" -o out; exits 0
    printf 'x\n' | holds out/ids.txt
    rm -r out
done
printf 'id\ttext\na\tb c\n' > T.TSV
bm sign T.TSV -o out; exits 0; printf 'a\n' | holds out/ids.txt; rm -r out
printf 'id,text\na,b c\n' > C.Csv
bm sign C.Csv -o out; exits 0; printf 'a\n' | holds out/ids.txt; rm -r out
# a .json that begins with a bracket is an array, also compressed and behind white space; an empty one is either
printf '[%s]' "$line" > array.json
printf '\n [%s]' "$line" | gzip -c > ARRAY.JSON.gz
: > empty.json
for name in array.json ARRAY.JSON.gz; do
    bm sign empty.json "$name" -o out; exits 0
    printf 'x\n' | holds out/ids.txt
    says out/manifest.json '"input_format": ?"json"'
    rm -r out
done
bm sign empty.json x.ldjson -o out; exits 0; printf 'x\n' | holds out/ids.txt; rm -r out
bm sign array.json x.ldjson -o out; refused 2 '.*--format'; absent out

# a name that tells nothing
cp utf8.jsonl part-00000
gzip -c utf8.jsonl > part-00001.gz
{ printf '{"text":"'; head -c 20000 /dev/zero | tr '\0' 'y'; printf '"}\n'; } > part-00002
printf '\357\273\277%s' "$line" > part-00003
for name in part-00000 part-00001.gz part-00002 part-00003; do
    bm sign "$name" -o out; refused 2 "$name: .*JSON object.*--format jsonl.*--format files"; absent out
    bm sign "$name" --format jsonl -o out; exits 0; rm -r out
    bm sign "$name" --format files -o out; exits 0
    printf '%s\n' "$name" | holds out/ids.txt
    rm -r out
done
# what begins otherwise is a document a file
mkdir texts
printf '{\n  "pretty": 1\n}\n' > texts/pretty
printf '{not json}\n' > texts/braces
printf 'some words\n' > texts/words.txt
: > texts/nothing
bm sign texts -o out; exits 0
printf 'texts/braces\ntexts/nothing\ntexts/pretty\ntexts/words.txt\n' | holds out/ids.txt
rm -r out
cp part-00000 texts/part
bm sign texts -o out; refused 2 'texts/part: .*--format jsonl'; absent out
rm texts/part

# binary documents
printf 'some words \000 and more' > texts/nul
bm sign texts -o out; refused 3 'texts/nul:1: .*binary'; absent out
bm dedup texts --on-error skip -o out; exits 0
says out/skipped.tsv '^texts/nul	1	.*binary'
printf 'texts/braces\ntexts/nothing\ntexts/pretty\ntexts/words.txt\n' | holds out/kept_ids.txt
rm -r out
bm sign texts/nul --format lines -o out; exits 0; rm -r out # there NUL is a byte like others
{ head -c 8191 /dev/zero | tr '\0' 'a'; printf '\000'; } > texts/nul
bm sign texts -o out; refused 3 'texts/nul:1: .*binary'; absent out
{ head -c 8192 /dev/zero | tr '\0' 'a'; printf '\000'; } > texts/nul
bm sign texts -o out; exits 0; rm -r out
gzip -c texts/words.txt > texts/words.txt.gz # what is unpacked counts
bm sign texts -o out; exits 0; rm -r out
