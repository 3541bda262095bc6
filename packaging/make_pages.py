#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make_pages.py -- the manual pages (man/) and completions (completions/) of this folder, from what the program says of itself.

    packaging/make_pages.py BANDMILL            write them
    packaging/make_pages.py BANDMILL --check    say what differs from them: exit code 1

Section 1 and the completions are made of `BANDMILL help --json`, with the tables of docs/cli.md and docs/exit-codes.md for the environment and the
exit codes; bandmill(3) of include/bandmill; bandmill-formats(5) of docs/formats.md. The files are committed: a build only installs them. The date
of a page is the day on which it was made last, and stays where nothing else changed.

Python's standard library is enough. Tests: tests/pages"""
import argparse
import datetime
import difflib
import json
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
DATE = re.compile(r"^\.Dd .*$", re.M)


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def capital(text):
    return text[:1].upper() + text[1:]


# --- mdoc(7) ---

EXACT = {"-": "\\-", "'": "\\(aq", "`": "\\(ga", "^": "\\(ha", "~": "\\(ti"}
WIDTH = 76
SPACE = " \t\n\r\f\v"


def escape(character, exact):
    """A character as troff has to be given it; `exact`: as somebody types it."""
    if ord(character) >= 0x80:
        return f"\\[u{ord(character):04X}]"
    if character == "\\":
        return "\\e"
    return EXACT.get(character, character) if exact else character


def argument(text):
    """The text as one argument of a macro."""
    return "".join("\\(dq" if c == '"' else escape(c, True) for c in text)


def quoted(text):
    return f'"{argument(text)}"'


def is_literal(word):
    """What somebody types, or the name of a file: a hyphen at the end of a line would be taken for a part of it."""
    return "\\fB" in word or word.startswith("\\-") or re.search(r"(?<=.)[._:/][A-Za-z0-9]", word) is not None


def is_emphasis(text, at):
    """Whether the asterisk is one of *a word*: then it stands at one end of it."""
    def is_letter(i):
        return 0 <= i < len(text) and text[i].isascii() and text[i].isalpha()
    return is_letter(at - 1) != is_letter(at + 1)


def mark_at(text, at, code):
    """A mark of Markdown (`code`, **bold**, *emphasis*, [text](place)): where it ends; None: it is none."""
    if text[at] == "`":
        return at + 1
    if code:
        return None
    if text.startswith("**", at):
        return at + 2
    if text[at] == "*" and is_emphasis(text, at):
        return at + 1
    if text[at] == "[":
        close = text.find("]", at)
        return at + 1 if close >= 0 and text.startswith("](", close) else None
    if text.startswith("](", at):
        close = text.find(")", at)
        return close + 1 if close >= 0 else None
    return None


class Page:
    """A manual page: words are filled into lines, and each sentence begins one."""

    def __init__(self, name, section, summary):
        self.file = f"man/{name}.{section}"
        self.lines = []
        self.line = ""  # of text, not yet among them
        self.ends_phrase = False  # the last word may have ended a sentence
        self.filled = False  # there is something below the last heading
        self.begins_paragraph = False
        self.macro('.\\" Made by packaging/make_pages.py from the program\'s tables, the headers and docs/.')
        self.macro(".Dd DATE", f".Dt {name.upper()} {section}", ".Os", ".Sh NAME", f".Nm {name}", f".Nd {summary}")

    def made(self):
        self.end_line()
        return "\n".join(self.lines) + "\n"

    def end_line(self):
        if self.line:
            self.lines.append(self.line)
        self.line = ""
        self.ends_phrase = False

    def macro(self, *macros):
        self.end_line()
        self.lines.extend(macros)
        self.filled = not macros[-1].startswith(".S")
        self.begins_paragraph = False

    def paragraph(self):
        """The next word begins one, unless it is the first below its heading."""
        self.begins_paragraph = self.filled

    def heading(self, text, section=True):
        text = text.replace("`", "")
        self.macro(f".Sh {argument(text.upper())}" if section else f".Ss {argument(text)}")

    def literal(self, lines):
        """Lines as they are."""
        self.macro(".Bd -literal -offset indent")
        for line in lines:
            self.lines.append(("\\&" if line[:1] in (".", "'") else "") + "".join(escape(c, True) for c in line))
        self.macro(".Ed")

    def word(self, word):
        if self.begins_paragraph:
            self.macro(".Pp")
        self.filled = True
        text = ("\\%" if is_literal(word) else "") + word
        used = len(self.line) + 1 if self.line else 0
        if used + 1 + len(text) > WIDTH or (self.ends_phrase and (word[0].isupper() or word[0] == "\\")):
            self.end_line()
        if not self.line and word[0] in ".'":
            text = "\\&" + text
        self.line += (" " if self.line else "") + text

    def text(self, text, markdown=False):
        word, code, at = "", False, 0
        while at <= len(text):
            if at == len(text) or text[at] in SPACE:
                if word:
                    self.word(word)
                    self.ends_phrase = text[:at].rstrip(")\"'`")[-1:] in (".", "!", "?")
                word = ""
                at += 1
                continue
            behind = mark_at(text, at, code) if markdown else None
            if behind is not None:
                if text[at] == "`":
                    code = not code
                    word += "\\fB" if code else "\\fR"
                at = behind
                continue
            option = text[at] == "-" and (not word or word[0] in "\\(")
            word += escape(text[at], code or option)
            at += 1

    def markdown(self, text):
        self.text(text, markdown=True)


# --- docs/, which are Markdown: headings, paragraphs, lists, tables, indented and fenced blocks ---

class Lines:
    """Lines, one after another; `rest` are those to come."""

    def __init__(self, text):
        self.rest = text.split("\n")
        if self.rest[-1] == "":
            self.rest.pop()

    def __bool__(self):
        return bool(self.rest)

    def next(self):
        return self.rest.pop(0)

    def begins(self, *starts):
        return bool(self.rest) and self.rest[0].startswith(starts)


def cells_of(row):
    """The cells of "| a | b |". A bar behind a backslash is part of its cell."""
    return [cell.strip(" ") for cell in re.split(r"(?<!\\)\|", row)[1:-1]]


def put_table(page, lines):
    """A list: a row is an item whose tag is its first cell, and from the third cell on the head of the column stands before it."""
    heads = cells_of(lines.next())
    page.macro(".Bl -tag -width Ds")
    while lines.begins("|"):
        row = lines.next()
        if row.startswith("|--"):
            continue
        cells = cells_of(row)
        page.macro(".It Xo")
        page.markdown(cells[0])
        page.macro(".Xc")
        first = True
        for i, cell in enumerate(cells[1:], 1):
            if not cell:
                continue
            if not first:
                page.macro(".br")
            first = False
            if i > 1 and heads[i]:
                page.markdown(heads[i] + ":")
            page.markdown(cell)
    page.macro(".El")


def put_block(page, lines):
    """Lines that begin with four blanks, and blank ones between them."""
    block = []
    while lines.begins("    ") or (lines and lines.rest[0] == ""):
        block.append(lines.next()[4:])
    while block[-1] == "":
        block.pop()
    page.literal(block)


def put_fence(page, lines):
    lines.next()
    block = []
    while lines and not lines.begins("```"):
        block.append(lines.next())
    lines.next()
    page.literal(block)


def put_list(page, lines):
    """Items begin with "- "; lines below one that begin with blanks belong to it."""
    page.macro(".Bl -bullet")
    while lines.begins("- ", "  "):
        line = lines.next()
        if line.startswith("- "):
            page.macro(".It")
        page.markdown(line[2:])
    page.macro(".El")


def put_markdown(page, text):
    """All but the page's own heading: "## x" is a section, "### x" one below it."""
    lines, fresh, section = Lines(text), True, False
    while lines:
        if lines.rest[0] == "" or lines.begins("# ", "<!--"):
            fresh = lines.next() == "" or fresh
            continue
        if not section and not lines.begins("#"):
            page.heading("description")
        elif fresh:
            page.paragraph()
        section, fresh = True, True
        if lines.begins("#"):
            marks, _, title = lines.next().partition(" ")
            page.heading(title, section=len(marks) < 3)
        elif lines.begins("    "):
            put_block(page, lines)
        elif lines.begins("```"):
            put_fence(page, lines)
        elif lines.begins("|"):
            put_table(page, lines)
        elif lines.begins("- "):
            put_list(page, lines)
        else:
            page.markdown(lines.next())
            fresh = False


def put_table_of(page, path, head):
    """The first table of the file whose first line begins with `head`."""
    lines = Lines(read(path))
    while lines and not lines.begins(head):
        lines.next()
    if not lines:
        sys.exit(f"make_pages.py: {path}: no table begins with {head}")
    put_table(page, lines)


# --- section 1 ---

def page_name(command):
    return "bandmill-" + command.replace(" ", "-")


def has_value(option):
    return option["type"] not in ("flag", "count")


def firsts_of(program):
    """First words of commands, each once, with the commands of two words that begin with it."""
    firsts = {}
    for command in program["commands"]:
        first, _, second = command["name"].partition(" ")
        firsts.setdefault(first, [])
        if second:
            firsts[first].append(command)
    return firsts


def put_commands(page, commands):
    page.macro(".Bl -tag -width Ds")
    for command in commands:
        page.macro(f".It Xr {page_name(command['name'])} 1")
        page.text(command["summary"])
    page.macro(".El")


def put_options(page, program, command):
    page.macro(".Sh OPTIONS")
    page.text("Defaults stand in parentheses.")
    for group in program["groups"]:
        options = [o for o in program["options"] if o["group"] == group and command["name"] in o["commands"]]
        if not options:
            continue
        page.macro(f".Ss {group}", ".Bl -tag -width Ds")
        for option in options:
            letter = f"Fl {option['letter']} , " if option["letter"] else ""
            value = ""
            if option["type"] == "choice":
                value = " |".join(f" Cm {word}" for word in option["words"])
            elif has_value(option):
                value = " Ar " + quoted(option["value"])
            page.macro(f".It {letter}Fl -{option['name']}{value}")
            page.text(option["help"])
        page.macro(".El")


def put_examples(page, command):
    page.macro(".Sh EXAMPLES")
    for example in command["examples"]:
        page.paragraph()
        page.text(capital(example["does"]) + ":")
        page.literal([example["line"]])


def command_page(program, command):
    page = Page(page_name(command["name"]), 1, command["summary"])
    page.macro(".Sh SYNOPSIS", f".Nm bandmill {command['name']}", ".Op Ar options")
    if command["operands"]:
        page.macro(".Ar " + quoted(command["operands"]))
    page.macro(".Sh DESCRIPTION")
    page.text(command["text"])
    put_options(page, program, command)
    page.macro(".Sh EXIT STATUS")
    page.text("0 where all went well.")
    page.macro(".Xr bandmill 1")
    page.text("lists the others.")
    put_examples(page, command)
    page.macro(".Sh SEE ALSO", ".Xr bandmill 1 ,", ".Xr bandmill-formats 5")
    return page


def first_word_page(first, commands):
    page = Page(page_name(first), 1, f"the commands of bandmill {first}")
    page.macro(".Sh SYNOPSIS", f".Nm bandmill {first}", ".Ar command", ".Op Ar options", ".Sh DESCRIPTION")
    put_commands(page, commands)
    page.macro(".Sh SEE ALSO", ".Xr bandmill 1")
    return page


def program_page(program):
    page = Page("bandmill", 1, "find near-duplicate documents")
    page.macro(".Sh SYNOPSIS", ".Nm", ".Ar command", ".Op Ar options", ".Ar INPUT ...", ".Nm", ".Cm help", ".Op Ar command", ".Nm", ".Fl -version")
    page.macro(".Sh DESCRIPTION", ".Nm")
    page.text("finds near-duplicate documents with MinHash, on CPUs and OpenCL devices. Each command has a page of its own:")
    put_commands(page, program["commands"])
    page.paragraph()
    page.text("stdout carries data only; what is said to people goes to stderr. Options may stand before the command too.")
    page.macro(".Sh ENVIRONMENT")
    put_table_of(page, "docs/cli.md", "| variable")
    page.macro(".Sh EXIT STATUS")
    put_table_of(page, "docs/exit-codes.md", "| code")
    put_examples(page, next(command for command in program["commands"] if command["name"] == "dedup"))
    page.macro(".Sh SEE ALSO", ".Xr bandmill 3 ,", ".Xr bandmill-formats 5")
    return page


def formats_page():
    page = Page("bandmill-formats", 5, "files that bandmill reads and writes")
    put_markdown(page, read("docs/formats.md"))
    page.macro(".Sh SEE ALSO", ".Xr bandmill 1")
    return page


# --- bandmill(3): a header's first comment says what it is for; behind it a comment is text, and what follows it, up to a blank line or the next
# comment, the declarations that it speaks of, as they stand in the header. Left out are bodies of inline functions, guards, includes and the braces
# for C++. ---

FRAME = ("#if", "#endif", "#else", "#undef", "#include", 'extern "C"', "}", "#define BANDMILL_")
API = "BM_API "


def inner(line):
    """A line of a comment without what makes it one."""
    line = re.sub(r"^(/\*| \*)", "", line)
    return re.sub(r"\*/$", "", line.removeprefix(" ")).rstrip(" ")


def put_comment(page, line, lines):
    """A comment whose first line is `line`. What stands in by four blanks is shown as it is."""
    code, gap = [], False
    while True:
        words = inner(line)
        if words.startswith("    "):
            code += [""] * (gap and bool(code)) + [words[4:]]
            gap = False
        elif words:
            if code:
                page.literal(code)
                code, gap = [], False
            if gap:
                page.paragraph()
            gap = False
            page.markdown(words)
        else:
            gap = True
        if "*/" in line or not lines:
            break
        line = lines.next()
    if code:
        page.literal(code)


def put_declarations(page, lines):
    """Lines up to a blank one that stands outside of braces."""
    shown, depth, moved, body = [], 0, 0, False  # body: of an inline function
    while lines and (depth > 0 or not shown or (lines.rest[0] and not lines.begins("/*", "#"))):
        line = lines.next()
        if not line.startswith(" "):  # the lines below move with the first, of which BM_API goes
            moved = len(API) if line.startswith(API) else 0
        body = body or line.startswith("static inline")
        if not body or (depth == 0 and not line.startswith(("{", "}"))):
            indent = len(line) - len(line.lstrip(" "))
            cut = moved if line.startswith(API) else min(indent, moved)
            shown.append(line[cut:] + (";" if body and lines.begins("{") else ""))
        depth += line.count("{") - line.count("}")
        body = body and not (depth == 0 and line.startswith("}"))
    page.literal(shown)


def put_header(page, name):
    page.heading(f"<bandmill/{name}>", section=False)
    lines = Lines(read(f"include/bandmill/{name}"))
    lines.next()  # the licence
    put_comment(page, lines.next().partition(" -- ")[2], lines)
    while lines:
        page.paragraph()
        if lines.begins("/* ---"):  # what the next declarations have to do with
            page.text(capital(inner(lines.next()).strip("- ")) + ":")
            page.paragraph()
        elif lines.begins("/*"):
            put_comment(page, lines.next(), lines)
        elif lines.rest[0] == "" or lines.begins(*FRAME):
            lines.next()
        else:
            put_declarations(page, lines)


def library_page():
    page = Page("bandmill", 3, "the library for near-duplicate documents")
    page.macro(".Sh SYNOPSIS", ".In bandmill/bandmill.h", ".Sh DESCRIPTION")
    page.text('Link with what "pkg-config --cflags --libs bandmill" says.')
    page.text("Each header has a part of the calls:")
    for name in re.findall(r"^#include <bandmill/(.*)>", read("include/bandmill/bandmill.h"), re.M):
        put_header(page, name)
    page.macro(".Sh SEE ALSO", ".Xr bandmill 1 ,", ".Xr bandmill-formats 5")
    return page


# --- what a shell may offer for a value or an operand ---

INPUT_ENDINGS = [".jsonl", ".ndjson", ".ldjson", ".json", ".tsv", ".csv", ".parquet", ".arrow", ".npy"]


class Offer:
    """The words and endings of files that the table has, and what the name of a value, or of operands, says: DIR and INDEX are directories, INPUT and
    QUERY directories and files of documents, FILE and PATH any files, PAIRS.tsv files that end so, COMMAND commands, and `en` (of en|FILE) is the
    word itself."""

    def __init__(self, names, option=None):
        self.words = list(option["words"]) if option else []
        self.endings = list(option["endings"]) if option else []
        self.list = option is not None and option["list"]  # several words, separated by commas
        self.devices = option is not None and option["devices"]
        self.files = self.dirs = self.commands = False
        for name in re.split(r"[] [()|]+", names or ""):
            self.add(name.rstrip("."))

    def add(self, name):
        ending = re.search(r"\.[a-z][^.]*$", name)
        if name in ("DIR", "INDEX"):
            self.dirs = True
        elif name in ("INPUT", "QUERY"):
            self.endings += INPUT_ENDINGS
            self.files = self.dirs = True
        elif name in ("FILE", "PATH"):
            self.files = True
        elif name == "COMMAND":
            self.commands = True
        elif ending:
            self.endings.append(ending.group())
        elif name[:1].islower():
            self.words.append(name)

    def __bool__(self):
        return bool(self.words or self.endings or self.devices or self.files or self.dirs or self.commands)


def offer_of(option):
    return Offer(option["value"], option)


def flags_of(option):
    """--output and -o."""
    return [f"--{option['name']}"] + ([f"-{option['letter']}"] if option["letter"] else [])


def flags_with_values(program):
    return [flag for option in program["options"] if has_value(option) for flag in flags_of(option)]


def single(text, masked=""):
    """The text within single quotes; a backslash before each character of `masked`."""
    return "".join("'\\''" if c == "'" else "\\" + c if c in masked else c for c in text)


def of_two(program):
    """First words of commands of two."""
    return [first for first, seconds in firsts_of(program).items() if seconds]


# --- bash, with or without the package bash-completion. bash cuts words at "=" and ":" too: the line is cut again at blanks alone, and what bash has
# before the last such character is taken off the answers. ---

BASH_HEAD = r"""# bash completion for bandmill, made by packaging/make_pages.py from the program's table of options.
# shellcheck shell=bash disable=SC2034,SC2207

# Answers are what $1 (words by blanks) has that begins with the word at hand.
_bandmill_words() { COMPREPLY+=($(compgen -W "$1" -- "$cur")); }

# Files that end in one of $1, packed or not, and directories; all files where none does.
_bandmill_files() {
    local file ending hits=()
    compopt -o filenames 2> /dev/null
    for ending in $1; do
        while IFS= read -r file; do
            [[ -d $file ]] || hits+=("$file")
        done < <(compgen -f -X "!*$ending?(.*)" -- "$path")
    done
    local others=-d
    ((${#hits[@]} == 0)) && others=-f
    while IFS= read -r file; do hits+=("$file"); done < <(compgen $others -- "$path")
    COMPREPLY+=("${hits[@]}")
}

_bandmill_dirs() {
    local file
    compopt -o filenames 2> /dev/null
    while IFS= read -r file; do COMPREPLY+=("$file"); done < <(compgen -d -- "$path")
}

_bandmill_devices() {
    _bandmill_words "$1 $(bandmill devices 2> /dev/null | sed -n '2,${s/[[:space:]].*//;/:/p}')"
}

"""

BASH_TAIL = r"""_bandmill() {
    local line=${COMP_LINE:0:COMP_POINT} words cur path prev='' command='' i before='' list=''
    local options='' restore
    read -ra words <<< "$line"
    [[ $line == *[[:space:]] ]] && words+=('')
    cur=${words[${#words[@]} - 1]}
    ((${#words[@]} > 2)) && prev=${words[${#words[@]} - 2]}
    path=${COMP_WORDS[COMP_CWORD]//\\/}
    [[ $path == [=:] ]] && path=''
    for ((i = 1; i < ${#words[@]} - 1; i++)); do
        case ${words[i]} in
        -*) [[ $_bandmill_takes == *" ${words[i]} "* ]] && ((i++)) ;;
        *)
            command=$command${command:+ }${words[i]}
            [[ $_bandmill_firsts == *" $command "* ]] || break
            ;;
        esac
    done
    COMPREPLY=()
    restore=$(shopt -p extglob)
    shopt -s extglob
    if [[ $cur == --*=* ]]; then
        prev=${cur%%=*} cur=${cur#*=}
        _bandmill_value
    elif _bandmill_value; then
        :
    elif [[ $cur == -* ]]; then
        _bandmill_options
        _bandmill_words "$options"
    else
        _bandmill_operands
    fi
    $restore
    # What bash has of the word already, up to its last colon.
    if [[ $cur == *:* && $COMP_WORDBREAKS == *:* ]]; then
        before=${cur%"${cur##*:}"}
        for i in "${!COMPREPLY[@]}"; do COMPREPLY[i]=${COMPREPLY[i]#"$before"}; done
    fi
    [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *: ]] && compopt -o nospace 2> /dev/null
    return 0
} && complete -F _bandmill bandmill
"""


def bash_offer(program, offer):
    lines = []
    if offer.list:  # the last of a list; what stands before it stays
        lines.append("list=${cur%\"${cur##*,}\"} cur=${cur##*,}")
    if offer.devices:
        lines.append(f"_bandmill_devices '{' '.join(offer.words)}'")
    elif offer.words:
        lines.append(f"_bandmill_words '{' '.join(offer.words)}'")
    if offer.list:
        lines.append("COMPREPLY=(\"${COMPREPLY[@]/#/$list}\") cur=$list$cur")
    if offer.files or offer.endings:
        lines.append(f"_bandmill_files '{' '.join(offer.endings)}'")
    elif offer.dirs:
        lines.append("_bandmill_dirs")
    if offer.commands:
        lines.append(f"_bandmill_words '{' '.join(firsts_of(program))}'")
    return "".join(f"        {line}\n" for line in lines)


def bash_completion(program):
    out = [BASH_HEAD, f"_bandmill_takes=' {' '.join(flags_with_values(program))} '\n", f"_bandmill_firsts=' {' '.join(of_two(program))} '\n\n"]
    # 0 where the word at hand is the value of the option before it.
    out.append('_bandmill_value() {\n    case "$command $prev" in\n')
    for option in filter(has_value, program["options"]):
        cases = " | ".join(f"'{command} {flag}'" for command in option["commands"] for flag in flags_of(option))
        out.append(f"    {cases})\n{bash_offer(program, offer_of(option))}        ;;\n")
    out.append("    *) return 1 ;;\n    esac\n    return 0\n}\n\n_bandmill_options() {\n    case $command in\n")
    for command in program["commands"]:
        flags = [flag for option in program["options"] if command["name"] in option["commands"] for flag in flags_of(option)]
        out.append(f"    '{command['name']}') options='{' '.join(flags)}' ;;\n")
    out.append("    '') options='--help --version' ;;\n    esac\n}\n\n_bandmill_operands() {\n    case $command in\n")
    firsts = firsts_of(program)
    out.append(f"    '')\n        _bandmill_words '{' '.join(firsts)}'\n        ;;\n")
    for first in of_two(program):
        seconds = " ".join(command["name"].partition(" ")[2] for command in firsts[first])
        out.append(f"    '{first}')\n        _bandmill_words '{seconds}'\n        ;;\n")
    for command in program["commands"]:
        out.append(f"    '{command['name']}')\n{bash_offer(program, Offer(command['operands']))}        ;;\n")
    return "".join(out) + "    esac\n}\n\n" + BASH_TAIL


# --- fish: a line of `complete` for each option; __bandmill_is says for which commands it holds ---

FISH_HEAD = "# fish completion for bandmill, made by packaging/make_pages.py from the program's table of options.\n\n"

FISH_FUNCTIONS = r"""# The command of the line, "dedup" or "index build"; nothing where there is none yet.
function __bandmill_command
    set -l words (commandline -opc)
    set -l found
    set -l skip no
    for word in $words[2..-1]
        if test $skip = yes
            set skip no
        else if string match -q -- '-*' $word
            contains -- $word $__bandmill_takes; and set skip yes
        else
            set found $found $word
            contains -- "$found" $__bandmill_firsts; or break
        end
    end
    echo "$found"
end

function __bandmill_is
    contains -- (__bandmill_command) $argv
end

# The word at hand; of --name=value the value.
function __bandmill_word
    commandline -ct | string replace -r -- '^--[^=]*=' ''
end

# Files that end in one of $argv, packed or not, and directories; all files where none does.
function __bandmill_files
    set -l word (__bandmill_word)
    set -l hits
    set -l others
    set -l dirs
    for file in $word*
        if test -d $file
            set dirs $dirs $file/
        else
            set others $others $file
            for ending in $argv
                string match -q -- "*$ending" $file; or string match -q -- "*$ending.*" $file
                and set hits $hits $file
            end
        end
    end
    if test (count $hits) -gt 0
        printf '%s\n' $hits $dirs
    else if test (count $others $dirs) -gt 0
        printf '%s\n' $others $dirs
    else
        __fish_complete_path $word
    end
end

# Each of $argv behind what the list has already.
function __bandmill_list
    set -l before (__bandmill_word | string match -r -- '.*,')
    for word in $argv
        echo "$before"$word
    end
end

function __bandmill_devices
    bandmill devices 2>/dev/null | sed -n '2,$s/[[:space:]].*//p'
end

complete -c bandmill -f
complete -c bandmill -n '__bandmill_is ""' -l help -s h -d 'the list of commands'
complete -c bandmill -n '__bandmill_is ""' -l version -d 'what was built'
"""


def fish_text(text):
    return "'" + "".join("\\" + c if c in "'\\" else c for c in text) + "'"


def fish_offer(program, offer):
    words = " ".join(offer.words)
    if offer.list:
        words = f"(__bandmill_list {words}{' (__bandmill_devices)' if offer.devices else ''})"
    if offer.files or offer.endings:
        words += f" (__bandmill_files {' '.join(offer.endings)})"
    elif offer.dirs:
        words += " (__fish_complete_directories (__bandmill_word))"
    if offer.commands:
        words += " " + " ".join(firsts_of(program))
    return f' -a "{words}"'


def fish_completion(program):
    out = [FISH_HEAD, f"set -g __bandmill_takes {' '.join(flags_with_values(program))}\n", f"set -g __bandmill_firsts {' '.join(of_two(program))}\n\n",
           FISH_FUNCTIONS]
    seen = set()
    for command in program["commands"]:
        first, _, second = command["name"].partition(" ")
        if first not in seen:
            does = "commands of its own" if second else command["summary"]
            out.append(f"complete -c bandmill -n '__bandmill_is \"\"' -a {first} -d {fish_text(does)}\n")
        seen.add(first)
        if second:
            out.append(f"complete -c bandmill -n '__bandmill_is \"{first}\"' -a {second} -d {fish_text(command['summary'])}\n")
        out.append(f"complete -c bandmill -n '__bandmill_is \"{command['name']}\"'{fish_offer(program, Offer(command['operands']))}\n")
    for option in program["options"]:
        commands = "".join(f' "{command}"' for command in option["commands"])
        letter = f" -s {option['letter']}" if option["letter"] else ""
        value = " -x" + fish_offer(program, offer_of(option)) if has_value(option) else ""
        out.append(f"complete -c bandmill -n '__bandmill_is{commands}' -l {option['name']}{letter}{value} -d {fish_text(option['help'])}\n")
    return "".join(out)


# --- zsh: a function that _arguments does the work of: first the command, then, for each command, its options and what its operands are ---

ZSH_HEAD = r"""#compdef bandmill
# zsh completion for bandmill, made by packaging/make_pages.py from the program's table of options.

# The last argument: words by blanks. Those before it are what compadd is given.
_bandmill_words() { compadd "${@[1,-2]}" -- ${=@[-1]} }

# The same, of which a value may hold several, separated by commas.
_bandmill_list() { _sequence -s , compadd - ${=@[-1]} }

# The same for words that something follows.
_bandmill_kinds() { compadd "${@[1,-2]}" -S '' -- ${=@[-1]} }

_bandmill_devices() {
    local -a found=(${(f)"$(bandmill devices 2> /dev/null | sed -n '2,$s/[[:space:]].*//p')"})
    _sequence -s , compadd - ${=@[-1]} $found
}

# Files that end in one of the last argument's, packed or not; all files where there is none.
_bandmill_files() {
    local -a endings=(${=@[-1]})
    _files "${@[1,-2]}" -g "*(${(j:|:)endings})(|.*)" || _files "${@[1,-2]}"
}

"""

ZSH_TAIL = r"""_bandmill() {
    local curcontext=$curcontext i
    for ((i = 2; i < CURRENT; i++)); do
        if [[ $words[i] == -* ]]; then
            [[ $_bandmill_takes == *" $words[i] "* ]] && ((i++))
        else
            shift $((i - 1)) words
            ((CURRENT -= i - 1))
            _bandmill_arguments
            return
        fi
    done
    if ((i > CURRENT)); then
        _files
    elif [[ $PREFIX == -* ]]; then
        _arguments {-h,--help}'[the list of commands]' '--version[what was built]'
    else
        _bandmill_commands
    fi
}

_bandmill "$@"
"""

ZSH_SECOND = r"""    FIRST)
        if ((CURRENT == 2)); then
            _bandmill_commands_of_FIRST
            return
        fi
        command+=" $words[2]"
        shift words
        ((CURRENT--))
        ;;
"""


def zsh_actions(offer):
    """The offer as one action: alternatives. Within single quotes; its colons are no ends of the action."""
    actions = []
    if offer.words or offer.devices:
        kind = "devices" if offer.devices else "list" if offer.list else "kinds" if ":" in "".join(offer.words) else "words"
        words = " ".join(offer.words).replace(":", "\\:")
        actions.append(f'"words\\:word\\:_bandmill_{kind} \\"{words}\\""')
    if offer.commands:
        actions.append('"commands\\:command\\:_bandmill_commands"')
    if offer.endings:
        actions.append(f'"files\\:file\\:_bandmill_files \\"{" ".join(offer.endings)}\\""')
    elif offer.files:
        actions.append('"files\\:file\\:_files"')
    elif offer.dirs:
        actions.append('"dirs\\:directory\\:_files -/"')
    return "{_alternative " + " ".join(actions) + "}"


def zsh_option(option):
    value = has_value(option)
    repeats = option["type"] in ("list", "count", "parsed")
    letter, name = option["letter"], option["name"]
    out = " \\\n            "
    if letter:
        out += "'*'" if repeats else f"'(-{letter} --{name})'"
        out += f"{{-{letter}{'+' if value else ''},--{name}{'=' if value else ''}}}'["
    else:
        out += f"'{'*' if repeats else ''}--{name}{'=' if value else ''}["
    out += single(option["help"], "[]:\\") + "]"
    if value:
        offer = offer_of(option)
        out += ":" + single(option["value"] or name, ":\\") + (":" + zsh_actions(offer) if offer else ": ")
    return out + "'"


def zsh_list(name, entries):
    """A function that offers words, each with what it does."""
    rows = "".join(f" \\\n        '{word}:{single(does, chr(92))}'" for word, does in entries)
    return f"{name}() {{\n    local -a commands=({rows})\n    _describe -t commands command commands\n}}\n\n"


def zsh_completion(program):
    firsts = firsts_of(program)
    summaries = {command["name"]: command["summary"] for command in program["commands"]}
    out = [ZSH_HEAD, f"_bandmill_takes=' {' '.join(flags_with_values(program))} '\n\n"]
    out.append(zsh_list("_bandmill_commands", [(first, summaries.get(first, "commands of its own")) for first in firsts]))
    for first in of_two(program):
        out.append(zsh_list(f"_bandmill_commands_of_{first}", [(c["name"].partition(" ")[2], c["summary"]) for c in firsts[first]]))
    out.append("# $words[1]: the command. The second word of one of two is read first.\n"
               "_bandmill_arguments() {\n    local command=$words[1]\n    case $command in\n")
    out += [ZSH_SECOND.replace("FIRST", first) for first in of_two(program)]
    out.append("    esac\n    case $command in\n")
    for command in program["commands"]:
        out.append(f"    '{command['name']}')\n        _arguments -s -S")
        out += [zsh_option(option) for option in program["options"] if command["name"] in option["commands"]]
        offer = Offer(command["operands"])
        if offer:
            out.append(f" \\\n            '*:{single(command['operands'], ':' + chr(92))}:{zsh_actions(offer)}'")
        out.append("\n        ;;\n")
    return "".join(out) + "    esac\n}\n\n" + ZSH_TAIL


# --- all of it ---

def make(bandmill):
    """Each file's path below this folder, and its text; the date of a page is "DATE"."""
    program = json.loads(subprocess.run([bandmill, "help", "--json"], check=True, capture_output=True, text=True).stdout)
    pages = [command_page(program, command) for command in program["commands"]]
    pages += [first_word_page(first, commands) for first, commands in firsts_of(program).items() if commands]
    pages += [program_page(program), library_page(), formats_page()]
    made = {page.file: page.made() for page in pages}
    made["completions/bandmill.bash"] = bash_completion(program)
    made["completions/bandmill.fish"] = fish_completion(program)
    made["completions/_bandmill"] = zsh_completion(program)
    return made


def there():
    """The files that lie here, likewise."""
    found = {}
    for folder in ("man", "completions"):
        path = os.path.join(HERE, folder)
        for name in sorted(os.listdir(path)) if os.path.isdir(path) else []:
            found[f"{folder}/{name}"] = read(f"packaging/{folder}/{name}")
    return found


def undated(text):
    return DATE.sub(".Dd DATE", text, count=1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bandmill", help="the program")
    parser.add_argument("--check", action="store_true", help="write nothing")
    args = parser.parse_args()
    made, old = make(args.bandmill), there()
    changed = [file for file in sorted(made.keys() | old.keys()) if made.get(file) != undated(old.get(file, ""))]
    if args.check:
        for file in changed:
            rows = difflib.unified_diff(undated(old.get(file, "")).splitlines(), made.get(file, "").splitlines(), f"packaging/{file}", "now", lineterm="")
            print("\n".join(list(rows)[:40]))
        print(f"{len(made)} files, {len(changed)} differ" + (": make them with packaging/make_pages.py BANDMILL" if changed else ""))
        return 1 if changed else 0
    today = datetime.datetime.now(datetime.timezone.utc)
    date = f".Dd {today:%B} {today.day}, {today.year}"
    for file in changed:
        path = os.path.join(HERE, file)
        if file not in made:
            os.remove(path)
            continue
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as out:
            out.write(made[file].replace(".Dd DATE", date, 1))
    print(f"{len(made)} files, {len(changed)} changed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
