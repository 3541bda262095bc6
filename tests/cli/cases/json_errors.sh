# SPDX-License-Identifier: Apache-2.0
# --json: an error of any kind is one JSON object on stderr, with its exit code, file and line; also before the command is known.
# shellcheck shell=sh disable=SC2034,SC2154,SC2217
printf '{"id":"a","text":"one two three four five six"}\n{"id":"b","text":"one two three four five six"}\n{"id":"c","text":"un deux trois quatre cinq six"}\n' > a.jsonl
printf '{"id":"a","text":"one"}\nno JSON\n' > bad.jsonl

# object CODE STATUS FILE LINE: the exit code, and one object that says so (FILE and LINE as JSON values), and nothing else on either.
object() {
    exits "$1"
    checks=$((checks + 1))
    [ ! -s ../out ] || fail "data on stdout"
    [ "$(wc -l < ../err)" -eq 1 ] || fail "not one line on stderr"
    says ../err "^\\{\"error\":\\{\"exit\":$1,\"status\":\"$2\",\"file\":$3,\"line\":$4,\"message\":\"[^\"].*\"\\}\\}\$"
    cat ../err >> ../objects
}

# before there is a command, and where there is none
bm --json; object 2 usage null null
bm --json --threads 4; object 2 usage null null
bm --nothing --json; object 2 usage null null
bm --json --num-perm 64 dedup a.jsonl -o out; object 2 usage null null
bm nothing --json; object 2 usage null null
bm query a.jsonl --json; object 2 usage null null
bm '' --json; object 2 usage null null
bm help nothing --json; object 2 usage null null
# the options
bm dedup a.jsonl -o out --json --perms 0; object 2 usage null null
bm dedup a.jsonl -o out --json=yes; exits 2
bm --json dedup a.jsonl -o; object 2 usage null null
bm dedup --json -o out; object 2 usage null null
bm dedup a.jsonl -o out --threshold 0.1 --perms 4 --json; object 2 usage null null
bm dedup a.jsonl -o a.jsonl --json; object 2 usage '"a.jsonl"' null
bm bench --tune --json; object 2 usage null null
# the inputs
bm dedup bad.jsonl -o out --json; object 3 input '"bad.jsonl"' 2
bm pairs bad.jsonl --json; object 3 input '"bad.jsonl"' 2
bm cluster bad.jsonl --json; object 3 input '"bad.jsonl"' 1
printf '{"id":"a","text":"x"}\n{"id":"a","text":"y"}\n' > twice.jsonl
bm sign twice.jsonl -o out --json; object 3 input '"twice.jsonl"' 2
printf 'a\001"b\\\n' > 'na"me\
.jsonl'
bm dedup 'na"me\
.jsonl' -o out --json; object 3 input '"na\\"me\\\\\\u000a.jsonl"' 1
name=$(printf 'latin\351.jsonl')
cp bad.jsonl "$name"
bm dedup "$name" -o out --json; object 3 input '"latin\\ufffd.jsonl"' 2
bm dedup nofile.jsonl -o out --json; object 4 io '"nofile.jsonl"' null
bm dedup a.jsonl -o a.jsonl/out --json; exits 2
# the machine
bm dedup a.jsonl -o out --device no-such-device --json; object 5 device null null
bm dedup a.jsonl -o out --memory 1 --json; object 6 nomem null null
# files of ours
bm dedup a.jsonl -o done; exits 0
bm explain done a c --json; object 1 'not_found' '[^,]*' null
bm explain done a nobody --json; exits 2; says ../err '^\{"error":\{"exit":2,'
echo '{}' > done/report.json
bm explain done a b --json; object 7 format '"done[^"]*"' null
bm filter done -o out --json; object 7 format '"done[^"]*"' null
bm inspect nothing.npy --json; exits 4; says ../err '^\{"error":\{"exit":4,"status":"io","file":"nothing.npy"'
echo 'no array' > x.npy
bm inspect x.npy --json; object 7 format '"x.npy"' null
bm cluster "$(printf 'no\tfile')" --json; object 4 io '"no\\u0009file"' null
# a lock, signals, and a reader that is gone
for i in $(seq 300); do echo "{\"id\":$i,\"text\":\"text $i of some words, and a few more\"}"; done > long.jsonl
mkfifo fifo
# waits ARGS...: a job whose input has begun and does not end
waits() {
    env --default-signal=INT "$PROGRAM" "$@" < fifo > ../job.out 2> ../job.err &
    job=$!
    exec 3> fifo
    cat long.jsonl >&3
    comes test -s locked.partial/.bandmill-work
}
waits sign - -o locked --json
bm sign a.jsonl -o locked --json; object 9 locked '"locked.partial"' null
command_line='kill -INT bandmill sign - -o locked --json'
kill -INT $job
wait $job
rc=$?
exec 3>&- # not before: at its input's end the job might be done first
cp ../job.out ../out
cp ../job.err ../err
object 130 cancelled null null
absent out locked
if [ -w /dev/full ]; then
    command_line='bandmill pairs a.jsonl --json > /dev/full'
    "$PROGRAM" pairs a.jsonl --json > /dev/full 2> ../err; rc=$?
    : > ../out
    object 4 io null null
    "$PROGRAM" --version --json > /dev/full 2> ../err; rc=$?
    object 4 io null null
fi

# nothing for people beside it: warnings are objects of their own, notes are not said
bm dedup a.jsonl -o quiet --json; exits 0; silent ../err
bm dedup a.jsonl -o verbose --json -vv; exits 0
if grep -qv '^{"\(warning\|info\|debug\)":{"message":".*"}}$' ../err; then fail "a line that is no object"; fi
bm dedup a.jsonl -o quiet --force -q --json; exits 0; silent ../err
bm dedup bad.jsonl -o out -q --json; object 3 input '"bad.jsonl"' 2

# all that was an object, as JSON
if command -v "$PYTHON" > /dev/null; then
    checks=$((checks + 1))
    "$PYTHON" -c 'import json, sys
for line in open("../objects", "rb"):
    try:
        json.loads(line.decode())
    except ValueError:
        sys.exit(line)' 2> ../err || fail "not JSON"
fi
