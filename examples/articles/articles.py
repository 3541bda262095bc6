# SPDX-License-Identifier: Apache-2.0
"""articles.py BANDMILL FOLDER ARTICLES TRUTH TEXTS -- cropped articles, the longest common run of two texts and all distances, each held against
what Python's sets, difflib and a bit-parallel edit distance give. Prints the numbers as lines of `what, work, here, within`, tab-separated; ends
with 1 where an answer of the program is another one."""
import difflib
import json
import os
import sys
from itertools import combinations

import program

SHINGLES = ["--shingle", "word:3", "--words", "space", "--normalize", "none"]
COLUMNS = ["--header", "no", "--id-field", "1", "--text-field", "2"]
CONTAINED = .9
EDITS_CHECKED = 10  # the edit distance of one pair in so many is computed here too: of all it would take ten seconds


def number(what, work, here):
    print(what, work, here, "none" if work == "none" else "exact", sep="\t")


def shingles(text):
    words = text.split()
    return {tuple(words[i:i + 3]) for i in range(max(1, len(words) - 2))}


def read_articles(path):
    """[(id, text)] of lines `id text`."""
    with open(path, encoding="utf-8") as file:
        return [tuple(line.rstrip("\n").split(" ", 1)) for line in file]


def crop(text):
    """The middle third of its words."""
    words = text.split()
    third = len(words) // 3
    return " ".join(words[third:2 * third])


def write_table(folder, name, documents):
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(f"{key}\t{text}\n" for key, text in documents)
    return path


def table_of(*command):
    """The rows of what the program prints, without the header."""
    return [line.split("\t") for line in program.output(*command).decode().splitlines()[1:]]


def agree(what, program_gives, expected):
    if program_gives != expected:
        sys.exit(f"articles.py: {what}: the program gives {program_gives}, Python {expected}")


def edit_distance(a, b):
    """Levenshtein's, by Myers' bit vectors (1999) as Hyyro has them: bit i stands for the first i + 1 characters of `a`."""
    if not a:
        return len(b)
    every, last = (1 << len(a)) - 1, 1 << (len(a) - 1)
    places = {}
    for i, letter in enumerate(a):
        places[letter] = places.get(letter, 0) | 1 << i
    up, down, distance = every, 0, len(a)
    for letter in b:
        equal = places.get(letter, 0)
        vertical = equal | down
        diagonal = ((equal & up) + up ^ up) | equal
        right = down | ~(diagonal | up) & every
        left = up & diagonal
        distance += bool(right & last) - bool(left & last)
        right = right << 1 & every | 1
        left = left << 1 & every
        up = left | ~(vertical | right) & every
        down = right & vertical
    return distance


def cropped(bandmill, folder, articles, planted):
    """Each article and its middle third: who holds whom."""
    documents = articles + [(key + "-cropped", crop(text)) for key, text in articles]
    found = table_of(bandmill, "pairs", "--measure", "containment", "--threshold", CONTAINED, *SHINGLES, *COLUMNS, "-q",
                     write_table(folder, "cropped.tsv", documents))
    sets = {key: shingles(text) for key, text in documents}
    order = {key: i for i, (key, _) in enumerate(documents)}
    expected = []
    for pair in combinations(sets, 2):
        smaller, larger = sorted(pair, key=lambda key: (len(sets[key]), order[key]))
        share = len(sets[smaller] & sets[larger]) / len(sets[smaller])
        if share >= CONTAINED:
            expected.append([smaller, larger, f"{share:.6f}"])
    agree("containment", found, sorted(expected, key=lambda row: (order[row[0]], order[row[1]])))
    own = [row for row in found if row[0] == row[1] + "-cropped"]
    number("cropped articles that are found in their own", "none", len(own))
    number("of them, held as a whole", "none", sum(row[2] == "1.000000" for row in own))
    greatest = max(len(sets[a] & sets[b]) / len(sets[a] | sets[b]) for a, b, _ in own)
    number("greatest Jaccard similarity of one of them with its article", "none", f"{greatest:.3f}".lstrip("0"))
    whole = {frozenset(row[:2]) for row in found if not any(key.endswith("-cropped") for key in row[:2])}
    number("pairs of whole articles that are contained: the planted ones", len(planted), len(whole & planted))
    number("pairs of whole articles that are contained: others", "none", len(whole - planted))


def longest_run(bandmill, folder, texts):
    """Statutes of two states, and two editions of a tract: the longest run of words of two texts."""
    read = {}
    for key in ("ca1851-match", "ca1851-nomatch", "ny1850-match", "remember00palm", "remembermeorholy00palm"):
        with open(os.path.join(texts, key + ".txt"), encoding="utf-8-sig") as file:
            read[key] = file.read()
    documents, result = os.path.join(folder, "texts.jsonl"), os.path.join(folder, "result")
    with open(documents, "w", encoding="utf-8") as file:
        file.writelines(json.dumps({"id": key, "text": text}) + "\n" for key, text in read.items())
    program.output(bandmill, "dedup", "--threshold", ".2", *SHINGLES, "-q", "-o", result, documents)
    with open(os.path.join(result, "groups.jsonl"), encoding="utf-8") as file:
        groups = [json.loads(line)["members"] for line in file]
    number("statutes in one group", "ca1851-match ny1850-match", " ".join(next(group for group in groups if "ny1850-match" in group)))
    for a, b in (("ca1851-match", "ny1850-match"), ("remember00palm", "remembermeorholy00palm")):
        run = json.loads(program.output(bandmill, "explain", result, a, b, "--json", "-q"))["run"]
        words = [read[key].split() for key in (a, b)]
        longest = difflib.SequenceMatcher(None, *words, autojunk=False).find_longest_match(0, len(words[0]), 0, len(words[1]))
        common = words[0][longest.a:longest.a + longest.size]
        agree(f"the run of {a} and {b}", (run["units"], run["text"].split()), (longest.size, common))
        for key, (begin, end) in ((a, run["a"]), (b, run["b"])):
            agree(f"the bytes of the run in {key}", read[key].encode()[begin:end].decode().split(), common)
        number(f"{a} and {b}: words of the longest run of both", "none", run["units"])


def distances(bandmill, folder, articles, planted):
    """Every pair of articles, with similarity and edit distance."""
    found = table_of(bandmill, "pairs", "--candidates", "all", "--threshold", 0, "--edit", *SHINGLES, *COLUMNS, "-q",
                     write_table(folder, "articles.tsv", articles))
    sets = {key: shingles(text) for key, text in articles}
    text_of = dict(articles)
    agree("similarities", [row[:3] for row in found],
          [[a, b, f"{len(sets[a] & sets[b]) / len(sets[a] | sets[b]):.6f}"] for a, b in combinations(sets, 2)])
    for i, (a, b, _, edit) in enumerate(found):
        if i % EDITS_CHECKED == 0 or frozenset((a, b)) in planted:
            agree(f"the edit distance of {a} and {b}", int(edit), edit_distance(text_of[a], text_of[b]))
    copies = [row for row in found if frozenset(row[:2]) in planted]
    others = [row for row in found if frozenset(row[:2]) not in planted]
    number(f"pairs of {len(articles)} articles", "none", len(found))
    number("planted pairs with a similarity of .977 to .983", len(planted), sum(.9765 <= float(row[2]) < .9835 for row in copies))
    number("other pairs with a similarity of .3 or more", 0, sum(float(row[2]) >= .3 for row in others))
    number("edit distances of the planted pairs", "none", " ".join(map(str, sorted(int(row[3]) for row in copies))))
    number("least edit distance of another pair", "none", min(int(row[3]) for row in others))


def main():
    bandmill, folder, articles, truth, texts = sys.argv[1:]
    articles = read_articles(articles)
    known = {key for key, _ in articles}
    with open(truth, encoding="utf-8") as file:
        planted = {frozenset(line.split()) for line in file}
    if not all(pair <= known for pair in planted):
        sys.exit("articles.py: a planted pair is none of the articles")
    cropped(bandmill, folder, articles, planted)
    longest_run(bandmill, folder, texts)
    distances(bandmill, folder, articles, planted)


if __name__ == "__main__":
    main()
