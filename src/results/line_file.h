/* line_file.h -- the lines of a file, one after another, none longer than a bound.
 *
 * Lines end in LF, which is not part of them; a CR before it is, and so is NUL, like other bytes.
 * One block, or the longest line so far, is in memory, not the file. One thread. */
#ifndef BM_IO_RESULTS_LINE_FILE_H
#define BM_IO_RESULTS_LINE_FILE_H

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "base/memory.h"
#include "output/listed.h"

typedef struct bm_line_file {
    /* filled by the caller */
    int fd;             /* borrowed; read from where it is, a pipe too */
    const char *name;   /* for messages; borrowed */
    size_t longest;     /* bytes of a line */
    bm_status too_long; /* what a longer one is */
    /* borrowed; asked whether to stop, before each block and while there is nothing to read; NULL:
     * nobody is */
    const bm_callbacks *callbacks;
    /* the line read last, until the next; its bytes may be changed in place */
    char *text; /* not ended by NUL */
    size_t len;
    bool ended;       /* false: the file ends without a newline */
    uint64_t number;  /* from 1 */
    uint64_t n_bytes; /* read so far */
    bm_buf block;     /* the rest is for line_file.c */
    bm_listed *listed;
    size_t next; /* place of the next line in it */
    bool whole;  /* all of the file is in it */
} bm_line_file;  /* reset frees what it has read */

/* *more false: there was no line left, and `number` is that of the one that might follow.
 * BM_ERR_IO, BM_ERR_NOMEM, BM_ERR_CANCELLED, `too_long` with the line. */
bm_status bm_line_file_next(bm_line_file *file, bool *more, bm_error *err);
void bm_line_file_reset(bm_line_file *file);
/* The file is listed by a manifest: said before the second line is asked for. The end of the file is
 * BM_ERR_FORMAT where it is another than that. `listed` is borrowed until then; NULL: nothing. */
bm_status bm_line_file_compare(bm_line_file *file, bm_listed *listed, bm_error *err);

#endif
