# SPDX-License-Identifier: Apache-2.0
"""What the tests share: a small corpus with near-duplicates, and the program to compare with."""

import json
import os
import pathlib
import random
import subprocess

import pyarrow as pa
import pytest

WORDS = [f"{a}{b}" for a in ("ar", "be", "co", "du", "el", "fi", "go", "hu") for b in ("ba", "ce", "di", "fo", "gu", "ha")]


def make_rows(n, seed=1):
    """Documents of words: every third is an edit of an earlier one; some are empty, some not ASCII, some copies."""
    draw = random.Random(seed)
    texts = []
    for i in range(n):
        if i % 3 == 2:
            words = texts[draw.randrange(len(texts))].split()
            for _ in range(draw.randrange(3)):
                if words:
                    words[draw.randrange(len(words))] = draw.choice(WORDS)
        else:
            words = [draw.choice(WORDS) for _ in range(draw.randrange(5, 60))]
        texts.append(" ".join(words))
    texts[7] = ""
    texts[8] = "Ünïcode — 漢字かな 한국어 текст " * 3
    texts[9] = texts[8]
    return [{"id": f"doc-{i}", "text": t} for i, t in enumerate(texts)]


@pytest.fixture(scope="session")
def rows():
    return make_rows(400)


@pytest.fixture(scope="session")
def table(rows):
    return pa.Table.from_pylist(rows)


@pytest.fixture(scope="session")
def jsonl(rows, tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "rows.jsonl"
    path.write_text("".join(json.dumps(r, ensure_ascii=False) + "\n" for r in rows), encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def program():
    path = os.environ.get("BANDMILL_PROGRAM")
    if not path:
        pytest.skip("BANDMILL_PROGRAM names no program to compare with")

    def run(*arguments):
        done = subprocess.run([path, *map(str, arguments), "-q"], capture_output=True, check=False)
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout

    run.path = pathlib.Path(path)
    return run


@pytest.fixture(scope="session")
def theirs():
    """The package that bandmill.compat.datasketch stands beside."""
    return pytest.importorskip("datasketch", minversion="2")


@pytest.fixture(scope="session")
def spark(tmp_path_factory):
    from spark_session import start

    session = start("local[2]", tmp_path_factory.mktemp("local"))
    yield session
    session.stop()
