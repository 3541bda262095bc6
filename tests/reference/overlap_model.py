# SPDX-License-Identifier: Apache-2.0
"""overlap_model.py -- cli.md 10, "Overlap", in plain Python: sets, lists and a loop over all that has a shingle in common.

A text becomes units, each with the bytes that it covers in the text before repair. An item is the set of its shingles, or one run of
all its units where it has fewer than K. A document is looked at unit by unit; nothing is hashed. Texts are str; an unpaired surrogate
in one stands for itself before repair and for U+FFFD after it. Places are known for the rules of --normalize that work character by
character: invisible, lower, digits, punct."""
import collections
import functools
import unicodedata

import text_model

BY_CHARACTER = frozenset(("invisible", "lower", "digits", "punct"))
OVERLAP_HEADER = ["id", "item", "coverage", "hits", "longest", "from", "to", "file", "line"]
ITEMS_HEADER = ["item", "shingles", "documents", "coverage", "together", "file", "line"]

Text = collections.namedtuple("Text", "id text file line")
Row = collections.namedtuple("Row", "doc item hits longest begin end")
Found = collections.namedtuple("Found", "overlap items removed kept rows cuts")


def repaired(text):
    return "".join("\ufffd" if 0xD800 <= ord(c) < 0xE000 else c for c in text)


def characters(text, rules):
    """(character, from, to) of the normalised text; from and to in bytes of the text before repair."""
    if not rules <= BY_CHARACTER:
        raise ValueError(f"the places of {sorted(rules)} are not known here")
    out, at, after_base = [], 0, False
    for char in text:
        end = at + len(char.encode("utf-8", "surrogatepass"))
        begin, at = at, end
        char = repaired(char)
        if "invisible" in rules:
            char = text_model.INVISIBLE.get(ord(char), char)
            if not char:
                continue
            kind = unicodedata.category(char)[0]
            if kind == "M" and not after_base:
                continue
            if kind != "M":
                after_base = kind in "LN"
        for rule, table in (("lower", text_model.LOWER), ("digits", text_model.DIGITS), ("punct", text_model.WITHOUT_PUNCTUATION)):
            char = char.translate(table) if rule in rules else char
        out += [(c, begin, end) for c in char]
    return out


def words_of(chars, words):
    """Words with their places, by the rules of text_model.split_alnum and split_space."""
    found, at = [], 0
    normalised = "".join(c for c, _, _ in chars)
    for word in (text_model.split_alnum if words == "alnum" else text_model.split_space)(normalised):
        at = normalised.index(word, at)
        found.append((word, chars[at][1], chars[at + len(word) - 1][2]))
        at += len(word)
    return found


def units_of(text, options):
    """(unit, from, to) of a text."""
    return cut_units(text, options["normalize"], options["kind"], options["words"])


@functools.lru_cache(maxsize=4096)
def cut_units(text, rules, kind, words):
    if text_model.unreadable(repaired(text)):
        return []
    chars = characters(text, rules)
    if kind == "word":
        return words_of(chars, words)
    if kind == "byte":
        if not text.isascii():
            raise ValueError("the places of bytes are known here for ASCII alone")
        return chars
    out = []
    for char, begin, end in chars:
        if ord(char) in text_model.WHITE_SPACE:
            if out and out[-1][0] != " ":
                out.append((" ", begin, end))
        else:
            if out and out[-1][0] == " ":
                out[-1] = (" ", out[-1][1], begin)  # all of a run of white space, and what is dropped behind it
            out.append((char, begin, end))
    return out[:-1] if out and out[-1][0] == " " else out


class Cut:
    """The units of texts, cut once for several K."""

    def __init__(self, texts, options):
        self.texts = texts
        self.units = [units_of(t.text, options) for t in texts]
        self.glue = " " if options["kind"] == "word" else ""

    def windows(self, number, k):
        units = [unit for unit, _, _ in self.units[number]]
        return [self.glue.join(units[i:i + k]) for i in range(len(units) - k + 1)]


class Item:
    def __init__(self, cut, number, options, min_words):
        units = cut.units[number]
        words = units if options["kind"] == "word" else units_of(cut.texts[number].text, {**options, "kind": "word"})
        self.looked_for = len(words) >= min_words
        self.k = min(options["k"], len(units))
        self.shingles = frozenset(cut.windows(number, self.k)) if self.looked_for else frozenset()


def first_unit(shingle, glue):
    return shingle.split(glue, 1)[0] if glue else shingle[0]


def runs_of(starts, k):
    """(first unit, units) of each run of shingles that begin at these units, ascending."""
    runs = []
    for i, start in enumerate(starts):
        if i == 0 or start != starts[i - 1] + 1:
            runs.append((start, k))
        else:
            runs[-1] = (runs[-1][0], start - runs[-1][0] + k)
    return runs


def cuts_of(units, runs):
    """Byte ranges that --cut takes out of a document with these units, with the item whose run begins each; runs: (first, units, item)."""
    cuts = []
    for begin, item, end in sorted((units[first][1], item, units[first + n - 1][2]) for first, n, item in runs):
        if cuts and begin < cuts[-1][1]:
            cuts[-1] = (cuts[-1][0], max(end, cuts[-1][1]), cuts[-1][2])
        else:
            cuts.append((begin, end, item))
    return cuts


def find(train, tests, options, threshold, min_words=8, stop=None):
    """`train` and `tests`: Cuts. What overlap writes: rows of its files, and the ids that are kept."""
    items = [Item(tests, i, options, min_words) for i in range(len(tests.texts))]
    owners = collections.defaultdict(lambda: collections.defaultdict(list))  # units of a shingle -> shingle -> items
    lengths = collections.defaultdict(set)  # first unit -> units of the shingles that begin with it
    for number, item in enumerate(items):
        for shingle in item.shingles:
            owners[item.k][shingle].append(number)
            lengths[first_unit(shingle, train.glue)].add(item.k)
    places = []  # of each document: (units, shingle) -> where it begins
    for number in range(len(train.texts)):
        found = collections.defaultdict(list)
        units = [unit for unit, _, _ in train.units[number]]
        for start, unit in enumerate(units):
            for k in lengths.get(unit, ()):
                shingle = train.glue.join(units[start:start + k])
                if start + k <= len(units) and shingle in owners[k]:
                    found[k, shingle].append(start)
        places.append(found)
    holders = collections.Counter(key for found in places for key in found)
    stopped = {key for key, n in holders.items() if stop and n > stop}
    sizes = [sum((item.k, shingle) not in stopped for shingle in item.shingles) for item in items]
    runs = collections.defaultdict(list)  # of each document that holds an item
    rows, best, documents, seen = [], [0] * len(items), [0] * len(items), [set() for _ in items]
    for number, found in enumerate(places):
        touched = collections.defaultdict(list)
        for k, shingle in found:
            for item in owners[k][shingle]:
                touched[item].append((k, shingle))
        for item in sorted(touched):
            counted = [key for key in touched[item] if key not in stopped]
            seen[item].update(counted)
            best[item] = max(best[item], len(counted))
            if counted and len(counted) / sizes[item] >= threshold:
                k = items[item].k
                starts = sorted(start for key in touched[item] for start in found[key])
                of_item = runs_of(starts, k)
                runs[number] += [(*run, item) for run in of_item]
                first, longest = max(of_item, key=lambda run: run[1])  # the first of equals
                units = train.units[number]
                rows.append(Row(number, item, len(counted), longest, units[first][1], units[first + longest - 1][2]))
                documents[item] += 1
    cuts = {number: cuts_of(train.units[number], of) for number, of in runs.items()}
    return files(train.texts, tests.texts, rows, sizes, documents, best, [len(s) for s in seen], cuts)


def files(train, tests, rows, sizes, documents, best, together, cuts):
    def share(n, of):
        return f"{n / of:.6f}" if of else ""

    overlap = [[train[r.doc].id, tests[r.item].id, share(r.hits, sizes[r.item]), *map(str, (r.hits, r.longest, r.begin, r.end)),
                train[r.doc].file, train[r.doc].line] for r in rows]
    listed = [[test.id, str(size), str(n), share(b, size), share(t, size), test.file, test.line]
              for test, size, n, b, t in zip(tests, sizes, documents, best, together)]
    of_doc = {}
    for r in rows:  # of equals the first item
        if r.doc not in of_doc or r.hits * sizes[of_doc[r.doc].item] > of_doc[r.doc].hits * sizes[r.item]:
            of_doc[r.doc] = r
    removed = [[train[doc].id, tests[r.item].id, "", "overlap", train[doc].file, train[doc].line, ""] for doc, r in of_doc.items()]
    return Found(overlap, listed, removed, [t.id for i, t in enumerate(train) if i not in of_doc], rows, cuts)
