/* SPDX-License-Identifier: Apache-2.0 */
/* Each allocation fails in turn, until a run makes fewer. A run must end with an error or with all
 * records, and never crash. The C library's functions are replaced, so allocations of simdjson,
 * zlib and zstd fail too. Not under sanitizers, which replace the same functions. */
#include "read_records.h"

#if defined(BM_SANITIZED) || !defined(__GLIBC__)
Test(reader_memory, cannot_run_here, .disabled = true)
{
}
#else
#include <errno.h>
#include <zstd.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *block, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

static long countdown = -1; /* below 0: nothing fails */

static bool fails(void)
{
    if (countdown < 0 || countdown-- != 0)
        return false;
    errno = ENOMEM;
    return true;
}

void *malloc(size_t size)
{
    return fails() ? NULL : __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
    return fails() ? NULL : __libc_calloc(n, size);
}

void *realloc(void *block, size_t size)
{
    return fails() ? NULL : __libc_realloc(block, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return fails() ? NULL : __libc_memalign(alignment, size);
}

static bm_status count(void *ctx, const bm_record *r, bm_error *err)
{
    (void)err;
    size_t *n = ctx;
    *n += !r->bad;
    return BM_OK;
}

static bm_status read_all(const bm_input_options *o, size_t *n)
{
    bm_input_set *set = NULL;
    bm_batch_source *reader = NULL;
    bm_parser *parser = NULL;
    bm_raw_batch *batch = NULL;
    bm_error err = {0};
    *n = 0;
    bm_status status = bm_input_set_open(o, NULL, 0, NULL, &set, &err);
    if (status == BM_OK)
        status = world_reader_open(set, 64, 0, &reader, &err);
    if (status == BM_OK)
        status = bm_parser_open(set, &parser, &err);
    while (status == BM_OK) {
        status = world_reader_next(reader, &batch, &err);
        if (status != BM_OK || batch == NULL)
            break;
        status = bm_parser_run(parser, batch, count, n, &err);
        bm_raw_batch_free(batch);
    }
    bm_parser_close(parser);
    world_reader_close(reader);
    bm_input_set_close(set);
    return status;
}

/* Fails the first, second, … allocation until a run makes fewer. Returns the number of runs. */
static long fail_each(const bm_input_options *o, size_t n_records)
{
    for (long nth = 0;; nth++) {
        size_t n = 0;
        countdown = nth;
        bm_status status = read_all(o, &n);
        bool all_made = countdown >= 0;
        countdown = -1;
        if (all_made) {
            cr_assert_eq(status, BM_OK);
            cr_assert_eq(n, n_records);
            return nth;
        }
        cr_assert(status == BM_OK || status == BM_ERR_NOMEM, "%d", status);
        /* a library may do without the memory; then the result must be whole */
        cr_assert(status != BM_OK || n == n_records, "allocation %ld: %zu records", nth, n);
        cr_assert_leq(n, n_records);
    }
}

Test(reader_memory, every_failed_allocation_is_an_error_or_harmless)
{
    SCRATCH dir = scratch_open();
    const char jsonl[] =
        "{\"id\":1.0,\"text\":\"a\\n\xFF\"}\n{\"id\":\"x\",\"text\":\"b\\u00e9\"}\n"
        "{\"text\":\"a line that is longer than one batch of sixty-four bytes\"}\n";
    const char csv[] = "id,text\n1,\"a\"\"b\xFF\"\n\"2\"\"\",c\n";
    char packed[1000];
    size_t n = ZSTD_compress(packed, sizeof packed, jsonl, sizeof jsonl - 1, 1);
    const char *one[] = {scratch_put(&dir, "a.jsonl", jsonl, sizeof jsonl - 1)};
    const char *two[] = {scratch_put(&dir, "a.csv", csv, sizeof csv - 1)};
    const char *three[] = {scratch_put(&dir, "a.jsonl.zst", packed, n)};
    bm_input_options o = test_options(one, 1, BM_FORMAT_AUTO);
    cr_assert_gt(fail_each(&o, 3), 10);
    o = test_options(two, 1, BM_FORMAT_AUTO);
    cr_assert_gt(fail_each(&o, 2), 10);
    o = test_options(three, 1, BM_FORMAT_AUTO);
    cr_assert_gt(fail_each(&o, 3), 10);
    const char json[] =
        "[{\"id\":1,\"t\":[{\"u\":\"longer than a short string\"},{\"u\":\"another of these\"}]},\n"
        "{\"id\":2,\"t\":[{\"u\":\"one with an escape\\n\"},{\"u\":\"and a byte \xFF that is "
        "none\"},"
        "{\"u\":null}]},7,\n{\"id\":3,\"t\":[]},{\"id\":4,\"v\":\"no such field\"}]";
    const char *four[] = {scratch_put(&dir, "_a.json", json, sizeof json - 1)},
               *field[] = {"t[].u"};
    o = test_options(four, 1, BM_FORMAT_JSON);
    o.text_fields = field;
    o.n_text_fields = 1;
    cr_assert_gt(fail_each(&o, 3), 20);
    const char *whole[] = {dir.root};
    o = test_options(whole, 1, BM_FORMAT_LINES);
    cr_assert_gt(fail_each(&o, 3 + 3 + 3), 10);
}
#endif
