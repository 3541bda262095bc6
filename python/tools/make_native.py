# SPDX-License-Identifier: Apache-2.0
"""make_native.py INCLUDE OUT.c: the C source of bandmill._native, from the public headers.

cffi needs declarations without the preprocessor. They are drawn from the headers themselves, so that the package cannot differ
from the library: comments, guards, inline functions and C++ parts go, and constants are put in where they are used.
"""

import pathlib
import re
import sys

from cffi import FFI

ORDER = [
    "status",
    "types",
    "arrow",
    "option_names",
    "schemes",
    "version",
    "device",
    "job",
    "signed",
    "sketch",
    "distributed",
    "overlap",
    "cluster",
    "explain",
    "report",
    "index",
    "tune",
    "exchange",
]
STATUS = re.compile(r"X\((\w+), (\d+), \d+, \"[^\"]*\"\)")


def without_comments(text: str) -> str:
    return re.sub(r"/\*.*?\*/", " ", text, flags=re.S)


def without_inline(text: str) -> str:
    """The bodies of inline functions: they are C for those who write C."""
    out, at = [], 0
    for found in re.finditer(r"static inline ", text):
        if found.start() < at:
            continue
        out.append(text[at : found.start()])
        depth, i = 0, text.index("{", found.start())
        while True:
            depth += {"{": 1, "}": -1}.get(text[i], 0)
            i += 1
            if depth == 0:
                break
        at = i
    return "".join([*out, text[at:]])


def constants(text: str) -> dict[str, int]:
    """The macros that are plain numbers."""
    found = {}
    for name, value in re.findall(r"^#define\s+(BM_\w+)\s+(?:\\\s*)?(0x[0-9A-Fa-f]+|\d+)(?:ull|u)?\s*$", text, re.M):
        found[name] = int(value, 0)
    return found


def declarations(text: str, numbers: dict[str, int]) -> str:
    text = re.sub(r"#if defined\(__cplusplus\)\n.*?#endif", "", text, flags=re.S)
    text = re.sub(r"typedef enum bm_status \{.*?\} bm_status;", "", text, flags=re.S)
    text = without_inline(text)
    text = re.sub(r"^#(?:.*\\\n)*.*$", "", text, flags=re.M)
    text = text.replace("BM_API ", "")
    return re.sub(r"\bBM_\w+\b", lambda m: str(numbers.get(m[0], m[0])), text)


def main() -> None:
    include, out = pathlib.Path(sys.argv[1]) / "bandmill", sys.argv[2]
    here = pathlib.Path(__file__).parent
    missing = {p.stem for p in include.glob("*.h")} - set(ORDER) - {"bandmill"}
    if missing:
        sys.exit(f"make_native.py: no place in the order for {sorted(missing)}")
    texts = {name: without_comments((include / f"{name}.h").read_text()) for name in ORDER}
    numbers: dict[str, int] = {}
    for text in texts.values():
        numbers.update(constants(text))
    status = ", ".join(f"{name} = {value}" for name, value in STATUS.findall(texts["status"]))
    ffi = FFI()
    ffi.cdef(f"typedef enum bm_status {{ {status} }} bm_status;")
    for name in ORDER:
        ffi.cdef(declarations(texts[name], numbers))
    ffi.cdef("".join(f"#define {name} {value}\n" for name, value in numbers.items()))
    own = ("glue", "rows", "apart", "tokens", "buckets", "tables", "program")
    for name in own:
        ffi.cdef((here / f"{name}.h").read_text())
    code = "".join((here / f"{name}.c").read_text() for name in own)
    ffi.set_source("bandmill._native", "#include <bandmill/bandmill.h>\n" + code)
    ffi.emit_c_code(out)


if __name__ == "__main__":
    main()
