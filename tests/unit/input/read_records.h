/* SPDX-License-Identifier: Apache-2.0 */
/* read_records.h -- for the tests of reading: every record of an input as plain values. */
#pragma once

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "input/input_set.h"
#include "input/parser.h"
#include "tests/world/scratch.h"
#include "tests/world/world_reader.h"

typedef struct record {
    uint32_t file;
    uint64_t line;
    bm_str raw, id, text; /* copies, with a terminating NUL */
    bool is_header, bad;
    char reason[400];
    uint64_t text_bytes, n_invalid;
} record;

typedef struct records {
    record *all;
    size_t n, cap, n_batches, longest_batch, n_ranges;
    bm_status status; /* of the first failure */
    bm_error err;
} records;

static inline bm_str test_copy(bm_str from)
{
    char *data = malloc(from.len + 1);
    cr_assert(data);
    if (from.len > 0)
        memcpy(data, from.data, from.len);
    data[from.len] = '\0';
    return (bm_str){data, from.len};
}

static inline bm_status test_collect(void *ctx, const bm_record *r, bm_error *err)
{
    (void)err;
    records *to = ctx;
    if (to->n == to->cap) {
        to->cap = to->cap * 2 + 16;
        to->all = realloc(to->all, to->cap * sizeof *to->all);
        cr_assert(to->all);
    }
    record *out = &to->all[to->n++];
    *out = (record){.file = r->file, .line = r->line, .is_header = r->is_header, .bad = r->bad};
    out->raw = test_copy(r->raw);
    out->id = test_copy(r->bad ? (bm_str){0} : r->id);
    out->text = test_copy(r->bad ? (bm_str){0} : r->text);
    if (r->bad) {
        cr_assert(r->reason != NULL);
        snprintf(out->reason, sizeof out->reason, "%s", r->reason);
    } else {
        out->text_bytes = r->text_bytes;
        out->n_invalid = r->n_invalid;
    }
    return BM_OK;
}

/* Reads an open set with one reader and one parser. */
static inline void test_read_set(bm_input_set *set, size_t batch_bytes, uint32_t batch_records,
                                 bool split, records *out)
{
    bm_batch_source *reader = NULL;
    bm_parser *parser = NULL;
    out->status = world_reader_open(set, batch_bytes, batch_records, &reader, &out->err);
    if (out->status == BM_OK)
        out->status = bm_parser_open(set, &parser, &out->err);
    while (out->status == BM_OK) {
        bm_raw_batch *batch;
        out->status = world_reader_next(reader, &batch, &out->err);
        if (out->status != BM_OK || batch == NULL)
            break;
        cr_assert_eq(batch->sequence, out->n_batches);
        out->n_batches++;
        if (batch->len > out->longest_batch)
            out->longest_batch = batch->len;
        size_t before = out->n;
        out->status =
            (split ? bm_parser_split : bm_parser_run)(parser, batch, test_collect, out, &out->err);
        size_t marks = 0; /* headers of JSON arrays (byte order marks) are not records */
        for (size_t i = before; i < out->n; i++)
            marks += out->all[i].is_header && bm_input_set_format(set) == BM_FORMAT_JSON;
        if (batch_records != 0)
            cr_assert_leq(out->n - before - marks, batch_records);
        bm_raw_batch_free(batch);
    }
    bm_parser_close(parser);
    world_reader_close(reader);
}

static inline records test_read(const bm_input_options *options, size_t batch_bytes,
                                uint32_t batch_records, bool split)
{
    records out = {0};
    bm_input_set *set = NULL;
    out.status = bm_input_set_open(options, NULL, 0, NULL, &set, &out.err);
    if (out.status == BM_OK)
        test_read_set(set, batch_bytes, batch_records, split, &out);
    bm_input_set_close(set);
    return out;
}

static inline void test_free(records *r)
{
    for (size_t i = 0; i < r->n; i++) {
        free((char *)r->all[i].raw.data);
        free((char *)r->all[i].id.data);
        free((char *)r->all[i].text.data);
    }
    free(r->all);
    *r = (records){0};
}

#define CLEANED __attribute__((cleanup(test_free)))

/* Makes standard input a pipe, into which a child writes the data, `step` bytes at a time. */
static inline pid_t test_feed_stdin(const char *data, size_t len, size_t step)
{
    int ends[2];
    cr_assert_eq(pipe(ends), 0);
    pid_t child = fork();
    cr_assert_geq(child, 0);
    if (child == 0) {
        close(ends[0]);
        for (size_t at = 0; at < len; at += step)
            if (write(ends[1], data + at, len - at < step ? len - at : step) < 0)
                _exit(1);
        _exit(0);
    }
    close(ends[1]);
    cr_assert_eq(dup2(ends[0], STDIN_FILENO), STDIN_FILENO);
    close(ends[0]);
    return child;
}

static inline bm_input_options test_options(const char *const *paths, size_t n, bm_format format)
{
    return (bm_input_options){.paths = paths,
                              .n_paths = n,
                              .format = format,
                              .header = BM_HEADER_BY_FIELDS,
                              .max_errors = UINT64_MAX,
                              .max_doc_bytes = (uint64_t)1 << 30};
}

/* All records of a file with these bytes, read in one batch. `options` NULL: the defaults of
 * `format`. */
static inline records test_read_bytes(bm_format format, const void *data, size_t len,
                                      const bm_input_options *options)
{
    SCRATCH dir = scratch_open();
    const char *paths[] = {scratch_put(&dir, "in", data, len)};
    bm_input_options o = options != NULL ? *options : test_options(NULL, 0, format);
    o.paths = paths;
    o.n_paths = 1;
    o.format = format;
    records out = test_read(&o, 1 << 20, 0, false);
    return out;
}

#define assert_text(record_, expected)                                                             \
    do {                                                                                           \
        const record *r_ = &(record_);                                                             \
        cr_assert(!r_->bad, "bad: %s", r_->reason);                                                \
        cr_assert_eq(r_->text.len, sizeof(expected) - 1, "%s", r_->text.data);                     \
        cr_assert_arr_eq(r_->text.data, expected, sizeof(expected) - 1);                           \
    } while (0)
#define assert_id(record_, expected) cr_assert_str_eq((record_).id.data, expected)
#define assert_bad(record_, words)                                                                 \
    do {                                                                                           \
        const record *r_ = &(record_);                                                             \
        cr_assert(r_->bad);                                                                        \
        cr_assert(strstr(r_->reason, words), "%s", r_->reason);                                    \
    } while (0)
