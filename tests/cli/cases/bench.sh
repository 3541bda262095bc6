# bench: each row says its cores, and each device is held against its own limit on as many of them.
# shellcheck shell=sh disable=SC2034,SC2154
quick='--repeats 2 --min-seconds 0.001 --long-doc 100'
# rows DEVICE WHAT: CORES of that row; WHAT is padded to its column.
cores() { awk -v device="$1" -v what="$2" 'BEGIN { what = what " " } $1 == device && substr($0, 14, length(what)) == what { print substr($0, 45, 9) + 0 }' ../out; }

all='1 2'
[ "${BANDMILL_TEST_SIZE:-normal}" != small ] || all=2
for threads in $all; do
    # shellcheck disable=SC2086 # words
    bm bench --device cpu --threads $threads $quick; exits 0
    says ../out '^DEVICE +WHAT +CORES +MEDIAN +UNIT +MIN +MAX +RATIO$'
    for what in 'arithmetic limit' 'resident hashes' 'text word:5' 'text byte:8' 'text stopword:4' 'text word:5, bag' 'documents of 100, oph'; do
        checks=$((checks + 1))
        [ "$(cores cpu "$what")" = $threads ] || fail "$what has $(cores cpu "$what") cores, expected $threads"
    done
    says ../out '^cpu +resident hashes .* of arithmetic limit$'
done

[ "${BANDMILL_TEST_SIZE:-normal}" != small ] || return 0 # what follows are kernels, and JSON of the same rows
command -v "$PYTHON" > /dev/null || skip "no python3"
device=$("$PROGRAM" devices | sed -n 's/^\(opencl:[0-9.]*\) .*(Portable Computing Language).*/\1/p' | head -n 1)
[ -n "$device" ] || [ -z "${BANDMILL_REQUIRE_OPENCL:-}" ] || fail "no PoCL device"
# shellcheck disable=SC2086
bm bench --json --device "cpu${device:+,$device}" --threads 1 $quick; exits 0
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
END
