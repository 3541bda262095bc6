/* SPDX-License-Identifier: Apache-2.0 */
/* job_dedup.c -- the `dedup` command: finds groups of documents, and writes removed and kept
 * documents.
 *
 * The documents are read, signed, put into buckets, verified and grouped. Then the inputs are read
 * a second time, and the kept records are copied unchanged.
 *
 * Tests: tests/unit/jobs/test_jobs.c */
#include <bandmill/job.h>

#include <stdio.h>

#include "base/error.h"
#include "job/job_context.h"
#include "job/kept_pass.h"
#include "job/report_file.h"
#include "job/rows.h"
#include "job/settings.h"
#include "jobs/pairing.h"
#include "match/edges.h"
#include "model/file_names.h"
#include "output/out_dir.h"
#include "parts/units.h"

static void fill_counts(bm_counts *counts, const bm_grouping *grouping)
{
    counts->groups = grouping->n_groups;
    counts->removed = grouping->n_removed;
    counts->chained = grouping->n_chained;
    counts->results.removed_identical = grouping->n_identical;
    counts->removed_equal = grouping->n_equal;
    counts->results.known = grouping->n_known;
    counts->results.divided = grouping->n_divided;
    counts->kept = counts->documents - counts->removed;
    counts->largest_group = grouping->largest;
}

/* Write pairs.tsv, and add the similarities to `histogram`. */
static bm_status write_pairs_file(const bm_pairing *pairing, uint64_t *histogram, bm_out_dir *dir,
                                  bm_error *err)
{
    bm_rows rows = {0};
    bm_pair_rows pairs = {.match = &pairing->match,
                          .docs = &pairing->job->context.docs,
                          .chain = true,
                          .all_digits = pairing->job->context.settings->results.all_digits,
                          .histogram = histogram};
    BM_TRY(bm_out_dir_file(dir, BM_FILE_PAIRS, &rows.file, err));
    const bm_status status = bm_rows_pairs(&rows, &pairs, err);
    pairing->job->context.counts.results.pairs = pairs.n_written;
    pairing->job->context.counts.results.identical_pairs = pairs.n_identical;
    return bm_rows_close(&rows, status, err);
}

static bm_status write_files(const bm_pairing *pairing, const bm_grouping *grouping,
                             uint64_t *histogram, bm_error *err)
{
    bm_job_context *context = &pairing->job->context;
    const bm_settings *s = context->settings;
    const bm_doc_table *docs = &context->docs;
    const bm_file_names *names = &context->inputs.names;
    bm_out_dir *dir = pairing->job->checkpoint.dir;
    bm_job_context_stage(context, BM_STAGE_WRITE, "bytes");
    const bm_lost_source removed = {grouping, &pairing->corpus};
    const bm_losses losses = bm_lost_count(&removed, &context->docs);
    context->counts.results.removed_bytes = losses.removed_bytes;
    context->counts.results.removed_shingles = losses.removed_shingles;
    context->counts.results.lost_shingles = losses.lost_shingles;
    if (dir == NULL) /* only the kept documents are written, to the caller's stream */
        return bm_kept_pass(context, grouping->reason, NULL, pairing->has_text, NULL, err);
    BM_TRY(bm_rows_sources(dir, docs, grouping, names, err));
    BM_TRY(bm_rows_removed(dir, context, &removed, err));
    BM_TRY(bm_rows_groups(dir, docs, grouping, context->pool, err));
    if (s->results.write_pairs) {
        context->stats.similarities = histogram;
        BM_TRY(write_pairs_file(pairing, histogram, dir, err));
    }
    BM_TRY(bm_rows_skipped(dir, context, err));
    return bm_kept_pass(context, grouping->reason, NULL, pairing->has_text, dir, err);
}

static bm_status group_and_write(const bm_pairing *pairing, bm_error *err)
{
    bm_job *job = pairing->job;
    bm_grouping grouping;
    uint64_t histogram[BM_HISTOGRAM_BINS] = {0};
    bm_job_context_stage(&job->context, BM_STAGE_GROUP, "documents");
    BM_TRY(bm_pairing_group(pairing, &grouping, err));
    bm_status status = BM_OK;
    if (pairing->against != NULL)
        status = bm_against_compare(pairing->against, &pairing->match, &grouping, err);
    fill_counts(&job->context.counts, &grouping);
    bm_report_warn_dominant(&job->context);
    if (status == BM_OK)
        status = write_files(pairing, &grouping, histogram, err);
    if (status == BM_OK)
        status = bm_job_finish(job,
                               &(bm_job_ending){.dir = job->checkpoint.dir,
                                                .report_name = BM_FILE_REPORT,
                                                .grouping = &grouping,
                                                .commit_checkpoint = true},
                               err);
    bm_grouping_reset(&grouping);
    return status;
}

static bm_status end_units(const bm_pairing *pairing, bm_error *err)
{
    const bm_job_context *context = &pairing->job->context;
    bm_grouping grouping;
    BM_TRY(bm_pairing_group(pairing, &grouping, err));
    bm_checkpoint_take_back(&pairing->job->checkpoint, context->settings->parts->checkpoint);
    const bm_status status = bm_units_found(context, &pairing->match, &grouping, err);
    bm_grouping_reset(&grouping);
    return status;
}

static bm_status pair_units(bm_settings *of_units, bm_error *err)
{
    bm_summary *none = NULL;
    return bm_pairing_job(of_units, end_units, &none, err);
}

/* Run `dedup` on parts of documents. Signatures are refused, since finding parts needs texts. */
static bm_status dedup_units(bm_settings *settings, bm_summary **out, bm_error *err)
{
    bool is_signatures = false;
    BM_TRY(bm_recipe_are_signed(settings, &is_signatures, err));
    if (is_signatures)
        return bm_fail_field(err, "unit", "`unit` takes documents, not signatures");
    if (bm_settings_pair_units(settings))
        BM_TRY(bm_pairing_resolve(settings, err));
    return bm_units_job(settings, pair_units, out, err);
}

bm_status bm_job_dedup(const bm_dedup_options *options, bm_summary **out, bm_error *err)
{
    bm_settings settings;
    if (out == NULL)
        return bm_fail_field(err, "out", "no place for the summary given");
    BM_TRY(bm_settings_of_dedup(options, &settings, err));
    bm_status status = settings.pairs.unit != BM_UNIT_DOCUMENT
                           ? dedup_units(&settings, out, err)
                           : bm_pairing_job(&settings, group_and_write, out, err);
    bm_settings_reset(&settings);
    return status;
}

/* === job pairs ===
 *
 * The `pairs` command: writes every pair at or above the threshold. */

/* Write the text to a file at `path`, and empty the buffer. */
static bm_status write_text(bm_job *job, const char *path, bm_buf *text, bm_error *err)
{
    bm_rows rows = {0};
    BM_TRY(bm_out_file_open(path, bm_out_existing_of(job->context.settings->output.force),
                            &rows.file, err));
    bm_status status = bm_out_file_write(rows.file, text->data, text->len, err);
    text->len = 0;
    return bm_rows_end_in(&rows, &job->files, status, err);
}

static void describe_candidates(const bm_settings *s, char *out, size_t cap)
{
    static const char *const measures[] = {"", "verified exactly", "similarity by signature",
                                           "not verified"};
    if (s->pairs.candidates != BM_CANDIDATES_LSH)
        snprintf(out, cap, "every pair compared, exactly");
    else if (s->input.format == BM_FORMAT_KEYS)
        snprintf(out, cap, "candidates of band keys made elsewhere, not verified");
    else
        snprintf(out, cap, "candidates of %u bands of %u rows, %s", s->plan.bands, s->plan.rows,
                 measures[s->pairs.verify]);
}

static bm_status write_histogram(bm_job *job, const uint64_t *histogram, bm_error *err)
{
    const bm_job_context *context = &job->context;
    const bm_settings *s = context->settings;
    bm_buf text = {0};
    char how[128];
    describe_candidates(s, how, sizeof how);
    bm_histogram_picture picture = {.bins = histogram,
                                    .threshold = s->bands.threshold,
                                    .n_documents = context->docs.n,
                                    .n_pairs = context->counts.results.pairs,
                                    .what = how};
    bm_status status = BM_OK;
    if (s->results.histogram != NULL) {
        BM_TRY_OUT(bm_histogram_tsv(&text, histogram, err));
        BM_TRY_OUT(write_text(job, s->results.histogram, &text, err));
    }
    if (s->results.histogram_svg != NULL) {
        BM_TRY_OUT(bm_histogram_svg(&text, &picture, err));
        BM_TRY_OUT(write_text(job, s->results.histogram_svg, &text, err));
    }
out:
    bm_buf_reset(&text);
    return status;
}

static bm_status read_texts(const bm_pairing *pairing, bm_pair_texts *out, bm_error *err)
{
    bm_job_context *context = &pairing->job->context;
    if (!pairing->has_text || !context->inputs.source->ops->has_text)
        return bm_fail_field(err, "edit", "`edit` needs texts, of which there are none");
    return bm_pair_texts_read(context, &pairing->match, out, err);
}

static bm_status write_pairs(const bm_pairing *pairing, bm_error *err)
{
    bm_job_context *context = &pairing->job->context;
    const bm_settings *s = context->settings;
    uint64_t histogram[BM_HISTOGRAM_BINS] = {0};
    bm_rows rows = {.write = s->results.write, .write_ctx = s->results.write_ctx};
    bm_pair_rows pairs = {.match = &pairing->match,
                          .docs = &context->docs,
                          .chain = s->pairs.identical == BM_IDENTICAL_CHAIN,
                          .measure = s->pairs.measure,
                          .json = s->results.json && s->output.path == NULL,
                          .all_digits = s->results.all_digits,
                          .histogram = histogram};
    bm_pair_texts texts = {0};
    if (s->pairs.edit)
        BM_TRY(read_texts(pairing, &texts, err));
    pairs.texts = s->pairs.edit ? &texts : NULL;
    bm_job_context_stage(context, BM_STAGE_WRITE, "pairs");
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_rows_open(&rows, &s->output, err));
    status = bm_rows_pairs(&rows, &pairs, err);
    context->counts.results.edit_unknown = pairs.n_edit_unknown;
    context->counts.results.pairs = pairs.n_written;
    context->counts.results.identical_pairs = pairs.n_identical;
    status = bm_rows_end_in(&rows, &pairing->job->files, status, err);
    if (status == BM_OK)
        status = write_histogram(pairing->job, histogram, err);
out:
    bm_pair_texts_close(&texts);
    return status == BM_OK ? bm_job_finish(pairing->job, &(bm_job_ending){.dir = NULL}, err)
                           : status;
}

bm_status bm_job_pairs(const bm_pairs_options *options, bm_summary **out, bm_error *err)
{
    bm_settings settings;
    if (out == NULL)
        return bm_fail_field(err, "out", "no place for the summary given");
    BM_TRY(bm_settings_of_pairs(options, &settings, err));
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_settings_check_keys(&settings, err));
    status = bm_pairing_job(&settings, write_pairs, out, err);
out:
    bm_settings_reset(&settings);
    return status;
}
