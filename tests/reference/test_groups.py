# SPDX-License-Identifier: Apache-2.0
"""Groups against SciPy and against exact truth; what `explain` says of them against SciPy's graph algorithms.

  components  `dedup` has the connected components of the edges that `pairs` wrote with the same options; `cluster` has those of
              any list of pairs, at every threshold of a table; over the edges of `--candidates all` they are those of the truth.
  all         `dedup --candidates all` has the components of the edges of `pairs --candidates all`: for any number of threads, with
              little memory, from signatures, and with --pairs, where it writes these edges; bands find fewer of them.
  star        at 0.7 each removed document is itself at the threshold to the one kept: its similarity is computed here, from the
              words. Kept documents are removed by nobody, and no edge joins two centres.
  explain     links are the rows of pairs.tsv (exactly) in the group, once copies, which rows of 1.000000 join, are one node; the
              threshold above which two part is the greatest at which such links join them; the chain is as long as SciPy's shortest path and its weakest
              link the best of all such chains; the cut is as large as SciPy's maximum flow, its links are those across the set that
              the residual reaches, and without them the two lie apart; bridges and articulation points are what falls apart when
              each link, each document is taken away. All of it the same bytes without pairs.tsv.
  report      sizes, largest groups, share of the chained and histogram are those of the files beside it.

The corpora are scancode_rules (35,324 licence texts; groups of up to 1,501 documents, most of them chained) and families of
documents made here, each a copy of another with a few words changed, whose groups are long and thin."""
import bisect
import collections
import functools
import json
import os
import random

import harness

np, scipy = harness.need_modules("numpy", "scipy")
import scipy.sparse
import scipy.sparse.csgraph as csgraph
import text_model

PAIRS_HEADER = ["id_a", "id_b", "jaccard"]
REMOVED_HEADER = ["id", "kept", "jaccard", "reason", "file", "line", "lost"]


# --- what the files say ---

@functools.lru_cache(maxsize=None)
def read_groups(data):
    return [json.loads(line) for line in data.decode().splitlines()]


@functools.lru_cache(maxsize=None)
def read_pairs(data):
    return [(a, b, float(similarity)) for a, b, similarity in harness.read_rows(data, PAIRS_HEADER)]


def partition(groups):
    """The documents of groups as sets, whatever their order and names."""
    return {frozenset(group["members"]) for group in groups}


def components(pairs):
    """Connected components of two documents and more, by SciPy."""
    number = {doc: i for i, doc in enumerate(dict.fromkeys(doc for pair in pairs for doc in pair[:2]))}
    _, labels = csgraph.connected_components(adjacency(pairs, number), directed=False)
    parts = collections.defaultdict(set)
    for doc, i in number.items():
        parts[labels[i]].add(doc)
    return {frozenset(part) for part in parts.values()}


def adjacency(pairs, number):
    firsts, seconds = [number[a] for a, _, _ in pairs], [number[b] for _, b, _ in pairs]
    rows, columns = firsts + seconds, seconds + firsts
    return scipy.sparse.csr_matrix((np.ones(len(rows), np.int32), (rows, columns)), (len(number), len(number)))


# --- corpora ---

class Corpus:
    def __init__(self, name, path, options, arguments, threshold):
        self.name, self.path, self.threshold = name, path, threshold
        self.options_alone = text_model.option_arguments(options)
        self.arguments = self.options_alone + ["--threshold", threshold] + arguments
        self.sets, self.options = {}, options

    @functools.cached_property
    def texts(self):
        with open(self.path, encoding="utf-8") as file:
            return {doc["id"]: doc["text"] for doc in map(json.loads, file)}

    def shingles(self, doc):
        if doc not in self.sets:
            self.sets[doc] = frozenset(text_model.sequence(self.texts[doc], self.options))
        return self.sets[doc]

    def similarity(self, a, b):
        return text_model.jaccard(self.shingles(a), self.shingles(b))


def families(folder, rng):
    """Trees of documents, each a copy of one before it with a few of 40 words changed; some copies of nothing changed."""
    path, fresh, docs = os.path.join(folder, "families.jsonl"), 0, []
    for _ in range(12):
        family = []
        for i in range(rng.randint(2, 60)):
            if not family:
                words = [f"w{fresh + k}" for k in range(40)]
            else:
                words = list(rng.choice(family[-8:]))
                for at in rng.sample(range(40), rng.choice((0, 2, 3, 4, 5, 6, 7))):
                    words[at] = f"w{fresh + 40 + i * 8 + at % 8}"
            family.append(words)
        fresh += 1000
        docs += family
    rng.shuffle(docs)
    with open(path, "w", encoding="utf-8") as file:
        for i, words in enumerate(docs):
            file.write(json.dumps({"id": f"doc {i}\t\\", "text": " ".join(words)}) + "\n")
    return Corpus("families", path, text_model.text_options(["lower"], "alnum", "word", 1), ["--perms", 64, "--bands", 64,
                                                                                           "--rows", 1], 0.7)


def scancode(folder, threshold):
    docs = harness.corpus_file("scancode_rules", "docs.jsonl.zst")
    if not docs:
        return None
    path = os.path.join(folder, "scancode_rules.jsonl")
    if not os.path.exists(path):
        with open(path, "wb") as file:
            file.write(harness.unzstd(docs))
    return Corpus("scancode_rules", path, text_model.text_options((), "space"), [], threshold)


# --- components ---

def check_components(claims, bandmill, corpus, folder, small):
    pairs = os.path.join(folder, "pairs.tsv")
    rows = bandmill.run("pairs", *corpus.arguments, corpus.path).stdout
    with open(pairs, "wb") as file:
        file.write(rows)
    edges = read_pairs(rows)
    wanted = components(edges)
    for name, more in (("dedup", []), ("dedup --pairs", ["--pairs"])):
        target = os.path.join(folder, name.replace(" ", ""))
        bandmill.run("dedup", *corpus.arguments, *more, "-o", target, corpus.path)
        found = partition(read_groups(harness.read_file(target, "groups.jsonl")))
        claims.check(f"{corpus.name}: {name} has SciPy's {len(wanted)} components of the {len(edges)} edges of pairs",
                     found == wanted, f"{len(found - wanted)} others")
    thresholds = [corpus.threshold, 0.9] if small else [corpus.threshold, 0.85, 0.9, 0.95, 1]
    table = bandmill.run("cluster", "--threshold", ",".join(map(str, thresholds)), pairs).stdout
    lines = []
    for threshold in thresholds:
        count = [edge for edge in edges if edge[2] >= threshold]
        parts = components(count)
        sizes = [len(part) for part in parts]
        lines.append([f"{threshold:g}", *map(str, (len(count), len(parts), max(sizes), sum(sizes) - len(parts)))])
        groups = bandmill.run("cluster", "--threshold", threshold, pairs).stdout
        claims.check(f"{corpus.name}: cluster at {threshold:g} has SciPy's {len(parts)} components of {len(count)} rows",
                     partition(read_groups(groups)) == parts)
    rows = harness.read_rows(table, ["threshold", "pairs", "groups", "largest", "removed"])
    claims.check(f"{corpus.name}: cluster's table has what SciPy says at each threshold", rows == lines, (rows, lines))


def check_truth(claims, bandmill, corpus, folder):
    truth = harness.corpus_file("scancode_rules", "truth_whitespace_word5_j0.80.tsv.zst")
    if not truth:
        return
    wanted = components([(a, b, float(j)) for a, b, j in harness.read_rows(harness.unzstd(truth))])
    pairs = os.path.join(folder, "all.tsv")
    bandmill.run("pairs", *corpus.arguments, "--candidates", "all", "-o", pairs, corpus.path)
    found = partition(read_groups(bandmill.run("cluster", pairs).stdout))
    claims.check(f"{corpus.name}: the edges of --candidates all have the truth's {len(wanted)} components", found == wanted,
                 f"{len(found - wanted)} others")


# --- all ---

def check_all(claims, bandmill, corpus, folder, memory):
    """At a threshold at which bands miss some, documents of one word more in common are joined."""
    how = [*corpus.options_alone, "--threshold", corpus.threshold]
    every = [*how, "--candidates", "all"]
    edges = read_pairs(bandmill.run("pairs", *every, corpus.path).stdout)
    wanted, signed = components(edges), os.path.join(folder, "signed")
    bandmill.run("sign", *corpus.options_alone, "-o", signed, corpus.path)
    for i, (name, path, more) in enumerate((
            ("on one thread", corpus.path, ["--threads", 1]), ("on eight", corpus.path, ["--threads", 8]),
            ("with little memory", corpus.path, ["--memory", memory, "--threads", 2]), ("of signatures", signed, []),
            ("with --pairs", corpus.path, ["--pairs"]))):
        target = os.path.join(folder, f"all{i}")
        bandmill.run("dedup", *(every if path != signed else ["--threshold", corpus.threshold, "--candidates", "all"]), *more, "-o", target, path)
        found = partition(read_groups(harness.read_file(target, "groups.jsonl")))
        claims.check(f"{corpus.name}: dedup --candidates all {name} has the {len(wanted)} components of every pair", found == wanted,
                     f"{len(found - wanted)} others")
        with open(os.path.join(target, "report.json"), encoding="utf-8") as file:
            report = json.load(file)
        claims.check(f"{corpus.name}: its report, {name}, names no bands", report["plan"] is None and report["parameters"]["candidates"] == "all",
                     report["plan"])
        if "--pairs" in more:
            listed = read_pairs(bandmill.run("pairs", *every, "--identical", "chain", corpus.path).stdout)
            claims.check(f"{corpus.name}: its pairs.tsv has the {len(listed)} pairs that pairs lists",
                         read_pairs(harness.read_file(target, "pairs.tsv")) == listed)
    # 42 bands of 3 rows miss no pair here: components that are divided, whose edges are looked for once more, are the same by both
    divided = []
    for name, more in (("bands", ["--bands", 42, "--rows", 3]), ("all", ["--candidates", "all"])):
        for cluster in (["--max-group-size", 6], ["--cluster", "star"]):
            target = os.path.join(folder, name + cluster[0])
            bandmill.run("dedup", *how, *more, *cluster, "-o", target, corpus.path)
            divided.append([harness.read_file(target, file) for file in ("groups.jsonl", "removed.tsv", "kept.jsonl")])
    claims.check(f"{corpus.name}: components that are divided, and stars, are those of bands that miss no pair", divided[:2] == divided[2:])
    target = os.path.join(folder, "few")
    bandmill.run("dedup", *how, "--recall", 0.5, "-o", target, corpus.path)
    claims.check(f"{corpus.name}: bands find other groups than every pair does",
                 partition(read_groups(harness.read_file(target, "groups.jsonl"))) != wanted)


# --- star ---

def check_star(claims, bandmill, corpus, folder):
    target = os.path.join(folder, "star")
    bandmill.run("dedup", *corpus.arguments, "--cluster", "star", "--pairs", "-o", target, corpus.path)
    removed = harness.read_rows(harness.read_file(target, "removed.tsv"), REMOVED_HEADER)
    kept_of, wrong = {row[0]: row[1] for row in removed}, []
    for doc, kept, similarity, reason, *_ in removed:
        own = corpus.similarity(doc, kept)
        if own < corpus.threshold or f"{own:.6f}" != similarity or kept in kept_of or reason not in ("near", "identical", "equal"):
            wrong.append((doc, kept, similarity, own, reason))
    claims.check(f"{corpus.name}: star at {corpus.threshold}: each of {len(removed)} removed documents is itself at the threshold "
                 "to the one kept", removed and not wrong, wrong[:3])
    both = [(a, b) for a, b, _ in read_pairs(harness.read_file(target, "pairs.tsv")) if a not in kept_of and b not in kept_of]
    claims.check(f"{corpus.name}: star at {corpus.threshold}: no edge joins two kept documents", not both, both[:3])
    check_report(claims, corpus, target, "star")
    return target


# --- explain ---

class Group:
    """A group's nodes and links as `explain --group --json` lists them, and as a graph for SciPy. The documents asked for stand for
    their nodes."""

    def __init__(self, said, asked=()):
        self.said, self.n_members = said, len(said["members"])
        of = {copy["id"]: copy["of"] for copy in said["copies"]}
        names = {of.get(doc, doc): doc for doc in reversed(asked)}
        self.node = {doc: names.get(of.get(doc, doc), of.get(doc, doc)) for doc in said["members"]}
        self.weight = collections.Counter(self.node.values())
        self.members = [doc for doc in said["members"] if doc in self.weight]
        self.number = {doc: i for i, doc in enumerate(self.members)}
        links = [(names.get(link["id_a"], link["id_a"]), names.get(link["id_b"], link["id_b"]), link["jaccard"])
                 for link in said["links"]]
        self.links = sorted(((*sorted((a, b), key=self.number.get), s) for a, b, s in links),
                            key=lambda link: (self.number[link[0]], self.number[link[1]]))
        self.similarity = {(a, b): s for x, y, s in self.links for a, b in ((x, y), (y, x))}
        self.graph = adjacency(self.links, self.number)

    def without(self, links, doc=None):
        """Labels of the components of what is left (the document itself left out)."""
        gone = {frozenset(link) for link in links}
        left = [(a, b, s) for a, b, s in self.links if frozenset((a, b)) not in gone and doc not in (a, b)]
        labels = csgraph.connected_components(adjacency(left, self.number), directed=False)[1]
        return {other: labels[i] for other, i in self.number.items() if other != doc}


def merged(members, kept, rows):
    """Rows of pairs.tsv with one node for documents that rows of 1.000000 join, as (links, the node of each document)."""
    number = {doc: i for i, doc in enumerate(members)}
    labels = csgraph.connected_components(adjacency([row for row in rows if row[2] == 1], number), directed=False)[1]
    first = {}
    for doc in members:
        first.setdefault(labels[number[doc]], doc)
    if kept in number:
        first[labels[number[kept]]] = kept
    node = {doc: first[labels[number[doc]]] for doc in members}
    links = {}
    for a, b, s in rows:
        ends = tuple(sorted((node[a], node[b]), key=number.get))
        if ends[0] != ends[1]:
            links[ends] = max(links.get(ends, 0), s)
    return sorted(((a, b, s) for (a, b), s in links.items()), key=lambda link: (number[link[0]], number[link[1]])), node


def parting(group, a, b):
    """The greatest similarity down to which links join the two."""
    values = sorted({s for _, _, s in group.links})
    low, high = 0, len(values) - 1
    while low < high:
        middle = (low + high + 1) // 2
        left = [link for link in group.links if link[2] >= values[middle]]
        labels = csgraph.connected_components(adjacency(left, group.number), directed=False)[1]
        joined = labels[group.number[a]] == labels[group.number[b]]
        low, high = (middle, high) if joined else (low, middle - 1)
    return values[low]


def widest(group, a, b, far):
    """The best weakest link of all shortest chains, layer by layer from a."""
    best, layer = {a: 2.0}, [a]
    for distance in range(1, int(far[group.number[b]]) + 1):
        following = {}
        for doc in layer:
            for i in group.graph.indices[slice(*group.graph.indptr[group.number[doc]:][:2])]:
                if far[i] == distance:
                    other = group.members[i]
                    following[other] = max(following.get(other, -1), min(best[doc], group.similarity[doc, other]))
        best.update(following)
        layer = list(following)
    return best[b]


def wrong_chain(group, said, a, b):
    far = csgraph.shortest_path(group.graph, unweighted=True, indices=group.number[a])
    chain = [(link["id_a"], link["id_b"], link["jaccard"]) for link in said["chain"]]
    if (said["a"], said["b"], chain[0][0], chain[-1][1]) != (a, b, a, b) or any(x[1] != y[0] for x, y in zip(chain, chain[1:])):
        return "the chain does not lead from one to the other"
    if any(group.similarity.get((x, y)) != s for x, y, s in chain):
        return "a link of the chain is no link of the group"
    if len(chain) != far[group.number[b]]:
        return f"{len(chain)} links, SciPy needs {far[group.number[b]]}"
    least = min(s for _, _, s in chain)
    if chain[said["weakest"]][2] != least or least != widest(group, a, b, far):
        return f"weakest link {chain[said['weakest']]}, the best chain has {widest(group, a, b, far)}"
    return ""


def wrong_cut(group, said, a, b):
    flow = csgraph.maximum_flow(group.graph, group.number[a], group.number[b])
    residual = group.graph - flow.flow
    residual.data[residual.data < 0] = 0
    residual.eliminate_zeros()
    near = {group.members[i] for i in csgraph.breadth_first_order(residual, group.number[a], return_predecessors=False)}
    cut = [(link["id_a"], link["id_b"]) for link in said["cut"]]
    labels = group.without(cut)
    if len(cut) != flow.flow_value or labels[a] == labels[b]:
        return f"{len(cut)} links, SciPy's flow is {flow.flow_value}"
    n_near = sum(group.weight[doc] for doc in near)
    if (said["with_a"], said["with_b"]) != (n_near, group.n_members - n_near):
        return f"{said['with_a']} and {said['with_b']} documents, SciPy's residual reaches {n_near}"
    if cut != [(x, y) for x, y, _ in group.links if (x in near) != (y in near)]:
        return "other links than those across what the residual reaches"
    return ""


def wrong_bridges(group):
    bridges = {(b["id_a"], b["id_b"]): (b["with_a"], b["with_b"]) for b in group.said["bridges"]}
    points = {p["id"]: p["parts"] for p in group.said["articulation_points"]}
    for a, b, _ in group.links:
        labels = group.without([(a, b)])
        sides = tuple(sum(group.weight[doc] for doc, label in labels.items() if label == labels[end]) for end in (a, b))
        if bridges.get((a, b)) != (sides if labels[a] != labels[b] else None):
            return f"the link {a} -- {b}: {bridges.get((a, b))}, without it {sides}"
    for doc in group.members:
        parts = max(1, len(set(group.without([], doc).values())))  # one node alone: of a group of copies
        if points.get(doc, 1) != parts:
            return f"{doc}: {points.get(doc)} parts, {parts} without it"
    return ""


def explain(bandmill, folders, *what, form="--json"):
    """What is said of the directories, which must be the same of each."""
    said = [bandmill.run("explain", form, folder, *what).stdout for folder in folders]
    if any(other != said[0] for other in said):
        raise ValueError(f"explain {what} differs between {folders}")
    return said[0]


def wrong_pair(bandmill, corpus, folders, group, a, b):
    said = json.loads(explain(bandmill, folders, "--", a, b))
    own = corpus.similarity(a, b)
    if f"{own:.6f}" != f"{said['similarity']:.6f}":
        return f"similarity {said['similarity']}, computed here {own}"
    if group.node[a] == group.node[b]:
        chain = [(link["id_a"], link["id_b"], link["jaccard"]) for link in said["chain"]]
        alone = chain == [(a, b, 1)] and said["cut"] == [] and (said["with_a"], said["with_b"]) == (group.n_members, 0)
        return "" if alone else "copies are not joined by themselves"
    above = said["parts_above"]
    if above != (parting(group, a, b) if said["cluster"] == "components" else None):
        return f"they part above {above}"
    return wrong_chain(group, said, a, b) or wrong_cut(group, said, a, b)


def check_group(claims, bandmill, corpus, folders, pairs, asked, rng):
    number, n_pairs = asked
    said = json.loads(explain(bandmill, folders, "--group", number))
    group = Group(said)
    rows = [row for row in pairs if row[0] in group.node and row[1] in group.node]
    what = f"{corpus.name}, {os.path.basename(folders[0])}: group {number} of {group.n_members}"
    claims.check(f"{what}: its {len(group.links)} links are the {len(rows)} rows of pairs.tsv",
                 (group.links, group.node) == merged(said["members"], said["kept"], rows))
    if len(group.members) <= 120 and len(group.links) <= 1000:
        claims.attempt(f"{what}: {len(group.said['bridges'])} bridges, {len(group.said['articulation_points'])} articulation points",
                       lambda: wrong_bridges(group))
    for _ in range(n_pairs):
        a, b = rng.sample(said["members"], 2)
        claims.attempt(f"{what}: {a} to {b}", lambda: wrong_pair(bandmill, corpus, folders, Group(said, (a, b)), a, b))


def check_explain(claims, bandmill, corpus, folders, sizes, rng):
    """The largest groups, and some of the others; `sizes`: of how many, and how many pairs of documents of each."""
    groups = read_groups(harness.read_file(folders[0], "groups.jsonl"))
    pairs = read_pairs(harness.read_file(folders[0], "pairs.tsv"))
    by_size = sorted(groups, key=lambda group: -group["size"])
    n_large, n_small, n_pairs = sizes
    for group in by_size[:n_large] + rng.sample(by_size[n_large:], min(n_small, len(by_size) - n_large)):
        check_group(claims, bandmill, corpus, folders, pairs, (group["group"], n_pairs if group["size"] > 4 else 1), rng)
    a, b = (rng.choice(group["members"]) for group in rng.sample(groups, 2))
    done = bandmill.run("explain", folders[0], "--", a, b, expect=1)
    claims.check(f"{corpus.name}: documents of two groups have no chain", not done.stdout and done.stderr.count(b"\n") == 1)


# --- the report ---

def wrong_histogram(bins, similarities):
    """Rows have six decimals: one that ends just below a bin's edge may be written as that edge."""
    if any(x["high"] > y["low"] for x, y in zip(bins, bins[1:])) or any(not 0 <= x["low"] < x["high"] <= 1 for x in bins):
        return "bins that overlap or do not ascend"
    if sum(x["pairs"] for x in bins) != len(similarities):
        return f"{sum(x['pairs'] for x in bins)} pairs in bins"
    ordered = sorted(similarities)
    for x in bins:
        last = x["high"] == 1
        from_low, to_high = bisect.bisect_left(ordered, x["low"]), bisect.bisect_right(ordered, x["high"])
        inside = bisect.bisect_right(ordered, x["low"]), to_high if last else bisect.bisect_left(ordered, x["high"])
        least, most = max(inside[1] - inside[0], 0), to_high - from_low
        if not least <= x["pairs"] <= most:
            return f"{x}: {least} to {most} rows"
    return ""


def check_report(claims, corpus, target, name):
    with open(os.path.join(target, "report.json"), encoding="utf-8") as file:
        report = json.load(file)
    groups = read_groups(harness.read_file(target, "groups.jsonl"))
    removed = harness.read_rows(harness.read_file(target, "removed.tsv"), REMOVED_HEADER)
    chained = {row[0] for row in removed if row[3] == "chained"}
    sizes = collections.Counter(group["size"] for group in groups)
    wanted = {"group_sizes": [{"size": size, "groups": n} for size, n in sorted(sizes.items())],
              "largest_groups": [{"group": group["group"], "kept": group["kept"], "size": group["size"],
                                  "chained": len(chained.intersection(group["members"]))}
                                 for group in sorted(groups, key=lambda group: (-group["size"], group["group"]))[:10]],
              "chained_share": len(chained) / len(removed) if removed else 0}
    if os.path.exists(os.path.join(target, "pairs.tsv")):
        rows = [row[2] for row in read_pairs(harness.read_file(target, "pairs.tsv"))]
        claims.attempt(f"{corpus.name}, {name}: the report's histogram is that of the {len(rows)} rows of pairs.tsv",
                       lambda: wrong_histogram(report["similarities"], rows))
    wrong = {key: report.get(key) for key, value in wanted.items() if report.get(key) != value}
    claims.check(f"{corpus.name}, {name}: the report's {', '.join(wanted)} are those of the files", not wrong, str(wrong)[:300])


def check_corpus(claims, bandmill, corpus, sizes, small, rng):
    with harness.scratch() as folder:
        check_components(claims, bandmill, corpus, folder, small)
        plain, pairs = os.path.join(folder, "dedup"), os.path.join(folder, "dedup--pairs")
        for target in (plain, pairs):
            check_report(claims, corpus, target, os.path.basename(target))
        check_explain(claims, bandmill, corpus, [pairs, plain], sizes, rng)
        star = check_star(claims, bandmill, corpus, folder)
        check_explain(claims, bandmill, corpus, [star], (1, 3, 2), rng)


def main():
    args = harness.arguments("groups against SciPy", ("--seed", {"type": int, "default": 20240607}),
                             ("--all", {"action": "store_true", "help": "only what is said of --candidates all"}))
    claims, bandmill, rng = harness.Claims(), harness.Program(args.program, args.server), random.Random(args.seed)
    sizes = (20, 60, 6) if args.size == "full" else (1, 3, 2)
    of_families = {"small": (2, 2, 2), "normal": (3, 4, 3), "full": (12, 12, 40)}[args.size]
    small = args.size == "small"
    with harness.scratch() as folder:
        if args.all:
            for corpus, memory in ((families(folder, rng), "24M"), (scancode(folder, 0.8), "100M")):
                with harness.scratch() as results:
                    if corpus and not (small and corpus.name != "families"):
                        check_all(claims, bandmill, corpus, results, memory)
            claims.end()
        check_corpus(claims, bandmill, families(folder, rng), of_families, small, rng)
        corpus = scancode(folder, 0.7)
        if corpus and not small:
            check_corpus(claims, bandmill, corpus, sizes, small, rng)
        elif corpus:
            check_star(claims, bandmill, corpus, folder)
        corpus = scancode(folder, 0.8)
        if corpus:
            check_components(claims, bandmill, corpus, folder, small)
            check_truth(claims, bandmill, corpus, folder)
    claims.end()


if __name__ == "__main__":
    main()
