#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# test_mesa.sh ROOT BUILD -- a third OpenCL implementation, Mesa's rusticl over llvmpipe: known answers, the parity tests, the same bytes as
# the CPU's, and the other shape of the kernels where its compiler fails one.
#
# It is in a folder of its own (.venv/vendors-mesa, made by scripts/install-deps.sh --tests), so that no other test loads it. Exit code: 0 all
# held, 1 something did not, 77 it is not here (a failure where BANDMILL_REQUIRE_OPENCL is set).
set -u
root=$(realpath "$1") && build=$(realpath "$2") || exit 1
program=$build/bandmill
top=$(mktemp -d) || exit 1
trap 'rm -rf "$top"' EXIT
cd "$top" || exit 1
unset BANDMILL_CPU BANDMILL_DEVICE BANDMILL_CL_SHAPE BANDMILL_CL_LIMIT BANDMILL_CL_TEXT BANDMILL_PROBE BANDMILL_TUNING OPENCL_VENDOR_PATH
export LC_ALL=C OCL_ICD_VENDORS="$root/.venv/vendors-mesa" RUSTICL_ENABLE=llvmpipe
# Its own cache, of what it made of each kernel, and the program's: kept as PoCL's is (CMakePresets.json).
kept=${BANDMILL_TEST_CACHE:-$build}/mesa
mkdir -p "$kept" && export BANDMILL_CACHE_DIR="$kept/programs" MESA_SHADER_CACHE_DIR="$kept" XDG_CACHE_HOME="$top/home"
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
# same NAME ARGUMENTS...: what `sign` writes on the device is what it writes on the CPU. BANDMILL_TUNING may be set.
same() {
    name=$1
    shift
    "$program" sign documents.jsonl --device cpu -q "$@" -o "$name.cpu" 2> err || fail "$name: sign on the CPU"
    "$program" sign documents.jsonl --device opencl:0.0 -v "$@" -o "$name.cl" > /dev/null 2> err
    check [ $? = 0 ] || fail "$name: exit code of sign"
    for file in "$name.cpu"/*.npy "$name.cpu/ids.txt"; do
        check cmp "$file" "$name.cl/$(basename "$file")" || fail "$name: $(basename "$file") is not what the CPU gives"
    done
}

"$program" devices > listing 2> err
if ! grep -q '^opencl:0\.0 .*llvmpipe.*(rusticl)' listing; then
    echo "SKIPPED: no rusticl over llvmpipe (package mesa-opencl-icd; scripts/install-deps.sh --tests)"
    [ -n "${BANDMILL_REQUIRE_OPENCL:-}" ] && exit 1
    exit 77
fi

# Without a word of other kernels: the table gives it those that its compiler can do.
"$program" devices --self-test > listing 2> err
check [ $? = 0 ] || fail "devices --self-test"
check grep -qE '^opencl:0\.0 .*self-test passed, [1-9][0-9]* answers$' listing || fail "the list: $(cat listing)"

# What its compiler makes of each kernel, on the one device that is here: every scheme and number of words, and half of the lengths of
# shingles. Buffers, caches and tasks are not its own: the other implementations walk those.
for claim in opencl:few_ opencl:many_ opencl:oph_ opencl:rows_ opencl:the_schemes_ opencl:tasks_in_flight_ text:; do
    test=$build/tests/parity/test_parity_${claim%%:*}
    [ -x "$test" ] || continue # a build without Criterion
    BANDMILL_REQUIRE_OPENCL=1 "$test" --filter "*/${claim#*:}*" > err 2>&1
    check [ $? = 0 ] || fail "$claim: $(tail -n 20 err)"
    check grep -q 'Tested: [1-9]' err || fail "$claim: no such test"
done

# Documents of 0 to 300 words, and one of 90,000: more than the turns after which llvmpipe leaves a loop.
awk 'BEGIN {
    srand(11)
    for (i = 0; i < 400; i++) {
        n = i == 200 ? 90000 : int(rand() * 300)
        printf "{\"id\":\"d%d\",\"text\":\"", i
        for (j = 0; j < n; j++) printf "w%x ", int(rand() * 1e9)
        print "\"}"
    }
}' > documents.jsonl
same default --band-keys
! check grep -q 'it gets the kernels' err || fail "the table has the wrong kernels for it"
same few --perms 16 --shingle char:5
same oph --scheme oph

# Told to use the shape for CPUs, it answers wrong, and gets the other one. To that shape alone, it is not used.
head -n 20 "$root/kernels/tuning/opencl.csv" | grep '^device,' > cpu.csv
echo 'llvmpipe,*,cpu,cpu,0,8,4,64,256,4096,65536,65536,256,0,4' >> cpu.csv
export BANDMILL_TUNING="$top/cpu.csv"
same told --perms 16
check grep -qE 'it gets the kernels for GPUs, since its compiler fails those for CPUs: .*self-test: word [0-9]+ of a document of 65536 shingles' err ||
    fail "no word of the other kernels"
BANDMILL_CL_SHAPE=cpu "$program" sign documents.jsonl --device opencl:0.0 --perms 16 -o alone > /dev/null 2> err
check [ $? = 5 ] || fail "the shape for CPUs is used"

echo "mesa: $checks checks, $failures failed"
[ "$failures" -eq 0 ]
