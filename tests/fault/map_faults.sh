# SPDX-License-Identifier: Apache-2.0
# A file system without shared memory maps of files, or without locks: commands that need them exit with 4 and say where the files should be
# instead; nothing is called damaged or out of memory. SHIM is the library of map_shim.c. A case of tests/cli/harness.sh; PLANTED is the
# generator.
# shellcheck shell=sh disable=SC2034,SC2154
"$PLANTED" 200 > in.jsonl
awk 'BEGIN { for (i = 0; i < 60000; i++) printf "{\"id\":\"document-%d-with-a-long-name-of-its-own\",\"text\":\"w%d x%d y%d\"}\n", i, i, i * 7, i * 3 }' > many.jsonl
printf '{"id":"new","text":"a text that no other has"}\n' > more.jsonl
mkdir disk local
here=$(pwd -P)

# on WHAT:CODE ARGUMENT…: the program, with ./disk such a file system
on() {
    fault=$1
    shift
    command_line="MAP_SHIM=$fault bandmill $*"
    MAP_SHIM=$here/disk:$fault LD_PRELOAD=$SHIM ASAN_OPTIONS="${ASAN_OPTIONS:-}:verify_asan_link_order=0" "$PROGRAM" "$@" -q > ../out 2> ../err
    rc=$?
}

bm index build disk/idx in.jsonl -q; exits 0
for code in 19 22; do # ENODEV, EINVAL
    # columns of the documents go to files there
    on maps:$code dedup many.jsonl -o out --memory 24M --threads 2 --temp-dir disk
    refused 4 'disk: cannot map a temporary file .*--temp-dir names another directory, on a local disk'
    on maps:$code dedup many.jsonl -o out --memory 24M --threads 2 --temp-dir local; exits 0
    rm -rf out
    on maps:$code index build disk/new in.jsonl; refused 4 '.*keep the index on a local disk'
    for job in 'index check disk/idx' 'index info disk/idx' 'query disk/idx more.jsonl' 'index add disk/idx more.jsonl' 'index remove disk/idx new'; do
        # shellcheck disable=SC2086 # words
        on maps:$code $job; refused 4 'disk/idx: cannot map the index: .*keep the index on a local disk'
    done
done
for code in 37 38; do # ENOLCK, ENOSYS
    on locks:$code index add disk/idx more.jsonl; refused 4 '.*keep the index on a local disk'
    on locks:$code dedup in.jsonl -o out --temp-dir disk; exits 0
    rm -rf out
done
bm index check disk/idx -q; exits 0

# a copy by hard links is sound, and is said to be one; nobody writes to it
cp -al disk/idx local/copy
bm index check local/copy; exits 0
grep -q 'has another name too, as in a copy by hard links' ../err || fail 'it does not say that it is a copy by hard links'
grep -q 'local/copy is sound' ../err || fail 'it is not called sound'
bm query local/copy in.jsonl -q; exits 0
bm index add local/copy more.jsonl -q; refused 7 'local/copy: its data\.mdb has another name too \(a hard link\)'
