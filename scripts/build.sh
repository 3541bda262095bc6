#!/usr/bin/env bash
# build.sh DIR [cmake options] [-- targets] -- configure and build into DIR, with Ninja and ccache where they are installed. Says little
# unless it fails.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
dir=${1:?usage: build.sh DIR [cmake options] [-- targets]}
shift
options=() targets=()
while (($# > 0)) && [[ $1 != -- ]]; do
    options+=("$1")
    shift
done
if (($# > 0)); then
    shift
    targets=("$@")
fi
if [[ ! -e $dir/CMakeCache.txt ]] && command -v ninja > /dev/null; then
    options+=(-G Ninja)
fi
if command -v ccache > /dev/null; then
    options+=(-DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
fi
mkdir -p "$dir"
log=$dir/build.log
arguments=(--build "$dir" --parallel "$(nproc)")
if ((${#targets[@]} > 0)); then
    arguments+=(--target "${targets[@]}")
fi
if ! { cmake -S "$root" -B "$dir" "${options[@]}" && cmake "${arguments[@]}"; } > "$log" 2>&1; then
    grep -E -B2 -A12 'error|Error|FAILED' "$log" | head -n 80 >&2 || tail -n 80 "$log" >&2
    echo "build.sh: the build in $dir failed; all of it is in $log" >&2
    exit 1
fi
