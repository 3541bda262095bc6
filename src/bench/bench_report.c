/* bench_report.c -- machine, devices, settings and rows, so that a figure is never seen without
 * what it was taken on.
 *
 * Tests: tests/unit/bench/test_bench_run.c */
#include "bench/bench_report.h"

#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include <bandmill/version.h>
#include <bandmill/words.h>

#include "base/cpu.h"
#include "base/error.h"
#include "json/json_write.h"

static void write_machine(bm_json *json, const bm_bench_options *options)
{
    char name[128], isa_text[16] = "";
    bm_isa isa;
    bm_cpu_name(name, sizeof name);
    if (bm_isa_choose(options->device.cpu, &isa, NULL) == BM_OK)
        snprintf(isa_text, sizeof isa_text, "%s", bm_isa_name(isa));
    struct utsname system;
    bm_json_key(json, "machine");
    bm_json_begin_object(json);
    bm_json_key_text(json, "processor", name);
    bm_json_key_uint(json, "processors", bm_cpu_count());
    bm_json_key_text(json, "instruction_set", isa_text);
    if (uname(&system) == 0) {
        char text[sizeof system.sysname + sizeof system.release + 2];
        snprintf(text, sizeof text, "%s %s", system.sysname, system.release);
        bm_json_key_text(json, "system", text);
        bm_json_key_text(json, "architecture", system.machine);
    }
    bm_json_end_object(json);
}

static void write_settings(bm_json *json, const bm_bench_report *report)
{
    const bm_bench_options *options = report->options;
    bm_json_key(json, "settings");
    bm_json_begin_object(json);
    bm_json_key_uint(json, "threads", options->threads);
    bm_json_key_text(json, "scheme", bm_option_word(BM_OPTION_SCHEME, options->sketch.scheme));
    bm_json_key_uint(json, "perms", options->sketch.perms);
    bm_json_key_uint(json, "seed", options->sketch.seed);
    bm_json_key_uint(json, "repeats", options->repeats);
    bm_json_key_double(json, "min_seconds", options->min_seconds);
    bm_json_key_double(json, "seconds", options->seconds);
    bm_json_key_double(json, "price", options->price);
    bm_json_key_double(json, "watts", options->watts);
    bm_json_key_text(json, "words", bm_option_word(BM_OPTION_WORDS, options->text.words));
    bm_json_key_uint(json, "normalize_bits", options->text.normalize);
    bm_json_key_text(json, "text", report->text_made ? "made" : "documents");
    bm_json_key_uint(json, "text_bytes", report->text_bytes);
    bm_json_key_uint(json, "text_documents", report->text_docs);
    bm_json_end_object(json);
}

static void write_devices(bm_json *json, const bm_bench_report *report)
{
    bm_json_key(json, "devices");
    bm_json_begin_array(json);
    for (size_t i = 0; i < report->n_devices; i++) {
        const bm_device_info *device = &report->devices[i];
        bm_json_begin_object(json);
        bm_json_key_text(json, "device", device->spec);
        bm_json_key_text(json, "name", device->name);
        bm_json_key_text(json, "platform", device->platform);
        bm_json_key_text(json, "driver", device->driver);
        bm_json_key_uint(json, "compute_units", device->compute_units);
        bm_json_key_uint(json, "memory_bytes", device->memory_bytes);
        const bm_bench_rates *rates = &report->rates[i];
        bm_json_key_double(json, "mshingles_s", rates->mshingles_s);
        bm_json_key_double(json, "up_mb_s", rates->up_mb_s);
        bm_json_key_double(json, "down_mb_s", rates->down_mb_s);
        bm_json_key_double(json, "disk_read_mb_s", rates->read_mb_s);
        bm_json_key_double(json, "disk_write_mb_s", rates->write_mb_s);
        bm_json_key_uint(json, "host_cores", rates->cores);
        bm_json_end_object(json);
    }
    bm_json_end_array(json);
}

static void write_rows(bm_json *json, const bm_bench_report *report)
{
    bm_json_key(json, "rows");
    bm_json_begin_array(json);
    for (size_t i = 0; i < report->n_rows; i++) {
        const bm_bench_row *row = &report->rows[i];
        bm_json_begin_object(json);
        bm_json_key_text(json, "device", row->device);
        bm_json_key_text(json, "what", row->what);
        bm_json_key_text(json, "unit", row->unit);
        bm_json_key_uint(json, "threads", row->threads);
        bm_json_key_uint(json, "compute_units", row->compute_units);
        bm_json_key_double(json, "median", row->median);
        bm_json_key_double(json, "min", row->min);
        bm_json_key_double(json, "max", row->max);
        if (row->ratio > 0) {
            bm_json_key_double(json, "ratio", row->ratio);
            bm_json_key_text(json, "ratio_to", row->ratio_to);
        }
        bm_json_end_object(json);
    }
    bm_json_end_array(json);
}

bm_status bm_bench_report_write(const bm_bench_report *report, char **json, bm_error *err)
{
    const bm_version_info *version = bm_version();
    bm_json out = {.pretty = true};
    bm_json_begin_object(&out);
    bm_json_key_uint(&out, "schema", 1);
    bm_json_key_text(&out, "version", version->version);
    bm_json_key_text(&out, "compiler", version->compiler);
    bm_json_key_text(&out, "kernels", version->kernels);
    write_machine(&out, report->options);
    write_settings(&out, report);
    write_devices(&out, report);
    bm_bench_answer_json(&out, report->jobs, report->n_jobs);
    write_rows(&out, report);
    bm_json_end_object(&out);
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_json_finish(&out, err));
    *json = bm_strdup(out.buf.data);
    if (*json == NULL)
        status = bm_fail_nomem(err, out.buf.len);
out:
    bm_buf_reset(&out.buf);
    return status;
}
