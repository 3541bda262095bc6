/* kernel_tune_report.c -- the rows that were found, as CSV for a file and as JSON with all that was
 * tried.
 *
 * Tests: tests/cli/cases/bench_tune.sh */
#include "bench/kernel_tune_report.h"

#include <stdio.h>
#include <string.h>

#include <bandmill/version.h>

#include "base/error.h"
#include "json/json_write.h"

static bm_status take_text(bm_buf *buf, char **out, bm_error *err)
{
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_buf_end(buf, err));
    *out = bm_strdup(buf->data);
    if (*out == NULL)
        BM_TRY_OUT(bm_fail_nomem(err, buf->len));
out:
    bm_buf_reset(buf);
    return status;
}

static bm_status write_csv(const bm_kernel_tune_report *report, char **csv, bm_error *err)
{
    char text[BM_KERNEL_PARAMS_TEXT];
    bm_buf out = {0};
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_buf_add_format(&out, err, "%s\n", bm_kernel_params_header));
    for (size_t i = 0; i < report->n; i++) {
        const bm_kernel_tune_result *r = &report->results[i];
        bm_kernel_params_format(&r->best, text);
        BM_TRY_OUT(bm_buf_add_format(
            &out, err,
            "# driver %s, %u permutations: %.1f M shingles/s in the kernels, %.1f from the host; "
            "%.3f and %.3f of the row before\n%s\n",
            r->info.driver, report->options->sketch.perms, r->now.kernel, r->now.host,
            r->now.kernel / r->before.kernel, r->now.host / r->before.host, text));
    }
    return take_text(&out, csv, err);
out:
    bm_buf_reset(&out);
    return status;
}

static void write_row(bm_json *json, const char *key, const bm_kernel_params *row)
{
    char text[BM_KERNEL_PARAMS_TEXT];
    bm_kernel_params_format(row, text);
    bm_json_key_text(json, key, text);
}

static void write_score(bm_json *json, const bm_kernel_tune_score *score)
{
    bm_json_key_double(json, "kernel_mshingles_s", score->kernel);
    bm_json_key_double(json, "host_mshingles_s", score->host);
}

static void write_result(bm_json *json, const bm_kernel_tune_result *r)
{
    bm_json_begin_object(json);
    bm_json_key_text(json, "device", r->info.spec);
    bm_json_key_text(json, "name", r->info.name);
    bm_json_key_text(json, "platform", r->info.platform);
    bm_json_key_text(json, "driver", r->info.driver);
    bm_json_key_uint(json, "compute_units", r->info.compute_units);
    bm_json_key_uint(json, "hashes", r->n_hashes);
    bm_json_key(json, "better");
    bm_json_bool(json, r->better);
    bm_json_key(json, "present");
    bm_json_begin_object(json);
    write_row(json, "row", &r->present);
    write_score(json, &r->before);
    bm_json_end_object(json);
    bm_json_key(json, "tuned");
    bm_json_begin_object(json);
    write_row(json, "row", &r->best);
    write_score(json, &r->now);
    bm_json_key_double(json, "kernel_ratio", r->now.kernel / r->before.kernel);
    bm_json_key_double(json, "host_ratio", r->now.host / r->before.host);
    bm_json_end_object(json);
    bm_json_key(json, "tried");
    bm_json_begin_array(json);
    for (size_t i = 0; i < r->n_tried; i++) {
        bm_json_begin_object(json);
        write_row(json, "row", &r->tried[i].row);
        if (r->tried[i].score.kernel > 0)
            write_score(json, &r->tried[i].score);
        else
            bm_json_key_text(json, "left_out", r->tried[i].why);
        bm_json_end_object(json);
    }
    bm_json_end_array(json);
    bm_json_end_object(json);
}

static bm_status write_json(const bm_kernel_tune_report *report, char **text, bm_error *err)
{
    const bm_kernel_tune_options *options = report->options;
    const bm_version_info *version = bm_version();
    bm_json json = {.pretty = true};
    bm_json_begin_object(&json);
    bm_json_key_uint(&json, "schema", 1);
    bm_json_key_text(&json, "version", version->version);
    bm_json_key_text(&json, "kernels", version->kernels);
    bm_json_key_uint(&json, "perms", options->sketch.perms);
    bm_json_key_uint(&json, "repeats", options->repeats);
    bm_json_key_double(&json, "min_seconds", options->min_seconds);
    bm_json_key(&json, "devices");
    bm_json_begin_array(&json);
    for (size_t i = 0; i < report->n; i++)
        write_result(&json, &report->results[i]);
    bm_json_end_array(&json);
    bm_json_end_object(&json);
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_json_finish(&json, err));
    return take_text(&json.buf, text, err);
out:
    bm_buf_reset(&json.buf);
    return status;
}

bm_status bm_kernel_tune_write(const bm_kernel_tune_report *report, char **csv, char **json,
                               bm_error *err)
{
    char *csv_text = NULL, *json_text = NULL;
    bm_status status = BM_OK;
    if (csv != NULL)
        BM_TRY_OUT(write_csv(report, &csv_text, err));
    if (json != NULL)
        BM_TRY_OUT(write_json(report, &json_text, err));
out:
    if (status != BM_OK) {
        bm_free(csv_text);
        return status;
    }
    if (csv != NULL)
        *csv = csv_text;
    if (json != NULL)
        *json = json_text;
    return BM_OK;
}
