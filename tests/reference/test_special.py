# SPDX-License-Identifier: Apache-2.0
"""Stop word shingles and bags against text_model.py, over four corpora: English, Greek, Chinese (the declaration of human rights,
and lines that stand here) and random bytes. For each set of options: n_shingles and every word of the signatures, on every instruction
set, with 1, 2 and 8 threads, and on an OpenCL device where there is one (one corpus and some of the options; with --size full all
of them, on every usable device); the Jaccard similarity of every pair that has one (`pairs --candidates all`); the same from
signatures whose list of stop words is gone. And over the legal texts of textreuse: bag similarities against counts made here with
collections.Counter alone."""
import collections
import itertools
import json
import os
import random
import re
import sys
import zipfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "identity"))
import harness
from outputs import devices, opencl_environment

np, xxhash = harness.need_modules("numpy", "xxhash")
import minhash_model
import text_model

PERMS = 32
SMALL = {
    "English": ["The quick brown fox jumps over the lazy dog, and the dog looks at it for a while.",
                "A fox in the box is worth two in the bush; the fox, of course, is not of this opinion. The fox, of course.",
                "the the the the the and of and of", "No stop words follow cats", "Of", "it is", ""],
    "Greek": ["Όλοι οι άνθρωποι γεννιούνται ελεύθεροι και ίσοι στην αξιοπρέπεια και τα δικαιώματα.",
              "Και η γάτα και ο σκύλος και η γάτα κοιμούνται στο χαλί του σπιτιού.", "και του"],
    "Chinese": ["人人生而自由,在尊严和权利上一律平等。他们赋有理性和良心,并应以兄弟关系的精神相对待。",
                "我的书在桌子上,你的书不在桌子上。我的书在,你的书不在。", "的 的 的"],
}
LISTS = {"English": None, "Greek": "και\nΤΟΥ\nη\nο\nοι\nτα\nστην\nτης\n", "Chinese": "的\n和\n在\n不\n之\n\n以\n", "bytes": "a\r\nb\r\n\xa0\n0\n\ufffd\n"}
LANGUAGES = {"English": "eng", "Greek": "ell_monotonic", "Chinese": "cmn_hans"}


def declaration(language):
    path = harness.corpus_file("udhr2", "udhr2.zip")
    if path is None:
        return []
    with zipfile.ZipFile(path) as archive:
        text = archive.read(f"udhr2/{language}.txt").decode("utf-8")
    lines = [line for line in text.split("\n") if line.strip()]
    return lines + [text] + [" ".join(lines[i:i + 8]) for i in range(0, len(lines), 3)]


def random_bytes(rng, n):
    """Few different bytes, so that words repeat; most of them no UTF-8."""
    few = [b"a", b"b", b" ", b" ", b"0", b"\xe4", b"\xb8", b"\xad", b"\xff", b"\x00", b"\n", b"\xc2\xa0", b"\xce", b"\xba", b"B"]
    return [b"".join(rng.choice(few[:rng.choice((4, 9, len(few)))]) for _ in range(rng.randrange(3000))).replace(b"\n", b".")
            for _ in range(n)] + [bytes(rng.randrange(256) for _ in range(2000)).replace(b"\n", b"") for _ in range(4)]


class Corpus:
    """Documents as lines of a file, and as the texts that they stand for."""

    def __init__(self, name, folder, lines):
        self.name, self.path = name, os.path.join(folder, f"{name}.txt")
        lines = [line.replace("\n", " ").encode() if isinstance(line, str) else line for line in lines]
        lines = [line.rstrip(b"\r") for line in lines]
        with open(self.path, "wb") as file:
            file.writelines(line + b"\n" for line in lines)
        self.texts = [line.decode("utf-8", "replace") for line in lines]
        self.list_path, self.list = None, text_model.english()
        if LISTS[name] is not None:
            self.list_path = os.path.join(folder, f"{name}-stop.txt")
            with open(self.list_path, "w", encoding="utf-8", newline="") as file:
                file.write(LISTS[name])


def make_corpora(folder, rng):
    corpora = [Corpus(name, folder, SMALL[name] + declaration(LANGUAGES[name])) for name in SMALL]
    return corpora + [Corpus("bytes", folder, random_bytes(rng, 30))]


def all_options():
    yield from ((kind, k, words, bag) for kind, k, words in (("stopword", 1, "alnum"), ("stopword", 2, "space"), ("stopword", 3, "alnum"))
                for bag in (False, True))
    yield from ((kind, k, words, True) for kind, k, words in (("word", 1, "alnum"), ("word", 3, "space"), ("char", 3, "alnum"),
                                                              ("byte", 2, "alnum")))


class Model:
    def __init__(self, corpus, options):
        self.sets = [text_model.elements(text_model.sequence(text, options), options) for text in corpus.texts]
        a, b = minhash_model.coefficients(1, PERMS)
        number = {element: i for i, element in enumerate(frozenset().union(*self.sets))}
        hashes = np.array([text_model.element_hash(element, xxhash.xxh3_64_intdigest) for element in number], np.uint64)
        rows = [np.array([number[element] for element in elements], np.int64) for elements in self.sets]
        self.words = np.array([minhash_model.signature(hashes[row], a, b) for row in rows])
        there = np.zeros((len(rows), len(number)), np.float32)
        for i, row in enumerate(rows):
            there[i, row] = 1
        self.both = (there @ there.T).astype(int).tolist()  # elements that two documents share

    def pair_rows(self, name, threshold):
        rows = []
        for a, b in itertools.combinations(range(len(self.sets)), 2):
            if self.sets[a] and self.sets[b]:
                both = self.both[a][b]
                similarity = both / (len(self.sets[a]) + len(self.sets[b]) - both)
                if similarity >= threshold:
                    rows.append([f"{name}:{a + 1}", f"{name}:{b + 1}", f"{similarity:.6f}"])
        return rows


class Runs:
    def __init__(self, bandmill, folder):
        self.bandmill, self.folder, self.n = bandmill, folder, 0

    def sign(self, corpus, model, arguments, env=None):
        """What is wrong, or nothing; and where the signatures are."""
        self.n += 1
        target = os.path.join(self.folder, f"out-{self.n}")
        self.bandmill.run("sign", corpus.path, "--format", "lines", "--perms", PERMS, "-o", target, *arguments, env=env)
        counts, words = (np.load(os.path.join(target, name)) for name in ("n_shingles.npy", "signatures.npy"))
        wrong = [i for i, elements in enumerate(model.sets) if counts[i] != len(elements)]
        if wrong:
            return f"n_shingles of {wrong[0]} is {counts[wrong[0]]}, expected {len(model.sets[wrong[0]])}", target
        wrong = np.flatnonzero((words != model.words).any(axis=1))
        return (f"words of {len(wrong)} documents, first {wrong[0]}" if len(wrong) else ""), target

    def check(self, corpus, model, arguments, environments):
        for env, more in environments:
            wrong, target = self.sign(corpus, model, [*arguments, *more], env)
            if wrong:
                return f"{env} {more}: {wrong}"
        rows = model.pair_rows(corpus.path, 0.2)
        common = ["--candidates", "all", "--threshold", 0.2]
        for what, run in (("texts", [corpus.path, "--format", "lines", *arguments, *common]), ("signatures", [target, *common])):
            got = harness.read_rows(self.bandmill.run("pairs", *run).stdout, ["id_a", "id_b", "jaccard"])
            if got != rows:
                return f"pairs of {what}: {len(got)} rows, expected {len(rows)}"
        return ""


def check_corpus(claims, runs, corpus, native, device, every):
    for kind, k, words, bag in all_options():
        environments = native + (device if k == 2 or every else []) # some of them: a driver takes longer than all the rest
        options = text_model.text_options(text_model.DEFAULT, words, kind, k, bag=bag)
        arguments = text_model.option_arguments(options)
        if kind == "stopword" and corpus.list_path:
            arguments += ["--stopwords", corpus.list_path]
            options["stopwords"] = frozenset(text_model.normalize(line.strip(), text_model.DEFAULT)
                                             for line in LISTS[corpus.name].replace("\r", "").split("\n") if line.strip())
            if words == "alnum": # U+FFFD is no letter, and a list that has it is refused
                options["stopwords"] -= {"\ufffd"}
                alnum = corpus.list_path + ".alnum"
                with open(alnum, "w", encoding="utf-8") as file:
                    file.writelines(f"{word}\n" for word in options["stopwords"])
                arguments[-1] = alnum
        model = Model(corpus, options)
        claims.attempt(f"{corpus.name}, {kind}:{k}, words {words}{', bag' if bag else ''}: {len(model.sets)} documents of "
                       f"{sum(map(len, model.sets))} elements", lambda: runs.check(corpus, model, arguments, environments))


def check_lost_list(runs, corpus, folder):
    """Signatures hold their stop words: the list may be gone when their documents are cut again."""
    path = os.path.join(folder, "gone.txt")
    with open(path, "w", encoding="utf-8") as file:
        file.write("Dog\nFOX\nwords\n")
    options = text_model.text_options(text_model.DEFAULT, kind="stopword", k=1)
    options["stopwords"] = {"dog", "fox", "words"}
    model = Model(corpus, options)
    wrong, target = runs.sign(corpus, model, [*text_model.option_arguments(options), "--stopwords", path])
    os.remove(path)
    if wrong:
        return wrong
    got = harness.read_rows(runs.bandmill.run("pairs", target, "--verify", "exact", "--candidates", "all", "--threshold", .1).stdout,
                            ["id_a", "id_b", "jaccard"])
    return "" if got == model.pair_rows(corpus.path, .1) else f"{len(got)} pairs, expected {len(model.pair_rows(corpus.path, .1))}"


def check_multisets(runs, folder, k):
    """Words are runs of letters and digits here; the texts have no marks. Pieces of each text, so that there are pairs."""
    names = ("ca1851-match", "ca1851-nomatch", "ny1850-match")
    paths = [harness.corpus_file("textreuse", f"{name}.txt") for name in names]
    texts = [harness.read_file(path).decode("utf-8") for path in paths]
    texts += [text[i * 700:i * 700 + 2400] for text in texts for i in range(3)]
    bags = []
    for text in texts:
        words = re.findall(r"[^\W_]+", text.lower())
        bags.append(collections.Counter(" ".join(words[i:i + k]) for i in range(len(words) - k + 1)))
    wanted = {}
    for a, b in itertools.combinations(range(len(bags)), 2):
        both = sum((bags[a] & bags[b]).values())
        similarity = both / sum((bags[a] | bags[b]).values())
        if similarity >= .05:
            wanted[f"d{a}", f"d{b}"] = f"{similarity:.6f}"
    path = os.path.join(folder, "legal.jsonl")
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(json.dumps({"id": f"d{i}", "text": text}) + "\n" for i, text in enumerate(texts))
    rows = harness.read_rows(runs.bandmill.run("pairs", path, "--bag", "--shingle", f"word:{k}", "--candidates", "all", "--threshold",
                                               .05).stdout, ["id_a", "id_b", "jaccard"])
    got = {(a, b): similarity for a, b, similarity in rows}
    if got != wanted or len(wanted) < 10:
        return f"{len(got)} pairs, expected {len(wanted)}; {sorted(set(got.items()) ^ set(wanted.items()))[:3]}"
    return ""


def usable(bandmill, folder, arguments, env=None):
    path = os.path.join(folder, "one.txt")
    with open(path, "wb") as file:
        file.write(b"one\n")
    target = os.path.join(folder, "one")
    done = bandmill.run("sign", "--force", "--format", "lines", path, "-o", target, *arguments, env=env, expect=None)
    return done.returncode == 0


def main():
    args = harness.arguments("stop word shingles and bags against a model", ("--seed", {"type": int, "default": 3}))
    claims, bandmill, rng = harness.Claims(), harness.Program(args.program, args.server), random.Random(args.seed)
    with harness.scratch() as folder, np.errstate(over="ignore"):
        runs = Runs(bandmill, folder)
        native = [({"BANDMILL_CPU": isa}, ["--threads", threads, "--batch-docs", 7]) for isa, threads in
                  (("scalar", 1), ("avx2", 2), ("avx512", 8), ("neon", 2)) if usable(bandmill, folder, [], {"BANDMILL_CPU": isa})]
        every = args.size == "full"
        device = [({}, ["--device", "opencl", "--threads", 2])] if usable(bandmill, folder, ["--device", "opencl"]) else []
        if every:
            env = opencl_environment()
            device = [(env, ["--device", spec, "--threads", 2]) for spec, _, _ in devices(bandmill, env)]
        print(f"{len(native)} instruction sets, {len(device)} OpenCL device{'s' * (len(device) != 1)}")
        corpora = make_corpora(folder, rng)
        for i, corpus in enumerate(corpora):
            check_corpus(claims, runs, corpus, native, device if i == 0 or every else [], every)
        claims.attempt("a list of stop words that is gone", lambda: check_lost_list(runs, corpora[0], folder))
        if harness.corpus_file("textreuse", "ca1851-match.txt"):
            for k in (1, 2, 5):
                claims.attempt(f"multisets of word:{k} of the legal texts", lambda: check_multisets(runs, folder, k))
    claims.end()


if __name__ == "__main__":
    main()
