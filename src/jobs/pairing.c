/* SPDX-License-Identifier: Apache-2.0 */
/* pairing.c -- finds the edges (similar pairs) between documents or between signatures.
 *
 * Tests: tests/unit/jobs/test_jobs.c */
#include "jobs/pairing.h"

#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "model/option_words.h"
#include "job/job_context.h"
#include "corpus/corpus_parts.h"
#include "corpus/sample.h"
#include "job/report_file.h"
#include "sketch/scheme.h"

#define LABEL_DOC 5u /* bytes per document while given band keys are converted to labels */

/* --- settings --- */

/* Are band keys the only input? */
static bool is_of_keys(const bm_settings *s)
{
    return s->input.format == BM_FORMAT_KEYS;
}

/* Choose how many words of each signature to compute. Verification by signature needs all words.
 * Otherwise, only the words from which band keys are made are needed, if the scheme can compute
 * these alone. */
static void choose_words(bm_settings *s)
{
    s->perms_used = s->pairs.verify == BM_VERIFY_SIGNATURE
                        ? s->sketch.perms
                        : bm_scheme_words(&s->sketch, s->plan.bands * s->plan.rows);
}

bm_status bm_pairing_resolve(bm_settings *s, bm_error *err)
{
    if (is_of_keys(s))
        return BM_OK;
    bm_status status = bm_settings_check_scheme(s, err);
    if (status == BM_OK && s->pairs.candidates == BM_CANDIDATES_LSH)
        status = bm_settings_plan(s, err);
    else if (s->sketch.perms == 0)
        s->sketch.perms = BM_PERMS_DEFAULT;
    if (s->pairs.verify == BM_VERIFY_AUTO)
        s->pairs.verify = BM_VERIFY_EXACT;
    choose_words(s);
    return status;
}

/* Special inputs of a job. */
typedef struct sources {
    bm_signature_inputs *signatures; /* NULL: the inputs are documents */
    bm_against *against;             /* NULL: no known documents */
} sources;

static bm_status resolve(bm_settings *settings, sources *out, bm_error *err)
{
    bool is_signatures = false;
    bm_against *against = NULL;
    bm_status status = BM_OK;
    if (settings->parts != NULL) /* the outer job has resolved the settings */
        return BM_OK;
    BM_TRY_OUT(bm_job_context_check_outputs(settings, settings->input.paths,
                                            settings->input.n_paths, err));
    BM_TRY_OUT(bm_recipe_are_signed(settings, &is_signatures, err));
    if (is_signatures && settings->pairs.sample > 0)
        BM_TRY_OUT(bm_fail_field(err, "sample", "`sample` takes documents, not signatures"));
    if (settings->pairs.n_against > 0)
        BM_TRY_OUT(bm_against_open(settings, &out->against, err));
out:
    against = out->against;
    if (status != BM_OK)
        return status;
    if (!is_signatures && against != NULL)
        bm_against_resolve(against, settings);
    status = is_signatures ? bm_signature_inputs_open(settings, &out->signatures, err)
                           : bm_pairing_resolve(settings, err);
    return status == BM_OK && against != NULL ? bm_against_check(against, settings, err) : status;
}

/* --- keys for ranking by fields --- */

typedef struct ranking_sink {
    bm_keep_keys *keys;
    bm_ingest_sink sink; /* the next sink */
} ranking_sink;

static bm_status place_ranked(void *ctx, const bm_ingest_batch *batch, size_t first_row,
                              bm_error *err)
{
    const ranking_sink *s = ctx;
    if (!batch->turn.all_put) /* if set, the batch is placed again: its keys were added */
        BM_TRY(bm_keep_keys_add_batch(s->keys, batch, err));
    return s->sink.place != NULL ? s->sink.place(s->sink.ctx, batch, first_row, err) : BM_OK;
}

static bm_status put_ranked(void *ctx, const bm_ingest_batch *batch, size_t first_row,
                            bm_error *err)
{
    const ranking_sink *s = ctx;
    return s->sink.put != NULL ? s->sink.put(s->sink.ctx, batch, first_row, err) : BM_OK;
}

/* If fields rank documents, insert a sink before the sink of `request`. It collects the ranking
 * keys of documents. */
static bm_status gather_keys(bm_job_context *context, bool saves, ranking_sink *out,
                             bm_ingest_request *request, bm_error *err)
{
    const bm_settings *s = context->settings;
    if (s->keep.n_by_field == 0)
        return BM_OK;
    BM_TRY(bm_keep_keys_open(&s->keep, s->temp_dir, s->memory, &context->keep, err));
    context->keep.saves = saves;
    *out = (ranking_sink){&context->keep, request->sink};
    request->sink = (bm_ingest_sink){place_ranked, put_ranked, out};
    return BM_OK;
}

/* --- parts of documents --- */

typedef struct parts_sink {
    const bm_part_source *parts;
    bm_ingest_sink sink; /* the next sink */
} parts_sink;

static bm_status place_parts(void *ctx, const bm_ingest_batch *batch, size_t first_row,
                             bm_error *err)
{
    const parts_sink *s = ctx;
    if (!batch->turn.all_put) /* if set, the batch is placed again: it was passed on */
        BM_TRY(s->parts->place(s->parts->ctx, batch, err));
    return s->sink.place != NULL ? s->sink.place(s->sink.ctx, batch, first_row, err) : BM_OK;
}

static bm_status put_parts(void *ctx, const bm_ingest_batch *batch, size_t first_row, bm_error *err)
{
    const parts_sink *s = ctx;
    return s->sink.put != NULL ? s->sink.put(s->sink.ctx, batch, first_row, err) : BM_OK;
}

/* If the documents are parts of an outer job's documents, insert a sink that passes each batch to
 * the outer job, and use the outer job's scan. */
static void tell_parts(const bm_settings *s, parts_sink *out, bm_ingest_request *request)
{
    if (s->parts == NULL)
        return;
    *out = (parts_sink){s->parts, request->sink};
    request->sink = (bm_ingest_sink){place_parts, put_parts, out};
    request->scan = s->parts->scan;
}

/* Are documents signed, to find candidates by bands? */
static bool signs_documents(const bm_settings *s)
{
    return s->pairs.candidates == BM_CANDIDATES_LSH && !is_of_keys(s) &&
           (s->parts == NULL || !s->parts->only_equal);
}

/* --- documents --- */

/* Read all documents, and add a sample of them to the corpus. */
static bm_status read_sample(bm_job_context *context, bm_corpus *corpus, bm_ingest_request *request,
                             bm_error *err)
{
    const bm_settings *s = context->settings;
    bm_sample sample;
    bm_sample_init(&sample, (size_t)s->pairs.sample, s->sketch.seed, corpus);
    request->sink = (bm_ingest_sink){.place = bm_sample_add, .ctx = &sample};
    request->early = (bm_ingest_early){0};
    request->reclaim = NULL;
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_job_context_ingest(context, request, err));
    status = bm_sample_finish(&sample, &context->docs, err);
out:
    context->counts.sampled = context->docs.n;
    bm_sample_reset(&sample);
    return status;
}

/* The number of band keys that the job needs per document: for an input of band keys, as many as
 * the input has; 0 if documents are not signed. */
static uint32_t bands_of(const bm_job_context *context)
{
    const bm_settings *s = context->settings;
    if (is_of_keys(s))
        return context->inputs.source->n_keys;
    return signs_documents(s) ? s->plan.bands : 0;
}

/* Bytes for the rank of each document. */
static uint32_t rank_doc(const bm_settings *s)
{
    return s->keep.n > 0 || s->keep.last ? (uint32_t)sizeof(uint32_t) : 0;
}

/* How the sets of candidates are made again from texts. {0}: sets are stored, not made again. */
static bm_set_recipe again_of(const bm_pairing *pairing)
{
    const bm_job_context *context = &pairing->job->context;
    return pairing->signatures == NULL && bm_job_context_makes_again(context)
               ? (bm_set_recipe){context->inputs.source, &context->settings->text,
                                 context->settings->device.cpu}
               : (bm_set_recipe){0};
}

static bm_corpus_cfg corpus_cfg(const bm_pairing *pairing)
{
    const bm_job_context *context = &pairing->job->context;
    const bm_settings *s = context->settings;
    return (bm_corpus_cfg){
        .hashes = bm_verify_reads_sets(s->pairs.verify),
        .weighted = s->text.weights != BM_WEIGHTS_NONE,
        .find_identical = (pairing->signatures == NULL && !is_of_keys(s)) ||
                          bm_verify_reads_sets(s->pairs.verify) ||
                          (pairing->signatures != NULL &&
                           bm_signature_inputs_know_identical(pairing->signatures)),
        .bands = bands_of(context),
        .given_keys = is_of_keys(s),
        .words = bm_scheme_rows(s->sketch.scheme,
                                s->pairs.verify == BM_VERIFY_SIGNATURE ? s->sketch.perms : 0),
        .memory = s->memory,
        .docs = &context->docs,
        .temp_dir = s->temp_dir,
        .budget = context->budget,
        .again = again_of(pairing),
        .never_kept = context->devices.open && context->devices.set.path.taken,
        .edges = !pairing->only_groups || s->pairs.max_group_size > 0,
        .beside = rank_doc(s) + (pairing->against != NULL ? BM_KNOWN_DOC
                                 : is_of_keys(s)          ? LABEL_DOC
                                                          : 0),
        .input_bytes =
            pairing->signatures == NULL ? bm_input_set_total_bytes(context->inputs.set) : 0};
}

static bm_status read_documents(bm_pairing *pairing, bm_error *err)
{
    bm_job *job = pairing->job;
    bm_job_context *context = &job->context;
    const bm_settings *s = context->settings;
    const bool signs = signs_documents(s);
    bm_corpus *corpus = &pairing->corpus;
    unsigned steps = BM_STEP_INPUTS;
    if (bm_job_does(s, BM_JOB_GROUPS) && s->output.path != NULL)
        steps |= BM_STEP_DIRECTORY | BM_STEP_CHECKPOINTS;
    if (signs)
        steps |= BM_STEP_DEVICES | BM_STEP_KEYS;
    bm_status status = bm_job_begin(job, steps, err);
    if (status != BM_OK || job->summary != NULL)
        return status;
    const bm_corpus_cfg cfg = corpus_cfg(pairing);
    bm_corpus_init(corpus, &cfg);
    context->docs.temp_dir = s->temp_dir;
    bm_ingest_request request = {.words = cfg.words.uints > 0,
                                 .keys = signs,
                                 .hashes_of_long = cfg.never_kept,
                                 .sink = bm_corpus_sink(corpus),
                                 .early = bm_corpus_early(corpus),
                                 .reclaim = bm_corpus_reclaim,
                                 .reclaim_ctx = corpus};
    if (s->parts != NULL) {
        bm_checkpoint_lend(s->parts->checkpoint, context, &job->checkpoint);
        s->parts->more(s->parts->ctx, context, &job->checkpoint.more);
    }
    ranking_sink ranking;
    BM_TRY(gather_keys(context, job->checkpoint.can_save, &ranking, &request, err));
    parts_sink parts;
    tell_parts(s, &parts, &request);
    bm_job_context_plan(context, bm_checkpoint_start(&job->checkpoint));
    if (job->checkpoint.dir != NULL) /* load the saved work of an interrupted job */
        status = bm_checkpoint_load(&job->checkpoint, corpus, err);
    bm_job_context_stage(context, signs ? BM_STAGE_SIGN : BM_STAGE_READ, "bytes");
    if (status != BM_OK)
        return status;
    if (cfg.never_kept && cfg.hashes && corpus->sets.state != BM_SETS_AGAIN)
        /* the interrupted job stored sets, so this job must store sets too */
        context->devices.set.path.taken = false;
    if (s->pairs.sample > 0)
        return read_sample(context, corpus, &request, err);
    if (job->checkpoint.dir != NULL)
        return bm_checkpoint_ingest(&job->checkpoint, &request, err);
    return bm_job_context_ingest(context, &request, err);
}

/* --- signatures --- */

static bm_status read_texts(bm_pairing *pairing, bm_error *err)
{
    bm_job_context *context = &pairing->job->context;
    bm_corpus *corpus = &pairing->corpus;
    bm_ingest_request request = {.reclaim = bm_corpus_reclaim, .reclaim_ctx = corpus};
    if (corpus->cfg.hashes)
        request.sink = bm_corpus_hash_sink(corpus);
    ranking_sink ranking;
    BM_TRY(gather_keys(context, false, &ranking, &request, err));
    bm_job_context_stage(context, BM_STAGE_READ, "bytes");
    bm_status status = bm_job_context_ingest(context, &request, err);
    if (status == BM_OK)
        status = bm_signature_inputs_check(pairing->signatures, context, corpus->n, err);
    else
        status = bm_signature_inputs_blame(pairing->signatures, context, status, err);
    return status;
}

static bm_status read_signatures(bm_pairing *pairing, bm_error *err)
{
    bm_job_context *context = &pairing->job->context;
    const bm_settings *s = context->settings;
    const bool texts = bm_signature_inputs_reads_texts(s);
    unsigned steps = texts ? BM_STEP_INPUTS : 0;
    if (bm_job_does(s, BM_JOB_GROUPS) && s->output.path != NULL)
        steps |= BM_STEP_DIRECTORY;
    bm_signature_inputs_log(pairing->signatures, s, &context->meter);
    bm_status status = bm_job_begin(pairing->job, steps, err);
    /* for weights, bm_job_begin reads the inputs to count shingles */
    if (status != BM_OK && texts && s->text.weights != BM_WEIGHTS_NONE)
        status = bm_signature_inputs_blame(pairing->signatures, context, status, err);
    if (status != BM_OK)
        return status;
    const bm_corpus_cfg cfg = corpus_cfg(pairing);
    bm_corpus_init(&pairing->corpus, &cfg);
    bm_job_context_plan(context, texts ? BM_START_SIGNATURES_AND_TEXTS : BM_START_SIGNATURES);
    bm_job_context_stage(context, BM_STAGE_LOAD, "documents");
    status = bm_signature_inputs_words(pairing->signatures, context, &pairing->corpus, err);
    if (status == BM_OK)
        status = texts ? read_texts(pairing, err)
                       : bm_signature_inputs_documents(pairing->signatures, context, err);
    pairing->has_text = texts;
    return status;
}

/* --- edges --- */

/* For each document i, set (*out)[i] to the index of its source in the list of the rule; n_values:
 * the rule does not list it. */
static bm_status place_sources(const bm_job_context *context, const bm_keep_rule *rule,
                               uint32_t **out, bm_error *err)
{
    const bm_doc_table *docs = &context->docs;
    const bm_file_names *names = &context->inputs.names;
    uint32_t *places = NULL;
    BM_TRY(bm_new(&places, names->n, err));
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_new(out, docs->n, err));
    for (size_t i = 0; i < names->n; i++)
        places[i] =
            (uint32_t)bm_keep_rule_place(rule, (bm_str){names->names[i], strlen(names->names[i])});
    for (size_t i = 0; i < docs->n; i++)
        (*out)[i] = places[bm_doc_table_row(docs, i)->file];
out:
    bm_free(places);
    return status;
}

/* Copy the lengths of the documents into an array, *out, and describe it as a column. Ranking reads
 * columns in any order. If it read the rows of the table in this way, all of them would be brought
 * into memory. */
static bm_status copy_lengths(const bm_doc_table *docs, bm_keep_column *column, void **out,
                              bm_error *err)
{
    uint64_t longest = 0;
    for (size_t i = 0; i < docs->n; i++) {
        const uint64_t bytes = bm_doc_table_row(docs, i)->text_bytes;
        longest = bytes > longest ? bytes : longest;
    }
    const bool wide = longest > UINT32_MAX;
    const size_t width = wide ? sizeof(uint64_t) : sizeof(uint32_t);
    *out = bm_alloc(docs->n, width);
    if (*out == NULL)
        return bm_fail_nomem(err, docs->n * width);
    for (size_t i = 0; i < docs->n; i++) {
        const uint64_t bytes = bm_doc_table_row(docs, i)->text_bytes;
        if (wide)
            ((uint64_t *)*out)[i] = bytes;
        else
            ((uint32_t *)*out)[i] = (uint32_t)bytes;
    }
    column->numbers = *out;
    column->width = width;
    return BM_OK;
}

/* Rank by rules that read no field. */
static bm_status rank_by_columns(bm_pairing *pairing, bm_error *err)
{
    const bm_job_context *context = &pairing->job->context;
    const bm_keep_rules *rules = &context->settings->keep;
    const bm_doc_table *docs = &context->docs;
    bm_keep_column *columns = NULL;
    void **arrays = NULL; /* the data of each column */
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_new_zero(&columns, rules->n, err));
    BM_TRY_OUT(bm_new_zero(&arrays, rules->n, err));
    for (size_t i = 0; i < rules->n; i++) {
        columns[i].greatest = rules->rules[i].kind == BM_KEEP_RULE_LONGEST;
        if (rules->rules[i].kind != BM_KEEP_RULE_SOURCES) {
            BM_TRY_OUT(copy_lengths(docs, &columns[i], &arrays[i], err));
            continue;
        }
        uint32_t *places = NULL;
        status = place_sources(context, &rules->rules[i], &places, err);
        arrays[i] = places;
        if (status != BM_OK)
            goto out;
        columns[i] = (bm_keep_column){.numbers = places, .width = sizeof *places};
    }
    status = bm_keep_rank_make(&(bm_keep_order){columns, rules->n, rules->last}, docs->n,
                               &pairing->rank, err);
    pairing->rank.none = rules->none;
out:
    for (size_t i = 0; arrays != NULL && i < rules->n; i++)
        bm_free(arrays[i]);
    bm_free_all(arrays, columns);
    return status;
}

/* Rank by the number of distinct shingles, and documents with equal numbers by length. The greatest
 * comes first. */
static bm_status rank_by_shingles(bm_pairing *pairing, bm_error *err)
{
    const bm_doc_table *docs = &pairing->job->context.docs;
    const uint32_t *sizes = pairing->corpus.sizes;
    bm_keep_column columns[] = {{sizes, sizeof *sizes, true}, {.greatest = true}};
    void *lengths = NULL;
    BM_TRY(copy_lengths(docs, &columns[1], &lengths, err));
    const bm_status status =
        bm_keep_rank_make(&(bm_keep_order){columns, 2, false}, docs->n, &pairing->rank, err);
    bm_free(lengths);
    return status;
}

/* Rank the documents by their shingles, if the settings ask for that, else by the rules of `keep`.
 * All documents must have been read. */
static bm_status rank_documents(bm_pairing *pairing, bm_error *err)
{
    bm_job_context *context = &pairing->job->context;
    if (context->settings->pairs.by_shingles)
        return rank_by_shingles(pairing, err);
    if (context->keep.rules == NULL)
        return rank_by_columns(pairing, err);
    BM_TRY(bm_keep_keys_rank(&context->keep, &pairing->rank, err));
    if (pairing->rank.n != context->docs.n)
        return bm_fail(err, BM_ERR_INTERNAL, "%zu documents were ranked, of %zu", pairing->rank.n,
                       context->docs.n);
    if (context->settings->parts == NULL) /* for parts, the outer job logs this */
        bm_keep_keys_log(&context->keep, &context->meter);
    return BM_OK;
}

/* Count the copies that do not certainly have the same text as their representative. */
static uint64_t count_equal(const bm_corpus *corpus)
{
    uint64_t n = 0;
    for (size_t i = 0; corpus->n_identical > 0 && i < corpus->n; i++) {
        if (corpus->cfg.docs != NULL)
            bm_doc_table_pass(corpus->cfg.docs, i);
        n += corpus->rep[i] != i && !bm_corpus_same_text(corpus, i, corpus->rep[i]);
    }
    return n;
}

#define SHINGLES_OPH 10u /* shingles per word from which the words of oph are nearly independent */

/* The least number of shingles from which warn_of_unlikely can judge a pair. If the smaller
 * document has fewer shingles, equal signatures are not suspicious. The limit is at least 2, since
 * an imported document without a count has 1. UINT32_MAX: no pair of this scheme can be judged. */
static uint32_t judged_from(const bm_sketch_options *sketch)
{
    if (sketch->scheme == BM_SCHEME_CWS)
        return UINT32_MAX;
    return sketch->scheme == BM_SCHEME_OPH ? SHINGLES_OPH * sketch->perms : 2;
}

/* Warn of pairs of documents that have the same signature although their numbers of shingles are
 * too different for this. */
static void warn_of_unlikely(const bm_pairing *pairing)
{
    const bm_match_counts *counts = &pairing->match.result.counts;
    const bm_doc_table *docs = &pairing->job->context.docs;
    const uint32_t *sizes = pairing->corpus.sizes;
    const uint32_t a = counts->first_unlikely.a, b = counts->first_unlikely.b;
    if (counts->unlikely == 0)
        return;
    const bm_str x = bm_doc_table_id(docs, a), y = bm_doc_table_id(docs, b);
    bm_meter_log(&pairing->job->context.meter, BM_LOG_WARNING,
                 "%" PRIu64 " pair%s the same signature, though one document has far more shingles "
                 "than the other (the first: %.*s has %u, %.*s has %u): were they signed by hashes "
                 "that are not random? (`verify` exact compares the documents themselves)",
                 counts->unlikely, counts->unlikely == 1 ? " has" : "s have",
                 (int)(x.len < 100 ? x.len : 100), x.data, sizes[a],
                 (int)(y.len < 100 ? y.len : 100), y.data, sizes[b]);
}

static bm_status find_edges(bm_pairing *pairing, bm_error *err)
{
    bm_job *job = pairing->job;
    bm_job_context *context = &job->context;
    const bm_settings *s = context->settings;
    bm_doc_table_end_adding(&context->docs);
    BM_TRY(rank_documents(pairing, err));
    const bool contained = s->pairs.verify == BM_VERIFY_CONTAINED;
    bm_share share = {0};
    if (contained)
        bm_share_of(s->pairs.containment, &share);
    bm_job_context_stage(context, BM_STAGE_MATCH, "bands");
    pairing->match =
        (bm_match){.settings = {.corpus = &pairing->corpus,
                                .pool = context->pool,
                                .meter = &context->meter,
                                .verify = s->pairs.verify,
                                .judged_from = judged_from(&s->sketch),
                                .measure = s->pairs.measure,
                                .threshold = contained ? 0 : s->bands.threshold,
                                .share = share,
                                .only_groups = pairing->only_groups,
                                .known = pairing->against != NULL ? &pairing->known : NULL,
                                .stars = pairing->only_stars ? &pairing->rank : NULL,
                                .all_candidates = s->pairs.candidates != BM_CANDIDATES_LSH}};
    bm_status status =
        s->parts != NULL && s->parts->only_equal ? bm_match_begin(&pairing->match, err)
        : job->checkpoint.dir != NULL ? bm_checkpoint_match(&job->checkpoint, &pairing->match, err)
                                      : bm_match_run(&pairing->match, err);
    const bm_match_result *found = &pairing->match.result;
    context->stats.verify_seconds = found->counts.verify_seconds;
    context->stats.corpus = &pairing->corpus;
    if (found->edges != NULL)
        context->stats.edge_bytes = bm_sorted_runs_spilled(found->edges);
    context->counts.identical = pairing->corpus.n_identical;
    context->counts.equal = count_equal(&pairing->corpus);
    context->counts.candidates = found->counts.candidates;
    context->counts.verified = found->counts.verified;
    context->counts.edges = found->counts.edges;
    context->counts.not_compared = found->counts.not_compared + context->against.not_compared;
    if (status == BM_OK)
        warn_of_unlikely(pairing);
    return status;
}

/* Warn if the only input was read as one document because of its name, so that there is nothing to
 * compare. */
static void hint_at_lines(const bm_pairing *pairing)
{
    bm_job_context *context = &pairing->job->context;
    if (context->docs.n == 1 && context->settings->input.format == BM_FORMAT_AUTO &&
        pairing->against == NULL && bm_job_context_format(context) == BM_FORMAT_FILES)
        bm_meter_log(&context->meter, BM_LOG_WARNING,
                     "%.300s is one document (`format` lines: each of its lines is one)",
                     context->inputs.names.names[0]);
}

static bm_status pair(bm_pairing *pairing, bm_error *err)
{
    pairing->has_text = pairing->signatures == NULL;
    BM_TRY(pairing->signatures != NULL ? read_signatures(pairing, err)
                                       : read_documents(pairing, err));
    if (pairing->job->summary != NULL)
        return BM_OK;
    hint_at_lines(pairing);
    if (pairing->against != NULL)
        BM_TRY(bm_against_find(pairing->against, &pairing->job->context, &pairing->corpus,
                               &pairing->known, err));
    BM_TRY(find_edges(pairing, err));
    bm_log_spill(&pairing->job->context);
    return BM_OK;
}

bm_status bm_pairing_group(const bm_pairing *pairing, bm_grouping *out, bm_error *err)
{
    const bm_pair_settings *pairs = &pairing->job->context.settings->pairs;
    const bm_grouping_options options = {
        .rank = &pairing->rank, .cluster = pairs->cluster, .most = pairs->max_group_size};
    return bm_grouping_make(&pairing->match, &options, out, err);
}

static bm_status run(bm_settings *settings, const sources *from, bm_pairing_end_fn *end,
                     bm_summary **out, bm_error *err)
{
    bm_job job;
    const bool components = settings->pairs.cluster == BM_CLUSTER_COMPONENTS &&
                            settings->pairs.verify != BM_VERIFY_CONTAINED;
    const bool no_pairs = bm_job_does(settings, BM_JOB_GROUPS) && !settings->results.write_pairs;
    bm_pairing pairing = {.job = &job,
                          .signatures = from->signatures,
                          .against = from->against,
                          .only_groups = no_pairs && components,
                          .only_stars = no_pairs && !components};
    BM_TRY(bm_job_open(settings, &job, err));
    if (from->against != NULL)
        bm_against_log(from->against, &job.context.meter);
    if (from->signatures != NULL)
        bm_job_context_reserve(&job.context, bm_signature_inputs_bytes(from->signatures));
    if (settings->keep.n_by_field > 0)
        bm_job_context_reserve(&job.context, bm_keep_keys_memory(settings->memory));
    bm_status status = BM_OK;
    if (from->against != NULL)
        BM_TRY_OUT(bm_against_read(from->against, &job.context, settings, err));
    BM_TRY_OUT(pair(&pairing, err));
    if (job.summary == NULL)
        BM_TRY_OUT(end(&pairing, err));
out:
    bm_checkpoint_close(&job.checkpoint, status, err);
    bm_match_reset(&pairing.match); /* the checkpoint no longer uses match and corpus */
    bm_corpus_reset(&pairing.corpus);
    bm_known_reset(&pairing.known);
    bm_keep_rank_reset(&pairing.rank);
    return bm_job_close(&job, status, out);
}

/* If exact verification has failed, and the job may verify by signature instead, change the
 * settings accordingly and return true. */
static bool fall_back(const sources *from, bm_settings *settings, bm_status status,
                      const bm_error *why)
{
    if ((from->against == NULL || !bm_against_fall_back(from->against, settings, status, why)) &&
        (from->signatures == NULL ||
         !bm_signature_inputs_fall_back(from->signatures, settings, status, why)))
        return false;
    if (from->signatures == NULL)
        choose_words(settings);
    return true;
}

bm_status bm_pairing_job(bm_settings *settings, bm_pairing_end_fn *end, bm_summary **out,
                         bm_error *err)
{
    sources from = {0};
    bm_error why = {0};
    bm_weighed weighed = {0};
    settings->recorded.weighed = &weighed;
    bm_status status = resolve(settings, &from, err);
    if (status == BM_OK) {
        status = run(settings, &from, end, out, &why);
        if (fall_back(&from, settings, status, &why))
            status = run(settings, &from, end, out, &why);
        if (status != BM_OK && err != NULL)
            *err = why;
    }
    bm_signature_inputs_close(from.signatures);
    bm_against_close(from.against);
    return status;
}
