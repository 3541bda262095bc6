"""`pairs --candidates length` gives the bytes of `--candidates all`: on every corpus with truth that is here (of the two that take
longest every second document, but with --size full), and on small generated ones with many documents of the same size and of sizes
at the very ratio that the threshold is.

Also for 1, 2 and 8 threads, and within a --memory that leaves the sets to a file. How many pairs are compared is counted
here from the numbers of shingles that `sign` writes: every two documents of different content whose lesser size over the
greater is at least the threshold, in double."""
import json
import os
import random

import harness

np = harness.need_modules("numpy")


def halved(folder, path):
    """Every second line of a packed corpus, as a file under the same kind of name."""
    half = os.path.join(folder, os.path.basename(os.path.dirname(path)) + "-" + os.path.basename(path)[:-len(".zst")])
    with open(half, "wb") as file:
        file.write(b"".join(harness.unzstd(path).splitlines(keepends=True)[::2]))
    return half


def prepared(folder, size):
    """(name, threshold, arguments) of each corpus that is here."""
    columns = ["--id-field", "1", "--text-field", "3"]
    found = []
    for name, file, threshold, more in [
            ("scancode_rules", "docs.jsonl.zst", 0.8, ["--words", "space", "--normalize", "none"]),
            ("spdx_texts", "docs.tsv.zst", 0.3, columns),
            ("er_cddb", "docs.tsv.zst", 0.5, ["--shingle", "word:1", *columns]),
            ("febrl_dataset1", "docs.tsv", 0.3, ["--shingle", "char:3", *columns]),
            ("oeb_us_uk", "docs.tsv.zst", 0.7, ["--shingle", "word:3", *columns])]:
        path = harness.corpus_file(name, file)
        if path:
            if name in ("scancode_rules", "er_cddb") and size != "full":
                path = halved(folder, path)
            found.append((name, threshold, [*more, path]))
    path = harness.corpus_file("minhash_articles", "articles_1000.train")
    if path:
        with open(os.path.join(folder, "articles.tsv"), "wb") as file:
            file.write(harness.articles_as_tsv(path))
        found.append(("minhash_articles", 0.3, ["--shingle", "word:3", "--id-field", "1", "--text-field", "2", file.name]))
    return found


def generated(folder, seed):
    """Documents of 1 to 60 words, most of them edited copies: words added to one, or taken away."""
    rng, texts = random.Random(seed), []
    for _ in range(1500):
        words = rng.sample(range(3000), rng.randint(1, 60))
        if texts and rng.random() < 0.7:
            words = list(rng.choice(texts))
            for _ in range(rng.randint(0, 12)):
                if rng.random() < 0.5 and len(words) > 1:
                    words.pop(rng.randrange(len(words)))
                else:
                    words.append(rng.randrange(3000))
        texts.append(words)
    path = os.path.join(folder, f"generated-{seed}.jsonl")
    with open(path, "w", encoding="utf-8") as file:
        for i, words in enumerate(texts):
            file.write(json.dumps({"id": str(i), "text": " ".join(f"w{w}" for w in words)}) + "\n")
    return path


def run(bandmill, folder, rule, threshold, arguments):
    """The rows, and how many pairs were compared."""
    report = os.path.join(folder, "report.json")
    done = bandmill.run("pairs", "-q", "--candidates", rule, "--threshold", repr(threshold), "--report", report, "--force",
                        "--temp-dir", folder, *arguments)
    with open(report, encoding="utf-8") as file:
        told = json.load(file)
    return done.stdout, told


def allowed(bandmill, folder, threshold, path):
    """Pairs of different documents whose sizes allow the threshold."""
    out = os.path.join(folder, "sig")
    bandmill.run("sign", "-q", "--shingle", "word:1", "--force", "-o", out, path)
    sizes = np.load(os.path.join(out, "n_shingles.npy")).astype(np.float64)
    _, first = np.unique(np.load(os.path.join(out, "content_hash.npy")), axis=0, return_index=True)
    sizes = sizes[first]
    sizes = np.sort(sizes[sizes > 0])
    return sum(int(np.count_nonzero(sizes[:i] / sizes[i] >= threshold)) for i in range(len(sizes)))


def check_generated(claims, bandmill, folder, seed):
    path = generated(folder, seed)
    for threshold in (1e-9, 0.25, 1 / 3, 0.5, 0.75, 0.8, 0.9, 1.0):
        text = ["--shingle", "word:1", path]
        wanted, _ = run(bandmill, folder, "all", threshold, ["--threads", "2", *text])
        got, told = run(bandmill, folder, "length", threshold, ["--threads", "8", *text])
        claims.check(f"generated {seed} at {threshold}: length equals all, {wanted.count(10) - 1} pairs", got == wanted)
        n = allowed(bandmill, folder, threshold, path)
        claims.check(f"generated {seed} at {threshold}: {n} pairs are compared", told["counts"]["candidates"] == n,
                     told["counts"]["candidates"])


def check_corpus(claims, bandmill, folder, name, threshold, arguments):
    wanted, _ = run(bandmill, folder, "all", threshold, arguments)
    got, _ = run(bandmill, folder, "length", threshold, arguments)
    claims.check(f"{name} at {threshold}: length equals all, {wanted.count(10) - 1} pairs", got == wanted)
    for more in {"oeb_us_uk": (["--threads", "1"], ["--threads", "8"]),
                 "scancode_rules": (["--threads", "1", "--memory", "28M"],)}.get(name, ()):
        got, told = run(bandmill, folder, "length", threshold, [*more, *arguments])
        claims.check(f"{name}: so it does with {' '.join(more)}", got == wanted)
        place = "file" if "--memory" in more else "memory"
        claims.check(f"{name}: and its sets lay in {'a file' if place == 'file' else place}",
                     told["run"]["temporary_files"]["sets_from"] == place, told["run"]["temporary_files"])


def main():
    args = harness.arguments("pairs by the sizes of sets against all pairs")
    claims, bandmill = harness.Claims(), harness.Program(args.program, args.server)
    with harness.scratch() as folder:
        check_generated(claims, bandmill, folder, 1)
        for corpus in prepared(folder, args.size):
            check_corpus(claims, bandmill, folder, *corpus)
    claims.end()


if __name__ == "__main__":
    main()
