# SPDX-License-Identifier: Apache-2.0
# An index whose files are links, have a second name elsewhere, or may not be written: no other file is changed, and none is made.
# shellcheck shell=sh disable=SC2034,SC2154
documents() { # documents PREFIX N
    i=0
    while [ $i -lt "$2" ]; do echo "{\"id\":\"$1$i\",\"text\":\"$1$i a b c d $i e f g h $i i j k l m $i\"}"; i=$((i + 1)); done
}
documents a 60 > in.jsonl
documents b 60 > more.jsonl
documents c 60 > most.jsonl
bm index build idx in.jsonl -q; exits 0

read_all() { # read_all COMMAND…: each command that only reads
    bm query idx in.jsonl -q; "$@"
    bm index info idx -q; "$@"
    bm index check idx -q; "$@"
    bm inspect idx; "$@"
    bm dedup more.jsonl --against idx -o out -q; "$@"
    rm -rf out
}
write_all() {
    bm index add idx more.jsonl -q; "$@"
    bm index remove idx a1 -q; "$@"
    bm index compact idx -q; "$@"
}
no_lock() { # `check` says what is wrong on stdout
    exits 7
    cat ../out ../err > ../said
    says ../said 'its lock\.mdb is a link or no file'
}

# lock.mdb leads elsewhere, or is no file: it is not opened, and what it leads to stays as it is
rm idx/lock.mdb
head -c 100000 /dev/zero | tr '\0' v > victim
cksum victim > ../before
for kind in "ln -s ../victim" "ln victim" mkfifo mkdir "ln -s ../nowhere" "ln -s ../in.jsonl"; do
    $kind idx/lock.mdb
    read_all no_lock
    write_all no_lock
    cksum victim | cmp -s ../before - || fail "$kind: the file was written to"
    absent nowhere
    rm -rf idx/lock.mdb
done
ln -s ../victim idx/lock.mdb
bm index build idx in.jsonl --force -q; refused 2 'idx: holds lock\.mdb'
rm idx/lock.mdb
mv idx/data.mdb whole
ln -s ../whole idx/data.mdb
bm index info idx; refused 7 'idx: is not an index'
bm index add idx more.jsonl; exits 7
rm idx/data.mdb; mkfifo idx/data.mdb
bm index info idx; refused 7 'idx: is not an index'
rm idx/data.mdb; mv whole idx/data.mdb

# who reads makes nothing, and takes no place in a lock.mdb that would have to grow
seen() { find idx -printf '%p %i %s %T@ %m\n' | LC_ALL=C sort; }
seen > ../before
read_all exits 0
seen | cmp -s ../before - || fail "reading changed the directory: $(seen)"
: > idx/lock.mdb
seen > ../before
read_all exits 0
seen | cmp -s ../before - || fail "reading changed the directory: $(seen)"

# one data file in two directories, as snapshots of hard links have it: nobody writes to it, everybody reads it
bm index remove idx nobody -q # makes a lock.mdb
bm index check idx -q; exits 0
for locks in one two; do # the lock file is linked too; each directory has one of its own
    cp -al idx twin
    [ $locks = one ] || { rm twin/lock.mdb; cp idx/lock.mdb twin; mv idx/lock.mdb lock; cp lock idx/lock.mdb; }
    cksum idx/data.mdb > ../before
    for place in idx twin; do
        bm index add $place more.jsonl -q; refused 7 "$place: its data\.mdb has another name too \(a hard link\)"
        bm index remove $place a1 -q; refused 7 "$place: its data\.mdb has another name too"
        bm index compact $place -q; refused 7 "$place: its data\.mdb has another name too"
    done
    cksum idx/data.mdb | cmp -s ../before - || fail "the data file was written to"
    if [ $locks = two ]; then
        bm index check idx -q; exits 0
        bm query twin in.jsonl -q; exits 0
    fi
    # two writers at once: none of them loses a document that it said was added, and neither damages it
    for _ in 1 2 3 4 5; do
        "$PROGRAM" index add idx more.jsonl -q 2> ../err &
        first=$!
        "$PROGRAM" index add twin most.jsonl -q 2> ../err
        second=$?
        wait $first
        rc=$?
        command_line='two writers of one data file'
        exits 7
        rc=$second; exits 7
    done
    # another index in the place of one of the two does not touch the other
    bm index build twin most.jsonl --force -q; exits 0
    cksum idx/data.mdb | cmp -s ../before - || fail "what was replaced was written to"
    rm -rf twin
done
bm index add idx more.jsonl -q; exits 0
bm index check idx -q; exits 0

# a data file that was moved away from under its writer is held by it still
mkfifo fifo
"$PROGRAM" index add idx --unique --follow -q < fifo > ../follow.out 2> ../follow.err &
writer=$!
exec 3> fifo
documents d 1 >&3
comes test -s ../follow.out
mkdir moved; mv idx/data.mdb moved
bm index add moved most.jsonl -q; refused 9 'moved: the index is in use'
bm query moved most.jsonl -q; refused 9 'moved: the index is being written to'
mv moved/data.mdb idx
exec 3>&-
wait $writer; rc=$?; exits 0
bm index check idx -q; exits 0
