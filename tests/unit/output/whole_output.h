/* SPDX-License-Identifier: Apache-2.0 */
/* whole_output.h -- writes an output directory of a few files as a job does. Header only. */
#pragma once

#include "output/out_dir.h"
#include "tests/world/scratch.h"

#define REPORT                                                                                     \
    "{\"schema\":1,\"tool\":\"bandmill\",\"kind\":\"dedup\",\"version\":\"0.1.0\",\"outputs\":%s}"

#define ZEROS "0000000000000000000000000000000000000000000000000000000000000000"

static inline void add_file(bm_out_dir *dir, const char *name, const char *text)
{
    bm_out_file *file = NULL;
    bm_error err = {0};
    cr_assert_eq(bm_out_dir_file(dir, name, &file, &err), BM_OK, "%s", err.message);
    cr_assert_eq(bm_out_file_write(file, text, strlen(text), &err), BM_OK);
    cr_assert_eq(bm_out_file_close(file, &err), BM_OK, "%s", err.message);
}

/* Writes a complete output: ids.txt and kept/x/a.jsonl with this text, and a report that lists
 * them. */
static inline bm_status write_output(const char *target, bool force, const char *text,
                                     bm_error *err)
{
    bm_out_dir *dir = NULL;
    const char *digests;
    char report[2048];
    bm_status status = bm_out_dir_open(target, bm_out_existing_of(force), &dir, err);
    if (status != BM_OK)
        return status;
    add_file(dir, "ids.txt", text);
    add_file(dir, "kept/x/a.jsonl", text);
    cr_assert_eq(bm_out_dir_finish(dir, err), BM_OK);
    cr_assert_eq(bm_out_dir_digests(dir, &digests, err), BM_OK);
    snprintf(report, sizeof report, REPORT, digests);
    add_file(dir, "report.json", report);
    status = bm_out_dir_commit(dir, err);
    bm_out_dir_close(dir);
    return status;
}
