#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# prepare.sh -- make the benchmark's corpus once (bench/make_corpus.py) and print the folder that holds corpus.jsonl and
# corpus.tsv: $BANDMILL_BENCH_DIR, or build/bench of the repository.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
folder=${BANDMILL_BENCH_DIR:-$root/build/bench-corpus}
mkdir -p "$folder"
if [ ! -s "$folder/corpus.json" ]; then
    python3 "$root/bench/make_corpus.py" "$folder/corpus.jsonl" --tsv "$folder/corpus.tsv" >"$folder/corpus.json.part"
    mv "$folder/corpus.json.part" "$folder/corpus.json"
fi
cat "$folder/corpus.json" >&2
printf '%s\n' "$folder"
