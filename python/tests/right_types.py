# SPDX-License-Identifier: Apache-2.0
"""What a type checker knows of results: mypy says so where one of these would be of another type. Not run."""

import numpy as np
from typing_extensions import assert_type

import bandmill

texts = ["a", "b"]
r = bandmill.dedup(texts)
assert_type(r.take(texts), list[str])
assert_type(r.take(("a", "b")), tuple[str, str])
assert_type(r.take(np.array(texts)), np.ndarray)
assert_type(bandmill.tune(), bandmill.Tuned)
