# SPDX-License-Identifier: Apache-2.0
# Temporary files that fail: a full disk, no disk to begin with, a directory that is removed, a file that cannot be read, one byte changed,
# a file cut short. For the files of sets, of band keys and of edges, in `dedup --pairs`, `dedup --cluster star` and `pairs`: one line that
# names the directory, the exit code, the earlier output byte for byte as it was, nothing left; or, where work was sealed, work that --resume
# goes on with once the disk is mended. SHIM is the library of spill_shim.c.
# A case of tests/cli/harness.sh; PLANTED is the generator.
# shellcheck shell=sh disable=SC2034,SC2154
"$PLANTED" 2000 > in.jsonl
"$PLANTED" 400 --mode one-word | sed 's/"id":"/"id":"w/' >> in.jsonl
# Stars keep the edges of small buckets only: 330 clusters of 32, of which each pair is an edge.
awk 'BEGIN { for (c = 0; c < 330; c++) for (d = 0; d < 32; d++) { printf "{\"id\":\"s%d.%d\",\"text\":\"", c, d
    for (w = 0; w < 20; w++) printf "w%d ", c * 20 + w
    printf "x%d\"}\n", d } }' > stars.jsonl
mkdir disk
log=$top/log
runs=0
: "${BANDMILL_TEST_SIZE:=normal}"

# job FAULT COMMAND…: with this fault; --memory so small that sets, keys and edges go to files
job() {
    fault=$1
    shift
    mkdir -p disk
    rm -f "$log"
    runs=$((runs + 1))
    leaks_in_turn
    command_line="SPILL_SHIM=$fault bandmill $*"
    # shellcheck disable=SC2086 # a word each, or nothing
    SPILL_SHIM=$fault SPILL_SHIM_LOG=$log LD_PRELOAD=$SHIM ASAN_OPTIONS="${ASAN_OPTIONS:-}:verify_asan_link_order=0" \
        "$PROGRAM" "$@" $input $plan --threshold 0.7 --threads 2 --memory 21M --temp-dir disk $quiet > ../out 2> ../err
    rc=$?
}
quiet=-q input=in.jsonl plan='--bands 300 --rows 1'

calls() { sed -n "s/^calls $1 $2 //p" "$log"; } # calls KIND CALL: how many the last job made

untouched() { # untouched OUTPUT: as it was before, and nothing else of a job
    checks=$((checks + 1))
    diff -r "$1" "../before/$1" > /dev/null || fail "the earlier output changed"
    left=$(find . -name '*.partial*' -o -name '.bandmill*')
    [ -z "$left" ] || fail "something is left: $left"
    [ ! -d disk ] || [ -z "$(ls -A disk)" ] || fail "something is left in --temp-dir: $(ls -A disk)"
}

# broken OUTPUT CODE 'ERE' FAULT COMMAND…: over an earlier output
broken() {
    output=$1 code=$2 says=$3
    shift 3
    job "$@" --force -o "$output"
    refused "$code" "disk: $says"
    checks=$((checks + 1))
    case $1 in
    room) ;;
    *) grep -q '^fault' "$log" || fail "no fault happened" ;;
    esac
    untouched "$output"
}

# a number from the middle of N
middle() { echo $((($1 + 1) / 2)); }

# faults OUTPUT KIND COMMAND…: of one kind of file
faults() {
    output=$1 kind=$2
    shift 2
    job '' "$@" --force -o "$output"; exits 0
    checks=$((checks + 1))
    diff -r -x report.json "$output" "../before/$output" > ../differing || fail "not what plenty of memory gives: $(head -n 5 ../differing)"
    writes=$(calls "$kind" write) reads=$(calls "$kind" read)
    rm -rf "$output"
    cp -R "../before/$output" "$output"
    checks=$((checks + 1))
    if [ "${writes:-0}" -lt 2 ] || [ "${reads:-0}" -lt 2 ]; then
        fail "no file of $kind: $writes writes, $reads reads"
        return
    fi
    full='cannot write a temporary file: No space left'
    unreadable='cannot read a temporary file: Input/output error'
    damaged='a temporary file is damaged at byte [0-9]+: '
    broken "$output" 4 "$full" "$kind:write:$(middle "$writes"):28" "$@"
    broken "$output" 4 "$unreadable" "$kind:read:$(middle "$reads"):5" "$@"
    broken "$output" 7 "$damaged" "$kind:read:$(middle "$reads"):byte" "$@"
    # The first call and the last: what writes and reads these files is the same in every job, so once a kind.
    case $BANDMILL_TEST_SIZE.$output in small.* | normal.list | normal.stars) return ;; esac
    broken "$output" 4 "$full" "$kind:write:1:28" "$@"
    broken "$output" 4 "$full" "$kind:write:$writes:28" "$@"
    broken "$output" 4 "$unreadable" "$kind:read:1:5" "$@"
    broken "$output" 7 "$damaged" "$kind:read:1:byte" "$@"
    broken "$output" 7 "$damaged" "$kind:read:$reads:byte" "$@"
    broken "$output" 7 "${damaged}it ends there" "$kind:read:$(middle "$reads"):short" "$@"
}

# files OUTPUT COMMAND…: each file that the job makes; the directory is gone when it is made, or it cannot be made
files() {
    output=$1
    shift
    job '' "$@" --force -o "$output"; exits 0
    opens=$(calls any open)
    rm -rf "$output"
    cp -R "../before/$output" "$output"
    checks=$((checks + 1))
    [ "${opens:-0}" -ge 3 ] || fail "$opens temporary files were made"
    # All of them for one command; where another makes the same files, the first and the last.
    n=1 step=1
    [ "$BANDMILL_TEST_SIZE.$output" != normal.list ] || step=$((opens - 1))
    while [ "$n" -le "${opens:-0}" ]; do
        # In the small size one of the two, in turn.
        [ "$BANDMILL_TEST_SIZE.$((n % 2))" = small.0 ] || broken "$output" 4 'cannot make a temporary file: No such file' "any:open:$n:gone" "$@"
        [ "$BANDMILL_TEST_SIZE.$((n % 2))" = small.1 ] || broken "$output" 4 'cannot make a temporary file: No space left' "any:open:$n:28" "$@"
        n=$((n + step))
    done
    # A disk that is known to be too small beforehand: 100 kB are free.
    SPILL_SHIM_ROOM=100000
    export SPILL_SHIM_ROOM
    job '' "$@" --force -o "$output"
    unset SPILL_SHIM_ROOM
    refused 4 'disk: [0-9]+ MiB are needed for temporary files and 0 MiB are free \(see --temp-dir, --memory\)'
    untouched "$output"
}

# as_wanted: groups is what plenty of memory gives; then it is the earlier output again.
as_wanted() {
    checks=$((checks + 1))
    diff -r -x report.json groups ../before/groups > ../differing || fail "not what plenty of memory gives: $(head -n 5 ../differing)"
    rm -rf groups
    cp -R ../before/groups groups
    untouched groups
}

# mended FAULT: work is sealed after each batch, the disk fails, and does not when the job goes on
mended() {
    job "$1" dedup --pairs --batch-docs 100 --force -o groups; exits 4
    says ../err '^bandmill: .*disk.*: cannot (read|write) a temporary file: '
    says ../err '^bandmill: warning: [0-9]+ documents.* are saved in groups\.partial: the same command with --resume continues from there'
    checks=$((checks + 1))
    diff -r groups ../before/groups > /dev/null || fail "the earlier output changed"
    job '' dedup --pairs --batch-docs 100 --force --resume -o groups; exits 0
    says ../err '^bandmill: resuming after [1-9]'
    as_wanted
}

# Earlier outputs, of plenty of memory: what a job with little must equal, and what must stay.
set -- --threshold 0.7 --threads 2 -q
stars='--bands 16 --rows 1'
mkdir ../before
# shellcheck disable=SC2086 # options
for output in groups stars list; do
    case $output in
    groups) bm dedup --pairs in.jsonl $plan "$@" -o groups ;;
    stars) bm dedup --cluster star stars.jsonl $stars "$@" -o stars ;;
    list) bm pairs in.jsonl $plan "$@" -o list ;;
    esac
    exits 0
    cp -R "$output" ../before/
done

faults groups sets dedup --pairs
faults groups keys dedup --pairs
faults groups edges dedup --pairs
files groups dedup --pairs
input=stars.jsonl plan=$stars
[ "$BANDMILL_TEST_SIZE" = small ] || faults stars edges dedup --cluster star
input=in.jsonl plan='--bands 300 --rows 1'
if [ "$BANDMILL_TEST_SIZE" != small ]; then
    faults list sets pairs
    faults list keys pairs
    files list pairs
fi
faults list edges pairs

BANDMILL_SEAL_SECONDS=0
export BANDMILL_SEAL_SECONDS
quiet=
mended sets:write:3:28
mended sets:read:100:5
mended keys:write:20:28
mended keys:read:100:5
mended edges:write:11:28
mended edges:read:11:5
# Where only sealing fails the job says so and goes on.
job docs:write:2:28 dedup --pairs --batch-docs 100 --force -o groups; exits 0
says ../err '^bandmill: warning: the work cannot be saved, so it could not be resumed from here: .*No space left'
as_wanted
unset BANDMILL_SEAL_SECONDS
echo "$runs jobs"
