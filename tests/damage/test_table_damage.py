# SPDX-License-Identifier: Apache-2.0
"""Files of tables with a byte changed, or cut short, through the module that reads and keeps them (table_damage.c): Parquet with pages of
both versions, plain, in dictionaries and deltas, nested columns, encrypted columns, several codecs; Arrow's IPC, a file and a stream. Each
STEP-th byte of pages and footers, or of all of an IPC file; --size full: each."""
import base64
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "reference"))
import harness  # noqa: E402

pa = harness.need_modules("pyarrow")
import pyarrow.ipc as ipc  # noqa: E402
import pyarrow.parquet as pq  # noqa: E402

FILE_LINE = re.compile(r"[^:]+: \d+ read, \d+ refused, \d+ ranges")


def encrypted(table, path, **options):
    """Columns of the plain footer are encrypted, or all."""
    import pyarrow.parquet.encryption as pe

    class Keys(pe.KmsClient):
        def wrap_key(self, key, master):
            return base64.b64encode(key)

        def unwrap_key(self, wrapped, master):
            return base64.b64decode(wrapped)

    asked = pe.EncryptionConfiguration(footer_key="f", column_keys={"t": ["text"]}, **options)
    keys = pe.CryptoFactory(lambda config: Keys()).file_encryption_properties(pe.KmsConnectionConfig(), asked)
    with pq.ParquetWriter(path, table.schema, encryption_properties=keys) as writer:
        writer.write_table(table)


def write_ipc(table, path, stream=False, **options):
    with (ipc.new_stream if stream else ipc.new_file)(path, table.schema, options=ipc.IpcWriteOptions(**options)) as writer:
        writer.write_table(table, max_chunksize=13)


def write_files(folder):
    """Small ones, of which a change may be anywhere: their paths."""
    texts = [None if i % 7 == 3 else f"text number {i // 2} of a few" for i in range(30)]
    table = pa.table({"id": [f"row {i}" for i in range(30)], "text": texts, "n": pa.array(range(30), pa.int32())}, metadata={"ours": "kept"})
    indexed = table.set_column(1, "text", table["text"].dictionary_encode())
    nested = pa.table({"id": table["id"], "text": table["text"].cast(pa.large_string()),
                       "more": pa.array([[{"a": i, "b": [str(i)] * (i % 3)}] for i in range(30)])})
    files = {"v1.parquet": (table, {"data_page_version": "1.0", "version": "1.0", "row_group_size": 11}),
             "v2.parquet": (table, {"data_page_version": "2.0", "compression": "zstd", "row_group_size": 11, "write_page_index": True}),
             "plain.parquet": (table, {"use_dictionary": False, "compression": "none", "column_encoding": {
                 "text": "DELTA_BYTE_ARRAY", "id": "DELTA_LENGTH_BYTE_ARRAY", "n": "DELTA_BINARY_PACKED"}}),
             "dictionary.parquet": (indexed, {"compression": "gzip", "write_page_checksum": True}),
             "nested.parquet": (nested, {"compression": "snappy", "data_page_size": 64}),
             "values.parquet": (nested, {"use_dictionary": False, "compression": "none", "row_group_size": 11}),
             "split.parquet": (nested, {"use_dictionary": False, "compression": "snappy", "data_page_version": "2.0", "data_page_size": 64, "write_batch_size": 8}),
             "packed.parquet": (indexed, {"compression": "zstd", "data_page_version": "2.0"}),
             "blocks.parquet": (table, {"compression": "lz4", "use_dictionary": ["id"], "column_encoding": {"n": "BYTE_STREAM_SPLIT"}}),
             "foreign.parquet": (table, {"store_schema": False, "write_statistics": False, "compression": "brotli"})}
    for name, (rows, options) in files.items():
        pq.write_table(rows, os.path.join(folder, name), **options)
    encrypted(table, os.path.join(folder, "secret-columns.parquet"), plaintext_footer=True)
    encrypted(table, os.path.join(folder, "secret-footer.parquet"))
    tables = {"file.arrow": (table, {}), "stream.arrows": (table, {"stream": True}), "zstd.arrow": (nested, {"compression": "zstd"}),
              "lz4.arrow": (indexed, {"compression": "lz4"}), "views.arrow": (table.set_column(1, "text", table["text"].cast(pa.string_view())), {})}
    for name, (rows, options) in tables.items():
        write_ipc(rows, os.path.join(folder, name), **options)
    return [os.path.join(folder, name) for name in (*files, "secret-columns.parquet", "secret-footer.parquet", *tables)]


def main():
    args = harness.arguments(__doc__, ("--step", {"type": int, "default": 0}), ("--only", {"default": ""}))
    claims, n = harness.Claims(), [0, 0]
    step = args.step or {"small": 199, "normal": 37, "full": 1}[args.size]
    with harness.scratch() as folder:
        paths = [path for path in write_files(folder) if args.only in os.path.basename(path)]
        done = subprocess.run([args.program, str(step), *paths], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              env={**os.environ, "ARROW_DEFAULT_MEMORY_POOL": "system"})
        said = done.stdout.decode(errors="replace").replace(folder + "/", "").strip()
        said = [line for line in said.split("\n") if "failed to allocate" not in line]  # AddressSanitizer's, where a file asks for much
        told = dict(line.split(": ", 1) for line in said if FILE_LINE.fullmatch(line))
        for name in map(os.path.basename, paths):
            counts = told.get(name, "none").split()
            if claims.check(f"{name}, each {step}. byte: {' '.join(counts)}", name in told, "\n".join(said)[-6000:]):
                n = [n[0] + int(counts[0]), n[1] + int(counts[2])]
        claims.check("the process ends well", done.returncode == 0, f"{done.returncode}")
    print(f"{sum(n)} files: {n[0]} read, {n[1]} refused")
    claims.end()


if __name__ == "__main__":
    main()
