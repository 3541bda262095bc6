# SPDX-License-Identifier: Apache-2.0
# Several devices at once: each takes the next batch when it is ready, and the outputs do not depend on which device signed what.
# shellcheck shell=sh disable=SC2034,SC2154
i=0
while [ $i -lt 3000 ]; do
    echo "{\"id\":$i,\"text\":\"document $i repeats some words of document $((i / 3)) and adds $((i * 7919 % 1000)) of its own kind\"}"
    i=$((i + 1))
done > in.jsonl
unset BANDMILL_DEVICE

devices=$("$PROGRAM" devices --json 2> /dev/null | grep -o '"spec":"opencl:[0-9]*\.[0-9]*"' | cut -d '"' -f 4 | tr '\n' ',')
[ -n "$devices" ] || skip "no OpenCL device"
together="cpu,${devices%,}"

# documents NAME: of the devices that the report names, "spec documents" a line
documents() {
    tr -d ' \n' < "$1" | grep -o '"device":"[^"]*","name":[^}]*"documents":[0-9]*' |
        sed 's/"device":"\([^"]*\)".*"documents":\([0-9]*\)/\1 \2/'
}

bm sign in.jsonl --device cpu --band-keys -o alone; exits 0
bm dedup in.jsonl --device cpu --pairs -o alone.groups; exits 0
# Who is quick gets more, and where others have the processor one may get all: ten runs in a row do not come out so.
for batch in 1 50 50 50 50 50 50 50 50 50 50; do
    bm sign in.jsonl --device "$together" --band-keys --batch-docs $batch -o "out.$batch"; exits 0
    for file in signatures.npy band_keys.npy n_shingles.npy n_bytes.npy content_hash.npy ids.txt; do
        holds "out.$batch/$file" < "alone/$file"
    done
    documents "out.$batch/manifest.json" > ../who
    checks=$((checks + 1))
    [ "$(awk '{ n += $2 } END { print n }' ../who)" -eq 3000 ] || fail "not every document was signed once: $(cat ../who)"
    busy=$(awk '$2 > 0' ../who | wc -l)
    [ "$batch" = 1 ] || [ "$busy" -lt 2 ] || break
    rm -r "out.$batch"
done
checks=$((checks + 1))
[ "$busy" -ge 2 ] || fail "only one device had work: $(cat ../who)"
bm dedup in.jsonl --device "$together" --batch-docs 50 --pairs -o groups; exits 0
for file in pairs.tsv groups.jsonl removed.tsv kept.jsonl; do
    holds "groups/$file" < "alone.groups/$file"
done
