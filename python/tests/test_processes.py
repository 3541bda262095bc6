# SPDX-License-Identifier: Apache-2.0
"""Processes of `multiprocessing`, forked and spawned: what they may use of their parent's, and what is an Error."""

import multiprocessing
import os
import signal

import numpy as np
import pytest

import bandmill
from bandmill.compat._schemes import Signer
from bandmill.compat.datasketch import MinHash

TEXTS = ["one two three four five six seven", "one two three four five six seven", "eight nine ten eleven twelve"]
HASHES = np.arange(40, dtype=np.uint32)
METHODS = [name for name in multiprocessing.get_all_start_methods() if name != "forkserver"]
# Python warns of a fork where there are threads; these tests are about that.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


def sketch(words):
    made = MinHash(num_perm=32)
    made.update_batch([word.encode() for word in words])
    return made.hashvalues.tolist()


def signatures(texts):
    return bandmill.sign(texts, device="cpu", perms=16).signatures


def removed(texts):
    return bandmill.dedup(texts, device="cpu").removed.num_rows


@pytest.mark.parametrize("method", METHODS)
def test_a_process_of_a_pool_does_what_its_parent_does(method):
    words = [[f"w{i + k}" for i in range(9)] for k in range(6)]
    here = [sketch(w) for w in words], signatures(TEXTS), removed(TEXTS)  # so there are threads, and a signer that is kept
    with multiprocessing.get_context(method).Pool(2) as pool:
        assert pool.map_async(sketch, words).get(300) == here[0]
        assert np.array_equal(pool.apply_async(signatures, (TEXTS,)).get(300), here[1])
        assert pool.apply_async(removed, (TEXTS,)).get(300) == here[2] == 1
    assert [sketch(w) for w in words] == here[0]


def outcome(work, *args):
    """What ``work`` gives in a forked process, or the Error that it raises: its status and its words."""
    reader, writer = multiprocessing.Pipe(duplex=False)
    child = os.fork()
    if child == 0:
        signal.alarm(120)  # a call that waits for a thread of the parent's waits for ever
        try:
            writer.send(work(*args))
        except bandmill.Error as e:
            writer.send((e.status, str(e)))
        finally:
            os._exit(0)
    writer.close()
    found = reader.recv() if reader.poll(300) else None
    assert os.waitpid(child, 0)[1] == 0
    return found


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.parametrize("threads", [1, 3])
def test_a_signer_of_the_parent_is_an_error_in_a_forked_process(threads):
    signer = Signer("affine32", 1, 32, threads=threads)
    words = signer.sign(HASHES, [len(HASHES)])
    status, message = outcome(signer.sign, HASHES, [len(HASHES)])
    assert status == "usage" and "the signer belongs to the process that opened it" in message
    assert outcome(signer.close) is None
    assert np.array_equal(signer.sign(HASHES, [len(HASHES)]), words)
    signer.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_forked_process_opens_the_index_again(tmp_path):
    with bandmill.Index.build(tmp_path / "index", TEXTS, device="cpu", threshold=0.5) as index:
        here = index.query(TEXTS).to_pylist()
        assert outcome(lambda: index.query(TEXTS).to_pylist()) == here
        assert outcome(index.close) is None
        assert index.query(TEXTS).to_pylist() == here and index.remove([0]) == 1
