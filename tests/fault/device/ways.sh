# SPDX-License-Identifier: Apache-2.0
# Without faults: the device is used, and each way transfers results as it should. A part of harness.sh, and the first: it makes the
# documents and leaves them in $FOLDER, with the expected outputs, the log of the calls of each way, and the compiled kernels.
# shellcheck shell=sh disable=SC2034,SC2154

# documents N: every fifth is an earlier one with a word changed.
documents() {
    awk -v n="$1" 'BEGIN {
        srand(7)
        for (i = 0; i < n; i++) {
            if (i % 5 == 4) {
                k = split(texts[int(i / 2)], w, " "); w[1 + int(rand() * k)] = "edited"
            } else {
                k = 20 + int(rand() * 80); for (j = 1; j <= k; j++) w[j] = sprintf("w%x", int(rand() * 3000))
            }
            text = w[1]; for (j = 2; j <= k; j++) text = text " " w[j]
            texts[i] = text
            printf "{\"id\":\"d%d\",\"text\":\"%s\"}\n", i, text
        }
    }'
}
documents 1200 > many.jsonl
documents 40 > few.jsonl
documents 1 > one.jsonl
awk 'BEGIN { printf "{\"id\":\"d0\",\"text\":\""; for (i = 0; i < 6000; i++) printf "w%x ", i; print "\"}" }' > long.jsonl
awk 'BEGIN { printf "{\"id\":\"d0\",\"text\":\""; for (i = 0; i < 60000; i++) printf "w%x ", i; print "\"}" }' > longer.jsonl
for input in many few one long longer; do
    for command in sign dedup; do
        "$PROGRAM" "$command" "$input.jsonl" --device cpu -q -o "right.$command.$input" || exit 1
    done
done
[ "$(wc -l < right.dedup.many/removed.tsv)" -gt 120 ] || { echo "the documents hold too few duplicates"; exit 1; }

for mode in copied mapped lent; do
    for command in sign dedup; do
        for input in many one; do
            job "$mode" "$command" "$input" auto
            right_bytes
            ! check grep -q warning err || fail "a warning without a fault"
            cp log "log.$mode.$command.$input"
        done
    done
    job "$mode" sign few opencl:0.0
    right_bytes
done

# Where the parts of a document do not meet on a device, one of more than 49,152 shingles would take many launches: the CPU signs it, and
# only the known answers are read back.
options="--scheme affine64 --perms 16"
for input in one longer; do
    # shellcheck disable=SC2086 # options are words
    "$PROGRAM" sign "$input.jsonl" $options --device cpu -q -o "wide.$input" || exit 1
    job copied sign "$input" opencl:0.0
    check diff -q "wide.$input/signatures.npy" out/signatures.npy || fail "not what the CPU gives"
    cp log "log.wide.sign.$input"
done
options=
check [ "$(reads wide sign longer)" -lt "$(reads wide sign one)" ] || fail "the device signed a document that is the CPU's"

what="the three ways" rc=0
: > err
check [ "$(calls copied sign many clEnqueueReadBuffer)" -gt 8 ] || fail "copied: results are not copied"
check [ "$(calls mapped sign many clEnqueueReadBuffer)" -eq 0 ] || fail "mapped: results are copied"
check [ "$(calls lent sign many clCreateBuffer)" -gt "$(calls mapped sign many clCreateBuffer)" ] || fail "lent: nothing is lent"

# Kernels of PoCL before 6.0 run one after another, also of batches whose queues are not the same (cl_stream.c): all wait but the first of
# the trial run, of the self-test and of the job.
taken_in_turn() {
    check awk '$1 == "kernel" { n[$2]++ } END { exit !(n[0] <= 3 && n[1] > 8) }' "log.$1" ||
        fail "$1: kernels that may overlap: $(sed -n 's/^kernel //p' "log.$1" | sort | uniq -c | tr '\n' ';')"
}
pocl=$(sed -n 's/^opencl:0\.0 .*\[\([0-9]*\)\..*\].*/\1/p' listing)
[ "${pocl:-0}" -ge 6 ] || for mode in copied mapped lent; do taken_in_turn "$mode.sign.many"; done

# Texts go to the device: logs under the name of a command, `text`.
BANDMILL_CL_TEXT=on
for mode in copied mapped lent; do
    for input in many one; do
        job "$mode" sign "$input" auto
        right_bytes
        ! check grep -q warning err || fail "a warning without a fault"
        cp log "log.$mode.text.$input"
    done
    check [ "$(calls "$mode" text many clEnqueueNDRangeKernel)" -ge $((3 * 8)) ] || fail "no texts were given to the device"
done

keep_compiled
rm -rf "$FOLDER"
mkdir -p "$FOLDER" && cp -R ./*.jsonl right.* log.* cache pocl "$FOLDER/" || fail "$FOLDER cannot be written"
