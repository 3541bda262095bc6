/* job_dedup.c -- documents to groups, what to remove, and what is kept.
 *
 * Read, sign, bucket, verify, group; then the inputs are read a second time to copy the kept
 * records as they are. */
#include <bandmill/job.h>

#include "base/error.h"
#include "io/output/out_dir.h"
#include "pipeline/match/grouping.h"
#include "pipeline/output/kept_pass.h"
#include "pipeline/jobs/pairing.h"
#include "pipeline/output/report.h"
#include "pipeline/output/rows.h"

static void fill_counts(bm_job_context *run, const bm_pairing *pairing, const bm_grouping *grouping)
{
    bm_counts *c = &run->counts;
    c->identical = pairing->corpus.n_identical;
    c->candidates = pairing->match.result.counts.candidates;
    c->verified = pairing->match.result.counts.verified;
    c->edges = pairing->match.result.counts.edges;
    c->not_compared = pairing->match.result.counts.not_compared;
    c->groups = grouping->n_groups;
    c->removed = grouping->n_removed;
    c->chained = grouping->n_chained;
    c->kept = c->documents - c->removed;
    c->largest_group = grouping->largest;
}

/* Counts the similarities into `histogram`, which is borrowed by the run. */
static bm_status write_pairs_file(bm_job_context *run, const bm_pairing *pairing,
                                  uint64_t *histogram, bm_out_dir *dir, bm_error *err)
{
    bm_rows rows = {0};
    bm_pair_rows pairs = {
        .match = &pairing->match, .docs = &run->docs, .chain = true, .histogram = histogram};
    run->similarities = histogram;
    bm_status status = bm_out_dir_file(dir, "pairs.tsv", &rows.file, err);
    if (status != BM_OK)
        return status;
    status = bm_rows_pairs(&rows, &pairs, err);
    bm_rows_reset(&rows);
    bm_status closed = bm_out_file_close(rows.file, status == BM_OK ? err : NULL);
    return status != BM_OK ? status : closed;
}

static bm_status write_all(bm_job_context *run, const bm_pairing *pairing,
                           const bm_grouping *grouping, bm_summary **out, bm_error *err)
{
    const char *digests;
    bm_out_dir *dir = pairing->checkpoint->dir;
    uint64_t histogram[BM_HISTOGRAM_BINS] = {0};
    bm_job_context_stage(run, "write", "bytes");
    bm_status status = bm_rows_sources(dir, &run->docs, grouping, &run->names, err);
    if (status == BM_OK)
        status = bm_rows_removed(dir, &run->docs, grouping, &run->names, err);
    if (status == BM_OK)
        status = bm_rows_groups(dir, &run->docs, grouping, err);
    if (status == BM_OK && run->job->write_pairs)
        status = write_pairs_file(run, pairing, histogram, dir, err);
    if (status == BM_OK && run->job->input.skip_errors)
        status = bm_rows_skipped(dir, &run->docs, &run->names, err);
    if (status == BM_OK)
        status = bm_kept_pass(run, grouping->reason, pairing->has_text, dir, err);
    if (status == BM_OK) {
        bm_job_context_stage(run, "seal", "files");
        status = bm_out_dir_finish(dir, err);
    }
    if (status == BM_OK)
        status = bm_out_dir_digests(dir, &digests, err);
    if (status == BM_OK)
        status = bm_report_make(run, grouping, digests, out, err);
    if (status == BM_OK)
        status = bm_report_write(run, *out, dir, "report.json", err);
    run->similarities = NULL;
    return status == BM_OK ? bm_checkpoint_commit(pairing->checkpoint, err) : status;
}

static bm_status group_and_write(bm_job_context *run, const bm_pairing *pairing, bm_summary **out,
                                 bm_error *err)
{
    bm_grouping grouping;
    bm_job_context_stage(run, "group", "documents");
    bm_grouping_options options = {
        .docs = &run->docs, .cluster = run->job->lsh.cluster, .keep = run->job->lsh.keep};
    bm_status status = bm_grouping_make(&pairing->match, &options, &grouping, err);
    if (status != BM_OK)
        return status;
    fill_counts(run, pairing, &grouping);
    status = write_all(run, pairing, &grouping, out, err);
    bm_grouping_reset(&grouping);
    return status;
}

bm_status bm_job_dedup(const bm_job *job, bm_summary **out, bm_error *err)
{
    bm_job_context run;
    bm_checkpoint checkpoint = {0};
    bm_pairing pairing = {.checkpoint = &checkpoint};
    bm_summary *summary = NULL;
    if (job->output == NULL)
        return bm_fail(err, BM_ERR_USAGE, "no output given (-o DIR)");
    bm_status status = bm_job_context_open(job, "dedup", &run, err);
    if (status != BM_OK)
        return status;
    bool only_groups = job->lsh.cluster == BM_CLUSTER_COMPONENTS && !job->write_pairs;
    status = bm_pairing_run(&run, job->kept != BM_KEPT_NO, true, only_groups, &pairing, err);
    if (status == BM_OK)
        status = group_and_write(&run, &pairing, &summary, err);
    bm_checkpoint_close(&checkpoint, status, err);
    bm_pairing_reset(&pairing);
    bm_job_context_close(&run);
    if (status != BM_OK) {
        bm_summary_free(summary);
        return status;
    }
    *out = summary;
    return BM_OK;
}
