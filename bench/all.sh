#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# all.sh NAME [BUILD] -- every benchmark of this folder, one after the other (20 to 30 minutes), on a machine with nothing else to do;
# results/…-NAME.json. BUILD is a Release build (build/release). The comparison with seven tools is apart: compare.py.
#
# adverts.sh needs a file of sentences (SENTENCES, or ../shared/data/minhash_articles beside the repository); else it is left out.
set -euo pipefail
(($# >= 1)) || { sed -n '3,6s/^# \{0,1\}//p' "$0" >&2; exit 2; }
cd "$(dirname "$0")/.."
name=$1 build=${2:-build/release} results=bench/results
sentences=${SENTENCES:-../shared/data/minhash_articles/articles_1000.train}
say() { printf '== %s (%d s)\n' "$1" "$SECONDS" >&2; }

say "devices, one core"
for isa in scalar avx2 avx512; do
    BANDMILL_CPU=$isa "$build/bandmill" devices >/dev/null 2>&1 || continue
    bench/devices.sh "$build/bandmill" "$isa" "$results/devices-$isa-$name.json"
done
say "text"
bench/text_ratio.sh "$build/bandmill" "$build/bench/limit" "$results/text-ratio-$name.json"
bench/text_rates.sh "$build/bandmill" "$build/bench/limit" "$results/text-rates-$name.json" >/dev/null
say "whole job"
bench/whole_job.sh "$build/bandmill" "$results/whole-job-$name.json"
say "adverts"
if [[ -r $sentences ]]; then
    bench/adverts.sh "$build/bandmill" "$build/bench/intersect" "$sentences" "$results/adverts-$name.json"
else
    say "left out: no file of sentences"
fi
say "start-up"
bench/startup.sh "$build/bandmill" "$results/startup-$name.json"
say "scaling"
bench/scaling.sh "$build/bandmill" "$build/bench/planted" "$results/scaling-$name.json"
say "index"
bench/index.sh "$build/bandmill" "$results/index-$name.json" >/dev/null
say "weighted documents"
bench/cws.sh "$build/bench/weighted_signer" "$results/cws-$name.json" >/dev/null
say "done"
