# SPDX-License-Identifier: Apache-2.0
# A disk without space for an output, and a read-only one, are reported before anything is read: the inputs here are broken, which would
# give exit code 3.
# shellcheck shell=sh disable=SC2034,SC2154
printf '{"id":"a","text":"one two three"}\n{"id":"b","text":"other words here"}\n' > docs.jsonl
echo broken > broken.jsonl
bm sign docs.jsonl -o signed -q; exits 0
bm dedup docs.jsonl -o found -q; exits 0
bm index build ix docs.jsonl -q; exits 0
mkdir disk
cat > ../disk.sh <<'END'
mount --make-rprivate / && mount -t tmpfs -o size=$2 none disk && cp -r ix disk/ix || exit 99
dd if=/dev/zero of=disk/fill bs=4k 2> /dev/null
case $1 in read-only) mount -o remount,ro disk || exit 99 ;; one-block) truncate -s -4096 disk/fill ;; no-inodes)
    rm disk/fill
    n=0
    while touch disk/f$n 2> /dev/null; do n=$((n + 1)); done ;;
esac
shift 2
"$@"
code=$?
[ -z "$(find disk ! -path disk ! -path 'disk/ix*' ! -path 'disk/f*')" ] || exit 98 # nothing is left
exit $code
END
on() { # on STATE ARGS...
    state=$1
    shift
    size=1m
    [ "$state" != no-inodes ] || size=1m,nr_inodes=40
    command_line="bandmill $* ($state)"
    unshare -rm sh ../disk.sh "$state" "$size" "$PROGRAM" "$@" -q > ../out 2> ../err
    rc=$?
}
on full --version
[ $rc -eq 0 ] || skip "no file system can be mounted here"
here=$(pwd -P)
for state in full one-block no-inodes read-only; do
    case $state in
    full) why="no space: 0 bytes are free in the file system of $here/disk \\([0-9]+ are needed" ;;
    one-block) why="no space: 4096 bytes are free in the file system of $here/disk \\([0-9]+ are needed" ;;
    no-inodes) why="no space: the file system of $here/disk can hold no more files" ;;
    read-only) why="cannot be written: the file system of $here/disk is read-only" ;;
    esac
    on $state sign broken.jsonl -o disk/out; refused 4 "disk/out: $why"
    on $state dedup broken.jsonl -o disk/out; refused 4 "disk/out: $why"
    [ $state = read-only ] || { on $state dedup broken.jsonl -o disk/new/deep/out; refused 4 "disk/new/deep/out: $why"; }
    on $state index build disk/new broken.jsonl; refused 4 "disk/new: $why"
    on $state filter found broken.jsonl -o disk/out; refused 4 "disk/out: $why"
    on $state import --from npy --scheme affine32 --seed 1 --hash xxh3 missing.npy -o disk/out; refused 4 "disk/out: $why"
    on $state export signed --to npy -o disk/out; refused 4 "disk/out: $why"
    [ $state != one-block ] || continue # which is enough for the beginning of a file
    on $state sign broken.jsonl -o out --report disk/report.json; refused 4 "disk/report\\.json: $why"; absent out
    on $state pairs broken.jsonl -o disk/pairs.tsv; refused 4 "disk/pairs\\.tsv: $why"
    on $state report found -o disk/page.html; refused 4 "disk/page\\.html: $why"
done
on read-only index add disk/ix broken.jsonl; refused 4 'disk/ix: cannot open the index: Read-only file system'
on one-block pairs docs.jsonl -o disk/fits; exits 0
# an input on such a disk, and an output elsewhere
on read-only query disk/ix docs.jsonl; exits 0
