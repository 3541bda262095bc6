# SPDX-License-Identifier: Apache-2.0
"""What a type checker refuses: mypy says so where one of these lines would pass. Not run."""

import bandmill

bandmill.dedup([], cluster="stars")  # type: ignore[arg-type]
bandmill.dedup([], weights="bm25")  # type: ignore[arg-type]
bandmill.dedup([], kept="zip")  # type: ignore[arg-type]
bandmill.pairs([], measure="cosine")  # type: ignore[arg-type]
bandmill.pairs([], candidates="some", verify="maybe")  # type: ignore[arg-type]
bandmill.pairs([], thresold=0.8)  # type: ignore[call-arg]
bandmill.sign([], scheme="minhash", words="all")  # type: ignore[arg-type]
bandmill.sign([], on_error="ignore", hash="md5")  # type: ignore[arg-type]
bandmill.tune(format="json lines", short="none")  # type: ignore[arg-type]
bandmill.sign([], preset="spark")  # type: ignore[arg-type]
bandmill.query([], targets=[], shingel="word:2")  # type: ignore[call-arg]
bandmill.query([], targets=[], scheme="minhash")  # type: ignore[arg-type]
bandmill.export("signed", "faiss", "out")  # type: ignore[arg-type]
bandmill.Index.build("index", [], store="texts", duplicate_ids="last")  # type: ignore[arg-type]
