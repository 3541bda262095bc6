# SPDX-License-Identifier: Apache-2.0
# The same bytes for any --memory: outputs and counts of jobs that stay in memory, and of jobs whose sets, keys and edges lie in files.
# A budget that is too small is refused, naming the least that would do, and that least does.
# shellcheck shell=sh disable=SC2034,SC2154
"$PLANTED" 24000 > some.jsonl
head -n 6000 some.jsonl | sed 's/"id":"/"id":"copy/' | cat some.jsonl - > in.jsonl
gzip -k in.jsonl # of which sets are not made again
input=in.jsonl

run_less() { sed '/^  "run": {/,/^  }/d' "$1"; } # a report without what varies

plan='--bands 25 --rows 5' # whose keys do not fit beside these documents either
same() { # same NAME LITTLE COMMAND…: with so little memory, 34 MiB and 8 GiB
    name=$1 little=$2
    shift 2
    for memory in 8G 34M "$little"; do
        # shellcheck disable=SC2086 # options
        bm "$@" $input $plan --memory $memory --threads 2 --temp-dir . -o "$name.$memory" -q --report "$name.$memory.json"; exits 0
        if [ -f "$name.$memory" ]; then
            holds "$name.$memory" < "$name.8G"
        else
            for file in "$name.8G"/*; do
                [ "${file##*/}" = report.json ] || holds "$name.$memory/${file##*/}" < "$file"
            done
        fi
        run_less "$name.8G.json" > expected.json
        run_less "$name.$memory.json" > got.json
        holds got.json < expected.json
    done
    says "$name.8G.json" '"sets_from": "memory"'
    says "$name.$little.json" "\"key_bytes\": [1-9]"
    rm -rf "$name".*
}

same groups 19M dedup
input=in.jsonl.gz
same packed 22M dedup
input=in.jsonl
same pairs 24M dedup --pairs --kept no
same star 24M dedup --cluster star --keep longest --kept no
same list 24M pairs
same words 22M dedup --verify signature --kept no
same none 21M dedup --verify none --kept no --pairs

# from signatures, with the texts read again
bm sign in.jsonl -o sigs -q; exits 0
for memory in 8G 24M; do
    # shellcheck disable=SC2086 # options
    bm dedup sigs $plan --memory $memory --threads 2 --temp-dir . -o sig.$memory -q --kept no; exits 0
done
says sig.24M/report.json '"sets_from": "file"'
for file in removed.tsv groups.jsonl sources.tsv; do
    holds sig.24M/$file < sig.8G/$file
done

# too small
bm dedup in.jsonl --memory 1M --threads 2 -o out; refused 6 '.*--memory of 1024 KiB is too small to work \(at least [0-9]+M with 2 threads\)'
absent out
least=$(sed -n 's/.*at least \([0-9]*\)M.*/\1/p' ../err)
bm dedup in.jsonl --memory $((least - 1))M --threads 2 -o out; refused 6 '.*too small to work'
head -n 1000 in.jsonl > few.jsonl
bm dedup few.jsonl --memory "${least}M" --threads 2 -o out -q; exits 0
# too many documents for it: said as such, and nothing is left
seq 400000 | sed 's/.*/{"id":"&","text":"one two three four five &"}/' > many.jsonl
bm dedup many.jsonl --memory "${least}M" --threads 2 --force -o none; refused 6 '.*more than --memory allows \([0-9]+ MiB; its first [0-9]+ documents need'
absent none
