/* SPDX-License-Identifier: Apache-2.0 */
/* journal.c -- keeps a journal in memory as text, since it has only a few lines for each input
 * file. */
#include "spill/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/files.h"

#define CHECK_DIGITS 16u
#define READ_BYTES   ((size_t)64 << 10)
#define BYTES_MAX    ((int64_t)1 << 30) /* the most bytes of a journal */

struct bm_journal {
    int fd;
    char *path;
    bm_buf lines;   /* the texts of the lines, each followed by a NUL */
    size_t *begins; /* offset of each line in `lines` */
    size_t n, cap;
    uint64_t check; /* checksum of the last line */
    uint64_t bytes; /* size of the file */
};

void bm_journal_close(bm_journal *journal)
{
    if (journal == NULL)
        return;
    if (journal->fd >= 0)
        close(journal->fd);
    bm_buf_reset(&journal->lines);
    bm_free_all(journal->begins, journal->path, journal);
}

static bm_status make(int folder, const char *path, int flags, bm_journal **out, bm_error *err)
{
    bm_journal *journal = NULL;
    BM_TRY(bm_new_zero(&journal, 1, err));
    bm_status status = BM_OK;
    journal->fd = -1;
    BM_TRY_OUT(bm_copy_text(path, &journal->path, err));
    journal->fd = openat(folder, bm_name_in(folder, path),
                         O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | flags, 0600);
    if (journal->fd < 0)
        BM_TRY_OUT(bm_fail_errno(err, errno, path, "cannot open the journal"));
out:
    if (status != BM_OK) {
        bm_journal_close(journal);
        return status;
    }
    *out = journal;
    return BM_OK;
}

bm_status bm_journal_create_in(int folder, const char *path, bm_journal **out, bm_error *err)
{
    if (unlinkat(folder, bm_name_in(folder, path), 0) != 0 && errno != ENOENT)
        return bm_fail_errno(err, errno, path, "cannot replace the journal");
    return make(folder, path, O_CREAT | O_EXCL, out, err);
}

static uint64_t check_of(const bm_journal *journal, const char *text, size_t len)
{
    return XXH3_64bits_withSeed(text, len, journal->check);
}

static bm_status append_line(bm_journal *journal, const char *text, size_t len, bm_error *err)
{
    BM_TRY(bm_grow(&journal->begins, &journal->cap, journal->n + 1, sizeof *journal->begins, err));
    BM_TRY(bm_buf_reserve(&journal->lines, len + 1, err));
    journal->begins[journal->n++] = journal->lines.len;
    BM_TRY(bm_buf_add(&journal->lines, text, len, err));
    BM_TRY(bm_buf_add(&journal->lines, "", 1, err));
    journal->check = check_of(journal, text, len);
    return BM_OK;
}

bm_status bm_journal_add(bm_journal *journal, const char *text, bm_error *err)
{
    size_t len = strlen(text);
    bm_buf line = {0};
    bm_status status = BM_OK;
    BM_TRY_OUT(
        bm_buf_add_format(&line, err, "%s\t%016" PRIx64 "\n", text, check_of(journal, text, len)));
    const int code = bm_pwrite_all(journal->fd, line.data, line.len, journal->bytes);
    if (code != 0)
        BM_TRY_OUT(bm_fail_errno(err, code, journal->path, "cannot write the journal"));
    BM_TRY_OUT(append_line(journal, text, len, err));
    journal->bytes += line.len;
out:
    bm_buf_reset(&line);
    return status;
}

/* --- opening --- */

static bm_status read_file(const bm_journal *journal, bm_buf *out, bm_error *err)
{
    for (;;) {
        BM_TRY(bm_buf_reserve(out, READ_BYTES, err));
        ssize_t n = pread(journal->fd, out->data + out->len, READ_BYTES, (off_t)out->len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return bm_fail_errno(err, errno, journal->path, "cannot read the journal");
        if (n == 0)
            return BM_OK;
        out->len += (size_t)n;
    }
}

/* Is text[0 … len-1] a valid line that continues the lines read so far? Sets *text_len to the
 * length of the line without its checksum. */
static bool is_line(const bm_journal *journal, const char *text, size_t len, size_t *text_len)
{
    char check[CHECK_DIGITS + 2];
    if (len < CHECK_DIGITS + 1 || memchr(text, '\0', len) != NULL)
        return false;
    *text_len = len - CHECK_DIGITS - 1;
    snprintf(check, sizeof check, "\t%016" PRIx64, check_of(journal, text, *text_len));
    return memcmp(text + *text_len, check, CHECK_DIGITS + 1) == 0;
}

static bm_status append_lines(bm_journal *journal, const bm_buf *file, bm_error *err)
{
    size_t at = 0;
    while (at < file->len) {
        size_t text_len;
        const char *begin = file->data + at, *end = memchr(begin, '\n', file->len - at);
        /* an incomplete last line */
        if (end == NULL)
            break;
        if (!is_line(journal, begin, (size_t)(end - begin), &text_len))
            return bm_fail_at(err, BM_ERR_FORMAT, journal->path, journal->n + 1,
                              "the journal is damaged: a line's checksum differs (what was "
                              "written)");
        BM_TRY(append_line(journal, begin, text_len, err));
        at = (size_t)(end - file->data) + 1;
    }
    journal->bytes = at;
    if (at < file->len && ftruncate(journal->fd, (off_t)at) != 0)
        return bm_fail_errno(err, errno, journal->path, "cannot cut the journal");
    return BM_OK;
}

bm_status bm_journal_open_in(int folder, const char *path, bm_journal **out, bm_error *err)
{
    bm_buf file = {0};
    bm_journal *journal = NULL;
    struct stat info;
    BM_TRY(make(folder, path, 0, &journal, err));
    bm_status status = BM_OK;
    if (fstat(journal->fd, &info) != 0) {
        BM_TRY_OUT(bm_fail_errno(err, errno, path, "cannot look at the journal"));
    } else if (!S_ISREG(info.st_mode)) {
        BM_TRY_OUT(bm_fail_at(err, BM_ERR_FORMAT, path, 0, "is no regular file (a journal)"));
    } else if (info.st_size > BYTES_MAX)
        BM_TRY_OUT(bm_fail_at(err, BM_ERR_FORMAT, path, 0, "is too long for a journal"));
    BM_TRY_OUT(read_file(journal, &file, err));
    status = append_lines(journal, &file, err);
out:
    bm_buf_reset(&file);
    if (status != BM_OK) {
        bm_journal_close(journal);
        return status;
    }
    *out = journal;
    return BM_OK;
}

size_t bm_journal_count(const bm_journal *journal)
{
    return journal->n;
}

const char *bm_journal_line(const bm_journal *journal, size_t i)
{
    return journal->lines.data + journal->begins[i];
}
