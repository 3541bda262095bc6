# SPDX-License-Identifier: Apache-2.0
"""gaoya_job.py -- the whole job in gaoya (PyPI), a process of its own: read JSON Lines, index, query, count pairs.

16 bands of 8 rows of 32-bit hashes, word 5-grams, and gaoya's own threshold on the estimate. It verifies nothing beyond
the agreement of signatures, writes no file, and groups nothing. Prints one JSON object."""
import argparse
import json
import time

from gaoya.minhash import MinHashStringIndex


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("documents")
    parser.add_argument("--threshold", type=float, required=True)
    parser.add_argument("--bands", type=int, required=True)
    parser.add_argument("--rows", type=int, required=True)
    parser.add_argument("--lowercase", action="store_true")
    parser.add_argument("--pairs", help="write the pairs here, as lines of two numbers (for checks, not for timing)")
    args = parser.parse_args()
    times = [time.monotonic()]
    with open(args.documents, encoding="utf-8") as file:
        texts = [json.loads(line)["text"] for line in file]
    times.append(time.monotonic())
    index = MinHashStringIndex(hash_size=32, jaccard_threshold=args.threshold, num_bands=args.bands, band_size=args.rows,
                               num_hashes=None, analyzer="word", lowercase=args.lowercase, ngram_range=(5, 5),
                               id_container="smallvec")
    index.par_bulk_insert_docs(list(range(len(texts))), texts)
    times.append(time.monotonic())
    pairs = 0
    output = open(args.pairs, "w", encoding="ascii") if args.pairs else None
    for row, found in enumerate(index.par_bulk_query(texts)):
        for other in found:
            if other > row:
                pairs += 1
                if output:
                    output.write(f"{row}\t{other}\n")
    if output:
        output.close()
    times.append(time.monotonic())
    print(json.dumps({"documents": len(texts), "pairs": pairs, "read_s": round(times[1] - times[0], 3),
                      "insert_s": round(times[2] - times[1], 3), "query_s": round(times[3] - times[2], 3)}))


if __name__ == "__main__":
    main()
