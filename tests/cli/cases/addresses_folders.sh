# SPDX-License-Identifier: Apache-2.0
# Folders and patterns at addresses: the same files are read as from the same local folder, in the same order, and the same names are left
# out.
# shellcheck shell=sh disable=SC2034,SC2154
"$PYTHON" -c '' 2> /dev/null || skip "there is no Python"
mkdir -p web/bucket/c/sub/deep web/bucket/c/_logs/x web/bucket/c/.git web/bucket/other web/datasets/me/set/resolve/v1
for name in c/b.jsonl c/a.jsonl c/a-.jsonl c/a/ c/sub/d.jsonl c/sub/deep/e.jsonl c/sub.jsonl 'c/x&y <1>.jsonl' c/ü.jsonl \
    c/_logs/x/1.jsonl c/_logs/2.jsonl c/.git/config c/sub/_3.jsonl c/notes.txt other/f.jsonl top.jsonl; do
    case $name in */) continue ;; esac
    printf '{"text":"some words of %s that are its own"}\n' "$name" > "web/bucket/$name"
done
cp -r web/bucket web/datasets/me/set/resolve/main
cp web/bucket/other/f.jsonl web/datasets/me/set/resolve/v1/old.jsonl
"$PYTHON" "$(dirname "$CASE")/../address_server.py" web ready log 2> served &
server=$!
comes test -s ready
at=http://127.0.0.1:$(cat ready)
export AWS_ENDPOINT_URL="$at/signed" AWS_ACCESS_KEY_ID=KEY AWS_SECRET_ACCESS_KEY=SECRET
export STORAGE_EMULATOR_HOST="$at/plain" HF_ENDPOINT="$at/plain" HF_TOKEN=hftoken

# as DIR ADDRESS [OPTIONS]: what a folder here gives
as() {
    dir=$1 address=$2
    shift 2
    bm sign "web/bucket/$dir" "$@" --format jsonl -v -o here --force; exits 0
    grep -o 'left out of directories: [0-9]* name.*' ../err > left
    sed "s|web/bucket/$dir|$address|" here/ids.txt > expected
    bm sign "$address" "$@" --format jsonl -v -o there --force; exits 0
    holds there/ids.txt < expected
    holds there/signatures.npy < here/signatures.npy
    grep -o 'left out of directories: [0-9]* name.*' ../err > left.there
    holds left.there < left
}
for root in s3://bucket/ gs://bucket/ hf://datasets/me/set/ hf://datasets/me/set@main/; do
    as c/ "${root}c/"
    as c/sub/ "${root}c/sub/"
    as c/ "${root}c/" --include '*.jsonl' --exclude 'sub/*'
    as '' "$root"
done
checks=$((checks + 1)); [ -s left ] || fail "no name was left out"
bm sign s3://bucket --format jsonl -o bucket; exits 0
bm sign hf://datasets/me/set@v1 --id-field none -o repository; exits 0
says repository/ids.txt '^hf://datasets/me/set@v1/old.jsonl:1$'
says log 'api/datasets/me/set/tree/v1\?recursive=true .* Bearer hftoken$'

# patterns: a star for no slash, two for any
as_list() { # as_list PATTERN NAME...
    pattern=$1
    shift
    bm sign "$pattern" --id-field none -o listed --force; exits 0
    for name in "$@"; do echo "${pattern%%c/*}c/$name:1"; done | holds listed/ids.txt
}
for root in s3://bucket/ hf://datasets/me/set/; do
    as_list "${root}c/*.jsonl" a-.jsonl a.jsonl b.jsonl sub.jsonl 'x&y <1>.jsonl' ü.jsonl
    as_list "${root}c/a*.jsonl" a-.jsonl a.jsonl
    as_list "${root}c/*/[a-d].jsonl" sub/d.jsonl
    as_list "${root}c/s**.jsonl" sub.jsonl sub/d.jsonl sub/deep/e.jsonl
done
says log 'prefix=c%2Fa '
bm dedup 's3://bucket/c/sub/**.jsonl' --threshold 0.9 -o clean; exits 0
checks=$((checks + 1)); [ -f clean/kept/d.jsonl ] && [ -f clean/kept/deep/e.jsonl ] || fail "kept documents lie elsewhere"

bm sign 's3://bucket/c/*.csv' -o no; refused 3 's3://bucket/c/: no file there matches \*.csv$'
bm sign s3://bucket/none/ -o no; refused 3 's3://bucket/none/: no files there \(0 names'
bm sign hf://datasets/me/set/none/ -o no; refused 4 'hf://datasets/me/set/none/: cannot read: the server answers 404: not found'
for address in "$at/plain/bucket/c/" "$at/plain/bucket/c/*.jsonl" "$at/plain/bucket/c/*.jsonl?secret"; do
    bm sign "$address" -o no; exits 2
    says ../err 'a server of http:// or https:// does not say which files it has \(the address of each file, or --files-from\)'
    checks=$((checks + 1)); if grep -q secret ../err; then fail "it says what follows ?"; fi
done
# with a query, a slash before it makes no folder of a web address
mkdir web/index
cp web/bucket/top.jsonl web/index/index.jsonl
bm sign "$at/plain/index/?secret" --format jsonl --id-field none -o index; exits 0
says index/ids.txt "^$at/plain/index/:1$"
bm sign s3://bucket/c -o no; refused 4 's3://bucket/c: cannot read: the server answers 404: not found \(the address of a folder ends with /\)'
AWS_SECRET_ACCESS_KEY=other
bm sign s3://bucket/c/ -o no; refused 4 's3://bucket/c/: cannot read: the server answers 403: not allowed'
AWS_SECRET_ACCESS_KEY=SECRET AWS_ENDPOINT_URL="$at/odd" HF_ENDPOINT="$at/odd"
bm sign s3://bucket/c/ -o no; refused 3 "s3://bucket/c/: the server's answer is no list of files"
bm sign hf://datasets/me/set/c/ -o no; refused 3 "hf://datasets/me/set/c/: the server's answer is no list of files"
AWS_ENDPOINT_URL="$at/round" HF_ENDPOINT="$at/round"
for address in s3://bucket/c/ hf://datasets/me/set/c/; do
    bm sign $address -o no; refused 3 "$address: the server's list of files does not end: it sends one page twice"
done
AWS_ENDPOINT_URL="$at/flaky"
bm sign s3://bucket/c/sub/ -o flaky; exits 0; says ../err '^bandmill: warning: s3://bucket/c/sub/: the server answers 503'
# names count as memory, and are shown while they come
AWS_ENDPOINT_URL="$at/many"
bm sign s3://bucket/c/ --memory 24M --progress always -o no; exits 6
says ../err '^bandmill: s3://bucket/c/: the names of its files take [0-9]* MiB and more, which is over 1/4 of --memory \(24M\)$'
bm sign 's3://bucket/c/*.none' --progress always -o no; exits 3; says ../err 'list +20[,.0-9k]* names'
: > 'web/bucket/other/a?b.jsonl'
AWS_ENDPOINT_URL="$at/plain"
bm sign s3://bucket/other/ -o no; refused 3 's3://bucket/other/: the name a\?b.jsonl there holds \?, and cannot be read at an address'
absent no
kill $server
