# SPDX-License-Identifier: Apache-2.0
# Texts of a file at an address are sent to a device like texts of a local file.
# shellcheck shell=sh disable=SC2034,SC2154
"$PYTHON" -c '' 2> /dev/null || skip "there is no Python"
"$PROGRAM" devices 2> /dev/null | grep -q 'Portable Computing Language' || skip "there is no PoCL"
mkdir web
i=0
while [ $i -lt 300 ]; do
    n=$((i / 2))
    echo "{\"id\":\"d$i\",\"text\":\"w$n a$n b$n c$n d$n e$n f$n g$n h$n i$n j$((i % 2)) k$n l$n m$n\"}"
    i=$((i + 1))
done > web/in.jsonl
"$PYTHON" "$(dirname "$CASE")/../address_server.py" web ready log 2> served &
server=$!
comes test -s ready
export BANDMILL_CL_TEXT=on
bm dedup web/in.jsonl --threshold 0.8 --device opencl -v -o here; exits 0; says ../err 'texts go to the device'
bm dedup "http://127.0.0.1:$(cat ready)/plain/in.jsonl" --threshold 0.8 --device opencl -o there; exits 0
holds there/groups.jsonl < here/groups.jsonl
kill $server
