/* line_file.c -- lines out of a sliding block.
 *
 * What is left of the block is moved to its front before more is read behind it. A line that goes
 * on past the block is searched from where the search ended, so that a long line costs no more than
 * its bytes. */
#include "results/line_file.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/wait_readable.h"

#define BLOCK_BYTES ((size_t)1 << 20)

static bm_status read_more(bm_line_file *file, bm_error *err)
{
    bm_buf *block = &file->block;
    if (file->next > 0)
        memmove(block->data, block->data + file->next, block->len - file->next);
    block->len -= file->next;
    file->next = 0;
    BM_TRY(bm_check_cancelled(file->callbacks, err));
    /* What is left is part of a line, short as a rule: a block is not made larger for it. */
    if (block->cap - block->len < BLOCK_BYTES / 2)
        BM_TRY(bm_buf_reserve(block, BLOCK_BYTES, err));
    const size_t room = block->cap - block->len;
    ssize_t n;
    BM_TRY(bm_read_ready(file->callbacks, file->fd, block->data + block->len,
                         room < BLOCK_BYTES ? room : BLOCK_BYTES, &n, err));
    if (n < 0)
        return bm_fail_errno(err, errno, file->name, "cannot be read");
    file->whole = n == 0;
    block->len += (size_t)n;
    file->n_bytes += (uint64_t)n;
    return file->whole ? bm_listed_end(file->listed, err)
                       : bm_listed_add(file->listed, block->data + block->len - n, (size_t)n, err);
}

/* The line goes on behind the block. Where that is for want of memory, its end is looked for, to say
 * what would do: so many bytes of three quarters of it (budget.c). */
static bm_status fail_too_long(bm_line_file *file, bm_error *err)
{
    bm_buf *block = &file->block;
    uint64_t bytes = file->len;
    const char *stop = NULL;
    if (file->too_long != BM_ERR_NOMEM)
        return bm_fail_at(err, file->too_long, file->name, file->number,
                          "the line is longer than %zu bytes", file->longest);
    while (stop == NULL && !file->whole && !file->ended) {
        block->len = file->next = 0;
        BM_TRY(read_more(file, err));
        stop = memchr(block->data, '\n', block->len);
        bytes += stop != NULL ? (size_t)(stop - block->data) : block->len;
    }
    return bm_fail_at(err, BM_ERR_NOMEM, file->name, file->number,
                      "a line of %llu bytes does not fit into `memory` (at least %lluM)",
                      (unsigned long long)bytes,
                      (unsigned long long)((bytes + bytes / 2) >> 20) + 16);
}

bm_status bm_line_file_compare(bm_line_file *file, bm_listed *listed, bm_error *err)
{
    file->listed = listed; /* nothing was moved in the block yet */
    bm_status status = bm_listed_add(listed, file->block.data, file->block.len, err);
    return status == BM_OK && file->whole ? bm_listed_end(listed, err) : status;
}

bm_status bm_line_file_next(bm_line_file *file, bool *more, bm_error *err)
{
    bm_buf *block = &file->block;
    char *stop = NULL;
    *more = false;
    for (size_t searched = 0; stop == NULL;) {
        size_t left = block->len - file->next;
        if (left > searched)
            stop = memchr(block->data + file->next + searched, '\n', left - searched);
        if (stop != NULL || left > file->longest || file->whole)
            break;
        searched = left;
        BM_TRY(read_more(file, err));
    }
    file->number++;
    file->text = block->data + file->next;
    file->len = stop != NULL ? (size_t)(stop - file->text) : block->len - file->next;
    file->ended = stop != NULL;
    if (file->len > file->longest)
        return fail_too_long(file, err);
    file->next += file->len + file->ended;
    *more = file->ended || file->len > 0;
    return BM_OK;
}

void bm_line_file_reset(bm_line_file *file)
{
    bm_buf_reset(&file->block);
    file->text = NULL;
    file->len = file->next = 0;
}
