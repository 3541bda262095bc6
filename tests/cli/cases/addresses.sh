# SPDX-License-Identifier: Apache-2.0
# Inputs at addresses give the same bytes as the same local files, whatever the server does: it answers requests for parts, or ignores them,
# or fails, or breaks off. No output contains the part of an address after "?".
# shellcheck shell=sh disable=SC2034,SC2154
"$PYTHON" -c '' 2> /dev/null || skip "there is no Python"
mkdir web web/a
i=0
while [ $i -lt 300 ]; do
    n=$((i / 2))
    echo "{\"id\":\"d$i\",\"text\":\"w$n a$n b$n c$n d$n e$n f$n g$n h$n i$n j$((i % 2)) k$n l$n m$n\"}"
    i=$((i + 1))
done > web/in.jsonl
gzip -k web/in.jsonl
head -n 20 web/in.jsonl | sed 's/"d/"e/' > web/a/few.jsonl
: > web/empty.jsonl
# more than a few blocks of a file at an address
yes "$(sed 's/"id":"[^"]*",//' web/in.jsonl)" | head -n 60000 > web/large.jsonl

"$PYTHON" "$(dirname "$CASE")/../address_server.py" web ready log 2> served &
server=$!
comes test -s ready
at=http://127.0.0.1:$(cat ready)
secret='?X-Signature=SECRET&name=x'
bm sign web/in.jsonl -o local; exits 0

# same WAY [DIR]: the same bytes, whatever the server does; what it is called stands in all that is shown
same() {
    dir=${2:-$1}
    for file in signatures.npy ids.txt n_shingles.npy n_bytes.npy content_hash.npy; do
        checks=$((checks + 1)); cmp -s "local/$file" "$dir/$file" || fail "$dir/$file is another"
    done
    says "$dir/sources.tsv" "^$at/$1/in"
    checks=$((checks + 1))
    if grep -rq SECRET "$dir" ../err ../out; then fail "$dir, or what was said, has a secret"; fi
}
for way in plain whole moved slow; do
    bm sign "$at/$way/in.jsonl$secret" -o $way; exits 0
    same $way
done
silent_words() { checks=$((checks + 1)); if grep -q "$1" ../err; then fail "it says $1"; fi; }
silent_words again
bm sign "$at/plain/in.jsonl.gz$secret" -o plain --force; exits 0; same plain
bm sign "--device=cpu" "$at/flaky/in.jsonl$secret" -o flaky; exits 0; same flaky
says ../err "^bandmill: warning: $at/flaky/in.jsonl: the server answers 503: it has failed; trying again in 0.25 s$"
bm sign "$at/cuts/in.jsonl$secret" -o cuts; exits 0; same cuts
says ../err 'trying again'
bm sign "$at/plain/empty.jsonl" -o empty; exits 0; says ../err '^bandmill: the input is empty'

# by position, and each part once
bm sign web/large.jsonl -o whole-large --perms 16; exits 0
: > log
bm sign "$at/plain/large.jsonl" -o large --perms 16 --threads 4; exits 0
for file in signatures.npy n_shingles.npy content_hash.npy; do
    checks=$((checks + 1)); cmp -s "whole-large/$file" "large/$file" || fail "large/$file is another"
done
checks=$((checks + 1))
[ "$(wc -l < log)" -eq $((1 + ($(wc -c < web/large.jsonl) + 2097151) / 2097152)) ] || fail "$(wc -l < log) questions"
# a job that was done is known as such by the address that is given, with what follows "?"
bm sign "$at/secret/in.jsonl$secret" -o secret; exits 0; same secret
bm sign "$at/secret/in.jsonl$secret" -o secret --resume; exits 0; says ../err 'is done'

# shares: the file is asked for once, though a share's bytes are compared with those that were signed
for i in 1 2 3; do
    bm sign "$at/plain/in.jsonl" --shard $i/3 -o "share$i"; exits 0
done
bm dedup web/in.jsonl --threshold 0.8 -o all; exits 0
: > log
bm dedup share1 share2 share3 --threshold 0.8 -o shares; exits 0
holds shares/groups.jsonl < all/groups.jsonl
checks=$((checks + 1)); [ "$(grep -c 'bytes=0-4095 ' log)" -eq 1 ] || fail "$(grep -c 'bytes=0-4095 ' log) files were opened"
bm sign "$at/plain/large.jsonl" --shard 2/3 -o part --perms 16; exits 0
bm sign web/large.jsonl --shard 2/3 -o local-part --perms 16; exits 0
checks=$((checks + 1)); cmp -s part/signatures.npy local-part/signatures.npy || fail "the share is another"

# sets of local files may be made again of their records; sets of files at addresses are kept in a file
awk 'BEGIN {
    for (i = 0; i < 24000; i++) {
        t = ""; k = s = i % 20 == 19 ? i - 1 : i
        for (j = 0; j < 60; j++) { s = (s * 1103515245 + 12345 + k) % 2147483648; t = t " w" int(s / 65536) % 20000 }
        printf "{\"id\":\"d%d\",\"text\":\"%s\"}\n", i, t
    }
}' > web/apart.jsonl
little='--bands 25 --rows 5 --memory 24M --threads 2 --temp-dir . --kept no'
# shellcheck disable=SC2086 # options
bm dedup web/apart.jsonl $little -o l-apart; exits 0; says l-apart/report.json '"sets_from": "inputs"'
# shellcheck disable=SC2086
bm dedup "$at/plain/apart.jsonl$secret" $little -o r-apart; exits 0; says r-apart/report.json '"sets_from": "file"'
holds r-apart/groups.jsonl < l-apart/groups.jsonl
checks=$((checks + 1)); [ "$(wc -l < r-apart/groups.jsonl)" -eq 1200 ] || fail "$(wc -l < r-apart/groups.jsonl) groups"

# kept documents, from one and from several, and once more by filter
columns='--threshold 0.8 --bands 32 --rows 3'
for file in in.jsonl in.jsonl.gz; do
    # shellcheck disable=SC2086
    bm dedup "web/$file" $columns -o "l-$file"; exits 0
    # shellcheck disable=SC2086
    bm dedup "$at/plain/$file$secret" $columns -o "r-$file"; exits 0
    checks=$((checks + 1)); diff -r "l-$file/kept${file#in}" "r-$file/kept${file#in}" || fail "kept of $file is another"
    bm filter "r-$file" -o "f-$file"; exits 0
    checks=$((checks + 1)); diff -r "l-$file/kept${file#in}" "f-$file" || fail "filter of $file is another"
done
# shellcheck disable=SC2086
printf '%s\n' "$at/plain/in.jsonl$secret" "$at/plain/a/few.jsonl" > list
# shellcheck disable=SC2086
bm dedup --files-from list $columns -o two; exits 0
checks=$((checks + 1)); [ -f two/kept/in.jsonl ] && [ -f two/kept/a/few.jsonl ] || fail "kept documents lie elsewhere"
says two/removed.tsv "identical	$at/plain/a/few.jsonl	1"
# a file here too, from elsewhere: no name of a directory that neither lies in
mkdir ../elsewhere
cp web/a/few.jsonl ../elsewhere/
# shellcheck disable=SC2086
bm dedup "$at/plain/in.jsonl$secret" "$(cd ../elsewhere && pwd -P)/few.jsonl" $columns -o mixed; exits 0
(cd mixed/kept && find . -type f) | sort > files
printf './few.jsonl\n./http:/127.0.0.1:%s/plain/in.jsonl\n' "${at##*:}" | holds files
bm filter mixed -o mixed-again; exits 0
checks=$((checks + 1)); diff -r mixed/kept mixed-again/kept || fail "filter keeps others"
checks=$((checks + 1)); if grep -rq SECRET two r-in.jsonl; then fail "a result has a secret"; fi

# tables, which are read to and fro: where there is bandmill-parquet
bm export local --to parquet -o web/exported
if [ "$rc" = 0 ]; then
    bm export local --to arrow -o web/ipc; exits 0
    for file in exported/signatures.parquet ipc/signatures.arrow; do
        ending=${file##*.}
        bm dedup "web/$file" --text-field id --id-field id --shingle char:2 --threshold 0.8 -o "l-$ending"; exits 0
        bm dedup "$at/plain/$file$secret" --text-field id --id-field id --shingle char:2 --threshold 0.8 -o "r-$ending"; exits 0
        for made in "kept.$ending" groups.jsonl; do
            checks=$((checks + 1)); cmp -s "l-$ending/$made" "r-$ending/$made" || fail "r-$ending/$made is another"
        done
        checks=$((checks + 1)); if grep -rq SECRET "r-$ending"; then fail "a table's result has a secret"; fi
    done
    bm dedup "$at/broken/exported/signatures.parquet" --text-field id --id-field id --threshold 0.8 -o no
    exits 3; says ../err "^bandmill: $at/broken/exported/signatures.parquet: cannot be read as Parquet: "
else
    says ../err 'needs the writer of tables'
fi

# what cannot be read
bm sign "$at/gone/in.jsonl$secret" -o no; refused 4 "$at/gone/in.jsonl: cannot read: the server answers 404: not found"
bm sign "$at/403/in.jsonl$secret" -o no; refused 4 "$at/403/in.jsonl: cannot read: the server answers 403: not allowed"
bm sign "$at/500/in.jsonl" -o no; exits 4; says ../err "^bandmill: $at/500/in.jsonl: cannot read: the server answers 500"
bm sign "http://127.0.0.1:1/in.jsonl$secret" -o no; exits 4; says ../err '^bandmill: http://127.0.0.1:1/in.jsonl: cannot read: '
silent_words SECRET
bm sign "$at/broken/large.jsonl" -o no; exits 3; says ../err "^bandmill: $at/broken/large.jsonl: cannot read: "
bm sign "$at/short/large.jsonl" -o no
refused 4 "$at/short/large.jsonl: cannot read: the server answers 206: less than was asked for"
bm sign "$at/changes/large.jsonl" -o no; refused 3 "$at/changes/large.jsonl: the file changed while the job read it"
# four questions, and no more
bm sign "$at/fails3/in.jsonl$secret" -o fails; exits 0; same fails3 fails
: > log
bm sign "$at/fails4/in.jsonl" -o no; exits 4
says ../err "^bandmill: $at/fails4/in.jsonl: cannot read: the server answers 503: it has failed$"
checks=$((checks + 1)); [ "$(grep -c fails4 log)" -eq 4 ] || fail "$(grep -c fails4 log) questions"
bm sign "$at/broken/in.jsonl" -o no; exits 3
checks=$((checks + 1)); [ "$(grep -c broken log)" -eq 5 ] || fail "$(grep -c broken log) questions, of which one is for the first bytes"
bm sign nope://x/in.jsonl -o no; refused 4 'nope://x/in.jsonl: cannot read: no such address \(https://'
bm sign "$at/gone/in.jsonl$secret" web/in.jsonl --on-error skip -o skipped; exits 0
says skipped/skipped.tsv "^$at/gone/in.jsonl	.*404"
bm sign web/in.jsonl -o "s3://bucket/out"; refused 2 's3://bucket/out: is an address \(outputs are files of this machine\)'
bm sign --files-from "$at/plain/list$secret" -o no; refused 2 '--files-from of an address'
bm sign "$at/plain/in.npy" --format hashes --offsets x.npy -o no; refused 2 '--format hashes of an address'
absent no

# a file that changes between the two passes
cp web/in.jsonl web/other.jsonl
bm dedup "$at/plain/other.jsonl" --threshold 0.8 --kept no -o found; exits 0
sed 1d web/in.jsonl > web/other.jsonl
bm filter found -o no; exits 7; says ../err 'other.jsonl: the file is not the one that found/report.json was made from'

# without the library
mkdir none; : > none/libcurl.so.4
bm_library() { LD_LIBRARY_PATH=none bm "$@"; }
bm_library sign "$at/plain/in.jsonl" -o no
refused 4 'addresses are read by libcurl, which cannot be opened: .*\(Debian, Ubuntu: apt-get install libcurl4\)'
kill $server
