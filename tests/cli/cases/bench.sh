# SPDX-License-Identifier: Apache-2.0
# bench: the conclusion follows from the measured rates. With -v each row names its cores, and each device is compared with the limit for
# the same number of cores.
# shellcheck shell=sh disable=SC2034,SC2154
quick='--repeats 2 --min-seconds 0.001 --long-doc 100 --seconds 600'
export TMPDIR="$top/tmp"
mkdir "$TMPDIR"
# rows DEVICE WHAT: CORES of that row; WHAT is padded to its column.
cores() { awk -v device="$1" -v what="$2" 'BEGIN { what = what " " } $1 == device && substr($0, 14, length(what)) == what { print substr($0, 45, 9) + 0 }' ../out; }

# The search for kernel parameters is another program, which the message names.
bm bench --tune
refused 2 '--tune is a program of its own: bench/kernel_tune'
bm sign in.jsonl --tune -o s
refused 2 '.*--tune'

i=0
while [ $i -lt 500 ]; do
    echo "{\"text\":\"document $i of five hundred, \\\"quoted\\\" and of some more words than one shingle has, number $i\"}"
    i=$((i + 1))
done > in.jsonl
all='1 2'
[ "${BANDMILL_TEST_SIZE:-normal}" != small ] || all=2
for threads in $all; do
    # shellcheck disable=SC2086 # words
    bm bench in.jsonl -v --device cpu --threads $threads $quick; exits 0
    says ../out '^cpu +sign +[0-9.]+ GB/s  #+$'
    says ../out '^DEVICE +WHAT +CORES +MEDIAN +UNIT +MIN +MAX +RATIO$'
    for what in 'arithmetic limit' 'resident hashes' 'text word:5' 'text byte:8' 'text stopword:4' 'text word:5, bag' 'documents of 100, oph'; do
        checks=$((checks + 1))
        [ "$(cores cpu "$what")" = $threads ] || fail "$what has $(cores cpu "$what") cores, expected $threads"
    done
    says ../out '^cpu +resident hashes .* of arithmetic limit$'
done


# Without -v: a paragraph and bars, of the documents given; money and power where they are asked for.
bm bench in.jsonl --device cpu --threads 1 --price 2 --watts 300 --repeats 1 --min-seconds 0.001; exits 0
tr '\n' ' ' < ../out > words
says words '^500 documents of 10[0-9] bytes, from the input, as JSON Lines: on 1 CPU cores \(.*\) sign .* GB/s, bound by the (arithmetic|host|disk); dedup .*\. A billion of them take sign on cpu .* hours, a cost of .*, .* kWh; dedup on cpu .* kWh\.  cpu '
! grep -q '^DEVICE' ../out || fail "rows without -v"
bm bench in.jsonl --device cpu --price 0
refused 2 '.*--price'
bm bench none.jsonl --device cpu
refused 4 'none.jsonl'
checks=$((checks + 1))
[ -z "$(ls -A "$TMPDIR")" ] || fail "left over: $(ls -A "$TMPDIR")"
# What is not in time is left out and counted.
bm bench in.jsonl --device cpu -v --seconds 0.000001 --repeats 1; exits 0
says ../err '^bandmill: 15 rows are left out: 1e-06 seconds are over$'

[ "${BANDMILL_TEST_SIZE:-normal}" != small ] || return 0 # what follows are kernels, and JSON of the same rows
command -v "$PYTHON" > /dev/null || skip "no python3"
device=$("$PROGRAM" devices | sed -n 's/^\(opencl:[0-9.]*\) .*(Portable Computing Language).*/\1/p' | head -n 1)
[ -n "$device" ] || [ -z "${BANDMILL_REQUIRE_OPENCL:-}" ] || fail "no PoCL device"
if [ -n "$device" ]; then
    bm bench in.jsonl --device "cpu,$device" --seconds 0.000001 --repeats 1; exits 0
    says ../err '^bandmill: no jobs on 1 of 2 devices: 1e-06 seconds are over$'
    ! grep -q '^opencl' ../out || fail "a device without jobs has bars"
fi
# shellcheck disable=SC2086
bm bench --json --device "cpu${device:+,$device}" --threads 1 --price 2 --watts 300 $quick; exits 0
checks=$((checks + 1))
"$PYTHON" - ../out "$device" << 'END' || fail "the rows in JSON"
import json, sys
with open(sys.argv[1], encoding="utf-8") as file:
    report = json.load(file)
units = {device["device"]: device["compute_units"] for device in report["devices"]}
devices = ["cpu"] + [sys.argv[2]] * bool(sys.argv[2])
for device in devices:
    rows = {row["what"]: row for row in report["rows"] if row["device"] == device}
    limit = rows["arithmetic limit"]
    assert "ratio" not in limit and limit["compute_units"] == 0, limit
    # one thread was asked for; a device made of processors uses all of its own, and so does its limit
    assert limit["threads"] == (1 if device == "cpu" else units[device]), (limit, units)
    for what, row in rows.items():
        if what == "resident hashes" or what.startswith("text "):
            assert row["ratio_to"] == "arithmetic limit" and row["ratio"] > 0, row
        if row["unit"] == "Mshingles/s" and row.get("ratio_to") == "arithmetic limit":
            assert abs(row["ratio"] - row["median"] / limit["median"]) < 1e-3 * row["ratio"], (row, limit)
        expected = 0 if device == "cpu" or what in ("upload", "read-back", "arithmetic limit") else units[device]
        assert row["compute_units"] == expected, row
        assert row["threads"] + row["compute_units"] > 0, row

# The answer, once more, from what was measured.
def near(a, b):
    return abs(a - b) <= 1e-9 * max(abs(a), abs(b), 1e-9)

facts = {device["device"]: device for device in report["devices"]}
jobs = {(job["device"], job["job"]): job for job in report["answer"]}
assert list(jobs) == [(device, job) for device in devices for job in ("sign", "dedup")], list(jobs)
for (device, name), job in jobs.items():
    rates = facts[device]
    resident = [row["median"] for row in report["rows"] if (row["device"], row["what"]) == (device, "resident hashes")]
    assert resident == [rates["mshingles_s"]]
    arithmetic = job["signed_shingles"] / rates["mshingles_s"] / 1e6
    parts = {"arithmetic": arithmetic,
             "link": max([job[way + "_bytes"] / rates[way + "_mb_s"] / 1e6 for way in ("up", "down") if rates[way + "_mb_s"]], default=0),
             "host": max(job["cpu_seconds"] - arithmetic * rates["host_cores"], 0),  # on one thread
             "disk": sum(job[amount] / rates[rate] / 1e6 for amount, rate in (("bytes", "disk_read_mb_s"), ("written_bytes", "disk_write_mb_s")) if rates[rate])}
    assert all(near(job["part_seconds"][part], seconds) for part, seconds in parts.items()), (job, parts)
    assert parts[job["binds"]] == max(parts.values()), (job, parts)
    seconds = max(job["seconds"], parts["disk"])
    assert near(job["gb_s"], job["bytes"] / seconds / 1e9) and near(job["documents_s"], job["documents"] / seconds), job
    hours = seconds * 1e9 / job["documents"] / 3600
    assert near(job["billion_hours"], hours) and near(job["billion_cost"], 2 * hours) and near(job["billion_kwh"], .3 * hours), job
    native = jobs["cpu", name]
    assert near(job["replaces_cores"], 0 if device == "cpu" else (native["cpu_seconds"] - job["cpu_seconds"]) / seconds), job
    # every shingle with 128 words of 4 bytes a document; `dedup`: 13 bands of 7 rows, keys of 8 bytes
    assert job["down_bytes"] == job["documents"] * (512 if name == "sign" else 13 * 8), job
    assert near(job["signed_shingles"], job["shingles"] * (1 if name == "sign" else 91 / 128)), job
    assert job["up_bytes"] == 4 * job["shingles"], job
END

# On a terminal: rates of both commands, and a sentence on what binds them; nowhere else.
! grep -q SIGNATURES ../out || fail "rates without a terminal"
command_line='bandmill bench on a terminal'
"$PYTHON" -c 'import os, pty, sys
sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))' "$PROGRAM" bench in.jsonl --device cpu --threads 1 --repeats 1 --min-seconds 0.001 \
    < /dev/null 2> ../err | tr -d '\r' > ../out
rate='[0-9.e+]+[kMG]?'
says ../out '^DEVICE +COMMAND +DOCUMENTS/S +BYTES/S +SIGNATURES/S \(1\)$'
for command in sign dedup; do says ../out "^cpu +$command +$rate +$rate +$rate\$"; done
tail -n 1 ../out > ../sentence
says ../sentence '^What takes longest is (signing itself|reading, cutting and hashing text on the CPU|the disk) for .*(sign|dedup) on cpu.* would help\.$'
