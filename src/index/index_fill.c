/* SPDX-License-Identifier: Apache-2.0 */
/* index_fill.c -- see the header.
 *
 * Tests: tests/cli/cases/index_add.sh, tests/cli/cases/index_build.sh,
 *        tests/cli/cases/index_follow.sh, tests/cli/cases/index_resume.sh,
 *        tests/cli/cases/index_signed.sh */
#include "index/index_fill.h"

#include <bandmill/option_names.h>
#include <bandmill/schemes.h>

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "index/index_feed.h"
#include "index/index_place.h"
#include "index/signed_lines.h"
#include "job/job_context.h"
#include "job/settings.h"
#include "model/option_words.h"
#include "model/scheme_facts.h"
#include "output/manifest.h"
#include "results/result_tables.h"

/* === index sources ===
 *
 * Takes the settings for reading documents from the manifests of signed directories.
 *
 * An add commits while it reads, so the bytes of all inputs are checked before it begins. The
 * inputs are therefore read twice. */

/* Find the inputs that were signed. Set settings->input and settings->recorded so that the job
 * reads these inputs as `sign` read them. The two settings borrow from *out. BM_ERR_USAGE: an
 * option contradicts how the documents were read, cut or signed, or an output is also an input.
 * BM_ERR_FORMAT: an input is missing, or its bytes have changed. */
static bm_status index_sources_resolve(bm_sign_dir *const *dirs, size_t n, bm_settings *settings,
                                       bm_index_sources *out, bm_error *err)
{
    bm_settings are = *settings;
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_job_context_check_outputs(settings, settings->input.paths,
                                            settings->input.n_paths, err));
    BM_TRY_OUT(bm_new(&out->manifests, n, err));
    for (size_t i = 0; i < n; i++)
        out->manifests[i] = bm_sign_dir_manifest(dirs[i]);
    out->recipe = (bm_recipe){.manifests = out->manifests, .n = n};
    BM_TRY_OUT(bm_recipe_apply(&out->recipe, &are, err));
    BM_TRY_OUT(bm_recorded_options_check(settings, &are, bm_sign_dir_path(dirs[0]), err));
    BM_TRY_OUT(bm_recipe_find(&out->recipe, &are, err));
    status = bm_recipe_check_files(&out->recipe, &are.callbacks, err);
out:
    if (status == BM_ERR_IO) { /* a file that a manifest names cannot be read */
        status = BM_ERR_FORMAT;
        if (err != NULL)
            err->status = status;
    }
    if (status != BM_OK)
        return status;
    bm_settings_keep_id_rule(&settings->input, &are.input);
    are.input.patterns = (bm_name_patterns){0};
    settings->input = are.input;
    settings->recorded = are.recorded;
    return BM_OK;
}

/* === index signed ===
 *
 * Adds the rows of directories written by `sign`. No text is read: words come from signatures.npy,
 * and band keys are computed from the words. The line and the input of a document are not
 * recorded. */

static bm_status open_dirs(const bm_settings *s, bm_index_signed *out, bm_error *err)
{
    BM_TRY(bm_new_zero(&out->dirs, s->input.n_paths, err));
    for (size_t i = 0; i < s->input.n_paths; i++) {
        BM_TRY(bm_sign_dir_open_beside(i > 0 ? out->dirs[0] : NULL, s->input.paths[i],
                                       s->memory / 4 + 1, &out->dirs[i], err));
        out->n = out->n_open = i + 1;
    }
    return BM_OK;
}

/* Return the name of the first setting for signing in which `a` and `b` differ, or NULL if they
 * sign alike. */
static const char *differs(const bm_settings *a, const bm_settings *b)
{
    if (a->sketch.scheme != b->sketch.scheme)
        return "scheme";
    if (strcmp(a->hash_name, b->hash_name) != 0)
        return "hash";
    if (a->sketch.seed != b->sketch.seed)
        return "seed";
    if (a->sketch.perms != b->sketch.perms && a->index.store == BM_INDEX_SIGNATURES)
        return "perms";
    return bm_text_differs(&a->text, &b->text);
}

static bm_status resolve_signed(const bm_index_signed *dirs, const char *path, bm_settings *s,
                                bm_error *err)
{
    const char *dir = bm_sign_dir_path(dirs->dirs[0]);
    bm_settings are = *s;
    BM_TRY(bm_recipe_signed(bm_sign_dir_manifest(dirs->dirs[0]), &are, err));
    if (path != NULL) {
        const char *field = differs(s, &are);
        char name[PATH_MAX], of_index[64], of_dir[64];
        if (field == NULL)
            return BM_OK;
        snprintf(name, sizeof name, "the index %s", path);
        bm_normalize_words(s->text.normalize, of_index, sizeof of_index);
        bm_normalize_words(are.text.normalize, of_dir, sizeof of_dir);
        return bm_provenance_differs(field, (bm_provenance_side){name, of_index},
                                     (bm_provenance_side){dir, of_dir}, err);
    }
    BM_TRY(bm_recorded_options_check(s, &are, dir, err));
    if (s->sketch.perms != 0 && s->sketch.perms != are.sketch.perms)
        return bm_fail_field(err, "perms", "%u permutations asked for, the signatures have %u",
                             s->sketch.perms, are.sketch.perms);
    s->text = are.text;
    s->sketch = are.sketch;
    s->hash_name = strcmp(are.hash_name, BM_HASH_GIVEN) == 0
                       ? BM_HASH_GIVEN
                       : bm_option_name(BM_OPTION_HASH, are.text.hash);
    return bm_settings_keep_stop_words(s, err);
}

bm_status bm_index_signed_open(bm_settings *settings, const char *path, bm_index_signed *out,
                               bm_error *err)
{
    bool is = false;
    *out = (bm_index_signed){0};
    bm_status status = bm_recipe_are_signed(settings, &is, err);
    if (status != BM_OK || !is)
        return status;
    if (settings->results.resume)
        return bm_fail_field(err, "resume", "`resume` continues documents, not signatures");
    BM_TRY_OUT(open_dirs(settings, out, err));
    BM_TRY_OUT(resolve_signed(out, path, settings, err));
    if (settings->index.store == BM_INDEX_SETS) { /* an index of sets reads the documents again */
        BM_TRY_OUT(index_sources_resolve(out->dirs, out->n_open, settings, &out->sources, err));
        out->n = 0;
    }
out:
    if (status != BM_OK)
        bm_index_signed_close(out);
    return status;
}

void bm_index_signed_close(bm_index_signed *dirs)
{
    for (size_t i = 0; i < dirs->n_open; i++)
        bm_sign_dir_close(dirs->dirs[i]);
    bm_recipe_reset(&dirs->sources.recipe);
    bm_free_all(dirs->sources.manifests, dirs->dirs);
    *dirs = (bm_index_signed){0};
}

/* --- documents --- */

/* Arrays with one entry for each row of a block; `ends` are the ends of the ids. */
typedef struct columns {
    size_t *ends;
    uint32_t *n_shingles;
    uint64_t *n_bytes;
    bm_hash128 *content;
} columns;

static void reset_columns(columns *c)
{
    bm_free_all(c->ends, c->n_shingles, c->n_bytes, c->content);
}

static bm_status make_columns(columns *c, size_t n, bm_error *err)
{
    *c = (columns){bm_alloc(n, sizeof *c->ends), bm_alloc(n, sizeof *c->n_shingles),
                   bm_alloc_zero(n, sizeof *c->n_bytes), bm_alloc_zero(n, sizeof *c->content)};
    if (c->ends != NULL && c->n_shingles != NULL && c->n_bytes != NULL && c->content != NULL)
        return BM_OK;
    reset_columns(c);
    return bm_fail_nomem(err, n * sizeof *c->content);
}

static void add_documents(bm_gathered *g, const columns *c, const bm_gather_shape *shape, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const size_t begin = i == 0 ? 0 : c->ends[i - 1];
        g->docs[i] = (bm_store_doc){.id = {NULL, c->ends[i] - begin},
                                    .content = c->content[i],
                                    .text_bytes = c->n_bytes[i],
                                    .input = BM_INDEX_NO_INPUT,
                                    .n_shingles = c->n_shingles[i]};
        for (uint32_t b = 0; c->n_shingles[i] == 0 && b < shape->bands; b++)
            g->keys[i * shape->bands + b] = BM_NO_BAND_KEY;
        g->input_bytes += shape->words * sizeof *g->words;
    }
    g->n = n;
}

/* Rows first … first+n-1 of a directory. */
typedef struct block {
    bm_sign_dir *dir;
    uint64_t first;
    size_t n;
} block;

/* Load a block of rows into an empty batch. */
static bm_status load(const block *b, const bm_index_adder *adder, bm_gathered *g, bm_error *err)
{
    const bm_gather_shape *shape = &adder->shape;
    bm_sign_dir *dir = b->dir;
    const uint64_t first = b->first;
    const size_t n = b->n;
    columns c;
    BM_TRY(make_columns(&c, n, err));
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_gathered_reserve(g, shape, n, err));
    BM_TRY_OUT(bm_sign_dir_rows(dir, first, n, g->words, err));
    BM_TRY_OUT(bm_sign_dir_n_shingles(dir, first, n, c.n_shingles, err));
    if (bm_sign_dir_has_bytes(dir))
        BM_TRY_OUT(bm_sign_dir_n_bytes(dir, first, n, c.n_bytes, err));
    if (bm_sign_dir_has_content(dir))
        BM_TRY_OUT(bm_sign_dir_content(dir, first, n, c.content, err));
    BM_TRY_OUT(bm_sign_dir_ids(dir, first, n, &(bm_sign_ids){&g->ids, c.ends}, err));
    BM_TRY_OUT(
        bm_signed_rows_keys(&(bm_signed_rows){adder->job->settings->sketch.scheme, g->words, n},
                            &adder->job->settings->plan, g->keys, err));
    add_documents(g, &c, shape, n);
out:
    reset_columns(&c);
    return status;
}

static bm_status add_block(const block *b, bm_index_adder *adder, bm_gathered *g, bm_error *err)
{
    const size_t n = b->n;
    bm_counts *counts = &adder->job->counts;
    bm_gathered_clear(g);
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_meter_check(&adder->job->meter, err));
    BM_TRY_OUT(load(b, adder, g, err));
    BM_TRY_OUT(bm_gathered_finish(g, &adder->shape, adder->job->pool, err));
    for (size_t i = 0; i < n; i++) {
        counts->empty += g->docs[i].n_shingles == 0;
        counts->shingles += g->docs[i].n_shingles;
    }
out:
    counts->documents += n;
    counts->records += n;
    return status == BM_OK ? bm_index_adder_add(adder, g, err) : status;
}

static bm_status count_short(const bm_sign_dir *dir, bm_counts *counts, bm_error *err)
{
    uint64_t n_short = 0, n_none = 0;
    BM_TRY(bm_sign_dir_short(dir, &n_short, &n_none, err));
    counts->short_docs += n_short;
    n_none += bm_sign_dir_unreadable(dir);
    counts->unreadable += bm_sign_dir_unreadable(dir);
    counts->empty -= n_none < counts->empty ? n_none : counts->empty;
    return BM_OK;
}

/* Return the type of the ids of all directories, or UNTYPED if the types differ. If `sign` wrote
 * row numbers as ids in all directories, the type is int64. */
static bm_id_kind ids_of(const bm_index_signed *dirs)
{
    bm_id_kind ids = bm_manifest_ids(bm_sign_dir_manifest(dirs->dirs[0]));
    for (size_t d = 1; d < dirs->n; d++)
        ids = bm_manifest_ids(bm_sign_dir_manifest(dirs->dirs[d])) == ids ? ids : BM_IDS_UNTYPED;
    return ids == BM_IDS_ROWS ? BM_IDS_INT64 : ids;
}

/* Pass all documents of the directories through the adder. */
static bm_status index_signed_run(const bm_index_signed *dirs, bm_index_adder *adder,
                                  uint64_t full_bytes, bm_error *err)
{
    const bm_gather_shape *shape = &adder->shape;
    const size_t row = sizeof(bm_store_doc) + shape->words * sizeof(uint32_t) +
                       shape->bands * sizeof(uint64_t) + 100;
    const size_t most = full_bytes / row < 256 ? 256 : (size_t)(full_bytes / row);
    bm_gathered g = {0};
    bm_status status = BM_OK;
    adder->given = ids_of(dirs);
    for (size_t d = 0; d < dirs->n; d++) {
        const uint64_t n_docs = bm_sign_dir_docs(dirs->dirs[d]);
        for (uint64_t at = 0; at < n_docs; at += most) {
            const block b = {dirs->dirs[d], at, n_docs - at < most ? (size_t)(n_docs - at) : most};
            BM_TRY_OUT(add_block(&b, adder, &g, err));
        }
        BM_TRY_OUT(count_short(dirs->dirs[d], &adder->job->counts, err));
    }
out:
    bm_gathered_reset(&g);
    return status;
}

/* === index follow ===
 *
 * `unique` with lines of standard input. One thread reads, signs, looks up and answers each line
 * before it waits for the next.
 *
 * Added documents wait in a batch, as in other adds, because writing each document by itself would
 * give the index one run per document. A document is compared with the index as it was before the
 * batch, and with the documents of the batch. The batch is written when it is full, and before each
 * commit. */

#define BATCH_DOCS  4096u
#define BATCH_BYTES ((uint64_t)8 << 20)

typedef struct follow {
    bm_index_adder *adder;
    bm_signed_lines lines;
    bm_gathered batch;
    void **owned; /* copies of the ids and sets of the batch's documents */
    size_t n_owned, cap_owned;
    uint64_t bytes;      /* bytes copied since the batch began */
    bool begun;          /* the adder has begun a batch */
    bool uncommitted;    /* documents were added since the last commit */
    bm_status committed; /* status of the last commit made while waiting for input */
    bm_error why;        /* the error of that commit */
} follow;

/* --- the batch --- */

/* Remove the last document of the batch, which is not added. */
static void drop_last(follow *f)
{
    const size_t n = f->adder->shape.sets ? 2 : 1;
    f->batch.n--;
    for (size_t i = 0; i < n; i++)
        bm_free(f->owned[--f->n_owned]);
}

static void clear_batch(follow *f)
{
    while (f->n_owned > 0)
        bm_free(f->owned[--f->n_owned]);
    bm_gathered_clear(&f->batch);
    f->bytes = 0;
    f->begun = false;
}

/* If a batch has begun, write its documents to the index, and clear the batch. */
static bm_status write_batch(follow *f, bm_error *err)
{
    bm_status status = BM_OK;
    if (f->begun)
        status = bm_index_adder_end_batch(f->adder, &f->batch, err);
    clear_batch(f);
    return status;
}

/* Copy `len` bytes; the copy is freed when the batch is cleared. NULL: out of memory. */
static void *own(follow *f, const void *data, size_t len)
{
    void *copy = bm_grow_array(&f->owned, &f->cap_owned, f->n_owned + 1, NULL) == BM_OK
                     ? bm_alloc(len, 1)
                     : NULL;
    if (copy != NULL && len > 0)
        memcpy(copy, data, len);
    if (copy != NULL)
        f->owned[f->n_owned++] = copy;
    return copy;
}

/* Append the document of `record`, which was just signed, to the batch. */
static bm_status append(follow *f, const bm_record *record, bm_error *err)
{
    const bm_gather_shape *shape = &f->adder->shape;
    const bm_doc_signer *s = &f->lines.signer;
    bm_gathered *g = &f->batch;
    const size_t n = g->n, n_shingles = s->n_shingles[0];
    BM_TRY(bm_gathered_reserve(g, shape, n + 1, err));
    const char *id = own(f, record->id.data, record->id.len);
    const uint64_t *set = NULL;
    if (id != NULL && shape->sets)
        set = own(f, n_shingles > 0 ? s->sets[0] : NULL, n_shingles * sizeof *set);
    if (id == NULL || (shape->sets && set == NULL))
        return bm_fail_nomem(err, n_shingles * sizeof *set);
    g->docs[n] = (bm_store_doc){.id = {id, record->id.len},
                                .content = s->batch.content[0],
                                .text_bytes = record->text_bytes,
                                .line = record->line,
                                .input = shape->first_input,
                                .n_shingles = s->n_shingles[0]};
    if (shape->sets)
        g->sets[n] = set;
    else
        memcpy(g->words + n * shape->words, s->words, shape->words * sizeof *g->words);
    memcpy(g->keys + n * shape->bands, s->keys, shape->bands * sizeof *g->keys);
    g->n++;
    g->input_bytes = record->text_bytes;
    f->bytes += n_shingles * sizeof *set + record->id.len;
    return BM_OK;
}

/* --- commits --- */

static bool is_due(const follow *f)
{
    return f->uncommitted && bm_index_adder_is_due(f->adder);
}

static bm_status commit(follow *f, bm_error *err)
{
    bm_status status = write_batch(f, err);
    f->uncommitted = false;
    return status == BM_OK ? bm_index_adder_finish(f->adder, err) : status;
}

/* Called repeatedly while waiting for a line: commit if a commit is due. Returns true to stop
 * waiting, because a commit failed or the job was cancelled. */
static bool on_wait(void *ctx)
{
    follow *f = ctx;
    if (f->committed == BM_OK && is_due(f))
        f->committed = commit(f, &f->why);
    return f->committed != BM_OK || bm_meter_check(&f->adder->job->meter, NULL) != BM_OK;
}

/* --- lines --- */

static bm_status add(void *ctx, const bm_record *record, bm_error *err)
{
    follow *f = ctx;
    if (!f->begun)
        BM_TRY(bm_index_adder_begin_batch(f->adder, &f->batch, BATCH_DOCS, err));
    f->begun = true;
    BM_TRY(append(f, record, err));
    const size_t last = f->batch.n - 1;
    bm_status status = bm_index_adder_add_one(f->adder, &f->batch, err);
    if (status == BM_OK && !f->adder->stays[last])
        drop_last(f);
    else
        f->uncommitted = true;
    return status;
}

static bm_status answer_lines(follow *f, bm_error *err)
{
    bm_rows *rows = &f->adder->rows;
    bm_line_got got = BM_LINE_RECORD;
    bm_status status = BM_OK;
    for (;;) {
        BM_TRY_OUT(bm_signed_lines_next(&f->lines, add, f, &got, err));
        if (got == BM_LINE_END)
            break;
        BM_TRY_OUT(bm_buf_add(&rows->buf, "\n", 1, err));
        BM_TRY_OUT(bm_rows_flush(rows, true, err));
        if ((f->batch.n >= BATCH_DOCS || f->bytes >= BATCH_BYTES))
            BM_TRY_OUT(write_batch(f, err));
        if (is_due(f))
            BM_TRY_OUT(commit(f, err));
    }
out:
    if (f->committed != BM_OK) { /* reading stopped because a commit failed */
        status = f->committed;
        if (err != NULL)
            *err = f->why;
    }
    return status == BM_OK ? write_batch(f, err) : status;
}

/* Pass the lines of standard input through the adder with `unique`, until the input ends or
 * something fails. Commits whenever a commit is due, even while no line comes, but not at the
 * end. */
static bm_status index_follow_run(bm_index_adder *adder, bm_error *err)
{
    follow f = {.adder = adder};
    const bm_callbacks callbacks = {.ctx = &f, .cancelled = on_wait};
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_signed_lines_open(adder->job, !adder->shape.sets, &callbacks, &f.lines, err));
    status = answer_lines(&f, err);
out:
    clear_batch(&f);
    bm_gathered_reset(&f.batch);
    bm_free(f.owned);
    bm_signed_lines_close(&f.lines);
    return status;
}

#define FULL_INPUT ((uint64_t)64 << 20)

/* Prepare the adder from the notes of the index. If the job resumes an add, also prepare the job to
 * go on after the records that were added. */
static bm_status read_index(const bm_index_fill *fill, bm_index_adder *a, bm_error *err)
{
    bm_store_view *view = NULL;
    bm_job_context *job = &fill->job->context;
    bm_index_add_place place = {0};
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_store_view_open(fill->store, &view, err));
    BM_TRY_OUT(bm_index_inputs_list(job, view, &a->input_names, &a->shape.first_input, err));
    if (fill->commits)
        BM_TRY_OUT(bm_index_add_note_open(job, view, &a->note, &place, err));
out:
    bm_store_view_close(view);
    if (status != BM_OK || !fill->commits)
        return status;
    bm_index_adder_begin_commits(a);
    job->wants_places = a->note.noted;
    job->skip_records = a->skipped_records = place.records;
    job->places.check = place.place;
    a->place = place;
    if (place.records > 0)
        bm_meter_log(&job->meter, BM_LOG_INFO,
                     "going on after %" PRIu64 " records that are in the index", place.records);
    return BM_OK;
}

static bm_status read_all(const bm_index_fill *fill, bm_index_adder *a, bm_error *err)
{
    bm_job_context *job = &fill->job->context;
    const bm_index_shares shares = bm_index_share(job->settings->memory);
    bm_index_feed feed = {.job = job,
                          .shape = a->shape,
                          .full_bytes = shares.gather,
                          .full_input = FULL_INPUT,
                          .due = fill->commits ? &a->commits.due : NULL,
                          .sink = bm_index_adder_add,
                          .sink_ctx = a};
    if (fill->dirs != NULL && fill->dirs->n > 0)
        return index_signed_run(fill->dirs, a, shares.gather, err);
    return job->settings->index.follow ? index_follow_run(a, err) : bm_index_feed_run(&feed, err);
}

static bm_status read_and_add(const bm_index_fill *fill, bm_index_adder *a, bm_error *err)
{
    bm_job_context *job = &fill->job->context;
    bm_job_context_stage(job, BM_STAGE_SIGN, "bytes");
    BM_TRY(read_all(fill, a, err));
    bm_job_context_stage(job, BM_STAGE_WRITE, "files");
    if (a->note.noted) /* all inputs were read */
        a->place = (bm_index_add_place){a->skipped_records + job->counts.records,
                                        job->places.last.known ? job->places.last : a->place.place};
    return bm_index_adder_finish(a, err);
}

bm_status bm_index_fill_run(const bm_index_fill *fill, bm_error *err)
{
    bm_job_context *job = &fill->job->context;
    const bm_settings *s = job->settings;
    const bm_index_shares shares = bm_index_share(s->memory);
    bm_index_adder a = {.job = job,
                        .store = fill->store,
                        .shape = {.sets = s->index.store == BM_INDEX_SETS,
                                  .bands = s->plan.bands,
                                  .words = bm_scheme_row_uints(s->sketch.scheme, s->sketch.perms),
                                  .word_bytes = bm_scheme_value_bytes(s->sketch.scheme)},
                        .search_memory = shares.search};
    bm_job_context_plan(job, BM_START_DOCUMENTS);
    bm_job_context_reserve(job, shares.store + 2 * shares.gather +
                                    (s->index.unique ? shares.search : 0));
    bm_status status = BM_OK;
    BM_TRY_OUT(read_index(fill, &a, err));
    a.rows.write = s->results.write;
    a.rows.write_ctx = s->results.write_ctx;
    if (s->index.unique && !s->index.follow && !s->results.json)
        BM_TRY_OUT(bm_buf_add_format(&a.rows.buf, err, "%s\n", bm_table_header(BM_TABLE_ANSWERS)));
    status = read_and_add(fill, &a, err);
out:
    job->counts.results.index = a.counts;
    job->counts.candidates = a.found.candidates + a.near.candidates;
    job->counts.verified = a.found.verified + a.near.verified;
    bm_index_adder_reset(&a);
    return status;
}

bm_status bm_index_count(bm_store *store, bm_job_context *job, bm_error *err)
{
    bm_store_view *view = NULL;
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_store_view_open(store, &view, err));
    job->counts.results.index.documents = bm_store_view_counts(view).documents;
out:
    bm_store_view_close(view);
    return status;
}
