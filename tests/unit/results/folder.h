/* SPDX-License-Identifier: Apache-2.0 */
/* folder.h -- a directory of `dedup` written by hand: four files, and a report that lists them.
 * Header only. */
#pragma once

#include <stdio.h>
#include <string.h>

#include "results/result_dir.h"
#include "tests/world/file_digests.h"
#include "tests/world/scratch.h"

typedef struct folder {
    scratch s;
    bm_manifest *manifest;
    bm_result_dir dir;
    bm_error err;
    char rows[512]; /* the rows that a walk passed on */
} folder;

static const char *const folder_files[] = {"groups.jsonl", "pairs.tsv", "removed.tsv",
                                           "sources.tsv"};

/* Writes the four files with these texts, and a report that lists them. */
static inline void open_folder(folder *f, const char *const texts[4], const char *parameters)
{
    char report[2048], list[2][512] = {"", ""};
    memset(f, 0, sizeof *f);
    f->s = scratch_open();
    for (size_t i = 0; i < 4; i++) {
        bm_digests is;
        scratch_put_text(&f->s, folder_files[i], texts[i]);
        cr_assert_eq(file_digests(scratch_at(&f->s, folder_files[i]), 0, &is), BM_OK);
        const size_t a = strlen(list[0]), b = strlen(list[1]);
        snprintf(list[0] + a, sizeof list[0] - a, "%s\"%s\":\"%s\"", i > 0 ? "," : "",
                 folder_files[i], is.sha256);
        snprintf(list[1] + b, sizeof list[1] - b, "%s\"%s\":\"%s\"", i > 0 ? "," : "",
                 folder_files[i], is.xxh3);
    }
    snprintf(report, sizeof report,
             "{\"schema\":1,\"tool\":\"bandmill\",\"kind\":\"dedup\",\"version\":\"0\","
             "\"parameters\":{%s},\"inputs\":[{\"file\":\"in\",\"bytes\":1,\"xxh3_128\":"
             "\"00000000000000000000000000000000\"},{\"file\":\"in\",\"bytes\":1,\"xxh3_128\":"
             "\"00000000000000000000000000000000\"}],\"outputs\":{%s},\"outputs_xxh3_128\":{%s}}",
             parameters, list[0], list[1]);
    scratch_put_text(&f->s, "report.json", report);
    cr_assert_eq(bm_manifest_open_dir(f->s.root, 0, &f->manifest, &f->err), BM_OK, "%s",
                 f->err.message);
    f->dir = (bm_result_dir){.manifest = f->manifest, .memory = 1 << 20};
}

static inline void close_folder(folder *f)
{
    bm_manifest_close(f->manifest);
    scratch_close(&f->s);
}
