# SPDX-License-Identifier: Apache-2.0
"""Signatures that stay in memory are those of a job with files, whatever the shingles and the documents.

A job is what ``on_error="skip"`` takes; where nothing is bad, it skips nothing.
"""

import gc
import json
import os
import pathlib
import random
import subprocess
import sys
import textwrap

import numpy as np
import pyarrow as pa
import pytest

import bandmill

ODD = [
    None,
    "",
    "   ",
    "one",
    "a \N{LATIN SMALL LETTER E WITH ACUTE} b c d e f g",
    "\N{CJK UNIFIED IDEOGRAPH-6F22}\N{CJK UNIFIED IDEOGRAPH-5B57} and more words here now",
    "\N{GRINNING FACE}" * 9,
    "the same words the same words the same words",
    "x" * 70000,
    " ".join(str(i) for i in range(20000)),
    "\N{HEAVY BLACK HEART}\N{VARIATION SELECTOR-16}" * 3,
    "so\N{SOFT HYPHEN}ft hy\N{ZERO WIDTH NON-JOINER}phens a\N{ZERO WIDTH SPACE}b",
    "e\N{ZERO WIDTH JOINER}\N{COMBINING ACUTE ACCENT} x",
    "twelve bytes",
    "thirteen byte",
]
KINDS = {
    "words": {},
    "words of spaces": {"words": "space", "shingle": "word:2"},
    "characters": {"shingle": "char:5"},
    "bytes": {"shingle": "byte:8"},
    "stop words": {"shingle": "stopword:2"},
    "bag": {"bag": True, "shingle": "word:2"},
    "no normalising": {"normalize": "none"},
    "accents": {"normalize": "nfkc,lower,strip-accents,digits,punct"},
    "as before `invisible`": {"normalize": ["lower"]},
    "visible and composed": {"normalize": ["lower", "nfc", "invisible"]},
    "short ones skipped": {"short": "skip"},
    "keys": {"bands": 16, "rows": 8},
    "oph": {"scheme": "oph", "perms": 64},
    "one word of a signature": {"perms": 1},
}


def test_what_is_not_seen_changes_nothing():
    seen = ["a soft hyphen and a heart \N{HEAVY BLACK HEART}", "\N{HEAVY BLACK HEART}", "\N{AIRPLANE}"]
    unseen = ["a so\N{SOFT HYPHEN}ft hyphen and a heart \N{HEAVY BLACK HEART}\N{VARIATION SELECTOR-16}"] + [
        text + "\N{VARIATION SELECTOR-16}" for text in seen[1:]
    ]
    a, b, before = bandmill.sign(seen), bandmill.sign(unseen), bandmill.sign(unseen, normalize="lower")
    assert (a.signatures == b.signatures).all() and (a.signatures != before.signatures).any()
    assert bandmill.dedup(unseen).report["counts"]["empty"] == 2
    spelled = bandmill.sign(unseen, normalize="invisible,lower")
    assert (spelled.signatures == b.signatures).all()


def real_texts():
    """Paragraphs of the project's own pages, with their tables, code and foreign letters."""
    root = pathlib.Path(__file__).resolve().parents[2]
    pages = [root / "README.md", *sorted((root / "docs").glob("*.md"))]
    return [part for page in pages for part in page.read_text(encoding="utf-8").split("\n\n")]


@pytest.fixture(scope="module")
def texts(rows):
    draw = random.Random(5)
    out = [r["text"] for r in rows] + real_texts() + ODD * 3
    draw.shuffle(out)
    return out


def same(ours, theirs, folder):
    """Whole directories, but for what the manifest tells of the run."""
    assert type(ours).__name__ == "_InMemory" and type(theirs).__name__ != "_InMemory"
    a = ours.save(folder / "ours").path
    b = theirs.save(folder / "theirs").path
    names = sorted(p.name for p in b.iterdir() if p.name != "skipped.tsv")
    assert sorted(p.name for p in a.iterdir()) == names
    for name in names:
        if name == "manifest.json":
            mine, other = (json.loads((p / name).read_text()) for p in (a, b))
            for key in ("provenance", "plan", "counts", "inputs"):
                if key == "provenance":
                    mine[key].pop("on_error"), other[key].pop("on_error")
                assert mine[key] == other[key], key
        else:
            assert (a / name).read_bytes() == (b / name).read_bytes(), name
    assert np.array_equal(ours.signatures, theirs.signatures)
    assert np.array_equal(ours.n_shingles, theirs.n_shingles)
    assert ours.ids == theirs.ids and len(ours) == len(theirs)


@pytest.mark.parametrize("kind", KINDS)
def test_memory_equals_the_job(kind, texts, tmp_path):
    column = pa.chunked_array([texts[:100], texts[100:100], texts[100:]], pa.string())
    options = {"device": "cpu", **KINDS[kind]}
    ours = bandmill.sign(column, threads=2, **options)
    same(ours, bandmill.sign(column, on_error="skip", **options), tmp_path)
    if "bands" in options:
        keys = bandmill.sign(column, on_error="skip", **options).band_keys
        assert np.array_equal(ours.band_keys, keys)


def test_bytes_that_are_no_utf8(texts, tmp_path):
    draw = random.Random(6)
    broken = []
    for text in texts:
        data = bytearray((text or "").encode())
        for _ in range(draw.randrange(3)):
            if data:
                data[draw.randrange(len(data))] = draw.choice(b"\xff\xc3\xe2\x80\xf0\xed")
        broken.append(bytes(data))
    column = pa.array(broken, pa.binary())
    ours = bandmill.sign(column, device="cpu", threads=2)
    same(ours, bandmill.sign(column, on_error="skip", device="cpu"), tmp_path)
    assert ours.manifest["counts"]["invalid_utf8"] > 0
    assert np.array_equal(bandmill.sign(broken, device="cpu").signatures, ours.signatures)
    with pytest.raises(bandmill.Error) as e:
        bandmill.sign(column, invalid_utf8="error", device="cpu")
    assert (e.value.status, e.value.file) == ("input", "table") and e.value.line > 0


def test_ids_several_texts_and_numbered_ones(rows, tmp_path):
    ids = [i % 50 for i in range(len(rows))]
    table = pa.table({"n": pa.array(ids, pa.int16()), "a": [r["text"] for r in rows], "b": [r["id"] for r in rows]})
    options = {"text": ["b", "a"], "id": "n", "duplicate_ids": "number", "device": "cpu"}
    same(bandmill.sign(table, threads=3, **options), bandmill.sign(table, on_error="skip", **options), tmp_path)


def test_lists_equal_columns(texts):
    column = bandmill.sign(pa.array(texts, pa.string()), device="cpu")
    for data in (texts, tuple(texts), np.array(texts, dtype=object), [t and t.encode() for t in texts]):
        assert np.array_equal(bandmill.sign(data, device="cpu").signatures, column.signatures)
    mixed = [bytearray(b"one two"), memoryview(b"one two"), b"one two", "one two", np.str_("one two"), "\ud800"]
    words = bandmill.sign(mixed, shingle="word:1", device="cpu").signatures
    assert all(np.array_equal(words[0], w) for w in words[:5])


def test_nothing_at_all():
    for data in ([], pa.table({"text": pa.array([], pa.string())}), pa.chunked_array([], pa.string())):
        s = bandmill.sign(data, device="cpu", bands=2, rows=2)
        assert s.signatures.shape == (0, 128 if s.signatures.shape[1] != 4 else 4) and len(s) == 0 and s.ids == []
        assert s.band_keys.shape == (0, 2)


def test_arrays_outlive_what_made_them(texts):
    s = bandmill.sign(texts, device="cpu")
    words, again = s.signatures, s.signatures
    total = int(words.astype(np.uint64).sum())
    assert not words.flags.writeable and np.shares_memory(words, again)
    del s, again
    gc.collect()
    assert int(words.astype(np.uint64).sum()) == total


def test_a_directory_is_made_when_it_is_asked_for(texts):
    s = bandmill.sign(texts, device="cpu")
    path = s.path
    assert path == s.path and np.array_equal(np.load(path / "signatures.npy"), s.signatures)
    del s
    gc.collect()
    assert not path.exists()


@pytest.mark.skipif(sys.platform != "linux", reason="/proc")
def test_texts_are_not_copied():
    """40 MB of texts, of which a copy would be ten times what is allowed beside the output."""
    script = textwrap.dedent("""
        import bandmill, pyarrow as pa
        def status(name):
            return next(int(l.split()[1]) << 10 for l in open("/proc/self/status") if l.startswith(name))
        pa.set_memory_pool(pa.system_memory_pool())
        words = " ".join(f"w{i * 7919 % 100003}" for i in range(1000))
        column = pa.array([words[i % 500 : i % 500 + 5000] for i in range(8000)])
        bandmill.sign(column.slice(0, 100), device="cpu", threads=2)
        before = status("VmRSS")
        open("/proc/self/clear_refs", "w").write("5")
        s = bandmill.sign(column, device="cpu", threads=2)
        print(status("VmHWM") - before, s.signatures.nbytes)
    """)
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, env={**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    )
    if done.returncode != 0 and "clear_refs" in done.stderr:
        pytest.skip("the peak of a process cannot be reset here")
    assert done.returncode == 0, done.stderr
    peak, output = map(int, done.stdout.split())
    assert peak < output + (8 << 20), (peak, output)
