# SPDX-License-Identifier: Apache-2.0
"""doc_pages.py -- the examples of a Markdown page: what a reader would type, and what the page says comes out.

    Session   a block with lines that begin with `$ `: commands, each followed by what it prints (stdout and stderr together). A line
              `...` stands for any lines.
    Commands  a block whose lines are commands of ours without their output: they must end with 0.
    Code      a fenced block of a language that is run (python, sql), and the block ```text behind it: what it prints.

All else (drawings, layouts, lines of other programs) is no example. A block behind a comment `<!-- not run: REASON -->` is left out, and
counted; one behind `<!-- run: NAME -->` is run after the script setup/NAME.sh has laid out the files that it speaks of."""
import dataclasses
import re

OURS = re.compile(r"^(bandmill |scripts/|bench/|cmake |ctest |zstdcat|cc |\./example|ssh )")
MARK = re.compile(r"^<!-- (not run|run): (.*?) -->$")
RUN_LANGUAGES = ("python", "sql", "sh")


@dataclasses.dataclass
class Example:
    page: str
    line: int  # of the block's first line, from 1
    kind: str  # session, commands, or the words behind the fence
    lines: list  # without indentation
    mark: tuple = ("", "")  # ("run", NAME), ("not run", REASON)
    expected: list = None  # of Code
    expected_line: int = 0


def blocks(text):
    """(first line from 1, words of the fence or None, lines) of every indented and fenced block."""
    lines, at = text.split("\n"), 0
    while at < len(lines):
        if lines[at].startswith("```"):
            fence, start = lines[at][3:].strip(), at + 1
            at = start
            while at < len(lines) and not lines[at].startswith("```"):
                at += 1
            yield start + 1, fence, lines[start:at]
        elif lines[at].startswith("    ") and (at == 0 or not lines[at - 1].strip() or MARK.match(lines[at - 1])):
            start = at
            while at < len(lines) and (lines[at].startswith("    ") or not lines[at].strip()):
                at += 1
            end = at
            while not lines[end - 1].strip():
                end -= 1
            yield start + 1, None, [line[4:] for line in lines[start:end]]
            continue
        at += 1


def mark_of(lines, first):
    """The comment in the line before a block (blank lines between do not count)."""
    at = first - 2
    while at >= 0 and (not lines[at].strip() or lines[at].startswith("```")):
        at -= 1
    found = MARK.match(lines[at]) if at >= 0 else None
    return found.groups() if found else ("", "")


def examples(page, text):
    lines, found = text.split("\n"), []
    for first, fence, block in blocks(text):
        if fence == "text" and found and found[-1].expected is None and found[-1].kind.split(" ")[0] in RUN_LANGUAGES:
            found[-1].expected, found[-1].expected_line = block, first
            continue
        if any(line.startswith("$ ") for line in block):
            kind = "session"
        elif fence and fence.split(" ")[0] in RUN_LANGUAGES:
            kind = fence
        elif any(OURS.match(line) for line in block):
            kind = "commands"
        else:
            continue
        found.append(Example(page, first, kind, block, mark_of(lines, first)))
    return found


def steps(block):
    """(command, printed lines, number of the first printed line within the block) of a session."""
    at, found = 0, []
    while at < len(block):
        if not block[at].startswith("$ "):
            raise ValueError(f"a session begins with a command, not with {block[at]!r}")
        command = [block[at][2:]]
        while command[-1].endswith("\\"):
            at += 1
            command.append(block[at])
        at += 1
        start = at
        while at < len(block) and not block[at].startswith("$ "):
            at += 1
        found.append(("\n".join(command), block[start:at], start))
    return found


def same(printed, expected):
    """Whether lines are those of the page, where a line `...` stands for any."""
    if not expected:
        return not printed
    if expected[0].strip() == "...":
        return any(same(printed[skip:], expected[1:]) for skip in range(len(printed) + 1))
    return bool(printed) and printed[0] == expected[0] and same(printed[1:], expected[1:])
