# SPDX-License-Identifier: Apache-2.0
"""text_model.py -- cli.md 3 in plain Python: from text to units, shingles and sets; the slow, literal way.

Character data come from Python's unicodedata, whose version differs between Pythons; `common_code_points` are those that
were assigned in Unicode 3.2 (a copy of which every Python holds) or, where Python's version is not newer than 15.0, in
Python's: they exist in every version that can meet here. Scripts are not in unicodedata; SPLIT_SCRIPTS is from Scripts.txt
15.0. Simple lower case: Python has the full mapping, which differs for one character alone, U+0130."""
import bisect
import collections
import functools
import os
import re
import unicodedata

WHITE_SPACE = frozenset([*range(0x09, 0x0E), 0x20, 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F,
                         0x3000])
BETWEEN_WORDS = re.compile("[" + "".join(map(chr, sorted(WHITE_SPACE))) + "]+")
ASCII_WORD = re.compile("[A-Za-z0-9]+")
# Script Han, Hiragana, Katakana, Thai, Lao, Khmer, Myanmar: first and last code point of each run.
SPLIT_SCRIPTS = [
    (0x0E01, 0x0E3A), (0x0E40, 0x0E5B), (0x0E81, 0x0E82), (0x0E84, 0x0E84), (0x0E86, 0x0E8A), (0x0E8C, 0x0EA3),
    (0x0EA5, 0x0EA5), (0x0EA7, 0x0EBD), (0x0EC0, 0x0EC4), (0x0EC6, 0x0EC6), (0x0EC8, 0x0ECE), (0x0ED0, 0x0ED9),
    (0x0EDC, 0x0EDF), (0x1000, 0x109F), (0x1780, 0x17DD), (0x17E0, 0x17E9), (0x17F0, 0x17F9), (0x19E0, 0x19FF),
    (0x2E80, 0x2E99), (0x2E9B, 0x2EF3), (0x2F00, 0x2FD5), (0x3005, 0x3005), (0x3007, 0x3007), (0x3021, 0x3029),
    (0x3038, 0x303B), (0x3041, 0x3096), (0x309D, 0x309F), (0x30A1, 0x30FA), (0x30FD, 0x30FF), (0x31F0, 0x31FF),
    (0x32D0, 0x32FE), (0x3300, 0x3357), (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xA9E0, 0xA9FE), (0xAA60, 0xAA7F),
    (0xF900, 0xFA6D), (0xFA70, 0xFAD9), (0xFF66, 0xFF6F), (0xFF71, 0xFF9D), (0x16FE2, 0x16FE3), (0x16FF0, 0x16FF1),
    (0x1AFF0, 0x1AFF3), (0x1AFF5, 0x1AFFB), (0x1AFFD, 0x1AFFE), (0x1B000, 0x1B122), (0x1B132, 0x1B132),
    (0x1B150, 0x1B152), (0x1B155, 0x1B155), (0x1B164, 0x1B167), (0x1F200, 0x1F200), (0x20000, 0x2A6DF),
    (0x2A700, 0x2B739), (0x2B740, 0x2B81D), (0x2B820, 0x2CEA1), (0x2CEB0, 0x2EBE0), (0x2F800, 0x2FA1D),
    (0x30000, 0x3134A), (0x31350, 0x323AF)]
# Default_Ignorable_Code_Point of DerivedCoreProperties.txt 15.0: first and last of each run.
DEFAULT_IGNORABLE = [
    (0x00AD, 0x00AD), (0x034F, 0x034F), (0x061C, 0x061C), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F),
    (0x200B, 0x200F), (0x202A, 0x202E), (0x2060, 0x206F), (0x3164, 0x3164), (0xFE00, 0xFE0F), (0xFEFF, 0xFEFF),
    (0xFFA0, 0xFFA0), (0xFFF0, 0xFFF8), (0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A), (0xE0000, 0xE0FFF)]
INVISIBLE = {cp: "" for first, last in DEFAULT_IGNORABLE for cp in range(first, last + 1)}
INVISIBLE[0x200B] = " "
DEFAULT = ("invisible", "lower")  # of --normalize
SPLIT_FIRST = [first for first, _ in SPLIT_SCRIPTS]


def common_code_points():
    python_is_old = tuple(map(int, unicodedata.unidata_version.split("."))) <= (15, 0, 0)
    assigned = unicodedata if python_is_old else unicodedata.ucd_3_2_0
    return [cp for cp in range(0x110000) if not 0xD800 <= cp < 0xE000 and assigned.category(chr(cp)) not in ("Cn", "Co")]


def in_split_script(char):
    at = bisect.bisect_right(SPLIT_FIRST, ord(char)) - 1
    return at >= 0 and ord(char) <= SPLIT_SCRIPTS[at][1]


@functools.lru_cache(maxsize=None)
def kind_of(char):
    """The first letter of its category, and whether its script is split."""
    return unicodedata.category(char)[0], in_split_script(char)


def lower(char):
    return "i" if char == "\u0130" else char.lower()


class PerCharacter(dict):
    """For str.translate: what becomes of a character, worked out when it first comes."""

    def __init__(self, rule):
        super().__init__()
        self.rule = rule

    def __missing__(self, code_point):
        self[code_point] = self.rule(chr(code_point))
        return self[code_point]


LOWER = PerCharacter(lower)  # one by one: Python's own looks at neighbours (final sigma)
WITHOUT_MARKS = PerCharacter(lambda c: "" if unicodedata.category(c) == "Mn" else c)
DIGITS = PerCharacter(lambda c: "0" if unicodedata.category(c) == "Nd" else c)
WITHOUT_PUNCTUATION = PerCharacter(lambda c: "" if unicodedata.category(c)[0] == "P" else c)


def without_invisible(text):
    """Without what is not seen, and then without each run of marks that follows no letter or number."""
    if text.isascii():
        return text
    kept, after_base = [], False
    for char in text.translate(INVISIBLE):
        kind = unicodedata.category(char)[0]
        if kind != "M":
            after_base = kind in "LN"
        if kind != "M" or after_base:
            kept.append(char)
    return "".join(kept)


def normalize(text, rules):
    """`rules`: a set of invisible nfc nfkc lower strip-accents digits punct; always applied in this order."""
    if "invisible" in rules:
        text = without_invisible(text)
    for form in ("nfc", "nfkc"):
        if form in rules:
            text = unicodedata.normalize(form.upper(), text)
    if "lower" in rules:
        text = text.translate(LOWER)
    if "strip-accents" in rules:
        text = unicodedata.normalize("NFC", unicodedata.normalize("NFD", text).translate(WITHOUT_MARKS))
    if "digits" in rules:
        text = text.translate(DIGITS)
    if "punct" in rules:
        text = text.translate(WITHOUT_PUNCTUATION)
    return text


def split_space(text):
    if not any(c in text for c in "\x1c\x1d\x1e\x1f"):
        return text.split()  # parts at WHITE_SPACE and these four
    return [word for word in BETWEEN_WORDS.split(text) if word]


def split_alnum(text):
    """Runs of L, M, N; a character of a split script with the marks that follow it is a word of its own. A mark belongs to
    the word that it follows, of whichever script both are (cli.md leaves open what a Thai mark after a Latin letter is);
    where there is no word before it, it begins one, of its script's kind."""
    if text.isascii():
        return ASCII_WORD.findall(text)
    words, word, split = [], "", False
    for char in text + " ":
        kind, of_split_script = kind_of(char)
        mark_follows = kind == "M" and word
        if kind in "LMN" and (mark_follows or not (split or of_split_script)):
            word += char
            continue
        if word:
            words.append(word)
        word, split = (char, of_split_script) if kind in "LMN" else ("", False)
    return words


def english():
    """The words of the list `en`: data, not a rule, so they are read where they stand."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "src", "text", "stop_words_en.c")
    with open(path, encoding="utf-8") as file:
        return frozenset("".join(re.findall(r'^ +"([^"]*)"', file.read(), re.MULTILINE)).split(" "))


NOT_OF_TEXTS = frozenset("\ufffd" + "".join(map(chr, range(32)))) - frozenset("\t\n\f\r")


def unreadable(text):
    """Was it written in another encoding than UTF-8, by the rule of docs/text.md?"""
    n = sum(map(text.count, NOT_OF_TEXTS.intersection(text)))
    return n > 2 and 10 * n > len(text)


def units(text, options):
    """(units, glue) of a document: what K of make a shingle, and what joins them."""
    if unreadable(text):
        return [], " "
    text = normalize(text, options["normalize"])
    if options["kind"] in ("word", "stopword"):
        return (split_alnum if options["words"] == "alnum" else split_space)(text), " "
    if options["kind"] == "char":
        return list(" ".join(split_space(text))), ""
    return [bytes([byte]) for byte in text.encode("utf-8")], ""


def sequence(text, options):
    """The shingles of a document as bytes, in order, with repeats."""
    parts, glue = units(text, options)
    k = units_of(options)
    if options["kind"] == "byte":
        data = b"".join(parts)
        windows = [data[i:i + k] for i in range(len(data) - k + 1)]
    else:
        windows = [glue.join(parts[i:i + k]).encode("utf-8") for i in range(len(parts) - k + 1)]
    if 1 <= len(parts) < k:
        return [joined(text, options)] if options["short"] == "whole" else []
    if options["kind"] == "stopword":
        return [window for part, window in zip(parts, windows) if part in options["stopwords"]]
    return windows


def joined(text, options):
    """All units and what joins them, as bytes."""
    parts, glue = units(text, options)
    return b"".join(parts) if options["kind"] == "byte" else glue.join(parts).encode("utf-8")


def units_of(options):
    """Units of a shingle: K, and the stop word before K words."""
    return options["k"] + (options["kind"] == "stopword")


def elements(shingles, options):
    """What a document is a set of: its shingles; of a bag (shingle, n), with n > 1, for later occurrences."""
    if not options["bag"]:
        return frozenset(shingles)
    counts = collections.Counter(shingles)
    return frozenset(shingle if n == 1 else (shingle, n) for shingle, count in counts.items() for n in range(1, count + 1))


def element_hash(element, shingle_hash):
    """kernels/occurrence.h from its words; `shingle_hash`: of a shingle."""
    if isinstance(element, bytes):
        return shingle_hash(element)
    mask = (1 << 64) - 1
    k = (shingle_hash(element[0]) + (element[1] - 1) * 0x9E3779B97F4A7C15) & mask
    k = ((k ^ k >> 33) * 0xFF51AFD7ED558CCD) & mask
    k = ((k ^ k >> 33) * 0xC4CEB9FE1A85EC53) & mask
    return k ^ k >> 33


def jaccard(a, b):
    """|A and B| / |A or B| in double, of two sets with at least one element."""
    both = len(a & b)
    return both / (len(a) + len(b) - both)


def option_arguments(options):
    return ["--normalize", ",".join(sorted(options["normalize"])) or "none", "--words", options["words"], "--shingle",
            f"{options['kind']}:{options['k']}", "--short", options["short"], *(["--bag"] if options["bag"] else [])]


def text_options(normalize=(), words="alnum", kind="word", k=5, short="whole", bag=False):
    return {"normalize": frozenset(normalize), "words": words, "kind": kind, "k": k, "short": short, "bag": bag,
            "stopwords": english() if kind == "stopword" else None}
