# SPDX-License-Identifier: Apache-2.0
# Pages of a Parquet file that have a checksum are verified; pages without one are read all the same.
# shellcheck shell=sh disable=SC2034,SC2154
$PYTHON -c 'import pyarrow.parquet' 2> /dev/null || skip "Python has no pyarrow"
"$PROGRAM" --version | grep -q '^tables *Arrow' || skip "there is no bandmill-parquet"
$PYTHON - << 'END'
import pyarrow as pa
import pyarrow.parquet as pq

texts = [f"the quick brown fox number {i} jumps over the lazy dog {i * 7}" for i in range(4000)]
table = pa.table({"id": [f"d{i}" for i in range(4000)], "text": texts})
for name, summed in (("with", True), ("without", False)):
    pq.write_table(table, name + ".parquet", compression="none", use_dictionary=False, write_page_checksum=summed,
                   data_page_size=4096, write_page_index=True)
    data = bytearray(open(name + ".parquet", "rb").read())
    data[data.index(b"number 1234 jumps") + 3] ^= 1  # a letter of a text: nothing but a checksum can tell
    open(name + "-flipped.parquet", "wb").write(data)
END
bm dedup with.parquet -o a; exits 0
bm dedup without.parquet -o b; exits 0
for threads in 1 2; do
    bm dedup with-flipped.parquet -o c --threads $threads; refused 3 '.*with-flipped.parquet.*([Cc][Rr][Cc]|checksum)'
    absent c
done
bm dedup without-flipped.parquet -o d; exits 0
bm dedup - --format parquet -o e < with-flipped.parquet; refused 3 '.*([Cc][Rr][Cc]|checksum)'
