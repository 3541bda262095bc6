#!/bin/sh
# cws_bits.sh DIR -- the scheme cws has the same bits from every compiler and with every optimisation: tests/cross/cws_bits.c, built by
# gcc and by clang, without optimisation and with all of it, for the processor at hand (which has fused multiply-add as a rule). And the
# option that CMakeLists.txt sets for it is needed: with contraction the logarithms differ. DIR holds what is built.
set -eu
root=$(CDPATH= cd -- "$(dirname -- "$0")/../.." && pwd)
work=$1
mkdir -p "$work"
cd "$root"
if [ "$(uname -m)" != x86_64 ]; then
    echo "skipped: the options are those of x86-64"
    exit 77
fi
common="src/base/cpu.c src/base/error.c src/base/memory.c src/base/random.c src/sketch/scheme_cws.c src/sketch/scheme_params.c
    src/backend/cpu/native_cws.c src/backend/cpu/cws_kept.c src/backend/cpu/cws_scalar.c tests/cross/cws_bits.c"
avx2="-mavx2 -mbmi -mbmi2 -mlzcnt -mpopcnt"
avx512="-mavx512f -mavx512bw -mavx512dq -mavx512vl $avx2"

# build NAME COMPILER OPTION…
build() {
    name=$1
    shift
    mkdir -p "$work/$name"
    for source in $common src/backend/cpu/cws_avx2.c src/backend/cpu/cws_avx512.c; do
        case $source in
        *_avx2.c) set=$avx2 ;;
        *_avx512.c) set=$avx512 ;;
        *) set= ;;
        esac
        # shellcheck disable=SC2086
        "$@" $set -D_GNU_SOURCE -I. -Isrc -Iinclude -c "$source" -o "$work/$name/$(basename "$source").o"
    done
    "$@" "$work/$name"/*.o -o "$work/$name.out"
}

for compiler in gcc clang; do
    if ! command -v $compiler >/dev/null 2>&1; then
        echo "skipped: no $compiler"
        exit 77
    fi
    for option in -O0 "-O3 -march=native"; do
        # shellcheck disable=SC2086
        build $compiler${option%% *} $compiler -std=c11 -ffp-contract=off $option
        echo "$compiler $option:"
        "$work/$compiler${option%% *}.out"
    done
done

build contracted gcc -std=c11 -ffp-contract=fast -O2 -mfma
if grep -qw fma /proc/cpuinfo && "$work/contracted.out" >"$work/contracted.txt"; then
    echo "with contraction nothing differs: the check proves nothing"
    exit 1
fi
