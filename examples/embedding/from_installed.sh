#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# from_installed.sh PREFIX WORK [LIBDIR] -- compile the programs of this folder against an installed Bandmill, in WORK, and run them. What bindgen makes of the
# headers is compiled too where there is bindgen. PREFIX has include/ and LIBDIR (lib).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
prefix=$1 work=$2 lib=$1/${3:-lib}
say() { printf '%s\n' "$*"; }
export LD_LIBRARY_PATH="$lib"
c="${CC:-cc} -std=c11 -Wall -Wextra -Werror -I$prefix/include"
cxx="${CXX:-c++} -std=c++17 -Wall -Wextra -Werror -I$prefix/include"
$c "$here/own_buckets.c" -o "$work/own_buckets" -L"$lib" -lbandmill
$cxx "$here/progress.cpp" -o "$work/progress" -L"$lib" -lbandmill -pthread

"$work/own_buckets" cpu
# The first OpenCL device, where there is one.
if [ "${BM_OPENCL:-}" = yes ]; then "$work/own_buckets" opencl; fi

sh "$here/texts.sh" > "$work/texts.jsonl"
rm -rf "$work/result"
said=$("$work/progress" "$work/texts.jsonl" "$work/result" 2> "$work/meter")
[ "$said" = '420 documents, 20 removed' ] || { say "progress: $said"; cat "$work/meter"; exit 1; }
grep -q ' [0-9]* %' "$work/meter" || { say "progress: no meter"; exit 1; }
code=0
"$work/progress" "$work/texts.jsonl" "$work/cancelled" --cancel > "$work/out" 2>&1 || code=$?
if [ "$code" != 130 ] || [ -e "$work/cancelled" ]; then say "progress --cancel ended with $code: $(cat "$work/out")"; exit 1; fi
say "progress: $said; cancelled: $code"

python3 "$here/from_ctypes.py" "$lib/libbandmill.so"

# Constants are plain numbers or enums, which every generator of bindings reads: no casts, no calls of macros.
bad=$(grep -hE '^#define BM_[A-Z0-9_]+ ' "$prefix"/include/bandmill/*.h | grep -vE '__attribute__|^#define BM_[A-Z0-9_]+ +\(?(0x[0-9A-F]+|[0-9]+|BM_[A-Z_]+)(u|ull)?( [*+] (BM_[A-Z_]+|[0-9]+))*\)?( */\*.*)?$' || true)
[ -z "$bad" ] || { say "constants that are no plain numbers: $bad"; exit 1; }
if command -v bindgen > /dev/null && command -v rustc > /dev/null; then
    bindgen --allowlist-item '(bm|BM)_.*' "$prefix/include/bandmill/bandmill.h" > "$work/bandmill.rs"
    cat > "$work/main.rs" <<'RUST'
#![allow(non_camel_case_types, non_upper_case_globals, non_snake_case, dead_code)]
mod bandmill { include!("bandmill.rs"); }
fn main() {
    use bandmill::*;
    assert_eq!(unsafe { bm_version_number() }, BM_VERSION_NUMBER);
    assert_eq!(BM_NO_SHINGLE32 as u64, 0xFFFF_FFFF);
    assert_eq!(BM_NO_BAND_KEY as u64, u64::MAX);
    assert_eq!(BM_COUNT_UNKNOWN as u64, u64::MAX);
    println!("bindgen: bandmill {}", BM_VERSION_NUMBER);
}
RUST
    rustc "$work/main.rs" -o "$work/from_rust" -L "$lib" -l bandmill
    "$work/from_rust"
fi
