# SPDX-License-Identifier: Apache-2.0
"""`invisible` of --normalize in the scripts whose writers need what is not seen: Persian, Hindi, Hebrew with points, Arabic,
Tibetan, Thai, Khmer, Myanmar, Han, German, emoji.

Three that know nothing of each other give the same words: the program, the model of the contract (text_model.py), and the
default word boundaries of UAX #29 as the package uniseg has them. The two definitions agree where no character of the text
joins words there that the contract parts, or the other way round: MidLetter, MidNum, MidNumLet, quotes, ExtendNumLet, Katakana,
digits of Thai, Khmer and Myanmar, numbers that are no digits; these are replaced by blanks. Ignorable characters are strewn over the texts: between letters, before marks, at the ends. Rule WB4 passes over them,
as the contract does. The words of UAX #29 are compared as the program signs them: one by one, with blanks between them, split
at white space and not normalised. Texts are those of the declarations of human rights, where they are there, and some lines
here."""
import json
import os
import random
import unicodedata
import zipfile

import corpora
import harness

np = harness.need_modules("numpy")
import text_model

LINES = {
    "persian": "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645 \u06a9\u062a\u0627\u0628\u200c\u0647\u0627\u06cc "
               "\u062e\u0627\u0646\u0647\u200c\u0647\u0627 \u0631\u0627 \u0628\u0628\u06cc\u0646\u0645\u060c \u06f1\u06f2\u06f3",
    "hindi": "\u0915\u094d\u0937\u0924\u094d\u0930\u093f\u092f \u0930\u093e\u0937\u094d\u091f\u094d\u0930 "
             "\u0936\u094d\u0930\u0940\u092e\u093e\u0928\u094d \u0926\u0941\u0903\u0916 \u0939\u093f\u0902\u0926\u0940\u0964 \u0967\u0968",
    "hebrew": "\u05d1\u05bc\u05b0\u05e8\u05b5\u05d0\u05e9\u05c1\u05b4\u05d9\u05ea \u05d1\u05bc\u05b8\u05e8\u05b8\u05d0 "
              "\u05d0\u05b1\u05dc\u05b9\u05d4\u05b4\u05d9\u05dd\u05be\u05d0\u05b5\u05ea",
    "arabic": "\u0627\u0644\u0652\u062d\u064e\u0645\u0652\u062f\u064f \u0644\u0650\u0644\u0651\u064e\u0647\u0650 "
              "\u0631\u064e\u0628\u0651\u0650 \u0627\u0644\u0652\u0639\u064e\u0627\u0644\u064e\u0645\u0650\u064a\u0646\u064e \u06dd",
    "tibetan": "\u0f56\u0f7c\u0f51\u0f0b\u0f66\u0f90\u0f51\u0f0b\u0f61\u0f72\u0f0b\u0f42\u0f7a\u0f0b\u0f0d \u0f21\u0f22\u0f33\u0f39",
    "thai": "\u0e17\u0e35\u0e48\u0e19\u0e35\u0e48\u0e21\u0e35\u0e19\u0e49\u0e33 \u0e40\u0e1b\u0e47\u0e19 \u0e51\u0e52",
    "khmer": "\u1797\u17b6\u179f\u17b6\u1781\u17d2\u1798\u17c2\u179a \u17e1",
    "myanmar": "\u1019\u103c\u1014\u103a\u1019\u102c\u1005\u102c \u1041",
    "han": "\u845b\U000e0100\u57ce\u5e02 \u6f22\u5b57\u3042\u308a\uac00\ub098\ub2e4",
    "german": "Die Sicher\u00adheits\u00advor\u00adkeh\u00adrung der Stra\u00dfe 12 u\u0308ber \u00c4hnliches",
    "emoji": "one \u2764\ufe0f two \u2708\ufe0f \u26a0\ufe0f 3\ufe0f\u20e3 #\ufe0f\u20e3 \U0001f469\u200d\U0001f4bb \U0001f44d\U0001f3fd end",
}
DECLARATIONS = {"persian": "pes_1", "hindi": "hin", "hebrew": "heb", "arabic": "arb", "tibetan": "bod", "thai": "tha",
                "khmer": "khm", "myanmar": "mya", "han": "cmn_hans", "german": "deu_1996", "vietnamese": "vie", "bengali": "ben"}
# Default_Ignorable, and neither U+200B nor a letter (UAX #29 takes the Hangul fillers for such).
STREWN = "\u00ad\u200c\u200d\u200e\u200f\u2060\ufeff\u202a\u202c\u061c\ufe0f\ufe0e\u034f\u180e\U000e0100\U000e0061"
JOINING = {"MidLetter", "MidNum", "MidNumLet", "Single_Quote", "Double_Quote", "ExtendNumLet", "Katakana"}
WORDS = ["--shingle", "word:2", "--perms", "64", "--id-field", "none", "--device", "cpu"]


def declarations():
    archive = os.path.join(corpora.FOLDER, "udhr2", "udhr2.zip")
    if not os.path.exists(archive):
        print(f"no {archive}: only the lines of this file")
        return {}
    with zipfile.ZipFile(archive) as file:
        names = {os.path.basename(name): name for name in file.namelist()}
        found = {script: names.get(f"{code}.txt") for script, code in DECLARATIONS.items()}
        texts = {script: file.read(name).decode("utf-8") for script, name in found.items() if name}
    return {script: [line for line in text.split("\n") if line.strip()][:20] for script, text in texts.items()}


def strew(rng, text, share):
    """Ignorable characters within and around a text that may have some already."""
    return "".join((rng.choice(STREWN) if rng.random() < share else "") + char for char in text + " ")[:-1]


def plain(text, word_break):
    """Without the characters at which the two definitions part."""
    def parts_them(char):
        number, kind = unicodedata.category(char)[0] == "N", word_break(char)
        return kind in JOINING or (number and (kind != "Numeric" or text_model.in_split_script(char)))
    return "".join(" " if parts_them(char) else char for char in text)


def uax29_words(text, words):
    """What WB gives, of which those with a letter or number are words; without what WB4 passes over."""
    found = (segment for segment in words(text) if any(unicodedata.category(char)[0] in "LN" for char in segment))
    return ["".join(text_model.lower(char) for char in segment if ord(char) not in text_model.INVISIBLE) for segment in found]


class Signer:
    def __init__(self, bandmill, folder):
        self.bandmill, self.folder, self.n = bandmill, folder, 0

    def sign(self, texts, *arguments):
        self.n += 1
        path, target = (os.path.join(self.folder, f"{self.n}{ending}") for ending in (".jsonl", ""))
        with open(path, "w", encoding="utf-8", newline="\n") as file:
            file.writelines(json.dumps({"text": text}, ensure_ascii=False) + "\n" for text in texts)
        self.bandmill.run("sign", path, "-o", target, *WORDS, *arguments)
        return np.load(os.path.join(target, "signatures.npy")), np.load(os.path.join(target, "n_shingles.npy"))

    def differing(self, texts, words, *arguments):
        """What the program, without a word about normalisers, makes of texts, against lists of words."""
        ours = self.sign(texts, *arguments)
        right = self.sign([" ".join(each) for each in words], "--words", "space", "--normalize", "none")
        wrong = np.flatnonzero((ours[0] != right[0]).any(axis=1) | (ours[1] != right[1]))
        return f"{len(wrong)} of {len(texts)}, first {texts[wrong[0]]!a}: {words[wrong[0]]!a}" if len(wrong) else ""


def by_uax29(signer, texts, module):
    texts = [plain(text, lambda char: str(module.word_break(char).value)) for text in texts]
    words = [uax29_words(text, module.words) for text in texts]
    return signer.differing(texts, words)


def main():
    args = harness.arguments("words of the text that is seen", ("--seed", {"type": int, "default": 29}))
    claims, bandmill, rng = harness.Claims(), harness.Program(args.program, args.server), random.Random(args.seed)
    try:
        from uniseg import wordbreak
    except ImportError:
        if os.environ.get("BANDMILL_REQUIRE_PYTHON") == "1":
            raise
        wordbreak = None
        print("Python module uniseg is not there (scripts/install-deps.sh --tests): nothing is compared with it")
    options = text_model.text_options(text_model.DEFAULT, k=1)
    with harness.scratch() as folder:
        signer = Signer(bandmill, folder)
        long = declarations()
        for script in sorted({*LINES, *long}):
            clean = long.get(script, []) + ([LINES[script]] if script in LINES else [])
            texts = [strew(rng, text, share) for text in clean for share in (0.0, 0.1, 0.5)]
            claims.attempt(f"{script}: the model's words of {len(texts)} texts",
                           lambda: signer.differing(texts, [text_model.units(text, options)[0] for text in texts]))
            bare = [text.translate(text_model.INVISIBLE) for text in texts]
            claims.attempt(f"{script}: what is strewn changes nothing",
                           lambda: signer.differing(texts, [text_model.units(text, options)[0] for text in bare]))
            # Far more than a stretch of 16 KiB, and what is dropped stands at the ends of stretches, too.
            whole = [" ".join(texts) * (1 + 40_000 // len(" ".join(texts).encode())), "".join(texts) * 7]
            claims.attempt(f"{script}: {len(whole[0])} characters in one text",
                           lambda: signer.differing(whole, [text_model.units(text, options)[0] for text in whole]))
            if wordbreak:
                claims.attempt(f"{script}: words of UAX #29", lambda: by_uax29(signer, texts, wordbreak))
    claims.end()


if __name__ == "__main__":
    main()
