/* SPDX-License-Identifier: Apache-2.0 */
/* file_names.h -- defines the names of the files that bandmill writes.
 *
 * Use the constant of a file wherever it is written, read or looked for:
 *
 *     bm_out_dir_file(dir, BM_FILE_GROUPS, &file, err)
 *     bm_buf_add_format(&path, err, "%s/%s", folder, BM_FILE_MANIFEST)
 *     "no " BM_FILE_MANIFEST " in it"                              (constants are literals)
 *
 * bm_file_kind_of maps a name in a directory to its kind. By the kind, `--force` recognizes an
 * output of bandmill, and `inspect` a list of ids. A new file needs only a constant here and a row
 * in file_names.c. The columns of the tables are defined in src/results. The files of an
 * interrupted job (.bandmill-...) are in output/out_target.h, since they are never outputs. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* compression -- kinds of compression of inputs and outputs. */

typedef enum bm_compression {
    BM_COMPRESSION_NONE,
    BM_COMPRESSION_GZ,
    BM_COMPRESSION_ZST,
    BM_COMPRESSION_XZ,
    BM_COMPRESSION_BZ2,
    BM_COMPRESSION_LZ4
} bm_compression;

#define BM_COMPRESSIONS 6u /* number of values of bm_compression */

#define BM_FILE_SIGNATURES "signatures.npy"
#define BM_FILE_BAND_KEYS  "band_keys.npy"
#define BM_FILE_N_SHINGLES "n_shingles.npy"
#define BM_FILE_N_BYTES    "n_bytes.npy"
#define BM_FILE_CONTENT    "content_hash.npy"
#define BM_FILE_TEXT_HASH  "text_hash.npy"
#define BM_FILE_IDS        "ids.txt"
#define BM_FILE_KEPT_IDS   "kept_ids.txt"
#define BM_FILE_SOURCES    "sources.tsv"
#define BM_FILE_SKIPPED    "skipped.tsv"
#define BM_FILE_REMOVED    "removed.tsv"
#define BM_FILE_PAIRS      "pairs.tsv"
#define BM_FILE_CUTS       "cuts.tsv"
#define BM_FILE_GROUPS     "groups.jsonl"
#define BM_FILE_OVERLAP    "overlap.tsv"
#define BM_FILE_ITEMS      "items.tsv"
#define BM_FILE_MANIFEST   "manifest.json" /* written by `sign` */
#define BM_FILE_REPORT     "report.json"   /* written by other jobs */
/* files that `export` writes */
#define BM_FILE_LEAN           "signatures.leanminhash"
#define BM_FILE_SIGNATURES_TSV "signatures.tsv"
#define BM_FILE_BANDS_TSV      "band_keys.tsv"
/* this file and the next: the fields of a collection */
#define BM_FILE_MILVUS_VECTORS "signature.npy"
#define BM_FILE_MILVUS_IDS     "id.npy"
/* the two numbers are those of the band and of the input */
#define BM_FILE_DATATROVE          "signatures/bucket_%03u/%05u.minhash.sig"
#define BM_FILE_SIGNATURES_ARROW   "signatures.arrow"
#define BM_FILE_BANDS_ARROW        "band_keys.arrow"
#define BM_FILE_SIGNATURES_PARQUET "signatures.parquet"
#define BM_FILE_BANDS_PARQUET      "band_keys.parquet"
#define BM_FILE_NEMO               "MinHashStage/part.0.parquet"
#define BM_FILE_DOCUMENTS          "documents.tsv"
#define BM_FILE_INDEX_DATA         "data.mdb" /* a file of an index, named by LMDB */
#define BM_FILE_INDEX_LOCK         "lock.mdb"
#define BM_FILE_INDEX_RECORD       "last_commit"
/* The kept documents, the removed documents, and all documents with their groups. Each is a folder,
 * or a file with this name and an ending ("kept.jsonl.gz"). */
#define BM_FILE_KEPT            "kept"
#define BM_FILE_REMOVED_RECORDS "removed"
#define BM_FILE_ANNOTATED       "annotated"

typedef enum bm_file_kind {
    BM_FILE_KIND_FOREIGN, /* not written by bandmill */
    BM_FILE_KIND_ARRAY,   /* a NumPy array */
    BM_FILE_KIND_IDS,     /* one id per line, without a header */
    BM_FILE_KIND_TABLE,   /* tab-separated, with a header */
    BM_FILE_KIND_GROUPS,  /* one JSON object per line */
    BM_FILE_KIND_REPORT,  /* one JSON object: the job's settings and the digests of its outputs */
    BM_FILE_KIND_KEPT     /* documents, in the format of the input */
} bm_file_kind;

/* The kind of the file `name` in an output directory, but not in a folder inside of it. */
bm_file_kind bm_file_kind_of(const char *name);

/* file_heads -- the first bytes of files that bandmill writes outside its directories: rows of
 * `pairs`, `query` and `cluster`, the answer of `explain`, reports and histograms. By these bytes
 * `force` distinguishes an earlier output from other files. */

/* Columns of tables that may be written outside directories (results/result_tables.h). */
#define BM_HEAD_PAIRS      "id_a\tid_b\tjaccard"
#define BM_HEAD_CONTAINED  "id_a\tid_b\tcontainment"
#define BM_HEAD_EDIT       "\tedit" /* may follow each of the two above */
#define BM_HEAD_ANSWERS    "query\ttarget\tjaccard"
#define BM_HEAD_HOLDERS    "query\ttarget\tcontainment"
#define BM_HEAD_THRESHOLDS "threshold\tpairs\tgroups\tlargest\tremoved"
#define BM_HEAD_HISTOGRAM  "low\thigh\tpairs"
/* The first words of other files. */
#define BM_HEAD_GRAPH "graph bandmill {"
#define BM_HEAD_PICTURE                                                                            \
    "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 720 400\" width=\"720\" "             \
    "height=\"400\" role=\"img\" aria-labelledby=\"title desc\">\n"                                \
    "<title id=\"title\">Similarities of pairs</title>\n"
/* `width` is the width in pixels, as text. */
#define BM_HEAD_PLANS_PICTURE(width)                                                               \
    "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " width " 430\" width=\"" width       \
    "\" height=\"430\" role=\"img\" aria-labelledby=\"title desc\">\n"                             \
    "<title id=\"title\">Band plans over similarities</title>\n"

#define BM_HEAD_PAGE                                                                               \
    "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"                      \
    "<meta name=\"generator\" content=\"bandmill report\">\n"

#define BM_FILE_HEAD_BYTES 256u /* enough bytes to recognise a file */

/* Do the first bytes show that bandmill wrote the file? `head` has the first BM_FILE_HEAD_BYTES of
 * the file, or the whole file if it is shorter. True also for an empty file, which may be
 * overwritten. */
bool bm_file_head_is_ours(const char *head, size_t len);
