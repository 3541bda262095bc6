# SPDX-License-Identifier: Apache-2.0
"""bandmill.distributed gives the program's groups, however documents are divided; the adapter of docs/examples too."""

import json
import os
import pathlib
import pickle
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import make_rows

import bandmill
import bandmill.distributed
from bandmill.distributed import join

N = 900
ROWS = make_rows(N, seed=7)
ROWS[100]["text"] = ROWS[101]["text"] = None
TABLE = pa.Table.from_pylist([{**row, "score": i * 7919 % 101, "place": i} for i, row in enumerate(ROWS)])
ADAPTER = pathlib.Path(__file__).parents[2] / "docs" / "examples" / "process_pool.py"


def components_of(plan, table, batch_rows, workers=3, docs_a_task=50_000):
    """Each step as other processes would run it: what goes from one to another is pickled."""
    plan = pickle.loads(pickle.dumps(plan))
    parts = [[] for _ in range(plan.parts)]
    share = -(-len(table) // workers)
    for at in range(0, len(table), share):
        for rows in plan.split(table.slice(at, share).to_batches(max_chunksize=batch_rows)):
            for part, block in zip(rows.column("part").to_pylist(), rows.column("block").to_pylist()):
                parts[part].append(block)
    forests = [row for blocks in parts for row in join(blocks[::-1])]
    return pickle.loads(pickle.dumps(plan.components(forests, docs_a_task=docs_a_task)))


def groups_of(plan, table, batch_rows=250, docs_a_task=50_000):
    """Rows (first, row, kept, jaccard, reason), by places."""
    found = components_of(plan, table, batch_rows, docs_a_task=docs_a_task)
    rows = pa.Table.from_batches(plan.select(table.to_batches(max_chunksize=batch_rows), found))
    out = []
    for task in range(found.n_tasks):
        mine = rows.filter(pa.array(np.asarray(rows["task"]) == task)).sort_by("place")
        place = mine["place"].to_pylist()
        out += [
            (place[r["first"]], place[r["row"]], r["kept"], r["jaccard"], r["reason"]) for r in plan.dedup(mine)[0].to_pylist()
        ]
    return sorted(out)


def expected(table, **options):
    """The same of the package's own dedup, whose similarities have six digits."""
    r = bandmill.dedup(table, id="id", device="cpu", **options)
    why = {row["id"]: row for row in r.removed.to_pylist()}
    at = {id: place for place, id in enumerate(table["id"].to_pylist())}
    out = []
    for group in r.groups.to_pylist():
        for member in group["members"]:
            gone = why.get(member, {"jaccard": 1.0, "reason": None})
            out.append((at[group["members"][0]], at[member], member == group["kept"], gone["jaccard"], gone["reason"]))
    return sorted(out)


OPTIONS = [
    {},
    {"cluster": "star", "keep": "longest", "threshold": 0.6},
    {"verify": "none"},
    {"verify": "signature", "perms": 64},
    {"verify": "contained", "threshold": 0.5},
    {"keep": "max:score,first", "threshold": 0.4, "shingle": "word:2"},
    {"max_group_size": 4, "threshold": 0.4, "shingle": "word:2"},
    {"shingle": "char:9", "seed": 5, "bands": 20, "rows": 4, "bag": True},
    {"preset": "datatrove", "threshold": 0.7},
]


@pytest.mark.parametrize("options", OPTIONS, ids=lambda o: ",".join(f"{k}={v}" for k, v in o.items()) or "default")
@pytest.mark.parametrize("parts, docs_a_task", [(1, 50_000), (7, 60)])
def test_groups_are_those_of_one_machine(options, parts, docs_a_task):
    plan = bandmill.distributed.Plan(parts=parts, like=TABLE, **options)
    ours, theirs = groups_of(plan, TABLE, docs_a_task=docs_a_task), expected(TABLE, **options)
    assert [(*a[:3], a[4]) for a in ours] == [(*b[:3], b[4]) for b in theirs]
    assert [a[3] for a in ours] == [b[3] if b[3] is None else pytest.approx(b[3], abs=6e-7) for b in theirs]
    assert len(theirs) > 50


@pytest.mark.parametrize(
    "options",
    [{}, {"cluster": "star", "threshold": 0.4, "shingle": "word:2"}, {"verify": "contained", "threshold": 0.5}],
    ids=["default", "star", "contained"],
)
def test_known_documents_remove_what_is_near_them(options):
    """Their ids are those of others; a task may have none of them, and components of them alone go to no task."""
    known = pa.table({"id": TABLE["id"].slice(0, 300), "text": TABLE["text"].slice(500, 300)})
    known = pa.concat_tables([known, pa.table({"id": ["x", "y"], "text": ["only known texts stand in this component"] * 2})])
    plan = bandmill.distributed.Plan(parts=3, like=TABLE, known=True, **options)
    blocks = [*plan.split(TABLE.to_batches()), *plan.split(known.to_batches(max_chunksize=77), known=True)]
    found = plan.components(join(blocks), docs_a_task=40)
    assert found.counts["documents"] == N
    ours, n_found = {}, 0
    rows = pa.Table.from_batches(plan.select(TABLE.to_batches(), found))
    others = pa.Table.from_batches(plan.select(known.to_batches(), found, known=True))
    assert "x" not in others["id"].to_pylist()
    for task in range(found.n_tasks):
        mine, theirs = (t.filter(pa.array(np.asarray(t["task"]) == task)) for t in (rows, others))
        members, counts = plan.dedup(mine, theirs if len(theirs) else None)
        n_found += counts["found"]
        for r in members.to_pylist():
            name = None if r["known"] is None else theirs["id"][r["known"]].as_py()
            ours[mine["id"][r["row"]].as_py()] = (mine["id"][r["first"]].as_py(), r["kept"], r["reason"], name, r["jaccard"])
    r = bandmill.dedup(TABLE, id="id", device="cpu", against=known, **options)
    why = {row["id"]: row for row in r.removed.to_pylist()}
    assert {row["reason"] for row in why.values()} >= {"known", "identical"}
    theirs = {}
    for group in r.groups.to_pylist():
        for member in group["members"]:
            gone = why.get(member, {"reason": None, "kept": None, "jaccard": 1.0})
            name = gone["kept"] if group["known"] else None
            theirs[member] = (
                group["members"][0],
                member not in why,
                gone["reason"],
                name,
                pytest.approx(gone["jaccard"], abs=6e-7),
            )
    assert ours == theirs and n_found == r.report["against"]["found"]


@pytest.mark.filterwarnings("error")
def test_groups_that_keep_none():
    rows = groups_of(bandmill.distributed.Plan(parts=2, keep="none"), TABLE)
    assert [row[2:] for row in rows] == [(False, None, row[4]) for row in rows] and len(rows) > 50


def test_similarities_have_all_digits():
    plan = bandmill.distributed.Plan(parts=2, shingle="word:1", threshold=0.5)
    texts = TABLE["text"].fill_null("").to_pylist()
    sets = [set(t.lower().split()) for t in texts]  # of these texts, the words are what stands between blanks
    kept = {}
    ours = groups_of(plan, TABLE)
    for first, row, stays, _, _ in ours:
        kept.update({first: row} if stays else {})
    near = [(sets[row], sets[kept[first]], jaccard) for first, row, stays, jaccard, _ in ours if not stays]
    assert all(jaccard == len(a & b) / len(a | b) for a, b, jaccard in near if "漢字かな" not in a | b)
    assert sum(0 < jaccard < 1 for _, _, jaccard in near) > 20


def test_a_task_logs_that_it_speaks_of_its_own_documents(caplog):
    plan = bandmill.distributed.Plan(parts=1)
    copies = pa.table({"id": [f"{i}" for i in range(1200)], "text": ["one text that is there very often"] * 1200})
    plan.dedup(copies)
    assert [r.getMessage()[:75] for r in caplog.records] == [
        "among the 1200 candidates of a task: one group has 1200 of 1200 documents, "
    ]


@pytest.mark.parametrize("ids", [list(range(-5, N - 5)), [f"{i:05}".encode() for i in range(N)]], ids=["integers", "bytes"])
def test_ids_of_other_types_and_several_columns_of_text(ids):
    table = pa.table({"key": ids, "a": TABLE["text"], "b": TABLE["text"].slice(0, 450).to_pylist() * 2, "place": range(N)})
    plan = bandmill.distributed.Plan(["a", "b"], "key", parts=3, like=table, threshold=0.5)
    r = bandmill.dedup(table, ["a", "b"], "key", device="cpu", threshold=0.5)
    assert sum(1 for row in groups_of(plan, table) if not row[2]) == len(r.removed) > 20


def test_a_text_in_a_struct():
    table = pa.table({"id": TABLE["id"], "doc": [{"text": t} for t in TABLE["text"].to_pylist()], "place": range(N)})
    plan = bandmill.distributed.Plan("doc.text", parts=2, like=table)
    assert groups_of(plan, table) == groups_of(bandmill.distributed.Plan(parts=2), TABLE)


def test_counts_are_those_of_the_report():
    russian = "\u043a\u043e\u0440\u0430\u0431\u043b\u044c \u043d\u043e\u043c\u0435\u0440".encode("cp1251")
    texts = [(t or "").encode() for t in TABLE["text"].to_pylist()[:-2]] + [russian, b"x" * 5000]
    table = pa.table({"id": TABLE["id"], "text": pa.array(texts, pa.binary())})
    options = {"on_error": "skip", "max_doc_bytes": 4000}
    counts = components_of(bandmill.distributed.Plan(parts=3, like=table, **options), table, 100).counts
    report = bandmill.dedup(table, id="id", device="cpu", **options).report["counts"]
    assert counts == {name: report[name] for name in counts}
    assert counts["unreadable"] == counts["skipped"] == 1 and counts["empty"] >= 3


def test_bad_records_are_refused_or_left_out():
    table = pa.table({"id": ["a", "b", "c", None, "d"], "text": ["one two", "three" * 9, "four", "five", "one two"]})
    table = table.append_column("place", pa.array(range(5)))
    with pytest.raises(bandmill.Error, match="row 4: the id is null") as e:
        components_of(bandmill.distributed.Plan(parts=2), table, 10, workers=1)
    assert e.value.status == "input"
    with pytest.raises(bandmill.Error, match=r"document b: the text has 45 bytes \(at most 20, max_doc_bytes\)"):
        components_of(bandmill.distributed.Plan(parts=2, max_doc_bytes=20), table, 10, workers=1)
    skipping = bandmill.distributed.Plan(parts=2, max_doc_bytes=20, on_error="skip", shingle="word:1")
    assert [row[:3] for row in groups_of(skipping, table)] == [(0, 0, True), (0, 4, False)]
    few = bandmill.distributed.Plan(parts=2, max_doc_bytes=20, on_error="skip", max_errors=1)
    with pytest.raises(bandmill.Error, match=r"2 bad records \(at most 1, max_errors\)"):
        components_of(few, table, 10)


def test_an_id_that_stands_twice_is_refused():
    twice = pa.table({"id": ["x", "y", "x"], "text": ["one text", "quite another", "and a third"], "place": range(3)})
    with pytest.raises(bandmill.Error, match="id 'x' stands in several rows") as e:
        groups_of(bandmill.distributed.Plan(parts=4), twice, batch_rows=1)
    assert (e.value.status, e.value.field) == ("input", "id")


def test_ids_with_one_hash_are_two_documents(monkeypatch):
    """64 bits meet in 2.7 % of jobs with a billion documents. Here every hash is one of 30."""
    plan = bandmill.distributed.Plan(parts=3)
    few = [f"{i}" for i in range(30)]
    same = pa.table({"id": [few[i % 30] for i in range(N)], "text": TABLE["text"]})
    found = components_of(plan, same, 200)
    assert len(found.id_hashes) == 30
    own = type(plan).id_hashes

    def hashes(plan, batch, known=False):
        return own(plan, pa.RecordBatch.from_pydict({"id": [few[p % 30] for p in batch.column("place").to_pylist()]}))

    monkeypatch.setattr(type(plan), "id_hashes", hashes)
    rows = pa.Table.from_batches(plan.select(TABLE.to_batches(max_chunksize=200), found))
    assert len(rows) == N
    members = plan.dedup(rows)[0].to_pylist()
    assert sorted((r["first"], r["row"], r["kept"]) for r in members) == [row[:3] for row in expected(TABLE)]


def test_no_documents_and_documents_without_candidates():
    plan = bandmill.distributed.Plan(parts=3)
    found = plan.components([])
    assert (found.n_tasks, found.largest, found.counts["documents"], len(found.id_hashes)) == (1, 0, 0, 0)
    alone = TABLE.slice(0, 2)
    found = components_of(plan, alone, 10)
    assert found.counts["documents"] == 2
    assert [b.num_rows for b in plan.select(alone.to_batches(), found)] == [0]
    assert list(plan.split([])) == []


def test_tasks_get_whole_components_of_about_the_same_size():
    plan = bandmill.distributed.Plan(parts=3, threshold=0.4, shingle="word:2")
    one, many = (components_of(plan, TABLE, 500, docs_a_task=n) for n in (50_000, 40))
    assert one.n_tasks == 1 and many.n_tasks > 5
    assert np.array_equal(one.id_hashes, many.id_hashes)
    sizes = np.bincount(many.tasks, minlength=many.n_tasks)
    assert sizes.max() <= max(many.largest, 2 * 40) and sizes.min() > 0


def test_long_documents_are_divided_among_more_tasks(monkeypatch):
    """As few copies of long texts as one task would get by their number."""
    texts = [" ".join(f"{place % 4}word{i}" for i in range(2_000)) for place in range(8)]
    table = pa.table({"id": [f"{place}" for place in range(8)], "text": texts, "place": range(8)})
    plan = bandmill.distributed.Plan(parts=2)
    one, ours = components_of(plan, table, 3), groups_of(plan, table)
    monkeypatch.setattr("bandmill.distributed.TASK_SHINGLES", 4_000)  # of two texts
    many = components_of(plan, table, 3)
    assert (one.n_tasks, many.n_tasks) == (1, 4)
    assert sorted(np.bincount(many.tasks).tolist()) == [2, 2, 2, 2]
    assert groups_of(plan, table) == ours and len(ours) == 8
    monkeypatch.setattr("bandmill.distributed.TASK_SHINGLES", 1)
    assert components_of(plan, table, 3).n_tasks == 4  # no more than components


@pytest.mark.parametrize(
    "options, field",
    [
        ({"threshold": 2}, "threshold"),
        ({"parts": 0}, "parts"),
        ({"parts": 70_000}, "parts"),
        ({"weights": "tfidf"}, "weights"),
        ({"unit": "line"}, "unit"),
        ({"against": "known"}, "against"),
        ({"duplicate_ids": "number"}, "duplicate_ids"),
        ({"output": "out"}, "output"),
        ({"text": "body"}, None),
    ],
)
def test_options_are_refused_by_the_plan(options, field):
    with pytest.raises(bandmill.Error) as e:
        bandmill.distributed.Plan(**{"parts": 2, "like": TABLE, **options})
    assert field is None or e.value.field == field


def test_an_unknown_option_and_a_missing_column():
    with pytest.raises(TypeError, match="'shingles'"):
        bandmill.distributed.Plan(parts=2, shingles=3)
    with pytest.raises(bandmill.Error, match="no column 'text'"):
        list(bandmill.distributed.Plan(parts=2).split(TABLE.drop_columns(["text"]).to_batches()))


def test_blocks_that_are_none_and_of_other_plans():
    blocks = list(bandmill.distributed.Plan(parts=1).split(TABLE.to_batches()))
    other = list(bandmill.distributed.Plan(parts=1, seed=9).split(TABLE.to_batches()))
    with pytest.raises(bandmill.Error, match="in different ways") as e:
        list(join([*blocks, *other]))
    assert e.value.status == "format"
    whole = blocks[0].column("block")[0].as_py()
    for bad in (b"no block", whole[:-1], whole[:100] + b"\x00" + whole[101:]):
        with pytest.raises(bandmill.Error):
            list(join([bad]))


def test_stop_words_of_a_file_travel_with_the_plan(tmp_path):
    words = tmp_path / "words.txt"
    words.write_text("arba\narce\nbeba\n")
    options = {"shingle": "stopword:2", "stopwords": words, "threshold": 0.5}
    theirs = expected(TABLE, **options)
    plan = pickle.dumps(bandmill.distributed.Plan(parts=2, **options))
    words.unlink()
    assert [row[:3] for row in groups_of(pickle.loads(plan), TABLE)] == [row[:3] for row in theirs] and theirs


def run_adapter(place, *arguments):
    env = {**os.environ, "PYTHONPATH": str(pathlib.Path(bandmill.__file__).parents[1])}
    env.update(PYTHONDONTWRITEBYTECODE="", PYTHONPYCACHEPREFIX=str(place))  # what one process compiles serves the others
    subprocess.run([sys.executable, ADAPTER, "--workers", "1", *map(str, arguments)], check=True, env=env)


def test_the_adapter_gives_the_programs_groups(tmp_path, program):
    """Files in an order that is not that of their ids."""
    lines = tmp_path / "rows.jsonl"
    ids = [f"doc-{i * 7919 % 9973}" for i in range(N)]
    lines.write_text("".join(json.dumps({"id": i, "text": r["text"]}) + "\n" for i, r in zip(ids, ROWS)), encoding="utf-8")
    files = []
    for number, at in enumerate(range(0, N, 400)):
        files.append(tmp_path / f"{9 - number}.parquet")
        pq.write_table(pa.table({"id": ids[at : at + 400], "text": TABLE["text"].slice(at, 400)}), files[-1])
    run_adapter(tmp_path / "pycache", *files, "--out", tmp_path / "out", "--parts", 3)
    program("dedup", lines, "-o", tmp_path / "one", "--device", "cpu")
    groups = [json.loads(line) for line in (tmp_path / "one" / "groups.jsonl").read_text(encoding="utf-8").splitlines()]
    found = pq.read_table(tmp_path / "out" / "groups.parquet").to_pylist()
    assert [(r["id"], r["group"]) for r in found] == [(i, g["group"]) for g in groups for i in g["members"]]
    assert [r["id"] for r in found if r["kept"]] == [g["kept"] for g in groups] and len(groups) > 50
    # What was interrupted goes on: of some files nothing is left, of others all.
    whole = (tmp_path / "out" / "groups.parquet").read_bytes()
    for gone in ("split/1", "forests/2", "components", "groups.parquet"):
        (tmp_path / "out" / gone).unlink()
    run_adapter(tmp_path / "pycache", *files, "--out", tmp_path / "out", "--parts", 3)
    assert (tmp_path / "out" / "groups.parquet").read_bytes() == whole
