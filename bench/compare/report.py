# SPDX-License-Identifier: Apache-2.0
"""report.py -- the result of a comparison as Markdown tables, and their place in a document."""

from measure import wrapped

BEGIN, END = "<!-- figures: begin (written by bench/compare.py) -->", "<!-- figures: end -->"
TITLES = {"signatures": "Texts in memory to signatures", "pairs": "File to pairs or groups, whole process"}


def number(row, key, form):
    value = row.get(key)
    return form.format(value["median"] if isinstance(value, dict) else value) if value is not None else "–"


def seconds(row, key):
    """Three digits that mean something for the quick ones, two decimals for the others."""
    value = row.get(key)
    return number(row, key, "{:.3f}" if value is not None and value["median"] < 1 else "{:.2f}")


def row_of(name, question, tables, text_mb):
    cells = [name + (" ²" if name == "bandmill dedup" and question == "pairs" else "")]
    for mode in ("one", "all"):
        row = tables[mode].get(name, {"status": "missing"})
        if row["status"] != "done":
            cells += [row["status"], "–"]
            continue
        runs = row["seconds"]["runs"]
        cells += [seconds(row, "seconds") + (" ¹" if runs == 1 else ""), seconds(row, "cpu_seconds")]
    row = tables["all"].get(name, {})
    done = row.get("status") == "done"
    cells.append(number(row, "peak_mb", "{:,.0f}") if done else "–")
    if question == "signatures":
        one = tables["one"].get(name, {}).get("seconds")
        cells.append(f"{text_mb / one['median']:,.0f}" if one else "–")
    else:
        cells += [number(row, "pairs", "{:,}"), number(row, "recall", "{:.3f}"), number(row, "precision", "{:.3f}")]
    return "| " + " | ".join(cells) + " |"


def table(result, question):
    tables = {mode: result["sections"][f"{question}/{mode}"] for mode in ("one", "all")}
    names = sorted(tables["all"], key=lambda name: tables["all"][name].get("seconds", {"median": 1e9})["median"])
    more = ["MB/s, one core"] if question == "signatures" else ["pairs", "recall", "precision"]
    cores = f"{len(result['cpus'])} cores"
    heads = ["tool", "one core, s", "CPU s", f"{cores}, s", "CPU s", f"peak MB, {cores}", *more]
    lines = [f"**{TITLES[question]}**", "", "| " + " | ".join(heads) + " |", "|---" + "|---:" * (len(heads) - 1) + "|"]
    return lines + [row_of(name, question, tables, result["documents"]["text_bytes"] / 1e6) for name in names]


def tables(result):
    documents, machine, check = result["documents"], result["machine"], result["truth"]
    quiet = "" if result["quiet"] else " **The machine was not quiet: read ratios, and those with care.**"
    versions = ", ".join(f"{name} {version}" for name, version in result["versions"].items() if version)
    missing = "; ".join(f"{name} ({why})" for name, why in result["missing"].items()) or "none"
    return "\n".join([
        wrapped(f"{result['date']}, commit {result['commit']}; {machine['processor']}, {machine['cores']} cores, "
                f"{', '.join(machine['instruction_sets'])}; load average at the start "
                f"{result['load_average_at_start'][0]:.2f}.{quiet} {documents['documents']:,} documents, "
                f"{documents['text_bytes'] / 1e6:.0f} MB of text. Python {result['python']}; {versions}. Missing: {missing}."), "",
        wrapped(f"`{' '.join(result['command'])}`"), "",
        *table(result, "signatures"), "", *table(result, "pairs"), "",
        wrapped("¹ One run, because the tool is slow or the time for repeats was used up; other figures are medians. A dash: not "
                "measured."),
        "",
        wrapped("² Every pair that joins a group is verified. But the group counts as all pairs of its members here, also of those "
                "that only a chain connects, and these lower the precision ([groups](#precision-of-groups))."),
        "",
        wrapped(f"The true pairs: {check['pairs']:,}, by `bandmill pairs --candidates all` in {check['seconds']:.1f} s; "
                f"{check['checked_pairs']:,} pairs checked with sets in Python, {check['wrong']} wrong.")])


def replace(path, result):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    head, begin, rest = text.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not begin or not end:
        raise SystemExit(f"{path}: the marks {BEGIN} and {END} are not there")
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"{head}{BEGIN}\n{tables(result)}\n{END}{tail}")
