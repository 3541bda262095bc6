#!/usr/bin/env python3
"""test_site.py -- the site of scripts/docs-site.sh is whole, and can be used without a network, also on a telephone.

    test_site.py --program BANDMILL

It is built strictly (links, anchors, a place for each page), and opened as files in headless Chromium, which finds no name of a host: the
search finds an option by its name, and no page is wider than a window of 390 pixels. Exit code 77: mkdocs cannot be installed (that needs
a network), or there is no Chromium (not every system has a package of it)."""
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
# Each page in a frame as wide as a telephone; scripts do not run there, the style alone says how wide a page is.
FRAMES = """<body><pre id="wide"></pre><script>
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
    document.getElementById("wide").textContent = JSON.stringify(wide);
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


def failures_of(site, folder):
    failures = []
    # As somebody types it who has seen it in a shell, and as a word.
    for word, option in (("--threshold", "threshold"), ("skip-same-id", "skip-same-id")):
        results = re.findall(r'<a href="([^"]*)" class="md-search-result__link', dom(f"file://{site}/index.html?q={word}", folder))
        places = [html.unescape(result).partition("?")[0] + "#" + result.partition("#")[2] for result in results[:2]]  # a page and its best part
        print(f"{word}: {len(results)} results")
        if not any(place.endswith(f"docs/options.html#{option}") for place in places):
            failures.append(f"the search for {word} does not lead to docs/options.html#{option}, but to {places}")
    pages = sorted(glob.glob("**/*.html", root_dir=site, recursive=True))
    frames = os.path.join(site, "frames.html")
    with open(frames, "w", encoding="utf-8") as out:
        out.write(FRAMES % (json.dumps(pages), WIDTH))
    wide = re.search(r'<pre id="wide">(.*?)</pre>', dom(f"file://{frames}", folder), re.S)
    widths = json.loads(html.unescape(wide[1])) if wide and wide[1] else {}
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
