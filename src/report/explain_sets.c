/* explain_sets.c -- the ingest of the other jobs without signing; its sink takes what is wanted.
 *
 * Everything is read, whatever is wanted: ids are settled by all that stands before them, and only
 * a whole read shows that an input is the same as it was. Sizes are looked at first, so that most
 * changed inputs are refused before anything is read.
 *
 * Tests: tests/unit/jobs/test_job_explain.c, tests/reference/test_groups.py
 * Tests: tests/fault/explain_calls.c */
#include "report/explain_sets.h"

#include <inttypes.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/error.h"
#include "base/memory.h"
#include "job/job_weights.h"
#include "job/record_room.h"
#include "job/recipe.h"

#define TEXT_SHARE                                                                                 \
    64u /* of the memory: a byte of a text may be a unit, of which so many bytes are held */

typedef struct collector {
    const bm_doc_table *docs;
    const bm_id_set *wanted;
    uint64_t memory;
    bool weighted;
    bm_explain_sets *out;
    bm_job_context *context;
    bm_buf *texts; /* of the wanted ones, instead of sets; NULL: sets */
    size_t n_texts;
} collector;

/* One document more, with so many hashes. Growing by half at a time, so the memory asked for is at
 * most half as much again as what is counted. */
static bm_status make_room(const collector *k, size_t n_hashes, bm_error *err)
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

static bm_status keep_wanted(void *ctx, const bm_ingest_batch *batch, size_t first_row,
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
        BM_TRY(make_room(k, (size_t)n, err));
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

/* A bm_record_fn. */
static bm_status keep_text(void *ctx, const bm_record *record, bm_error *err)
{
    collector *k = ctx;
    bm_doc_table *docs = &k->context->docs;
    bm_str id = record->id;
    if (record->bad)
        return BM_OK;
    if (docs->number_duplicates) {
        const bm_doc_row row = {.file = record->file, .line = record->line};
        const bm_doc_id named = {id, XXH3_64bits(id.data, id.len)};
        BM_TRY(
            bm_doc_table_add(docs, &row, named, k->context->inputs.names.names[record->file], err));
        id = bm_doc_table_id(docs, docs->n - 1);
    }
    const uint32_t number = bm_id_set_find(k->wanted, id);
    if (number == BM_ID_NONE)
        return BM_OK;
    k->n_texts++;
    if (k->memory != 0 && record->text.len > k->memory / TEXT_SHARE)
        return bm_fail_at(err, BM_ERR_NOMEM, k->context->inputs.names.names[record->file],
                          record->line,
                          "a text of %zu bytes does not fit into %" PRIu64
                          " bytes (`memory`), of which its units need most",
                          record->text.len, k->memory);
    return bm_buf_add(&k->texts[number], record->text.data, record->text.len, err);
}

static bm_status read_wanted(bm_job_context *context, collector *k, bm_error *err)
{
    const bm_ingest_wish wish = {.sink = keep_wanted, .sink_ctx = k};
    if (k->texts == NULL) {
        BM_TRY(bm_job_weights_count(context, err));
        return bm_job_context_ingest(context, &wish, err);
    }
    if (!context->inputs.source->ops->has_text)
        return bm_fail(err, BM_ERR_INPUT, "the inputs have no texts");
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

/* Find the inputs of the manifest, or take the rows, and read them. */
static bm_status read_recorded(const bm_settings *settings, const bm_manifest *manifest,
                               struct ArrowArrayStream *rows, collector *k, bm_text_options *text,
                               bm_error *err)
{
    bm_settings reading = *settings; /* as dedup read its inputs */
    bm_recipe recipe = {.manifests = &manifest, .n = 1};
    bm_weighed weighed = {0};
    reading.recorded.weighed = &weighed;
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_recipe_settle(&recipe, &reading, err));
    if (rows != NULL && reading.input.format == BM_FORMAT_ARROW && reading.input.n_paths == 1) {
        reading.input.stream = rows;
        reading.input.stream_name = reading.input.paths[0];
        reading.input.n_paths = 0;
    } else if (rows != NULL) {
        BM_TRY_OUT(bm_fail_field(err, "streams", "`streams` is for the result of one table"));
    } else {
        BM_TRY_OUT(bm_recipe_find(&recipe, &reading, err));
        /* the answer must not go to one of them */
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

bm_status bm_explain_texts_read(const bm_settings *settings, const bm_manifest *manifest,
                                struct ArrowArrayStream *rows, const bm_id_set *wanted,
                                bm_buf *texts, bm_text_options *text, bm_error *err)
{
    collector k = {.wanted = wanted, .memory = settings->memory, .texts = texts};
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
    bm_free(sets->numbers);
    bm_free(sets->place);
    bm_free(sets->offsets);
    bm_free(sets->contents);
    bm_free(sets->hashes);
    bm_free(sets->weights);
    memset(sets, 0, sizeof *sets);
}
