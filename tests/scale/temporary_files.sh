# SPDX-License-Identifier: Apache-2.0
# Faults of temporary files: no directory, a full disk, a directory that is removed, a file that is damaged while the job runs. Each gives
# one line and its exit code; the earlier output is unchanged, and nothing is left.
# shellcheck shell=sh disable=SC2034,SC2154
"$PLANTED" 24000 > in.jsonl
gzip -k in.jsonl # whose sets have to go to a file
set -- --threads 2 --memory 30M --kept no
bm dedup in.jsonl.gz "$@" -o out -q; exits 0
cp -R out before
untouched() {
    checks=$((checks + 1))
    diff -r before out > /dev/null || fail "the earlier output changed"
    [ -z "$(find . -name '*.partial*' -o -name '.bandmill*')" ] || fail "something is left: $(ls -A)"
}

bm dedup in.jsonl.gz "$@" --temp-dir nowhere --force -o out; refused 4 'nowhere.*temporary files: No such file'
untouched

# full: where a small disk may be mounted, and by a limit on the size of files
mkdir disk
cat > ../full.sh <<'END'
mount --make-rprivate / && mount -t tmpfs -o size=4m none disk || exit 99
exec "$@"
END
command_line='dedup with a full --temp-dir'
unshare -m sh ../full.sh "$PROGRAM" dedup in.jsonl.gz "$@" --temp-dir disk --force -o out > ../out 2> ../err
rc=$?
if grep -q bandmill: ../err; then
    refused 4 'disk: ([0-9]+ MiB are needed.*--temp-dir|.*No space left)'
    untouched
    # a stream: nothing can be known beforehand
    unshare -m sh ../full.sh sh -c 'program=$1; shift; "$program" dedup - "$@" < in.jsonl' sh "$PROGRAM" "$@" --temp-dir disk --force \
        -o out > ../out 2> ../err
    rc=$?
    refused 4 'disk: ([0-9]+ MiB are needed|cannot write a temporary file: No space left)'
    untouched
fi
(trap '' XFSZ; ulimit -f 8192; exec "$PROGRAM" dedup in.jsonl.gz "$@" --temp-dir disk --force -o out > ../out 2> ../err)
rc=$?
refused 4 'disk: cannot write a temporary file: File too large'
untouched

# removed underneath, before and after the files were made
feed() { # feed WHEN: the job reads a fifo; at WHEN documents something happens
    rm -f fifo
    mkfifo fifo
    "$PROGRAM" dedup - "$@" < fifo > ../out 2> ../err &
    job=$!
    exec 3> fifo
}
finish() { # the rest from line $1
    tail -n "+$1" in.jsonl >&3
    exec 3>&-
    wait $job
    rc=$?
}
mkdir gone
command_line='dedup -, its --temp-dir removed before it is needed'
feed "$@" --temp-dir gone --force -o out
head -n 2000 in.jsonl >&3
rmdir gone
finish 2001
refused 4 'gone.*temporary file'
untouched

# rows, ids and columns alone would go there: they stay in memory
set -- --threads 2 --memory 20M --kept no --verify none
bm dedup in.jsonl "$@" -o plain -q; exits 0
mkdir gone
command_line='dedup - --verify none, its --temp-dir removed before it is needed'
feed "$@" --temp-dir gone -o later
head -n 2000 in.jsonl >&3
rmdir gone
finish 2001
exits 0
holds later/groups.jsonl < plain/groups.jsonl
rm -rf later plain
set -- --threads 2 --memory 30M --kept no

mkdir gone
# spilled DIR BYTES: so much lies in one of its files, which have no names; the job waits for more of its input
spilled() {
    for fd in /proc/$job/fd/*; do
        case $(readlink "$fd") in
        */"$1"/*deleted*) [ "$(stat -Lc %s "$fd")" -lt "$2" ] || return 0 ;;
        esac
    done
    return 1
}
command_line='dedup -, its --temp-dir removed while files lie there'
feed "$@" --temp-dir gone --force -o later
head -n 20000 in.jsonl >&3
comes spilled gone 1
rmdir gone || fail "the files have names"
finish 20001
exits 0
holds later/groups.jsonl < before/groups.jsonl
rm -rf later

# a file of the running job is overwritten
command_line='dedup -, a temporary file overwritten'
feed "$@" --temp-dir disk --force -o out
head -n 20000 in.jsonl >&3
comes spilled disk 3000000 # behind what is overwritten
damaged=0
for fd in /proc/$job/fd/*; do
    case $(readlink "$fd") in
    *disk/*deleted*) dd if=/dev/zero of="$fd" bs=65536 seek=4 count=40 conv=notrunc 2> /dev/null && damaged=1 ;;
    esac
done
[ $damaged = 1 ] || fail "no temporary file was found"
finish 20001
refused 7 'disk: a temporary file is damaged at byte [0-9]+: '
untouched
