# SPDX-License-Identifier: Apache-2.0
# An index on a full disk: commands that only read it work, without a lock.mdb and with one that has no blocks; commands that write report
# what is wrong.
# shellcheck shell=sh disable=SC2034,SC2154
mkdir disk
cat > ../full.sh <<'END'
mount --make-rprivate / && mount -t tmpfs -o size=1m none disk || exit 99
cp -r ix disk/ix
rm disk/ix/lock.mdb
[ "$1" = absent ] || truncate -s 65536 disk/ix/lock.mdb
dd if=/dev/zero of=disk/fill bs=4k 2> /dev/null
shift
"$@"
code=$?
find disk/ix -type f | sort > ../left
exit $code
END
printf '{"id":"a","text":"one two three"}\n{"id":"b","text":"other words here"}\n' > docs.jsonl
bm index build ix docs.jsonl -q; exits 0
full() { # full absent|hollow ARGS...: with an index `disk/ix` and no room
    lock=$1
    shift
    command_line="bandmill $* (full disk, lock.mdb $lock)"
    unshare -rm sh ../full.sh "$lock" "$PROGRAM" "$@" > ../out 2> ../err
    rc=$?
}
full absent --version
[ $rc -eq 0 ] || skip "no file system can be mounted here"
for lock in absent hollow; do
    full $lock query disk/ix docs.jsonl -q; exits 0; printf 'query\ttarget\tjaccard\na\ta\t1.000000\nb\tb\t1.000000\n' | holds ../out
    [ $lock = hollow ] || printf 'disk/ix/data.mdb\ndisk/ix/last_commit\n' | holds ../left
    full $lock query disk/ix --follow -q < docs.jsonl; exits 0; printf 'a\ta\t1.000000\n\nb\tb\t1.000000\n\n' | holds ../out
    full $lock index info disk/ix; exits 0; says ../out '^  documents: 2$'
    full $lock index check disk/ix; exits 0
    full $lock inspect disk/ix; exits 0
    full $lock dedup docs.jsonl --against disk/ix -q -o clean; exits 0; [ ! -s clean/kept.jsonl ] || fail "known documents are kept"; rm -r clean
    full $lock index add disk/ix docs.jsonl -q; refused 4 'disk/ix: no room for its lock\.mdb: No space left on device$'
    full $lock index remove disk/ix a -q; refused 4 'disk/ix: no room for its lock\.mdb: No space left on device$'
    [ $lock = hollow ] || printf 'disk/ix/data.mdb\ndisk/ix/last_commit\n' | holds ../left
done
