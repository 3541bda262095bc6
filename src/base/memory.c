/* SPDX-License-Identifier: Apache-2.0 */
/* memory.c -- the C library's allocation with checked products, and growth by half. No state.
 *
 * Tests: tests/unit/base/test_memory.c, tests/unit/base/test_page_block.c */
#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "base/temp_file.h"

#if defined(__GLIBC__)
#include <malloc.h>
#endif

static bool product(size_t n, size_t size, size_t *out)
{
    if (__builtin_mul_overflow(n, size, out))
        return false;
    if (*out == 0)
        *out = 1;
    return true;
}

void *bm_alloc(size_t n, size_t size)
{
    size_t bytes;
    return product(n, size, &bytes) ? malloc(bytes) : NULL;
}

void *bm_alloc_zero(size_t n, size_t size)
{
    size_t bytes;
    return product(n, size, &bytes) ? calloc(1, bytes) : NULL;
}

void *bm_alloc_aligned(size_t n, size_t size)
{
    size_t bytes;
    if (!product(n, size, &bytes) || bytes > SIZE_MAX - BM_ALIGNMENT)
        return NULL;
    return aligned_alloc(BM_ALIGNMENT, (bytes + BM_ALIGNMENT - 1) / BM_ALIGNMENT * BM_ALIGNMENT);
}

void *bm_resize(void *block, size_t n, size_t size)
{
    size_t bytes;
    return product(n, size, &bytes) ? realloc(block, bytes) : NULL;
}

void bm_free(void *block)
{
    free(block);
}

void bm_free_each(void *const *blocks, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free(blocks[i]);
}

void bm_memory_trim(void)
{
#if defined(__GLIBC__)
    malloc_trim(0);
#endif
}

char *bm_strndup(const char *text, size_t len)
{
    char *copy = bm_alloc(len + 1, 1);
    if (copy == NULL)
        return NULL;
    memcpy(copy, text, len);
    copy[len] = '\0';
    return copy;
}

char *bm_strdup(const char *text)
{
    return bm_strndup(text, strlen(text));
}

bm_status bm_new_by(void *(*alloc)(size_t n, size_t size), void *out, size_t n, size_t size,
                    bm_error *err)
{
    void *block = alloc(n, size); /* copied out, since *out is a pointer of another type */
    memcpy(out, &block, sizeof block);
    return block != NULL ? BM_OK : bm_fail_nomem(err, n > SIZE_MAX / size ? SIZE_MAX : n * size);
}

bm_status bm_copy_bytes(const char *text, size_t len, char **out, bm_error *err)
{
    return (*out = bm_strndup(text, len)) != NULL ? BM_OK : bm_fail_nomem(err, len + 1);
}

bm_status bm_copy_text(const char *text, char **out, bm_error *err)
{
    return bm_copy_bytes(text, strlen(text), out, err);
}

bm_status bm_grow(void *array, size_t *cap, size_t need, size_t size, bm_error *err)
{
    if (need <= *cap)
        return BM_OK;
    size_t wanted = *cap + *cap / 2 + 16;
    if (wanted < need)
        wanted = need;
    void *block; /* copied in and out, since *array is a pointer of another type */
    memcpy(&block, array, sizeof block);
    block = bm_resize(block, wanted, size);
    if (block == NULL)
        return bm_fail_nomem(err, wanted > SIZE_MAX / size ? SIZE_MAX : wanted * size);
    memcpy(array, &block, sizeof block);
    *cap = wanted;
    return BM_OK;
}

bm_status bm_string_format(char **out, bm_error *err, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int len = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (len < 0)
        return bm_fail(err, BM_ERR_INTERNAL, "a format could not be printed");
    char *text = bm_alloc((size_t)len + 1, 1);
    if (text == NULL)
        return bm_fail_nomem(err, (size_t)len + 1);
    va_start(args, format);
    vsnprintf(text, (size_t)len + 1, format, args);
    va_end(args);
    *out = text;
    return BM_OK;
}

bm_status bm_buf_reserve(bm_buf *buf, size_t more, bm_error *err)
{
    size_t need;
    if (__builtin_add_overflow(buf->len, more, &need) || (buf->max != 0 && need > buf->max))
        return bm_fail_nomem(err, more);
    return bm_grow_array(&buf->data, &buf->cap, need, err);
}

bm_status bm_buf_add(bm_buf *buf, const void *data, size_t len, bm_error *err)
{
    if (len == 0)
        return BM_OK;
    BM_TRY(bm_buf_reserve(buf, len, err));
    memcpy(buf->data + buf->len, data, len);
    buf->len += len;
    return BM_OK;
}

bm_status bm_buf_add_text(bm_buf *buf, const char *text, bm_error *err)
{
    return bm_buf_add(buf, text, strlen(text), err);
}

bm_status bm_buf_add_format(bm_buf *buf, bm_error *err, const char *format, ...)
{
    const size_t space = buf->cap - buf->len; /* mostly enough */
    va_list args;
    va_start(args, format);
    int len = vsnprintf(space > 0 ? buf->data + buf->len : NULL, space, format, args);
    va_end(args);
    if (len < 0)
        return bm_fail(err, BM_ERR_INTERNAL, "a format could not be printed");
    BM_TRY(bm_buf_reserve(buf, (size_t)len + 1, err));
    if ((size_t)len >= space) {
        va_start(args, format);
        vsnprintf(buf->data + buf->len, (size_t)len + 1, format, args);
        va_end(args);
    }
    buf->len += (size_t)len;
    return BM_OK;
}

bm_status bm_buf_end(bm_buf *buf, bm_error *err)
{
    BM_TRY(bm_buf_reserve(buf, 1, err));
    buf->data[buf->len] = '\0';
    return BM_OK;
}

void bm_buf_reset(bm_buf *buf)
{
    free(buf->data);
    buf->data = NULL;
    buf->len = buf->cap = 0;
}

void bm_string_free(char *string)
{
    bm_free(string);
}

/* === page block ===
 *
 * Maps, anonymous or of a file without a name, moved by mremap. The space of a file is reserved
 * when it grows, for a write to a map cannot say that the disk is full. */

#define PAGE  ((size_t)4 << 10) /* or a multiple: maps are rounded by the system */
#define HUGE  ((size_t)2 << 20)
#define LARGE (2 * HUGE)

static size_t round_up(size_t bytes, size_t to)
{
    return (bytes + to - 1) / to * to;
}

bm_status bm_page_block_grow(bm_page_block *block, size_t bytes, bm_error *err)
{
    if (bytes <= block->bytes)
        return BM_OK;
    size_t wanted = block->bytes + block->bytes / 2;
    wanted = wanted < bytes ? bytes : wanted;
    if (wanted > SIZE_MAX / 2)
        return bm_fail_nomem(err, wanted);
    wanted = round_up(wanted, wanted >= LARGE ? HUGE : PAGE);
    const int kind = block->file != 0 ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS;
    int code = block->file == 0 ? 0 : EINTR;
    while (code == EINTR)
        code =
            posix_fallocate(block->file - 1, (off_t)block->bytes, (off_t)(wanted - block->bytes));
    if (code != 0)
        return bm_fail_temp_file(err, code, block->dir, "cannot make a temporary file here larger");
    void *data = block->data == NULL
                     ? mmap(NULL, wanted, PROT_READ | PROT_WRITE, kind, block->file - 1, 0)
                     : mremap(block->data, block->bytes, wanted, MREMAP_MAYMOVE);
    if (data == MAP_FAILED && block->file != 0 && errno != ENOMEM) {
        const bm_status status =
            bm_fail_errno(err, errno, block->dir, "cannot map a temporary file here into memory");
        bm_error_advise(err, "file systems such as 9p and vboxsf cannot; `temp_dir` names another "
                             "directory, on a local disk");
        return status;
    }
    if (data == MAP_FAILED)
        return bm_fail_nomem(err, wanted);
    if (wanted >= LARGE && block->file == 0)
        madvise(data, wanted, MADV_HUGEPAGE); /* where there are none it is slower, no more */
    block->data = data;
    block->bytes = wanted;
    return BM_OK;
}

void bm_page_block_trim(bm_page_block *block, size_t bytes)
{
    const size_t kept = round_up(bytes, PAGE);
    if (block->data == NULL || kept >= block->bytes)
        return;
    if (kept == 0) {
        bm_page_block_reset(block);
        return;
    }
    if (mremap(block->data, block->bytes, kept, 0) != MAP_FAILED)
        block->bytes = kept;
}

int bm_open_nameless(const char *dir)
{
    int fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL))
        return fd;
    char path[4096];
    int len = snprintf(path, sizeof path, "%s/.bandmill-XXXXXX", dir);
    if (len < 0 || (size_t)len >= sizeof path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    fd = mkostemp(path, O_CLOEXEC);
    if (fd >= 0 && unlink(path) != 0) {
        int code = errno;
        close(fd);
        errno = code;
        return -1;
    }
    return fd;
}

bm_status bm_page_block_in_file(bm_page_block *block, const char *dir, bm_error *err)
{
    const int fd = bm_open_nameless(dir);
    if (fd < 0)
        return bm_fail_temp_file(err, errno, dir, "cannot make a temporary file here");
    block->file = fd + 1;
    block->dir = dir;
    return BM_OK;
}

bm_status bm_page_block_in_file_if_there(bm_page_block *block, const char *dir, bm_error *err)
{
    bm_error why = {0};
    const bm_status status = bm_page_block_in_file(block, dir, &why);
    if (status == BM_OK || why.code == ENOENT)
        return BM_OK;
    if (err != NULL)
        *err = why;
    return status;
}

bool bm_page_block_read(const bm_page_block *block, void *out, size_t n, uint64_t at)
{
    return block->file != 0 && pread(block->file - 1, out, n, (off_t)at) == (ssize_t)n;
}

void bm_page_block_leave(const bm_page_block *block)
{
    if (block->file != 0 && block->data != NULL)
        madvise(block->data, block->bytes, MADV_DONTNEED); /* of a file: nothing is lost */
}

void bm_page_block_reset(bm_page_block *block)
{
    if (block->data != NULL)
        munmap(block->data, block->bytes);
    if (block->file != 0)
        close(block->file - 1);
    *block = (bm_page_block){0};
}

/* --- page_column --- */

static bm_status move_to_file(bm_page_column c, const char *dir, size_t need, bm_error *err)
{
    bm_page_block block = {0};
    void *from;
    memcpy(&from, c.data, sizeof from);
    const size_t bytes = from == NULL ? 0 : *c.cap * c.size;
    BM_TRY(bm_page_block_in_file_if_there(&block, dir, err));
    if (block.file == 0)
        return BM_OK;
    const bm_status status =
        bm_page_block_grow(&block, bytes > need * c.size ? bytes : need * c.size, err);
    if (status != BM_OK) {
        bm_page_block_reset(&block);
        return status;
    }
    if (bytes > 0)
        memcpy(block.data, from, bytes);
    bm_free(from);
    *c.block = block;
    return BM_OK;
}

bm_status bm_page_column_grow(bm_page_column c, const char *dir, size_t need, bm_error *err)
{
    if (c.block->file == 0 && dir != NULL)
        BM_TRY(move_to_file(c, dir, need, err));
    if (c.block->file == 0)
        return bm_grow(c.data, c.cap, need, c.size, err);
    BM_TRY(bm_page_block_grow(c.block, need * c.size, err));
    memcpy(c.data, &c.block->data, sizeof c.block->data);
    *c.cap = c.block->bytes / c.size;
    return BM_OK;
}

bm_status bm_page_column_to_memory(bm_page_column c, size_t n, bm_error *err)
{
    if (c.block->file == 0)
        return BM_OK;
    void *data = bm_alloc(n, c.size);
    if (data == NULL)
        return bm_fail_nomem(err, n * c.size);
    memcpy(data, c.block->data, n * c.size);
    bm_page_block_reset(c.block);
    memcpy(c.data, &data, sizeof data);
    *c.cap = n;
    return BM_OK;
}

void bm_page_column_free(bm_page_column c)
{
    void *data;
    memcpy(&data, c.data, sizeof data);
    if (c.block->file != 0)
        bm_page_block_reset(c.block);
    else
        bm_free(data);
    data = NULL;
    memcpy(c.data, &data, sizeof data);
}
