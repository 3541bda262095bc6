#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# surface.sh INCLUDE OUT.so SONAME -- what the public headers in INCLUDE promise, as a small shared library with debug information: a
# function without a body for each that they declare, and so all types that those use; and their constants, macros too, as one enum.
#
# abidw and abidiff read it in a blink, where the library itself would have to be compiled once more with debug information. It says no
# less: the compiler holds each definition in src/ against its prototype (-Wmissing-prototypes -Werror), and check.sh the names of the
# library's symbols against the functions found here.
set -eu
include=$1 out=$2 soname=$3
source=$out.c
cc=${CC:-cc}
whole='#include <bandmill/bandmill.h>'

# The headers alone, macros and all: what stands in other files is left out by the line markers.
text=$(printf '%s\n' "$whole" | "$cc" -E -dD -x c -I "$include" - | awk -v dir="$include/bandmill/" '
    /^# [0-9]+ "/ { ours = index($0, dir) > 0; next }
    ours')
plain=$(printf '%s\n' "$text" | grep -v '^#')
{
    printf '%s\n' "$whole"
    # Declarations that are exported, each with a body.
    printf '%s\n' "$plain" | tr '\n' ' ' | awk 'BEGIN { RS = ";" } {
        at = index($0, "__attribute__((visibility(\"default\")))")
        if (at > 0)
            print substr($0, at) " { __builtin_trap(); }"
    }'
    # Constants: enumerators, and macros that are numbers. Versions and counts of enumerators change as they should.
    printf 'enum bm_abi_constants {\n'
    {
        printf '%s\n' "$plain" | grep -oE '\bBM_[A-Z0-9_]+\b'
        printf '%s\n' "$text" | sed -nE 's/^#define (BM_[A-Z0-9_]+) .*[0-9].*$/\1/p'
    } | grep -vE '^BM_(API|VERSION_.*|N_.*)$' | sort -u | sed 's/.*/    abi_& = &,/'
    printf '};\n__attribute__((visibility("default"))) void bm_abi_constants(enum bm_abi_constants constants) { (void)constants; }\n'
} > "$source"
"$cc" -std=gnu11 -w -g -O0 -fPIC -fvisibility=hidden -shared -nostdlib "-Wl,-soname,$soname" -I "$include" "$source" -o "$out"
