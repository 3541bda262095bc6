/* SPDX-License-Identifier: Apache-2.0 */
/* memory.h -- allocates memory with checks for overflow, and has the growable byte buffer.
 *
 * Everything that lives longer than a function is allocated here. Functions with `aligned` in their
 * name align memory to 64 bytes. */
#pragma once

#include <bandmill/status.h>
#include <bandmill/types.h>

#define BM_ALIGNMENT 64u /* size of a cache line and of an AVX-512 register */

/* Allocate n * size bytes, but at least 1. NULL if the product overflows or there is no memory. */
void *bm_alloc(size_t n, size_t size);
void *bm_alloc_zero(size_t n, size_t size);
/* Like bm_alloc, but aligned to BM_ALIGNMENT; also freed with bm_free. */
void *bm_alloc_aligned(size_t n, size_t size);
/* Like realloc. If it returns NULL, the old block is unchanged. Not for aligned blocks. */
void *bm_resize(void *block, size_t n, size_t size);
void bm_free(void *block); /* NULL is fine */
/* Free each of these pointers. */
#define bm_free_all(...)                                                                           \
    bm_free_each((void *[]){__VA_ARGS__}, sizeof((void *[]){__VA_ARGS__}) / sizeof(void *))
void bm_free_each(void *const *blocks, size_t n);
/* Give freed pages back to the system, as far as the allocator can. */
void bm_memory_trim(void);
/* Make a copy that ends with a NUL; NULL: there is no memory. */
char *bm_strdup(const char *text);
char *bm_strndup(const char *text, size_t len);

/* Like bm_alloc, bm_alloc_zero and bm_alloc_aligned, but they return a status. `out` is the address
 * of a pointer to the elements. This pointer becomes NULL if there is no memory (BM_ERR_NOMEM, with
 * the requested size).
 *
 *     BM_TRY(bm_new(&list->rows, n, err)); */
#define bm_new(out, n, err)         bm_new_by(bm_alloc, (out), (n), sizeof **(out), (err))
#define bm_new_zero(out, n, err)    bm_new_by(bm_alloc_zero, (out), (n), sizeof **(out), (err))
#define bm_new_aligned(out, n, err) bm_new_by(bm_alloc_aligned, (out), (n), sizeof **(out), (err))
bm_status bm_new_by(void *(*alloc)(size_t n, size_t size), void *out, size_t n, size_t size,
                    bm_error *err);
/* Like bm_strdup and bm_strndup, but with a status. */
bm_status bm_copy_text(const char *text, char **out, bm_error *err);
bm_status bm_copy_bytes(const char *text, size_t len, char **out, bm_error *err);

/* Reserve space for `need` elements in a growable array. `array` is the address of a pointer to the
 * elements, which is NULL while *cap is 0. *cap grows by half or more. On failure nothing changes.
 *
 *     bm_status status = bm_grow_array(&list->rows, &list->cap, list->n + 1, err); */
#define bm_grow_array(array, cap, need, err)                                                       \
    bm_grow((array), (cap), (need), sizeof **(array), (err))

/* The function that bm_grow_array calls. `array` is the address of a pointer to elements of `size`
 * bytes. */
bm_status bm_grow(void *array, size_t *cap, size_t need, size_t size, bm_error *err);

/* Set *out to the text that a printf format makes. The caller frees it. On failure *out is
 * unchanged. */
bm_status bm_string_format(char **out, bm_error *err, const char *format, ...) BM_PRINTF(3, 4);

/* A growing buffer of bytes; {0} is an empty one. `data` has `len` bytes. There is no NUL after
 * them unless bm_buf_end has written it. */
typedef struct bm_buf {
    char *data;
    size_t len, cap;
    size_t max; /* 0: no limit; growing beyond a limit is BM_ERR_NOMEM */
} bm_buf;

/* Reserve space for `more` bytes after the last one. */
bm_status bm_buf_reserve(bm_buf *buf, size_t more, bm_error *err);
/* Append bytes. On failure the buffer is unchanged. */
bm_status bm_buf_add(bm_buf *buf, const void *data, size_t len, bm_error *err);
bm_status bm_buf_add_text(bm_buf *buf, const char *text, bm_error *err);
bm_status bm_buf_add_format(bm_buf *buf, bm_error *err, const char *format, ...) BM_PRINTF(3, 4);
/* Write a NUL after the last byte; `len` does not count it. */
bm_status bm_buf_end(bm_buf *buf, bm_error *err);
void bm_buf_reset(bm_buf *buf); /* frees */
