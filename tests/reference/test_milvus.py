# SPDX-License-Identifier: Apache-2.0
"""milvus-lite takes in the vectors that `bandmill export --to milvus` writes, and finds by them: the words that it gives back are those
that datasketch makes of the same shingles, and its distances of Hamming and Jaccard over their bits are NumPy's, of each document with
each that is asked for. (Its index MINHASH_LSH is the server's alone.)"""
import contextlib
import os
import random
import socket
import subprocess
import time

import harness

np, pymilvus, milvus_lite = harness.need_modules("numpy", "pymilvus", "milvus_lite")
import test_exchange  # noqa: E402

ASKED = 12
WAITED_SECONDS = 300


def bits_of(words):
    return np.unpackbits(words.astype("<u4").view(np.uint8), axis=1).astype(np.int64)


def distances(bits, asked):
    """metric -> a row for each that is asked for, a distance for each document."""
    both = bits[asked] @ bits.T
    either = bits[asked].sum(axis=1)[:, None] + bits.sum(axis=1)[None, :] - both
    return {"HAMMING": either - both, "JACCARD": 1 - both / np.maximum(either, 1)}


def collection(client, name, metric, dim):
    schema = client.create_schema(auto_id=False)
    schema.add_field("id", pymilvus.DataType.INT64, is_primary=True)
    schema.add_field("signature", pymilvus.DataType.BINARY_VECTOR, dim=dim)
    index = client.prepare_index_params()
    index.add_index("signature", index_type="BIN_FLAT", metric_type=metric)
    client.create_collection(name, schema=schema, index_params=index)


def check_found(claims, client, vectors, numbers, words):
    asked = list(range(ASKED))
    rows = [{"id": int(i), "signature": v.tobytes()} for i, v in zip(numbers, vectors)]
    for metric, expected in distances(bits_of(words), asked).items():
        name = metric.lower()
        collection(client, name, metric, 8 * vectors.shape[1])
        client.insert(name, rows)
        hits = client.search(name, data=[rows[i]["signature"] for i in asked], limit=len(rows), anns_field="signature",
                             search_params={"metric_type": metric})
        found = np.full((ASKED, len(rows)), np.nan)
        for i, of in enumerate(hits):
            for hit in of:
                found[i, hit["id"]] = hit["distance"]
        claims.check(f"milvus: distances by {metric}, as NumPy's", np.allclose(found, expected, rtol=0, atol=1e-6),
                     f"{int((np.abs(found - expected) > 1e-6).sum() + np.isnan(found).sum())} others")
    back = client.get("hamming", ids=numbers.tolist(), output_fields=["id", "signature"])
    got = {row["id"]: np.frombuffer(b"".join(row["signature"]) if isinstance(row["signature"], list) else row["signature"], "<u4").tolist()
           for row in back}
    claims.check("milvus: the words that it gives back are datasketch's", got == dict(enumerate(words.tolist())))


def started(path):
    """The address of milvus-lite's server for the database `path`, when it listens: its own client gives up after seconds, and what is not
    in memory yet, beside others that have the processor, takes longer to start. None: it does not start."""
    from milvus_lite.server_manager import server_manager_instance as manager
    address = manager.start_and_get_uri(path)
    if address is None:
        return None
    server, until = next(iter(manager._servers.values())), time.monotonic() + WAITED_SECONDS
    while server._p.poll() is None and time.monotonic() < until:
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as to:
            to.connect(address[len("unix:"):])
            return address
        time.sleep(0.05)
    return None


def stop():
    """Its end is waited for, where milvus-lite's own patience is at an end before."""
    from milvus_lite.server_manager import server_manager_instance as manager
    processes = [server._p for server in manager._servers.values()]
    try:
        manager.release_all()
    except subprocess.TimeoutExpired:
        for process in processes:
            process.kill()
            process.wait()


def main():
    args = harness.arguments(__doc__)
    claims = harness.Claims()
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(harness.scratch())
        exports = test_exchange.Exports(harness.Program(args.program, args.server), folder, test_exchange.make_documents(random.Random(9), 90))
        out = exports.export("milvus")
        vectors, numbers = (np.load(os.path.join(out, name)) for name in ("signature.npy", "id.npy"))
        stack.callback(stop)
        address = started(os.path.join(folder, "lite.db"))
        if address is None:
            harness.skip("milvus-lite does not start", "BANDMILL_REQUIRE_PYTHON")
        client = pymilvus.MilvusClient(address, timeout=WAITED_SECONDS)
        stack.callback(client.close)
        check_found(claims, client, vectors, numbers, exports.words().astype(np.uint32))
    claims.end()


if __name__ == "__main__":
    main()
