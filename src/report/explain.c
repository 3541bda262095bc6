/* SPDX-License-Identifier: Apache-2.0 */
/* explain.c -- reads documents again and compares them: sets, longest run, pairs, groups.
 *
 * Tests: tests/cli/cases/explain.sh, tests/fault/explain_calls.c, tests/reference/test_groups.py,
 *        tests/reference/test_measure.py, tests/unit/jobs/test_job_explain.c */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/files.h"
#include "base/memory.h"
#include "inmem/finder.h"
#include "json/json_scan.h"
#include "lsh/two_sequences.h"
#include "model/file_names.h"
#include "model/ids.h"
#include "output/manifest.h"
#include "report/explainer.h"
#include "results/result_dir.h"
#include "sketch/scheme.h"
#include "text/unit_text.h"

/* === explain sets ===
 *
 * Runs the ingest of other jobs without signing. Its sink keeps the wanted documents.
 *
 * Everything is read even for few documents, because a numbered id depends on all earlier records,
 * and because only a whole read shows that an input is unchanged. Sizes are compared first, so that
 * most changed inputs are refused before anything is read. */

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "job/job_context.h"
#include "job/recipe.h"

#define TEXT_SHARE                                                                                 \
    64u /* a text may take 1/TEXT_SHARE of the memory, because each of its bytes may become a unit,
         * and a unit takes this many bytes */

typedef struct collector {
    const bm_doc_table *docs;
    const bm_id_set *wanted;
    uint64_t memory;
    bool weighted;
    bm_explain_sets *out;
    bm_job_context *context;
    bm_buf *texts; /* if not NULL: receives the texts of the wanted documents, instead of their
                    * sets */
    size_t n_texts;
    const char *only;            /* name of the only input to read; NULL: read all */
    bm_explain_record_fn record; /* if not NULL: called for every record; the members above are then
                                  * unused */
    void *record_ctx;
    const char *const **names; /* receives the names of the inputs; NULL: not wanted */
} collector;

/* Reserve memory for one more document with n_hashes hashes. Arrays grow by half at a time, so they
 * take at most 1.5 times the memory that is counted here. */
static bm_status reserve(const collector *k, size_t n_hashes, bm_error *err)
{
    bm_explain_sets *s = k->out;
    size_t cap = s->cap, have = s->n == 0 ? 0 : (size_t)s->offsets[s->n];
    const size_t each = sizeof *s->hashes + (k->weighted ? sizeof *s->weights : 0);
    uint64_t bytes = bm_doc_table_bytes(k->docs) + (have + n_hashes) * each +
                     (s->n + 1) * (sizeof *s->offsets + sizeof *s->contents + sizeof *s->numbers);
    if (k->memory != 0 && bytes > k->memory)
        return bm_fail(err, BM_ERR_NOMEM,
                       "the shingles of the group's documents do not fit into %" PRIu64
                       " bytes (`memory`; dedup `pairs` writes the pairs, which need less)",
                       k->memory);
    BM_TRY(bm_grow_array(&s->hashes, &s->cap_hashes, have + n_hashes, err));
    BM_TRY(bm_grow_array(&s->weights, &s->cap_weights, k->weighted ? have + n_hashes + 1 : 0, err));
    BM_TRY(bm_grow_array(&s->numbers, &cap, s->n + 1, err));
    if (cap == s->cap)
        return BM_OK;
    uint64_t *offsets = bm_resize(s->offsets, cap + 1, sizeof *offsets);
    s->offsets = offsets != NULL ? offsets : s->offsets;
    bm_hash128 *contents = bm_resize(s->contents, cap, sizeof *contents);
    s->contents = contents != NULL ? contents : s->contents;
    if (offsets == NULL || contents == NULL)
        return bm_fail_nomem(err, cap * sizeof *contents);
    s->cap = cap;
    return BM_OK;
}

static bm_status add_wanted(void *ctx, const bm_ingest_batch *batch, size_t first_row,
                            bm_error *err)
{
    collector *k = ctx;
    bm_explain_sets *s = k->out;
    const bm_shingle_batch *shingles = &batch->shingles;
    for (size_t i = 0; i < batch->n_docs; i++) {
        uint32_t number = bm_id_set_find(k->wanted, bm_doc_table_id(k->docs, first_row + i));
        if (number == BM_ID_NONE)
            continue;
        uint64_t begin = shingles->offsets[i], n = shingles->offsets[i + 1] - begin;
        BM_TRY(reserve(k, (size_t)n, err));
        if (s->n == 0)
            s->offsets[0] = 0;
        if (n > 0)
            memcpy(s->hashes + s->offsets[s->n], shingles->hashes + begin,
                   (size_t)n * sizeof *s->hashes);
        if (n > 0 && k->weighted)
            memcpy(s->weights + s->offsets[s->n], shingles->weights + begin,
                   (size_t)n * sizeof *s->weights);
        s->offsets[s->n + 1] = s->offsets[s->n] + n;
        s->contents[s->n] = shingles->content[i];
        s->numbers[s->n] = number;
        s->place[number] = (uint32_t)s->n++;
    }
    return BM_OK;
}

static const char *name_of(const collector *k, const bm_record *record)
{
    return k->context->inputs.names.names[record->file];
}

static bm_status check_text(const collector *k, const bm_record *record, bm_error *err)
{
    return k->memory == 0 || record->text.len <= k->memory / TEXT_SHARE
               ? BM_OK
               : bm_fail_at(err, BM_ERR_NOMEM, name_of(k, record), record->line,
                            "a text of %zu bytes does not fit into %" PRIu64
                            " bytes (`memory`), of which its units need most",
                            record->text.len, k->memory);
}

/* Set *id to the record's id. If repeated ids are numbered, the id includes its number. */
static bm_status find_id(collector *k, const bm_record *record, bm_str *id, bm_error *err)
{
    bm_doc_table *docs = &k->context->docs;
    const bm_doc_row row = {.file = record->file, .line = record->line};
    *id = record->id;
    if (!docs->number_duplicates)
        return BM_OK;
    const bm_doc_id named = {*id, XXH3_64bits(id->data, id->len)};
    BM_TRY(bm_doc_table_add(docs, &row, named, name_of(k, record), err));
    *id = bm_doc_table_id(docs, docs->n - 1);
    return BM_OK;
}

/* A bm_record_fn: keeps the text of a wanted document. */
static bm_status keep_text(void *ctx, const bm_record *record, bm_error *err)
{
    collector *k = ctx;
    bm_str id;
    if (record->bad)
        return BM_OK;
    BM_TRY(find_id(k, record, &id, err));
    const uint32_t number = bm_id_set_find(k->wanted, id);
    if (number == BM_ID_NONE)
        return BM_OK;
    k->n_texts++;
    BM_TRY(check_text(k, record, err));
    return bm_buf_add(&k->texts[number], record->text.data, record->text.len, err);
}

/* A bm_record_fn: passes a valid record to k->record. If all inputs are read, repeated ids are
 * numbered. */
static bm_status hand_on(void *ctx, const bm_record *record, bm_error *err)
{
    collector *k = ctx;
    bm_record named = *record;
    bool kept = false;
    if (record->bad)
        return BM_OK;
    if (k->only == NULL)
        BM_TRY(find_id(k, record, &named.id, err));
    BM_TRY(k->record(k->record_ctx, &named, &kept, err));
    return kept ? check_text(k, record, err) : BM_OK;
}

static bm_status read_wanted(bm_job_context *context, collector *k, bm_error *err)
{
    const bm_ingest_request request = {.sink = {.place = add_wanted, .ctx = k}};
    if (k->texts == NULL && k->record == NULL) {
        BM_TRY(bm_job_weights_count(context, err));
        return bm_job_context_ingest(context, &request, err);
    }
    if (!context->inputs.source->ops->has_text)
        return bm_fail(err, BM_ERR_INPUT, "the inputs have no texts");
    if (k->names != NULL)
        *k->names = (const char *const *)context->inputs.names.names;
    if (k->record != NULL)
        return bm_records_read(context, hand_on, k, NULL, err);
    BM_TRY(bm_records_read(context, keep_text, k, NULL, err));
    return k->n_texts == k->wanted->n
               ? BM_OK
               : bm_fail(err, BM_ERR_FORMAT, "%zu of %zu documents are in the inputs", k->n_texts,
                         (size_t)k->wanted->n);
}

static bm_status read_inputs(const bm_settings *settings, const bm_recipe *recipe, collector *k,
                             bm_error *err)
{
    bm_job_context context;
    BM_TRY(bm_job_context_open(settings, &context, err));
    k->docs = &context.docs;
    k->context = &context;
    k->weighted = settings->text.weights != BM_WEIGHTS_NONE;
    bm_job_context_stage(&context, "read", "bytes");
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_job_context_inputs(&context, err));
    status = read_wanted(&context, k, err);
out:
    if (settings->input.stream == NULL && status == BM_OK)
        status = bm_recipe_check_inputs(recipe, context.inputs.set, err);
    else if (settings->input.stream == NULL)
        status = bm_recipe_blame(recipe, context.inputs.set, &context.callbacks, status, err);
    bm_job_context_close(&context);
    return status;
}

/* Find and read the files of the manifest's inputs. If `rows` is not NULL, read this table instead,
 * which must have been the only input. */
static bm_status read_recorded(const bm_settings *settings, const bm_manifest *manifest,
                               struct ArrowArrayStream *rows, collector *k, bm_text_options *text,
                               bm_error *err)
{
    bm_settings reading = *settings; /* use the settings with which dedup read its inputs */
    bm_recipe recipe = {.manifests = &manifest, .n = 1, .only = k->only};
    bm_weighed weighed = {0};
    reading.recorded.weighed = &weighed;
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_recipe_apply(&recipe, &reading, err));
    if (rows != NULL && reading.input.format == BM_FORMAT_ARROW && reading.input.n_paths == 1) {
        reading.input.stream = rows;
        reading.input.stream_name = reading.input.paths[0];
        reading.input.row_ids = bm_manifest_row_ids(manifest);
        reading.input.n_paths = 0;
    } else if (rows != NULL) {
        BM_TRY_OUT(bm_fail_field(err, "streams", "`streams` is for the result of one table"));
    } else {
        BM_TRY_OUT(bm_recipe_find(&recipe, &reading, err));
        /* The answer must not overwrite an input. */
        BM_TRY_OUT(bm_job_context_check_outputs(&reading, reading.input.paths,
                                                reading.input.n_paths, err));
    }
    reading.output = (bm_output_options){0};
    BM_TRY_OUT(read_inputs(&reading, &recipe, k, err));
    if (text != NULL)
        *text = reading.text;
out:
    bm_recipe_reset(&recipe);
    return status;
}

/* Read the inputs of the manifest. The text of the document with number i in `wanted` is stored in
 * texts[i], which must be empty. *text becomes how the texts were cut into shingles. BM_ERR_INPUT:
 * the inputs have no texts. */
static bm_status explain_texts_read(const bm_settings *settings, const bm_manifest *manifest,
                                    struct ArrowArrayStream *rows, const bm_id_set *wanted,
                                    bm_buf *texts, bm_text_options *text, bm_error *err)
{
    collector k = {.wanted = wanted, .memory = settings->memory, .texts = texts};
    return read_recorded(settings, manifest, rows, &k, text, err);
}

bm_status bm_explain_records_read(const bm_settings *settings, const bm_manifest *manifest,
                                  struct ArrowArrayStream *rows, const bm_explain_records *wanted,
                                  bm_text_options *text, bm_error *err)
{
    collector k = {.memory = settings->memory,
                   .only = wanted->only,
                   .record = wanted->fn,
                   .record_ctx = wanted->ctx,
                   .names = wanted->names};
    return read_recorded(settings, manifest, rows, &k, text, err);
}

bm_status bm_explain_sets_read(const bm_settings *settings, const bm_manifest *manifest,
                               struct ArrowArrayStream *rows, const bm_id_set *wanted,
                               bm_explain_sets *out, bm_error *err)
{
    bm_explain_sets sets = {0};
    collector k = {.wanted = wanted, .memory = settings->memory, .out = &sets};
    BM_TRY(bm_new(&sets.place, wanted->n, err));
    memset(sets.place, 0xFF, wanted->n * sizeof *sets.place);
    const bm_status status = read_recorded(settings, manifest, rows, &k, NULL, err);
    if (status == BM_OK)
        *out = sets;
    else
        bm_explain_sets_reset(&sets);
    return status;
}

void bm_explain_sets_reset(bm_explain_sets *sets)
{
    bm_free_all(sets->numbers, sets->place, sets->offsets, sets->contents, sets->hashes,
                sets->weights);
    memset(sets, 0, sizeof *sets);
}

/* === explain run ===
 *
 * The texts of two documents are read again and cut into units (text/unit_text.h). Then the longest
 * run that both texts have is found. */

static bm_status find_run(const bm_text_units units[2], bm_common_run *run, bm_error *err)
{
    uint64_t *hashes = NULL;
    const size_t n_a = units[0].n, n_b = units[1].n;
    BM_TRY(bm_new(&hashes, n_a + n_b, err));
    for (size_t i = 0; i < n_a; i++)
        hashes[i] = units[0].list[i].hash;
    for (size_t i = 0; i < n_b; i++)
        hashes[n_a + i] = units[1].list[i].hash;
    const bm_status status = bm_common_run_find(hashes, n_a, hashes + n_a, n_b, run, err);
    bm_free(hashes);
    return status;
}

bm_status bm_shared_run_find(const bm_text_options *options, const bm_str texts[2],
                             bm_shared_run *out, bm_error *err)
{
    bm_text_units units[2] = {{0}, {0}};
    bm_common_run run;
    bm_status status = BM_OK;
    for (size_t i = 0; i < 2; i++)
        BM_TRY_OUT(bm_text_units_make(options, texts[i], &units[i], err));
    BM_TRY_OUT(find_run(units, &run, err));
    out->known = true;
    out->units = options->shingle;
    out->n = run.n;
    const size_t begins[] = {run.a, run.b};
    for (size_t i = 0; i < 2 && run.n > 0; i++) {
        out->from[i] = units[i].list[begins[i]].from;
        out->to[i] = units[i].list[begins[i] + run.n - 1].to;
    }
    if (run.n > 0)
        status =
            bm_buf_add(&out->text, texts[0].data + out->from[0], out->to[0] - out->from[0], err);
out:
    bm_text_units_reset(&units[0]);
    bm_text_units_reset(&units[1]);
    return status;
}

bm_status bm_explain_forgive_inputs(bm_explainer *e, bm_status status, const bm_error *inner,
                                    const char *what, bm_error *err)
{
    char why[2100];
    if (status != BM_ERR_IO && status != BM_ERR_FORMAT && status != BM_ERR_INPUT) {
        if (status != BM_OK && err != NULL)
            *err = *inner;
        return status;
    }
    bm_error_format(inner, why, sizeof why);
    bm_meter_log(&e->context.meter, BM_LOG_WARNING, "%s not known: %s", what, why);
    return BM_OK;
}

/* Add the ids of the two documents to an empty set. */
static bm_status add_two(const bm_explainer *e, bm_id_set *two, bm_error *err)
{
    uint32_t number;
    BM_TRY(bm_id_set_add(two, bm_id_set_id(&e->ids, e->a), &number, err));
    return bm_id_set_add(two, bm_id_set_id(&e->ids, e->b), &number, err);
}

static bm_status read_and_compare(bm_explainer *e, bm_error *err)
{
    bm_id_set two = {0};
    bm_buf texts[2] = {{0}, {0}};
    bm_text_options options;
    bm_status status = BM_OK;
    BM_TRY_OUT(add_two(e, &two, err));
    BM_TRY_OUT(explain_texts_read(e->settings, e->manifest, e->options->streams[1], &two, texts,
                                  &options, err));
    const bm_str both[] = {{texts[0].data, texts[0].len}, {texts[1].data, texts[1].len}};
    status = bm_shared_run_find(&options, both, &e->answer.run, err);
out:
    bm_id_set_reset(&two);
    bm_buf_reset(&texts[0]);
    bm_buf_reset(&texts[1]);
    return status;
}

bm_status bm_explain_run(bm_explainer *e, bm_error *err)
{
    bm_error inner = {0};
    if (e->a == e->b)
        return BM_OK;
    const bm_status status = read_and_compare(e, &inner);
    return bm_explain_forgive_inputs(e, status, &inner, "what the two have in common is", err);
}

/* === explain pairs ===
 *
 * Finds the verified pairs of one group.
 *
 * If `dedup --pairs` wrote pairs.tsv, the pairs are its rows about the group's documents.
 * Otherwise, if `verify` was contained, they are the rows of removed.tsv. Otherwise the group's
 * documents are read again, signed and banded with the report's settings, and every candidate pair
 * among them is verified (finder.h).
 *
 * A group is refused if its pairs do not fit into the job's memory: 24 bytes per pair here, and 64
 * in the graph while it is built. */

#define BYTES_A_PAIR 88u
#define ROWS_A_LOOK  65536u
#define SHARES_A_BIT 1e-300 /* a threshold that two documents reach if they share a shingle */

static bm_status too_many(const bm_explainer *e, bm_error *err)
{
    return bm_fail(err, BM_ERR_NOMEM,
                   "the pairs of the group's %zu documents do not fit into %" PRIu64
                   " bytes (`memory`; %" PRIu64 " of them do)",
                   e->ids.n, e->settings->memory, e->settings->memory / BYTES_A_PAIR);
}

static bm_status add_pair(bm_explainer *e, bm_pair pair, bm_error *err)
{
    if (e->n_pairs >= e->settings->memory / BYTES_A_PAIR)
        return too_many(e, err);
    BM_TRY(bm_grow_array(&e->pairs, &e->cap_pairs, e->n_pairs + 1, err));
    e->pairs[e->n_pairs++] = pair;
    return BM_OK;
}

/* --- from pairs.tsv --- */

typedef struct pairs_reading {
    bm_explainer *e;
    uint64_t n_rows;
} pairs_reading;

/* A bm_pair_row_fn: adds the pair if both documents are in the group. */
static bm_status read_row(void *ctx, const bm_pair_file *row, bm_error *err)
{
    pairs_reading *r = ctx;
    bm_explainer *e = r->e;
    const uint32_t a = bm_id_set_find(&e->ids, row->id_a);
    const uint32_t b = a == BM_ID_NONE ? BM_ID_NONE : bm_id_set_find(&e->ids, row->id_b);
    if (b != BM_ID_NONE)
        BM_TRY(add_pair(e, (bm_pair){a, b, row->similarity}, err));
    if (++r->n_rows % ROWS_A_LOOK != 0)
        return BM_OK;
    bm_meter_progress(&e->context.meter, row->lines.n_bytes, 0, r->n_rows);
    return bm_meter_check(&e->context.meter, err);
}

/* --- from removed.tsv --- */

/* A bm_result_row_fn: adds the removed and the kept document of a row as a pair, if both are in the
 * group. Used if `verify` is contained. A document is then in its group only because the kept
 * document contains it. */
static bm_status read_held(void *ctx, const bm_tsv_table *row, bm_error *err)
{
    bm_explainer *e = ctx;
    const bool known = bm_json_scan_is(row->fields[BM_REMOVED_REASON], BM_REMOVED_IS_KNOWN);
    const uint32_t a = known ? BM_ID_NONE : bm_id_set_find(&e->ids, row->fields[BM_REMOVED_KEPT]),
                   b = a == BM_ID_NONE ? BM_ID_NONE
                                       : bm_id_set_find(&e->ids, row->fields[BM_REMOVED_ID]);
    double similarity;
    if (b == BM_ID_NONE)
        return BM_OK;
    if (!bm_table_similarity(row->fields[BM_REMOVED_JACCARD], &similarity))
        return bm_fail_at(err, BM_ERR_FORMAT, row->path, row->line,
                          "the similarity is not a number of six decimals");
    return add_pair(e, (bm_pair){a < b ? a : b, a < b ? b : a, similarity}, err);
}

static bm_status read_holders(bm_explainer *e, bm_error *err)
{
    const bm_result_dir dir = {e->manifest, &e->context.callbacks, e->settings->memory};
    bm_job_context_stage(&e->context, "read", "bytes");
    BM_TRY(bm_result_rows(&dir, BM_TABLE_REMOVED, read_held, e, err));
    if (e->n_pairs > 1)
        qsort(e->pairs, e->n_pairs, sizeof *e->pairs, bm_pair_by_place);
    return BM_OK;
}

/* --- the two requested documents --- */

/* The rows of removed.tsv about two copies. */
typedef struct copy_rows {
    const bm_explainer *e;
    uint32_t kept[2]; /* the kept documents of e->a and e->b; if a document has no row, it is its
                       * own kept document */
    bool same_text[2], known[2];
} copy_rows;

/* A bm_result_row_fn: stores the row of e->a or of e->b, and ignores all others. */
static bm_status read_copy(void *ctx, const bm_tsv_table *row, bm_error *err)
{
    copy_rows *rows = ctx;
    const bm_explainer *e = rows->e;
    const bm_str reason = row->fields[BM_REMOVED_REASON];
    const uint32_t id = bm_id_set_find(&e->ids, row->fields[BM_REMOVED_ID]);
    (void)err;
    for (size_t i = 0; i < 2; i++) {
        if (id != (i == 0 ? e->a : e->b))
            continue;
        rows->kept[i] = bm_id_set_find(&e->ids, row->fields[BM_REMOVED_KEPT]);
        rows->same_text[i] = bm_json_scan_is(reason, BM_REMOVED_IS_IDENTICAL);
        rows->known[i] = rows->same_text[i] || bm_json_scan_is(reason, BM_REMOVED_IS_EQUAL);
    }
    return BM_OK;
}

bm_status bm_explain_texts(bm_explainer *e, bm_error *err)
{
    const bm_result_dir dir = {e->manifest, &e->context.callbacks, e->settings->memory};
    copy_rows rows = {e, {e->a, e->b}, {true, true}, {true, true}};
    BM_TRY(bm_result_rows(&dir, BM_TABLE_REMOVED, read_copy, &rows, err));
    const bool known = rows.kept[0] == rows.kept[1] && rows.known[0] && rows.known[1];
    if (known && rows.same_text[0] && rows.same_text[1])
        e->answer.texts = BM_REMOVED_IS_IDENTICAL;
    else if (known && (rows.same_text[0] || rows.same_text[1]))
        e->answer.texts = BM_REMOVED_IS_EQUAL;
    return BM_OK;
}

/* Copy the hashes of two sets, one after the other, and their weights if any. The caller frees
 * them. */
static bm_status copy_two(const bm_explain_sets *s, size_t x, size_t y, bm_documents *out,
                          bm_error *err)
{
    const size_t n_x = (size_t)(s->offsets[x + 1] - s->offsets[x]),
                 n = n_x + (size_t)(s->offsets[y + 1] - s->offsets[y]);
    uint64_t *hashes = bm_alloc(n, sizeof *hashes);
    double *weights = s->weights != NULL ? bm_alloc(n, sizeof *weights) : NULL;
    if (hashes == NULL || (s->weights != NULL && weights == NULL)) {
        bm_free_all(hashes, weights);
        return bm_fail_nomem(err, n * (sizeof *hashes + sizeof *weights));
    }
    memcpy(hashes, s->hashes + s->offsets[x], n_x * sizeof *hashes);
    memcpy(hashes + n_x, s->hashes + s->offsets[y], (n - n_x) * sizeof *hashes);
    if (weights != NULL) {
        memcpy(weights, s->weights + s->offsets[x], n_x * sizeof *weights);
        memcpy(weights + n_x, s->weights + s->offsets[y], (n - n_x) * sizeof *weights);
    }
    *out = bm_documents_of_weights(NULL, hashes, weights, 2);
    return BM_OK;
}

/* Measure the similarity of two sets as the directory's pairs were measured: exactly, or by the
 * agreement of signatures. */
static bm_status measure(bm_explainer *e, size_t x, size_t y, bm_error *err)
{
    const bm_explain_sets *s = &e->sets;
    uint64_t n_x = s->offsets[x + 1] - s->offsets[x], n_y = s->offsets[y + 1] - s->offsets[y];
    uint64_t offsets[] = {0, n_x, n_x + n_y};
    bm_find_options options = e->find;
    uint32_t perms = options.sketch.perms;
    bm_pair_set *pairs = NULL;
    bm_documents two;
    BM_TRY(copy_two(s, x, y, &two, err));
    two.offsets = offsets;
    bool words = options.verify == BM_VERIFY_SIGNATURE;
    options.verify = words ? BM_VERIFY_SIGNATURE : BM_VERIFY_EXACT;
    options.bands.threshold = words ? .5 / perms : SHARES_A_BIT;
    options.candidates = words ? BM_CANDIDATES_LSH : BM_CANDIDATES_ALL;
    options.bands.bands = perms; /* one row per band, so that any equal word makes a candidate */
    options.bands.rows = 1;
    options.resources.threads = 1;
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_find_pairs(&options, &two, &pairs, err));
    e->answer.similarity = bm_pair_set_count(pairs) == 0
                               ? 0.0
                               : bm_six_decimals(bm_pair_set_data(pairs)[0].similarity);
out:
    bm_pair_set_free(pairs);
    bm_free_all((void *)(uintptr_t)two.hashes, (void *)(uintptr_t)two.weights);
    return status;
}

/* Read the inputs again to measure the similarity of e->a and e->b. */
static bm_status read_two(bm_explainer *e, bm_error *err)
{
    bm_id_set two = {0};
    bm_status status = BM_OK;
    BM_TRY_OUT(add_two(e, &two, err));
    BM_TRY_OUT(bm_explain_sets_read(e->settings, e->manifest, e->options->streams[0], &two,
                                    &e->sets, err));
    if (e->sets.n != 2)
        BM_TRY_OUT(bm_fail_at(err, BM_ERR_FORMAT, e->options->path, 0,
                              "%zu of two documents are in the inputs", e->sets.n));
    status = measure(e, e->sets.place[0], e->sets.place[1], err);
out:
    bm_id_set_reset(&two);
    return status;
}

bm_status bm_explain_similarity(bm_explainer *e, bm_error *err)
{
    bm_error inner = {0};
    size_t link = bm_link_graph_find(&e->answer.graph, e->a, e->b);
    if (link != SIZE_MAX)
        e->answer.similarity = e->pairs[link].similarity;
    if (link != SIZE_MAX || e->from_inputs)
        return BM_OK;
    bm_status status = read_two(e, &inner);
    return bm_explain_forgive_inputs(e, status, &inner, "the similarity of the two themselves is",
                                     err);
}

/* --- from the inputs --- */

/* A bm_set_link_fn: converts numbers of sets to documents of the group, and adds the pair. */
static bm_status add_link(void *ctx, bm_pair link, bm_error *err)
{
    bm_explainer *e = ctx;
    const uint32_t *numbers = e->sets.numbers;
    return add_pair(e, (bm_pair){numbers[link.a], numbers[link.b], link.similarity}, err);
}

static bm_status compute_pairs(bm_explainer *e, bm_error *err)
{
    bm_explain_sets *s = &e->sets;
    BM_TRY(bm_explain_sets_read(e->settings, e->manifest, e->options->streams[0], &e->ids, s, err));
    if (s->n != e->ids.n)
        return bm_fail_at(err, BM_ERR_FORMAT, e->options->path, 0,
                          "%zu of the group's %zu documents are in the inputs", s->n, e->ids.n);
    bm_job_context_stage(&e->context, "match", "pairs");
    if (e->a != e->b) /* must come before bm_set_links, which drops the hashes of copies */
        BM_TRY(measure(e, s->place[e->a], s->place[e->b], err));
    bm_find_options options = e->find;
    options.resources.threads = e->settings->threads;
    options.callbacks = e->context.callbacks;
    options.max_pairs = e->settings->memory / BYTES_A_PAIR;
    const bm_linked_sets sets = {s->offsets, s->hashes, s->weights, s->contents, s->n};
    const bm_status status = bm_set_links(&options, &sets, add_link, e, err);
    if (status == BM_ERR_NOMEM)
        return too_many(e, err);
    if (e->n_pairs > 1)
        qsort(e->pairs, e->n_pairs, sizeof *e->pairs, bm_pair_by_place);
    return status;
}

bm_status bm_explain_pairs(bm_explainer *e, bm_error *err)
{
    const bool no_pairs = bm_manifest_output(e->manifest, BM_FILE_PAIRS) == NULL;
    if (no_pairs && e->find.verify == BM_VERIFY_CONTAINED)
        return read_holders(e, err);
    e->from_inputs = no_pairs;
    if (e->from_inputs)
        return compute_pairs(e, err);
    const bm_result_dir dir = {e->manifest, &e->context.callbacks, e->settings->memory};
    pairs_reading r = {.e = e};
    bm_job_context_stage(&e->context, "read", "bytes");
    return bm_result_pairs(&dir, read_row, &r, err);
}

/* === explain group ===
 *
 * Finds one group in a directory that dedup wrote, and loads its members.
 *
 * groups.jsonl is read once to find the group, and once more to load it. Ids are compared in place,
 * so only one group is ever in memory. */

/* --- the report --- */

static bm_status check_plan(const bm_explainer *e, uint64_t bands, uint64_t rows, bm_error *err)
{
    const bm_provenance *p;
    const bool all = e->find.candidates != BM_CANDIDATES_LSH;
    BM_TRY(bm_manifest_provenance(e->dir.manifest, &p, err));
    const uint64_t perms = p->numbers[BM_ROW_PERMS];
    if (perms < 1 || perms > BM_PERMS_MAX || bands > perms || rows > perms ||
        bands * rows > perms || (bands == 0) != all || (rows == 0) != all)
        return bm_fail_at(err, BM_ERR_FORMAT, bm_manifest_path(e->dir.manifest), 0,
                          "%" PRIu64 " bands of %" PRIu64 " rows from %" PRIu64 " permutations",
                          bands, rows, perms);
    return BM_OK;
}

/* Read how the directory's pairs were found. */
static bm_status read_report(bm_explainer *e, bm_error *err)
{
    bm_result_facts f = {0};
    const bm_provenance *p;
    const bm_manifest *manifest = e->dir.manifest;
    BM_TRY(bm_manifest_provenance(manifest, &p, err));
    const bm_scheme_ops *scheme = bm_scheme_find(p->texts[BM_ROW_SCHEME]);
    const uint64_t seed = p->numbers[BM_ROW_SEED];
    bm_find_options_init(&e->find);
    BM_TRY(bm_result_facts_read(
        manifest, BM_FACT_VERIFY | BM_FACT_CLUSTER | BM_FACT_CANDIDATES | BM_FACT_THRESHOLD, &f,
        err));
    if (f.verify == BM_VERIFY_AUTO)
        return bm_result_fact_unknown(manifest, "parameters.verify", err);
    if (f.candidates == BM_CANDIDATES_LSH)
        BM_TRY(bm_result_facts_read(manifest, BM_FACT_PLAN, &f, err));
    if (scheme == NULL)
        return bm_result_fact_unknown(manifest, "provenance.scheme", err);
    if (seed > UINT32_MAX)
        return bm_result_fact_unknown(manifest, "provenance.seed", err);
    if (bm_manifest_count(manifest, "divided", &e->divided, NULL) != BM_OK)
        e->divided = 0; /* the settings divide no component, so the number is missing */
    e->star = f.cluster == BM_CLUSTER_STAR;
    e->find.verify = (bm_verify)f.verify;
    e->find.candidates = (bm_candidate_rule)f.candidates;
    e->find.bands.threshold = f.threshold;
    BM_TRY(check_plan(e, f.bands, f.rows, err));
    e->find.sketch = (bm_sketch_options){.perms = (uint32_t)p->numbers[BM_ROW_PERMS],
                                         .seed = (uint32_t)seed,
                                         .scheme = scheme->scheme};
    e->find.bands.bands = (uint32_t)f.bands;
    e->find.bands.rows = (uint32_t)f.rows;
    return BM_OK;
}

/* Return BM_ERR_FORMAT unless groups.jsonl is the file that the report lists. Must be called before
 * ids are searched in it. */
static bm_status check_groups(const bm_explainer *e, bm_error *err)
{
    char *path = NULL;
    bm_file_range whole = {-1, NULL, 0, UINT64_MAX};
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_manifest_beside(e->dir.manifest, BM_FILE_GROUPS, &path, err));
    whole.shown = path;
    BM_TRY_OUT(bm_open_regular(path, BM_ERR_FORMAT, &whole.fd, err));
    status = bm_listed_check(e->dir.manifest, BM_FILE_GROUPS, &whole, err);
    close(whole.fd);
out:
    bm_free(path);
    return status;
}

bm_status bm_explain_open(bm_explainer *e, bm_error *err)
{
    const char *dir = e->options->path;
    BM_TRY(bm_manifest_open_dir(dir, e->settings->memory, &e->manifest, err));
    e->dir = (bm_result_dir){e->manifest, &e->settings->callbacks, e->settings->memory};
    if (bm_result_is_overlap(e->manifest))
        return BM_OK;
    BM_TRY(bm_result_check_kind(e->manifest, dir, err));
    if (bm_result_is_of_units(e->manifest))
        return BM_OK;
    BM_TRY(read_report(e, err));
    return check_groups(e, err);
}

/* --- the groups --- */

/* Ids, and for each the number of the group that contains it; 0: not found yet. */
typedef struct search {
    const bm_str *ids;
    uint64_t *groups;
    size_t n;
} search;

/* A bm_group_member_fn: if the member has one of the ids, notes the group. */
static bm_status match_member(void *ctx, const bm_group_file *file, bm_str id, bm_error *err)
{
    const search *s = ctx;
    (void)err;
    for (size_t i = 0; i < s->n; i++)
        if (id.len == s->ids[i].len && memcmp(id.data, s->ids[i].data, id.len) == 0)
            s->groups[i] = file->group;
    return BM_OK;
}

/* A bm_result_group_fn: searches a group for the ids, and stops when all ids are found. */
static bm_status match_group(void *ctx, bm_group_file *row, bool *stop, bm_error *err)
{
    const search *s = ctx;
    bm_str kept;
    BM_TRY(bm_group_file_members(row, match_member, ctx, &kept, err));
    *stop = true;
    for (size_t i = 0; i < s->n; i++)
        *stop = *stop && s->groups[i] != 0;
    return BM_OK;
}

bm_status bm_explain_find(const bm_explainer *e, const bm_str *ids, size_t n, uint64_t *groups,
                          bm_error *err)
{
    search s = {.ids = ids, .groups = groups, .n = n};
    memset(groups, 0, n * sizeof *groups);
    return bm_result_groups(&e->dir, match_group, &s, err);
}

typedef struct load {
    bm_explainer *e;
    /* wanted: number of the wanted group; last: number of the last group that was read */
    uint64_t wanted, last;
} load;

/* A bm_result_group_fn: loads the members and the kept document of the wanted group. */
static bm_status load_group(void *ctx, bm_group_file *file, bool *stop, bm_error *err)
{
    load *l = ctx;
    bm_explainer *e = l->e;
    bm_group_members members = {.ids = &e->ids, .most = UINT64_MAX};
    l->last = file->group;
    if (file->group != l->wanted)
        return BM_OK;
    *stop = true;
    BM_TRY(bm_group_file_load(file, &members, err));
    e->kept = members.kept;
    e->none = !file->known && members.kept == BM_ID_NONE;
    return file->known ? bm_buf_add(&e->known, members.kept_id.data, members.kept_id.len, err)
                       : BM_OK;
}

bm_status bm_explain_load(bm_explainer *e, uint64_t number, bm_error *err)
{
    load l = {.e = e, .wanted = number};
    e->group = number;
    BM_TRY(bm_result_groups(&e->dir, load_group, &l, err));
    return l.last == number
               ? BM_OK
               : bm_fail_field(err, "group", "no group %" PRIu64 " (%s has %" PRIu64 ")", number,
                               e->options->path, l.last);
}
