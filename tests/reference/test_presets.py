# SPDX-License-Identifier: Apache-2.0
"""`--preset` against the tools that the presets are of, on prose as it is: punctuation, white space, all the scripts of udhr2.

    text-dedup   text-dedup 0.4.0 itself: its embed_func, from a text to the words of all bands
    datasketch   datasketch 2 itself, given the tokens that text_model.py cuts by the options beside the preset
    datatrove    datatrove 0.10.1 itself, but with words parted at white space where it has a tokenizer (spaCy is not there): its
                 simplification, its 5-grams, its words of a signature
    slimpajama   nothing on PyPI: the few lines of its to_hash.py, over datasketch's MinHash of scheme legacy
    SEDD         nothing on PyPI, and its normaliser is not ours: the words of 13 lower-case words, over the same

nemo needs a GPU and lance tokens of its index: test_schemes.py has their words, and docs/cli.md what is not the same. Where a
preset cannot be the same, docs/cli.md says so, and here the texts that it is not the same for are those that have the reason."""
import glob
import json
import os
import re
import string
import sys
import types
import unicodedata
import zipfile

import harness

np, datasketch, xxhash = harness.need_modules("numpy", "datasketch", "xxhash")
import text_model


def load_text_dedup():
    """text_dedup.minhash, from a package installed without what it depends on: what makes its messages and its command line is
    replaced by nothing. None where it is not there."""
    class Nothing:
        def __getattr__(self, name):
            return lambda *args, **named: (lambda f: f)
    import logging
    rich = types.ModuleType("rich.logging")
    rich.RichHandler = lambda **named: logging.NullHandler()
    options = types.ModuleType("click_option_group")
    options.optgroup = Nothing()
    for name, module in (("rich", types.ModuleType("rich")), ("rich.logging", rich), ("click_option_group", options)):
        sys.modules.setdefault(name, module)
    try:
        import text_dedup.minhash as tool
    except ModuleNotFoundError as error:
        if error.name != "text_dedup" or os.environ.get("BANDMILL_REQUIRE_PYTHON") == "1":
            raise
        return None
    return tool


def prose(size):
    """[(id, text)]: what a corpus may lack, paragraphs of this repository's pages, licence texts and notices, all languages of udhr2 in
    paragraphs. Without the corpora each preset still has texts that it cuts as its tool does."""
    texts = ["Hello, world!", "", ",", "one two", "a_b __init__ snake_case, of_all (things) -- and 1,000.5 more...",
             "\u0130STANBUL'da, \u0391\u03a3\u03a3 \u039f\u0394\u039f\u03a3 and four five six",
             "na\u00efve caf\u00e9\u2014\u201cquoted\u201d text\u2026 with \u00a0 blanks\tand\nlines, x\u00b2 \u2167 \u203f done"]
    for page in sorted(glob.glob(os.path.join(harness.ROOT, "docs", "*.md"))):
        parts = harness.read_file(page).decode().split("\n\n")
        texts += [part for part in parts if len(part.split()) > 15][:5]
    path = harness.corpus_file("scancode_rules", "docs.jsonl.zst")
    if path:
        lines = harness.unzstd(path).decode().rstrip("\n").split("\n")
        texts += [json.loads(line)["text"] for line in lines[:: len(lines) // size]][:size]
    path = harness.corpus_file("udhr2", "udhr2.zip")
    if path:
        with zipfile.ZipFile(path) as archive:
            names = [n for n in archive.namelist() if n.endswith(".txt")]
            for name in names[:: max(1, len(names) * 8 // size)]:
                parts = archive.read(name).decode("utf-8", "replace").split("\n\n")
                texts += [part for part in parts if part.strip()][:8]
    # A tool that was built with another Unicode than ours may know a character that the other does not.
    known = set(text_model.common_code_points())
    return [(str(i), text) for i, text in enumerate(texts) if all(ord(c) in known for c in text)]


def lowers_alike(text):
    """Does Python lower it as the simple mapping does?"""
    return text.lower() == text.translate(text_model.LOWER)


def signed(bandmill, folder, docs, name, *more):
    out = os.path.join(folder, "signed-" + name)
    bandmill.run("sign", "-q", "--force", "--preset", name, *more, "-o", out, docs)
    return np.load(os.path.join(out, "signatures.npy"))


def check_same(claims, what, texts, got, wanted, why_not):
    """Rows are equal but for texts with a reason; wanted: None where the tool has no signature."""
    rows = [(text, row, right) for (_, text), row, right in zip(texts, got, wanted) if right is not None]
    other = [text for text, row, right in rows if not why_not(text) and (row != right).any()]
    excused = sum(map(bool, (why_not(text) for text, _, _ in rows)))
    claims.check(f"{what}: {len(rows) - excused} of {len(rows)} texts have its words ({excused} have a reason not to)",
                 not other and len(rows) - excused > 0, (len(other), other[:1]))
    return rows


def text_dedup(claims, bandmill, folder, docs, texts):
    tool = load_text_dedup()
    if tool is None:
        print("note: text-dedup is not there, its words are not compared (pip install --no-deps text-dedup==0.4.0)")
        return
    prime, low = np.uint64(2**61 - 1), np.uint32(2**32 - 1)
    for k, hash_name, hash_func in ((240, "sha1", tool.sha1_hash), (250, "xxh3", tool.xxh3_32hash)):
        rng = np.random.RandomState(tool.SEED)
        drawn = rng.randint(1, prime, size=(k,), dtype=np.uint64), rng.randint(0, prime, size=(k,), dtype=np.uint64)
        bands = tool.optimal_param(0.7, k)
        ranges = [(i * bands[1], (i + 1) * bands[1]) for i in range(bands[0])]

        def bands_of(text):
            if len(tool.NON_ALPHA.split(text.lower())) < 5:
                return None  # such a document is dropped before it is signed
            return tool.embed_func(text, 0, num_perm=k, ngram_size=5, min_length=5, hashranges=ranges, permutations=drawn,
                                   hash_func=hash_func, dtype=np.uint64, max_hash=low, modulo_prime=prime)[tool.SIGNATURE_COLUMN]

        def words_of(text):
            made = bands_of(text)
            return made and np.frombuffer(b"".join(made), dtype=">u8").astype(np.uint32)
        more = [] if hash_name == "sha1" else ["--hash", hash_name, "--perms", k]
        got = signed(bandmill, folder, docs, "text-dedup", *more)
        check_same(claims, f"text-dedup 0.4.0, {hash_name}, K={k}", texts, got, [words_of(text) for _, text in texts],
                   lambda text: not lowers_alike(text))
        check_export(claims, bandmill, folder, bands, [bands_of(text) if lowers_alike(text) else None for _, text in texts])


def check_export(claims, bandmill, folder, plan, wanted):
    """`export --to text-dedup` of what was signed last: its step's own column; wanted: None where that has nothing to compare."""
    parquet = harness.need_modules("pyarrow.parquet").parquet
    out = os.path.join(folder, f"bands-{plan[0]}-{plan[1]}")
    bandmill.run("export", "-q", os.path.join(folder, "signed-text-dedup"), "--to", "text-dedup", "--bands", plan[0], "--rows", plan[1], "-o", out)
    got = parquet.read_table(os.path.join(out, "signatures.parquet"))["__signatures__"].to_pylist()
    rows = [(i, right) for i, right in enumerate(wanted) if right is not None]
    other = [i for i, right in rows if got[i] != right]
    claims.check(f"text-dedup 0.4.0, bands of {plan}: {len(rows) - len(other)} of {len(rows)} exported rows are those of its step",
                 rows and not other, other[:3])


def of_datasketch(tokens, scheme, k=128):
    if not tokens:
        return None
    sketch = datasketch.MinHash(num_perm=k, seed=1, scheme=scheme)
    sketch.update_batch(list(tokens))
    return sketch.digest()


def datasketch_itself(claims, bandmill, folder, docs, texts):
    options = text_model.text_options(normalize=("invisible", "lower"), kind="word", k=3)  # the preset has no list of its own
    got = signed(bandmill, folder, docs, "datasketch", "--shingle", "word:3")
    wanted = [of_datasketch(set(text_model.sequence(text, options)), "affine32") for _, text in texts]
    check_same(claims, "datasketch 2, tokens of three words", texts, got, wanted, lambda text: False)


def datatrove(claims, bandmill, folder, docs, texts):
    try:
        from datatrove.pipeline.dedup import minhash
        from datatrove.utils.text import simplify_text
    except ImportError:
        if os.environ.get("BANDMILL_REQUIRE_PYTHON") == "1":
            raise
        print("note: datatrove is not there, its words are not compared")
        return
    minhash.load_word_tokenizer = lambda language: types.SimpleNamespace(word_tokenize=str.split)
    config = minhash.MinhashConfig(hash_config=minhash.HashConfig(hash_fc="xxhash", precision=64))
    step = minhash.MinhashDedupSignature(output_folder="unused", config=config)
    step._hash_func = lambda shingle: xxhash.xxh64_intdigest(shingle.encode())  # its own leaves that to an older xxhash

    def words_of(text):
        shingles = step.get_shingles(text)
        if len(shingles) == 0:
            return None
        return np.array([w for bucket in step.get_signature(shingles) for w in bucket], dtype=np.uint64)

    def reason(text):
        """Other words: numbers become one 0 there, and some characters that part words here do not there."""
        options = text_model.text_options(normalize=("lower", "strip-accents", "digits"), words="alnum", kind="word", k=1)
        return text_model.units(text, options)[0] != simplify_text(text).split()
    got = signed(bandmill, folder, docs, "datatrove")
    rows = check_same(claims, "datatrove 0.10.1, words parted at white space", texts, got, [words_of(text) for _, text in texts],
                      reason)
    same = sum(bool((row == right).all()) for _, row, right in rows)
    claims.check(f"datatrove 0.10.1: two texts of five have its words: {same} of {len(rows)}", 5 * same >= 2 * len(rows))


def ascii_punctuation_dropped(text):
    return text.translate(str.maketrans("", "", string.punctuation))


def slimpajama(claims, bandmill, folder, docs, texts):
    """to_hash.py of SlimPajama: lower case, without ASCII punctuation, white space collapsed, 5-grams of characters; NFC before."""
    def tokens(text):
        text = ascii_punctuation_dropped(unicodedata.normalize("NFC", text).lower())
        text = re.sub(r"\s+", " ", text.strip())
        return {text[i:i + 5].encode() for i in range(len(text) - 4)}

    def reason(text):
        text = unicodedata.normalize("NFC", text)
        ours = text_model.normalize(text, {"lower", "punct"})
        theirs = ascii_punctuation_dropped(text.lower())
        return ours != theirs or re.sub(r"\s+", " ", theirs.strip()) != " ".join(text_model.split_space(theirs))
    got = signed(bandmill, folder, docs, "slimpajama")
    check_same(claims, "SlimPajama as published", texts, got, [of_datasketch(tokens(text), "legacy") for _, text in texts], reason)


def sedd(claims, bandmill, folder, docs, texts):
    """13-grams of words parted at white space, in lower case, for texts that its own normaliser leaves as they are."""
    options = text_model.text_options(normalize=("lower",), words="space", kind="word", k=13)
    got = signed(bandmill, folder, docs, "SEDD")
    check_same(claims, "SEDD's 13 words over datasketch", texts, got,
               [of_datasketch(set(text_model.sequence(text, options)), "legacy") for _, text in texts], lambda text: False)


def main():
    args = harness.arguments("presets against the tools that they are of")
    claims, bandmill = harness.Claims(), harness.Program(args.program, args.server)
    texts = prose({"small": 100, "normal": 600, "full": 4000}[args.size])
    with harness.scratch() as folder:
        docs = os.path.join(folder, "docs.jsonl")
        with open(docs, "w", encoding="utf-8") as file:
            file.writelines(json.dumps({"id": id_, "text": text}) + "\n" for id_, text in texts)
        for compare in (text_dedup, datasketch_itself, datatrove, slimpajama, sedd):
            compare(claims, bandmill, folder, docs, texts)
    claims.end()


if __name__ == "__main__":
    main()
