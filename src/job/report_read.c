/* report_read.c -- a report begins with what decides its job's results, as text that the job at
 * hand makes anew and compares; what was to be written stands in "run".
 *
 * Tests: tests/cli/cases/ownership.sh */
#include "job/report_read.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "json/json_scan.h"
#include "job/report_file.h"

/* --- the same job --- */

typedef struct comparing {
    bm_str asked; /* the object in the report */
    bool same;
    bm_status status;
} comparing;

static void compare_asked(void *ctx, const bm_setting *setting)
{
    comparing *c = ctx;
    bm_json json = {0};
    bm_str there;
    if (!bm_report_asks(setting) || c->status != BM_OK)
        return;
    bm_report_setting_value(&json, setting);
    c->status = bm_json_finish(&json, NULL);
    if (c->status == BM_OK) {
        const size_t len = strcspn(json.buf.data, "\n");
        c->same = c->same && bm_json_scan_find(c->asked, setting->name, &there) &&
                  there.len == len && memcmp(there.data, json.buf.data, len) == 0;
    }
    bm_buf_reset(&json.buf);
}

bm_status bm_report_is_of(const bm_job_context *job, const bm_manifest *report, bool *same,
                          bm_error *err)
{
    bm_json head = {.pretty = true};
    bm_str run;
    const bm_str text = bm_manifest_text(report);
    comparing c = {.same = true};
    bm_report_begin(&head, job);
    *same = head.status == BM_OK && head.buf.len < text.len &&
            memcmp(head.buf.data, text.data, head.buf.len) == 0 && text.data[head.buf.len] == ',';
    bm_status status = head.status == BM_OK ? BM_OK : bm_fail_nomem(err, head.buf.len);
    bm_buf_reset(&head.buf);
    if (status != BM_OK || !*same)
        return status;
    *same =
        bm_manifest_member(report, "run", &run) && bm_json_scan_find(run, BM_RUN_ASKED, &c.asked);
    if (!*same)
        return BM_OK;
    bm_settings_list(job->settings, bm_job_context_format(job), compare_asked, &c);
    *same = c.same;
    return c.status == BM_OK ? BM_OK : bm_fail_nomem(err, 0);
}

/* --- its summary --- */

/* The last of the sizes of groups, which ascend. */
static uint64_t largest_group(const bm_manifest *report)
{
    static const char key[] = "\"size\"";
    const size_t len = sizeof key - 1;
    uint64_t size = 0;
    bm_str sizes;
    if (!bm_manifest_member(report, "group_sizes", &sizes))
        return 0;
    for (size_t i = sizes.len; i >= len; i--)
        if (memcmp(sizes.data + i - len, key, len) == 0) {
            size = strtoull(sizes.data + i + strspn(sizes.data + i, ": "), NULL, 10);
            break;
        }
    return size;
}

bm_status bm_report_read(const bm_job_context *job, const bm_manifest *report, bm_summary **out,
                         bm_error *err)
{
    bm_counts counts = {0};
    const bm_str text = bm_manifest_text(report);
    BM_TRY(bm_report_read_counts(report, &counts, err));
    counts.largest_group = largest_group(report);
    char *json = bm_strndup(text.data, text.len);
    if (json == NULL)
        return bm_fail_nomem(err, text.len + 1);
    return bm_report_summary(job, &counts, json, out, err);
}
