#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_gpu_box.sh ROOT BUILD PART -- scripts/gpu-box.sh in its short form, with PoCL as the device, without a network where that can be had:
#
#   steps     the steps up to parity pass and the JSON says so
#   figures   likewise the steps with figures; a step of its own later leaves the others
#   visit     every command of some batches, the device's facts and rates; the tarball has them, and nothing of hosts, users and folders
#   sizes     documents of four sizes, permutations, rows of tuning
#   limit     steps that are not reached in time are left out
#   devices   1, 2, 4 and 8 devices, of a double that computes nothing, and as many as there are; PoCL gives the CPU's bytes
#   troubles  a device that is not there fails the steps that need it and no others; a driver that no ICD file names is found, and the
#             libraries that it opens; programs that hang are ended; a compiler without a log is explained; wrong arguments are refused
set -u
root=$1 build=$2 part=$3 failures=0 checks=0
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
# The programs, but for those of parity: they are run by this suite anyway, so a test of theirs is enough for a program here.
programs=$work/programs
mkdir -p "$programs/bench" "$programs/tests/parity"
ln -s "$build/bandmill" "$programs/bandmill"
for name in planted gpu_figures kernel_tune trace unchecked; do
    ln -s "$build/bench/$name" "$programs/bench/$name"
done
few=(tasks_in_flight a_device_that_is_not_there)
for name in "${few[@]}"; do
    printf '#!/bin/sh\nexec "%s" --filter "parity_opencl/%s*"\n' "$build/tests/parity/test_parity_opencl" "$name" > "$programs/tests/parity/test_parity_$name"
    [ -x "$build/tests/parity/test_parity_opencl" ] && chmod +x "$programs/tests/parity/test_parity_$name"
done
box=("$root/scripts/gpu-box.sh" --program-dir "$programs")
unshare -rn true 2> /dev/null && box=(unshare -rn "${box[@]}")

fail() {
    failures=$((failures + 1))
    printf 'FAILED: %s\n' "$1"
    tail -n 20 "$work/err"
}
check() {
    checks=$((checks + 1))
    "$@" > /dev/null 2>&1
}
# run CODE ARGUMENTS...: programs that an earlier run has built, for the self-test dozens, are there for this one too.
. "$root/tests/kernels_kept.sh"
run() {
    local code=$1 rc folder='' before=''
    shift
    for rc in "$@"; do
        [ "$before" != --work ] || folder=$rc
        before=$rc
    done
    [ -z "$folder" ] || [ -e "$folder/cache" ] || lend_kernels box "$folder/cache"
    "${box[@]}" "$@" 2> "$work/err"
    rc=$?
    [ "$rc" != 0 ] || [ -z "$folder" ] || keep_kernels box "$folder/cache"
    check [ "$rc" = "$code" ] || fail "exit code $rc, expected $code: $*"
}
# steps FILE: "NAME ok" a line.
steps() { sed -n 's/.*"step": "\([a-z-]*\)", "ok": \([a-z]*\),.*/\1 \2/p' "$1"; }
json() {
    check grep -q '^{"schema": 1, "device": ' "$1" || fail "$1 does not begin as it should"
    if [ -x "${BM_PYTHON:-$(command -v python3)}" ]; then
        check "${BM_PYTHON:-python3}" -m json.tool "$1" || fail "$1 is not JSON"
    fi
    ! check grep -qF -e "$root" -e "$work" -e "$build" "$1" || fail "$1 holds a path of this machine"
}

if ! "$build/bandmill" devices | grep -q 'Portable Computing Language'; then
    echo "SKIPPED: no PoCL device"
    [ -n "${BANDMILL_REQUIRE_OPENCL:-}" ] && exit 1
    exit 77
fi
if [[ $part == visit || $part == sizes ]] && [ ! -x "$build/bench/kernel_tune" ]; then
    echo "SKIPPED: no programs of bench/ in this build"
    exit 77
fi
# wrapped DIR 'SCRIPT': a folder of programs whose bandmill runs these lines first.
wrapped() {
    mkdir -p "$1"
    printf '#!/bin/sh\n%s\nexec "%s" "$@"\n' "$2" "$build/bandmill" > "$1/bandmill"
    chmod +x "$1/bandmill"
}
# PoCL alone, but where it is to be found beside others: each start tries every device that is there.
all_vendors=${OCL_ICD_VENDORS:-/etc/OpenCL/vendors}
mkdir "$work/vendors"
cp "$all_vendors"/pocl*.icd "$work/vendors/" 2> /dev/null || cp "$all_vendors"/*.icd "$work/vendors/"
export OCL_ICD_VENDORS="$work/vendors"
# whole STEP...: each passes, and is in $work/all/result.json.
whole() {
    local step
    run 0 --quick --device pocl --work "$work/all" --steps "$(IFS=,; echo "$*")"
    json "$work/all/result.json"
    for step in "$@"; do
        check grep -qx "$step true" <(steps "$work/all/result.json") || fail "$step is not in the JSON as passed"
    done
}
holds() {
    local key
    for key in "$@"; do
        check grep -q "$key" "$work/all/result.json" || fail "no $key"
    done
}
if [ "$part" = steps ]; then

wanted=(setup build self-test)
[ -x "$build/tests/parity/test_parity_opencl" ] && wanted+=(parity)
whole "${wanted[@]}"
holds '"platform": "Portable Computing Language"' '"quick": true' '"self_test":"passed"' '"commands": \["BUILD/'
if [[ ${wanted[*]} == *parity* ]]; then
    check grep -q "{\"programs\": ${#few[@]}, \"passed\": ${#few[@]}}" "$work/all/result.json" || fail "not all programs of parity were run"
fi

elif [ "$part" = figures ]; then

wanted=(setup build identity text bench job)
whole "${wanted[@]}"
holds '"resident_mshingles_s": [1-9]' '"upload_mb_s": [1-9]' '"host_of_link": [0-9]' '"files_compared": [1-9][0-9]' '"text_seconds": [0-9]' \
    '"text_device": [1-9]' '"cpu_over_device": [0-9]' '"device_seconds": [0-9]' '"commands": \["BUILD/'

# A step of its own later: the others stay in the JSON.
run 0 --quick --device pocl --work "$work/all" --steps bench --commit 0123abc
check [ "$(steps "$work/all/result.json" | wc -l)" -eq "${#wanted[@]}" ] || fail "the steps of the first call are gone"
check grep -q '"commit": "0123abc"' "$work/all/result.json" || fail "no commit"

# Of all devices that are here it is the one that is meant.
OCL_ICD_VENDORS=$all_vendors run 0 --quick --device pocl --work "$work/choice" --steps setup,job
check grep -q '"platform": "Portable Computing Language"' "$work/choice/result.json" || fail "another device than the one that is meant"

elif [ "$part" = visit ]; then

# What should not leave: a user's name, which a log and a binary have, and their folders.
export USER=anna-lovelace
place=$work/all/visit
mkdir -p "$place"
printf 'of anna-lovelace (anna-lovelace) on %s in %s, %s/.cache and /home/bob/data\n' "$(uname -n)" "$work/all" "$HOME" > "$place/planted.txt"
printf '\0\1 built by anna-lovelace' > "$place/planted.bin"
printf '\0\1 from /home/bob/kernels.cl' > "$place/planted-home.bin"
whole setup build machine facts open rates trace
holds '"list_cold_seconds": [0-9.]*, ' '"first_document_warm_seconds": [0-9]' '"context_seconds": 0'
for what in multiply_add add_min multiply_add_min two_multiply_adds_min_of_three multiply_add_24_bits multiply_high_add multiply_add_64_bits; do
    check grep -q '"g_per_second": [0-9]' <(grep -A 8 "\"what\": \"$what\"" "$place/rates.json") || fail "no rate of $what: $(grep -A 8 "\"$what\"" "$place/rates.json")"
done
check [ "$(grep -c '"mb_per_second": [1-9]' "$place/rates.json")" -eq 9 ] || fail "not nine copies"
check [ "$(grep -c '_call_seconds": 0' "$place/rates.json")" -ge 5 ] || fail "no word of how long calls block"
# At least 50 batches, each command with its four times in order; and a build from source with its log and binary.
check [ "$(cat "$place"/trace/hashes/*-commands.tsv | awk -F'\t' '$4 == "bm_sign" && $8 > 0 && $8 <= $9 && $9 <= $10 && $10 <= $11' | wc -l)" -ge 50 ] || fail "not 50 batches"
check [ -z "$(cat "$place"/trace/*/*-commands.tsv | awk -F'\t' '$8 + 0 > 0 && !($8 <= $9 && $9 <= $10 && $10 <= $11)')" ] || fail "times that go back"
check grep -qE 'bm_text_hash' "$place"/trace/texts/*-commands.tsv || fail "no texts"
check grep -qE '^[0-9]+	opencl:[0-9.]+	source	[1-9][0-9]*	0	' "$place"/trace/hashes/*-builds.tsv || fail "no build"
check grep -qE '^[0-9]+	bm_sign	[0-9]+	[0-9]+	[1-9]' "$place"/trace/hashes/*-kernels.tsv || fail "no kernels"
check [ -n "$(find "$place/trace" -name '*.bin' -size +0)" ] || fail "no binary"
check [ -n "$(find "$place/trace" -name '*.log')" ] || fail "no log of a build"
check grep -qE '^[0-9]+	[a-z-]+	' "$place/clocks.tsv" || fail "no clocks"
# The tarball.
mkdir "$work/out"
check tar -xzf "$work/all/result.tar.gz" -C "$work/out" || fail "no tarball"
for file in README.txt result.json machine.txt clocks.tsv facts.json rates.json planted.txt logs/rates.log trace/large; do
    check [ -e "$work/out/gpu-box/$file" ] || fail "no $file in the tarball"
done
for word in anna lovelace "$work" "$build" "$root" bob; do
    ! check grep -raqF "$word" "$work/out" || fail "the tarball holds $word: $(grep -ralF "$word" "$work/out" | head -n 3)"
done
check grep -qE '^of X \(X\) on [^ ]+ in WORK, [^ ]*/\.cache and /home/X/data$' "$work/out/gpu-box/planted.txt" || fail "other replacements: $(cat "$work/out/gpu-box/planted.txt")"
check grep -q 'Left out: planted.bin, which names this machine' "$work/out/gpu-box/README.txt" || fail "README.txt does not tell what is left out"
! check [ -e "$work/out/gpu-box/planted.bin" ] || fail "a binary with a name is there"
! check [ -e "$work/out/gpu-box/planted-home.bin" ] || fail "a binary with the folder of somebody else is there"
check grep -q 'nothing was sent' "$work/err" || fail "the script does not tell what it sends"

elif [ "$part" = sizes ]; then

whole sizes perms tune
holds '"unchecked_seconds": [0-9]' '"perms": 1024, "sign_cpu_seconds": [0-9]' '"kernel_mshingles_s": [0-9.]*, "host_mshingles_s": [0-9]' '"tried": '
for bytes in 100 2000 100000 10000000; do
    check grep -q "\"document_bytes\": $bytes, \"documents\": [1-9]" "$work/all/result.json" || fail "no documents of $bytes bytes"
done
check [ "$(grep -c '"perms": [0-9]*, "sign_cpu' "$work/all/result.json")" -eq 5 ] || fail "not five numbers of permutations"

elif [ "$part" = limit ]; then

run 0 --quick --device pocl --work "$work/late" --steps machine,facts --minutes .1
check cmp <(steps "$work/late/result.json") <(printf '%s\n' 'machine null' 'facts null') || fail "steps that are late: $(steps "$work/late/result.json")"
check grep -q '"why": "left out: the .1 minutes are over' "$work/late/result.json" || fail "no reason"
run 2 --minutes soon

elif [ "$part" = devices ]; then

# jobs FILE: "JOB DEVICES SAME" of each.
jobs() { sed -n 's/.*"job": "\([a-z]*\)", "devices": \([0-9]*\),.*"same_bytes": \([a-z]*\),.*/\1 \2 \3/p' "$1"; }
expected() {
    printf 'sign 0 null\ndedup 0 null\n'
    for n in $1; do printf "sign $n $2\ndedup $n $2\n"; done
}
clocked() {
    check [ "$(grep -c '"clocks": { "bottleneck": ".*"thread_seconds": {.*"deliver": [0-9]' "$1")" = "$2" ] || fail "not $2 clocks of threads in $1"
}
run 0 --quick --device pocl --work "$work/one" --steps devices --gigabytes .001
json "$work/one/result.json"
check cmp <(jobs "$work/one/result.json") <(expected 1 true) || fail "other jobs on PoCL: $(jobs "$work/one/result.json")"
clocked "$work/one/result.json" 4
check [ -z "$(ls -d "$work"/one/devices-* 2> /dev/null)" ] || fail "outputs are left"
if [ -x "$build/bench/double/bandmill" ]; then
    mkdir -p "$work/double/bench"
    ln -s "$build/bench/double/bandmill" "$work/double/bandmill"
    ln -s "$build/bench/planted" "$work/double/bench/planted"
    for gpus in '1:1' '2:1 2' '5:1 2 4' '8:1 2 4 8'; do
        CL_DOUBLE_GPUS=${gpus%%:*} LD_LIBRARY_PATH="$build/bench/double" run 0 --quick --work "$work/double-${gpus%%:*}" --steps devices \
            --program-dir "$work/double" --gigabytes .001
        json "$work/double-${gpus%%:*}/result.json"
        check cmp <(jobs "$work/double-${gpus%%:*}/result.json") <(expected "${gpus#*:}" null) || fail "other jobs of ${gpus%%:*} devices"
        check grep -q "\"devices_here\": ${gpus%%:*}," "$work/double-${gpus%%:*}/result.json" || fail "another number of devices"
    done
    clocked "$work/double-8/result.json" 10
    # The commands of both of two devices are written down.
    ln -s "$build/bench/trace" "$build/bench/gpu_figures" "$work/double/bench/"
    CL_DOUBLE_GPUS=2 LD_LIBRARY_PATH="$build/bench/double" run 0 --quick --work "$work/double-2" --steps facts,trace --program-dir "$work/double"
    for device in opencl:0.0 opencl:0.1; do
        check [ "$(cat "$work"/double-2/visit/trace/all/*-commands.tsv | awk -F'\t' -v d="$device" '$1 == d && $4 == "bm_sign"' | wc -l)" -ge 1 ] || fail "no batches of $device"
        check grep -q "\"spec\": \"$device\"" "$work/double-2/visit/facts.json" || fail "no facts of $device"
    done
    check [ -z "$(cat "$work"/double-2/visit/trace/*/*-commands.tsv | awk -F'\t' '$6 + 0 > 1e15')" ] || fail "calls before the beginning"
fi
run 1 --quick --device pocl --work "$work/one" --steps devices --gigabytes 0
run 1 --quick --device pocl --work "$work/one" --steps devices --gigabytes 10000000
check grep -q 'want four times as much in WORK' "$work/err" || fail "no word of the disk"

else # troubles

# A device that is not there.
run 1 --quick --device no-such-device --work "$work/none" --steps setup,build,self-test,bench --out "$work/none.json"
json "$work/none.json"
check cmp <(steps "$work/none.json") <(printf '%s\n' 'setup true' 'build true' 'self-test false' 'bench false') || fail "the wrong steps failed"
check grep -q '"why": "no device matches --device no-such-device' "$work/none.json" || fail "no reason"
mkdir "$work/empty"
run 1 --quick --program-dir "$work/empty" --work "$work/no-program" --steps build,self-test --out "$work/none.json"
check grep -q '"why": "no bandmill in --program-dir"' "$work/none.json" || fail "no word of the missing program"

# A driver by NVIDIA's name that nothing points to; it is PoCL, whose own files lie beside it.
pocl=$(ldconfig -p | sed -n 's/.*libpocl\.so\.2 .* => //p' | head -n 1)
if [ -n "$pocl" ]; then
    driver=$work/usr/lib/machine
    mkdir -p "$driver" "$work/usr/share" "$work/no-vendors"
    ln -s "$pocl" "$driver/libnvidia-opencl.so.1"
    ln -s "$(dirname "$pocl")/pocl" "$driver/pocl"
    ln -s /usr/share/pocl "$work/usr/share/pocl"
    export OCL_ICD_VENDORS="$work/no-vendors"
    run 1 --quick --device pocl --work "$work/driver-1" --steps setup,self-test
    BM_DRIVER_DIRS="$driver" run 0 --quick --device pocl --work "$work/driver-2" --steps setup,self-test
    check grep -q '"libnvidia_opencl": true, "icd_file_made_here": true' "$work/driver-2/result.json" || fail "the driver was not found"
    check [ "$(cat "$work/driver-2/vendors/nvidia.icd")" = "$driver/libnvidia-opencl.so.1" ] || fail "no ICD file"
fi

# What its compiler opens by name: said where it is missing; else its folders are on the library path, each once.
if [ -n "$pocl" ] && ! ldconfig -p | grep -q libnvidia-nvvm; then
    check grep -q "setup: the driver's libnvidia-nvvm libnvidia-ptxjitcompiler is not here (package libnvidia-compute-VERSION" "$work/err" ||
        fail "no word of the missing libraries"
    check grep -q '"missing_helper_libraries": "libnvidia-nvvm libnvidia-ptxjitcompiler"' "$work/driver-2/result.json" || fail "the JSON does not name them"
    helpers=$work/usr/lib/helpers
    mkdir -p "$helpers"
    : > "$helpers/libnvidia-nvvm.so.4"
    : > "$driver/libnvidia-ptxjitcompiler.so.1"
    wrapped "$work/wrapped" "printf '%s\\n' \"\$LD_LIBRARY_PATH\" > '$work/path'"
    BM_DRIVER_DIRS="$driver:$helpers" run 0 --quick --device pocl --work "$work/driver-3" --steps setup,build --program-dir "$work/wrapped"
    check grep -q '"missing_helper_libraries": ""' "$work/driver-3/result.json" || fail "libraries that are there are missed"
    for folder in "$helpers" "$driver"; do
        check [ "$(tr ':' '\n' < "$work/path" | grep -cxF "$folder")" = 1 ] || fail "$folder is not on the library path once: $(cat "$work/path")"
    done
fi
export OCL_ICD_VENDORS="$work/vendors"

# Programs that hang, in a driver: each call is ended. The listing is not asked for again, and the device is known without `bench`.
wrapped "$work/no-list" 'case $1 in devices) exec sleep 600 ;; esac'
# Where others have the processor, a short limit may be over before the program that hangs is reached.
for limit in 2 10 60; do
    begin=$SECONDS
    BM_BOX_SECONDS=$limit run 1 --quick --device pocl --work "$work/hang-1" --steps setup,self-test,identity,bench --program-dir "$work/no-list"
    took=$((SECONDS - begin))
    ! cmp -s <(steps "$work/hang-1/result.json") <(printf '%s\n' 'setup true' 'self-test false' 'identity false' 'bench false') || break
done
check [ "$took" -lt 500 ] || fail "it took $took s"
check cmp <(steps "$work/hang-1/result.json") <(printf '%s\n' 'setup true' 'self-test false' 'identity false' 'bench false') || fail "the wrong steps failed"
check [ "$(grep -c "\"why\": \"the devices cannot be listed (it did not end within $limit s)\"" "$work/hang-1/result.json")" = 3 ] || fail "no reason"
wrapped "$work/no-bench" 'case $1 in bench) exec sleep 600 ;; esac'
BM_BOX_SECONDS=600 run 0 --quick --device pocl --work "$work/hang-2" --steps self-test --program-dir "$work/no-bench"
name=$("$build/bandmill" devices --json | tr '{' '\n' | grep 'Portable Computing Language' | head -n 1 | sed 's/.*"name":"\([^"]*\)".*/\1/')
check grep -qF "{\"schema\": 1, \"device\": \"$name\"" "$work/hang-2/result.json" || fail "the device's name is not that of the listing"
for limit in 2 10 60; do
    BM_BOX_SECONDS=$limit run 1 --quick --device pocl --work "$work/hang-2" --steps bench --program-dir "$work/no-bench"
    ! grep -q "\"why\": \"bench failed (it did not end within $limit s)\"" "$work/hang-2/result.json" || break
done
check grep -q "\"why\": \"bench failed (it did not end within $limit s)\"" "$work/hang-2/result.json" || fail "no reason for bench"

# TERM ends the script, and the program that it runs.
wrapped "$work/no-end" "case \$1 in bench) echo \$\$ > '$work/bench-pid'; exec sleep 600 ;; esac"
"${box[@]}" --quick --device pocl --work "$work/ended" --steps bench --program-dir "$work/no-end" 2> "$work/err" &
script=$!
while kill -0 "$script" 2> /dev/null && [ ! -s "$work/bench-pid" ]; do sleep .1; done
kill "$script"
wait "$script"
check [ $? = 143 ] || fail "another exit code after TERM"
! check kill -0 "$(cat "$work/bench-pid")" || fail "TERM leaves the program running"

# A compiler that fails without a log.
if [ -e "$build/tests/fault/cl_shim/libOpenCL.so.1" ]; then
    export LD_LIBRARY_PATH="$build/tests/fault/cl_shim:${LD_LIBRARY_PATH:-}" CL_SHIM_COMPILER=both:empty
    run 1 --quick --device pocl --work "$work/empty-log" --steps self-test
    check grep -qE '"why": "the self-test of opencl:[0-9.]+ failed: .*its compiler left no log .*libnvidia-nvvm' "$work/empty-log/result.json" ||
        fail "an empty log is not explained"
    unset CL_SHIM_COMPILER
fi

for arguments in '--nothing' '--device' '--steps all' '--from /no/such/folder'; do
    # shellcheck disable=SC2086 # options are words
    run 2 $arguments
done
fi
echo "gpu_box $part: $checks checks, $failures failed"
[ "$failures" -eq 0 ]
