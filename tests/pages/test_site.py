#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_site.py -- the site of scripts/docs-site.sh is whole, and can be used without a network, also on a telephone.

    test_site.py --program BANDMILL

It is built strictly (links, anchors, a place for each page), and opened as files in headless Chromium, which finds no name of a host: the
search puts the page of a task first, under each of the words that people use for it, finds an option by its name, and no page is wider than a
window of 390 pixels. Exit code 77: mkdocs cannot be installed (that needs a network), or there is no Chromium (not every system has a package
of it)."""
import argparse
import glob
import html
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
WIDTH = 390
# What a reader types into the search, and the page that must come first.
SEARCHES = {
    "--threshold": "docs/options.html#threshold",  # as somebody types it who has seen it in a shell
    "skip-same-id": "docs/options.html#skip-same-id",
    "test set": "docs/stories/test-set.html",
    "decontamination": "docs/stories/test-set.html",
    "train/test leakage": "docs/stories/test-set.html",
    "contamination": "docs/stories/test-set.html",
    "boilerplate": "docs/stories/boilerplate.html",
    "templates": "docs/stories/boilerplate.html",
    "menus and footers": "docs/stories/boilerplate.html",
    "incremental": "docs/stories/incremental.html",
    "new documents every day": "docs/stories/incremental.html",
    "paragraphs": "docs/stories/paragraphs.html",
    "spans": "docs/units.html",
    "substring": "docs/stories/paragraphs.html",
    "many machines": "docs/stories/many-machines.html",
    "shards": "docs/stories/many-machines.html",
    "Slurm": "docs/stories/many-machines.html",
    "GPU": "docs/gpu.html",
    "CUDA": "docs/gpu.html",
    "NVIDIA": "docs/gpu.html",
    "choose a threshold": "docs/stories/threshold.html",
    "audit before deleting": "docs/stories/safe.html",
    "dry run": "docs/stories/safe.html",
    "false positives": "docs/stories/safe.html",
}
# Asks the site's own search, one frame after another. A search that found nothing has a line of its own in place of links.
ASK = """<body><pre id="result"></pre><script>
const words = %s, found = {};
async function ask(word) {
    const frame = document.createElement("iframe");
    frame.style = "border: 0; width: 1280px; height: 800px";
    frame.src = "index.html?q=" + encodeURIComponent(word);
    const loaded = new Promise((done) => frame.addEventListener("load", done));
    document.body.append(frame);
    await loaded;
    const results = frame.contentDocument.querySelector(".md-search-result");
    const links = () => [...results.querySelectorAll(".md-search-result__link")];
    const answered = () => links().length || results.textContent.includes("No matching documents");
    if (!answered()) {
        await new Promise((done) => new MutationObserver(() => answered() && done()).observe(results, {
            childList: true, subtree: true, characterData: true}));
    }
    found[word] = links().slice(0, 2).map((link) => link.href); // a page and its best part
    frame.remove();
}
(async () => {
    for (const word of words) await ask(word);
    document.getElementById("result").textContent = JSON.stringify(found);
})();
</script>"""
# Each page in a frame as wide as a telephone; scripts do not run there, the style alone says how wide a page is.
FRAMES = """<body><pre id="result"></pre><script>
const pages = %s, wide = {};
async function measure(page) {
    const frame = document.createElement("iframe");
    frame.sandbox = "allow-same-origin";
    frame.style = "border: 0; width: %dpx; height: 800px";
    frame.src = page;
    const loaded = new Promise((done) => frame.addEventListener("load", done));
    document.body.append(frame);
    await loaded;
    wide[page] = frame.contentDocument.documentElement.scrollWidth;
    frame.remove();
}
(async () => {
    for (const page of pages) await measure(page);
    document.getElementById("result").textContent = JSON.stringify(wide);
})();
</script>"""


def chromium():
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


def dom(url, folder):
    """What a page is once its scripts have run."""
    command = [chromium(), "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--host-resolver-rules=MAP * ~NOTFOUND",
               "--allow-file-access-from-files", f"--user-data-dir={folder}/profile", "--virtual-time-budget=60000", "--dump-dom", url]
    run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    if run.returncode != 0:
        sys.exit(f"chromium ended with {run.returncode}: {run.stderr[-2000:]}")
    return run.stdout


def asked(site, folder, page):
    """What the script of a page, laid beside those of the site, has found out."""
    path = os.path.join(site, "asked.html")
    with open(path, "w", encoding="utf-8") as out:
        out.write(page)
    result = re.search(r'<pre id="result">(.*?)</pre>', dom(f"file://{path}", folder), re.S)
    os.remove(path)
    return json.loads(html.unescape(result[1])) if result and result[1] else {}


def misses(found, searches):
    """The searches that do not lead to their page first; to a part of it first or second."""
    failures = []
    for word, wanted in searches.items():
        places = [place.partition("?")[0] + "".join(place.partition("#")[1:]) for place in found.get(word, ())]
        first = next(iter(places), "").partition("#")[0]
        print(f"{word}: {first.rpartition('/site/')[2] or 'nothing'}")
        part = wanted.partition("#")[2]
        if not first.endswith("/" + wanted.partition("#")[0]) or (part and not any(place.endswith("/" + wanted) for place in places)):
            failures.append(f"the search for {word} does not lead to {wanted} first, but to {places}")
    return failures


def failures_of(site, folder):
    found = asked(site, folder, ASK % json.dumps(list(SEARCHES)))
    failures = misses(found, SEARCHES)
    if not misses(found, {"test set": "docs/stories/clean.html"}) or not misses({}, {"test set": SEARCHES["test set"]}):
        failures.append("a search that leads elsewhere, or nowhere, is not noticed")
    pages = sorted(glob.glob("**/*.html", root_dir=site, recursive=True))
    widths = asked(site, folder, FRAMES % (json.dumps(pages), WIDTH))
    print(f"{len(widths)} of {len(pages)} pages measured")
    failures += [f"{page} was not measured" for page in pages if page not in widths]
    failures += [f"{page} is {width} pixels wide in {WIDTH}" for page, width in widths.items() if width > WIDTH]
    return failures


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True)
    args = parser.parse_args()
    if chromium() is None:
        print("skipped: there is no chromium")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        site = os.path.join(folder, "site")
        built = subprocess.run([f"{ROOT}/scripts/docs-site.sh", "-o", site, args.program], check=False)
        if built.returncode != 0:
            print("skipped: no mkdocs" if built.returncode == 77 else "the site was not built")
            return built.returncode
        failures = failures_of(site, folder)
    print("\n".join(failures) or "the site is whole")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
