#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_inspect_versions.sh ROOT -- scripts/inspect-kernels.sh takes a clang and a libclc of one LLVM version where there are several, says
# both, and where none fit says so and is skipped (77). The tools are stand-ins that only say their version.
set -u
root=$1 failures=0 checks=0
top=$(mktemp -d) || exit 1
trap 'rm -rf "$top"' EXIT
system=$top/system
unset BM_CLANG BM_LIBCLC BM_PTXAS BM_NVDISASM CUDA_HOME

fail() {
    failures=$((failures + 1))
    printf 'FAILED: %s: %s\n' "$what" "$1"
    cat "$top/err" "$top/out"
}
# clang VERSION FILE
clang() {
    mkdir -p "$(dirname "$2")"
    printf '#!/bin/sh\necho "Some clang version %s (of somebody)"\n' "$1" > "$2"
    chmod +x "$2"
}
# libclc VERSION FOLDER: names are between bytes that are no text, as in bitcode.
libclc() {
    local name
    mkdir -p "$2"
    for name in nvptx64--nvidiacl.bc amdgcn--amdhsa.bc; do
        printf 'BC\300\336\001\000wchar_sizeSome clang version %sframe-pointer\000\377' "$1" > "$2/$name"
    done
}
# begin WHAT: a system without either.
begin() {
    what=$1
    rm -rf "$system"
    mkdir -p "$system/bin"
    for name in ptxas nvdisasm; do printf '#!/bin/sh\n' > "$system/bin/$name"; done
    for name in bash dirname sed awk grep mktemp rm cat; do ln -s "$(command -v "$name")" "$system/bin/$name"; done
    chmod +x "$system/bin/ptxas" "$system/bin/nvdisasm"
}
run() { env PATH="$system/bin" BM_SYSTEM_ROOT="$system" "$@" bash "$root/scripts/inspect-kernels.sh" --tools > "$top/out" 2> "$top/err"; }
# takes CLANG VERSION LIBCLC VERSION
takes() {
    checks=$((checks + 1))
    run || fail "exit code $?"
    cmp -s <(head -n 2 "$top/out") <(printf 'clang\t%s\t%s\nlibclc\t%s\t%s\n' "$2" "$1" "$4" "$3") || fail "other tools were taken"
}
# skips 'ERE' [VAR=VALUE...]
skips() {
    local says=$1 rc
    shift
    checks=$((checks + 1))
    run "$@"
    rc=$?
    [ "$rc" = 77 ] || fail "exit code $rc, expected 77"
    grep -qE "^inspect-kernels\.sh: skipped: $says" "$top/err" || fail "it does not say: $says"
}

begin "one of each"
clang 14.0.6 "$system/bin/clang"
libclc 14.0.6 "$system/usr/lib/clc"
takes "$system/bin/clang" 14.0.6 "$system/usr/lib/clc" 14.0.6

begin "clang 14 in PATH beside libclc 15, and a clang 15 that is not in PATH"
clang 14.0.6 "$system/bin/clang"
clang 14.0.6 "$system/usr/lib/llvm-14/bin/clang"
clang 15.0.7 "$system/usr/lib/llvm-15/bin/clang"
libclc 15.0.6 "$system/usr/lib/clc"
takes "$system/usr/lib/llvm-15/bin/clang" 15.0.7 "$system/usr/lib/clc" 15.0.6

begin "a clang of its number in PATH"
clang 14.0.6 "$system/bin/clang"
clang 16.0.6 "$system/bin/clang-16"
libclc 16.0.6 "$system/usr/share/clc"
takes "$system/bin/clang-16" 16.0.6 "$system/usr/share/clc" 16.0.6

begin "two of libclc"
clang 19.1.7 "$system/bin/clang"
libclc 15.0.6 "$system/usr/lib/clc"
libclc 19.1.7 "$system/usr/lib/llvm-19/share/clc"
takes "$system/bin/clang" 19.1.7 "$system/usr/lib/llvm-19/share/clc" 19.1.7

begin "none that fit"
clang 14.0.6 "$system/bin/clang"
libclc 15.0.6 "$system/usr/lib/clc"
skips "no clang and libclc of one LLVM version: clang 14\.0\.6 \($system/bin/clang\), libclc 15\.0\.6 \($system/usr/lib/clc\)"
clang 15.0.6 "$system/usr/lib/llvm-15/bin/clang"
skips "no clang and libclc of one LLVM version: clang 14\.0\.6" BM_CLANG="$system/bin/clang" # the one that was asked for
what="a libclc that does not say its version"
libclc 'of late' "$system/usr/lib/clc"
skips 'no clang and libclc of one LLVM version: .*libclc of an unknown version'

begin "nothing"
skips 'no libclc'
libclc 15.0.6 "$system/usr/lib/clc"
skips 'no clang$'

echo "inspect_versions: $checks checks, $failures failed"
[ "$failures" -eq 0 ]
