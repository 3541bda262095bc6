# SPDX-License-Identifier: Apache-2.0
"""The notebooks of docs/notebooks, in a kernel of Jupyter: they run, and their cells give what stands below them."""

import os
import pathlib
import re

import pytest

NOTEBOOKS = sorted((pathlib.Path(__file__).parents[2] / "docs" / "notebooks").glob("*.ipynb"))


def shown(cell):
    """What a cell gives, as text; what tools say on standard error is not of it."""
    parts = [o["data"]["text/plain"] if "data" in o else o["text"] for o in cell["outputs"] if o.get("name") != "stderr"]
    return re.sub(r"\s+", " ", "\n".join(parts)).strip()


def test_there_are_some():
    assert len(NOTEBOOKS) >= 2


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_a_notebook_gives_what_stands_in_it(path, tmp_path, monkeypatch):
    for name in ("nbclient", "ipykernel", "pandas", "polars", "datasets"):
        pytest.importorskip(name)
    import nbclient
    import nbformat

    package = pathlib.Path(__import__("bandmill").__file__).parents[1]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(package), os.environ.get("PYTHONPATH", "")]))
    for name in ("IPYTHONDIR", "JUPYTER_RUNTIME_DIR"):
        monkeypatch.setenv(name, str(tmp_path))
    wanted, run = (nbformat.read(path, as_version=4) for _ in range(2))
    nbclient.NotebookClient(run, timeout=600, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}).execute()
    cells = [pair for pair in zip(wanted.cells, run.cells) if pair[0].cell_type == "code"]
    assert [shown(cell) for cell, _ in cells] == [shown(cell) for _, cell in cells] and len(cells) > 3
    assert path.stat().st_size < 120000 and not re.search(r"/tmp/|/home/", path.read_text())
