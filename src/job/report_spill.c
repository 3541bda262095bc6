/* report_spill.c -- bytes of temporary files, copies of standard input too, and where verification took its sets from.
 *
 * Tests: tests/identity/test_product.py */
#include "job/report_spill.h"

static uint64_t copied(const bm_job_context *job)
{
    return job->inputs.set != NULL ? bm_input_set_copied(job->inputs.set) : 0;
}

static void report_corpus(bm_json *json, const bm_job_context *job)
{
    bm_corpus_spilled files = bm_corpus_spilled_bytes(job->story.corpus);
    bm_json_key_text(json, "sets_from", files.set_bytes > 0 ? "file" : "memory");
    bm_json_key_uint(json, "set_bytes", files.set_bytes);
    bm_json_key_uint(json, "set_bytes_read_back", files.bytes_back);
    bm_json_key_uint(json, "key_bytes", files.key_bytes);
    bm_json_key_uint(json, "edge_bytes", job->story.edge_bytes);
}

void bm_report_spill(bm_json *json, const bm_job_context *job)
{
    if (job->story.corpus == NULL && copied(job) == 0)
        return;
    bm_json_key(json, "temporary_files");
    bm_json_begin_object(json);
    if (job->story.corpus != NULL)
        report_corpus(json, job);
    bm_json_key_uint(json, "input_bytes", copied(job));
    bm_json_end_object(json);
}

static unsigned long long mib(uint64_t bytes)
{
    return (unsigned long long)((bytes + (1u << 20) - 1) >> 20);
}

void bm_say_spill(bm_job_context *job)
{
    bm_corpus_spilled files = bm_corpus_spilled_bytes(job->story.corpus);
    if (files.set_bytes + files.key_bytes + job->story.edge_bytes == 0)
        return;
    bm_meter_log(&job->meter, BM_LOG_DEBUG,
                 "temporary files under %s: %llu MiB of sets, %llu MiB of band keys, %llu MiB of "
                 "edges; verification read %llu MiB of sets back, in order of their places",
                 job->settings->temp_dir, mib(files.set_bytes), mib(files.key_bytes),
                 mib(job->story.edge_bytes), mib(files.bytes_back));
}
