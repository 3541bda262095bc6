"""plot.py RESULT.json OUT.svg -- the comparison as a picture: seconds of each tool, one core and all, on a log scale."""
import json
import sys

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt  # noqa: E402

matplotlib.rcParams.update({"svg.hashsalt": "bandmill", "font.size": 9, "svg.fonttype": "none"})
COLOURS = {"one": "#9aa5b1", "all": "#2f6fab"}
TITLES = {"signatures": "Texts in memory to signatures", "pairs": "File to pairs or groups, whole process"}


def bars(axes, question, result):
    tables = {mode: result["sections"][f"{question}/{mode}"] for mode in ("one", "all")}
    seconds = {mode: {name: row["seconds"]["median"] for name, row in table.items() if row["status"] == "done"}
               for mode, table in tables.items()}
    names = sorted(seconds["one"] | seconds["all"], key=lambda name: seconds["all"].get(name, seconds["one"].get(name)))
    for place, mode in ((0.2, "all"), (-0.2, "one")):
        drawn = [(i, seconds[mode][name]) for i, name in enumerate(names) if name in seconds[mode]]
        label = "one core" if mode == "one" else f"{len(result['cpus'])} cores"
        axes.barh([i - place for i, _ in drawn], [s for _, s in drawn], 0.38, color=COLOURS[mode], label=label)
        for i, value in drawn:
            shown = f"{value:.2f} s" if value >= 1 else f"{value:.3f} s"
            axes.text(value * 1.06, i - place, shown, va="center", fontsize=7.5)
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.set_xlim(right=axes.get_xlim()[1] * 2)
    axes.set_title(TITLES[question], loc="left", fontsize=10)
    axes.set_xlabel("seconds (logarithmic)")
    axes.spines[["top", "right"]].set_visible(False)


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        result = json.load(file)
    figure, axes = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
    for question, part in zip(("signatures", "pairs"), axes):
        bars(part, question, result)
    axes[0].legend(loc="upper right", frameon=False)
    figure.supxlabel(f"{result['documents']['documents']:,} documents, {result['documents']['text_bytes'] / 1e6:.0f} MB of "
                     f"text; {result['machine']['processor']}; {result['date'][:10]}; commit {result['commit']}",
                     fontsize=8)
    figure.savefig(sys.argv[2], metadata={"Date": None})


if __name__ == "__main__":
    main()
