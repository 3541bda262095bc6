# SPDX-License-Identifier: Apache-2.0
"""cluster, export, query and filter: what the program does with the same files."""

import json

import pytest

import bandmill


def rows_of(table):
    return [tuple(row.values()) for row in table.to_pylist()]


def test_groups_of_pairs_are_the_programs(table, program, tmp_path):
    found = bandmill.pairs(table, id="id", threshold=0.5, device="cpu")
    path = tmp_path / "pairs.tsv"
    path.write_text("id_a\tid_b\tjaccard\n" + "".join(f"{a}\t{b}\t{j:.6f}\n" for a, b, j in rows_of(found)))
    for threshold, cluster, keep in ((None, "components", "first"), (0.7, "star", "first"), (0.7, "components", "last")):
        more = ["--threshold", threshold] if threshold else []
        theirs = [
            json.loads(line) for line in program("cluster", path, "--cluster", cluster, "--keep", keep, *more).splitlines()
        ]
        for pairs in (found, path, str(path)):
            ours = bandmill.cluster(pairs, threshold, cluster=cluster, keep=keep).to_pylist()
            assert ours == [{name: group[name] for name in ("group", "kept", "size", "members")} for group in theirs] and ours
    theirs = program("cluster", path, "--threshold", "0.6,0.9").decode().split("\n")[1:-1]
    ours = bandmill.cluster(found, [0.6, 0.9])
    assert [[f"{row[0]:g}", *map(str, row[1:])] for row in rows_of(ours)] == [line.split("\t") for line in theirs]
    odd = bandmill.pairs(["one two three four five six"] * 2, threshold=0.5, device="cpu")
    odd = odd.set_column(0, "id_a", [["tab\tnew\nback\\slash"]])
    assert bandmill.cluster(odd)["members"].to_pylist() == [["tab\tnew\nback\\slash", "1"]]
    with pytest.raises(bandmill.Error, match="no table"):
        bandmill.cluster([1, 2])


def test_signatures_for_other_tools_are_the_programs(table, jsonl, program, tmp_path):
    signed = bandmill.sign(table, id="id", device="cpu")
    program("sign", jsonl, "-o", tmp_path / "s", "--device", "cpu")
    for to in ("npy", "tsv", "leanminhash"):
        program("export", tmp_path / "s", "--to", to, "-o", tmp_path / f"theirs-{to}")
        for name, source in (("memory", signed), ("directory", tmp_path / "s")):
            ours = bandmill.export(source, to, tmp_path / f"{name}-{to}")
            files = [p for p in (tmp_path / f"theirs-{to}").iterdir() if p.suffix != ".json"]
            assert files and all((ours / p.name).read_bytes() == p.read_bytes() for p in files)
    with pytest.raises(bandmill.Error, match="exists"):
        bandmill.export(signed, "npy", tmp_path / "memory-npy")
    with pytest.raises(bandmill.Error, match="to 'faiss'"):
        bandmill.export(signed, "faiss", tmp_path / "no")


@pytest.mark.parametrize("measure", ["jaccard", "containment"])
def test_answers_are_the_programs(table, jsonl, program, tmp_path, measure):
    arguments = ["--threshold", "0.6", "--top", 3, "--skip-same-id", "--measure", measure]
    theirs = program("query", "--targets", jsonl, jsonl, *arguments).decode().split("\n")[1:-1]
    how = {"top": 3, "skip_same_id": True, "measure": measure}
    bandmill.Index.build(tmp_path / "i", table, id="id", threshold=0.6, device="cpu").close()
    for found in (
        bandmill.query(table, id="id", targets=table, threshold=0.6, device="cpu", **how),
        bandmill.query(jsonl, targets=jsonl, threshold=0.6, **how),
        bandmill.query(table, id="id", index=tmp_path / "i", **how),
    ):
        assert [f"{q}\t{t}\t{s:.6f}" for q, t, s in rows_of(found)] == theirs and len(theirs) > 10
    with pytest.raises(bandmill.Error, match="fixed"):
        bandmill.query(table, index=tmp_path / "i", shingle="word:2")
    with pytest.raises(bandmill.Error, match="targets= or index="):
        bandmill.query(table)


def test_filter_writes_what_dedup_would_have_kept(jsonl, table, tmp_path):
    kept = bandmill.dedup(jsonl, output=tmp_path / "d", device="cpu").path / "kept.jsonl"
    r = bandmill.dedup(jsonl, device="cpu")
    assert (r.filter(tmp_path / "f") / "kept.jsonl").read_bytes() == kept.read_bytes()
    lines = (r.filter(tmp_path / "all", annotate=True) / "annotated.jsonl").read_text(encoding="utf-8").splitlines()
    assert sum(json.loads(line)["bandmill"]["kept"] for line in lines) == len(kept.read_text(encoding="utf-8").splitlines())
    with pytest.raises(bandmill.Error):
        bandmill.dedup(table, device="cpu").filter(tmp_path / "no")
