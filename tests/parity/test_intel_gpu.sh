#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# test_intel_gpu.sh ROOT BUILD KIND kernels|refusal -- Intel's driver for GPUs without a GPU. KIND: discrete (an Arc of 512 units) or unified
# (96 units that share the host's memory).
#
# With these variables the driver writes down what it would send to a GPU. So it lists one, compiles, maps, copies and launches, and
# every call succeeds, but nothing is computed: what comes back is whatever lay in memory. The self-test must refuse it, and the CPU signs.
#
# The driver is unpacked in .venv/intel-gpu, and no other test loads it (scripts/install-deps.sh --tests). Exit code: 0 all held, 1 something
# did not, 77 the driver is not here: only Debian 12 on x86-64 has these packages.
set -u
root=$(realpath "$1") && build=$(realpath "$2") && kind=$3 part=$4 || exit 1
program=$build/bandmill
top=$(mktemp -d) || exit 1
trap 'rm -rf "$top"' EXIT
cd "$top" || exit 1
icd=$root/.venv/vendors-intel-gpu/intel-gpu.icd
if ! [ -e "$icd" ] || ! [ -e "$(cat "$icd")" ]; then
    echo "SKIPPED: no driver of Intel for GPUs in .venv/intel-gpu (scripts/install-deps.sh --tests unpacks it on Debian 12, x86-64)"
    exit 77
fi
driver=$(cat "$icd")
unset BANDMILL_CPU BANDMILL_DEVICE BANDMILL_CL_SHAPE BANDMILL_CL_LIMIT BANDMILL_CL_TEXT BANDMILL_PROBE BANDMILL_TUNING OPENCL_VENDOR_PATH
export LC_ALL=C OCL_ICD_VENDORS="$root/.venv/vendors-intel-gpu" BANDMILL_CACHE_DIR="$top/cache"
export LD_LIBRARY_PATH="${driver%/intel-opencl/*}${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
export NEOReadDebugKeys=1 SetCommandStreamReceiver=1
case $kind in
discrete) units=512 memory=own family=gpu text=on && export ProductFamilyOverride=dg2 HardwareInfoOverride=8x4x16 ;;
unified) units=96 memory=unified family=cpu text=off && export ProductFamilyOverride=tgllp HardwareInfoOverride=1x6x16 ;;
*) exit 1 ;;
esac
failures=0
checks=0

fail() {
    failures=$((failures + 1))
    printf 'FAILED: %s\n  stderr: %s\n' "$1" "$(head -c 1500 err 2> /dev/null)"
}
check() {
    checks=$((checks + 1))
    "$@" > /dev/null 2>&1
}
# cpu_seconds FILE: those of all processes that have ended, which `times` wrote there.
cpu_seconds() {
    awk 'NR == 2 { for (i = 1; i <= 2; i++) { split($i, t, /[ms]/); sum += t[1] * 60 + t[2] } print sum }' "$1"
}
# same_bytes FOLDER: as the CPU signs.
same_bytes() {
    for file in right/*.npy right/ids.txt right/sources.tsv; do
        check cmp "$file" "$1/$(basename "$file")" || fail "$1: $(basename "$file") is not what the CPU gives"
    done
}
wrong='self-test: word [0-9]+ of a document of [0-9]+ shingles is [0-9a-f]{8} \([0-9a-f]{8} was expected\)'

"$program" devices > listing 2> err
check grep -qE "^opencl:0\.0 +gpu +$units +.*Intel\(R\) Graphics" listing || fail "the list: $(cat listing)"

if [ "$part" = kernels ]; then
    # Every kernel is built, and copies go through. No register is spilled but in the shape for CPUs, which keeps all words of a document at once.
    "$build/tests/parity/driver_kernels" opencl:0.0 $family > kernels 2> err
    check [ $? = 0 ] || fail "kernels are not built"
    check grep -qx "$memory memory, $units units" kernels || fail "its memory: $(tail -n 1 kernels)"
    check grep -qx copied kernels || fail "nothing is copied"
    for scheme in affine32 oph legacy text-dedup nemo lance affine64 datatrove; do
        for name in sign split_begin split_keys; do
            check grep -qE "^$scheme $family hashes $name " kernels || fail "$scheme has no kernel $name"
        done
    done
    for kernel in "oph $family hashes split_fill" "affine32 $family word text_hash" "affine32 $family char text_count" "affine32 $family byte text_content"; do
        check grep -qE "^$kernel " kernels || fail "there is no kernel: $kernel"
    done
    awk -v family=$family 'NF == 6 && !(family == "cpu" && $4 == "sign") && ($5 > 0 || $6 > 0)' kernels > spilled
    check [ ! -s spilled ] || fail "registers are spilled, or memory is private: $(cat spilled)"
    echo "intel_gpu $kind: $checks checks, $failures failed"
    [ "$failures" -eq 0 ]
    exit
fi

awk 'BEGIN {
    srand(5)
    for (i = 0; i < 300; i++) {
        printf "{\"id\":\"d%d\",\"text\":\"", i
        for (j = int(rand() * 200); j > 0; j--) printf "w%x ", int(rand() * 1e9)
        print "\"}"
    }
}' > documents.jsonl
"$program" sign documents.jsonl --device cpu -q -o right 2> err || fail "sign on the CPU"

export BANDMILL_CL_TEXT=$text # said by hand, it also makes `auto` try a GPU for a job as small as this
# Asked for by name: launched, answered wrong in both shapes, refused. The program stays uncached, and nothing is written.
"$program" sign documents.jsonl --device opencl:0.0 --shingle char:5 -o out > /dev/null 2> err
check [ $? = 5 ] || fail "sign on a device that computes nothing"
check grep -qE "^bandmill: opencl:0\.0: .*$wrong; with the kernels for CPUs: .*$wrong" err || fail "another reason"
check [ ! -e out ] || fail "something is written"
check [ -z "$(find cache -name '*.clbin' 2> /dev/null)" ] || fail "a program that computes nothing is kept"

# `auto`: a warning, and the CPU. To refuse takes two trial runs with a build each, 2 CPU seconds; a busy machine may take several times as long.
times > before
"$program" sign documents.jsonl -o auto > /dev/null 2> err
check [ $? = 0 ] || fail "sign on auto"
times > after
check grep -qE "^bandmill: warning: device opencl:0\.0 left out: .*$wrong" err || fail "auto does not warn"
same_bytes auto
took=$(echo "$(cpu_seconds after) $(cpu_seconds before)" | awk '{ printf "%.1f", $1 - $2 }')
check awk "BEGIN { exit !($took < 20) }" || fail "to refuse it took $took CPU seconds"

# The same driver under two platforms, from two files, since some loaders see that one file comes twice. A GPU that the list names as the same
# as another one is not tried again.
mkdir twice
cp "$driver" copy.so
cp "$icd" twice/a.icd
echo "$top/copy.so" > twice/b.icd
export OCL_ICD_VENDORS="$top/twice"
"$program" devices --json > listing 2> err
gpus=$(grep -o '"spec":"opencl:[^}]*"kind":"gpu"[^}]*' listing | grep -vc '"same_as"')
check grep -q '"spec":"opencl:1\.0"' listing || fail "the second platform is not listed: $(cat listing)"
"$program" sign documents.jsonl -o both > /dev/null 2> err
check [ $? = 0 ] || fail "sign on auto, two platforms"
check [ "$(grep -c 'left out: ' err)" = "$gpus" ] || fail "of $gpus GPUs others are tried"
same_bytes both

echo "intel_gpu $kind: $checks checks, $failures failed; refused in $took CPU seconds"
[ "$failures" -eq 0 ]
