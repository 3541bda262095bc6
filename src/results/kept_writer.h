/* kept_writer.h -- the kept documents, back in files like the ones they came from (docs/formats.md).
 *
 * One input: `kept` and that file's own ending (a.jsonl.zst -> kept.jsonl.zst). Several: kept/PATH,
 * a file for each input under its own name, relative to the deepest common directory. A file
 * without an ending, and stdin, get that of the format: .jsonl .tsv .csv, .txt for lines; stdin
 * among several is kept/stdin.jsonl.
 *
 * Compression: `same` keeps what each input has, and its name; `none` takes .gz, .zst, .xz,
 * .bz2 and .lz4 off the name; `gz` and `zst` put their own in their place. Two inputs that would get one name (a.jsonl
 * and a.jsonl.gz under `none`, or one file given twice) are BM_ERR_USAGE.
 *
 * Formats files and hashes have no records to copy: their ids go to kept_ids.txt, a line each.
 *
 * Bytes are kept exactly as read. A last record without a newline stays without one: order is that
 * of the input, so only the last record of a file can lack it, and it is the last of its kept file
 * too.
 *
 * Threads: one at a time, but for what was reserved. */
#ifndef BM_IO_RESULTS_KEPT_WRITER_H
#define BM_IO_RESULTS_KEPT_WRITER_H

#include <bandmill/job.h>
#include <bandmill/status.h>
#include <bandmill/types.h>

#include "results/kept_cfg.h"

typedef struct bm_kept_writer bm_kept_writer;

/* Would two inputs get one name? Before any work; `dir` of cfg is not looked at. */
bm_status bm_kept_writer_check_names(const bm_kept_cfg *cfg, bm_error *err);
/* With BM_KEPT_NO every call does nothing. */
bm_status bm_kept_writer_open(const bm_kept_cfg *cfg, bm_kept_writer **out, bm_error *err);
/* Does it want ids (formats files and hashes) rather than records? */
bool bm_kept_writer_wants_ids(const bm_kept_writer *writer);

/* Inputs in rising order, one open at a time: the header row first, then the kept records. An input
 * that is left out gets an empty file at finish. */
bm_status bm_kept_writer_begin_file(bm_kept_writer *writer, size_t index, bm_error *err);
bm_status bm_kept_writer_write(bm_kept_writer *writer, bm_str raw, bm_error *err);
/* Further bytes of the record that was written last. */
bm_status bm_kept_writer_more(bm_kept_writer *writer, bm_str bytes, bm_error *err);
/* In place of write and more: `len` bytes of records, which any thread may write there by itself before end_file is
 * called. out->file NULL: they have to be given to write. */
bm_status bm_kept_writer_reserve(bm_kept_writer *writer, uint64_t len, bm_kept_place *out,
                                 bm_error *err);
bm_status bm_kept_writer_end_file(bm_kept_writer *writer, bm_error *err);
/* A kept id; nothing happens where records are kept. */
bm_status bm_kept_writer_id(bm_kept_writer *writer, bm_str id, bm_error *err);
/* Close the last file, make those that are missing. Before bm_out_dir_finish. */
bm_status bm_kept_writer_finish(bm_kept_writer *writer, bm_error *err);
/* Frees; a file that is still open is dropped. Before bm_out_dir_close. NULL is fine. */
void bm_kept_writer_close(bm_kept_writer *writer);

#endif
