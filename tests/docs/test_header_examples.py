#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_header_examples.py CC -- the examples in the comments of the public headers compile as they stand, and bandmill(3) shows them line for line.

An example is the indented block below a line "Example"; nothing else in a header's comments is indented and calls a function of the library."""
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEADERS = sorted((ROOT / "include" / "bandmill").glob("*.h"))
AROUND = """#include <bandmill/bandmill.h>
#include <stdio.h>
void example(const bm_str *texts, size_t n, struct ArrowArrayStream table);
void example(const bm_str *texts, size_t n, struct ArrowArrayStream table)
{
    (void)texts, (void)n, (void)table;
%s
}
"""


def examples_of(text):
    """The blocks, without the stars."""
    found = []
    for block in re.findall(r"^ \* Example\n \*\n((?: \*     .*\n)+)", text, re.M):
        found.append([line[7:] for line in block.rstrip("\n").split("\n")])
    return found


def unescaped(page):
    """The lines of the page as it shows them."""
    return page.replace("\\-", "-").replace("\\(aq", "'").replace("\\(ga", "`").replace("\\(ha", "^").replace("\\(ti", "~").replace("\\e", "\\")


def main():
    page, n = unescaped((ROOT / "packaging" / "man" / "bandmill.3").read_text()), 0
    for header in HEADERS:
        text = header.read_text()
        blocks = examples_of(text)
        calls = len(re.findall(r"^ \*     .*\bbm_\w+\(", text, re.M))
        if calls != sum(bool(re.search(r"\bbm_\w+\(", line)) for block in blocks for line in block):
            sys.exit(f"{header.name}: a call in a comment is outside of its examples")
        for block in blocks:
            n += 1
            if "\n".join(block) not in page:
                sys.exit(f"{header.name}: bandmill(3) does not show its example as it stands (packaging/make_pages.py)")
            with tempfile.TemporaryDirectory() as work:
                source = pathlib.Path(work) / "example.c"
                source.write_text(AROUND % "\n".join(block))
                compiled = subprocess.run([*sys.argv[1:], "-std=c11", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", f"-I{ROOT}/include", str(source)],
                                          capture_output=True, text=True)
            if compiled.returncode != 0:
                sys.exit(f"{header.name}: its example does not compile: {compiled.stderr}")
    if n < 4:
        sys.exit(f"{n} examples found in the headers (arrow, index, signed, sketch)")
    print(f"{n} examples compile")


main()
