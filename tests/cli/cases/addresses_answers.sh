# SPDX-License-Identifier: Apache-2.0
# Each answer of a server in address_answers.tsv is either read correctly or gives an error of one line with its exit code. A part of a file
# or of a list is never taken for the whole.
# shellcheck shell=sh disable=SC2034,SC2154
"$PYTHON" -c '' 2> /dev/null || skip "there is no Python"
table=$(dirname "$CASE")/../address_answers.tsv
mkdir -p web/bucket/c web/datasets/me/set/resolve/main
i=0
while [ $i -lt 100 ]; do
    echo "{\"id\":\"d$i\",\"text\":\"some words of document $i that no other one has, and some more of them: $i $i $i\"}"
    i=$((i + 1))
done > web/in.jsonl # more than first bytes, less than a block
for name in a.jsonl b.jsonl 'x&y <1>.jsonl' ü.jsonl; do
    printf '{"text":"some words of %s that are its own"}\n' "$name" > "web/bucket/c/$name"
done
cp -r web/bucket/c web/datasets/me/set/resolve/main/c
"$PYTHON" "$(dirname "$CASE")/../address_server.py" web ready log 2> served &
server=$!
comes test -s ready
at=http://127.0.0.1:$(cat ready)
bm sign web/in.jsonl -o local --perms 16; exits 0
rows=0
while IFS='	' read -r name kind when code headers body exit says; do
    case $name in '#'* | '') continue ;; esac
    rows=$((rows + 1))
    export AWS_ENDPOINT_URL="$at/as-$name" HF_ENDPOINT="$at/as-$name"
    case $name in
    empty*) : > "web/$name.jsonl"; address=$at/as-$name/$name.jsonl shown=$address ;;
    *)
        case $kind in
        file) address=$at/as-$name/in.jsonl ;;
        bucket) address=s3://bucket/c/ ;;
        hub) address=hf://datasets/me/set/c/ ;;
        esac
        ;;
    esac
    rm -rf read
    bm sign "$address" --perms 16 -o read
    if [ "$exit" != 0 ]; then
        exits "$exit"
        says ../err "^bandmill: $address: .*$says"
        absent read
        continue
    fi
    exits 0
    case $name:$kind in
    empty*) says ../err '^bandmill: the input is empty' ;;
    *:file) holds read/signatures.npy < local/signatures.npy ;;
    *) sed 's/:1$//' read/ids.txt | sed "s|^$address||" | tr '\n' ' ' > names; echo "$says " | tr -d '\n' | holds names ;;
    esac
done < "$table"
checks=$((checks + 1)); [ $rows -gt 100 ] || fail "$rows answers"
kill $server
