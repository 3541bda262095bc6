#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# harness.sh PROGRAM CASE.sh -- run one case of the program's behaviour in an empty directory of its own.
#
# A case says what it does with `bm ARGS...` (exit code in $rc, stdout and stderr in ../out and ../err) and what must follow with the
# functions below. Every failure prints the command and what it said; the exit code counts for ctest: 1 failed, 77 skipped.
# Cases sign on the native CPU unless they say otherwise, so that no OpenCL is loaded.
set -u
PROGRAM=$(realpath "$1") || exit 1
CASE=$(realpath "$2") || exit 1
top=$(mktemp -d) || exit 1
trap 'chmod -R u+rwx "$top" 2>/dev/null; rm -rf "$top"' EXIT
trap 'exit 1' INT TERM
mkdir "$top/here" && cd "$top/here" || exit 1
# Of the virtual environment, where it is there: what PATH has may be a script that looks for a Python first.
PYTHON=python3
[ ! -x "${BM_PYTHON:-}" ] || PYTHON=$BM_PYTHON
unset BANDMILL_CPU BANDMILL_CACHE_DIR BANDMILL_PROBE
# Drivers that are not in memory yet, beside others that have the processor, take their time.
export BANDMILL_DEVICE=cpu LC_ALL=C.UTF-8 BANDMILL_PROBE_SECONDS="${BANDMILL_PROBE_SECONDS:-300}"
: > ../failures
checks=0
command_line=

# Leaks are looked for when a program with a sanitizer ends, which takes it a fifth of its time: here at the end of one in four.
sanitizer=${ASAN_OPTIONS:-}
case $sanitizer in *detect_leaks=0*) sanitizer= ;; esac
starts=0
leaks_in_turn() {
    [ -n "$sanitizer" ] || return 0
    starts=$((starts + 1))
    export ASAN_OPTIONS="$sanitizer:detect_leaks=$((starts % 4 == 0))"
}

bm() {
    leaks_in_turn
    command_line="bandmill $*"
    "$PROGRAM" "$@" > ../out 2> ../err
    rc=$?
    set_waiting_aside
}

# What the program says on a machine on which OpenCL takes its time goes from ../err to ../waited: no case depends on it. It stands among the
# first lines; no process looks for it, of which there would be thousands.
set_waiting_aside() {
    _line=0
    while [ $_line -lt 8 ] && IFS= read -r _said; do
        case $_said in *'waiting for OpenCL to list its devices'*)
            grep 'waiting for OpenCL to list its devices' ../err > ../waited
            grep -v 'waiting for OpenCL to list its devices' ../err > ../rest
            cat ../rest > ../err
            return
            ;;
        esac
        _line=$((_line + 1))
    done < ../err
}

fail() {
    echo >> ../failures # a file, since the end of a pipe runs in a shell of its own
    printf 'FAILED: %s\n  command: %s\n  exit code: %s\n  stderr: %s\n  stdout: %s\n' "$1" "$command_line" "${rc-}" \
        "$(head -c 600 ../err 2>/dev/null)" "$(head -c 300 ../out 2>/dev/null)"
}

skip() { echo "SKIPPED: $1"; exit 77; }

# exits CODE: the last command left with it.
exits() {
    checks=$((checks + 1))
    [ "$rc" = "$1" ] || fail "exit code $rc, expected $1"
}

# refused CODE 'ERE': that exit code, nothing on stdout, and exactly one line on stderr, "bandmill: " and then the ERE.
refused() {
    exits "$1"
    checks=$((checks + 1))
    [ ! -s ../out ] || fail "data on stdout"
    { IFS= read -r _said && ! IFS= read -r _said; } < ../err || fail "stderr is not one line"
    grep -qE "^bandmill: $2" ../err || fail "stderr does not match: ^bandmill: $2"
}

# absent PATH...: nothing there, nor work in progress.
absent() {
    for path in "$@"; do
        checks=$((checks + 1))
        if [ -e "$path" ] || [ -L "$path" ]; then fail "$path exists"; fi
        for _left in "$path".*; do
            if [ -e "$_left" ] || [ -L "$_left" ]; then fail "left over: $_left"; fi
        done
    done
}

# holds FILE < expected: byte for byte.
holds() {
    checks=$((checks + 1))
    diff "$1" - > ../differing 2>&1 || fail "$1 differs: $(head -n 20 ../differing)"
}

# says FILE 'ERE': some line matches.
says() {
    checks=$((checks + 1))
    grep -qE -e "$2" "$1" || fail "$1 does not match: $2"
}

# relist DIR: its report lists the files as they are now, as an earlier version would have written it: without second digests.
relist() {
    report=$1/report.json
    [ -e "$report" ] || report=$1/manifest.json
    sed -i '/"outputs_xxh3_128"/d; s/"report_xxh3_128"/"was"/' "$report"
    for file in "$1"/*; do
        name=${file##*/}
        [ -d "$file" ] || sed -i "/\"outputs\"/s/\"$name\":\"[0-9a-f]*\"/\"$name\":\"$(sha256sum < "$file" | cut -c 1-64)\"/" "$report"
    done
}

silent() {
    checks=$((checks + 1))
    [ ! -s "$1" ] || fail "$1 is not empty"
}

# comes CMD…: it is true within five minutes, which is long also where others have the processor.
comes() {
    waited=0
    until "$@" 2> /dev/null; do
        [ $waited -lt 6000 ] || { fail "it never came that $*"; return 1; }
        sleep 0.05
        waited=$((waited + 1))
    done
}

# soon SECOND: so many seconds of the clock (date +%s) have passed since SECOND as an answer may take where others have the processor.
soon() {
    checks=$((checks + 1))
    [ $(($(date +%s) - $1)) -le 300 ] || fail "it took $(($(date +%s) - $1)) s"
}

# Inputs for a job that stands still while it works: in.jsonl, its first 100 lines, and a pipe.
waiting_inputs() {
    i=0
    while [ $i -lt 400 ]; do
        echo "{\"id\":$i,\"text\":\"some words of document $((i / 2)) and a few more $((i * 7919 / 15838)) that it shares with its neighbour\"}"
        i=$((i + 1))
    done > in.jsonl
    head -n 100 in.jsonl > some.jsonl
    mkfifo fifo
}

# first ARGS…: a job that works in out.partial, and waits for the rest of its input.
first() {
    "$PROGRAM" "$@" < fifo > ../first.out 2> ../first.err &
    job=$!
    exec 3> fifo
    head -n 150 in.jsonl >&3
    comes test -s out.partial/.bandmill-work # written to when all of it is locked
}

# The first job gets the rest and ends: $rc.
goes_on() {
    tail -n +151 in.jsonl >&3
    exec 3>&-
    wait "$job"
    rc=$?
}

# start_and_stop SIGNAL COMMAND…: lets it run in steps until something is sealed, and sends the signal while it is stopped.
start_and_stop() {
    signal=$1
    shift
    for try in $(seq 50); do
        rm -rf out out.partial
        command_line="kill -$signal bandmill $*"
        BANDMILL_SEAL_SECONDS=0 env --default-signal=INT "$PROGRAM" "$@" --threads 1 --batch-docs 1 > ../out 2> ../err &
        job=$!
        while kill -STOP $job 2> /dev/null && [ ! -e out ] && ! grep -q '^documents' out.partial/.bandmill-journal 2> /dev/null; do
            kill -CONT $job
            sleep 0.01
        done
        kill "-$signal" $job 2> /dev/null
        kill -CONT $job 2> /dev/null
        wait $job
        rc=$?
        [ -e out ] || return 0 # else it was done before anybody looked
    done
    fail "fifty jobs were done before they could be stopped"
}

# the_same WHOLE: every file of `out` has the bytes of the one in WHOLE; the report and the manifest are so but for "run".
the_same() {
    checks=$((checks + 1))
    [ "$(ls -A out)" = "$(ls -A "$1")" ] || fail "other files: $(ls -A out)"
    for file in out/*; do
        case $file in
        */report.json | */manifest.json) ;;
        *) cmp -s "$file" "$1/${file#out/}" || fail "$file differs" ;;
        esac
    done
    absent out.partial
}

# What the shell itself says is a mistake in the case: a check whose file is not there would be left out without a word.
exec 7>&2 2> ../shell
# shellcheck disable=SC1090
. "$CASE"
exec 2>&7
cat ../shell >&2
! grep -E '(cannot (open|create)|[Nn]o such file|not found|syntax error|arithmetic|unexpected)' ../shell > ../out || fail "the shell says so"

failures=$(wc -l < ../failures)
echo "$(basename "$CASE"): $checks checks, $failures failed"
[ "$checks" -gt 0 ] && [ "$failures" -eq 0 ]
