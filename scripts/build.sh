#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# build.sh DIR [cmake options] [-- targets]          configure and build into DIR
# build.sh --preset NAME [cmake options] [-- targets]   likewise a preset of CMakePresets.json, into build/NAME
#
# With Ninja and ccache where they are installed, and as many jobs as there are processors. Every 20 seconds it prints how far it is; what the
# compilers print is in DIR/build.log.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
dir=${1:?usage: build.sh DIR|--preset NAME [cmake options] [-- targets]}
shift
if [[ $dir == --preset ]]; then
    preset=${1:?usage: build.sh --preset NAME [cmake options] [-- targets]}
    shift
    cd "$root"
    dir=build/$preset
    configure=(--preset "$preset") build=(--build --preset "$preset")
else
    configure=(-S "$root" -B "$dir") build=(--build "$dir")
fi
targets=()
while (($# > 0)) && [[ $1 != -- ]]; do
    configure+=("$1")
    shift
done
if (($# > 1)); then
    shift
    targets=(--target "$@")
fi
if [[ ! -e $dir/CMakeCache.txt && -z ${CMAKE_GENERATOR:-} ]] && command -v ninja > /dev/null; then
    export CMAKE_GENERATOR=Ninja
fi
if command -v ccache > /dev/null; then
    configure+=(-DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
    # What another clone compiled serves this one; what is new is not preprocessed twice, which costs a quarter of compiling.
    export CCACHE_BASEDIR=${CCACHE_BASEDIR:-$root} CCACHE_NOHASHDIR=1 CCACHE_DEPEND=${CCACHE_DEPEND-1}
fi
mkdir -p "$dir"
log=$dir/build.log
: > "$log"
(while sleep 20 > /dev/null 2>&1; do
    sed -n "\$s|^\(\[[^]]*\]\).*|   $dir: \1|p" "$log"
done) &
progress=$!
trap 'kill "$progress" 2> /dev/null || true' EXIT
if ! { cmake "${configure[@]}" && cmake "${build[@]}" --parallel "$(nproc)" "${targets[@]}"; } > "$log" 2>&1; then
    grep -E -B2 -A12 'error|Error|FAILED' "$log" | head -n 80 >&2 || tail -n 80 "$log" >&2
    echo "build.sh: the build in $dir failed; all of it is in $log" >&2
    exit 1
fi
