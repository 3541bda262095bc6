/* SPDX-License-Identifier: Apache-2.0 */
/* test_checkpoint_documents.c -- a corpus that is interrupted and resumed, any number of times,
 * equals an uninterrupted one. The model is the documents as they were drawn. */
#include <fcntl.h>
#include "job/checkpoint_state.h"

#include "tests/unit/corpus/corpus_world.h"
#include "tests/world/world_calls.h"

#include <bandmill/job.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "corpus/corpus.h"
#include "input/input_set.h"
#include "spill/spill_saved.h"

typedef struct job {
    world *w;
    bm_corpus_cfg cfg;
    bm_corpus corpus;
    bm_doc_table docs;
    bm_counts counts;
    bm_input_set *inputs;
    const char *paths[1];
    bm_spill_file *file; /* the saved documents */
    uint64_t bytes, records;
    uint64_t sets_bytes, sets_records;
} job;

static bm_checkpoint_documents what(job *j)
{
    return (bm_checkpoint_documents){
        .docs = &j->docs, .counts = &j->counts, .corpus = &j->corpus, .inputs = j->inputs};
}

/* The memory limit is for the corpus alone: the table of documents is not counted. */
static void open_job(world *w, const bm_corpus_cfg *cfg, job *j)
{
    bm_sign_options options;
    bm_sign_options_init(&options);
    memset(j, 0, sizeof *j);
    j->w = w;
    j->cfg = *cfg;
    bm_corpus_init(&j->corpus, cfg);
    scratch_put_text(&w->temp, "input.jsonl", "{}\n");
    j->paths[0] = scratch_at(&w->temp, "input.jsonl");
    options.input.paths = j->paths;
    options.input.n_paths = 1;
    cr_assert_eq(bm_input_set_open(&options.input, NULL, 0, NULL, &j->inputs, NULL), BM_OK);
}

static void leave_job(job *j)
{
    bm_spill_close(j->file);
    bm_corpus_reset(&j->corpus);
    bm_doc_table_reset(&j->docs);
    bm_input_set_close(j->inputs);
}

static void add(job *j, uint32_t until)
{
    for (uint32_t i = (uint32_t)j->docs.n; i < until; i++) {
        char id[256];
        int len = snprintf(id, sizeof id, "id\t%u", i);
        bm_doc_row row = {
            .line = i + 1, .text_bytes = i * 3u, .text_hash = i * 5u, .n_shingles = j->w->sizes[i]};
        const bm_doc_id hashed = {{id, (size_t)len}, XXH3_64bits(id, (size_t)len)};
        cr_assert_eq(bm_doc_table_add(&j->docs, &row, hashed, "f", NULL), BM_OK);
        if (i % 1000 == 999) {
            bm_skipped skipped = {.line = i, .reason = bm_strdup(id)};
            cr_assert_eq(bm_doc_table_skip(&j->docs, &skipped, NULL), BM_OK);
            j->counts.skipped++;
        }
    }
    for (uint32_t at = (uint32_t)j->corpus.n; at < until;) {
        uint32_t n = until - at < 250 ? until - at : 250;
        cr_assert_eq(add_batch(j->w, &j->corpus, at, n, NULL), BM_OK);
        at += n;
    }
    j->counts.documents = until;
}

static void save(job *j, size_t first, size_t first_skipped, bool complete)
{
    bm_checkpoint_documents saved = what(j);
    bm_error err = {0};
    saved.complete = complete;
    cr_assert(bm_corpus_can_save(&j->corpus));
    world_ok(bm_corpus_save_sets(&j->corpus, scratch_at(&j->w->temp, "sets"), &err), &err);
    if (j->file == NULL) {
        cr_assert_eq(bm_spill_open(j->w->temp.root, BM_SPILL_ROWS, 4096, &j->file, NULL), BM_OK);
        cr_assert_eq(
            bm_spill_save_in(j->file, AT_FDCWD, scratch_at(&j->w->temp, "documents"), NULL), BM_OK);
    }
    cr_assert_eq(bm_checkpoint_documents_save(&saved, first, first_skipped, j->file, NULL), BM_OK);
    j->bytes = bm_spill_bytes(j->file);
    j->records = bm_spill_records(j->file);
    j->sets_bytes = j->corpus.sets.saved.bytes;
    j->sets_records = j->corpus.sets.saved.records;
}

/* Resumes as another process would, from the numbers of the journal and the files alone. */
static bm_status load(world *w, const job *before, job *j, bm_error *err)
{
    open_job(w, &before->cfg, j);
    bm_checkpoint_documents saved = what(j);
    bm_status status =
        bm_spill_reopen_in(AT_FDCWD,
                           &(bm_spill_saved){scratch_at(&w->temp, "documents"), BM_SPILL_ROWS,
                                             before->bytes, before->records},
                           4096, &j->file, err);
    if (status == BM_OK)
        status = bm_corpus_restore_sets(&j->corpus, scratch_at(&w->temp, "sets"),
                                        before->sets_bytes, before->sets_records, err);
    return status == BM_OK ? bm_checkpoint_documents_load(&saved, j->file, err) : status;
}

static void expect_documents(const job *j)
{
    size_t skipped = 0;
    cr_assert(j->docs.n == N && j->corpus.n == N && j->counts.documents == N);
    for (size_t i = 0; i < N; i++) {
        char id[256];
        int len = snprintf(id, sizeof id, "id\t%zu", i);
        bm_str found = bm_doc_table_id(&j->docs, i);
        cr_assert(found.len == (size_t)len && memcmp(found.data, id, found.len) == 0);
        cr_assert(j->docs.rows[i].line == i + 1 && j->docs.rows[i].text_bytes == i * 3);
        cr_assert_eq(j->corpus.sizes[i], j->w->sizes[i]);
        cr_assert_eq(j->corpus.rep[i], j->w->sizes[i] > 0 ? j->w->identity[i] : i, "copy %zu", i);
        if (i % 1000 == 999)
            cr_assert_str_eq(j->docs.skipped[skipped++].reason, id);
    }
    cr_assert_eq(j->docs.n_skipped, skipped);
    cr_assert_eq(j->counts.skipped, skipped);
}

static double agreement(const world *w, uint32_t a, uint32_t b)
{
    uint32_t same = 0;
    for (uint32_t k = 0; k < PERMS; k++)
        same += w->words[a][k] == w->words[b][k];
    return (double)same / PERMS;
}

static void expect_similarities(job *j)
{
    bool words = j->cfg.words.uints > 0;
    bm_pair *pairs = some_pairs(j->w, 3000);
    cr_assert_eq(bm_corpus_compare(&j->corpus,
                                   &(bm_comparison){.rule = {.verify = words ? BM_VERIFY_SIGNATURE
                                                                             : BM_VERIFY_EXACT},
                                                    .pool = j->w->pool},
                                   pairs, 3000, NULL),
                 BM_OK);
    for (size_t k = 0; k < 3000; k++) {
        uint32_t a = pairs[k].a, b = pairs[k].b;
        cr_assert_eq(pairs[k].similarity, words ? agreement(j->w, a, b) : jaccard(j->w, a, b));
    }
    free(pairs);
}

/* The corpus may have keys or labels made from them. Two documents must have the same one in a band
 * exactly if the model's keys agree. */
static void expect_keys(job *j)
{
    bm_band_keyset keys;
    uint64_t state = 5;
    cr_assert_eq(bm_corpus_keyset(&j->corpus, j->w->pool, &keys, NULL), BM_OK);
    for (int k = 0; k < 20000; k++) {
        uint32_t a = (uint32_t)(random_next(&state) % N), b = (uint32_t)(random_next(&state) % N);
        if (k % 2 == 0)
            b = j->w->identity[a];
        if (j->corpus.skip[a] || j->corpus.skip[b])
            continue;
        for (uint32_t band = 0; band < BANDS; band++)
            cr_assert_eq(bm_band_keyset_at(&keys, band, a) == bm_band_keyset_at(&keys, band, b),
                         j->w->keys[a][band] == j->w->keys[b][band]);
    }
}

static void expect_whole(job *j)
{
    expect_documents(j);
    cr_assert_eq(bm_corpus_end_adding(&j->corpus, NULL), BM_OK);
    expect_similarities(j);
    expect_keys(j);
}

/* Three processes: each resumes where the one before stopped, saves twice, and adds documents that
 * it does not save. */
static void relay(const bm_corpus_cfg *cfg, world *w)
{
    job jobs[4];
    size_t saved = 0, skipped = 0;
    open_job(w, cfg, &jobs[0]);
    for (uint32_t p = 0; p < 3; p++) {
        job *j = &jobs[p];
        for (uint32_t piece = 1; piece <= 2; piece++) {
            add(j, p * 3000 + piece * 1234);
            save(j, saved, skipped, false);
            saved = j->docs.n;
            skipped = j->docs.n_skipped;
        }
        add(j, (uint32_t)saved + 77); /* lost */
        bm_error err = {0};
        uint64_t bytes = j->sets_bytes;
        leave_job(j);
        world_ok(load(w, j, &jobs[p + 1], &err), &err);
        cr_assert_eq(jobs[p + 1].docs.n, saved);
        cr_assert_eq(jobs[p + 1].corpus.sets.saved.bytes, bytes);
    }
    add(&jobs[3], N);
    expect_whole(&jobs[3]);
    leave_job(&jobs[3]);
}

Test(saved_docs, sets_in_memory_come_back_however_often_they_are_left)
{
    world *w = open_world(21);
    bm_corpus_cfg cfg = in_memory();
    cfg.temp_dir = w->temp.root;
    cfg.budget.arena = 100000;
    relay(&cfg, w);
    close_world(w);
}

Test(saved_docs, sets_and_keys_in_files_come_back)
{
    world *w = open_world(22);
    bm_corpus_cfg cfg = in_files(w, 50000);
    relay(&cfg, w);
    close_world(w);
}

Test(saved_docs, sets_that_move_to_a_file_between_two_saves_come_back)
{
    world *w = open_world(23);
    bm_corpus_cfg cfg = in_memory();
    job a, b;
    cfg.temp_dir = w->temp.root;
    cfg.budget.arena = 100000;
    cfg.memory = 1880000; /* reached in the middle (test_corpus_spill.c) */
    open_job(w, &cfg, &a);
    add(&a, 2000);
    save(&a, 0, 0, false);
    cr_assert_not(bm_corpus_sets_in_file(&a.corpus), "in memory");
    add(&a, 8900);
    cr_assert(bm_corpus_sets_in_file(&a.corpus), "in a file");
    save(&a, 2000, 2, false);
    leave_job(&a);
    cr_assert_eq(load(w, &a, &b, NULL), BM_OK);
    add(&b, N);
    expect_whole(&b);
    leave_job(&b);
    close_world(w);
}

Test(saved_docs, words_come_back)
{
    world *w = open_world(24);
    for (int files = 0; files < 2; files++) {
        bm_corpus_cfg cfg = files ? in_files(w, 50000) : in_memory();
        cfg.temp_dir = w->temp.root;
        cfg.budget.arena = 50000;
        cfg.hashes = false;
        cfg.words = (bm_word_rows){PERMS, 4};
        relay(&cfg, w);
    }
    close_world(w);
}

Test(saved_docs, documents_that_are_all_read_come_back_without_their_content_hashes)
{
    world *w = open_world(25);
    bm_corpus_cfg cfg = in_memory();
    job a, b;
    cfg.temp_dir = w->temp.root;
    cfg.budget.arena = 100000;
    open_job(w, &cfg, &a);
    add(&a, N);
    bm_source *source = bm_input_set_source(a.inputs, 0);
    source->digest = (bm_hash128){77, 88};
    source->bytes_read = 99;
    cr_assert_eq(bm_corpus_end_adding(&a.corpus, NULL), BM_OK);
    cr_assert_null(a.corpus.copies.content);
    save(&a, 0, 0, true);
    leave_job(&a);
    cr_assert_eq(load(w, &a, &b, NULL), BM_OK);
    source = bm_input_set_source(b.inputs, 0);
    cr_assert(source->digest.lo == 77 && source->digest.hi == 88 && source->bytes_read == 99);
    expect_whole(&b);
    leave_job(&b);
    close_world(w);
}

static void flip(const char *path, uint64_t at)
{
    FILE *file = fopen(path, "r+b");
    cr_assert_not_null(file);
    cr_assert_eq(fseek(file, (long)at, SEEK_SET), 0);
    int byte = fgetc(file);
    cr_assert_eq(fseek(file, (long)at, SEEK_SET), 0);
    fputc(byte ^ 16, file);
    fclose(file);
}

Test(saved_docs, a_changed_byte_and_sets_of_other_documents_are_errors)
{
    world *w = open_world(26);
    bm_corpus_cfg cfg = in_memory();
    job a, b;
    bm_error err = {0};
    uint64_t state = 7;
    cfg.temp_dir = w->temp.root;
    open_job(w, &cfg, &a);
    add(&a, 3000);
    save(&a, 0, 0, false);
    leave_job(&a);
    for (int k = 0; k < 60; k++) {
        uint64_t at = random_next(&state) % a.bytes;
        flip(scratch_at(&w->temp, "documents"), at);
        cr_assert_eq(load(w, &a, &b, &err), BM_ERR_FORMAT, "byte %llu", (unsigned long long)at);
        leave_job(&b);
        flip(scratch_at(&w->temp, "documents"), at);
    }
    a.records--;
    cr_assert_eq(load(w, &a, &b, &err), BM_ERR_FORMAT, "another number of blocks");
    leave_job(&b);
    a.records++;
    a.cfg.bands--;
    cr_assert_eq(load(w, &a, &b, &err), BM_ERR_FORMAT, "other bands");
    leave_job(&b);
    a.cfg.bands++;
    /* One set fewer than documents: the records are whole, but do not match. */
    uint64_t last = w->sizes[2999] > 0 && w->identity[2999] == 2999 ? 2999 : 0;
    for (uint32_t i = 2999; last == 0; i--)
        last = w->sizes[i] > 0 && w->identity[i] == i ? i : 0;
    a.sets_bytes -= BM_SPILL_RECORD + w->sizes[last] * sizeof(uint64_t);
    a.sets_records--;
    world_refused(load(w, &a, &b, &err), BM_ERR_FORMAT, &err, "other documents");
    leave_job(&b);
    close_world(w);
}
