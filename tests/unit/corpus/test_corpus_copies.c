/* SPDX-License-Identifier: Apache-2.0 */
/* test_corpus_copies.c -- the representative of identical documents is the first in input order,
 * and each set is the set of its text. This holds for any number of threads, for any batches
 * (empty ones included), and for sets in memory or in a file. The model compares texts. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "corpus/corpus.h"
#include "corpus/corpus_parts.h"
#include "input/input_set.h"
#include "input/batch_source.h"
#include "tests/world/scratch.h"
#include "tests/world/world_calls.h"
#include "tests/world/world_random.h"

#define N_DOCS  3000u
#define N_TEXTS 900u /* distinct texts, at most */
#define N_WORDS 24u  /* words that a text may have; each is a bit of the text's number */

typedef struct world {
    scratch dir;
    const char *path;
    bm_input_options input;
    bm_input_set *set;
    bm_batch_source *source;
    uint32_t texts[N_DOCS];
} world;

/* Writes the text to a file, the input of the world, and frees the text. */
static void put_input(world *w, const char *name, bm_buf *text, bm_format format)
{
    scratch_put(&w->dir, name, text->data, text->len);
    bm_buf_reset(text);
    w->path = scratch_at(&w->dir, name);
    w->input = (bm_input_options){.paths = &w->path,
                                  .n_paths = 1,
                                  .format = format,
                                  .on_error = BM_ON_ERROR_SKIP,
                                  .max_errors = UINT64_MAX,
                                  .max_doc_bytes = 1000};
    cr_assert_eq(bm_input_set_open(&w->input, NULL, 0, NULL, &w->set, NULL), BM_OK);
    cr_assert_eq(bm_source_records.open(w->set, &w->source, NULL), BM_OK);
}

/* Writes one document per line. A broken line precedes every fifth document; sometimes there are 20
 * broken lines in a row. */
static void open_world(world *w)
{
    bm_buf out = {0};
    uint64_t state = 3;
    memset(w, 0, sizeof *w);
    w->dir = scratch_open();
    for (size_t i = 0; i < N_DOCS; i++) {
        const uint32_t text = world_below(&state, N_TEXTS);
        w->texts[i] = text % 50 == 0 ? 0 : text * 0x9E3779B1u >> (32 - N_WORDS);
        for (size_t broken = i % 200 == 7 ? 20 : i % 5 == 0; broken > 0; broken--)
            bm_buf_add_text(&out, "{\"text\":\n", NULL);
        bm_buf_add_text(&out, "{\"text\":\"", NULL);
        for (uint32_t word = 0; word < N_WORDS; word++)
            if ((w->texts[i] >> word & 1) != 0)
                bm_buf_add_format(&out, NULL, "w%u ", word);
        bm_buf_add_text(&out, "\"}\n", NULL);
    }
    put_input(w, "in.jsonl", &out, BM_FORMAT_JSONL);
}

static void close_world(world *w)
{
    bm_batch_source_close(w->source);
    bm_input_set_close(w->set);
    scratch_close(&w->dir);
}

/* Two texts, twice each, with the same content hash (kernels/content_hash.h): words at the same
 * position have hashes with equal lower halves, and the upper halves give equal sums. */
static void open_collision(world *w)
{
    static const char *const words[2][8] = {
        {"jkviy", "dcppw", "homuk", "fdndb", "mfaaw", "jxccd", "drptj", "hdnmm"},
        {"aagrv", "hgxpw", "obcfr", "qmamk", "jkbgj", "ciqkf", "reorx", "mdzoe"}};
    bm_buf out = {0};
    memset(w, 0, sizeof *w);
    w->dir = scratch_open();
    for (size_t i = 0; i < 4; i++) {
        for (size_t word = 0; word < 8; word++)
            bm_buf_add_format(&out, NULL, "%s%s", word > 0 ? " so so so so so so so " : "",
                              words[i % 2][word]);
        bm_buf_add_text(&out, "\n", NULL);
    }
    put_input(w, "in.txt", &out, BM_FORMAT_LINES);
}

static void read_all(world *w, const bm_ingest_cfg *how, bm_corpus *corpus, bm_doc_table *docs)
{
    const bm_text_options text = {.shingle_k = 1};
    const bm_callbacks none = {0};
    bm_error err = {0};
    bm_meter meter;
    bm_counts counts = {0};
    bm_meter_init(&meter, &none);
    bm_ingest_cfg cfg = *how;
    cfg.source = w->source;
    cfg.input = &w->input;
    cfg.text = &text;
    cfg.meter = &meter;
    cfg.docs = docs;
    cfg.counts = &counts;
    cfg.sink = bm_corpus_sink(corpus);
    cfg.early = bm_corpus_early(corpus);
    cr_assert_eq(bm_ingest_run(&cfg, &err), BM_OK, "%s", err.message);
    cr_assert_eq(bm_corpus_end_adding(corpus, NULL), BM_OK);
    bm_meter_reset(&meter);
}

static unsigned bits_of(uint32_t x)
{
    return (unsigned)__builtin_popcount(x);
}

static void check(const world *w, bm_corpus *corpus)
{
    static bm_pair pairs[N_DOCS];
    size_t n_pairs = 0, n_copies = 0;
    bm_pool *pool = world_open(bm_pool, 2);
    cr_assert_eq(corpus->n, N_DOCS);
    for (uint32_t i = 0; i < N_DOCS; i++) {
        uint32_t first = 0;
        while (w->texts[first] != w->texts[i])
            first++;
        first = w->texts[i] == 0 ? i : first; /* empty documents are no copies */
        cr_assert_eq(corpus->rep[i], first, "document %u", i);
        cr_assert_eq(corpus->skip[i] != 0, first != i || w->texts[i] == 0, "document %u", i);
        cr_assert_eq(corpus->sizes[i], bits_of(w->texts[i]));
        n_copies += first != i;
        if (i > 0 && w->texts[i] != 0 && w->texts[i - 1] != 0)
            pairs[n_pairs++] = (bm_pair){.a = i - 1, .b = i};
    }
    cr_assert_gt(n_copies, N_DOCS / 2);
    cr_assert_eq(corpus->n_identical, n_copies);
    const bm_comparison how = {.rule = {.verify = BM_VERIFY_EXACT}, .pool = pool};
    cr_assert_eq(bm_corpus_compare(corpus, &how, pairs, n_pairs, NULL), BM_OK);
    for (size_t k = 0; k < n_pairs; k++) {
        const uint32_t a = w->texts[pairs[k].a], b = w->texts[pairs[k].b];
        cr_assert_eq(pairs[k].similarity, (double)bits_of(a & b) / (double)bits_of(a | b),
                     "documents %u and %u", pairs[k].a, pairs[k].b);
    }
    bm_pool_close(pool);
}

Test(corpus_copies, the_first_of_identical_documents_stands_for_them_and_sets_are_of_their_texts)
{
    static const uint32_t threads[] = {1, 2, 8}, batch_docs[] = {1, 7, 0};
    world w;
    open_world(&w);
    for (size_t c = 0; c < 18; c++) {
        const bm_corpus_cfg cfg = {
            .hashes = true, .find_identical = true, .temp_dir = w.dir.root, .spill_now = c >= 9};
        bm_doc_table docs = {0};
        bm_corpus corpus;
        bm_corpus_init(&corpus, &cfg);
        corpus.cfg.docs = &docs;
        read_all(&w,
                 &(bm_ingest_cfg){.threads = threads[c % 3], .batch_docs = batch_docs[c / 3 % 3]},
                 &corpus, &docs);
        cr_assert_eq(bm_corpus_sets_in_file(&corpus), c >= 9);
        check(&w, &corpus);
        bm_corpus_reset(&corpus);
        bm_doc_table_reset(&docs);
    }
    close_world(&w);
}

Test(corpus_copies, documents_that_were_made_alike_are_compared_as_sets)
{
    world w;
    open_collision(&w);
    for (size_t c = 0; c < 4; c++) {
        const bm_corpus_cfg cfg = {
            .hashes = true, .find_identical = true, .temp_dir = w.dir.root, .spill_now = c >= 2};
        bm_doc_table docs = {0};
        bm_corpus corpus;
        bm_corpus_init(&corpus, &cfg);
        corpus.cfg.docs = &docs;
        read_all(&w, &(bm_ingest_cfg){.threads = 2, .batch_docs = c % 2}, &corpus, &docs);
        cr_assert_eq(corpus.n, 4);
        for (uint32_t i = 0; i < 4; i++)
            cr_expect_eq(corpus.rep[i], i % 2, "document %u", i);
        bm_pair pair = {.a = 0, .b = 1};
        bm_pool *pool = world_open(bm_pool, 1);
        const bm_comparison how = {.rule = {.verify = BM_VERIFY_EXACT}, .pool = pool};
        cr_assert_eq(bm_corpus_compare(&corpus, &how, &pair, 1, NULL), BM_OK);
        cr_expect_eq(pair.similarity, 1.0 / 17, "they share one word of 9");
        bm_pool_close(pool);
        bm_corpus_reset(&corpus);
        bm_doc_table_reset(&docs);
    }
    close_world(&w);
}

Test(corpus_copies, signed_documents_of_other_counts_are_no_copies)
{
    const uint32_t sizes[] = {5, 6, 5, 6};
    const bm_hash128 content[] = {{7, 8}, {7, 8}, {7, 8}, {7, 8}};
    bm_corpus corpus;
    bm_corpus_init(&corpus, &(bm_corpus_cfg){.find_identical = true});
    cr_assert_eq(
        bm_corpus_add_words(
            &corpus, &(bm_signed_docs){.n = 4, .n_shingles = sizes, .content = content}, NULL),
        BM_OK);
    for (uint32_t i = 0; i < 4; i++)
        cr_expect_eq(corpus.rep[i], i % 2, "document %u", i);
    cr_expect_eq(corpus.n_identical, 2);
    bm_corpus_reset(&corpus);
}

/* An unplanned column for grouping is in memory only if enough of the memory limit is left. */
Test(corpus_new_column_beside, is_in_a_file_where_memory_has_not_so_much_left)
{
    static const struct {
        uint64_t memory;
        size_t bytes;
        bool in_file;
    } cases[] = {{0, 1 << 20, false},
                 {64 << 20, 1 << 20, false},
                 {64 << 20, 63 << 20, true},
                 {1, 1 << 20, true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bm_corpus corpus;
        bm_column column = {0};
        bm_error err = {0};
        const bm_corpus_cfg cfg = {
            .memory = cases[i].memory, .temp_dir = "/tmp", .budget.fixed = 2 << 20};
        bm_corpus_init(&corpus, &cfg);
        cr_assert_eq(bm_corpus_new_column_beside(&corpus, cases[i].bytes, &column, &err), BM_OK,
                     "%s", err.message);
        cr_assert_geq(atomic_load(&column.bytes), cases[i].bytes);
        cr_assert_eq(atomic_load(&column.file) != 0, cases[i].in_file, "case %zu", i);
        bm_column_reset(&column);
        bm_corpus_reset(&corpus);
    }
}

/* Columns of matching and grouping are in files if those of documents were, which are in memory
 * again by then. */
Test(corpus_new_column, is_in_a_file_after_matching_began_if_documents_were)
{
    enum { N = 4000 };
    static uint32_t sizes[N];
    static bm_hash128 content[N];
    for (uint32_t i = 0; i < N; i++) {
        sizes[i] = 5;
        content[i] = (bm_hash128){i, i};
    }
    for (int small = 0; small < 2; small++) {
        bm_corpus corpus;
        bm_column column = {0};
        const bm_corpus_cfg cfg = {.find_identical = true,
                                   .memory = small ? (uint64_t)BM_COLUMNS_PART * N * 20 : 1 << 30,
                                   .temp_dir = "/tmp"};
        bm_corpus_init(&corpus, &cfg);
        cr_assert_eq(
            bm_corpus_add_words(
                &corpus, &(bm_signed_docs){.n = N, .n_shingles = sizes, .content = content}, NULL),
            BM_OK);
        cr_assert_eq(bm_corpus_begin_matching(&corpus, NULL), BM_OK);
        cr_expect(!bm_column_has_file(&corpus.rep_column) && corpus.rep[N - 1] == N - 1);
        cr_assert_eq(bm_corpus_new_column(&corpus, 1 << 20, &column, NULL), BM_OK);
        cr_expect_eq(bm_column_has_file(&column), small == 1);
        bm_column_reset(&column);
        bm_corpus_reset(&corpus);
    }
}
