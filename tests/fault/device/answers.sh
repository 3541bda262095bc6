# SPDX-License-Identifier: Apache-2.0
# Wrong answers of a device. The program looks for them where it promises to: in all known answers at open, and in one document of 1,024 of
# each batch (of a long document, in four words). So bits are flipped in the known answers, in every row of a batch, and in the one row that
# is checked. By design, a flip in another row alone would not be found. A part of harness.sh.
# shellcheck shell=sh disable=SC2034,SC2154

# Faults are of the job itself: the process that tries the device first, which costs more than the job, finds none. It is there on `auto`.
by_name=BANDMILL_PROBE=
for mode in $modes; do
    for command in sign dedup; do
        opening=$(opening_reads "$mode" "$command")
        all=$(reads "$mode" "$command" many)
        # One bit of the known answers, at every start: neither the cached program nor the one made again is used.
        job "$mode" "$command" many auto CL_SHIM_WHERE=job CL_SHIM_FLIP=1+:0:0
        injected
        saved 'left out: .*self-test'
        # One bit, once: the program is made again, and then it is right.
        n=1
        while [ "$n" -le "$opening" ]; do
            job "$mode" "$command" many auto CL_SHIM_WHERE=job "CL_SHIM_FLIP=$n:0:0" $by_name
            injected
            right_bytes
            check grep -q 'warning: .*opencl:0\.0: the cached program is made again: self-test' err || fail "no word of it"
            n=$((n + 1))
        done
        # A bit in every row of one batch: for each batch of one of the six, of the others for one batch in three.
        n=$((opening + 1)) step=3
        [ $mode.$command != copied.sign ] || step=1
        while [ "$n" -le "$all" ]; do
            job "$mode" "$command" many auto "CL_SHIM_FLIP=$n:3:64" BANDMILL_PROBE=
            injected
            saved 'computed a wrong signature'
            n=$((n + step))
        done
        both "$mode" "$command" 'computed a wrong signature' "CL_SHIM_FLIP=$((opening + 1))+:3:64"
    done
    job "$mode" sign many opencl:0.0 CL_SHIM_WHERE=job CL_SHIM_FLIP=1+:0:0
    refused 'self-test'
    # One bit of the one row that is looked at: of 160 rows of 128 words, word 5 of row 80.
    both "$mode" sign 'computed a wrong signature' "CL_SHIM_FLIP=$(($(opening_reads "$mode" sign) + 2)):$((80 * 512 + 20)):0"
    # A document of 6,000 shingles has four words compared, of the only one the first four; the flip is in word 0.
    job "$mode" sign long auto "CL_SHIM_FLIP=$(($(opening_reads "$mode" sign) + 1))+:3:64" BANDMILL_PROBE=
    injected
    saved 'computed a wrong signature'
    # A kernel that was never run, and no call that says so.
    both "$mode" sign 'computed a wrong signature' \
        "CL_SHIM_FAIL=clEnqueueNDRangeKernel:$(late "$mode" sign clEnqueueNDRangeKernel)+:skip"
done
