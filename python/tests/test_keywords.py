# SPDX-License-Identifier: Apache-2.0
"""Keywords are the program's options, and each is said."""

import inspect
import json
import typing

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

import bandmill
from bandmill import _dedup, _index, _jobs, _keywords, _option_rows, _overlap, _signatures

CALLS = {
    "sign": bandmill.sign,
    "dedup": bandmill.dedup,
    "pairs": bandmill.pairs,
    "tune": bandmill.tune,
    "query": bandmill.Index.query,
    "export": bandmill.export,
    "index build": bandmill.Index.build,
    "index add": bandmill.Index.add,
    "overlap": bandmill.overlap,
}
ONLY_PROGRAM = {  # and why no call has it
    **dict.fromkeys(
        ("help", "quiet", "verbose", "json"), "how a shell is told: the log is the logger 'bandmill', a result is an object"
    ),
    **dict.fromkeys(("files_from", "null"), "paths= takes a list"),
    "report": "the result has report",
    "follow": "a call answers at once",
}
ONLY_PROGRAM_OF = {
    **{("sign", name): "a result is saved by save(DIR)" for name in ("output", "force", "resume")},
    ("sign", "band_keys"): "there are some where a plan is given",
    ("tune", "all"): "of a terminal: the result has all rows",
    ("pairs", "output"): "the result is a table",
    ("query", "output"): "the result is a table",
    ("query", "force"): "the result is a table",
    ("query", "targets"): "documents that are looked in stand in an index",
    ("query", "threads"): "those that the index was opened with",
    **{
        (call, name): "fixed in the index"
        for call, more in (("index add", ()), ("query", ("recall", "verify")))
        for name in (
            "shingle",
            "words",
            "normalize",
            "short",
            "stopwords",
            "bag",
            "hash",
            "scheme",
            "perms",
            "seed",
            "preset",
            "bands",
            "rows",
            *more,
        )
    },
}
ONLY_PYTHON = {"data", "train", "paths", "cpu", "path", "signatures"}  # cpu: BANDMILL_CPU of the program
NAMES = {
    "text_field": "text",
    "id_field": "id",
    "against_text_field": "against_text",
    "against_id_field": "against_id",
}
NAMES_OF = {("overlap", "against"): "items"}


@pytest.fixture(scope="module")
def options(program):
    found = {}
    for option in json.loads(program("help", "--json"))["options"]:
        name = option["name"].replace("-", "_")
        for command in option["commands"]:
            found.setdefault(command, {})[NAMES_OF.get((command, name), NAMES.get(name, name))] = option
    return found


def parameters(call):
    return {name: p for name, p in inspect.signature(CALLS[call]).parameters.items() if name not in ("self", "cls")}


@pytest.mark.parametrize("call", CALLS)
def test_every_option_is_a_keyword(options, call):
    left_out = {name for name in options[call] if name in ONLY_PROGRAM or (call, name) in ONLY_PROGRAM_OF}
    assert set(options[call]) - left_out == set(parameters(call)) - ONLY_PYTHON


def test_no_exception_is_out_of_date(options):
    assert set(ONLY_PROGRAM) <= {name for of in options.values() for name in of}
    assert not [(call, name) for call, name in ONLY_PROGRAM_OF if name not in options[call] or name in parameters(call)]


@pytest.mark.parametrize("call", CALLS)
def test_words_of_a_keyword_are_the_programs(options, call):
    modules = (_dedup, _signatures, _index, _jobs, _overlap, _keywords, _option_rows)
    hints = typing.get_type_hints(
        CALLS[call], {"pa": pa} | {name: of for module in modules for name, of in vars(module).items()}
    )
    for name, option in options[call].items():
        if name not in parameters(call) or name == "progress" or option["type"] != "choice":
            continue
        of = hints[name]
        words = {w for one in (typing.get_args(of) or ()) for w in (typing.get_args(one) or (one,)) if isinstance(w, str)}
        assert words == set(option["words"]), name


def test_types_of_keywords_are_found_by_who_asks():
    hints = typing.get_type_hints(bandmill.dedup)
    assert set(hints) == set(parameters("dedup")) | {"return"}
    assert hints["cluster"] == typing.Literal["components", "star"]


def test_a_wrong_keyword_is_answered_with_the_one_that_is_meant():
    with pytest.raises(TypeError, match=r"dedup\(\) got an unexpected keyword argument 'num_perm' \(here it is perms=\)"):
        bandmill.dedup(["a"], num_perm=64)
    for name, value in (("max_group_size", "many"), ("max_group_size", -1), ("sample", 1.5)):
        with pytest.raises(bandmill.Error, match=f"{name} .* \\(a whole number from 0 to ") as e:
            (bandmill.dedup if name == "max_group_size" else bandmill.pairs)(["a"], **{name: value})
        assert e.value.field == name


@pytest.mark.parametrize("function", [*CALLS.values(), bandmill.hash_shingles])
def test_every_keyword_has_its_line_with_its_default(function):
    lines = inspect.getdoc(function).split("Keywords:\n")[1].splitlines()
    found = dict(line.strip().split(": ", 1) for line in lines)
    wanted = {name: p for name, p in inspect.signature(function).parameters.items() if name not in ("self", "cls")}
    assert list(found) == list(wanted)
    for name, parameter in wanted.items():
        if parameter.default not in (None, inspect.Parameter.empty):
            assert found[name].endswith(f" ({parameter.default!r})"), name
    assert set(_keywords.LINES) >= set(found)


def test_query_has_the_keywords_of_the_index_and_of_its_answers():
    own = parameters("index build").keys() | {"targets", "index", "queries", "top", "skip_same_id", "measure"}
    left_out = {"data", "path", "paths", "force", "sources", "offsets"}  # the index goes with the call
    assert set(inspect.signature(bandmill.query).parameters) == own - left_out


PRESETS = ["datasketch", "datatrove", "nemo", "text-dedup", "lance", "slimpajama", "SEDD"]


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_is_the_programs(name, table, jsonl, program, tmp_path, caplog):
    how = {"device": "cpu", "preset": name}
    program("sign", jsonl, "-o", tmp_path / "s", "--preset", name, "--device", "cpu")
    theirs = bandmill.load(tmp_path / "s")
    for data in (table, jsonl):
        with caplog.at_level("INFO", "bandmill"):
            ours = bandmill.sign(data, **how)
        assert (ours.signatures == theirs.signatures).all()
        assert any(f"preset {name}: " in line for line in caplog.messages)
        with pytest.raises(bandmill.Error, match="no band keys"):
            _ = ours.band_keys
    assert (ours.manifest["provenance"], ours.manifest["plan"]) == (theirs.manifest["provenance"], theirs.manifest["plan"])
    program("dedup", jsonl, "-o", tmp_path / "d", "--preset", name, "--device", "cpu")
    report = json.loads((tmp_path / "d" / "report.json").read_text(encoding="utf-8"))
    assert bandmill.dedup(table, **how).report["plan"] == report["plan"]
    assert json.loads(program("tune", "--preset", name, "--json")) == bandmill.tune(preset=name)


@pytest.mark.parametrize("name", PRESETS)
def test_a_keyword_that_repeats_a_presets_value_changes_nothing(name):
    texts = [f"one two three {i // 2} four five six seven eight nine ten eleven twelve thirteen {i}" for i in range(6)]
    how = {"device": "cpu", "threads": 1}
    plain = bandmill.sign(texts, preset=name, **how)
    said = {
        field: plain.manifest["provenance"][field]
        for field in ("scheme", "hash", "seed", "perms", "shingle", "words", "normalize")
    }
    for beside in [{field: value} for field, value in said.items()] + [said]:
        again = bandmill.sign(texts, preset=name, **beside, **how)
        assert (again.signatures == plain.signatures).all(), beside
        assert again.manifest["provenance"] == plain.manifest["provenance"], beside


def test_keywords_beside_a_preset_win(jsonl, program, tmp_path):
    for i, (options, keywords) in enumerate(
        (
            (["lance", "--seed", "5", "--perms", "64"], {"preset": "lance", "seed": 5, "perms": 64}),
            (["nemo", "--scheme", "affine32"], {"preset": "nemo", "scheme": "affine32"}),
            (["datatrove", "--recall", "0.9"], {"preset": "datatrove", "recall": 0.9}),
            (["text-dedup", "--threshold", "0.8"], {"preset": "text-dedup", "threshold": 0.8}),
            (["nemo", "--bands", "10", "--rows", "13"], {"preset": "nemo", "bands": 10, "rows": 13}),
        )
    ):
        program("dedup", jsonl, "-o", tmp_path / str(i), "--device", "cpu", "--preset", *options)
        report = json.loads((tmp_path / str(i) / "report.json").read_text(encoding="utf-8"))
        ours = bandmill.dedup(jsonl, device="cpu", **keywords).report
        assert (ours["plan"], ours["provenance"]) == (report["plan"], report["provenance"])
    with pytest.raises(bandmill.Error, match=r"preset 'spark' \(datasketch, ") as e:
        bandmill.sign(["a"], preset="spark")
    assert e.value.field == "preset"


def test_files_are_read_as_keywords_say(tmp_path):
    text = "one two three four five six seven eight nine ten"
    (tmp_path / "sub").mkdir()
    (tmp_path / "a.csv").write_text(f"x;{text}\ny;{text} eleven\n")
    (tmp_path / "sub" / "b.csv").write_text(f"z;{text} eleven twelve\n")
    how = {"text": "2", "id": "1", "header": "no", "delimiter": ";", "threshold": 0.3, "candidates": "all"}
    ids = lambda **k: {a for row in bandmill.pairs(tmp_path, **how, **k).to_pylist() for a in (row["id_a"], row["id_b"])}  # noqa: E731
    assert ids() == {"x", "y", "z"}
    assert ids(include="a*") == ids(exclude=["sub/*", "no*"]) == {"x", "y"}
    for name, value in (("header", "no"), ("delimiter", ";"), ("include", "a"), ("exclude", ["a"]), ("offsets", "a")):
        with pytest.raises(bandmill.Error, match="files") as e:
            bandmill.sign([text], **{name: value})
        assert e.value.field == name
    for wrong in ("", ";;", "é", "\0", 7):
        with pytest.raises(bandmill.Error, match="delimiter"):
            bandmill.sign(tmp_path, delimiter=wrong)


def test_outputs_are_written_as_keywords_say(jsonl, tmp_path):
    r = bandmill.dedup(jsonl, output=tmp_path / "d", kept="gz", removed="zst", device="cpu")
    assert {p.name for p in r.path.iterdir()} >= {"kept.jsonl.gz", "removed.jsonl.zst"}
    with pytest.raises(bandmill.Error, match="exists"):
        bandmill.dedup(jsonl, output=tmp_path / "d", device="cpu")
    again = bandmill.dedup(jsonl, output=tmp_path / "d", kept="gz", removed="zst", device="cpu", resume=True)
    assert again.report["counts"] == r.report["counts"]
    assert (bandmill.dedup(jsonl, output=tmp_path / "d", kept="no", device="cpu", force=True).path / "groups.jsonl").exists()
    assert not list(tmp_path.glob("d/kept*"))
    for name, value in (("kept", "gz"), ("removed", "same"), ("force", True), ("resume", True)):
        with pytest.raises(bandmill.Error, match="output=") as e:
            bandmill.dedup(jsonl, device="cpu", **{name: value})
        assert e.value.field == name
    bandmill.pairs(jsonl, histogram=tmp_path / "h.tsv", histogram_svg=tmp_path / "h.svg", device="cpu")
    assert (tmp_path / "h.svg").read_text().startswith("<svg") and (tmp_path / "h.tsv").stat().st_size


def test_a_plan_gives_band_keys_in_memory_and_of_files(table, jsonl, program, tmp_path):
    program("sign", jsonl, "-o", tmp_path / "s", "--band-keys", "--threshold", "0.7", "--recall", "0.9")
    theirs = bandmill.load(tmp_path / "s").band_keys
    for data in (table, jsonl):
        assert (bandmill.sign(data, id="id", threshold=0.7, recall=0.9, device="cpu").band_keys == theirs).all()


def test_a_field_of_keep_that_no_document_has_is_refused(tmp_path):
    table = pa.table({"id": ["a", "b"], "text": ["one two three four five six"] * 2, "n": [None, 2]})
    pa.parquet.write_table(table, tmp_path / "t.parquet")
    pa.csv.write_csv(table, tmp_path / "t.csv")
    with pa.ipc.new_file(tmp_path / "t.arrow", table.schema) as file:
        file.write_table(table)
    for data in (table, table.to_pandas(), tmp_path / "t.parquet", tmp_path / "t.csv", tmp_path / "t.arrow"):
        for rule in ("max:size", "longest,min:size", "order:size=1|2"):
            with pytest.raises(bandmill.Error, match=r"no document has a field 'size' \(.* has 'id', 'text', 'n'\)") as e:
                bandmill.dedup(data, keep=rule, device="cpu")
            assert e.value.status == "input"
        assert bandmill.dedup(data, keep="max:n", device="cpu").report["counts"]["removed"] == 1
    with pytest.raises(bandmill.Error, match=r"no document has a field 'size' \(the first one has 'text'\)"):
        bandmill.dedup(["one two", "one two"], keep="max:size", device="cpu")
    assert bandmill.dedup([], keep="max:size", device="cpu").report["counts"]["documents"] == 0
