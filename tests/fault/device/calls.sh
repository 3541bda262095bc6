# SPDX-License-Identifier: Apache-2.0
# A call of the driver fails: at open, in the middle of the job, once or from then on; and a device that is lost. A part of harness.sh.
# shellcheck shell=sh disable=SC2034,SC2154

# Faults are of the job itself: the process that tries the device first, which costs more than the job, finds none. It is there on `auto`.
by_name=BANDMILL_PROBE=
# At open.
while read -r mode command call n code; do
    both "$mode" "$command" "\($code\)" CL_SHIM_WHERE=job "CL_SHIM_FAIL=$call:$n:$code"
done << 'FAULTS'
copied sign clCreateContext 1 -2
mapped dedup clCreateContext 1 -6
lent sign clCreateContext 1 -5
copied dedup clCreateCommandQueue 2 -35
lent sign clCreateCommandQueue 3 -6
mapped sign clCreateBuffer 1 -61
copied sign clBuildProgram 1+ -11
lent dedup clBuildProgram 1+ -11
mapped sign clCreateKernel 1+ -46
FAULTS

# A trial run gets no context where the job gets one: the process of the job holds a device that only one process may have.
for mode in $modes; do
    job "$mode" sign few opencl:0.0 CL_SHIM_WHERE=trial CL_SHIM_FAIL=clCreateContext:1+:-2
    injected
    right_bytes
    ! check grep -q warning err || fail "a job that was done warns"
done

# In the middle, once or from then on.
while read -r mode command call ever code; do
    both "$mode" "$command" "\($code\)" "CL_SHIM_FAIL=$call:$(late "$mode" "$command" "$call")${ever#-}:$code"
done << 'FAULTS'
copied sign clSetKernelArg - -50
mapped dedup clSetKernelArg - -38
lent sign clSetKernelArg - -48
copied dedup clEnqueueNDRangeKernel - -54
mapped sign clEnqueueNDRangeKernel + -5
lent sign clEnqueueNDRangeKernel + -4
copied sign clEnqueueWriteBuffer - -36
copied sign clEnqueueWriteBuffer + -4
copied dedup clEnqueueReadBuffer - -36
copied sign clEnqueueReadBuffer + -5
mapped sign clEnqueueMapBuffer - -12
mapped dedup clEnqueueMapBuffer + -4
lent dedup clEnqueueMapBuffer - -12
lent sign clCreateBuffer - -37
lent dedup clCreateBuffer + -61
mapped sign clFlush - -36
copied sign clWaitForEvents - -14
mapped dedup clWaitForEvents - -5
lent sign clWaitForEvents + -36
FAULTS

# A device that is lost: from some call on, nothing works.
for n in 60 90 120 150; do
    for mode in $modes; do
        job "$mode" sign many auto "CL_SHIM_FAIL=any:$n+:-5"
        injected
        saved ''
    done
done
# Where that is the first batch of the job, it could be memory that is short: it is asked for once, not for half as much again and again.
lost=
for n in 84 88 92 96 100 104; do
    job copied sign many opencl:0.0 "CL_SHIM_FAIL=any:$n+:-5" BANDMILL_PROBE=
    injected
    refused '\(-5\)'
    asked=$(grep -cE '^fault cl(CreateBuffer|EnqueueMapBuffer|SetKernelArg|EnqueueNDRangeKernel) ' log)
    check [ "$asked" -lt 4 ] || fail "a device that is lost was asked for a batch $asked times"
    ! grep -q 'the device is lost' err || lost=yes
done
check [ -n "$lost" ] || fail "no device was lost in its first batch"
