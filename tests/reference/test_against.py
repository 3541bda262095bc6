# SPDX-License-Identifier: Apache-2.0
"""`dedup --against` against exact truth: the even rows of scancode_rules are known, the odd ones are new.

The truth file has every pair of the corpus at or above .8, computed elsewhere, exactly. With 40 bands of 3 rows a pair at .8 is missed with a
probability below 1e-12, so that all is determined:

  components  the groups are the connected components of new and known documents, where known ones are not joined to each other; one
              that holds a known document keeps none of the new ones, and lists its known ones in their order. A document with a
              known partner names the best of them, with the similarity of the truth; of the others the similarity is below .8, or it is
              one that the truth does not hold.
  star        a document is known exactly if it has a known partner, and the best is kept; no other that is removed has one.
  the rest    documents whose group holds no known one are grouped, removed and kept as a dedup of them alone does.
  bytes       1, 2 and 8 threads, batches of 100 documents, little --memory (which moves the sets of all documents, --size full, to a
              file), and an index that was built in three parts: the same files.
  exact       against a directory that `sign` wrote of the known documents, in two files, between which lie files of others that
              nothing looks like: as the truth, and the bytes that an index of the same files gives, for any threads, batches and
              memory, and for new documents that were signed too. The files of others are not opened: their place is
              taken by what no reader takes.
  signatures  against such a directory, `--verify signature`: the rows that `pairs` of both directories together gives.
  report      how many documents were known, of how many."""
import collections
import json
import os

import harness

TEXT = ["--words", "space", "--normalize", "none", "--shingle", "word:5"]
PLAN = ["--bands", "40", "--rows", "3", "--threshold", "0.8"]
REMOVED_HEADER = ["id", "kept", "jaccard", "reason", "file", "line", "lost"]
FILES = ("removed.tsv", "groups.jsonl", "sources.tsv", "kept.jsonl")


def write(path, lines):
    with open(path, "wb") as file:
        file.writelines(line + b"\n" for line in lines)
    return path


class World:
    """New and known documents, and the pairs at the threshold."""

    def __init__(self, folder, most):
        docs, truth = (harness.corpus_file("scancode_rules", name) for name in ("docs.jsonl.zst", "truth_whitespace_word5_j0.80.tsv.zst"))
        if not docs or not truth:
            harness.skip("no scancode_rules", "BANDMILL_REQUIRE_CORPORA")
        lines = harness.unzstd(docs).split(b"\n")[:-1][:most]
        ids = [json.loads(line)["id"] for line in lines]
        self.known, self.new = ids[::2], ids[1::2]
        self.known_path, self.new_path = write(os.path.join(folder, "known.jsonl"), lines[::2]), write(os.path.join(folder, "new.jsonl"), lines[1::2])
        self.number = {name: i for i, name in enumerate(self.known)}
        self.lines = dict(zip(ids, lines))
        new = set(self.new)
        self.partners, self.near = collections.defaultdict(list), collections.defaultdict(set)
        for a, b, jaccard in harness.read_rows(harness.unzstd(truth)):
            if not jaccard[0].isdigit() or float(jaccard) < 0.8:
                continue
            for x, y in ((a, b), (b, a)):
                if x in new and y in self.number:
                    self.partners[x].append((jaccard, y))
                if x in new and y in new:
                    self.near[x].add(y)

    def components(self):
        """[(new documents in input order, known ones in theirs)], by the first new document."""
        back, seen, out = collections.defaultdict(list), set(), []
        for x, found in self.partners.items():
            for _, known in found:
                back[known].append(x)
        for first in self.new:
            if first in seen:
                continue
            stack, part, known = [first], {first}, set()
            while stack:
                x = stack.pop()
                for _, k in self.partners.get(x, ()):
                    if k not in known:
                        known.add(k)
                        stack += [y for y in back[k] if y not in part]
                        part.update(back[k])
                fresh = self.near.get(x, set()) - part
                part |= fresh
                stack += fresh
            seen |= part
            if len(part) + len(known) > 1:
                out.append((part, sorted(known, key=self.number.get)))
        return out


def read_result(folder):
    rows = harness.read_rows(harness.read_file(folder, "removed.tsv"), REMOVED_HEADER)
    groups = [json.loads(line) for line in harness.read_file(folder, "groups.jsonl").splitlines()]
    report = json.loads(harness.read_file(folder, "report.json"))
    return {row[0]: row for row in rows}, groups, report


def check_known_row(world, row):
    """What is wrong with the row of a document that has a known partner."""
    best = max(jaccard for jaccard, _ in world.partners[row[0]])
    if row[3] != "known" or row[2] != best or (best, row[1]) not in world.partners[row[0]]:
        return f"{row}, expected one of {sorted(world.partners[row[0]])[-3:]}"
    return ""


def check_components(world, folder, n_others=0):
    removed, groups, report = read_result(folder)
    wanted, n_known = world.components(), 0
    if len(groups) != len(wanted):
        return f"{len(groups)} groups, expected {len(wanted)}"
    for group, (part, known) in zip(groups, wanted):
        if set(group["members"]) != part or group.get("known", []) != known or (known and group["kept"] != known[0]):
            return f"group {group['group']} is {group}, expected {part} and {known}"
        for name in part if known else ():
            row = removed.get(name)
            if row is None:
                return f"{name} is kept, and its group holds {known[:2]}"
            if name in world.partners:
                n_known += 1
                wrong = check_known_row(world, row)
                if wrong:
                    return wrong
            elif row[3] != "chained" or row[1] != known[0] or float(row[2]) >= 0.8:
                return f"{row}, expected it to be chained to {known[0]}"
        if not known and len(part - removed.keys()) != 1:
            return f"group {group['group']} keeps {part - removed.keys()}"
    counts = report["counts"]
    if (counts["known"], report["against"]["documents"]) != (n_known, len(world.known) + n_others) or not n_known:
        return f"the report says {counts} and {report['against']}, expected {n_known} of {len(world.known)}"
    kept = b"".join(world.lines[name] + b"\n" for name in world.new if name not in removed)
    return "" if harness.read_file(folder, "kept.jsonl") == kept else "kept.jsonl has not what was not removed"


def check_star(world, folder):
    removed, _, _ = read_result(folder)
    if {name for name, row in removed.items() if row[3] == "known"} != world.partners.keys():
        return "others than those with a known partner are known"
    for name, row in removed.items():
        wrong = check_known_row(world, row) if name in world.partners else ""
        if wrong:
            return wrong
        if name not in world.partners and row[1] in world.partners:
            return f"{row} names a document that is known"
    return ""


def check_rest(bandmill, world, folder, against, cluster):
    """Documents that no known one touches, deduplicated alone."""
    removed, groups, _ = read_result(against)
    known = {name for group in groups if "known" in group for name in group["members"]}
    alone = os.path.join(folder, "alone." + cluster)
    bandmill.run("dedup", *TEXT, *PLAN, "--cluster", cluster, "-o", alone,
                 write(os.path.join(folder, "rest.jsonl"), [world.lines[name] for name in world.new if name not in known]))
    rest, rest_groups, _ = read_result(alone)
    if {name: row[:4] for name, row in removed.items() if name not in known} != {name: row[:4] for name, row in rest.items()}:
        return "rows of removed.tsv differ"
    if [group["members"] for group in groups if "known" not in group] != [group["members"] for group in rest_groups]:
        return "groups differ"
    return "" if harness.read_file(against, "kept.jsonl") == harness.read_file(alone, "kept.jsonl") else "kept.jsonl differs"


def check_same(bandmill, world, folder, against, index):
    lines = [world.lines[name] for name in world.known]
    parts = os.path.join(folder, "parts")
    bandmill.run("index", "build", parts, *TEXT, *PLAN, "--device", "cpu", write(os.path.join(folder, "a.jsonl"), lines[:len(lines) // 3]))
    bandmill.run("index", "add", parts, "--device", "cpu", write(os.path.join(folder, "b.jsonl"), lines[len(lines) // 3:len(lines) // 2]))
    bandmill.run("index", "add", parts, "--device", "cpu", write(os.path.join(folder, "c.jsonl"), lines[len(lines) // 2:]))
    for name, more in {"threads": ["--threads", "1"], "many threads": ["--threads", "8"], "batches": ["--batch-docs", "100"],
                       "memory": ["--memory", "24M", "--threads", "2"], "parts": []}.items():
        out = os.path.join(folder, "same " + name)
        bandmill.run("dedup", "--against", parts if name == "parts" else index, *more, "-o", out, world.new_path)
        for file in FILES:
            if harness.read_file(out, file) != harness.read_file(against, file):
                return f"{name}: {file} differs"
    return ""


OTHERS = 50  # documents of a file that nothing looks like


def sign_known(bandmill, world, folder):
    """The known documents signed and as an index, with files of others between them, which are spoilt then."""
    lines = [world.lines[name] for name in world.known]
    half = len(lines) // 2
    others = [[b'{"id":"%d %d","text":"%s"}' % (file, i, b" ".join(b"o%d-%d-%d" % (file, i, word) for word in range(30))) for i in range(OTHERS)]
              for file in (0, 1)]
    places = [write(os.path.join(folder, f"part {i}.jsonl"), part) for i, part in enumerate((others[0], lines[:half], others[1], lines[half:]))]
    index, signed = os.path.join(folder, "index of parts"), os.path.join(folder, "parts.signed")
    bandmill.run("index", "build", index, *TEXT, *PLAN, "--device", "cpu", *places)
    bandmill.run("sign", *TEXT, "--perms", "120", "-o", signed, *places)
    for place in places[::2]:
        write(place, [b"{" * (os.path.getsize(place) - 1)])
    return signed, index


def check_exact(bandmill, world, folder):
    signed, index = sign_known(bandmill, world, folder)
    new_signed = os.path.join(folder, "new for exact.signed")
    bandmill.run("sign", *TEXT, "--perms", "120", "-o", new_signed, world.new_path)
    for cluster, check in (("components", check_components), ("star", check_star)):
        by_index = os.path.join(folder, "by index of parts, " + cluster)
        bandmill.run("dedup", "--against", index, "--cluster", cluster, "-o", by_index, world.new_path)
        for name, inputs, more in (("default", world.new_path, []), ("one thread", world.new_path, ["--threads", "1", "--batch-docs", "100"]),
                                   ("memory", world.new_path, ["--threads", "2", "--memory", "24M"]),
                                   ("signed", new_signed, ["--verify", "exact"])):
            out = os.path.join(folder, f"exact, {cluster}, {name}")
            done = bandmill.run("dedup", "--against", signed, *PLAN, "--cluster", cluster, *more, "-v", "-o", out, inputs)
            if b" 2 of 4 inputs " not in done.stderr or b"warning" in done.stderr:
                return f"{out}: {done.stderr}"
            wrong = check(world, out, 2 * OTHERS) if cluster == "components" else check(world, out)
            for file in FILES:
                if not wrong and harness.read_file(out, file) != harness.read_file(by_index, file):
                    wrong = f"{file} is not that of the index"
            counts = [json.loads(harness.read_file(place, "report.json"))["against"] for place in (out, by_index)]
            if wrong or counts[0] != counts[1]:
                return f"{out}: {wrong or counts}"
    return ""


def check_signatures(bandmill, world, folder):
    signed = [os.path.join(folder, name + ".signed") for name in ("known", "new")]
    for out, path in zip(signed, (world.known_path, world.new_path)):
        bandmill.run("sign", *TEXT, "-o", out, path)
    rows = bandmill.run("pairs", *PLAN, "--verify", "signature", *signed).stdout
    best = {}
    for a, b, similarity in harness.read_rows(rows, ["id_a", "id_b", "jaccard"]):
        if (a in world.number) != (b in world.number):
            new, known = (b, a) if a in world.number else (a, b)
            best[new] = max(best.get(new, ("0", 0, "")), (similarity, -world.number[known], known))
    for name, inputs in (("documents", world.new_path), ("both", signed[1])):
        out = os.path.join(folder, "by signature of " + name)
        more = ["--verify", "signature", *([] if name == "both" else TEXT)]
        bandmill.run("dedup", *PLAN, *more, "--against", signed[0], "--cluster", "star", "--kept", "no", "-o", out, inputs)
        removed, _, _ = read_result(out)
        found = {row[0]: (row[2], row[1]) for row in removed.values() if row[3] == "known"}
        wanted = {new: (similarity, known) for new, (similarity, _, known) in best.items()}
        if found != wanted:
            some = [(new, found.get(new), wanted.get(new)) for new in found.keys() | wanted.keys() if found.get(new) != wanted.get(new)]
            return f"{name}: {len(some)} of {len(wanted)} differ: {some[:3]}"
    return ""


def check_documents(bandmill, world, folder, results):
    """Documents themselves, in two files: what an index of them gives, which is compared with the truth, and `known` by its own ids."""
    lines = [world.lines[name] for name in world.known]
    half = len(lines) // 2
    places = [write(os.path.join(folder, f"known {i}.jsonl"), part) for i, part in enumerate((lines[:half], lines[half:]))]
    known = [word for place in places for word in ("--against", place)]
    for cluster, by_index in results.items():
        for name, more in {"threads": ["--threads", "1"], "many threads": ["--threads", "8"], "batches": ["--batch-docs", "100"],
                           "memory": ["--memory", "24M", "--threads", "2"]}.items():
            out = os.path.join(folder, f"documents, {cluster}, {name}")
            bandmill.run("dedup", *TEXT, *PLAN, "--cluster", cluster, *known, *more, "-o", out, world.new_path)
            for file in FILES:
                if harness.read_file(out, file) != harness.read_file(by_index, file):
                    return f"{cluster}, {name}: {file} is not that of the index"
    return ""


def main():
    args = harness.arguments("dedup --against exact truth")
    harness.need_corpora()
    claims, bandmill = harness.Claims(), harness.Program(args.program, args.server)
    with harness.scratch() as folder:
        world = World(folder, {"small": 3000, "normal": 5000, "full": 40000}[args.size])
        index = os.path.join(folder, "index")
        bandmill.run("index", "build", index, *TEXT, *PLAN, "--device", "cpu", world.known_path)
        results = {}
        for cluster, check in (("components", check_components), ("star", check_star)):
            results[cluster] = os.path.join(folder, cluster)
            bandmill.run("dedup", "--against", index, "--cluster", cluster, "-o", results[cluster], world.new_path)
            claims.attempt(f"{cluster}: as the truth, {len(world.partners)} of {len(world.new)} documents have a known partner",
                           lambda check=check, out=results[cluster]: check(world, out))
            claims.attempt(f"{cluster}: what is not known is as alone",
                           lambda out=results[cluster], cluster=cluster: check_rest(bandmill, world, folder, out, cluster))
        claims.attempt("the same bytes for any threads, batch, memory and way to build",
                       lambda: check_same(bandmill, world, folder, results["components"], index))
        claims.attempt("exact, from signatures: as the truth and an index, and only the inputs of candidates are read",
                       lambda: check_exact(bandmill, world, folder))
        claims.attempt("documents: as an index of them", lambda: check_documents(bandmill, world, folder, results))
        claims.attempt("signatures: as `pairs` of both directories", lambda: check_signatures(bandmill, world, folder))
    claims.end()


if __name__ == "__main__":
    main()
