#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# harness.sh PROGRAM SHIM_DIR FOLDER PART.sh [SERVER] -- the program under an OpenCL driver that fails, lies, dies or hangs: one part of it.
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
# The part `ways` comes first. It runs without faults and leaves in FOLDER what the others begin with, each in a copy of its own: documents,
# what must come out, the calls of a job that has no fault, and compiled kernels, which cost a second each. What PoCL compiled is found
# again by the next run (kernels_kept.sh).
#
# SERVER is the library of fork_server.c: each job is a process of its own all the same, but the driver is mapped once for all of them, which
# is half of the time. Without it the program is started anew for each.
#
# Exit code: 0 all held, 1 something did not, 77 no PoCL here (a failure where BANDMILL_REQUIRE_OPENCL is set).
set -u
PROGRAM=$(realpath "$1") && SHIM=$(realpath "$2") && PART=$(realpath "$4") || exit 1
FOLDER=$3 SERVER=${5:+$(realpath "$5")}
name=$(basename "$PART" .sh)
here=${OCL_ICD_VENDORS:-/etc/OpenCL/vendors}
. "$(dirname "$0")/../../kernels_kept.sh"
top=$(mktemp -d) || exit 1
trap 'rm -rf "$top"' EXIT
trap 'exit 1' INT TERM
cd "$top" || exit 1
if [ "$name" = ways ]; then
    mkdir cache
else
    cp -R "$FOLDER/." . 2> /dev/null
fi
case $name in
ways | shapes | each_mapped) lend_kernels faults pocl ;;
esac
# keep_compiled: what PoCL compiled, without the empty file that each of its processes leaves there.
keep_compiled() {
    rm -f pocl/tempfile_*
    keep_kernels faults pocl
}
mkdir vendors
cp "$here"/pocl*.icd vendors/ 2>/dev/null || cp /etc/OpenCL/vendors/pocl*.icd vendors/ 2>/dev/null
unset BANDMILL_CPU BANDMILL_DEVICE BANDMILL_CL_SHAPE BANDMILL_CL_LIMIT BANDMILL_PROBE OPENCL_VENDOR_PATH
export BANDMILL_PROBE_SECONDS=200 # of a driver that works: longer than it takes on a busy machine
export BANDMILL_CL_TEXT=off # hashes go to the device; the parts on texts say otherwise
export LC_ALL=C OCL_ICD_VENDORS="$top/vendors" BANDMILL_CACHE_DIR="$top/cache" POCL_CACHE_DIR="$top/pocl"
export LD_LIBRARY_PATH="$SHIM${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" CL_SHIM_LOG="$top/log"
failures=0
checks=0
options=
# The ways that a part walks: in the small size one of them, and another in each part.
modes='copied mapped lent'
case ${BANDMILL_TEST_SIZE:-normal}.$name in
small.answers) modes=copied ;;
small.texts) modes=mapped ;;
small.calls) modes=lent ;;
esac

"$PROGRAM" devices > listing || exit 1
if ! grep -q '^opencl:0\.0 ' listing; then
    echo "SKIPPED: no PoCL device"
    [ -n "${BANDMILL_REQUIRE_OPENCL:-}" ] && exit 1
    exit 77
fi
[ "$name" = ways ] || [ -d right.dedup.many ] || { echo "$FOLDER is not what the part \`ways\` leaves"; exit 1; }

# --- running and judging ---

# serve: the server of this shell, in its folder, behind the descriptors 8 and 9. dismiss: it ends.
serve() {
    [ -n "$SERVER" ] || return 0
    mkfifo jobs answers
    drivers=$(cat "$top"/vendors/*.icd)
    LD_PRELOAD=$SERVER FORK_SERVER_LOAD=$drivers "$PROGRAM" < jobs > answers &
    server=$!
    exec 8> jobs 9< answers
    rm jobs answers
}
dismiss() {
    [ -n "$SERVER" ] || return 0
    exec 8>&- 9<&-
    wait "$server" || { failures=$((failures + 1)); echo "FAILED: the server's exit code $?"; }
}
tab=$(printf '\t')
# execute VAR=VALUE... -- ARGUMENT...: the program, not longer than five minutes; its exit code in $rc.
execute() {
    rc=
    if [ -n "$SERVER" ]; then
        line="$PWD${tab}stdout${tab}err${tab}300"
        # What the shell may have changed since the server began.
        for word in "BANDMILL_CL_TEXT=$BANDMILL_CL_TEXT" "BANDMILL_CACHE_DIR=$BANDMILL_CACHE_DIR" "CL_SHIM_LOG=$CL_SHIM_LOG" "$@"; do
            line="$line$tab$word"
        done
        printf '%s\n' "$line" >&8
        read -r rc <&9
    else
        named=
        for word in "$@"; do
            shift
            if [ -z "$named" ] && [ "$word" = -- ]; then named=yes word=$PROGRAM; fi
            set -- "$@" "$word"
        done
        timeout -k 5 300 env "$@" > stdout 2> err
        rc=$?
    fi
}

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
    execute "$@" -- "$command" "$input.jsonl" --device "$device" --batch-docs 160 $options -o out
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

# What follows starts few processes: of some jobs they would be a fifth of the time.

# faulted: some line of the log begins with that word.
faulted() {
    while read -r word _; do
        [ "$word" != fault ] || return 0
    done < log
    return 1
}
injected() { check faulted || fail "no fault was injected"; }

only_ours() {
    while IFS= read -r line || [ -n "$line" ]; do
        case $line in 'bandmill: '*) ;; *) return 1 ;; esac
    done < err
}

right_bytes() {
    check [ "$rc" = 0 ] || fail "exit code $rc, expected 0"
    check diff -rq -x report.json -x manifest.json "right.$command.$input" out ||
        fail "not what the CPU gives: $(diff -rq -x report.json -x manifest.json "right.$command.$input" out 2>&1)"
    check only_ours || fail "a line on stderr that is not the program's"
}

# saved 'ERE': the CPU ended the job, and a warning that names the device says why.
saved() {
    right_bytes
    check grep -qE "^bandmill: warning: device opencl:0\.0 .*$1" err || fail "no warning for: $1"
}

# refused 'ERE': no result rather than another device's.
refused() {
    check [ "$rc" = 5 ] || fail "exit code $rc, expected 5"
    lines=0 error=
    while IFS= read -r line || [ -n "$line" ]; do
        case $line in 'bandmill: warning: '* | 'bandmill: waiting for OpenCL to list its devices'*) ;; *) lines=$((lines + 1)) error=$line ;; esac
    done < err
    check [ "$lines" -eq 1 ] || fail "not one line beside warnings on stderr"
    case $error in
    'bandmill: '*opencl:0.0*) check true ;;
    *) fail "the error does not name the device" ;;
    esac
    printf '%s\n' "$error" > error
    check grep -qE "$1" error || fail "the error does not say: $1"
    for left in out out.*; do
        ! check [ -e "$left" ] || fail "$left was left over"
    done
}

# both MODE COMMAND 'ERE' VAR=VALUE...: the same fault on `auto` and by name; there with $by_name more.
by_name=
both() {
    b_mode=$1 b_command=$2 b_says=$3
    shift 3
    job "$b_mode" "$b_command" many auto "$@"
    injected
    saved "$b_says"
    job "$b_mode" "$b_command" many opencl:0.0 "$@" ${by_name:+"$by_name"}
    injected
    refused "$b_says"
}

# in_time NAME MODE COMMAND DEVICE VAR=VALUE...: a job with a call that hangs, and NAME=$limit, within which it must have come to that call: where
# others have the processor the limit is a longer one.
in_time() {
    limited=$1
    shift
    for limit in 2 8 32 128; do
        t_mode=$1 t_command=$2 t_device=$3
        shift 3
        job "$t_mode" "$t_command" many "$t_device" "$@" "$limited=$limit"
        ! faulted || break
        set -- "$t_mode" "$t_command" "$t_device" "$@"
    done
    injected
}
# hangs NAME MODE COMMAND 'ERE' VAR=VALUE...: on `auto` and by name; the ERE is followed by "within $limit seconds".
hangs() {
    h_name=$1 h_mode=$2 h_command=$3 h_says=$4
    shift 4
    in_time "$h_name" "$h_mode" "$h_command" auto "$@"
    saved "$h_says within $limit seconds"
    in_time "$h_name" "$h_mode" "$h_command" opencl:0.0 "$@"
    refused "$h_says within $limit seconds"
}

# --- what a job without faults calls: the logs of `ways` ---

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
# calls_of_listing: those that list devices, which come first.
calls_of_listing() {
    listed=0
    for call in clGetPlatformIDs clGetPlatformInfo clGetDeviceIDs clGetDeviceInfo; do
        listed=$((listed + $(calls lent sign one "$call")))
    done
    echo "$listed"
}

# --- every call of a small job fails, one run after another, until a run has no fault. Small buffers: several batches under way. ---

# in_turn MODE DEVICE CODE FIRST [COMMAND STEP]; in the small size one call in five of these. Where ways are tried for a time, a fast
# device makes any number of calls: from the thousandth on they lie ever further apart.
in_turn() {
    n=$4 step=${6:-1}
    [ "${BANDMILL_TEST_SIZE:-normal}" != small ] || step=$((step * 5))
    while [ "$n" -le 1000000 ]; do
        job "$1" "${5:-dedup}" few "$2" "CL_SHIM_FAIL=any:$n:$3" BANDMILL_PROBE= BANDMILL_CL_LIMIT=65536
        faulted || break
        if [ "$2" != auto ] && [ "$rc" != 0 ]; then refused ''; else right_bytes; fi
        [ "$n" -lt 1000 ] || [ "$step" -gt $((n / 4)) ] || step=$((n / 4))
        n=$((n + step))
    done
    right_bytes
    check [ "$n" -gt 80 ] || fail "only $((n - 1)) calls were made"
    echo "calls $4 to $((n - 1)), $1, $2, $3"
}

serve
# shellcheck disable=SC1090
. "$PART"
dismiss

echo "$name: $checks checks, $failures failed"
[ "$checks" -gt 0 ] && [ "$failures" -eq 0 ]
