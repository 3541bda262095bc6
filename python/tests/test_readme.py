# SPDX-License-Identifier: Apache-2.0
"""The examples of README.md run as they stand, and print what they say."""

import contextlib
import io
import pathlib
import re


def test_readme():
    text = (pathlib.Path(__file__).parents[1] / "README.md").read_text()
    space = {}
    for block in re.findall(r"```python\n(.*?)```", text, re.S):
        said = re.findall(r"print\(.*\)  # (.*)$", block, re.M)
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(block, space)
        for line in said:
            assert line in out.getvalue().splitlines(), (line, out.getvalue())
