#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Write src/text/unicode_tables.c from the Unicode Character Database.

    scripts/gen-unicode-tables.py [UCD_DIR] > src/text/unicode_tables.c

UCD_DIR (default /usr/share/unicode, the Debian package unicode-data) must hold UnicodeData.txt,
PropList.txt, Scripts.txt, DerivedCoreProperties.txt and DerivedAge.txt. The result is committed, so that a build needs
neither Python nor the database, and so that signatures do not depend on what a machine has installed.

One trie of two levels: stage 1 is indexed by code point / 128 and gives a block, stage 2 by block
and code point % 128 and gives a row of bm_char_rows, which code points of the same properties share:
  lower   the simple lower-case mapping (field 13) - code point
  info    one byte, the BM_CLASS_* and BM_IS_* values of unicode_tables.h
  ccc     one byte, the canonical combining class
And a list, by code point: compatibility decompositions of characters that are newer than 13.0, the
oldest version that a utf8proc may have. All are one code point to one, and none is canonical.
"""
import itertools
import re
import sys

BLOCK = 128
RUN = 8  # equal values that are written as a range
LAST = 0x110000
SPLIT_SCRIPTS = {"Han", "Hiragana", "Katakana", "Thai", "Lao", "Khmer", "Myanmar"}
# The same values as in unicode_tables.h.
OTHER, SPACE, WORD, SPLIT, MARK, SPLIT_MARK = range(6)
IS_IGNORABLE = 0x08
IS_MN, IS_ND, IS_P, IS_CN = 0x10, 0x20, 0x40, 0x80
OLDEST = (13, 0)
ZERO_WIDTH_SPACE = 0x200B


def ranges(path):
    """(first, last, property) of each line of a file in the format of PropList.txt."""
    with open(path, encoding="utf-8") as file:
        for line in file:
            match = re.match(r"([0-9A-F]+)(?:\.\.([0-9A-F]+))?\s*;\s*([\w.]+)", line)
            if match:
                first = int(match[1], 16)
                yield first, int(match[2], 16) if match[2] else first, match[3]


def version(path):
    with open(path, encoding="utf-8") as file:
        return re.match(r"# \w+-(\d+\.\d+\.\d+)\.txt", file.readline())[1]


def unicode_data(path):
    """Of every code point: category and combining class; and the simple lower-case mappings and the
    decompositions."""
    category, ccc, lower, decomposed = ["Cn"] * LAST, bytearray(LAST), {}, {}
    first = None
    with open(path, encoding="utf-8") as file:
        for line in file:
            fields = line.rstrip("\n").split(";")
            code = int(fields[0], 16)
            if fields[1].endswith(", First>"):
                first = code
                continue
            for each in range(first if first is not None else code, code + 1):
                category[each] = fields[2]
                ccc[each] = int(fields[3])
            first = None
            if fields[5]:
                decomposed[code] = fields[5].split()
            if fields[13]:
                lower[code] = int(fields[13], 16)
    return category, ccc, lower, decomposed


def late_compat(decomposed, ages):
    """(code point, what it becomes) of the compatibility decompositions newer than OLDEST."""
    age = {code: tuple(map(int, name.split("."))) for first, last, name in ages
           for code in range(first, last + 1)}
    rows = []
    for code, words in sorted(decomposed.items()):
        if age[code] > OLDEST:
            assert words[0][0] == "<" and len(words) == 2
            to = int(words[1], 16)
            assert to not in decomposed
            rows.append((code, to))
    return rows


def classes(category, spaces, split, ignorable):
    out = bytearray(LAST)
    for code, name in enumerate(category):
        if code in spaces:
            assert name[0] not in "LMN"
            out[code] = SPACE
        elif name[0] == "M":
            out[code] = SPLIT_MARK if code in split else MARK
        elif name[0] in "LN":
            out[code] = SPLIT if code in split else WORD
        if name == "Mn":
            out[code] |= IS_MN
        if name == "Nd":
            out[code] |= IS_ND
        if name[0] == "P":
            out[code] |= IS_P
        if name == "Cn":
            out[code] |= IS_CN
        if code in ignorable:
            assert code not in spaces
            out[code] |= IS_IGNORABLE
    return out


def trie(values):
    blocks, stage1, stage2 = {}, [], []
    for start in range(0, LAST, BLOCK):
        block = tuple(values[start:start + BLOCK])
        if block not in blocks:
            blocks[block] = len(blocks)
            stage2.extend(block)
        stage1.append(blocks[block])
    assert max(stage1) < 256 and max(stage2) < 256
    return stage1, stage2


def array(declaration, values):
    """A run of equal values is a range: `[34 ... 84] = 85,` (gcc and clang)."""
    lines, line, at = [f"{declaration}[{len(values)}] = {{"], "   ", 0
    for value, run in itertools.groupby(values):
        n = len(list(run))
        long = n >= RUN
        for item in [f" [{at} ... {at + n - 1}] = {value},"] if long else [f" {value},"] * n:
            if len(line) + len(item) > 100:
                lines.append(line)
                line = "   "
            line += item
        at += n
    return "\n".join(lines + [line, "};", ""])


def tables(unicode_version, lower, info, ccc, late):
    rows = {}
    stage1, stage2 = trie([rows.setdefault(row, len(rows)) for row in zip(lower, info, ccc)])
    print(f'const char bm_unicode_tables_version[] = "{unicode_version}";\n')
    print(array("const uint8_t bm_char_stage1", stage1))
    print(array("const uint8_t bm_char_stage2", stage2))
    print(array("const bm_char_row bm_char_rows", [f"{{{l}, {i}, {c}}}" for l, i, c in rows]))
    print(array("const uint32_t bm_late_compat", late), end="")


def main():
    ucd = sys.argv[1] if len(sys.argv) > 1 else "/usr/share/unicode"
    category, ccc, lower, decomposed = unicode_data(f"{ucd}/UnicodeData.txt")
    spaces = {c for a, b, name in ranges(f"{ucd}/PropList.txt") if name == "White_Space"
              for c in range(a, b + 1)}
    split = {c for a, b, name in ranges(f"{ucd}/Scripts.txt") if name in SPLIT_SCRIPTS
             for c in range(a, b + 1)}
    ignorable = {c for a, b, name in ranges(f"{ucd}/DerivedCoreProperties.txt") if name == "Default_Ignorable_Code_Point"
                 for c in range(a, b + 1)} - {ZERO_WIDTH_SPACE}
    info = classes(category, spaces, split, ignorable)
    assert all(info[code] == info[small] for code, small in lower.items())  # join_exact.c looks at one of them
    late = late_compat(decomposed, ranges(f"{ucd}/DerivedAge.txt"))
    print("/* SPDX-License-Identifier: Apache-2.0 */\n"
          "/* unicode_tables.c -- made by scripts/gen-unicode-tables.py from the Unicode Character\n"
          " * Database; do not edit. unicode_tables.h explains the numbers.\n"
          " *\n"
          " * Tests: tests/unit/text/test_normalize.c */\n"
          "/* clang-format off */\n"
          '#include "text/unicode_tables.h"\n')
    tables(version(f"{ucd}/PropList.txt"), [lower.get(code, code) - code for code in range(LAST)],
           info, ccc, [code for row in late for code in row])


main()
