# SPDX-License-Identifier: Apache-2.0
"""What is refused says what and where; nothing hangs, nothing stays behind."""

import gc
import gzip
import json
import pathlib
import resource
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import time

import numpy as np
import pyarrow as pa
import pytest

import bandmill

TEXTS = ["one two three four five six", "one two three four five seven", "bread needs flour water salt"]
NO_DATA = "(a list or array of str or bytes, a table that gives out an Arrow stream, a path, or paths=)"

# What people write at first, and what they are told: the call, status and field of the error, its words (… : more of them).
MISTAKES = [
    # documents
    ("dedup(body)", "input", None, "table: no column 'text' (`text` names another; it has: id, body)"),
    ("dedup(table, text=['title', 'text'])", "input", None, "table: no column 'title' (it has: id, text)"),
    ("dedup(table, id='key')", "input", None, "table: no column 'key' (it has: id, text)"),
    ("dedup(texts, id='id')", "input", None, "table: no column 'id' (it has: text)"),
    ("dedup(t for t in texts)", "usage", "data", f"data of type generator: list() makes a list of it {NO_DATA}"),
    ("dedup(set(texts))", "usage", "data", f"data of type set: list() makes a list of it {NO_DATA}"),
    ("dedup({'text': texts})", "usage", "data", f"data of type dict: pyarrow.table() makes a table of it {NO_DATA}"),
    ("dedup(open('good.jsonl'))", "usage", "data", f"data of type TextIOWrapper: its path is read {NO_DATA}"),
    ("dedup(b'one two')", "usage", "data", f"data of type bytes: a list has a text {NO_DATA}"),
    ("dedup(None)", "usage", "data", f"data of type NoneType {NO_DATA}"),
    (
        "dedup([{'text': t} for t in texts])",
        "input",
        "data",
        "item 0 is of type dict (a text is str, bytes or None; pyarrow.Table.from_pylist() makes a table of records)",
    ),
    ("sign([1, 2])", "input", "data", "item 0 is of type int (a text is str, bytes or None)"),
    ("sign(pa.table({'text': [1.5]}))", "input", None, "table: column 'text' has the type double (a text is utf8 or binary, …"),
    ("sign(pa.array([1, 2]))", "input", None, "…"),
    (
        "sign(pa.table({'id': ['a', 'a'], 'text': texts[:2]}), id='id')",
        "input",
        None,
        "table:2: the id 'a' was seen before, at table:1 (ids must differ; `duplicate_ids` number makes them so)",
    ),
    # files
    ("dedup('one two')", "io", "data", "one two: no such file (a str is a path; texts come in a list)"),
    ("dedup(pathlib.Path('x.jsonl'))", "io", None, "x.jsonl: cannot open: No such file or directory"),
    ("dedup('*.parquet')", "input", "data", "*.parquet: no file matches"),
    ("dedup(texts, paths='good.jsonl')", "usage", "paths", "data and paths (one of them)"),
    (
        "dedup('bad.jsonl')",
        "input",
        None,
        "bad.jsonl:2: no field 'text' (a string or null; `text` names another; the record has 'id', 'content'; `on_error` …",
    ),
    (
        "sign('good.jsonl', format='json')",
        "input",
        None,
        "good.jsonl:1: broken JSON: an array was expected (of an object a line: `format` jsonl; `on_error` skip …",
    ),
    ("sign(table, format='csv')", "usage", "format", "`format` csv of a table (`stream`: arrow)"),
    (
        "dedup('good.jsonl', output='good.jsonl')",
        "usage",
        "output",
        "good.jsonl: the output is the input good.jsonl (expected a place of its own)",
    ),
    ("dedup('good.jsonl', removed='same')", "usage", "removed", "removed is for output=, a directory that stays"),
    ("load('nowhere')", "format", "path", "nowhere: no directory of signatures, no result of dedup or overlap, no index"),
    ("Index.open('nowhere')", "io", None, "nowhere: cannot open the index: No such file or directory"),
    # options
    ("dedup(texts, threshold=80)", "usage", "threshold", "threshold 80 (more than 0, at most 1)"),
    ("dedup(texts, threshold='80%')", "usage", "threshold", "threshold '80%' (a number from 0 to 1)"),
    ("sign(texts, shingle=5)", "usage", "shingle", "shingle 5 (word:5, char:9, byte:20 …)"),
    ("sign(texts, shingle='words:3')", "usage", "shingle", "shingle 'words' (word, char, byte, stopword)"),
    ("sign(texts, normalize='upper')", "usage", "normalize", "normalize 'upper' (nfc, nfkc, lower, …"),
    ("dedup(texts, keep='best')", "usage", "keep", "`keep` 'best': there is no such rule (expected first last longest …"),
    ("dedup(texts, cluster='all')", "usage", "cluster", "cluster 'all' (components, star)"),
    ("dedup(texts, verify=True)", "usage", "verify", "verify 'True' (auto, exact, signature, none, contained)"),
    ("dedup(table, against=7)", "usage", "data", "data of type int …"),
    ("dedup(texts, bands=20)", "usage", "bands", "`bands` without `rows` or `rows` without `bands` (both or neither)"),
    ("pairs(texts, threshold=0)", "usage", "threshold", "`threshold` 0 lists every pair, which takes `candidates` all"),
    ("sign(texts, perms=0)", "usage", "perms", "perms 0 (a whole number from 1 to 4294967295)"),
    ("sign(texts, perms=70000)", "usage", "perms", "…"),
    ("sign(texts, threads=-1)", "usage", "threads", "threads -1 (a whole number from 0 to 4294967295)"),
    (
        "sign(texts, memory='4 gigs')",
        "usage",
        "memory",
        'memory \'4 gigs\' (a size, "512M" or "4G", or a whole number of bytes)',
    ),
    ("sign(texts, memory='1M', device='cpu')", "nomem", None, "`memory` of 1024 KiB is too small to work (at least …"),
    ("sign(texts, device='opencl:99.0')", "device", None, "no device matches 'opencl:99.0' (…"),
    ("sign(texts, scheme='minhash')", "usage", "scheme", "scheme 'minhash' (affine32, oph, cws, …"),
    ("dedup(texts, progress='yes')", "usage", "progress", "progress 'yes' (True, False, or a function of stage, …"),
    ("tune(ceiling=0.05)", "usage", "ceiling", "ceiling 0.05 (one similarity and its probability: {0.05: 0.006})"),
    # results
    ("r.take(table.slice(1))", "usage", "data", "2 rows, where dedup read 3 (take is for the same data)"),
    ("r.pairs", "usage", "pairs", "no pairs were asked for (pairs=True)"),
    ("r.explain()", "usage", "group", "explain takes one id, two ids, or group="),
    (
        "load('good.jsonl')",
        "format",
        "path",
        "good.jsonl: no directory of signatures, no result of dedup or overlap, no index",
    ),
    ("explain('.', 'a', 'b')", "format", "path", ".: no result of dedup or overlap (report.json: …"),
    ("report('nowhere')", "format", "path", "nowhere: no result of dedup or overlap (report.json: …"),
    ("filter('closed', 'out')", "format", "path", "closed: no result of dedup or overlap (report.json: …"),
    ("dedup(pa.table({'id': ['a', None], 'text': ['a', 'b']}))", "input", None, "table:2: column 'id' is null (an id was …"),
    ("r.filter('out')", "usage", "output", "filter is for files (take(data) has the kept rows of a table)"),
    (
        "dedup('good.jsonl').kept",
        "usage",
        "kept",
        "kept and take() are for rows of a table or list (output=DIR, or filter(DIR), writes …",
    ),
    (
        "sign(texts).band_keys",
        "usage",
        "bands",
        "these signatures have no band keys (threshold=, or bands= and rows=, make some)",
    ),
    ("cluster(texts)", "usage", "path", "pairs is no path and no table of id_a, id_b, jaccard"),
    ("query(texts, table)", "usage", "targets", "query takes targets= or index="),
    (
        "r.take(other)",
        "usage",
        "data",
        "row 2 has an id that dedup did not read (the same data; rows with ids are found in any order)",
    ),
    ("r.to_html('good.jsonl')", "usage", "path", "good.jsonl: exists, and is no report that could be replaced"),
    ("r.explain('a', 3.5)", "usage", "b", "b of type float (an id is a str, bytes or int)"),
    ("r.explain('a', 3)", "usage", "id_b", "no document '3' (ids as the inputs have them)"),
    # what names a thing in another way
    ("dedup(texts, 0.8)", "usage", "text", "text 0.8 (the name of a field or column; options are keywords, …"),
    ("dedup(table, text=3)", "usage", "text", "text of type int (a str or a path)"),
    ("dedup(table, id=0)", "usage", "id", "id of type int (the name of a field or column)"),
    ("dedup(texts, device=0)", "usage", "device", "device of type int (a str: cpu, gpu, or part of a name)"),
    ("dedup(texts, keep=['longest', 'first'])", "usage", "keep", "keep of type list (rules, separated by commas)"),
    ("dedup('good.jsonl', output=5)", "usage", "output", "output of type int (a str or a path)"),
    ("export(r, to='npy', output='out')", "usage", "signatures", "signatures of type Dedup (what sign returned, or its path)"),
    ("sign(texts, perms=128.0)", "usage", "perms", "perms 128.0 (a whole number from 1 to 4294967295)"),
    ("sign(texts, memory=4e9)", "usage", "memory", "memory 4000000000.0 (a size, …"),
    (
        "dedup(pathlib.Path('~/x.jsonl'))",
        "io",
        None,
        "~/x.jsonl: ~ is not expanded here: cannot open: No such file or directory",
    ),
    (
        "dedup('~/x.jsonl')",
        "io",
        "data",
        "~/x.jsonl: no such file (a str is a path; texts come in a list; ~ is not expanded here)",
    ),
    ("dedup(pa.table({}))", "input", None, "table: no column 'text' (`text` names another; it has: no columns)"),
    ("dedup(pd.DataFrame({'text': ['a', 2]}))", "input", "data", "table: no Arrow table: Expected bytes, got a 'int' object …"),
    ("dedup(pd.DataFrame({'text': [1, 2]}))", "input", None, "table: column 'text' has the type int64 (a text is utf8 …"),
    (
        "dedup(pd.DataFrame({'text': [float('nan')]}))",
        "input",
        None,
        "table: column 'text' has the type double (a text is utf8 …",
    ),
    (
        "dedup('array.jsonl')",
        "input",
        None,
        "array.jsonl:1: not a JSON object (`format` json reads a file that is one array of objects; `on_error` skip …",
    ),
    ("dedup('utf16.jsonl')", "input", None, "utf16.jsonl: this is text in UTF-16, which is not read (iconv -f UTF-16 …"),
    ("closed.query(texts)", "usage", None, "the index is closed"),
    (
        "dedup('cut.jsonl.gz')",
        "input",
        None,
        "cut.jsonl.gz: the gzip data is cut short (`on_error` skip uses the records before that)",
    ),
]


@pytest.fixture(scope="module")
def names(tmp_path_factory):
    place = tmp_path_factory.mktemp("mistakes")
    (place / "good.jsonl").write_text("".join(json.dumps({"id": i, "text": t}) + "\n" for i, t in enumerate(TEXTS)))
    (place / "bad.jsonl").write_text('{"id":"a","text":"one"}\n{"id":"b","content":"x"}\n')
    (place / "array.jsonl").write_text('[{"id":"a","text":"one"}]')
    (place / "utf16.jsonl").write_text('{"id":"a","text":"one"}\n', encoding="utf-16")
    (place / "cut.jsonl.gz").write_bytes(gzip.compress((place / "good.jsonl").read_bytes())[:-12])
    table = pa.table({"id": ["a", "b", "c"], "text": TEXTS})
    closed = bandmill.Index.build(place / "closed", table, device="cpu")
    closed.close()
    other = pa.table({"id": ["a", "b", "x"], "text": TEXTS})
    r = bandmill.dedup(table, device="cpu")
    known = {name: getattr(bandmill, name) for name in bandmill.__all__}
    return place, {**known, "pa": pa, "pathlib": pathlib, "texts": TEXTS, "table": table, "r": r} | {
        "body": table.rename_columns(["id", "body"]),
        "closed": closed,
        "other": other,
    }


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda m: m[0])
def test_mistakes(mistake, names, monkeypatch):
    call, status, field, words = mistake
    known = names[1] | ({"pd": pytest.importorskip("pandas")} if "pd." in call else {})
    monkeypatch.chdir(names[0])
    with pytest.raises(bandmill.Error) as e:
        eval(call, known)
    said = str(e.value)
    assert (e.value.status, e.value.field) == (status, field), said
    assert said == words or (words.endswith("…") and said and said.startswith(words[:-1])), said


@pytest.mark.parametrize(
    ("name", "here"),
    [("num_perm", "perms"), ("text_field", "text"), ("n_jobs", "threads"), ("treshold", "threshold"), ("qqq", "")],
)
def test_a_keyword_of_elsewhere(name, here):
    with pytest.raises(TypeError) as e:
        bandmill.dedup(TEXTS, **{name: 1})
    hint = f" (here it is {here}=)" if here else ""
    assert str(e.value) == f"dedup() got an unexpected keyword argument {name!r}{hint}"


def test_known_documents_are_an_index_or_signatures(table, tmp_path):
    found = [bandmill.sign(table, id="id", device="cpu"), bandmill.Index.build(tmp_path / "i", table, id="id", device="cpu")]
    new = table.set_column(0, "id", pa.array([f"new {i}" for i in range(len(table))]))
    for known in found:
        by_object, by_path = (bandmill.dedup(new, against=a, device="cpu").removed for a in (known, known.path))
        assert by_object.equals(by_path) and "known" in by_object["reason"].to_pylist()
    assert found[1].query(["a text"]).num_rows == 0  # open again
    found[1].close()


def test_nothing_stays_behind(table, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))  # where no other process has anything

    def left():
        return set(tmp_path.iterdir())

    before = left()
    with pytest.raises(bandmill.Error):
        bandmill.sign(table, text="nope")
    s = bandmill.sign(table, device="cpu")
    words = s.signatures
    r = bandmill.dedup(table, device="cpu")
    assert left() != before
    total = int(np.asarray(words, dtype=np.uint64).sum())
    del s, r
    gc.collect()
    assert left() == before
    assert int(np.asarray(words, dtype=np.uint64).sum()) == total  # the map outlives its file


def test_a_stream_that_fails():
    def batches():
        yield pa.record_batch({"text": ["a"]})
        raise OSError("the disk is gone")

    reader = pa.RecordBatchReader.from_batches(pa.schema({"text": pa.string()}), batches())
    with pytest.raises(bandmill.Error, match="the disk is gone") as e:
        bandmill.sign(reader, device="cpu")
    assert e.value.status == "input" and "Traceback" not in str(e.value)


def test_eight_threads_give_what_one_gives(table):
    whole = bandmill.sign(table, id="id", device="cpu").signatures
    found = [None] * 8

    def work(i):
        found[i] = bandmill.sign(table, id="id", device="cpu", threads=1 + i % 3).signatures

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert all(np.array_equal(whole, f) for f in found)


def test_ctrl_c_ends_a_job():
    script = textwrap.dedent("""
        import sys, time, bandmill
        texts = [" ".join(str(i * j) for j in range(2000)) for i in range(400)] * 40
        try:
            print("ready", flush=True)
            while True:
                bandmill.sign(texts, device="cpu", perms=1024, threads=1)
        except KeyboardInterrupt:
            print(time.monotonic(), flush=True)
    """)
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as p:
        assert p.stdout.readline() == "ready\n"
        time.sleep(1)
        sent = time.monotonic()
        p.send_signal(signal.SIGINT)
        ended = float(p.stdout.readline())
        assert p.wait() == 0
    print(f"ended after {ended - sent:.3f} s")  # told, not judged: a machine may be busy


def test_no_leak():
    texts = ["one two three four five six"] * 20

    def once():
        bandmill.sign(texts, device="cpu", threads=1)
        with pytest.raises(bandmill.Error):
            bandmill.sign(texts, shingle="word:0", device="cpu")
        bandmill.hash_shingles(texts)

    for _ in range(20):
        once()
    gc.collect()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(150):
        once()
    gc.collect()
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 8 * 1024  # KiB
