/* SPDX-License-Identifier: Apache-2.0 */
/* test_corpus_again.c -- sets made again from their texts equal the sets that were kept, wherever
 * the record is in its file; and the error names a file that changed in between. */
#include <criterion/criterion.h>
#include <math.h>

#include "corpus/corpus.h"
#include "input/input_set.h"
#include "input/parser.h"
#include "input/batch_source.h"
#include "sign/ingest.h"

#include "tests/world/scratch.h"
#include "tests/world/world_random.h"

#define N_LINES 2500u /* in each of the first two files; the others are small */
#define N_SMALL 30u
#define N_FILES 12u
#define N_PAIRS 6000u
#define LONGEST 3000u

/* Adds the text of document i. Every third document is a copy of the one before, or nearly so.
 * Words are from a small dictionary, so most documents share some. Some texts are empty, some are
 * long, and one in 97 is longer than allowed. */
static void put_words(bm_buf *out, size_t i)
{
    const bool differs = i % 6 == 2;
    i = i % 3 == 2 ? i - 1 : i;
    uint64_t state = i * 7919 + 1;
    size_t n = i % 50 == 7 ? 0 : i % 41 == 5 ? 350 : 5 + i % 40;
    if (i % 97 == 13)
        n = i % 5 == 0 ? 300000 : 40000; /* 300000: longer than a batch, too */
    for (size_t k = 0; k < n; k++) {
        char word[32];
        snprintf(word, sizeof word, "%sw%u", k > 0 ? " " : "",
                 world_below(&state, differs && k == 2 ? 1000 : 60));
        bm_buf_add_text(out, word, NULL);
    }
}

typedef enum form { JSONL, LINES, TSV, TSV_BY_NUMBER, FORMS } form;

static void put_file(scratch *dir, const char *name, form of, size_t first, size_t n)
{
    bm_buf out = {0};
    bm_buf_add_text(&out, "\xEF\xBB\xBF", NULL);
    if (of == TSV)
        bm_buf_add_text(&out, first == 0 ? "note\ttext\n" : "text\tnote\n", NULL);
    for (size_t i = first; i < first + n; i++) {
        if (of == JSONL)
            bm_buf_add_text(&out, i % 5 == 0 ? "\n{\"text\":\"" : "{\"note\":1,\"text\":\"", NULL);
        if (of == TSV_BY_NUMBER || (of == TSV && first == 0))
            bm_buf_add_text(&out, "x\t", NULL);
        put_words(&out, i);
        if (of == TSV && first != 0)
            bm_buf_add_text(&out, "\ty", NULL);
        if (of == JSONL)
            bm_buf_add_text(&out, "\"}", NULL);
        if (i + 1 < first + n)
            bm_buf_add_text(&out, i % 4 == 1 ? "\r\n" : "\n", NULL);
    }
    scratch_put(dir, name, out.data, out.len);
    bm_buf_reset(&out);
}

typedef struct world {
    scratch dir;
    char *paths[N_FILES];
    const char *fields[1];
    bm_input_options input;
    bm_text_options text;
    bm_input_set *set;
    bm_batch_source *source;
    bm_doc_table docs;
    bm_counts counts;
    bm_pool *pool;
} world;

static void open_world(world *w, form of)
{
    static const bm_format formats[] = {BM_FORMAT_JSONL, BM_FORMAT_LINES, BM_FORMAT_TSV,
                                        BM_FORMAT_TSV};
    memset(w, 0, sizeof *w);
    w->dir = scratch_open();
    for (size_t i = 0, first = 0; i < N_FILES; i++) {
        const char name[] = {(char)('a' + i), '\0'};
        const size_t n = i < 2 ? N_LINES : N_SMALL;
        put_file(&w->dir, name, of, first, n);
        w->paths[i] = strdup(scratch_at(&w->dir, name));
        first += n;
    }
    w->fields[0] = "2";
    w->input = (bm_input_options){.paths = (const char *const *)w->paths,
                                  .n_paths = N_FILES,
                                  .format = formats[of],
                                  .on_error = BM_ON_ERROR_SKIP,
                                  .max_doc_bytes = LONGEST,
                                  .max_errors = UINT64_MAX};
    if (of == TSV_BY_NUMBER) {
        w->input.text_fields = w->fields;
        w->input.n_text_fields = 1;
    }
    w->text = (bm_text_options){.normalize = BM_NORM_LOWER, .shingle_k = 2};
    cr_assert_eq(bm_input_set_open(&w->input, NULL, 0, NULL, &w->set, NULL), BM_OK);
    cr_assert_eq(bm_source_records.open(w->set, &w->source, NULL), BM_OK);
    cr_assert(w->source->reads_again);
    cr_assert_eq(bm_pool_open(3, &w->pool, NULL), BM_OK);
}

static void close_world(world *w)
{
    bm_doc_table_reset(&w->docs);
    bm_pool_close(w->pool);
    bm_batch_source_close(w->source);
    bm_input_set_close(w->set);
    for (size_t i = 0; i < N_FILES; i++)
        free(w->paths[i]);
    scratch_close(&w->dir);
}

/* Reads all documents into the corpus. */
static void fill(world *w, bm_corpus_cfg *cfg, uint32_t threads, uint32_t batch_docs,
                 bm_corpus *corpus)
{
    const bm_callbacks none = {0};
    bm_error err = {0};
    bm_meter meter;
    bm_doc_table_reset(&w->docs);
    w->docs = (bm_doc_table){0};
    w->counts = (bm_counts){0};
    cfg->docs = &w->docs;
    bm_corpus_init(corpus, cfg);
    bm_meter_init(&meter, &none);
    bm_ingest_cfg ingest = {.source = w->source,
                            .input = &w->input,
                            .text = &w->text,
                            .threads = threads,
                            .batch_docs = batch_docs,
                            .meter = &meter,
                            .docs = &w->docs,
                            .counts = &w->counts,
                            .sink = bm_corpus_sink(corpus),
                            .early = bm_corpus_early(corpus)};
    cr_assert_eq(bm_ingest_run(&ingest, &err), BM_OK, "%s:%llu: %s", err.file,
                 (unsigned long long)err.line, err.message);
    cr_assert_eq(bm_corpus_end_adding(corpus, NULL), BM_OK);
    bm_meter_reset(&meter);
}

static bm_corpus_cfg kept(void)
{
    return (bm_corpus_cfg){.hashes = true, .find_identical = true};
}

static bm_corpus_cfg again(const world *w)
{
    bm_corpus_cfg cfg = kept();
    cfg.again = (bm_set_recipe){w->source, &w->text, NULL};
    cfg.never_kept = true;
    return cfg;
}

static void draw_pairs(const bm_corpus *corpus, bm_pair *pairs)
{
    uint64_t state = 5;
    for (size_t k = 0; k < N_PAIRS;) {
        const uint32_t a = world_below(&state, corpus->n),
                       b = k % 2 == 0 ? a + 1 : world_below(&state, corpus->n);
        if (b >= corpus->n || a == b || corpus->sizes[a] == 0 || corpus->sizes[b] == 0)
            continue;
        pairs[k++] = (bm_pair){.a = a, .b = b};
    }
}

static bm_status compare(world *w, bm_corpus *corpus, bm_pair *pairs, size_t n, bm_error *err)
{
    const bm_comparison how = {.rule = {.verify = BM_VERIFY_EXACT}, .pool = w->pool};
    return bm_corpus_compare(corpus, &how, pairs, n, err);
}

Test(corpus_again, sets_that_are_made_again_are_those_that_were_kept)
{
    static const struct {
        uint32_t threads, batch_docs;
        uint64_t arena;  /* 0: no limit */
        uint64_t memory; /* 0: no limit; with one, long documents are stored */
    } cases[] = {{1, 0, 0, 0}, {3, 0, 0, 0}, {3, 7, 1 << 16, 1 << 28}, {1, 0, 2000, 0}};
    bm_pair *right = calloc(N_PAIRS, sizeof *right), *got = calloc(N_PAIRS, sizeof *got);
    for (form of = JSONL; of < FORMS; of++) {
        world w;
        bm_corpus corpus;
        bm_corpus_cfg cfg = kept();
        open_world(&w, of);
        fill(&w, &cfg, 1, 0, &corpus);
        cr_assert_gt(corpus.n, 2 * N_LINES - 2 * N_LINES / 30, "of form %d", of);
        cr_assert_gt(w.counts.skipped, 20);
        cr_assert_gt(corpus.n_identical, 20);
        draw_pairs(&corpus, right);
        memcpy(got, right, N_PAIRS * sizeof *got);
        cr_assert_eq(compare(&w, &corpus, right, N_PAIRS, NULL), BM_OK);
        bm_corpus_reset(&corpus);
        for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
            bm_error err = {0};
            cfg = again(&w);
            cfg.budget.arena = cases[c].arena;
            cfg.memory = cases[c].memory;
            cfg.temp_dir = w.dir.root;
            fill(&w, &cfg, cases[c].threads, cases[c].batch_docs, &corpus);
            cr_assert_eq(corpus.sets.state, BM_SETS_AGAIN);
            cr_assert_null(corpus.sets.column.data, "nothing is kept");
            cr_assert_eq(corpus.sets.n_stored > 20, cases[c].memory != 0);
            cr_assert_eq(compare(&w, &corpus, got, N_PAIRS, &err), BM_OK, "%s:%llu: %s", err.file,
                         (unsigned long long)err.line, err.message);
            for (size_t k = 0; k < N_PAIRS; k++)
                cr_assert_eq(got[k].similarity, right[k].similarity, "form %d, case %zu: %u, %u",
                             of, c, got[k].a, got[k].b);
            bm_corpus_reset(&corpus);
        }
        close_world(&w);
    }
    free(right);
    free(got);
}

/* Writes the texts to the first n files of a world, reads all documents and compares them. */
static void check_files(const bm_buf *texts, size_t n, uint32_t batch_docs)
{
    world w;
    bm_corpus corpus;
    bm_pair *pairs = calloc(N_PAIRS, sizeof *pairs);
    bm_error err = {0};
    open_world(&w, LINES);
    for (size_t i = 0; i < n; i++)
        scratch_put(&w.dir, (const char[]){(char)('a' + i), '\0'}, texts[i].data, texts[i].len);
    bm_batch_source_close(w.source);
    bm_input_set_close(w.set);
    cr_assert_eq(bm_input_set_open(&w.input, NULL, 0, NULL, &w.set, NULL), BM_OK);
    cr_assert_eq(bm_source_records.open(w.set, &w.source, NULL), BM_OK);
    bm_corpus_cfg cfg = again(&w);
    fill(&w, &cfg, 3, batch_docs, &corpus);
    draw_pairs(&corpus, pairs);
    cr_assert_eq(compare(&w, &corpus, pairs, N_PAIRS, &err), BM_OK, "%s:%llu: %s", err.file,
                 (unsigned long long)err.line, err.message);
    bm_corpus_reset(&corpus);
    free(pairs);
    close_world(&w);
}

static void add_line(bm_buf *out, size_t i, size_t times)
{
    char line[64];
    snprintf(line, sizeof line, "one line %zu %zu", i % 100, i % 7);
    for (size_t k = 0; k < times; k++)
        bm_buf_add_text(out, line, NULL);
    bm_buf_add_text(out, "\n", NULL);
}

Test(corpus_again, places_are_right_behind_a_range_that_was_dropped)
{
    bm_buf out = {0};
    for (size_t i = 0; i < 60000; i++) /* many more lines than a batch holds */
        add_line(&out, i, i < 1500 ? 150 : 1);
    check_files(&out, 1, 600);
    bm_buf_reset(&out);
}

Test(corpus_again, places_are_right_in_small_files)
{
    bm_buf out[N_FILES] = {{0}};
    for (size_t i = 0; i < N_FILES * N_SMALL; i++)
        add_line(&out[i % N_FILES], i, 1);
    check_files(out, N_FILES, 0);
    for (size_t i = 0; i < N_FILES; i++)
        bm_buf_reset(&out[i]);
}

/* The offset in its file of some byte of a document's text. */
static long byte_of(const bm_corpus *corpus, size_t doc)
{
    return (long)corpus->sets.texts[doc] + 22;
}

Test(corpus_again, a_record_that_changed_since_it_was_read_is_named)
{
    static const char *const changes[] = {"QQ", "\"}", "\n\n"};
    for (size_t c = 0; c <= sizeof changes / sizeof changes[0]; c++) {
        world w;
        bm_corpus corpus;
        open_world(&w, JSONL);
        bm_corpus_cfg cfg = again(&w);
        fill(&w, &cfg, 3, 0, &corpus);
        size_t doc = 3001;
        while (corpus.sizes[doc] < 5 || corpus.sizes[doc + 1] < 5 || corpus.rep[doc] != doc ||
               w.docs.rows[doc].file != 1)
            doc++;
        bm_pair pair = {.a = (uint32_t)doc, .b = (uint32_t)doc + 1};
        bm_error err = {0};
        if (c < sizeof changes / sizeof changes[0]) {
            FILE *file = fopen(w.paths[1], "r+b");
            cr_assert_not_null(file);
            cr_assert_eq(fseek(file, byte_of(&corpus, doc), SEEK_SET), 0);
            cr_assert_eq(fwrite(changes[c], 1, 2, file), 2);
            cr_assert_eq(fclose(file), 0);
        } else {
            cr_assert_eq(truncate(w.paths[1], byte_of(&corpus, doc)), 0);
        }
        cr_assert_eq(compare(&w, &corpus, &pair, 1, &err), BM_ERR_INPUT);
        cr_assert_str_eq(err.file, w.paths[1]);
        cr_assert_eq(err.line, w.docs.rows[doc].line);
        cr_assert_str_eq(err.message, "the file changed while the job read it");
        bm_corpus_reset(&corpus);
        close_world(&w);
    }
}

Test(corpus_again, a_file_that_is_gone_is_named)
{
    world w;
    bm_corpus corpus;
    open_world(&w, LINES);
    bm_corpus_cfg cfg = again(&w);
    fill(&w, &cfg, 1, 0, &corpus);
    cr_assert_eq(unlink(w.paths[0]), 0);
    bm_error err = {0};
    bm_pair pair = {.a = 0, .b = 1};
    cr_assert_eq(compare(&w, &corpus, &pair, 1, &err), BM_ERR_IO);
    cr_assert_str_eq(err.file, w.paths[0]);
    bm_corpus_reset(&corpus);
    close_world(&w);
}

Test(corpus_again, inputs_that_cannot_be_read_by_place_are_not_read_again)
{
    world w;
    open_world(&w, JSONL);
    w.set->sources[1].compression = BM_COMPRESSION_GZ;
    cr_assert_not(bm_input_set_reads_again(w.set));
    w.set->sources[1].compression = BM_COMPRESSION_NONE;
    cr_assert(bm_input_set_reads_again(w.set));
    w.set->format = BM_FORMAT_CSV;
    cr_assert_not(bm_input_set_reads_again(w.set), "rows in quotes are not whole lines");
    w.set->format = BM_FORMAT_JSONL;
    close_world(&w);
}
