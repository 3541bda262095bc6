# SPDX-License-Identifier: Apache-2.0
"""What the tests of bandmill.compat.datasketch share: a call of either package, and what it comes to."""

import numpy as np

import bandmill.compat.datasketch as ours


def outcome(call):
    """What a call gives, or the kind of its error."""
    try:
        return "gave", plain(call())
    except Exception as e:
        return "raised", type(e).__name__


def plain(value):
    """A result as what can be compared whichever package made it."""
    if isinstance(value, np.ndarray):
        return str(value.dtype), value.tolist()
    if hasattr(value, "hashvalues"):
        return type(value).__name__, value.scheme, value.seed, plain(value.hashvalues)
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, (bytearray, memoryview)):
        return bytes(value)
    return value


def same(call, theirs):
    """`call` of either package comes to the same; what it came to."""
    mine, other = outcome(lambda: call(ours)), outcome(lambda: call(theirs))
    assert mine == other
    return mine
