/* SPDX-License-Identifier: Apache-2.0 */
/* The gate is asked about each record longer than a batch, and reports records that may not be held
 * in memory. */
#include "input/raw_batch.h"

#include "read_records.h"

Test(long_gate, as_many_words_as_a_text_can_have)
{
    static const struct {
        const char *text;
        uint64_t words; /* words of the text, counted by hand */
    } texts[] = {{"", 0},
                 {"one", 1},
                 {"a b c", 3},
                 {"a-b_c.d", 4},
                 {"\xE4\xB8\xAD\xE4\xB8\xAD\xE4\xB8\xAD", 3},
                 {"a\xE4\xB8\xAD"
                  "b\xE4\xB8\xAD"
                  "c\xE4\xB8\xAD"
                  "d",
                  7},
                 {"a\xC2\xA0"
                  "b\xC2\xA0"
                  "c",
                  3}};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        cr_expect_geq(bm_long_words(texts[i].text, strlen(texts[i].text)), texts[i].words, "%s",
                      texts[i].text);
    cr_expect_leq(bm_long_words("only a few words stand here", 27), 7);
}

typedef struct limit {
    uint64_t most, asked;
    bm_long_record refused;
    char file[300];
} limit;

static bm_status hold(void *ctx, uint64_t bytes, bool *may, bm_error *err)
{
    limit *l = ctx;
    (void)err;
    l->asked = bytes > l->asked ? bytes : l->asked;
    *may = bytes <= l->most;
    return BM_OK;
}

static bm_status refuse(void *ctx, const bm_long_record *what, bm_error *err)
{
    limit *l = ctx;
    (void)err;
    l->refused = *what;
    snprintf(l->file, sizeof l->file, "%s", what->file);
    return BM_ERR_NOMEM;
}

/* Reads all batches of `path` through the gate. Returns the status at the end; *n_batches: how many
 * were read. */
static bm_status read_gated(const char *path, uint64_t max_doc_bytes, limit *l, size_t *n_batches)
{
    const char *paths[] = {path};
    bm_input_options o = test_options(paths, 1, BM_FORMAT_LINES);
    o.max_doc_bytes = max_doc_bytes;
    bm_input_set *set = NULL;
    bm_batch_source *reader = NULL;
    const bm_long_gate gate = {l, hold, refuse};
    cr_assert_eq(bm_input_set_open(&o, NULL, 0, NULL, &set, NULL), BM_OK);
    const bm_batch_limits limits = {.bytes = 1 << 16, .gate = &gate};
    cr_assert_eq(world_reader_begin(set, &limits, &reader, NULL), BM_OK);
    bm_raw_batch *batch = NULL;
    bm_status status;
    *n_batches = 0;
    while ((status = world_reader_next(reader, &batch, NULL)) == BM_OK && batch != NULL) {
        ++*n_batches;
        bm_raw_batch_free(batch);
    }
    world_reader_close(reader);
    bm_input_set_close(set);
    return status;
}

Test(long_gate, a_gate_is_asked_about_records_longer_than_a_batch_and_what_it_refuses_is_measured)
{
    SCRATCH dir = scratch_open();
    FILE *file = scratch_write(&dir, "long.txt");
    const char *path = scratch_at(&dir, "long.txt");
    for (int i = 0; i < 30000; i++)
        fputs("a short line\n", file);
    for (int i = 0; i < 100000; i++)
        fputs("nine, ten ", file);
    fputs("\nlast\n", file);
    fclose(file);
    size_t n = 0;
    limit all = {.most = UINT64_MAX}, less = {.most = 500000}, cut = {.most = 500000};
    cr_assert_eq(read_gated(path, UINT64_MAX, &all, &n), BM_OK);
    cr_assert_geq(all.asked, 1000001);
    cr_assert_leq(all.asked, 1000001 + 1000001 / 16 + (1 << 16), "little is read behind it");
    cr_assert_eq(read_gated(path, UINT64_MAX, &less, &n), BM_ERR_NOMEM);
    cr_assert_eq(less.refused.line, 30001);
    cr_assert_eq(less.refused.bytes, 1000001, "with its line ending");
    cr_assert_geq(less.refused.words, 200000);
    cr_assert_str_eq(less.file, path);
    cr_assert_gt(n, 0, "what stands before it came first");
    cr_assert_eq(read_gated(path, 600000, &cut, &n), BM_OK,
                 "too long is a bad record, whatever "
                 "the memory");
    cr_assert_eq(cut.refused.bytes, 0);
}
