#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""stage.py BANDMILL DIR -- lay the pages of the documentation out in DIR, for mkdocs (mkdocs.yml).

The pages keep their places, so links between them hold. What differs from GitHub is rewritten: a link to a file that is no page becomes
plain text with the file's path; a bar behind a backslash within code, which GitHub's tables need, is a bar; a list begins behind a blank
line; a fence names a language alone. Notebooks become pages, and docs/tasks.md and docs/options.md are made of `BANDMILL help --json`,
with what docs/cli.md says where. Python's standard library is enough."""
import fnmatch
import glob
import json
import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
from make_pages import ROOT, capital, flags_of, has_value, read  # noqa: E402

PAGES = ("*.md", "docs/*.md", "docs/stories/*.md", "python/README.md", "kernels/README.md", "examples/README.md", "bench/README.md")
ASSETS = ("docs/*.svg", "docs/*.png", "docs/examples/*", "docs/notebooks/*.ipynb")
RENAMED = {"docs/index.md": "docs/an-index.md"}  # docs/README.md is the index of the folder
# The search puts the page of a task before the pages and notebooks that mention its words; what changed and what is planned come last.
BOOSTS = (("docs/stories/*", 1.5), ("docs/gpu.md", 1.5), ("CHANGELOG.md", 0.5), ("docs/plan.md", 0.5))
LINK = re.compile(r"(?<!!)\[([^\]]+)\]\(([^)\s]+)\)")
CODE = re.compile(r"(`+)(.+?)\1", re.S)


def found(patterns):
    return [os.path.relpath(path, ROOT) for pattern in patterns for path in sorted(glob.glob(os.path.join(ROOT, pattern)))]


def relinked(text, page, staged):
    """The text, whose links lead to pages and files of the site (`staged`: their places in the repository)."""
    def link(match):
        words, (target, hash_mark, anchor) = match[1], match[2].partition("#")
        if not target or "://" in target or target.startswith("mailto:"):
            return match[0]
        path = os.path.normpath(os.path.join(os.path.dirname(page), target))
        if path not in staged and f"{path}/README.md" in staged:
            path += "/README.md"
        if path in staged:
            place = os.path.relpath(RENAMED.get(path, path), os.path.dirname(page) or ".")
            return f"[{words}]({place}{hash_mark}{anchor})"
        if not os.path.exists(os.path.join(ROOT, path)):
            sys.exit(f"stage.py: {page}: a link to {match[2]}, which is not there")
        return words if path in words else f"{words} (`{path}`)"
    return LINK.sub(link, text)


def searched(text, boost):
    """The page with what the search multiplies its score by."""
    return f"---\nsearch:\n  boost: {boost}\n---\n\n{text}"


def for_site(text, page, staged):
    """A page as the site shows it: links, code in tables and lists change, blocks of code stay."""
    text = re.sub(r"^(```\w+) .*$", r"\1", text, flags=re.M)
    parts = re.split(r"(^```(?s:.*?)^```$|^    .*$)", text, flags=re.M)
    for i in range(0, len(parts), 2):
        part = CODE.sub(lambda code: code[0].replace("\\|", "|"), parts[i])
        part = re.sub(r"^((?!- )\S.*)\n(?=- )", r"\1\n\n", part, flags=re.M)
        parts[i] = relinked(part, page, staged)
    boost = next((boost for pattern, boost in BOOSTS if fnmatch.fnmatch(page, pattern)), None)
    return searched("".join(parts), boost) if boost else "".join(parts)


def of_notebook(path):
    """Its cells, with what they print; and itself, to be run."""
    out = []
    for cell in json.loads(read(path))["cells"]:
        text = "".join(cell["source"])
        out.append(text if cell["cell_type"] == "markdown" else f"```python\n{text}\n```")
        printed = "".join("".join(o.get("text", o.get("data", {}).get("text/plain", ""))) + "\n" for o in cell.get("outputs", ())).strip("\n")
        if printed:
            out.append(f"```text\n{printed}\n```")
    return "\n\n".join([*out, f"The notebook: [{os.path.basename(path)}]({os.path.basename(path)})"]) + "\n"


# --- options by task and by name ---

def explained():
    """For each name of an option, the headings of docs/cli.md below which a row of a table is about it."""
    places, heading = {}, ""
    for line in read("docs/cli.md").split("\n"):
        if line.startswith("## "):
            heading = line[3:]
        elif line.startswith("| `-"):
            for name in re.findall(r"`--([a-z0-9-]+)", re.split(r"(?<!\\)\|", line)[1]):
                if heading not in places.setdefault(name, []):
                    places[name].append(heading)
    return places


def value_of(option):
    if option["type"] == "choice":
        return " " + "|".join(option["words"])
    return f" {option['value']}" if has_value(option) else ""


def tasks_page(program, index):
    """What people want to do, as docs/README.md (`index`) has it, then each command with its options."""
    tasks = re.search(r"^## By task\n\n(.*?)\n\n## ", index, re.M | re.S)[1]
    out = ["# Options by task", tasks,
           "Each link below leads to the option [by name](options.md). [The command line](cli.md) describes them in full."]
    for command in program["commands"]:
        own = [o for o in program["options"] if command["name"] in o["commands"]]
        out += [f"## {capital(command['summary'])}: `{command['name']}`", f"    bandmill {command['name']} {command['operands']}".rstrip()]
        rows = ["| for | options |", "|---|---|"]
        for group in program["groups"]:
            links = ", ".join(f"[`--{o['name']}`](options.md#{o['name']})" for o in own if o["group"] == group)
            if links:
                rows.append(f"| {group} | {links} |")
        out.append("\n".join(rows))
        out += [f"`{example['line']}`: {example['does']}" for example in command["examples"]]
    return "\n\n".join(out) + "\n"


def options_page(program):
    """The search puts it first: a reader who searches for an option finds it here, with links to the rest."""
    out = ["# Options by name", "[Options by task](tasks.md); [the command line](cli.md) describes them in full."]
    places = explained()
    for name in sorted({o["name"] for o in program["options"]}):
        out.append(f"## `--{name}` {{#{name}}}")
        for option in (o for o in program["options"] if o["name"] == name):
            letter = f"`-{option['letter']}`, " if option["letter"] else ""
            commands = "all commands" if len(option["commands"]) == len(program["commands"]) else ", ".join(f"`{c}`" for c in option["commands"])
            out.append(f"{letter}`--{name}{value_of(option)}`: {option['help']}")
            out.append(f"Commands: {commands}.")
        if name in places:
            out.append("More: " + ", ".join(f"[{heading}](cli.md#{heading.lower().replace(' ', '-')})" for heading in places[name]) + ".")
    return searched("\n\n".join(out) + "\n", 4)


def main():
    bandmill, folder = sys.argv[1:]
    pages, assets = found(PAGES), found(ASSETS)
    made = {RENAMED.get(page, page): for_site(read(page), page, {*pages, *assets}) for page in pages}
    made.update({re.sub("ipynb$", "md", path): searched(of_notebook(path), 0.5) for path in assets if path.endswith(".ipynb")})
    program = json.loads(subprocess.run([bandmill, "help", "--json"], check=True, capture_output=True, text=True).stdout)
    made.update({"docs/tasks.md": tasks_page(program, made["docs/README.md"]), "docs/options.md": options_page(program)})
    shutil.rmtree(folder, ignore_errors=True)
    for path in {*made, *assets}:
        os.makedirs(os.path.dirname(os.path.join(folder, path)), exist_ok=True)
    for path, text in made.items():
        with open(os.path.join(folder, path), "w", encoding="utf-8") as out:
            out.write(text)
    for path in assets:
        shutil.copyfile(os.path.join(ROOT, path), os.path.join(folder, path))


if __name__ == "__main__":
    main()
