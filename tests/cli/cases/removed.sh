# SPDX-License-Identifier: Apache-2.0
# --removed: the records that dedup removes, byte for byte, in files like those of --kept: together both hold exactly the records of
# the inputs, each in its order, in every format.
# shellcheck shell=sh disable=SC2034,SC2086,SC2154
words() { seq -f 'w%g' -s ' ' "$1" "$2"; }
a=$(words 1 20) near=$(words 2 21) other=$(words 100 119)
find='--shingle word:1 --threshold 0.8 --perms 64 --bands 64 --rows 1 -q'
lacks() { checks=$((checks + 1)); [ ! -e "$1" ] || fail "$1 is there"; }

# --- json lines: spaces, a CR, and a last line without a newline stay as they are ---
{
    printf '{"id":"a","text":"%s"}\n' "$a"
    printf '  { "text" : "%s", "id":"copy", "more":[1, 2] }  \r\n' "$a"
    printf '{"id":"other","text":"%s"}\n' "$other"
    printf '{"id":"near","text":"%s"}' "$near"
} > in.jsonl
sed -n '1p;3p' in.jsonl > stays
{ sed -n 2p in.jsonl; tail -n 1 in.jsonl; } > goes
bm dedup in.jsonl $find -o plain; exits 0
lacks plain/removed; lacks plain/removed.jsonl
for more in '' '--memory 64M --threads 8' '--keep first' '--verify signature' '--cluster star' --pairs; do
    bm dedup in.jsonl $find --removed same $more -o out --force; exits 0
    holds out/kept.jsonl < stays
    holds out/removed.jsonl < goes
done
holds out/removed.tsv < plain/removed.tsv
says out/report.json '"removed\.jsonl": *"[0-9a-f]{64}"'
bm inspect out; exits 0
# the other files are the same as without it, and filter accepts the directory
holds out/groups.jsonl < plain/groups.jsonl
bm filter out -o filtered -q; exits 0; holds filtered/kept.jsonl < stays
# without the kept ones; compressed; of standard input
bm dedup in.jsonl $find --kept no --removed none -o alone; exits 0
holds alone/removed.jsonl < goes; lacks alone/kept.jsonl
bm dedup in.jsonl $find --kept zst --removed gz -o packed; exits 0
gzip -dc packed/removed.jsonl.gz > got; holds got < goes
bm dedup in.jsonl $find --removed zst -o zst; exits 0; lacks zst/removed.jsonl
bm pairs zst/removed.jsonl.zst $find --threshold 0.5; exits 0; says ../out '^copy	near	0'
"$PROGRAM" dedup - $find --removed same -o piped < in.jsonl || fail "of standard input: $?"
holds piped/removed.jsonl < goes
bm dedup in.jsonl $find --removed no -o no; exits 0; lacks no/removed.jsonl
bm dedup in.jsonl $find --removed bz2 -o never; refused 2 '--removed: unknown value "bz2"'; absent never

# --- nothing is removed: an empty file; skipped records are in neither ---
head -n 1 in.jsonl > one.jsonl
bm dedup one.jsonl $find --removed same -o one; exits 0; holds one/removed.jsonl < /dev/null
{ sed -n '1,2p' in.jsonl; echo '{"text":'; sed -n '3p' in.jsonl; } > broken.jsonl
bm dedup broken.jsonl $find --on-error skip --removed same -o broken; exits 0
holds broken/kept.jsonl < stays; sed -n 2p in.jsonl > second; holds broken/removed.jsonl < second

# --- an array: one again ---
{ printf '[\n{"id":"a","text":"%s"},{"id":"copy",\n"text":"%s"}\n,\n{"id":"other","text":"%s"}]\n' "$a" "$a" "$other"; } > in.json
bm dedup in.json $find --removed same -o array; exits 0
printf '[\n{"id":"copy",\n"text":"%s"}\n]\n' "$a" | holds array/removed.json
printf '[{"id":"a","text":"%s"}]' "$a" > one.json
bm dedup one.json $find --removed same -o none.array; exits 0
printf '[]\n' | holds none.array/removed.json

# --- csv and tsv: the header first; removed.tsv is the table of removed documents, so the rows lie in a folder ---
printf 'id,text\na,%s\ncopy,"%s"\nother,%s\n' "$a" "$a" "$other" > in.csv
bm dedup in.csv $find --removed same -o csv; exits 0
printf 'id,text\ncopy,"%s"\n' "$a" | holds csv/removed.csv
printf 'id,text\na,%s\nother,%s\n' "$a" "$other" | holds csv/kept.csv
printf 'id\ttext\na\t%s\ncopy\t%s\nother\t%s\n' "$a" "$a" "$other" > in.tsv
bm dedup in.tsv $find --removed same -o tsv; exits 0
printf 'id\ttext\ncopy\t%s\n' "$a" | holds tsv/removed/in.tsv
says tsv/removed.tsv '^copy	a	1\.000000	identical	'
bm dedup in.tsv $find --removed gz -o tsv.gz; exits 0
gzip -dc tsv.gz/removed.tsv.gz > got; holds got < tsv/removed/in.tsv
says tsv.gz/removed.tsv '^copy	a	1\.000000	identical	'
printf '%s\n%s\n%s\n' "$a" "$other" "$near" > in.txt
bm dedup in.txt --format lines $find --removed same -o lines; exits 0
printf '%s\n' "$near" | holds lines/removed.txt

# --- several inputs: a file for each, empty where nothing of it is removed ---
mkdir -p box/deep
sed -n '1p;3p' in.jsonl > box/a.jsonl; sed -n 2p in.jsonl | gzip -n > box/deep/b.jsonl.gz; tail -n 1 in.jsonl > box/c.jsonl
bm dedup box $find --removed same -o several; exits 0
holds several/removed/a.jsonl < /dev/null
gzip -dc several/removed/deep/b.jsonl.gz > got; holds got < second
tail -n 1 in.jsonl > last; holds several/removed/c.jsonl < last
holds several/kept/a.jsonl < stays
says several/report.json '"removed/deep/b\.jsonl\.gz"'
bm dedup in.jsonl in.jsonl $find --duplicate-ids number --kept no --removed same -o twice
refused 2 'two inputs would both be written as removed/in.jsonl \(leave one out, or use --removed no\)$'; absent twice
# and before anything is read: a bad record is not met
bm dedup broken.jsonl broken.jsonl $find --kept no --removed same -o new/twice
refused 2 'two inputs would both be written as removed/broken.jsonl '; absent new
bm dedup broken.jsonl broken.jsonl $find -o new/twice; refused 2 'two inputs would both be kept as kept/broken.jsonl '; absent new
bm dedup in.jsonl in.jsonl $find --duplicate-ids number --kept no -o ids; exits 0
bm filter ids -q -o new/twice; refused 2 'two inputs would both be kept as kept/in.jsonl '; absent new

# --- known documents, and signatures, whose inputs are read again and must be there ---
head -n 1 in.jsonl > known.jsonl
bm sign known.jsonl --shingle word:1 --perms 64 -q -o known; exits 0
sed -n '2,3p' in.jsonl > new.jsonl
bm dedup new.jsonl --against known --threshold 0.8 --bands 64 --rows 1 --removed same -q -o against; exits 0
holds against/removed.jsonl < second
bm sign in.jsonl --shingle word:1 --perms 64 -q -o signed; exits 0
for verify in exact signature none; do
    bm dedup signed --threshold 0.8 --bands 64 --rows 1 --verify $verify --kept no --removed same -q -o "by.$verify"; exits 0
done
holds by.exact/removed.jsonl < goes
holds by.signature/removed.jsonl < goes
mv in.jsonl away.jsonl
bm dedup signed --threshold 0.8 --bands 64 --rows 1 --removed same -q -o gone; refused 7 '.*in\.jsonl'; absent gone
bm dedup signed --threshold 0.8 --bands 64 --rows 1 -q -o there; exits 0
mv away.jsonl in.jsonl

# --- formats without records, and commands that remove nothing ---
bm dedup in.txt --format files $find --removed same -o no2; refused 2 '--removed of --format files, which has no records \(no\)$'; absent no2
bm filter plain --removed same -o no2; refused 2 '.*--removed'
bm sign in.jsonl --removed same -o no2; refused 2 '.*--removed'
