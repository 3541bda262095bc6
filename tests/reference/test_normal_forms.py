# SPDX-License-Identifier: Apache-2.0
"""nfc, nfkc and strip-accents are those of UAX #15, whatever utf8proc is below: each text is normalised by the program and,
apart from it, by Python's unicodedata (text_model.py), and both are signed as one byte shingle of the whole text.

Over the code points that every version has: all of them alone and between marks; U+11A6 to U+11C3 behind every LV and LVT
syllable's kind; all pairs and random sequences of marks, of which some are dropped (Mn) and some stay (Mc, Me), with
starters, syllables and U+1712, a mark of class 0, between them."""
import json.encoder
import os
import random
import time
import unicodedata

import harness

np = harness.need_modules("numpy")
import text_model

FORMS = {"nfc": ("nfc",), "nfkc": ("nfkc",), "strip": ("strip-accents",),
         "all": ("nfkc", "lower", "strip-accents", "digits", "punct"), "seen": ("invisible",),
         "seen_all": ("invisible", "nfkc", "lower", "strip-accents", "punct")}
NO_CHARACTER = "\uffff"
ALWAYS = ["--shingle", "byte:1024", "--perms", "2", "--id-field", "none", "--device", "cpu"]


class Signer:
    """Signatures of texts as the program makes them."""

    def __init__(self, bandmill, folder):
        self.bandmill, self.folder, self.n = bandmill, folder, 0
        self.texts = self.plain = None

    def sign(self, texts, normalize):
        self.n += 1
        path, target = (os.path.join(self.folder, f"{self.n}{ending}") for ending in (".jsonl", ""))
        with open(path, "w", encoding="utf-8", newline="\n") as file:
            file.write("".join([f'{{"text": {quoted}}}\n' for quoted in map(json.encoder.encode_basestring, texts)]))
        self.bandmill.run("sign", path, "-o", target, "--normalize", normalize, *ALWAYS)
        words = np.load(os.path.join(target, "signatures.npy"))
        os.remove(path)
        assert len(words) == len(texts)
        return words

    def differing(self, texts, form):
        """What is wrong for these texts, or nothing."""
        assert max(map(len, texts)) * 4 * 18 < 1 << 20
        # In one go: normalisation does not reach over a code point that is none, which is in no text.
        wanted = text_model.normalize(NO_CHARACTER.join(texts), form).split(NO_CHARACTER)
        assert len(wanted) == len(texts)
        short = [i for i, text in enumerate(wanted) if len(text) < 256 or len(text.encode("utf-8")) < 1024]
        ours = self.sign([texts[i] for i in short], ",".join(form))
        if texts is not self.texts:  # what a form leaves as it is is the same for all forms
            self.texts, self.plain = texts, self.sign(texts, "none")
        changed, right = [i for i in short if wanted[i] != texts[i]], self.plain.copy()
        right[changed] = self.sign([wanted[i] for i in changed], "none")
        wrong = np.flatnonzero((ours != right[short]).any(axis=1))
        if len(wrong):
            first = short[wrong[0]]
            return f"{len(wrong)} of {len(short)} differ, first {points(texts[first])}, which becomes {points(wanted[first])}"
        return "" if len(short) * 10 >= len(texts) * 9 else f"{len(short)} of {len(texts)} texts are short enough"


def points(text):
    return " ".join(f"U+{ord(char):04X}" for char in text)


def single_code_points(common):
    return [chr(cp) for cp in common] + [f"o\u0301{chr(cp)}\u0323\u11a8" for cp in common]


def hangul():
    """Every LV, and every 28th LVT, before each of U+11A6 to U+11C3 and U+D7FB, alone and with more behind; L before V."""
    first = range(0xAC00, 0xD7A4, 28)
    behind = [*range(0x11A6, 0x11C5), 0xD7FB, 0x1161, 0x1100, 0x0301]
    texts = [chr(lv + t) + chr(b) + more for lv in first for t in (0, 5) for b in behind for more in ("", "\u11a8")]
    texts += [chr(lead) + chr(v) + chr(t) for lead in range(0x10FF, 0x1114) for v in range(0x1160, 0x1178)
              for t in range(0x11A6, 0x11C5)]
    return texts


def pairs_of_marks(marks):
    return [f"o{first}{second}" for first in marks for second in marks]


def random_sequences(rng, common, n):
    marks = [chr(cp) for cp in common if unicodedata.category(chr(cp))[0] == "M"]
    ordered = [mark for mark in marks if unicodedata.combining(mark)]
    spacing = [mark for mark in ordered if unicodedata.category(mark) != "Mn"]
    loose = [mark for mark in marks if not unicodedata.combining(mark) and unicodedata.category(mark) == "Mn"]
    composed = [chr(cp) for cp in common if unicodedata.decomposition(chr(cp))]
    starters = list("\u00ad\u034f\u200b\u200d\ufe0f\u3164aeioA=<>\u09c7\u0dd9\u1100\u1161\u11a7\u11a8\uac00\uac01\U00011131\U0001d157 .\u3002")
    kinds = (ordered, ordered, spacing, spacing, loose, marks, starters, composed)
    draw = np.random.default_rng(rng.randrange(1 << 32))
    lengths = draw.integers(2, 10, n)
    kind = draw.integers(0, len(kinds), lengths.sum())
    first, size = np.cumsum([0, *map(len, kinds[:-1])]), np.array([len(chars) for chars in kinds])
    chars = np.array([char for chars in kinds for char in chars])
    text = "".join(chars[first[kind] + (draw.random(len(kind)) * size[kind]).astype(np.int64)].tolist())
    ends = np.cumsum(lengths).tolist()
    return [text[end - length:end] for end, length in zip(ends, lengths.tolist())]


def main():
    args = harness.arguments("normal forms against Python's", ("--seed", {"type": int, "default": 15}),
                             ("--form", {"choices": list(FORMS), "action": "append"}))
    claims, bandmill = harness.Claims(), harness.Program(args.program, args.server)
    rng, started, common = random.Random(args.seed), time.monotonic(), text_model.common_code_points()
    n_random = {"small": 20000, "normal": 40000, "full": 2500000}[args.size]
    print(f"seed {args.seed}, Unicode {unicodedata.unidata_version} in Python, {len(common)} code points")
    marks = [chr(cp) for cp in common if unicodedata.combining(chr(cp))]
    if args.size != "full":
        # One of each class and category, and a few more: the pairs of all are 800,000.
        kinds = {(unicodedata.combining(mark), unicodedata.category(mark)): mark for mark in marks}
        marks = [*kinds.values(), *rng.sample(marks, 100)]
    with harness.scratch() as folder:
        signer = Signer(bandmill, folder)
        for what, texts in (("all code points", single_code_points(common)), ("Hangul", hangul()),
                            ("pairs of marks", pairs_of_marks(marks)),
                            ("random sequences", random_sequences(rng, common, n_random))):
            for form in [FORMS[name] for name in args.form or FORMS]:
                claims.attempt(f"{','.join(form)}: {what}, {len(texts)} texts", lambda: signer.differing(texts, form))
    print(f"{time.monotonic() - started:.0f} s")
    claims.end()


if __name__ == "__main__":
    main()
