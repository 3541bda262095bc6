# SPDX-License-Identifier: Apache-2.0
# csv and tsv: --delimiter, --header and numbers of fields, and what a stray quote does.
# shellcheck shell=sh disable=SC2034,SC2154
tab=$(printf '\t')

# --delimiter: the same table however its fields are parted
rows() { printf 'id%stext\na%s"one, two; three|four"\nb%s"say ""hi""\nand go on"\nc%sone two three four\n' "$1" "$1" "$1" "$1"; }
rows , > comma.csv
bm sign comma.csv -o signed_comma; exits 0
says signed_comma/manifest.json '"delimiter": ?null'
i=0
for c in ';' '|' '\t' "$tab" ' ' x; do
    i=$((i + 1))
    if [ "$c" = '\t' ]; then rows "$tab"; else rows "$c"; fi > "d$i.csv"
    [ "$c" = ' ' ] && sed -i 's/^c one two three four/c "one two three four"/' "d$i.csv"
    [ "$c" = x ] && sed -i '1s/.*/idx"text"/' "d$i.csv"
    bm sign "d$i.csv" --delimiter "$c" -o "signed$i"; exits 0
    for file in ids.txt signatures.npy n_shingles.npy; do
        checks=$((checks + 1)); cmp -s "signed$i/$file" "signed_comma/$file" || fail "$file differs with the delimiter $c"
    done
done
says signed1/manifest.json '"delimiter": ?";"'
says signed3/manifest.json '"delimiter": ?"\\t"'
# tsv has no quoting, whatever its delimiter
printf 'id|text|more\na|"one| two"\nb|"three"\n' > bar.tsv
bm dedup bar.tsv --delimiter '|' -o bar; exits 0
holds bar/kept.tsv < bar.tsv
# filter reads as dedup did; the header and the rows stay byte for byte
rows ';' > semi.csv
printf 'd;"ONE, two; three|four"\n' >> semi.csv
bm dedup semi.csv --delimiter ';' -o semi; exits 0
rows ';' | head -n 4 > expected_semi # c has the words of a, and so has d
holds semi/kept.csv < expected_semi
bm filter semi -o semi2; exits 0
holds semi2/kept.csv < expected_semi
# refusals
for c in '"' '' ,, '\n' "$(printf '\r')" "$(printf '\303\244')"; do
    bm sign comma.csv --delimiter "$c" -o out; refused 2 '.*--delimiter.*one character'; absent out
done
printf '{"text":"a"}\n' > j.jsonl
bm sign j.jsonl --delimiter ';' -o out; refused 2 '--delimiter with inputs of jsonl'; absent out
bm sign j.jsonl --format lines --delimiter ';' -o out; refused 2 '--delimiter with inputs of lines'; absent out
bm sign j.jsonl --header no -o out; refused 2 '--header with inputs of jsonl'; absent out
bm sign j.jsonl --format lines --header yes -o out; refused 2 '--header with inputs of lines'; absent out

# --header: no exactly when all fields given are numbers; a name of the header goes before a number
printf 'a,x y z\nb,p q r\n' > plain.csv
bm sign plain.csv --text-field 2 --id-field 1 -o h1; exits 0; printf 'a\nb\n' | holds h1/ids.txt
bm sign plain.csv --text-field 2 -o h2; exits 0; printf 'plain.csv:1\nplain.csv:2\n' | holds h2/ids.txt
bm sign plain.csv --text-field 2 --id-field 1 --header yes -o h3; exits 0; printf 'b\n' | holds h3/ids.txt
bm sign comma.csv --text-field 2 --id-field id -o h4; exits 0; printf 'a\nb\nc\n' | holds h4/ids.txt
bm sign plain.csv --id-field 1 -o out; refused 2 ".*'text' \\(the default\\)"; absent out
bm sign plain.csv --text-field x --header no -o out; refused 2 ".*'x' is a name"; absent out
printf 'id,1,2\na,second,third\n' > numbers.csv
bm sign numbers.csv --text-field 1 --id-field id -o n1; exits 0
printf 'text\nsecond\n' > second.csv
bm sign second.csv -o n2; exits 0
checks=$((checks + 1)); cmp -s n1/signatures.npy n2/signatures.npy || fail "the column named 1 is the second"

# a stray quote at the beginning of a field: the row is bad, says where the field begins and what it swallowed, and reading goes on behind
# the line on which the next quote stands
printf 'id,text,n\n1,fine,0\n2,"stray,0\n3,lost,0\n4,lost,0\n5,"x",0\n6,fine too,0\n' > stray.csv
bm sign stray.csv -o out
refused 3 'stray\.csv:3: broken row: text after a closing quote: field 2 begins with a quote on line 3 and swallowed the 3 lines after it'; absent out
bm sign stray.csv --on-error skip -o stray; exits 0
printf '1\n6\n' | holds stray/ids.txt
says stray/skipped.tsv '^stray\.csv	3	.* on line 3 and swallowed the 3 lines after it'
says stray/manifest.json '"skipped": ?1\b'
bm dedup stray.csv --on-error skip -o stray_dedup; exits 0
says ../err '^bandmill: warning: stray\.csv:3: skipped: .*swallowed the 3 lines after it'
awk 'BEGIN { print "id,text"; for (i = 0; i < 40; i++) printf "%d,\"stray\n%d,\"x\"\n", i, i }' > strays.csv
bm sign strays.csv --on-error skip -o strays; exits 0
checks=$((checks + 1)); [ "$(grep -c warning ../err)" = 5 ] || fail "not five warnings"
says strays/manifest.json '"skipped": ?40\b'
# never closed: to the end of the file
printf 'id,text\n1,fine\n2,"stray\n3,lost\n4,lost\n' > open.csv
bm sign open.csv -o out
refused 3 'open\.csv:3: broken row: a quoted field is never closed: field 2 begins with a quote on line 3 and swallowed the 2 lines after it'; absent out
# the message names the line where the field begins, not its row
printf 'id,text,note\n1,"two\nlines","stray\n2,lost,x\n' > second_line.csv
bm sign second_line.csv -o out
refused 3 'second_line\.csv:2: .*field 3 begins with a quote on line 3 and swallowed the 1 line after it'; absent out
# in the header
printf 'id,"text\n1,a\n2,b\n' > head.csv
bm sign head.csv -o out; refused 3 'head\.csv:1: broken header: .*field 2 begins with a quote on line 1 and swallowed the 2 lines'; absent out
# longer than a document may be
awk 'BEGIN { print "id,text"; print "1,\"stray"; for (i = 0; i < 5000; i++) print i ",lost"; print "x\"" ; print "9,fine" }' > long.csv
for batch in 1 1000; do
    bm sign long.csv --max-doc-bytes 1000 --batch-docs $batch --on-error skip -o "long$batch"; exits 0
    printf '9\n' | holds "long$batch/ids.txt"
    says "long$batch/skipped.tsv" '^long\.csv	2	.*longer than 1000 bytes .*field 2 begins with a quote on line 2 and swallowed the 5001 lines after it'
done
# one that is inside a field spoils its row only
printf 'id,text\n1,5" disk\n2,fine\n' > inch.csv
bm sign inch.csv --on-error skip -o inch; exits 0
printf '2\n' | holds inch/ids.txt
