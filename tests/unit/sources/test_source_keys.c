/* SPDX-License-Identifier: Apache-2.0 */
/* test_source_keys.c -- band keys made by other programs: read back row by row for any batch size,
 * read again, skipped, digested; arrays that are malformed are refused by name. */
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "results/npy.h"
#include "sources/batch_sources.h"
#include "tests/unit/input/read_records.h"
#include "tests/world/world_calls.h"
#include "tests/world/world_npy.h"

typedef struct opened {
    scratch dir;
    const char *path;
    bm_input_set *set;
    bm_batch_source *source;
} opened;

typedef struct array {
    const char *type;
    uint64_t rows, cols;
    size_t bytes;
} array;

static const char *put(scratch *dir, array a)
{
    const size_t bytes = a.bytes;
    char *file = calloc(BM_NPY_HEADER_BYTES + bytes + 1, 1);
    world_npy_header(a.type, a.rows, a.cols, file);
    for (size_t i = 0; i < bytes; i++)
        file[BM_NPY_HEADER_BYTES + i] = (char)(i * 37 + i / 256);
    const char *path = scratch_put(dir, "keys.npy", file, BM_NPY_HEADER_BYTES + bytes);
    free(file);
    return path;
}

static bm_status open_array(opened *o, array a, bm_error *err)
{
    *o = (opened){.dir = scratch_open()};
    o->path = put(&o->dir, a);
    const char *paths[] = {o->path};
    bm_input_options options = test_options(paths, 1, BM_FORMAT_KEYS);
    bm_status status = bm_input_set_open(&options, NULL, 0, NULL, &o->set, err);
    world_ok(status, err);
    return bm_batch_source_open(o->set, &o->source, err);
}

static void close_all(opened *o)
{
    bm_batch_source_close(o->source);
    bm_input_set_close(o->set);
    scratch_close(&o->dir);
}

static char *read_back(const char *path, size_t *len)
{
    char *bytes = malloc(1 << 20);
    FILE *file = fopen(path, "rb");
    *len = fread(bytes, 1, 1 << 20, file);
    fclose(file);
    return bytes;
}

typedef struct seen {
    uint64_t row;
    uint32_t n_keys;
    const unsigned char *cells; /* cells of the first row */
} seen;

static bm_status on_row(void *ctx, const bm_record *r, bm_error *err)
{
    (void)err;
    seen *s = ctx;
    char id[24];
    snprintf(id, sizeof id, "%llu", (unsigned long long)s->row);
    cr_assert(r->id.len == strlen(id) && memcmp(r->id.data, id, r->id.len) == 0);
    cr_assert(r->line == s->row + 1 && r->text.len == 0 && r->n_hashes == 0 && !r->bad);
    cr_assert_eq(memcmp(r->keys, s->cells + s->row * s->n_keys * 8, s->n_keys * 8), 0);
    s->row++;
    return BM_OK;
}

static void read_all(opened *o, const bm_batch_limits *limits, uint64_t skip, seen *s)
{
    bm_batch_next next = {.got = BM_BATCH_READ};
    s->row = skip;
    cr_assert_eq(bm_batch_source_begin(o->source, limits, skip, NULL), BM_OK);
    bm_batch_parser *parser = world_open(bm_batch_parser, o->source);
    while (next.got != BM_BATCH_END) {
        cr_assert_eq(bm_batch_source_next(o->source, &next, NULL), BM_OK);
        const uint64_t before = s->row;
        if (next.batch != NULL)
            cr_assert_eq(bm_batch_parser_run(parser, next.batch, on_row, s, NULL), BM_OK);
        cr_assert(limits->docs == 0 || s->row - before <= limits->docs);
        bm_batch_source_free_batch(o->source, next.batch);
    }
    bm_batch_parser_close(parser);
    bm_batch_source_end(o->source);
}

Test(source_keys, rows_come_back_for_any_batches_and_the_file_is_digested)
{
    static const struct {
        uint64_t rows, cols;
    } shapes[] = {{0, 1}, {0, 9}, {1, 1}, {1, 128}, {1000, 3}, {37, 128}};
    static const bm_batch_limits limits[] = {
        {.hashes = 1}, {.hashes = 1 << 20}, {.hashes = 1 << 20, .docs = 7}};
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        opened o;
        bm_error err = {0};
        const size_t bytes = (size_t)(shapes[i].rows * shapes[i].cols * 8);
        world_ok(open_array(&o, (array){"<u8", shapes[i].rows, shapes[i].cols, bytes}, &err), &err);
        cr_assert_eq(o.source->n_keys, shapes[i].cols);
        cr_assert(!o.source->ops->has_text && !o.source->copies);
        size_t len;
        char *file = read_back(o.path, &len);
        seen s = {.n_keys = (uint32_t)shapes[i].cols,
                  .cells = (unsigned char *)file + BM_NPY_HEADER_BYTES};
        for (int l = 0; l < 3; l++) {
            read_all(&o, &limits[l], 0, &s);
            cr_assert_eq(s.row, shapes[i].rows);
        }
        if (shapes[i].rows > 20) {
            read_all(&o, &limits[2], 20, &s);
            cr_assert_eq(s.row, shapes[i].rows);
        }
        const XXH128_hash_t sum = XXH3_128bits(file, len);
        const bm_source *source = bm_input_set_source(o.set, 0);
        cr_assert(source->digest.lo == sum.low64 && source->digest.hi == sum.high64 &&
                  source->bytes_read == len);
        free(file);
        close_all(&o);
    }
}

Test(source_keys, arrays_of_other_types_and_shapes_and_short_ones_are_refused)
{
    static const struct {
        array array;
        const char *says;
    } bad[] = {{{"<u4", 4, 2, 32}, "type <u4 (expected <u8)"},
               {{"<i8", 4, 2, 64}, "type <i8 (expected <u8)"},
               {{"<u8", 4, 0, 32}, "one dimension"},
               {{"<u8", 4, 2, 63}, "bytes (expected"},
               {{"<u8", 4, 2, 65}, "bytes (expected"},
               {{"<u8", 0, (uint64_t)BM_PERMS_MAX + 1, 0}, "bands (expected 1 to"}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        opened o;
        bm_error err = {0};
        world_refused(open_array(&o, bad[i].array, &err), BM_ERR_INPUT, &err, bad[i].says);
        cr_assert_not_null(strstr(err.file, "keys.npy"));
        close_all(&o);
    }
}

Test(source_keys, a_file_that_changes_between_two_readings_is_an_error)
{
    opened o;
    bm_error err = {0};
    const bm_batch_limits limits = {.hashes = 1 << 20};
    cr_assert_eq(open_array(&o, (array){"<u8", 10, 2, 160}, &err), BM_OK);
    size_t len;
    char *file = read_back(o.path, &len);
    seen s = {.n_keys = 2, .cells = (unsigned char *)file + BM_NPY_HEADER_BYTES};
    read_all(&o, &limits, 0, &s);
    FILE *again = fopen(o.path, "r+b");
    fseek(again, -1, SEEK_END);
    fputc(file[len - 1] + 1, again);
    fclose(again);
    bm_batch_next next = {.got = BM_BATCH_READ};
    bm_status status = bm_batch_source_begin(o.source, &limits, 0, NULL);
    while (status == BM_OK && next.got != BM_BATCH_END) {
        status = bm_batch_source_next(o.source, &next, &err);
        bm_batch_source_free_batch(o.source, status == BM_OK ? next.batch : NULL);
    }
    world_refused(status, BM_ERR_INPUT, &err, "changed");
    free(file);
    close_all(&o);
}
