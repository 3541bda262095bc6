/* SPDX-License-Identifier: Apache-2.0 */
/* against.c -- compares the documents of a job with known documents. Ranges of the job's corpus are
 * looked up in an index of the known documents.
 *
 * Tests: tests/cli/cases/against_exact.sh, tests/cli/cases/dedup_against.sh,
 *        tests/fault/against_calls.c, tests/reference/test_against.py */
#include "jobs/pairing_inputs.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "corpus/corpus.h"
#include "corpus/corpus_parts.h"
#include "index/index_of_documents.h"
#include "index/index_place.h"
#include "index/search.h"
#include "index/search_hits.h"
#include "job/job_context.h"
#include "job/recipe.h"
#include "job/settings.h"
#include "match/edges.h"
#include "model/field_rows.h"
#include "model/file_names.h"
#include "model/option_words.h"
#include "model/scheme_facts.h"
#include "output/manifest.h"
#include "results/listed_order.h"
#include "results/result_tables.h"
#include "sketch/scheme.h"
#include "store/store_write.h"

/* === against open ===
 *
 * Known documents are given in one of three forms:
 *
 *     an index       is used unchanged
 *     signatures     if exact similarities may be needed, the inputs of the signatures are found
 *     documents      an index is built from them */

void bm_against_close(bm_against *against)
{
    if (against == NULL)
        return;
    bm_store_view_close(against->view);
    bm_store_close(against->store);
    bm_recipe_reset(&against->recipe);
    bm_sign_dir_close(against->dir);
    bm_settings_reset(&against->known);
    bm_free(against);
}

/* --- the forms of known documents --- */

static void close_store(bm_against *against)
{
    bm_store_view_close(against->view);
    bm_store_close(against->store);
    against->view = NULL;
    against->store = NULL;
}

static bm_status open_index(bm_against *against, bm_settings *settings, bm_error *err)
{
    const char *path = settings->pairs.against[0];
    BM_TRY(bm_store_open(path, &(bm_store_cfg){.mode = BM_STORE_READ}, &against->store, err));
    BM_TRY(bm_store_view_open(against->store, &against->view, err));
    BM_TRY(bm_index_settings_load(bm_store_facts_of(against->store), path, &against->known, err));
    const bm_store_counts counts = bm_store_view_counts(against->view);
    snprintf(settings->pairs.against_state, sizeof settings->pairs.against_state,
             "%" PRIu64 " documents of %" PRIu64 " shingles and %" PRIu64
             " bytes, the next is number %" PRIu64,
             counts.documents, counts.shingles, counts.text_bytes, counts.next_number);
    return BM_OK;
}

static bm_status open_signatures(bm_against *against, bm_settings *settings, bm_error *err)
{
    const char *path = settings->pairs.against[0];
    bm_settings *known = &against->known;
    BM_TRY(bm_sign_dir_open(path, settings->memory, &against->dir, err));
    against->manifest = bm_sign_dir_manifest(against->dir);
    against->recipe = (bm_recipe){.manifests = &against->manifest, .n = 1};
    bm_status status = bm_recipe_apply(&against->recipe, known, err);
    /* the patterns apply only to the job's own inputs */
    known->input.patterns = (bm_name_patterns){0};
    known->sketch.perms = bm_sign_dir_perms(against->dir);
    known->plan.bands = settings->bands.bands;
    known->plan.rows = settings->bands.rows;
    if (status == BM_OK && known->text.weights != BM_WEIGHTS_NONE)
        status =
            bm_fail_field(err, "against",
                          "`against` %s has `weights` (which other documents do not share)", path);
    if (status == BM_OK)
        status = bm_recorded_options_check_index(settings, known, path, err);
    const char *digest = bm_manifest_output(against->manifest, BM_FILE_SIGNATURES);
    snprintf(settings->pairs.against_state, sizeof settings->pairs.against_state, "%s",
             digest != NULL ? digest : "");
    return status;
}

/* --- verification --- */

/* Refuse the verification that an option requested. For the message: `what` is the stored data of
 * the known documents, `verify` the possible verifications. */
static bm_status refuse_verify(const bm_settings *settings, const char *what, const char *verify,
                               bm_error *err)
{
    return bm_fail_field(err, "verify", "`verify` %s: `against` %s has %s (`verify` %s)",
                         bm_option_name(BM_OPTION_VERIFY, settings->pairs.verify),
                         settings->pairs.against[0], what, verify);
}

static bm_status resolve_index(const bm_against *against, bm_settings *settings, bm_error *err)
{
    const bool words = bm_store_facts_of(against->store)->kind == BM_STORE_SIGNATURES;
    const bm_verify verify = words ? BM_VERIFY_SIGNATURE : BM_VERIFY_EXACT;
    if (settings->pairs.verify == BM_VERIFY_CONTAINED)
        return words ? bm_fail_at(err, BM_ERR_FORMAT, settings->pairs.against[0], 0,
                                  "it has only the signatures of its documents (`verify` contained "
                                  "compares sets: `store` sets)")
                     : BM_OK;
    if (settings->pairs.verify != BM_VERIFY_AUTO && settings->pairs.verify != verify)
        return refuse_verify(settings,
                             words ? "only the signatures of its documents"
                                   : "the sets of its documents, and no signatures",
                             bm_option_name(BM_OPTION_VERIFY, verify), err);
    settings->pairs.verify = verify;
    return BM_OK;
}

/* Find the inputs from which sets can be made again, and check that no output is one of these
 * inputs. */
static bm_status find_inputs(bm_against *against, const bm_settings *settings, bm_error *err)
{
    bm_input_options *input = &against->known.input;
    bm_status status = bm_recipe_find(&against->recipe, &against->known, err);
    if (status == BM_ERR_IO) /* the manifest, not the user, names the missing file */
        status = BM_ERR_FORMAT;
    return status == BM_OK
               ? bm_job_context_check_outputs(settings, input->paths, input->n_paths, err)
               : status;
}

static bm_status resolve_signatures(bm_against *against, bm_settings *settings, bm_error *err)
{
    const bm_verify asked = settings->pairs.verify;
    bm_error why = {0};
    if (asked == BM_VERIFY_NONE)
        return refuse_verify(settings, "signatures, and inputs that they were made from",
                             "exact or signature", err);
    if (asked == BM_VERIFY_SIGNATURE)
        return BM_OK;
    against->may_fall_back = asked == BM_VERIFY_AUTO;
    bm_status status = find_inputs(against, settings, &why);
    against->changed = status == BM_ERR_FORMAT;
    if (status == BM_OK || bm_against_fall_back(against, settings, status, &why))
        return BM_OK;
    if (err != NULL) {
        *err = why;
        err->status = status;
    }
    return status;
}

bool bm_against_fall_back(bm_against *against, bm_settings *settings, bm_status status,
                          const bm_error *why)
{
    if (!against->may_fall_back || !against->changed || status != BM_ERR_FORMAT)
        return false;
    against->may_fall_back = false;
    against->why = *why;
    settings->pairs.verify = BM_VERIFY_SIGNATURE;
    return true;
}

void bm_against_log(const bm_against *against, bm_meter *meter)
{
    char why[2100];
    if (against->why.status == BM_OK)
        return;
    bm_error_format(&against->why, why, sizeof why);
    bm_meter_log(meter, BM_LOG_WARNING, "%s: known documents are compared by their signatures only",
                 why);
}

/* --- opening --- */

/* Determine the kind of the known documents. If a path is an index or a directory of signatures, it
 * must be the only path, without options for fields of known documents. */
static bm_status find_kind(const bm_settings *settings, bm_against_kind *out, bm_error *err)
{
    const bm_pair_settings *pairs = &settings->pairs;
    *out = BM_AGAINST_DOCUMENTS;
    for (size_t i = 0; i < pairs->n_against; i++) {
        const char *path = pairs->against[i];
        bool is_index = false, is_signatures = false;
        BM_TRY(bm_store_is(path, &is_index, err));
        if (!is_index)
            BM_TRY(bm_sign_dir_is(path, settings->memory, &is_signatures, err));
        if (!is_index && !is_signatures)
            continue;
        *out = is_index ? BM_AGAINST_INDEX : BM_AGAINST_SIGNATURES;
        const char *field = pairs->n_against_text_fields > 0  ? "against_text_fields"
                            : pairs->against_id_field != NULL ? "against_id_field"
                                                              : NULL;
        if (pairs->n_against > 1)
            return bm_fail_field(err, "against", "`against` %s beside others: %s", path,
                                 is_index ? "an index comes alone"
                                          : "a directory that sign wrote comes alone");
        return field == NULL
                   ? BM_OK
                   : bm_fail_field(err, field, "`%s`: `against` %s has no fields", field, path);
    }
    return BM_OK;
}

static bm_status resolve_kind(bm_against *against, bm_settings *settings, bm_error *err)
{
    switch (against->kind) {
    case BM_AGAINST_INDEX:
        BM_TRY(open_index(against, settings, err));
        BM_TRY(resolve_index(against, settings, err));
        settings->bands = against->known.bands;
        if (settings->pairs.against_threshold > 0)
            settings->bands.threshold = settings->pairs.against_threshold;
        return BM_OK;
    case BM_AGAINST_SIGNATURES:
        BM_TRY(open_signatures(against, settings, err));
        BM_TRY(resolve_signatures(against, settings, err));
        settings->bands = against->known.bands;
        return BM_OK;
    default:
        return settings->pairs.verify == BM_VERIFY_NONE
                   ? refuse_verify(settings, "documents", "exact or signature", err)
                   : BM_OK;
    }
}

bm_status bm_against_open(bm_settings *settings, bm_against **out, bm_error *err)
{
    bm_against *against = NULL;
    bm_status status = BM_OK;
    BM_TRY(bm_new_zero(&against, 1, err));
    BM_TRY_OUT(find_kind(settings, &against->kind, err));
    against->known = *settings;
    against->known.stop = (bm_stop_settings){0};
    against->known.keep = (bm_keep_rules){0};
    BM_TRY_OUT(resolve_kind(against, settings, err));
    *out = against;
    return BM_OK;
out:
    bm_against_close(against);
    return status;
}

static void log_of_known(void *ctx, bm_log_level level, const char *message)
{
    const bm_callbacks *callbacks = ctx;
    char words[1200];
    bm_settings_name_against(message, words, sizeof words);
    callbacks->log(callbacks->ctx, level, words);
}

static void progress_of_known(void *ctx, const bm_progress *progress)
{
    const bm_callbacks *callbacks = ctx;
    callbacks->progress(callbacks->ctx, progress);
}

static bool cancelled_of_known(void *ctx)
{
    const bm_callbacks *callbacks = ctx;
    return callbacks->cancelled(callbacks->ctx);
}

static bm_status index_known(bm_job_context *job, const bm_settings *settings,
                             bm_unnamed_index *index, bm_error *err)
{
    const bm_input_options input = bm_settings_input_of_against(settings);
    bm_callbacks callbacks = settings->callbacks;
    bm_settings known = *settings;
    bm_error why = {0};
    known.callbacks =
        (bm_callbacks){.ctx = &callbacks,
                       .progress = callbacks.progress != NULL ? progress_of_known : NULL,
                       .log = callbacks.log != NULL ? log_of_known : NULL,
                       .cancelled = callbacks.cancelled != NULL ? cancelled_of_known : NULL};
    const bm_status status = bm_index_of_documents(job, &known, &input, index, &why);
    if (status != BM_OK && err != NULL) {
        *err = why;
        bm_settings_name_against(why.message, err->message, sizeof err->message);
    }
    return status;
}

bm_status bm_against_read(bm_against *against, bm_job_context *job, bm_settings *settings,
                          bm_error *err)
{
    if (against->kind != BM_AGAINST_DOCUMENTS)
        return BM_OK;
    bm_unnamed_index index;
    close_store(against); /* an earlier run may have left the store open */
    BM_TRY(index_known(job, settings, &index, err));
    against->store = index.store;
    against->view = index.view;
    snprintf(settings->pairs.against_state, sizeof settings->pairs.against_state, "%s",
             index.state);
    return BM_OK;
}

void bm_against_resolve(const bm_against *against, bm_settings *settings)
{
    if (against->kind == BM_AGAINST_DOCUMENTS)
        return;
    settings->text = against->known.text;
    settings->sketch = against->known.sketch;
    settings->hash_name = against->known.hash_name;
}

bm_status bm_against_check(const bm_against *against, const bm_settings *settings, bm_error *err)
{
    const bm_settings *known = &against->known;
    if (against->kind == BM_AGAINST_DOCUMENTS)
        return BM_OK;
    const char *differs = bm_text_differs(&known->text, &settings->text);
    if (differs != NULL && strcmp(differs, bm_field_rows[BM_ROW_NORMALIZE].key) == 0) {
        char theirs[64], ours[64];
        bm_normalize_words(known->text.normalize, theirs, sizeof theirs);
        bm_normalize_words(settings->text.normalize, ours, sizeof ours);
        return bm_provenance_differs(differs, (bm_provenance_side){"the inputs", ours},
                                     (bm_provenance_side){settings->pairs.against[0], theirs}, err);
    }
    if (differs != NULL)
        differs = "text";
    else if (known->sketch.scheme != settings->sketch.scheme ||
             known->sketch.seed != settings->sketch.seed ||
             known->sketch.perms != settings->sketch.perms)
        differs = "signatures";
    else if (strcmp(known->hash_name, settings->hash_name) != 0)
        differs = "hash";
    return differs == NULL ? BM_OK
                           : bm_fail_at(err, BM_ERR_FORMAT, settings->pairs.against[0], 0,
                                        "the %s of its documents differ from those of the inputs "
                                        "(documents that were cut and signed alike)",
                                        differs);
}

/* === row marks ===
 *
 * A bit set of marked rows of a directory of signatures. */

typedef struct row_marks {
    uint64_t *bits; /* n_rows / 64 + 1 words; freed with bm_free */
    uint64_t n_rows;
    uint64_t n; /* number of marked rows */
} row_marks;

static bool row_is_marked(const row_marks *marks, uint64_t row)
{
    return (marks->bits[row / 64] >> row % 64 & 1) != 0;
}

static void row_mark(row_marks *marks, uint64_t row)
{
    const uint64_t bit = (uint64_t)1 << row % 64;
    marks->n += (marks->bits[row / 64] & bit) == 0;
    marks->bits[row / 64] |= bit;
}

/* === against sets ===
 *
 * Makes the sets of marked known documents again from the inputs that were signed. The ingest reads
 * these inputs with the options with which they were signed. Only inputs that contain marked
 * documents are opened, and each is read to its end. The sets of marked documents are stored in a
 * temporary file, in the order of the documents.
 *
 *     rows of the directory    input 0  |   input 1   | input 2 ...    sources.tsv has the number
 *                                                                      of rows of each input
 *     marked                    *    *  |             |    *
 *     read                     ----------             ----------       documents are in the order
 *                                                                      of the rows
 *
 * Only the digest proves that a file is the one that was signed, and it is known after the last
 * byte. If a document has another number of shingles than its row, the file is not the one that was
 * signed, and reading fails at once. */

typedef struct marked_sets {
    row_marks rows;
    /* For each marked row, the n_shingles hashes of its set, unsorted; bm_spill_close. */
    bm_spill_file *file;
} marked_sets;

/* The inputs that are read. Each array has part.n_inputs entries. */
typedef struct chosen {
    bm_recipe part;  /* the recipe of the chosen inputs; owns only its arrays */
    uint64_t *begin; /* first row of each input */
    uint64_t *end;   /* one past the last row of each input */
} chosen;

typedef struct reading {
    bm_against *against;
    const row_marks *rows;
    chosen inputs;
    size_t file;  /* index of the current input among the chosen inputs */
    uint64_t row; /* row of the next document */
    bm_spill_file *out;
} reading;

/* --- choosing the inputs --- */

static bool has_marked(const row_marks *rows, uint64_t begin, uint64_t end)
{
    for (uint64_t row = begin; row < end; row++) {
        if (row % 64 == 0)
            while (end - row >= 64 && rows->bits[row / 64] == 0)
                row += 64;
        if (row < end && row_is_marked(rows, row))
            return true;
    }
    return false;
}

static bm_status alloc_chosen(chosen *c, size_t n, bm_error *err)
{
    c->part.inputs = bm_alloc(n, sizeof *c->part.inputs);
    c->part.names = bm_alloc(n, sizeof *c->part.names);
    c->part.paths = bm_alloc(n, sizeof *c->part.paths);
    c->begin = bm_alloc(n, sizeof *c->begin);
    c->end = bm_alloc(n, sizeof *c->end);
    return c->part.inputs == NULL || c->part.names == NULL || c->part.paths == NULL ||
                   c->begin == NULL || c->end == NULL
               ? bm_fail_nomem(err, n * sizeof *c->begin)
               : BM_OK;
}

static bm_status choose(reading *r, bm_error *err)
{
    const bm_recipe *all = &r->against->recipe;
    chosen *c = &r->inputs;
    uint64_t row = 0;
    bm_source_column column = {.field = BM_SOURCES_DOCUMENTS};
    c->part = (bm_recipe){.manifests = all->manifests, .n = all->n};
    bm_status status = BM_OK;
    BM_TRY_OUT(alloc_chosen(c, all->n_inputs, err));
    BM_TRY_OUT(bm_new(&column.rows, all->n_inputs, err));
    BM_TRY_OUT(bm_source_table_read(r->against->manifest, &column, 1, err));
    if (column.sum != r->rows->n_rows)
        BM_TRY_OUT(bm_fail_at(err, BM_ERR_FORMAT, bm_sign_dir_path(r->against->dir), 0,
                              "%s counts %" PRIu64 " documents (the manifest %" PRIu64 ")",
                              BM_FILE_SOURCES, column.sum, r->rows->n_rows));
    for (size_t i = 0; i < all->n_inputs; i++) {
        const uint64_t begin = row, end = row + column.rows[i];
        const size_t n = c->part.n_inputs;
        row = end;
        if (!has_marked(r->rows, begin, end))
            continue;
        c->part.inputs[n] = all->inputs[i];
        c->part.names[n] = all->names[i];
        c->part.paths[n] = all->paths[i];
        c->begin[n] = begin;
        c->end[n] = end;
        c->part.n_inputs++;
    }
out:
    bm_free(column.rows);
    return status;
}

/* --- reading the documents of these inputs --- */

static bm_status other_documents(const reading *r, bm_error *err)
{
    return bm_fail_at(err, BM_ERR_FORMAT, r->inputs.part.names[r->file], 0,
                      "its documents are not those that %s was made from",
                      bm_sign_dir_path(r->against->dir));
}

/* The next document belongs to input `file`. Check that all documents of the inputs before `file`
 * were read, and make `file` the current input. */
static bm_status move_to(reading *r, size_t file, bm_error *err)
{
    for (; r->file < file; r->row = r->inputs.begin[++r->file])
        if (r->row != r->inputs.end[r->file])
            return other_documents(r, err);
    return BM_OK;
}

static bm_status add_set(reading *r, const bm_shingle_batch *shingles, size_t i, bm_error *err)
{
    const uint64_t begin = shingles->offsets[i], n = shingles->offsets[i + 1] - begin;
    uint32_t signed_n;
    BM_TRY(bm_sign_dir_n_shingles(r->against->dir, r->row, 1, &signed_n, err));
    if (n != signed_n)
        BM_TRY(other_documents(r, err));
    return bm_spill_add(r->out, shingles->hashes + begin, (size_t)n * sizeof *shingles->hashes,
                        NULL, err);
}

/* The `place` function of a sink. Failed batches are ignored. */
static bm_status on_batch(void *ctx, const bm_ingest_batch *batch, size_t first_row, bm_error *err)
{
    (void)first_row;
    reading *r = ctx;
    for (size_t i = 0; batch->status == BM_OK && i < batch->n_docs; i++) {
        BM_TRY(move_to(r, batch->docs[i].row.file, err));
        if (r->row == r->inputs.end[r->file])
            BM_TRY(other_documents(r, err));
        if (row_is_marked(r->rows, r->row))
            BM_TRY(add_set(r, &batch->shingles, i, err));
        r->row++;
    }
    return BM_OK;
}

/* --- the whole pass --- */

static bm_status read_inputs(reading *r, bm_job_context *context, bm_corpus *corpus, bm_error *err)
{
    const chosen *c = &r->inputs;
    const bm_ingest_request request = {
        .sink = {.place = on_batch, .ctx = r}, .reclaim = bm_corpus_reclaim, .reclaim_ctx = corpus};
    r->row = c->begin[0];
    BM_TRY(bm_recipe_ingest(&c->part, &r->against->known, context, &request, err));
    BM_TRY(move_to(r, c->part.n_inputs - 1, err));
    if (r->row != c->end[r->file])
        BM_TRY(other_documents(r, err));
    return BM_OK;
}

/* Make the sets of the marked documents. If memory is short, `corpus`, which contains the job's own
 * documents, is moved to files. If an input differs from the signed one, returns BM_ERR_FORMAT and
 * sets against->changed. */
static bm_status against_sets(bm_against *against, bm_job_context *context, bm_corpus *corpus,
                              marked_sets *sets, bm_error *err)
{
    reading r = {.against = against, .rows = &sets->rows};
    bm_status status = choose(&r, err);
    if (status == BM_OK)
        bm_meter_log(&context->meter, BM_LOG_DEBUG,
                     "%" PRIu64 " of %" PRIu64 " known documents are candidates: %zu of %zu inputs "
                     "of %s are read again",
                     r.rows->n, r.rows->n_rows, r.inputs.part.n_inputs, against->recipe.n_inputs,
                     bm_sign_dir_path(against->dir));
    if (status == BM_OK)
        status =
            bm_spill_open(context->settings->temp_dir, BM_SPILL_SETS, BM_SETS_BUFFER, &r.out, err);
    if (status == BM_OK && r.inputs.part.n_inputs > 0) {
        status = read_inputs(&r, context, corpus, err);
        against->changed = status == BM_ERR_FORMAT;
    }
    if (status == BM_OK)
        status = bm_spill_flush(r.out, err);
    sets->file = r.out;
    bm_free_all(r.inputs.part.inputs, r.inputs.part.names, r.inputs.part.paths, r.inputs.begin,
                r.inputs.end);
    return status;
}

/* === against signed ===
 *
 * Computes band keys from the rows of signatures.npy, and builds an index from the keys.
 *
 * For estimated similarities, one index is enough. It contains all known documents with the words
 * of their signatures. Exact similarities need sets, but only those of known documents that share a
 * band with a document of the job. So two indexes are built:
 *
 *     keys of all known documents -> first index, without words
 *     keys of the corpus, looked up in the first index -> marked documents
 *     inputs of the marked documents, read again -> sets -> second index, of marked documents only
 *
 * The second index contains every candidate, in the same order. So its results are those of an
 * index of all known documents. */

#define BLOCK_ROWS 4096u
#define SORT_GRAIN 16u
#define HIT_BYTES  16u /* memory per hit while a list of hits is sorted */
#define HITS_LEAST ((size_t)1 << 16)

/* --- blocks of rows --- */

/* The loaded rows of one block: all its rows, or only its marked rows. */
typedef struct block {
    bm_sign_dir *dir;
    const bm_band_plan *plan;
    bm_scheme scheme;
    size_t n;
    uint32_t *words, *n_shingles;
    uint64_t *keys;
    size_t *ends;
    bm_buf ids;
    bm_store_doc *docs;
    const uint64_t **sets; /* point into `hashes` */
    uint64_t *hashes;
    size_t cap_hashes;
} block;

static bm_status open_block(block *b, bm_sign_dir *dir, const bm_settings *s, bm_error *err)
{
    const bm_band_plan *plan = &s->plan;
    const size_t row = bm_scheme_row_uints(s->sketch.scheme, plan->perms);
    *b = (block){.dir = dir, .plan = plan, .scheme = s->sketch.scheme};
    b->words = bm_alloc(BLOCK_ROWS * row, sizeof *b->words);
    b->n_shingles = bm_alloc(BLOCK_ROWS, sizeof *b->n_shingles);
    b->keys = bm_alloc((size_t)BLOCK_ROWS * plan->bands, sizeof *b->keys);
    b->ends = bm_alloc(BLOCK_ROWS, sizeof *b->ends);
    b->docs = bm_alloc(BLOCK_ROWS, sizeof *b->docs);
    b->sets = bm_alloc(BLOCK_ROWS, sizeof *b->sets);
    return b->words == NULL || b->n_shingles == NULL || b->keys == NULL || b->ends == NULL ||
                   b->docs == NULL || b->sets == NULL
               ? bm_fail_nomem(err, BLOCK_ROWS * row * sizeof *b->words)
               : BM_OK;
}

static void reset_block(block *b)
{
    bm_free_all(b->words, b->n_shingles, b->keys, b->ends, b->docs, b->sets, b->hashes);
    bm_buf_reset(&b->ids);
}

/* Load the block of at most BLOCK_ROWS rows from row `at` on. With `marks`, only marked rows are
 * kept in the block. */
static bm_status load_block(block *b, uint64_t at, const row_marks *marks, bm_error *err)
{
    const uint64_t left = bm_sign_dir_docs(b->dir) - at;
    const size_t n = left < BLOCK_ROWS ? (size_t)left : BLOCK_ROWS, bands = b->plan->bands;
    b->n = b->ids.len = 0;
    bool any = marks == NULL;
    for (size_t i = 0; !any && i < n; i++)
        any = row_is_marked(marks, at + i);
    if (!any)
        return BM_OK;
    BM_TRY(bm_sign_dir_rows(b->dir, at, n, b->words, err));
    BM_TRY(bm_sign_dir_n_shingles(b->dir, at, n, b->n_shingles, err));
    BM_TRY(bm_sign_dir_ids(b->dir, at, n, &(bm_sign_ids){&b->ids, b->ends}, err));
    BM_TRY(bm_signed_rows_keys(&(bm_signed_rows){b->scheme, b->words, n}, b->plan, b->keys, err));
    for (size_t i = 0; i < n; i++) {
        const size_t begin = i == 0 ? 0 : b->ends[i - 1];
        if (marks != NULL && !row_is_marked(marks, at + i))
            continue;
        b->docs[b->n] = (bm_store_doc){.id = {b->ids.data + begin, b->ends[i] - begin},
                                       .n_shingles = b->n_shingles[i]};
        if (b->n < i)
            memcpy(b->keys + b->n * bands, b->keys + i * bands, bands * sizeof *b->keys);
        b->n++;
    }
    return BM_OK;
}

/* --- an index of all documents, with or without words --- */

static bm_status load_all(bm_against *against, bm_job_context *context, uint32_t words,
                          bm_error *err)
{
    const bm_settings *s = context->settings;
    const bm_store_facts facts = {
        .kind = BM_STORE_SIGNATURES, .bands = s->plan.bands, .words = words};
    const bm_store_cfg cfg = {
        .mode = BM_STORE_WRITE, .memory = context->budget.arena, .temp_dir = s->temp_dir};
    const uint64_t n_docs = bm_sign_dir_docs(against->dir);
    block b;
    uint32_t first;
    bm_status status = BM_OK;
    BM_TRY_OUT(open_block(&b, against->dir, s, err));
    BM_TRY_OUT(bm_store_create_unnamed(&facts, &cfg, &against->store, err));
    for (uint64_t at = 0; at < n_docs; at += BLOCK_ROWS) {
        BM_TRY_OUT(load_block(&b, at, NULL, err));
        const bm_store_batch batch = {
            .n = b.n, .docs = b.docs, .words = words > 0 ? b.words : NULL, .keys = b.keys};
        BM_TRY_OUT(bm_store_add(against->store, &batch, &first, err));
        BM_TRY_OUT(bm_meter_check(&context->meter, err));
    }
out:
    reset_block(&b);
    return status;
}

static bm_status end_store(bm_against *against, bm_error *err)
{
    BM_TRY(bm_store_commit(against->store, err));
    return bm_store_view_open(against->store, &against->view, err);
}

/* --- candidates --- */

typedef struct asking {
    uint64_t *keys;
    uint32_t *n_shingles;
    row_marks *marks;
} asking;

static void mark_found(const bm_search_hits *hits, size_t n, row_marks *marks, uint64_t *left)
{
    for (size_t i = 0; i < hits->n_lists; i++) {
        const bm_hit_list *list = &hits->lists[i];
        for (size_t k = 0; k < list->n; k++)
            row_mark(marks, list->list[k] >> 32);
        for (size_t c = 0; c < list->n_crowded; c++)
            for (size_t k = 0; k < list->crowded[c].n_numbers; k++)
                row_mark(marks, list->crowded[c].numbers[k]);
    }
    for (size_t i = 0; hits->left != NULL && i < n; i++)
        *left += hits->left[i];
}

/* Mark the known documents that share a band with any of the all->n documents. If a look-up finds
 * too many hits, it is repeated with half of the documents. Adds to *left an upper bound of the
 * number of pairs that are not compared. */
static bm_status ask(const bm_key_batch *all, row_marks *marks, uint64_t *left, bm_error *err)
{
    bm_status status = BM_OK;
    for (size_t at = 0, n = all->n; status == BM_OK && at < all->n;) {
        bm_key_batch batch = *all;
        bm_search_hits hits = {0};
        bool many = false;
        batch.n = n < all->n - at ? n : all->n - at;
        batch.alone = batch.n == 1;
        batch.keys = all->keys + at * all->bands;
        batch.n_shingles = all->n_shingles + at;
        status = bm_search_look_up(&batch, &hits, &many, err);
        if (status == BM_OK && many) {
            n = batch.n / 2;
            continue;
        }
        if (status == BM_OK)
            mark_found(&hits, batch.n, marks, left);
        bm_search_hits_reset(&hits);
        at += batch.n;
    }
    return status;
}

/* Look up all documents of the corpus, except copies and documents without shingles. */
static bm_status ask_rows(const bm_against *against, bm_job_context *context,
                          const bm_corpus *corpus, asking *a, bm_error *err)
{
    bm_key_batch batch = {.view = against->view,
                          .pool = context->pool,
                          .bands = corpus->cfg.bands,
                          .keys = a->keys,
                          .n_shingles = a->n_shingles,
                          .most = (size_t)(context->budget.arena / HIT_BYTES),
                          .first = BM_SEARCH_FIRST,
                          .keep_crowded = true};
    if (batch.most < HITS_LEAST)
        batch.most = HITS_LEAST;
    for (size_t row = 0; row < corpus->n; row += batch.n) {
        batch.n = corpus->n - row < BLOCK_ROWS ? corpus->n - row : BLOCK_ROWS;
        for (size_t i = 0; i < batch.n; i++)
            a->n_shingles[i] = corpus->skip[row + i] ? 0 : corpus->sizes[row + i];
        BM_TRY(bm_corpus_copy_keys(corpus, row, batch.n, a->keys, err));
        BM_TRY(ask(&batch, a->marks, &context->against.not_compared, err));
        BM_TRY(bm_meter_check(&context->meter, err));
    }
    return BM_OK;
}

static bm_status find_candidates(const bm_against *against, bm_job_context *context,
                                 const bm_corpus *corpus, row_marks *out, bm_error *err)
{
    const size_t n_keys = (size_t)BLOCK_ROWS * corpus->cfg.bands;
    asking a = {.keys = bm_alloc(n_keys, sizeof *a.keys),
                .n_shingles = bm_alloc(BLOCK_ROWS, sizeof *a.n_shingles),
                .marks = out};
    bm_status status = a.keys == NULL || a.n_shingles == NULL
                           ? bm_fail_nomem(err, n_keys * sizeof *a.keys)
                           : ask_rows(against, context, corpus, &a, err);
    bm_free_all(a.keys, a.n_shingles);
    return status;
}

/* --- an index of candidates with their sets --- */

typedef struct filling {
    bm_store *store;
    bm_pool *pool;
    const bm_spill_file *file;
    uint64_t place; /* offset of the next record in the file of sets */
    uint64_t most;  /* the most bytes of sets in memory */
} filling;

static bm_status sort_sets(void *ctx, uint32_t thread, size_t begin, size_t end, bm_error *err)
{
    (void)thread;
    const block *b = ctx;
    bm_sorter sorter = {0};
    bm_status status = BM_OK;
    for (size_t i = begin; status == BM_OK && i < end; i++)
        status = bm_sorter_sort(&sorter, b->hashes + (b->sets[i] - b->hashes),
                                b->docs[i].n_shingles, err);
    bm_sorter_reset(&sorter);
    return status;
}

/* Read the sets of the block's documents from `first` on, until they fill f->most bytes, but at
 * least one set. *n becomes the number of sets read. */
static bm_status read_sets(filling *f, block *b, size_t first, size_t *n, bm_error *err)
{
    uint64_t hashes = b->docs[first].n_shingles;
    for (*n = 1; first + *n < b->n; ++*n) {
        const uint64_t more = b->docs[first + *n].n_shingles;
        if ((hashes + more) * sizeof *b->hashes > f->most)
            break;
        hashes += more;
    }
    bm_status status = bm_grow_array(&b->hashes, &b->cap_hashes, (size_t)hashes, err);
    uint64_t *to = b->hashes;
    for (size_t i = first; status == BM_OK && i < first + *n; i++) {
        const size_t bytes = b->docs[i].n_shingles * sizeof *to;
        status = bm_spill_read(f->file, f->place, to, bytes, err);
        f->place += BM_SPILL_RECORD + bytes;
        b->sets[i] = to;
        to += b->docs[i].n_shingles;
    }
    return status;
}

static bm_status add_block(filling *f, block *b, bm_error *err)
{
    uint32_t number;
    for (size_t first = 0, n = 0; first < b->n; first += n) {
        BM_TRY(read_sets(f, b, first, &n, err));
        block part = *b;
        part.docs = b->docs + first;
        part.sets = b->sets + first;
        BM_TRY(bm_pool_for(f->pool, (bm_pool_split){n, SORT_GRAIN}, sort_sets, &part, err));
        const bm_store_batch batch = {
            .n = n, .docs = part.docs, .sets = part.sets, .keys = b->keys + first * b->plan->bands};
        BM_TRY(bm_store_add(f->store, &batch, &number, err));
    }
    return BM_OK;
}

static bm_status load_marked(bm_against *against, bm_job_context *context, const marked_sets *sets,
                             bm_error *err)
{
    const bm_settings *s = context->settings;
    const bm_store_facts facts = {.kind = BM_STORE_SETS, .bands = s->plan.bands};
    const bm_store_cfg cfg = {
        .mode = BM_STORE_WRITE, .memory = context->budget.arena / 2, .temp_dir = s->temp_dir};
    filling f = {.pool = context->pool,
                 .file = sets->file,
                 .place = BM_SPILL_HEADER,
                 .most = context->budget.arena / 4};
    block b;
    bm_status status = BM_OK;
    BM_TRY_OUT(open_block(&b, against->dir, s, err));
    BM_TRY_OUT(bm_store_create_unnamed(&facts, &cfg, &against->store, err));
    f.store = against->store;
    for (uint64_t at = 0; at < sets->rows.n_rows; at += BLOCK_ROWS) {
        BM_TRY_OUT(load_block(&b, at, &sets->rows, err));
        BM_TRY_OUT(add_block(&f, &b, err));
        BM_TRY_OUT(bm_meter_check(&context->meter, err));
    }
out:
    reset_block(&b);
    return status;
}

static bm_status load_exact(bm_against *against, bm_job_context *context, bm_corpus *corpus,
                            bm_error *err)
{
    marked_sets sets = {.rows = {.n_rows = bm_sign_dir_docs(against->dir)}};
    const size_t n_bits = (size_t)(sets.rows.n_rows / 64 + 1);
    bm_status status = BM_OK;
    BM_TRY_OUT(load_all(against, context, 0, err));
    BM_TRY_OUT(end_store(against, err));
    BM_TRY_OUT(bm_new_zero(&sets.rows.bits, n_bits, err));
    BM_TRY_OUT(find_candidates(against, context, corpus, &sets.rows, err));
    close_store(against);
    bm_job_context_stage(context, BM_STAGE_READ, "bytes");
    BM_TRY_OUT(against_sets(against, context, corpus, &sets, err));
    status = load_marked(against, context, &sets, err);
out:
    if (status != BM_OK)
        close_store(against);
    bm_spill_close(sets.file);
    bm_free(sets.rows.bits);
    return status;
}

/* If the known documents are a directory of signatures, build their index. If similarities are
 * exact, it contains only the candidates, with sets made again from the inputs; else all known
 * documents, with their words. Plan and verification must be resolved. Called before
 * bm_corpus_end_adding. */
static bm_status against_load(bm_against *against, bm_job_context *context, bm_corpus *corpus,
                              bm_error *err)
{
    const bm_settings *s = context->settings;
    if (against->dir == NULL)
        return BM_OK;
    close_store(against); /* an earlier run may have left the store open */
    bm_job_context_stage(context, BM_STAGE_LOAD, "documents");
    BM_TRY(bm_verify_reads_sets(s->pairs.verify)
               ? load_exact(against, context, corpus, err)
               : load_all(against, context, bm_scheme_row_uints(s->sketch.scheme, s->plan.perms),
                          err));
    return end_store(against, err);
}

/* The number of known documents. */
static uint64_t against_documents(const bm_against *against)
{
    if (against->dir != NULL)
        return bm_sign_dir_docs(against->dir);
    return bm_store_view_counts(against->view).documents;
}

#define RANGE_BYTES  ((uint64_t)32 << 20) /* most bytes of sets in a range */
#define SHARES_A_BIT 1e-300               /* a threshold that one shared shingle reaches */
#define LINK_BYTES   64u                  /* approximate memory per known document found */

/* --- finding --- */

typedef struct finding {
    bm_against *against;
    bm_job_context *context;
    bm_corpus *corpus;
    bm_known *known;
    bm_corpus_range range;
    bm_search_result result;
    /* With BM_VERIFY_CONTAINED, for each document of the job: does a known document contain all its
     * shingles? Otherwise NULL. */
    uint8_t *all_held;
    bm_share share;
} finding;

/* Of the known documents that share a band with document `doc`, find the one that shares the most
 * shingles. If that one shares as many as f->share requires, link `doc` to it. Set
 * f->all_held[doc]. */
static bm_status add_holder(finding *f, size_t i, uint32_t doc, bm_error *err)
{
    const bm_search_result *result = &f->result;
    const uint32_t n = f->corpus->sizes[doc], least = bm_share_least(f->share, n);
    bm_answer best = {0};
    uint32_t most = 0;
    for (uint64_t k = result->begin[i]; k < result->begin[i + 1]; k++) {
        const bm_answer *answer = &result->list[k];
        bm_store_doc known;
        BM_TRY(bm_store_view_doc(f->against->view, answer->number, &known, err));
        const uint32_t shared =
            (uint32_t)bm_jaccard_common(answer->similarity, n, known.n_shingles);
        if (shared < least || shared < most || (shared == most && answer->number > best.number))
            continue;
        best = *answer;
        most = shared;
    }
    f->all_held[doc] = most == n;
    return most == 0
               ? BM_OK
               : bm_known_add(f->known, (bm_known_link){best.number, doc}, best.similarity, err);
}

static bm_status add_answers(finding *f, size_t first, bm_error *err)
{
    const bm_search_result *result = &f->result;
    for (size_t i = 0; i < result->n; i++) {
        if (f->all_held != NULL)
            BM_TRY(add_holder(f, i, f->range.docs[first + i], err));
        for (uint64_t k = result->begin[i]; f->all_held == NULL && k < result->begin[i + 1]; k++) {
            const bm_known_link link = {result->list[k].number, f->range.docs[first + i]};
            BM_TRY(bm_known_add(f->known, link, result->list[k].similarity, err));
        }
    }
    return BM_OK;
}

static bm_status search_range(finding *f, const bm_search_cfg *cfg, bm_error *err)
{
    const bm_corpus_range *r = &f->range;
    const bm_store_facts *facts = cfg->facts;
    for (size_t at = 0; at < r->n; at += f->result.n) {
        const bm_search_batch batch = {
            .n = r->n - at,
            .keys = r->keys + at * facts->bands,
            .n_shingles = r->sizes + at,
            .sets = r->sets + at,
            .words = facts->kind == BM_STORE_SIGNATURES ? r->words + at * facts->words : NULL};
        BM_TRY(bm_search_run(cfg, &batch, &f->result, err));
        BM_TRY(add_answers(f, at, err));
        BM_TRY(bm_meter_check(&f->context->meter, err));
    }
    return BM_OK;
}

static bm_status search_all(finding *f, bm_error *err)
{
    const bm_settings *s = f->context->settings;
    const uint64_t arena = f->corpus->cfg.budget.arena;
    const bool contained = s->pairs.verify == BM_VERIFY_CONTAINED;
    const uint64_t most = arena == 0 || arena > 2 * RANGE_BYTES ? RANGE_BYTES : arena / 2;
    const bm_search_cfg cfg = {.word_bytes = bm_scheme_value_bytes(s->sketch.scheme),
                               .view = f->against->view,
                               .facts = bm_store_facts_of(f->against->store),
                               .pool = f->context->pool,
                               .threshold = contained ? SHARES_A_BIT : s->bands.threshold,
                               .memory = most,
                               .first = BM_SEARCH_FIRST,
                               .top = s->pairs.cluster == BM_CLUSTER_STAR ? 1 : 0,
                               .joins = s->pairs.cluster != BM_CLUSTER_STAR && !contained};
    bm_status status = BM_OK;
    for (;;) {
        BM_TRY_OUT(bm_corpus_range_next(f->corpus, most, f->context->pool, &f->range, err));
        BM_TRY_OUT(search_range(f, &cfg, err));
        BM_TRY_OUT(bm_corpus_check_matching(f->corpus, f->known->n_links * LINK_BYTES, err));
        bm_meter_progress(&f->context->meter, f->range.next, f->corpus->n, f->range.next);
    }
out:
    return status == BM_NOT_FOUND ? BM_OK : status;
}

/* Exclude documents from matching, unless pairs are written. If stars are made, exclude documents
 * for which a known document was found. With BM_VERIFY_CONTAINED, exclude only documents that a
 * known document contains completely: of all other documents, another document of the job may
 * contain a larger part. */
static void exclude_known(const finding *f)
{
    const bm_settings *s = f->context->settings;
    if ((f->all_held == NULL && s->pairs.cluster != BM_CLUSTER_STAR) || s->results.write_pairs)
        return;
    for (size_t i = 0; i < f->known->n; i++)
        if (f->all_held != NULL ? f->all_held[i] : f->known->best[i] != BM_NO_KNOWN)
            f->corpus->skip[i] = 1;
}

bm_status bm_against_find(bm_against *against, bm_job_context *context, bm_corpus *corpus,
                          bm_known *known, bm_error *err)
{
    finding f = {.against = against, .context = context, .corpus = corpus, .known = known};
    bm_status status = BM_OK;
    BM_TRY_OUT(against_load(against, context, corpus, err));
    bm_job_context_stage(context, BM_STAGE_KNOWN, "documents");
    BM_TRY_OUT(bm_known_init(known, corpus->n, err));
    if (context->settings->pairs.verify == BM_VERIFY_CONTAINED) {
        bm_share_of(context->settings->pairs.containment, &f.share);
        BM_TRY_OUT(bm_new_zero(&f.all_held, corpus->n, err));
    }
    BM_TRY_OUT(search_all(&f, err));
    BM_TRY_OUT(bm_known_end(f.known, err));
    for (size_t i = 0; i < f.known->n_links; i++) {
        bm_store_doc doc;
        BM_TRY_OUT(bm_store_view_doc(f.against->view, f.known->links[i].number, &doc, err));
        BM_TRY_OUT(bm_known_add_id(f.known, i, doc.id, doc.n_shingles, err));
    }
    exclude_known(&f);
out:
    context->against.candidates = f.result.candidates;
    context->against.verified = f.result.verified;
    context->against.found = known->n_links;
    if (against->view != NULL)
        context->against.ids = bm_store_view_counts(against->view).ids;
    /* if find_candidates ran, it has counted such pairs for all known documents */
    if (context->against.not_compared == 0)
        context->against.not_compared = f.result.not_compared;
    if (against->view != NULL)
        context->against.documents = against_documents(against);
    bm_free(f.all_held);
    bm_corpus_range_reset(&f.range);
    bm_search_result_reset(&f.result);
    return status;
}

/* --- chained documents --- */

/* Buffers for comparing a known document with a document of the job: their sets, or the words of
 * their signatures. */
typedef struct comparing {
    const bm_against *against;
    bm_set_reader reader; /* reads the corpus */
    bm_store_doc doc;
    uint32_t number; /* number of the known document in the buffer `known`; BM_NO_KNOWN: none */
    void *known, *own;
    size_t cap_known, cap_own;
} comparing;

static bm_status read_known(comparing *c, uint32_t number, bm_error *err)
{
    const bm_store_facts *facts = bm_store_facts_of(c->against->store);
    const bool words = facts->kind == BM_STORE_SIGNATURES;
    if (number == c->number)
        return BM_OK;
    c->number = BM_NO_KNOWN;
    BM_TRY(bm_store_view_doc(c->against->view, number, &c->doc, err));
    BM_TRY(bm_grow(&c->known, &c->cap_known, words ? facts->words : c->doc.n_shingles,
                   words ? sizeof(uint32_t) : sizeof(uint64_t), err));
    BM_TRY(words ? bm_store_doc_words(&c->doc, c->known, facts->words, err)
                 : bm_store_doc_set(&c->doc, c->known, err));
    c->number = number;
    return BM_OK;
}

static bm_status compare(comparing *c, uint32_t doc, double *similarity, bm_error *err)
{
    const bm_corpus *corpus = c->reader.corpus;
    const bm_word_rows words = corpus->cfg.words;
    const bm_similarity_rule rule =
        bm_search_rule(words.uints > 0 ? BM_STORE_SIGNATURES : BM_STORE_SETS, words, 0);
    const uint32_t rep = corpus->rep[doc], n = words.uints > 0 ? words.uints : corpus->sizes[rep];
    BM_TRY(bm_grow(&c->own, &c->cap_own, n, words.uints > 0 ? sizeof(uint32_t) : sizeof(uint64_t),
                   err));
    BM_TRY(bm_corpus_copy_set(&c->reader, rep, c->own, err));
    *similarity =
        bm_similarity(&rule, (bm_compared){c->own, n}, (bm_compared){c->known, c->doc.n_shingles});
    return BM_OK;
}

bm_status bm_against_compare(bm_against *against, const bm_match *match, bm_grouping *grouping,
                             bm_error *err)
{
    comparing c = {
        .against = against, .reader = {.corpus = match->settings.corpus}, .number = BM_NO_KNOWN};
    double similarity = 0;
    bm_status status = BM_OK;
    for (size_t i = 0; i < grouping->n; i++) {
        bm_grouping_leave(grouping, i);
        if (grouping->known[i] == BM_NO_KNOWN || !isnan(grouping->similarity[i]))
            continue;
        if (i % 1024 == 0)
            BM_TRY_OUT(bm_meter_check(match->settings.meter, err));
        BM_TRY_OUT(read_known(&c, grouping->known[i], err));
        BM_TRY_OUT(compare(&c, (uint32_t)i, &similarity, err));
        bm_grouping_compared(grouping, (uint32_t)i, similarity, match->settings.threshold);
    }
out:
    bm_set_reader_reset(&c.reader);
    bm_free_all(c.known, c.own);
    return status;
}
