/* pair_file.h -- reading a pairs.tsv a row at a time, whoever wrote it.
 *
 *     id_a <TAB> id_b <TAB> jaccard     the header, to the letter
 *     a    <TAB> b    <TAB> 0.818182    two different ids, escaped as in our files; a number from 0
 *                                       to 1, or nothing where it is not known
 *
 * Rows end in LF or CR LF; the last may lack it. One block is in memory, not the file. */
#ifndef BM_IO_RESULTS_PAIR_FILE_H
#define BM_IO_RESULTS_PAIR_FILE_H

#include <bandmill/status.h>
#include <bandmill/types.h>

#include <locale.h>

#include "results/line_file.h"

typedef struct bm_pair_file {
    bm_status bad; /* what a bad row is */
    bm_line_file lines;
    bool own_fd;
    locale_t plain; /* C: what numbers are read in */
    /* the row read last, until the next */
    bm_str id_a, id_b;
    double similarity; /* NAN: not known */
    bool
        has_edit; /* a fourth column of edit distances, which are not looked at but for their form */
} bm_pair_file;

/* `path`, or standard input for "-". `bad` is BM_ERR_INPUT for a file of others, BM_ERR_FORMAT for
 * one of our own. `callbacks` (borrowed until close; or NULL) are asked whether to stop while there
 * is nothing to read. BM_ERR_IO, BM_ERR_CANCELLED, `bad` where the header is another. */
bm_status bm_pair_file_open(const char *path, bm_status bad, const bm_callbacks *callbacks,
                            bm_pair_file *out, bm_error *err);
void bm_pair_file_close(bm_pair_file *file);
/* *more false: there was no row left. */
bm_status bm_pair_file_next(bm_pair_file *file, bool *more, bm_error *err);
/* For each row; anything but BM_OK ends the walk. */
typedef bm_status (*bm_pair_row_fn)(void *ctx, const bm_pair_file *row, bm_error *err);
/* All rows of a file that was just opened. `listed`: what it must be, once it is read to its end (NULL: nobody has listed it). */
bm_status bm_pair_file_each(bm_pair_file *file, bm_listed *listed, bm_pair_row_fn fn, void *ctx,
                            bm_error *err);

#endif
