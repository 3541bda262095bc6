# SPDX-License-Identifier: Apache-2.0
# BANDMILL_CPU forces the native instruction set; BANDMILL_DEVICE is the default of --device. An error about an unusable value names the
# variable.
# shellcheck shell=sh disable=SC2034,SC2154
i=0
while [ $i -lt 200 ]; do
    echo "{\"id\":$i,\"text\":\"text $i $((i * 7919)) of $((i * 104729)) words and some more of them, é $((i / 2))\"}"
    i=$((i + 1))
done > a.jsonl

# forced SET COMMAND...: with that set
forced() {
    set_name=$1
    shift
    export BANDMILL_CPU="$set_name"
    bm "$@"
    unset BANDMILL_CPU
    command_line="BANDMILL_CPU=$set_name $command_line"
}

bm sign a.jsonl -o plain; exits 0
n=0
for isa in scalar avx2 avx512 neon; do
    forced $isa sign a.jsonl -o "with-$isa"
    if [ $rc -eq 2 ]; then
        refused 2 "BANDMILL_CPU: this processor has no $isa \\(the best here is "
        continue
    fi
    exits 0
    says "with-$isa/manifest.json" "\"driver\": \"$isa\"" # the instruction set, of the native CPU
    for file in signatures.npy n_shingles.npy ids.txt; do cmp -s "plain/$file" "with-$isa/$file" || fail "$isa gives another $file"; done
    n=$((n + 1))
done
[ $n -ge 1 ] || fail "not even scalar code runs here"
for bad in mmx AVX2 'avx2 '; do
    for command in 'sign a.jsonl -o out' 'dedup a.jsonl -o out' 'pairs a.jsonl'; do
        # shellcheck disable=SC2086
        forced "$bad" $command; refused 2 "BANDMILL_CPU: unknown instruction set '$bad' \\(scalar, avx2, avx512 or neon\\)"
    done
done
forced mmx sign a.jsonl -o out --json; exits 2; says ../err '"status":"usage".*"message":"BANDMILL_CPU: unknown'
forced '' sign a.jsonl -o empty; exits 0
absent out

# device VALUE COMMAND...
device() {
    value=$1
    shift
    BANDMILL_DEVICE=$value
    bm "$@"
    BANDMILL_DEVICE=cpu
    command_line="BANDMILL_DEVICE=$value $command_line"
}

device cpu pairs a.jsonl -o p.tsv --report cpu.json; exits 0; says cpu.json '"device": "cpu"'
device no-such-device pairs a.jsonl; refused 5 "no device matches 'no-such-device'"
device no-such-device pairs a.jsonl --device cpu; exits 0 # the option wins
device cpu pairs a.jsonl --device no-such-device; refused 5 "no device matches 'no-such-device'"
device no-such-device cluster p.tsv; exits 0 # nothing to sign
device '' pairs a.jsonl --device cpu; exits 0
