#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# test-neon.sh [DIR] -- build tests/cross/neon_check.c, tests/cross/cws_bits.c, tests/unit/text/shingle_ops_check.c
# and what they need of the library for AArch64, statically and without other libraries (of xxHash only the
# header), and run them (under qemu on other machines). DIR holds what
# is built; default: a temporary directory. Ends with 77 and a message where a tool is missing.
#   CC_AARCH64, QEMU_AARCH64: other names for the compiler and the emulator.
set -eu
root=$(CDPATH= cd -- "$(dirname -- "$0")/.." && pwd)
if [ "$(uname -m)" = aarch64 ]; then
    compiler=${CC_AARCH64:-cc}
    emulator=
else
    compiler=${CC_AARCH64:-aarch64-linux-gnu-gcc}
    emulator=${QEMU_AARCH64:-qemu-aarch64-static}
fi
for tool in "$compiler" $emulator; do
    if ! command -v "$tool" >/dev/null 2>&1; then
        echo "skipped: no $tool (Debian: gcc-aarch64-linux-gnu, libc6-dev-arm64-cross, qemu-user-static)"
        exit 77
    fi
done
if [ $# -gt 0 ]; then
    work=$1
    mkdir -p "$work"
else
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
fi
cd "$root"
options="-std=c11 -O2 -ffp-contract=off -D_GNU_SOURCE -Wall -Wextra -Wconversion -Wshadow -Wvla -Werror -I. -Isrc -Iinclude"
rm -rf "$work/objects"
mkdir "$work/objects"
for source in src/base/system.c src/base/error.c src/base/hash_table.c src/base/memory.c src/base/address.c src/base/temp_file.c src/base/machine_limits.c src/base/files.c src/base/idle.c src/base/random.c src/base/sized_struct.c src/model/option_names.c \
    src/model/scheme_facts.c src/sketch/*.c src/cpu/*.c; do
    case $source in *_avx2.c | *_avx512.c) continue ;; esac
    # shellcheck disable=SC2086
    "$compiler" $options -c "$source" -o "$work/objects/$(basename "$source" .c).o"
done
for check in neon_check cws_bits; do
    # shellcheck disable=SC2086
    "$compiler" $options -static -o "$work/$check" tests/cross/$check.c "$work/objects"/*.o -lm
done
# The header of xxHash lies among the machine's own; alone in a folder it cannot hide the cross compiler's.
for folder in /usr/include /usr/local/include; do
    [ -f "$folder/xxhash.h" ] && mkdir -p "$work/xxhash" && cp "$folder"/xxhash.h "$work/xxhash/"
done
"$compiler" -std=c11 -O2 -static -D_GNU_SOURCE -I. -Isrc -Iinclude -isystem "$work/xxhash" \
    -o "$work/text_check" tests/unit/text/shingle_ops_check.c src/text/shingle_choose.c src/model/content_sums.c \
    src/text/shingle_scalar.c src/text/shingle_neon.c
$emulator "$work/text_check"
$emulator "$work/neon_check"
$emulator "$work/cws_bits"
