# SPDX-License-Identifier: Apache-2.0
"""corpora_users.py BUILD -- the names of the tests of ctest that use the corpora beside the repository (corpora.py), one a line.

A file uses them if it calls what finds them, or imports a file that does. A test uses them if its command runs such a file. The script
fails (1) if a file names their folder itself, which corpora.py and examples/frame.sh alone may do, and if no test runs a file that uses
them. scripts/test.sh runs the tests of this list once more without the corpora."""
import json
import os
import re
import subprocess
import sys

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
FINDS = re.compile(r"\b(corpus_file|need_corpora|harness\.DATA|corpora\.FOLDER|shared_data)\b")
NAMES_FOLDER = re.compile(r"""\.\.["']?[/, ]+["']?shared\b|\bshared["']?[/, ]+["']?(data|reference)\b""")
FINDERS = ("tests/reference/corpora.py", "tests/reference/harness.py", "examples/frame.sh", "tests/reference/corpora_users.py")


def sources():
    """{path below ROOT: text} of all that tests are made of."""
    found = {}
    for top in ("tests", "python/tests", "examples"):
        for folder, _, files in os.walk(os.path.join(ROOT, top)):
            for name in files:
                if name.endswith((".py", ".sh", ".c", ".h", ".cpp", ".awk", ".txt", ".cmake")):
                    path = os.path.join(folder, name)
                    with open(path, encoding="utf-8", errors="replace") as file:
                        found[os.path.relpath(path, ROOT)] = file.read()
    return found


def users(texts):
    """Paths of the files that use the corpora, themselves or by what they import."""
    found = {path for path, text in texts.items() if path not in FINDERS and FINDS.search(text)}
    while True:
        modules = {os.path.basename(path)[:-3] for path in found if path.endswith(".py")}
        more = {path for path, text in texts.items() if path.endswith(".py") and path not in FINDERS
                and modules & set(re.findall(r"^\s*(?:import|from)\s+(\w+)", text, re.M))} - found
        if not more:
            return found
        found |= more


def runs(command, path):
    """Does a test with this command run the file?"""
    if path.startswith("python/"):
        return command[0].endswith("tests/python/run.sh") and "corpora" in command
    if path.startswith("examples/"):
        return any(c.endswith("examples/table.sh") for c in command) and path.split("/")[1] in command
    return os.path.join(ROOT, path) in map(os.path.normpath, command)


def main():
    texts = sources()
    wrong = [f"{path}:{text[:at.start()].count(chr(10)) + 1}: the folder of the corpora (corpora.py and examples/frame.sh alone name it)"
             for path, text in sorted(texts.items()) if path not in FINDERS for at in NAMES_FOLDER.finditer(text)
             if not text[text.rfind("\n", 0, at.start()) + 1:at.start()].lstrip().startswith(("#", "echo"))]
    listed = subprocess.run(["ctest", "--test-dir", sys.argv[1], "--show-only=json-v1"], stdout=subprocess.PIPE, check=True)
    tests = {test["name"]: test["command"] for test in json.loads(listed.stdout)["tests"] if test.get("command")}
    names, imported = set(), {m for text in texts.values() for m in re.findall(r"^\s*(?:import|from)\s+(\w+)", text, re.M)}
    for path in sorted(users(texts)):
        by = {name for name, command in tests.items() if runs(command, path)}
        if not by and os.path.basename(path)[:-3] not in imported:
            wrong.append(f"{path}: it uses the corpora, and no test of ctest runs it")
        names |= by
    print("\n".join(sorted(names)))
    for line in wrong:
        print(line, file=sys.stderr)
    return 1 if wrong or not names else 0


if __name__ == "__main__":
    sys.exit(main())
