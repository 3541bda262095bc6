/* group_file.h -- reading the groups.jsonl that dedup wrote, a group at a time.
 *
 *     {"group":1,"kept":ID,"size":N,"members":[ID,...]}
 *
 * One block, or the longest row, is in memory, not the file. */
#ifndef BM_PIPELINE_GROUP_FILE_H
#define BM_PIPELINE_GROUP_FILE_H

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "base/memory.h"

typedef struct bm_group_file {
    const char *path; /* borrowed */
    int fd;
    bool end;
    bm_buf block;
    size_t at;
    uint64_t line;
    /* the row read last, until the next */
    uint64_t group, size;
    bm_str kept, members; /* text of the id, with quotes, and of the array */
    size_t next;          /* place in `members` */
    uint64_t left;        /* members that should follow */
} bm_group_file;

/* BM_ERR_IO; BM_ERR_FORMAT where it is missing. */
bm_status bm_group_file_open(const char *path, bm_group_file *out, bm_error *err);
void bm_group_file_close(bm_group_file *file);
/* *more false: there was no row left. A row that is no group, or not the next: BM_ERR_FORMAT. */
bm_status bm_group_file_next(bm_group_file *file, bool *more, bm_error *err);
/* The row's next member into `id`, which is overwritten; *more false: it had `size` of them.
 * Another number of them: BM_ERR_FORMAT. */
bm_status bm_group_file_member(bm_group_file *file, bm_buf *id, bool *more, bm_error *err);
/* The id that a JSON string stands for, byte for byte as dedup had it, UTF-8 or not. */
bm_status bm_group_file_id(const bm_group_file *file, bm_str quoted, bm_buf *id, bm_error *err);

#endif
