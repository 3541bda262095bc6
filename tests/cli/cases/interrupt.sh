# Signals and readers that go away.
# shellcheck shell=sh disable=SC2034,SC2154
i=0
while [ $i -lt 4000 ]; do
    echo "{\"id\":$i,\"text\":\"the same text in every one of these documents\"}"
    i=$((i + 1))
done > same.jsonl

# 8 million pairs to a reader that takes one line: 141, and not a word
{ "$PROGRAM" pairs same.jsonl 2> ../err; echo $? > ../code; } | head -n 1 > ../out
rc=$(cat ../code)
command_line='bandmill pairs same.jsonl | head -n 1'
exits 141
silent ../err


# a job that waits for more of its input, told to stop: soon, with its exit code, and nothing left
mkfifo fifo
for pair in TERM:143 INT:130; do
    signal=${pair%%:*}
    command_line="kill -$signal bandmill sign - -o out"
    sleep 8 > fifo &
    writer=$!
    # env: a shell lets its background jobs ignore INT, --default-signal takes that back
    env --default-signal=INT "$PROGRAM" sign - -o out < fifo > ../out 2> ../err &
    job=$!
    sleep 0.5
    began=$(date +%s)
    kill "-$signal" $job
    wait $job
    rc=$?
    [ $(($(date +%s) - began)) -le 3 ] || fail "it took $(($(date +%s) - began)) s to stop"
    kill $writer 2> /dev/null
    wait $writer 2> /dev/null
    refused "${pair##*:}" '.*interrupted'
    absent out
done

# a signal that was ignored by the caller stays ignored
sleep 1 > fifo &
command_line='kill -INT, ignored'
(trap '' INT; exec "$PROGRAM" sign - -o out < fifo > ../out 2> ../err) &
job=$!
sleep 0.4
kill -INT $job
wait $job
rc=$?
exits 0
