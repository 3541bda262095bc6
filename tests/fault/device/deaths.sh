# SPDX-License-Identifier: Apache-2.0
# The driver ends the process, or never returns. A part of harness.sh. The tests mostly wait for the program's time limits, so several of
# them (lanes) run at once, each in its own directory.
# shellcheck shell=sh disable=SC2034,SC2154

# lane NAME FUNCTION: in the background; its counts are added up by `lanes_end`.
lanes=
lane() {
    mkdir "lane.$1"
    ln -s "$top"/*.jsonl "$top"/right.* "$top"/log.* "lane.$1/"
    (
        cd "lane.$1" || exit 1
        export CL_SHIM_LOG="$PWD/log"
        checks=0 failures=0
        serve
        "$2" "$1" > said
        dismiss
        echo "$checks $failures" > counts
    ) &
    lanes="$lanes $!"
}
lanes_end() {
    # shellcheck disable=SC2086 # process ids are words
    wait $lanes # and not for the server of this shell
    for counted in lane.*; do
        cat "$counted/said"
        what=$counted
        check [ -s "$counted/counts" ] || { fail "the lane did not end"; continue; }
        read -r more bad < "$counted/counts"
        checks=$((checks + more)) failures=$((failures + bad))
    done
}

# --- in the trial run ---

deaths() {
    while read -r action says; do
        both mapped sign "a trial run .*$says" CL_SHIM_WHERE=trial "CL_SHIM_FAIL=clBuildProgram:1+:$action"
    done << 'DEATHS'
abort signal 6
exit exit code 1
-11 exit code 5: .*\(-11\)
DEATHS
    hangs BANDMILL_PROBE_SECONDS mapped sign 'a trial run .*did not end' CL_SHIM_WHERE=trial CL_SHIM_FAIL=clBuildProgram:1+:hang
    both lent dedup 'a trial run .*exit code' CL_SHIM_WHERE=trial CL_SHIM_FLIP=1+:0:0
}

# PoCL itself aborts on a broken file in its own cache.
broken_cache() {
    cp -R "$top/pocl" broken
    job lent sign few auto POCL_CACHE_DIR="$PWD/broken" BANDMILL_CACHE_DIR="$PWD/empty"
    right_bytes
    find broken -type f -size +0 -exec truncate -s 10 {} +
    job lent sign few auto POCL_CACHE_DIR="$PWD/broken" BANDMILL_CACHE_DIR="$PWD/empty"
    saved 'signal'
    job lent sign few opencl:0.0 POCL_CACHE_DIR="$PWD/broken" BANDMILL_CACHE_DIR="$PWD/empty"
    refused 'signal'
}

# --- in the job. The limit is short here, and longer where it is over before the call that hangs; the trial run has its own. ---

# CALL N: in the middle of the job (late), in its known answers (a number), or at its end.
cat > hangs << 'HANGS'
copied sign clWaitForEvents late
copied dedup clEnqueueReadBuffer late
copied sign clEnqueueWriteBuffer late
mapped sign clEnqueueMapBuffer late
mapped dedup clFlush late
lent sign clWaitForEvents late
lent dedup clEnqueueNDRangeKernel late
copied sign clCreateContext 1
lent sign clWaitForEvents 1
HANGS
# hanging LANE: every third line of them
hanging() {
    awk -v lane="$1" 'NR % 3 == lane' ../hangs > mine
    while read -r mode command call n; do
        [ "$n" = late ] && n=$(late "$mode" "$command" "$call")
        hangs BANDMILL_DEVICE_SECONDS "$mode" "$command" 'did not answer' CL_SHIM_WHERE=job "CL_SHIM_FAIL=$call:$n:hang"
    done < mine
}
# A device that hangs when it is let go: the job is done, and nothing is lost.
hanging_at_the_end() {
    for mode in copied lent; do
        in_time BANDMILL_DEVICE_SECONDS "$mode" sign opencl:0.0 CL_SHIM_WHERE=job CL_SHIM_FAIL=clReleaseContext:1:hang
        right_bytes
    done
}

# `bench`, while it times hashes, and while it times copies.
hanging_bench() {
    for fault in "clWaitForEvents:$(late copied sign clWaitForEvents):hang" clFinish:1:hang; do
        for limit in 2 8 32 128; do
            what="bench, $fault, $limit seconds"
            rm -rf log
            execute CL_SHIM_TYPE=gpu CL_SHIM_SEPARATE=1 CL_SHIM_WHERE=job "CL_SHIM_FAIL=$fault" "BANDMILL_DEVICE_SECONDS=$limit" \
                -- bench --device opencl:0.0 --repeats 1 --min-seconds .001
            ! faulted || break
        done
        injected
        refused "did not (answer|copy) within $limit seconds"
    done
}

deaths_of_trial_runs() {
    deaths
    hanging_bench
    broken_cache
    hanging_at_the_end
}
for n in 0 1 2; do lane $n hanging; done
lane trial deaths_of_trial_runs
lanes_end
