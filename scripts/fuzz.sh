#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# fuzz.sh [-jobs N] MINUTES [TARGET...] -- build the fuzz targets (preset fuzz: clang, libFuzzer, sanitizers) and run each for so many
# minutes (0.5 is half of one), N at a time (1), one core each. TARGET is `text` or `fuzz_text`; none: all of tests/fuzz/. differential_json and
# differential_csv are targets too: records that we and a second reader read (differential.py); an execution is a record there.
#
# Each begins with its committed corpus and with what earlier runs found worth keeping in build/fuzz/corpus/, and puts in words of
# tests/fuzz/dictionaries/TARGET.dict, where there is one. Ends with a table:
# executions, inputs kept, findings. A finding is the input of a crash, a leak or a hang, in build/fuzz/findings/; the target stops at it, and
# the script ends with 1. To see one again: build/fuzz/tests/fuzz/fuzz_TARGET FILE.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"

usage() {
    sed -n '3,10s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
    exit "$1"
}

jobs=1
if [[ ${1:-} == -jobs || ${1:-} == --jobs ]]; then
    jobs=${2:?how many}
    shift 2
fi
[[ ${1:-} == -h || ${1:-} == --help ]] && usage 0
[[ ${1:-} =~ ^[0-9]+(\.[0-9]+)?$ && $jobs =~ ^[1-9][0-9]*$ ]] || usage 2
seconds=$(awk -v m="$1" 'BEGIN { s = int(m * 60); print s < 1 ? 1 : s }')
shift

declare -A known=()
all=()
for source in tests/fuzz/fuzz_*.c; do
    name=$(basename "$source" .c)
    if [[ $name != fuzz_replay ]]; then
        all+=("$name")
        known[$name]=yes
    fi
done
for name in fuzz_differential_json fuzz_differential_csv; do
    all+=("$name")
    known[$name]=yes
done
targets=()
for name in "$@"; do
    name=fuzz_${name#fuzz_}
    [[ ${known[$name]:-} == yes ]] || { echo "fuzz.sh: no target $name (there are ${all[*]})" >&2; exit 2; }
    targets+=("$name")
done
((${#targets[@]} > 0)) || targets=("${all[@]}")

programs=()
for name in "${targets[@]}"; do
    [[ $name == fuzz_differential_* ]] && name=record_answers
    programs+=("$name")
done
scripts/build.sh --preset fuzz -- "${programs[@]}"
out=build/fuzz
mkdir -p "$out/corpus" "$out/findings" "$out/logs"

# Which of the committed corpora a target reads: that of its name, or those that tests/fuzz/CMakeLists.txt says.
seeds_of() {
    local line
    line=$(sed -n "s/^bm_fuzz($1 [^ ]* \(.*\))\$/\1/p" tests/fuzz/CMakeLists.txt | tr -d '"' | tr ';' ' ')
    for folder in $line; do
        echo "tests/fuzz/corpus/$folder"
    done
}

# Until the time is over, each time with another seed; the log ends as libFuzzer's do.
differential() {
    local name=$1 log=$out/logs/$1.log end=$((SECONDS + seconds)) n=0 seed
    while ((SECONDS < end)); do
        seed=$((RANDOM << 15 | RANDOM))
        if ! "${BANDMILL_PYTHON:-python3}" tests/fuzz/differential.py --program "$out/tests/fuzz/record_answers" --target "${name##*_}" --records 20000 \
            --seed "$seed" >> "$log" 2>&1; then
            echo 1 > "$out/logs/$name.failed"
            break
        fi
        n=$((n + 20000))
    done
    printf 'stat::number_of_executed_units: %d\nstat::average_exec_per_sec: %d\n' "$n" "$((n / seconds))" >> "$log"
}

run() {
    local name=$1 seeds words=()
    if [[ $name == fuzz_differential_* ]]; then
        differential "$name"
        return
    fi
    mkdir -p "$out/corpus/$name"
    mapfile -t seeds < <(seeds_of "$name")
    if [[ -e tests/fuzz/dictionaries/${name#fuzz_}.dict ]]; then
        words=("-dict=tests/fuzz/dictionaries/${name#fuzz_}.dict")
    fi
    "$out/tests/fuzz/$name" "-max_total_time=$seconds" -timeout=60 -rss_limit_mb=4096 -print_final_stats=1 \
        "-artifact_prefix=$out/findings/$name-" "${words[@]}" "$out/corpus/$name" "${seeds[@]}" > "$out/logs/$name.log" 2>&1 \
        || echo "$?" > "$out/logs/$name.failed"
}

for name in "${targets[@]}"; do
    rm -f "$out/logs/$name".*
    while (($(jobs -rp | wc -l) >= jobs)); do
        wait -n || true
    done
    run "$name" &
done
wait

failed=0
printf '%-24s %12s %10s %8s %9s\n' target executions per_second kept findings
for name in "${targets[@]}"; do
    log=$out/logs/$name.log
    stat() { sed -n "s/^stat::$1: *//p" "$log" | tail -n 1; }
    n=$(stat number_of_executed_units)
    rate=$(stat average_exec_per_sec)
    kept=$([[ -d $out/corpus/$name ]] && find "$out/corpus/$name" -type f | wc -l || echo -)
    findings=0
    if [[ -e $out/logs/$name.failed ]]; then
        findings=1
        failed=1
    fi
    printf '%-24s %12s %10s %8s %9s\n' "$name" "${n:-?}" "${rate:-?}" "$kept" "$findings"
    if ((findings > 0)); then
        grep -m 1 -E 'ERROR|runtime error|fuzz_.*\.c:[0-9]+:|, seed ' "$log" | sed 's/^/    /' || true
        sed -n 's/.*Test unit written to /    /p' "$log"
    fi
done
exit "$failed"
