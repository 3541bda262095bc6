/* SPDX-License-Identifier: Apache-2.0 */
/* memory.c -- the C library's allocation with overflow checks, and growth by half. No state.
 *
 * Tests: tests/unit/base/test_memory.c */
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
    /* copied to *out below, since *out is a pointer of another type */
    void *block = alloc(n, size);
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
    const size_t space = buf->cap - buf->len; /* usually large enough */
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
