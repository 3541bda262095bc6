/* explain_run.c -- the texts of two documents, read again, as units (text/text_units.h); then the longest run that is in both.
 *
 * Tests: tests/reference/test_measure.py, tests/cli/cases/explain.sh */
#include "base/error.h"
#include "lsh/two_sequences.h"
#include "report/explainer.h"
#include "text/text_units.h"

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

static bm_status compare_texts(const bm_text_options *options, const bm_buf texts[2],
                               bm_shared_run *out, bm_error *err)
{
    bm_text_units units[2] = {{0}, {0}};
    bm_common_run run;
    bm_status status = BM_OK;
    for (size_t i = 0; i < 2; i++)
        BM_TRY_OUT(
            bm_text_units_make(options, (bm_str){texts[i].data, texts[i].len}, &units[i], err));
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

static bm_status read_and_compare(bm_explainer *e, bm_error *err)
{
    bm_id_set two = {0};
    bm_buf texts[2] = {{0}, {0}};
    bm_text_options options;
    uint32_t number;
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_id_set_add(&two, bm_id_set_id(&e->ids, e->a), &number, err));
    BM_TRY_OUT(bm_id_set_add(&two, bm_id_set_id(&e->ids, e->b), &number, err));
    BM_TRY_OUT(bm_explain_texts_read(e->settings, e->manifest, e->options->streams[1], &two, texts,
                                     &options, err));
    status = compare_texts(&options, texts, &e->answer.run, err);
out:
    bm_id_set_reset(&two);
    bm_buf_reset(&texts[0]);
    bm_buf_reset(&texts[1]);
    return status;
}

bm_status bm_explain_run(bm_explainer *e, bm_error *err)
{
    bm_error inner = {0};
    char why[2100];
    if (e->a == e->b)
        return BM_OK;
    const bm_status status = read_and_compare(e, &inner);
    if (status == BM_ERR_IO || status == BM_ERR_FORMAT || status == BM_ERR_INPUT) {
        bm_error_format(&inner, why, sizeof why);
        bm_meter_log(&e->context.meter, BM_LOG_WARNING,
                     "what the two have in common is not known: %s", why);
        return BM_OK;
    }
    if (status != BM_OK && err != NULL)
        *err = inner;
    return status;
}
