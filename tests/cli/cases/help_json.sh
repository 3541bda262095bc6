# SPDX-License-Identifier: Apache-2.0
# help --json: the rows of commands and options, whole, and those of one command alone.
# shellcheck shell=sh disable=SC2034,SC2154
command -v "$PYTHON" > /dev/null || skip "no python3"

bm help; cp ../out ../list
bm help dedup; cp ../out ../text
bm help --json; exits 0; silent ../err; cp ../out ../all
bm --help --json; exits 0; cp ../out ../all.again
bm help dedup --json; exits 0; cp ../out ../dedup
bm dedup --help --json; exits 0; cp ../out ../dedup.again
bm help index --json; exits 0; cp ../out ../index
bm index --help --json; exits 0; cp ../out ../index.again
bm help index add --json; exits 0; cp ../out ../add
for file in all dedup index; do
    cmp "../$file" "../$file.again" || fail "two ways to ask for $file answer different things"
    checks=$((checks + 1))
done
bm help nothing --json; exits 2; silent ../out

checks=$((checks + 1))
"$PYTHON" -IS - .. << 'END' || fail "help --json says something else than help"
import json, re, sys

def load(name):
    with open(f"{sys.argv[1]}/{name}", encoding="utf-8") as file:
        return json.load(file)

def text(name):
    with open(f"{sys.argv[1]}/{name}", encoding="utf-8") as file:
        return file.read()

every, dedup = load("all"), load("dedup")
assert every["schema"] == 1
names = [command["name"] for command in every["commands"]]
listed = [line[2:15].strip() for line in text("list").splitlines() if re.match(r"  [a-z]", line)]
assert names == [name for name in listed if not name.startswith("bandmill")], names
assert [c["name"] for c in load("index")["commands"]] == [name for name in names if name.startswith("index ")]
assert [c["name"] for c in load("add")["commands"]] == ["index add"]
assert [c["name"] for c in dedup["commands"]] == ["dedup"]
for command in every["commands"]:
    assert command["summary"] and command["text"] and len(command["examples"]) == 3, command
    assert all(example["line"] and example["does"] for example in command["examples"])

# The options of dedup are the ones in its help, below the same headings, with the same heads and words.
heads = {}
for line in text("text").partition("\nPresets:")[0].splitlines():
    if re.match(r"[A-Z].*:$", line):
        group = line[:-1]
    elif re.match(r"  (-.,|   ) --", line):
        head = re.match(r"  (?:-(.),|   ) --(\S+)(?: (\S+( [^ ]+)*))?", line)
        heads[head.group(2)] = (group, head.group(1), (head.group(3) or "").split("  ")[0])
assert [o["name"] for o in dedup["options"]] and {o["name"] for o in dedup["options"]} == set(heads)
for option in dedup["options"]:
    group, letter, value = heads[option["name"]]
    assert (option["group"], option["letter"]) == (group, letter), option
    assert "dedup" in option["commands"] and set(option["commands"]) <= set(names)
    if option["type"] == "choice":
        assert value == "|".join(option["words"]) and option["value"] is None, option
    elif option["type"] in ("flag", "count"):
        assert option["value"] is None and "words" not in option, option
    else:
        assert value == option["value"], option
assert set(every["groups"]) == {option["group"] for option in every["options"]}
assert [o for o in every["options"] if "dedup" in o["commands"]] == dedup["options"]

# What a shell may offer.
rows = {(command, option["name"]): option for option in every["options"] for command in option["commands"]}
assert rows["sign", "shingle"]["words"] == ["word:", "char:", "byte:", "stopword:"]
assert rows["sign", "normalize"]["words"][0] == "none" and rows["sign", "normalize"]["list"]
assert rows["sign", "device"]["devices"] and rows["sign", "device"]["list"]
assert rows["pairs", "histogram-svg"]["endings"] == [".svg"] and not rows["pairs", "histogram-svg"]["words"]
assert rows["pairs", "output"]["value"] == "FILE" and rows["dedup", "output"]["value"] == "DIR"
assert "dry-run" not in {option["name"] for option in every["options"]}
assert {"slimpajama", "SEDD"} <= {preset["name"] for preset in every["presets"]}
END
