#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# test_configure.sh CMAKE CC CXX -- the messages of `cmake -S . -B DIR` if something is missing: without Criterion it leaves the tests out
# and says how to get it; other missing libraries are named together, with their packages. Warnings are errors only in the presets.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
cmake=$1 cc=$2 cxx=$3
failures=0 checks=0
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
unset CMAKE_GENERATOR

# The .pc files of this machine, but for those that a case takes away: pkg-config sees nothing else.
mkdir "$work/pc"
for folder in $(pkg-config --variable pc_path pkg-config | tr : ' '); do
    for file in "$folder"/*.pc; do
        [ -e "$file" ] && [ ! -e "$work/pc/${file##*/}" ] && ln -s "$file" "$work/pc/"
    done
done
export PKG_CONFIG_LIBDIR="$work/pc"

# configure CODE [option…]: into an empty folder; it must end so. What it said: $work/said, in one line.
configure() {
    expected=$1
    shift
    rm -rf "$work/build"
    what="cmake -S . -B DIR $*"
    "$cmake" -S "$root" -B "$work/build" "-DCMAKE_C_COMPILER=$cc" "-DCMAKE_CXX_COMPILER=$cxx" "$@" > "$work/log" 2>&1
    rc=$?
    tr '\n' ' ' < "$work/log" | tr -s ' ' > "$work/said"
    checks=$((checks + 1))
    [ "$expected" = failed ] && [ "$rc" != 0 ] || [ "$expected" = "$rc" ] || fail "exit code $rc, expected $expected"
}
fail() {
    failures=$((failures + 1))
    printf 'FAILED: %s: %s\n' "$what" "$1"
    tail -n 30 "$work/log"
}
says() {
    checks=$((checks + 1))
    grep -qE -e "$1" "$work/said" || fail "it does not say: $1"
}
silent_on() {
    checks=$((checks + 1))
    grep -qE -e "$1" "$work/said" && fail "it says: $1"
}

rm -f "$work"/pc/criterion.pc
configure 0 -DCMAKE_EXPORT_COMPILE_COMMANDS=ON
says 'tests are left out: Criterion was not found .*apt-get install libcriterion-dev.*install-deps\.sh --tests'
"$cmake" --build "$work/build" --target help > "$work/targets" 2>&1 || fail "the targets cannot be listed"
for target in bandmill bandmill_static bandmill_shared; do
    grep -qE "(^|[ /])$target(:|\$| )" "$work/targets" || fail "there is no target $target"
done
[ ! -e "$work/build/tests" ] || fail "there are tests"
grep -q -e -Werror "$work/build/compile_commands.json" && fail "warnings are errors"
checks=$((checks + 5))

configure failed -DBM_TESTS=ON
says 'Not found: criterion .*apt-get install libcriterion-dev'
# Without tests no word of Criterion.
configure 0 -DBM_TESTS=OFF
silent_on 'Criterion'

# all that is missing at once; what is there is not named
rm -f "$work"/pc/simdjson.pc "$work"/pc/libzstd.pc "$work"/pc/liblzma.pc "$work"/pc/liblz4.pc "$work"/pc/libdeflate.pc "$work"/pc/libutf8proc.pc
configure failed -DCMAKE_IGNORE_PATH=/usr/include
says 'Not found: libzstd, libdeflate, liblzma, liblz4, libutf8proc>=2\.5, simdjson, .*bzip2, lmdb\.h, xxhash\.h, CL/cl\.h'
says 'apt-get install libzstd-dev libdeflate-dev liblzma-dev liblz4-dev libutf8proc-dev libsimdjson-dev .*libbz2-dev liblmdb-dev libxxhash-dev opencl-c-headers'
silent_on 'libssl-dev'
checks=$((checks + 1))
[ "$(grep -c 'Not found' "$work/log")" = 1 ] || fail "there is more than one message"

unset PKG_CONFIG_LIBDIR
# A target that has other integers is refused at once, in one line. Nothing need be linked for CMake to know.
configure failed -DCMAKE_TRY_COMPILE_TARGET_TYPE=STATIC_LIBRARY -DCMAKE_C_FLAGS=-m32 -DCMAKE_CXX_FLAGS=-m32
says 'Bandmill needs a 64-bit little-endian target \(this one: 32-bit, LITTLE_ENDIAN\)'
silent_on 'Not found'
if command -v clang > /dev/null && command -v clang++ > /dev/null; then
    cc_before=$cc cxx_before=$cxx cc=clang cxx=clang++
    configure failed -DCMAKE_TRY_COMPILE_TARGET_TYPE=STATIC_LIBRARY -DCMAKE_C_COMPILER_TARGET=s390x-linux-gnu -DCMAKE_CXX_COMPILER_TARGET=s390x-linux-gnu
    says 'Bandmill needs a 64-bit little-endian target \(this one: 64-bit, BIG_ENDIAN\)'
    checks=$((checks + 1))
    [ "$(grep -c 'little-endian' "$work/log")" = 1 ] || fail "it takes more than one line"
    cc=$cc_before cxx=$cxx_before
else
    echo "test_configure.sh: without clang no big-endian target was tried"
fi
checks=$((checks + 1))
what="cmake --preset release"
(cd "$root" && "$cmake" --preset release -B "$work/preset" "-DCMAKE_C_COMPILER=$cc" "-DCMAKE_CXX_COMPILER=$cxx" -DBM_TESTS=OFF) > "$work/log" 2>&1 || fail "exit code $?"
grep -q -e -Werror "$work/preset/compile_commands.json" || fail "warnings are no errors in the preset"

echo "test_configure.sh: $checks checks, $failures failed"
[ "$failures" = 0 ]
