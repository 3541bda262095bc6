/* pairing.c -- documents to edges. Signatures instead of documents: pairing_signatures.c. */
#include "pipeline/jobs/pairing.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "pipeline/jobs/pairing_signatures.h"
#include "pipeline/output/report_spill.h"
#include "pipeline/corpus/sample.h"
#include "sketch/scheme.h"

/* Under exact verification only the words that make the keys are computed, where the scheme can. */
static void settle(bm_job_context *run)
{
    if (run->verify == BM_VERIFY_AUTO)
        run->verify = BM_VERIFY_EXACT;
    run->perms_used = run->verify == BM_VERIFY_SIGNATURE
                          ? run->sketch.perms
                          : bm_scheme_words(&run->sketch, run->plan.bands * run->plan.rows);
}

/* Read all documents, keep a sample of them. */
static bm_status read_sample(bm_job_context *run, bm_corpus *corpus, bm_error *err)
{
    bm_sample sample;
    bm_sample_init(&sample, (size_t)run->job->sample, run->job->sketch.seed, corpus);
    bm_status status = bm_job_context_ingest(run, corpus->cfg.perms > 0, corpus->cfg.bands > 0,
                                             bm_sample_add, &sample, err);
    if (status == BM_OK)
        status = bm_sample_finish(&sample, &run->docs, err);
    run->counts.sampled = run->docs.n;
    bm_sample_reset(&sample);
    return status;
}

static bm_status read_documents(bm_job_context *run, bool edges, bm_pairing *out, bm_error *err)
{
    bm_corpus *corpus = &out->corpus;
    bool all = run->job->all_candidates;
    bm_corpus_cfg cfg = {.hashes = run->verify == BM_VERIFY_EXACT,
                         .find_identical = true,
                         .bands = all ? 0 : run->plan.bands,
                         .perms = run->verify == BM_VERIFY_SIGNATURE ? run->sketch.perms : 0,
                         .memory = run->memory,
                         .docs = &run->docs,
                         .edges = edges,
                         .input_bytes = bm_input_set_total_bytes(run->inputs)};
    bm_status status = BM_OK;
    if (!all)
        status = bm_job_context_devices(run, run->plan.bands, run->plan.rows, err);
    cfg.budget = run->budget;
    cfg.temp_dir = run->temp_dir;
    bm_corpus_init(corpus, &cfg);
    if (status == BM_OK &&
        out->checkpoint != NULL) /* what an interrupted job has left comes first */
        status = bm_checkpoint_load(out->checkpoint, corpus, err);
    bm_job_context_stage(run, all ? "read" : "sign", "bytes");
    if (status != BM_OK)
        return status;
    if (run->job->sample > 0)
        return read_sample(run, corpus, err);
    if (out->checkpoint != NULL)
        return bm_checkpoint_ingest(out->checkpoint, cfg.perms > 0, cfg.bands > 0, bm_corpus_add,
                                    corpus, err);
    return bm_job_context_ingest(run, cfg.perms > 0, cfg.bands > 0, bm_corpus_add, corpus, err);
}

bm_status bm_pairing_run(bm_job_context *run, bool twice, bool output_is_dir, bool only_groups,
                         bm_pairing *out, bm_error *err)
{
    bm_status status;
    bool signatures;
    status = bm_pairing_is_signatures(run->job, &signatures, err);
    if (status == BM_OK && signatures && run->job->sample > 0)
        return bm_fail(err, BM_ERR_USAGE, "--sample takes documents, not signatures");
    if (status == BM_OK && signatures) {
        out->corpus.cfg.edges = !only_groups;
        status = bm_pairing_load_signatures(run, output_is_dir, out, err);
    } else if (status == BM_OK) {
        out->has_text = true;
        if (!run->job->all_candidates)
            status = bm_job_context_plan(run, err);
        settle(run);
        if (status == BM_OK)
            status = bm_job_context_inputs(run, twice, output_is_dir, err);
        if (status == BM_OK && out->checkpoint != NULL)
            status = bm_checkpoint_open(run, true, out->checkpoint, err);
        if (status == BM_OK)
            status = read_documents(run, !only_groups, out, err);
    }
    if (status == BM_OK) {
        bm_doc_table_end_adding(&run->docs);
        bm_job_context_stage(run, "match", "bands");
        out->match = (bm_match){.settings = {.corpus = &out->corpus,
                                             .pool = run->pool,
                                             .meter = &run->meter,
                                             .verify = run->verify,
                                             .threshold = run->job->lsh.threshold,
                                             .only_groups = only_groups,
                                             .all_candidates = run->job->all_candidates}};
        status = out->checkpoint != NULL ? bm_checkpoint_match(out->checkpoint, &out->match, err)
                                         : bm_match_run(&out->match, err);
        run->verify_seconds = out->match.result.counts.verify_seconds;
        run->corpus = &out->corpus;
        if (out->match.result.edges.runs != NULL)
            run->edge_bytes = bm_sorted_runs_spilled(out->match.result.edges.runs);
    }
    if (status == BM_OK)
        bm_say_spill(run);
    return status;
}

void bm_pairing_reset(bm_pairing *pairing)
{
    bm_match_reset(&pairing->match);
    bm_corpus_reset(&pairing->corpus);
    bm_pairing_dirs_free(pairing->dirs);
    pairing->dirs = NULL;
}
