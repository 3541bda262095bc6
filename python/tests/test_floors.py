# SPDX-License-Identifier: Apache-2.0
"""Modules of the package stand on floors: none imports another that, through whatever others, imports it."""

from __future__ import annotations

import ast
import graphlib
import pathlib

import pytest

import bandmill

HOME = pathlib.Path(bandmill.__file__).parent


def imported(path, modules):
    """Names of the package that a module imports, wherever in it."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            yield from {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)} & modules
        elif isinstance(node, ast.Import):
            yield from {alias.name for alias in node.names} & modules


def circle(paths):
    """One circle of imports, or None."""
    names = {".".join((HOME.name, *path.relative_to(HOME).with_suffix("").parts)): path for path in paths}
    try:
        graphlib.TopologicalSorter({name: set(imported(path, set(names))) for name, path in names.items()}).prepare()
    except graphlib.CycleError as e:
        return e.args[1]
    return None


def test_no_module_imports_one_above_it():
    modules = [
        path for path in HOME.rglob("*.py") if path.name != "__init__.py"
    ]  # whose names are looked up when they are used
    assert len(modules) > 20
    assert circle(modules) is None


@pytest.mark.parametrize(
    "line",
    ["from bandmill import b", "from bandmill.b import x", "import bandmill.b", "def f():\n    from bandmill.b import x"],
)
def test_a_circle_is_found(tmp_path, monkeypatch, line):
    monkeypatch.setitem(globals(), "HOME", tmp_path / "bandmill")
    (tmp_path / "bandmill").mkdir()
    for name, text in (("a", line), ("b", "from bandmill import a")):
        (tmp_path / "bandmill" / f"{name}.py").write_text(text)
    assert circle(sorted((tmp_path / "bandmill").glob("*.py"))) is not None
