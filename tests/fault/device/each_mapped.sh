# SPDX-License-Identifier: Apache-2.0
# Every call of a small job fails in turn; buffers are mapped. And known answers in several batches. A part of harness.sh.
# shellcheck shell=sh disable=SC2034,SC2154

# Every second call; the other ways have those between.
in_turn mapped auto -5 $(($(calls_of_listing) + 1)) dedup 2

# Known answers in several batches, of which one fails: rows of 8 KiB, so that small buffers do not hold all.
"$PROGRAM" dedup few.jsonl --device cpu --perms 1024 --bands 512 --rows 2 -q -o right.dedup.wide || exit 1
cp few.jsonl wide.jsonl
sed -i 's/few\.jsonl/wide.jsonl/g' right.dedup.wide/*.tsv
options="--perms 1024 --bands 512 --rows 2"
for mode in copied mapped; do
    job "$mode" dedup wide auto BANDMILL_PROBE= BANDMILL_CL_LIMIT=65536
    right_bytes
    for n in 1 2 3; do
        job "$mode" dedup wide auto "CL_SHIM_FAIL=clWaitForEvents:$n:-36" BANDMILL_PROBE= BANDMILL_CL_LIMIT=65536
        injected
        right_bytes
    done
done
keep_compiled
