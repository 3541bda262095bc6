# SPDX-License-Identifier: Apache-2.0
# Devices that get texts: their own kernels, buffers, counts and fallbacks. A part of harness.sh.
# shellcheck shell=sh disable=SC2034,SC2154

# Faults are of the job itself: the process that tries the device first, which costs more than the job, finds none. It is there on `auto`.
by_name=BANDMILL_PROBE=
BANDMILL_CL_TEXT=on
for mode in $modes; do
    opening=$(opening_reads "$mode" text)
    all=$(reads "$mode" text many)
    n=1
    while [ "$n" -le "$opening" ]; do # known answers of hashes, and of texts
        job "$mode" sign many auto CL_SHIM_WHERE=job "CL_SHIM_FLIP=$n:0:0" $by_name
        injected
        right_bytes
        check grep -q 'warning: .*opencl:0\.0: the cached program is made again: self-test' err || fail "no word of it"
        n=$((n + 1))
    done
    step=1
    [ $mode = copied ] || step=3 # the other ways differ from it before the results are here
    while [ "$n" -le "$all" ]; do # every count, or every word, of a batch
        job "$mode" sign many auto "CL_SHIM_FLIP=$n:1:4" BANDMILL_PROBE=
        injected
        saved 'computed a wrong signature'
        n=$((n + step))
    done
    both "$mode" sign 'computed a wrong signature' "CL_SHIM_FLIP=$((opening + 1))+:1:4"
    both "$mode" sign '' "CL_SHIM_FAIL=clEnqueueNDRangeKernel:$(late "$mode" text clEnqueueNDRangeKernel)+:skip"
    both "$mode" sign '\(-36\)' "CL_SHIM_FAIL=clWaitForEvents:$(late "$mode" text clWaitForEvents):-36"
    both "$mode" sign '\(-48\)' "CL_SHIM_FAIL=clSetKernelArg:$(late "$mode" text clSetKernelArg)+:-48"
    # Memory that runs out where buffers grow: halved, and again, until a text is beyond the buffers and is hashed here.
    job "$mode" sign many auto "CL_SHIM_FAIL=clCreateBuffer:$(($(calls "$mode" text one clCreateBuffer) - 2)):-4"
    injected
    right_bytes
done
