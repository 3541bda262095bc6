# SPDX-License-Identifier: Apache-2.0
"""plot.py RESULT.json OUT.svg -- the comparison as a picture: seconds of each tool, one core and all, on a log scale.

Colours, lines and type are those of all pictures: src/job/figure.css."""
import html
import json
import math
import os
import sys

STYLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "src", "job", "figure.css")
TITLES = {"signatures": "Texts in memory to signatures", "pairs": "File to pairs or groups, whole process"}
PANEL, GAP, LABELS, LONG, ROW, TOP = 520, 20, 120, 310, 38, 74  # pixels; LABELS and LONG: of a panel


class Figure:
    def __init__(self):
        self.parts = []

    def text(self, x, y, words, classes=""):
        self.parts.append(f'<text class="{classes}" x="{x:.1f}" y="{y:.1f}">{html.escape(words)}</text>')

    def bar(self, x, y, width, classes, title):
        self.parts.append(f'<rect class="{classes}" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="14">'
                          f"<title>{html.escape(title)}</title></rect>")

    def line(self, classes, x, y, to_y):
        self.parts.append(f'<line class="{classes}" x1="{x:.1f}" y1="{y:.1f}" x2="{x:.1f}" y2="{to_y:.1f}"/>')


def said(seconds):
    return f"{seconds:.2f} s" if seconds >= 1 else f"{seconds:.3f} s"


def medians(result, question):
    """{mode: {tool: seconds}}, and the tools from the fastest on."""
    found = {mode: {name: row["seconds"]["median"] for name, row in result["sections"][f"{question}/{mode}"].items()
                    if row["status"] == "done"} for mode in ("one", "all")}
    return found, sorted(found["one"] | found["all"], key=lambda name: found["all"].get(name, found["one"].get(name)))


def panel(figure, left, question, result):
    found, names = medians(result, question)
    values = [s for mode in found.values() for s in mode.values()]
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    bottom = TOP + ROW * len(names)

    def x(seconds):
        return left + LABELS + (math.log10(seconds) - low) / (high - low) * LONG

    figure.text(left, 24, TITLES[question], "head")
    for power in range(low, high + 1):
        figure.line("grid", x(10.0 ** power), TOP - 8, bottom)
        figure.text(x(10.0 ** power), bottom + 20, f"{10.0 ** power:g} s", "mid soft")
    for i, name in enumerate(names):
        figure.text(left + LABELS - 8, TOP + ROW * i + 19, name, "num")
        for mode, classes, y in (("all", "blue", 0), ("one", "grey", 15)):
            if name in found[mode]:
                seconds = found[mode][name]
                words = "one core" if mode == "one" else f"{len(result['cpus'])} cores"
                figure.bar(x(10.0 ** low), TOP + ROW * i + y, max(x(seconds) - x(10.0 ** low), 1), classes,
                           f"{name}, {words}: {said(seconds)}")
                figure.text(x(seconds) + 6, TOP + ROW * i + y + 12, said(seconds))
    return bottom + 48


def legend(figure, result):
    for at, classes, words in ((0, "blue", f"{len(result['cpus'])} cores"), (90, "grey", "one core")):
        figure.bar(at, 38, 14, classes, words)
        figure.text(at + 20, 50, words, "soft")
    figure.text(200, 50, "median seconds, logarithmic: shorter is faster", "soft")


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        result = json.load(file)
    with open(STYLE, encoding="utf-8") as file:
        style = file.read().strip()
    figure, width = Figure(), 2 * PANEL + GAP
    bottom = max(panel(figure, i * (PANEL + GAP), question, result) for i, question in enumerate(TITLES))
    legend(figure, result)
    documents, machine = result["documents"], result["machine"]["processor"]
    figure.text(0, bottom, f"{documents['documents']:,} documents, {documents['text_bytes'] / 1e6:.0f} MB of text; {machine}; "
                f"{result['date'][:10]}; commit {result['commit']}", "soft")
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        file.write(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="-12 -4 {width + 24} {bottom + 20:.0f}" role="img" '
                   f'aria-label="Seconds of each tool, on one core and on all: the figures stand in the tables of this page">\n'
                   f'<style>{style}</style>\n<rect class="paper" x="-12" y="-4" width="100%" height="100%"/>\n'
                   + "\n".join(figure.parts) + "\n</svg>\n")


if __name__ == "__main__":
    main()
