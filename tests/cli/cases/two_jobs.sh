# SPDX-License-Identifier: Apache-2.0
# Two jobs with one output: the second is refused (9), the first ends as if it had been alone, and the earlier output stays until then.
# shellcheck shell=sh disable=SC2034,SC2154
waiting_inputs

finish() {
    goes_on
    command_line="the first of two jobs"
    exits 0
    silent ../first.err
}

whole() { # whole FILE…: those of out are as one job alone writes them
    for file in "$@"; do
        holds "out/$file" < "alone/$file"
    done
    [ -z "$(find . -name '*.partial*' -o -name '.bandmill*')" ] || fail "something is left: $(ls -A)"
}

earlier() {
    checks=$((checks + 1))
    diff -r ../earlier out > /dev/null || fail "the earlier output changed"
}

for command in dedup sign; do
    case $command in
    dedup) files='kept.jsonl removed.tsv groups.jsonl' ;;
    sign) files='signatures.npy n_shingles.npy n_bytes.npy content_hash.npy ids.txt' ;;
    esac
    bm "$command" - -o alone -q < in.jsonl; exits 0

    # no output yet
    first "$command" - -o out -q
    bm "$command" some.jsonl -o out; refused 9 'out\.partial: another job writes this output now'
    bm "$command" some.jsonl -o out --force; refused 9 'out\.partial: another job'
    bm "$command" some.jsonl -o ./../here//out/; refused 9 '.*out\.partial: another job'
    [ "$command" = dedup ] && { bm sign some.jsonl -o out; refused 9 'out\.partial: another job'; }
    [ ! -e out ] || fail "an output of the second job"
    finish
    # shellcheck disable=SC2086 # names are words
    whole $files

    # over an earlier output
    rm -rf out ../earlier
    bm "$command" some.jsonl -o out -q; exits 0
    cp -R out ../earlier
    first "$command" - -o out -q --force
    bm "$command" some.jsonl -o out --force; refused 9 'out\.partial: another job'
    earlier
    bm "$command" some.jsonl -o out; exits 2
    earlier
    finish
    # shellcheck disable=SC2086
    whole $files

    # a first job that fails lets the next one in, and what was there before stays
    rm -rf out
    cp -R ../earlier out
    first "$command" - -o out -q --force
    bm "$command" some.jsonl -o out --force; refused 9 'out\.partial: another job'
    echo '{"id":' >&3
    exec 3>&-
    wait $job
    rc=$?
    exits 3
    earlier
    bm "$command" - -o out -q --force < in.jsonl; exits 0
    # shellcheck disable=SC2086
    whole $files
    rm -rf out alone
done

# A single file needs no lock: each job writes a file of its own beside it and renames it. Without --force the later one is refused.
bm pairs - -o alone -q < in.jsonl; exits 0
"$PROGRAM" pairs - -o out -q < fifo > ../first.out 2> ../err &
job=$!
exec 3> fifo
head -n 150 in.jsonl >&3
bm pairs in.jsonl -o out -q; exits 0
exec 3>&-
command_line='pairs - -o out, which another job wrote meanwhile'
wait $job
rc=$?
cp ../first.out ../out
exits 2
holds out < alone
[ -z "$(find . -name '*.partial*')" ] || fail "something is left: $(ls -A)"
