# SPDX-License-Identifier: Apache-2.0
# Tables on standard input and pipes: as the same files, through a copy without a name. The tables are what `export` writes, of which the
# ids are texts. (Tables of others on standard input: tests/reference/test_tables.py.)
# shellcheck shell=sh disable=SC2034,SC2154,SC2217
i=0
while [ $i -lt 300 ]; do
    n=$((i / 2))
    echo "{\"id\":\"a$n b$n c$n d$n e$n f$n g$n h$n i$n j$((i % 2))k$n\",\"text\":\"a b\"}"
    i=$((i + 1))
done > in.jsonl
bm sign in.jsonl -o signed --perms 16; exits 0
bm export signed --to parquet -o parquet
if [ "$rc" = 3 ] && grep -q 'needs the writer of tables' ../err; then skip "there is no bandmill-parquet"; fi
exits 0
bm export signed --to arrow -o arrow; exits 0
cp parquet/signatures.parquet t.parquet && cp arrow/signatures.arrow t.arrow
mkdir temp
same() {
    for file in "$@"; do
        checks=$((checks + 1)); cmp -s "$one/$file" "$two/$file" || fail "$two/$file is another than in $one"
    done
}
columns='--text-field id --id-field id --shingle word:1 --threshold 0.8 --bands 128 --rows 1'
for format in parquet arrow; do
    # shellcheck disable=SC2086
    one=signed-$format two=piped-$format
    bm sign t.$format --text-field id --id-field id -o "$one"; exits 0
    # shellcheck disable=SC2002
    cat t.$format | bm sign - --text-field id --id-field id --temp-dir temp -o "$two"
    same signatures.npy ids.txt n_shingles.npy n_bytes.npy content_hash.npy
    says "$two/manifest.json" "\"input_bytes\": ?$(wc -c < t.$format)\b"
    one=deduped-$format two=found-$format
    # shellcheck disable=SC2086
    bm dedup t.$format $columns -o "$one"; exits 0
    # shellcheck disable=SC2086
    bm dedup - $columns --temp-dir temp --format $format -o "$two" < t.$format; exits 0
    says ../err '150 kept, 150 removed'
    same kept.$format groups.jsonl
    # without an id of its own a row is -:ROW; as a descriptor of the shell's it has that name
    bm sign - --text-field id --id-field none -o "ids-$format" < t.$format; exits 0
    says "ids-$format/ids.txt" '^-:300$'
    bm sign /dev/fd/8 --text-field id --id-field none -o "fd-$format" 8< t.$format; exits 0
    says "fd-$format/ids.txt" '^/dev/fd/8:300$'
done
# beside a file, which kept/ has under its own name
# shellcheck disable=SC2086
bm dedup t.parquet - $columns --duplicate-ids number -o both < t.parquet; exits 0
checks=$((checks + 1)); [ -s both/kept/t.parquet ] && [ -s both/kept/stdin.parquet ] || fail "kept/ is $(ls both/kept)"
bm pairs - --text-field id < t.arrow; exits 0

# what is broken is named, and so is a bad record; formats of one run are the same
head -c 3000 t.parquet > cut.parquet
bm sign - --text-field id -o out < cut.parquet; refused 3 '-: cannot be read as Parquet: '; absent out
head -c 3000 t.arrow > cut.arrow
bm dedup - --text-field id -o out < cut.arrow; refused 3 '-: .*'; absent out
bm sign - --text-field body -o out < t.arrow; refused 3 "-: no column 'body' \\(it has: id"; absent out
bm sign - --text-field id --format jsonl -o out < t.arrow; refused 3 '-: this is a file of the format arrow'; absent out
bm sign - --text-field id --format parquet -o out < in.jsonl; refused 3 '-: this is no file of the format parquet'; absent out
bm sign - --text-field id --resume -o out < t.parquet; refused 2 '--resume needs inputs that can be read again'; absent out
bm sign - --text-field id --temp-dir missing -o out < t.parquet; refused 4 'missing: '; absent out
# the disk is full: no output, and the job can be begun again
(ulimit -f 4; "$PROGRAM" sign - --text-field id -o out < t.parquet > ../out 2> ../err)
rc=$?
command_line='ulimit -f 4; bandmill sign - -o out'
exits 4
says ../err 'cannot write the copy of the standard input'
absent out

# interrupted while the rest of the table is waited for: soon, and nothing is left
mkfifo fifo
env --default-signal=INT "$PROGRAM" sign - --text-field id --temp-dir temp -o out < fifo > ../out 2> ../err &
job=$!
exec 3> fifo
head -c 20000 t.parquet >&3
comes grep -q '^SigCgt:.*[4-7c-f]...$' "/proc/$job/status"
kill -INT $job
wait $job
rc=$?
exec 3>&-
command_line='kill -INT bandmill sign - -o out'
exits 130
checks=$((checks + 1)); [ ! -e out ] && [ -z "$(ls temp)" ] || fail "something is left: $(ls out temp)"
