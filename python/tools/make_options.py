# SPDX-License-Identifier: Apache-2.0
"""make_options.py ROWS.def OUT.py [--check]: the keywords of Python, from the rows of all options (src/options/rows.def).

OUT.py has the words of each option as a type, the keywords of each call with their types, defaults and help, and where
the value of a keyword goes in the structs of the library. --check: exit 1 where OUT.py is not what would be written.
"""

from __future__ import annotations

import ast
import pathlib
import re
import sys

CALLS = {  # the word in the rows, the function, and the type of its keywords
    "SIGN": ("sign", "SignOptions"),
    "DEDUP": ("dedup", "DedupOptions"),
    "PAIRS": ("pairs", "PairsOptions"),
    "TUNE": ("tune", "TuneOptions"),
    "HASH": ("hash_shingles", "HashOptions"),
    "BUILD": ("Index.build", "IndexBuildOptions"),
    "ADD": ("Index.add", "IndexAddOptions"),
    "ASK": ("Index.query", "IndexQueryOptions"),
    "QUERY": ("query", "QueryOptions"),
    "EXPORT": ("export", "ExportOptions"),
    "OVERLAP": ("overlap", "OverlapOptions"),
}
BIT = {word: 1 << i for i, word in enumerate(CALLS)}
READS = sum(BIT[word] for word in ("SIGN", "DEDUP", "PAIRS", "TUNE", "BUILD", "ADD", "ASK", "QUERY", "OVERLAP"))
CUTS = READS & ~BIT["ADD"] & ~BIT["ASK"] & ~BIT["OVERLAP"] | BIT["HASH"]
SETS = {**BIT, "READS": READS, "CUTS": CUTS, "PLANS": CUTS & ~BIT["HASH"] | BIT["EXPORT"]}
SECTIONS = ["of Python alone", "pairs and groups", "output", "text", "signatures", "input", "machine", "general"]
HOW = {"UINT32": "uint32", "UINT64": "uint64", "REAL": "share", "BOOL": "flag"}  # types of a field that are filled by rule


def split(text: str) -> list[str]:
    """What stands between commas, outside of parentheses and strings."""
    out, depth, at = [], 0, 0
    for found in re.finditer(r'"(?:[^"\\]|\\.)*"|[(),]', text):
        depth += {"(": 1, ")": -1}.get(found[0], 0)
        if found[0] == "," and depth == 0:
            out.append(text[at : found.start()].strip())
            at = found.end()
    return [*out, text[at:].strip()]


def inner(text: str) -> tuple[str, list[str]]:
    """NAME(...)"""
    name, rest = text.split("(", 1)
    return name, split(rest.strip()[:-1])


class Paragraph:
    """The rows of an option, by the name of their macro."""

    def __init__(self, section: str, text: str) -> None:
        """Of the lines of a paragraph."""
        self.section = section
        self.rows = [inner(row) for row in re.split(r"\n(?=[A-Z])", text)]

    def of(self, macro: str) -> list[list[str]]:
        """Arguments of the rows with this macro."""
        return [args for name, args in self.rows if name == macro]

    def named(self) -> list[tuple[str, str]]:
        """Keyword, and the field that it is in the library, where that has another name."""
        fields = [string(inner(args[0])[1][1]) for args in self.of("FIELD")]
        keywords = [args[0] for args in self.of("PYTHON")]
        return [(k, f) for k, f in zip(keywords, fields) if f and f != k] if len(fields) == len(keywords) == 1 else []

    def filled(self) -> tuple[str, str, str, str] | None:
        """Keyword, part, member, and how its value is made; None: by hand, or not at all."""
        fields = [inner(args[0]) for args in self.of("FIELD")]
        keywords = self.of("PYTHON")
        if not fields or len(keywords) != 1:
            return None
        kind, row = fields[0]
        place = re.fullmatch(r"PLACE_([A-Z]+)\((\w+)\)", row[3])
        is_size = any(args[0].startswith("SIZE(") for args in self.of("CLI"))
        how = row[4].removeprefix("BM_OPTION_") if kind == "WORD" else "size" if is_size else HOW.get(row[4])
        return (keywords[0][0], place[1].lower(), place[2], how) if place and how else None


def paragraphs(text: str) -> list[Paragraph]:
    """All of them, in order."""
    out, section = [], ""
    for part in re.split(r"\n\n+", text[text.index("/* ---") : text.index("#undef")]):
        found = re.fullmatch(r"/\* --- (.*) --- \*/", part.strip())
        section = found[1] if found else section
        code = re.sub(r"^/\*.*?\*/\n", "", part.strip(), flags=re.S | re.M)
        if not found and code:
            out.append(Paragraph(section, code))
    return out


def string(text: str) -> str | None:
    """C's literal, or several beside each other; NULL: None."""
    found: str | None = None if text == "NULL" else ast.literal_eval("(" + text + ")")
    return found


def calls(text: str) -> list[str]:
    """The words of CALLS that a set has."""
    mask = eval(text, {"__builtins__": {}}, dict(SETS))
    return [word for word in CALLS if mask & BIT[word]]


def module(text: str) -> str:
    """The source of the module."""
    options = paragraphs(text)
    words = {args[0]: [string(word) for word in args[2:]] for one in options for args in one.of("WORDS")}
    types, lines, filled = [], [], []
    keywords: dict[str, list[tuple[int, str]]] = {word: [] for word in CALLS}
    own: dict[tuple[str, str], list[str | None]] = {}  # type, default and line, by call and keyword
    for one in options:
        for name, option, *left_out in one.of("PYTHON_TYPE"):
            chosen = [f'"{w}"' for w in words[option] if w and w not in map(string, left_out)]
            types.append(f"{name} = Literal[{', '.join(chosen)}]")
        for keyword, where, kind, default, line in one.of("PYTHON"):
            lines.append(f'    "{keyword}": {quoted(string(line), len(keyword) + 8)},')
            for call in calls(where):
                keywords[call].append((SECTIONS.index(one.section), keyword))
                own[call, keyword] = [string(kind), string(default), None]
        for where, keyword, *others in one.of("PYTHON_OF"):
            for call in calls(where):
                was = own.setdefault((call, keyword), [None, None, None])
                own[call, keyword] = [string(new) or old for new, old in zip(others, was)]
        filled.append(one.filled())
    out = [HEAD, "", *sorted(types)]
    for call, (function, name) in CALLS.items():
        keywords[call].sort(key=lambda k: k[0])
        out += ["", "", f"class {name}(TypedDict, total=False):", f'    """Keywords of `{function}`."""', ""]
        out += [f"    {keyword}: {own[call, keyword][0]}" for _, keyword in keywords[call]]
    out += ["", "", "# The keywords of each function.", "KEYWORDS: dict[str, Any] = {"]
    out += [f'    "{function}": {name},' for function, name in CALLS.values()]
    out += ["}", "", "# Defaults that are not None.", "DEFAULTS: dict[tuple[str, str], Any] = {"]
    out += [f'    ("{CALLS[call][0]}", "{k}"): {of[1]},' for (call, k), of in own.items() if of[1] not in (None, "None")]
    out += ["}", "", "# None means what is in parentheses.", "LINES = {", *lines, "}"]
    out += ["OWN = {  # where a keyword means something else"]
    own_lines = [(f'    ("{CALLS[call][0]}", "{k}"): ', of[2]) for (call, k), of in own.items() if of[2] is not None]
    out += [f"{name}{quoted(line, len(name))}," for name, line in own_lines]
    out += [
        "}",
        "",
        "# Keyword, part of the options, member, and how its value is made: a word of that option, or by its type.",
    ]
    out += ["FILLED = (", *(f"    ({', '.join(map(quoted, row))})," for row in filled if row is not None), ")"]
    out += ["", "# Keywords that are fields of another name in the library.", "FIELDS = {"]
    out += [*(f'    "{keyword}": "{name}",' for one in options for keyword, name in one.named()), "}"]
    return "\n".join(out) + "\n"


def quoted(text: str | None, before: int = 0) -> str:
    """As ruff writes it, in pieces of a line's length."""
    text = text or ""
    if before + len(text) + 3 <= 128:
        return f"'{text}'" if '"' in text else f'"{text}"'
    pieces, line = [], ""
    for word in re.findall(r"\S+\s*", text):
        if len(line) + len(word) > 110:
            pieces.append(line)
            line = ""
        line += word
    pieces.append(line)
    said = [f"'{piece}'" if '"' in piece else f'"{piece}"' for piece in pieces]
    return "(\n        " + "\n        ".join(said) + "\n    )"


HEAD = '''# SPDX-License-Identifier: Apache-2.0
"""Made by python/tools/make_options.py from src/options/rows.def: the keywords of all calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypedDict

if TYPE_CHECKING:
    from bandmill._kinds import Names, Path, Paths, Preset, Progress, Size
'''


def main() -> int:
    """Write it, or compare."""
    source, out = (pathlib.Path(path) for path in sys.argv[1:3])
    made = module(source.read_text(encoding="utf-8"))
    if "--check" not in sys.argv:
        out.write_text(made, encoding="utf-8")
        return 0
    same = out.exists() and out.read_text(encoding="utf-8") == made
    if not same:
        print(f"{out} is not what {source} makes (python/tools/make_options.py {source} {out})")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
