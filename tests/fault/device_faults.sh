#!/bin/sh
# device_faults.sh PROGRAM SHIM_DIR -- the program under an OpenCL driver that fails, lies, dies or hangs.
#
# SHIM_DIR holds the libOpenCL.so.1 of cl_shim.c. Behind it stands PoCL (its .icd from OCL_ICD_VENDORS or /etc/OpenCL/vendors), whose one
# device it shows as a GPU, since `--device auto` takes nothing else. Three ways in which results come back are walked:
#
#   copied   a GPU with memory of its own: pinned buffers, clEnqueueWriteBuffer and clEnqueueReadBuffer
#   mapped   a GPU that shares the host's memory: buffers are mapped
#   lent     a CPU (a GPU in the listing only): kernels work in the caller's memory
#
# Whatever is injected, a job on `auto` must end with 0, a warning that names the device, and the bytes that `--device cpu` gives; a job on
# a device asked for by name with 5, one line of error that names the device, and nothing at its target. Never may wrong bytes be
# written, nor a signal end it.
#
# A wrong answer is looked for where the program promises to look: in all known answers at open, and in one document of 1,024 of each
# batch. So bits are flipped in the known answers, in every row of a batch, and in the one row that is looked at; a flip in another row
# alone would pass, by design.
#
# Exit code: 0 all held, 1 something did not, 77 no PoCL here (a failure where BANDMILL_REQUIRE_OPENCL is set).
set -u
PROGRAM=$(realpath "$1") && SHIM=$(realpath "$2") || exit 1
here=${OCL_ICD_VENDORS:-/etc/OpenCL/vendors}
top=$(mktemp -d) || exit 1
trap 'rm -rf "$top"' EXIT
trap 'exit 1' INT TERM
cd "$top" || exit 1
mkdir vendors cache pocl
cp "$here"/pocl*.icd vendors/ 2>/dev/null || cp /etc/OpenCL/vendors/pocl*.icd vendors/ 2>/dev/null
unset BANDMILL_CPU BANDMILL_DEVICE BANDMILL_CL_SHAPE BANDMILL_CL_LIMIT BANDMILL_PROBE BANDMILL_PROBE_SECONDS OPENCL_VENDOR_PATH
export BANDMILL_CL_TEXT=off # hashes go to the device; the parts at the end say otherwise
export LC_ALL=C OCL_ICD_VENDORS="$top/vendors" BANDMILL_CACHE_DIR="$top/cache" POCL_CACHE_DIR="$top/pocl"
export LD_LIBRARY_PATH="$SHIM${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" CL_SHIM_LOG="$top/log"
failures=0
checks=0
options=
part=$(date +%s)

"$PROGRAM" devices > listing || exit 1
if ! grep -q '^opencl:0\.0 ' listing; then
    echo "SKIPPED: no PoCL device"
    [ -n "${BANDMILL_REQUIRE_OPENCL:-}" ] && exit 1
    exit 77
fi

# --- documents and what must come out ---

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
documents 3000 > many.jsonl
documents 40 > few.jsonl
documents 1 > one.jsonl
for input in many few one; do
    for command in sign dedup; do
        "$PROGRAM" "$command" "$input.jsonl" --device cpu -q -o "right.$command.$input" || exit 1
    done
done
[ "$(wc -l < right.dedup.many/removed.tsv)" -gt 300 ] || { echo "the documents hold too few duplicates"; exit 1; }

# --- running and judging ---

# job MODE COMMAND INPUT DEVICE [VAR=VALUE...]
job() {
    mode=$1 command=$2 input=$3 device=$4
    shift 4
    what="$mode $command $input --device $device $*"
    case $mode in
    copied) set -- CL_SHIM_TYPE=gpu CL_SHIM_SEPARATE=1 "$@" ;;
    mapped) set -- CL_SHIM_TYPE=gpu "$@" ;;
    lent) set -- CL_SHIM_TYPE=listed "$@" ;;
    esac
    rm -rf out out.* log
    # shellcheck disable=SC2086 # options are words
    timeout -k 5 60 env "$@" "$PROGRAM" "$command" "$input.jsonl" --device "$device" --batch-docs 400 $options -o out > stdout 2> err
    rc=$?
}

fail() {
    failures=$((failures + 1))
    printf 'FAILED: %s\n  job: %s\n  exit code: %s\n  faults: %s\n  stderr: %s\n' "$1" "$what" "$rc" \
        "$(grep '^fault' log 2>/dev/null | head -n 3 | tr '\n' ';')" "$(head -c 900 err)"
}

check() {
    checks=$((checks + 1))
    "$@" > /dev/null 2>&1
}

injected() { check grep -q '^fault' log || fail "no fault was injected"; }

right_bytes() {
    files="removed.tsv groups.jsonl kept.jsonl"
    [ "$command" = dedup ] || files="signatures.npy n_shingles.npy ids.txt"
    check [ "$rc" = 0 ] || fail "exit code $rc, expected 0"
    for file in $files; do
        check cmp "out/$file" "right.$command.$input/$file" || fail "$file is not what the CPU gives"
    done
    ! check grep -qv '^bandmill: ' err || fail "a line on stderr that is not the program's"
}

# saved 'ERE': the CPU ended the job, and a warning that names the device says why.
saved() {
    right_bytes
    check grep -qE "^bandmill: warning: device opencl:0\.0 .*$1" err || fail "no warning for: $1"
}

# refused 'ERE': no result rather than another device's.
refused() {
    check [ "$rc" = 5 ] || fail "exit code $rc, expected 5"
    grep -v '^bandmill: warning: ' err > error
    check [ "$(wc -l < error)" -eq 1 ] || fail "not one line beside warnings on stderr"
    check grep -qE '^bandmill: .*opencl:0\.0' error || fail "the error does not name the device"
    check grep -qE "$1" error || fail "the error does not say: $1"
    for left in out out.*; do
        ! check [ -e "$left" ] || fail "$left was left over"
    done
}

# both MODE COMMAND 'ERE' VAR=VALUE...: the same fault on `auto` and by name.
both() {
    b_mode=$1 b_command=$2 b_says=$3
    shift 3
    job "$b_mode" "$b_command" many auto "$@"
    injected
    saved "$b_says"
    job "$b_mode" "$b_command" many opencl:0.0 "$@"
    injected
    refused "$b_says"
}

done_with() {
    now=$(date +%s)
    echo "$1: $checks checks so far, $failures failed, $((now - part)) s"
    part=$now
}

# --- without faults: the device is used, and each way is the one meant. The log counts the calls. ---

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

# calls MODE COMMAND INPUT CALL: how often.
calls() { sed -n "s/^calls $4 //p" "log.$1.$2.$3" | grep . || echo 0; }
# late MODE COMMAND CALL: the number of one in the middle of the job, behind those of opening.
late() {
    opening=$(calls "$1" "$2" one "$3")
    all=$(calls "$1" "$2" many "$3")
    echo $((opening + (all - opening + 1) / 2))
}
# reads MODE COMMAND INPUT: read-backs. The last "read" is the job's: the trial run comes before.
reads() { sed -n 's/^read //p' "log.$1.$2.$3" | tail -n 1; }
# opening_reads MODE COMMAND: those of the known answers. `many` has 8 batches, `one` has 1, each is read back alike.
opening_reads() { echo $(($(reads "$1" "$2" one) - ($(reads "$1" "$2" many) - $(reads "$1" "$2" one)) / 7)); }

what="the three ways" rc=0
: > err
check [ "$(calls copied sign many clEnqueueReadBuffer)" -gt 8 ] || fail "copied: results are not copied"
check [ "$(calls mapped sign many clEnqueueReadBuffer)" -eq 0 ] || fail "mapped: results are copied"
check [ "$(calls lent sign many clCreateBuffer)" -gt "$(calls mapped sign many clCreateBuffer)" ] || fail "lent: nothing is lent"
done_with "no faults"

# --- a call fails ---

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
    for mode in copied mapped lent; do
        job "$mode" sign many auto "CL_SHIM_FAIL=any:$n+:-5"
        injected
        saved ''
    done
done
done_with "calls that fail"

# --- wrong answers ---

for mode in copied mapped lent; do
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
            job "$mode" "$command" many auto CL_SHIM_WHERE=job "CL_SHIM_FLIP=$n:0:0"
            injected
            right_bytes
            check grep -q 'warning: .*opencl:0\.0: the cached program is made again: self-test' err || fail "no word of it"
            n=$((n + 1))
        done
        # A bit in every row of one batch, for each batch.
        n=$((opening + 1))
        while [ "$n" -le "$all" ]; do
            job "$mode" "$command" many auto "CL_SHIM_FLIP=$n:3:64" BANDMILL_PROBE=
            injected
            saved 'computed a wrong signature'
            n=$((n + 1))
        done
        both "$mode" "$command" 'computed a wrong signature' "CL_SHIM_FLIP=$((opening + 1))+:3:64"
    done
    job "$mode" sign many opencl:0.0 CL_SHIM_WHERE=job CL_SHIM_FLIP=1+:0:0
    refused 'self-test'
    # One bit of the one row that is looked at: of 400 rows of 128 words, word 5 of row 200.
    both "$mode" sign 'computed a wrong signature' "CL_SHIM_FLIP=$(($(opening_reads "$mode" sign) + 2)):$((200 * 512 + 20)):0"
    # A kernel that was never run, and no call that says so.
    both "$mode" sign 'computed a wrong signature' \
        "CL_SHIM_FAIL=clEnqueueNDRangeKernel:$(late "$mode" sign clEnqueueNDRangeKernel)+:skip"
done
done_with "wrong answers"

# --- the driver ends the process, or never returns: in the trial run ---

while read -r action says; do
    both mapped sign "a trial run .*$says" CL_SHIM_WHERE=trial "CL_SHIM_FAIL=clBuildProgram:1+:$action" BANDMILL_PROBE_SECONDS=1
done << 'DEATHS'
abort signal 6
exit exit code 1
hang did not end within 1 second
-11 exit code 5: .*\(-11\)
DEATHS
both lent dedup 'a trial run .*exit code' CL_SHIM_WHERE=trial CL_SHIM_FLIP=1+:0:0

# PoCL itself aborts on a broken file in its own cache.
mkdir broken
job lent sign few auto POCL_CACHE_DIR="$top/broken" BANDMILL_CACHE_DIR="$top/empty"
right_bytes
find broken -type f -size +0 -exec truncate -s 10 {} +
job lent sign few auto POCL_CACHE_DIR="$top/broken" BANDMILL_CACHE_DIR="$top/empty"
saved 'signal'
job lent sign few opencl:0.0 POCL_CACHE_DIR="$top/broken" BANDMILL_CACHE_DIR="$top/empty"
refused 'signal'
done_with "drivers that die"

# --- a call never returns: in the job. The limit is short here; the trial run has its own. ---

# CALL N: in the middle of the job (late), in its known answers (a number), or at its end.
while read -r mode command call n; do
    [ "$n" = late ] && n=$(late "$mode" "$command" "$call")
    both "$mode" "$command" 'did not answer within 1 seconds' CL_SHIM_WHERE=job "CL_SHIM_FAIL=$call:$n:hang" BANDMILL_DEVICE_SECONDS=1
done << 'HANGS'
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
# A device that hangs when it is let go: the job is done, and nothing is lost.
for mode in copied lent; do
    job "$mode" sign many opencl:0.0 CL_SHIM_WHERE=job CL_SHIM_FAIL=clReleaseContext:1:hang BANDMILL_DEVICE_SECONDS=1
    injected
    right_bytes
done
done_with "drivers that hang"

# --- every call of a small job fails, one run after another, until a run has no fault. Small buffers: several batches under way. ---

# in_turn MODE DEVICE CODE FIRST [COMMAND STEP]
in_turn() {
    n=$4
    while [ "$n" -le 5000 ]; do
        job "$1" "${5:-dedup}" few "$2" "CL_SHIM_FAIL=any:$n:$3" BANDMILL_PROBE= BANDMILL_CL_LIMIT=65536
        grep -q '^fault' log || break
        if [ "$2" != auto ] && [ "$rc" != 0 ]; then refused ''; else right_bytes; fi
        n=$((n + ${6:-1}))
    done
    right_bytes
    check [ "$n" -gt 80 ] || fail "only $((n - 1)) calls were made"
    done_with "calls $4 to $((n - 1)), $1, $2, $3"
}
# Once with the calls that list devices, which come first; then from behind them.
listed=0
for call in clGetPlatformIDs clGetPlatformInfo clGetDeviceIDs clGetDeviceInfo; do
    listed=$((listed + $(calls lent sign one "$call")))
done
in_turn copied auto -36 1
in_turn mapped auto -5 $((listed + 1))
in_turn lent auto -36 $((listed + 1))
in_turn copied opencl:0.0 -5 $((listed + 1))
in_turn lent opencl:0.0 -36 1

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
done_with "known answers in several batches"

# --- texts go to the device: its own kernels, buffers, counts and fallbacks. Logs under the name of a command, `text`. ---

options=
export BANDMILL_CL_TEXT=on
for mode in copied mapped lent; do
    for input in many one; do
        job "$mode" sign "$input" auto
        right_bytes
        ! check grep -q warning err || fail "a warning without a fault"
        cp log "log.$mode.text.$input"
    done
    check [ "$(calls "$mode" text many clEnqueueNDRangeKernel)" -ge $((3 * 8)) ] || fail "no texts were given to the device"
    opening=$(opening_reads "$mode" text)
    all=$(reads "$mode" text many)
    n=1
    while [ "$n" -le "$opening" ]; do # known answers of hashes, and of texts
        job "$mode" sign many auto CL_SHIM_WHERE=job "CL_SHIM_FLIP=$n:0:0"
        injected
        right_bytes
        check grep -q 'warning: .*opencl:0\.0: the cached program is made again: self-test' err || fail "no word of it"
        n=$((n + 1))
    done
    while [ "$n" -le "$all" ]; do # every count, or every word, of a batch
        job "$mode" sign many auto "CL_SHIM_FLIP=$n:1:4" BANDMILL_PROBE=
        injected
        saved 'computed a wrong signature'
        n=$((n + 1))
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
in_turn copied auto -36 $((listed + 1)) sign 5
in_turn lent opencl:0.0 -5 $((listed + 2)) sign 5
# And where both ways are tried.
BANDMILL_CL_TEXT=auto
in_turn mapped auto -5 $((listed + 3)) sign 37
in_turn copied opencl:0.0 -4 $((listed + 4)) sign 37
done_with "texts"

echo "device_faults: $checks checks, $failures failed"
[ "$failures" -eq 0 ]
