# SPDX-License-Identifier: Apache-2.0
"""Every public function has an example in its docstring, and gives what stands there."""

import doctest
import inspect

import pytest

import bandmill

PUBLIC = {name: getattr(bandmill, name) for name in bandmill.__all__}
CALLS = {name: call for name, call in PUBLIC.items() if inspect.isfunction(call) or name == "Index"}


def test_there_are_some():
    assert {"dedup", "explain", "load", "report", "tune"} <= set(CALLS) and len(CALLS) > 14


@pytest.mark.parametrize("name", CALLS)
def test_an_example_gives_what_it_says(name):
    tests = doctest.DocTestParser().get_doctest(inspect.getdoc(CALLS[name]), {}, name, None, None)
    assert tests.examples
    result = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(tests)
    assert result.failed == 0 and result.attempted == len(tests.examples)
