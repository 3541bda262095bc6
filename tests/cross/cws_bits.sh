#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# cws_bits.sh DIR -- the scheme cws has the same bits from every compiler and with every optimisation: tests/cross/cws_bits.c, built by
# gcc and by clang, without optimisation and with all of it, for the processor at hand (which has fused multiply-add as a rule). And the
# option that CMakeLists.txt sets for it is needed: with contraction values differ. DIR holds what is built.
set -eu
root=$(CDPATH= cd -- "$(dirname -- "$0")/../.." && pwd)
work=$1
mkdir -p "$work"
cd "$root"
if [ "$(uname -m)" != x86_64 ]; then
    echo "skipped: the options are those of x86-64"
    exit 77
fi
scheme="src/base/random.c src/sketch/scheme_cws.c src/sketch/scheme_params.c src/cpu/native_cws.c src/cpu/cws_kept.c
    src/cpu/cws_scalar.c tests/cross/cws_bits.c src/cpu/cws_avx2.c src/cpu/cws_avx512.c"
avx2="-mavx2 -mbmi -mbmi2 -mlzcnt -mpopcnt"
avx512="-mavx512f -mavx512bw -mavx512dq -mavx512vl $avx2"

# objects NAME 'SOURCE...' COMPILER OPTION…
objects() {
    name=$1 sources=$2
    shift 2
    for source in $sources; do
        case $source in
        *_avx2.c) set=$avx2 ;;
        *_avx512.c) set=$avx512 ;;
        *) set= ;;
        esac
        # shellcheck disable=SC2086
        "$@" $set -D_GNU_SOURCE -I. -Isrc -Iinclude -c "$source" -o "$work/$name/$(basename "$source").o"
    done
}

rm -rf "$work/base" "$work"/gcc-* "$work"/clang-* "$work/contracted" # of an earlier run
mkdir "$work/base"
objects base "src/base/system.c src/base/error.c src/base/hash_table.c src/base/memory.c src/base/address.c src/base/temp_file.c
    src/base/machine_limits.c src/base/files.c src/base/idle.c" cc -std=c11 -O2 # no numbers
for compiler in gcc clang; do
    if ! command -v $compiler >/dev/null 2>&1; then
        echo "skipped: no $compiler"
        exit 77
    fi
    for option in -O0 "-O3 -march=native"; do
        name=$compiler${option%% *}
        mkdir "$work/$name"
        # shellcheck disable=SC2086
        objects "$name" "$scheme" $compiler -std=c11 -ffp-contract=off $option
        $compiler "$work/base"/*.o "$work/$name"/*.o -o "$work/$name.out"
        echo "$compiler $option:"
        "$work/$name.out"
    done
done

# Values are made by functions in headers of these two.
cp -R "$work/gcc-O3" "$work/contracted"
objects contracted "src/sketch/scheme_cws.c tests/cross/cws_bits.c" gcc -std=c11 -ffp-contract=fast -O2 -mfma
gcc "$work/base"/*.o "$work/contracted"/*.o -o "$work/contracted.out"
if grep -qw fma /proc/cpuinfo; then
    "$work/contracted.out" >"$work/contracted.txt" || true
    if ! grep -q '^wrong: values' "$work/contracted.txt"; then
        echo "with contraction the values do not differ: the check proves nothing"
        exit 1
    fi
fi
