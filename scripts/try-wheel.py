# SPDX-License-Identifier: Apache-2.0
"""try-wheel.py README.md: the package that is installed, tried where nothing else of ours is: the README's examples as they stand, the
command in every format and compression, and what the process has loaded. Without pyarrow: what does without it, and the words where it is
missing. Needs nothing but the package; build-wheel.sh --try-bare runs it."""

import base64
import bz2
import contextlib
import gzip
import importlib.util
import io
import lzma
import os
import pathlib
import re
import subprocess
import sys
import tempfile

LINES = """{"id":"a","text":"one two three four five six seven"}
{"id":"b","text":"one two three four five six seven"}
{"id":"c","text":"quite another text of its own words and more"}
"""
# The same, by lz4 and zstd.
LZ4 = """BCJNGGRAp3MAAADzJ3siaWQiOiJhIiwidGV4dCI6Im9uZSB0d28gdGhyZWUgZm91ciBmaXZlIHNpeCBzZXZlbiJ9CjYAH2I2ACIWYzYA4HF1aXRlIGFub3RoZXIgFQDwDiBv
ZiBpdHMgb3duIHdvcmRzIGFuZCBtb3JlIn0KAAAAANwRre8="""
ZSTD = """KLUv/SStzQIAcgYTEaDtMPzLDb6cyw1V+I9lv2dGoC47pm7W+DOOyS/J/jr9sPfkvmPUbI1zJ9gKAXUXR36f6Z1jOneQnTM71Geyz4ut2J7cG3asWJOWBgMAYBOBcy27
CgrwpaBD"""
HAS_ARROW = importlib.util.find_spec("pyarrow") is not None
COMMAND = pathlib.Path(sys.executable).with_name("bandmill")
# Python's own, and glibc's.
KNOWN = re.compile(r"/lib-dynload/[^/]*$|/(ld-linux[^/]*|lib(c|m|dl|pthread|rt|mvec|resolv|util|nss_\w+|anl))[-.][^/]*so[^/]*$")


def loaded():
    maps = pathlib.Path("/proc/self/maps").read_text().splitlines()
    return {line.split(None, 5)[5] for line in maps if ".so" in line and len(line.split(None, 5)) == 6}


def command(*words, code=0, stdin=None):
    done = subprocess.run([COMMAND, *map(str, words)], input=stdin, capture_output=True, check=False)
    assert done.returncode == code, (words, done.returncode, done.stderr.decode())
    return done


def try_readme(readme):
    """Each block in turn, in one space of names; without pyarrow those that need it say so."""
    space, ran = {}, 0
    for block in re.findall(r"```python\n(.*?)```", readme.read_text("utf-8"), re.S):
        out = io.StringIO()
        try:
            with contextlib.redirect_stdout(out):
                exec(block, space)
        except (ImportError, NameError) as e:
            assert not HAS_ARROW and ("pyarrow" in str(e) or "table" in str(e)), e
            continue
        for line in re.findall(r"print\(.*\)  # (.*)$", block, re.M):
            assert line in out.getvalue().splitlines(), (line, out.getvalue())
        ran += 1
    assert ran >= 2
    return ran


def try_command(place):
    assert command("--version").stdout.startswith(b"bandmill ")
    assert command("nope", code=2).stderr.startswith(b"bandmill: unknown command")
    assert b"native" in command("devices").stdout
    data = LINES.encode()
    forms = {
        "jsonl": data,
        "jsonl.gz": gzip.compress(data),
        "jsonl.bz2": bz2.compress(data),
        "jsonl.xz": lzma.compress(data),
        "jsonl.zst": base64.b64decode(ZSTD),
        "jsonl.lz4": base64.b64decode(LZ4),
    }
    for ending, content in forms.items():
        path, out = place / f"in.{ending}", place / f"out.{ending}"
        path.write_bytes(content)
        command("dedup", path, "-o", out, "--device", "cpu", "--normalize", "nfkc")
        assert (out / "removed.tsv").read_text("utf-8").split("\n")[1].startswith("b\ta\t1.000000"), ending
        assert (out / f"kept.{ending}").exists()
        again = command("dedup", out / f"kept.{ending}", "-o", place / f"again.{ending}", "--device", "cpu").stderr
        assert b"2 documents" in again, again
    command("sign", place / "in.jsonl", "-o", place / "signed", "--device", "cpu", "--hash", "sha1")
    command("index", "build", place / "index", place / "in.jsonl", "--device", "cpu")
    assert command("query", place / "index", place / "in.jsonl", "--device", "cpu").stdout.count(b"\n") == 6
    return len(forms)


def try_package(place):
    """The same, in this process, so that it can be seen what it loads."""
    import bandmill

    for path in sorted(place.glob("in.*")):
        assert bandmill.dedup(path, id="id", device="cpu").report["counts"]["removed"] == 1, path
    with bandmill.Index.build(place / "another", place / "in.jsonl", id="id", device="cpu") as index:
        assert len(index) == 3
    assert bandmill.self_test("cpu") > 0
    assert len(bandmill.load(place / "signed")) == 3


def try_tables(place):
    path = place / "t.parquet"
    if not HAS_ARROW:
        path.write_bytes(b"PAR1 and more PAR1")
        said = command("dedup", path, "-o", place / "t", code=3).stderr
        assert b"pip install './python[parquet]'" in said, said
        return
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.table({"id": ["a", "b", "c"], "text": ["one two three four five six seven"] * 2 + ["another text of its own words"]})
    for codec in ("zstd", "snappy", "gzip", "none"):
        pq.write_table(table, path, compression=codec)
        command("dedup", path, "-o", place / codec, "--device", "cpu")
        assert pq.read_table(place / codec / "kept.parquet")["id"].to_pylist() == ["a", "c"]


def main():
    import _cffi_backend  # noqa: F401
    import hashlib  # noqa: F401
    import ssl  # noqa: F401

    import numpy  # noqa: F401

    before = loaded()
    os.environ["XDG_CACHE_HOME"] = tempfile.mkdtemp()
    with tempfile.TemporaryDirectory() as place:
        forms = try_command(pathlib.Path(place))
        try_package(pathlib.Path(place))
        ours = sorted(pathlib.Path(f).name for f in loaded() if "bandmill/_lib" in f)
        own = str(pathlib.Path(sys.prefix).resolve())
        foreign = {f for f in loaded() - before if not f.startswith(own) and not KNOWN.search(f)}
        assert not (ours and foreign), f"loaded from the system: {sorted(foreign)}"
        try_tables(pathlib.Path(place))
        ran = try_readme(pathlib.Path(sys.argv[1]))
    print(f"{forms} forms of input, {ran} examples, {len(ours)} libraries of the wheel's own: {' '.join(ours)}")


main()
