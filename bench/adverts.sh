#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# adverts.sh BANDMILL INTERSECT SENTENCES OUT.json [DOCUMENTS] -- classified adverts from file to verified groups: the whole job on
# all cores, and verification on one core against a plain merge of sorted hashes (plain_merge.c) over the same candidates.
#
# SENTENCES is the file whose sentences the documents are made of (adverts.py). 400,000 documents unless told; 42 bands of 3 rows,
# word:5, threshold 0.5. The corpus is made once, in $BANDMILL_BENCH_DIR or build/bench-corpus. Outputs go to /dev/shm.
set -euo pipefail
(($# >= 4)) || { sed -n 3,8p "$0" >&2; exit 2; }
bandmill=$1 intersect=$2 sentences=$3 out=$4 n=${5:-400000}
root=$(cd "$(dirname "$0")/.." && pwd)
folder=${BANDMILL_BENCH_DIR:-$root/build/bench-corpus}
mkdir -p "$folder"
corpus=$folder/adverts-$n.jsonl
[[ -s $corpus.planted.tsv ]] || python3 "$root/bench/adverts.py" "$n" "$sentences" "$corpus" >&2
exec python3 "$root/bench/adverts_run.py" "$bandmill" "$intersect" "$corpus" "$out"
