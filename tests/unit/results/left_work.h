/* SPDX-License-Identifier: Apache-2.0 */
/* left_work.h -- a work directory as a stopped job leaves it. Header only. */
#pragma once

#include "output/out_dir.h"
#include "tests/world/scratch.h"

#define NEW "out.partial/output" /* where outputs are written */

static inline void add_text(bm_out_dir *dir, const char *name, const char *text)
{
    bm_out_file *file = NULL;
    bm_error err = {0};
    cr_assert_eq(bm_out_dir_file(dir, name, &file, &err), BM_OK, "%s", err.message);
    cr_assert_eq(bm_out_file_write(file, text, strlen(text), &err), BM_OK);
    cr_assert_eq(bm_out_file_close(file, &err), BM_OK, "%s", err.message);
}

static inline void add_state(bm_out_dir *dir, const char *name, const char *text)
{
    char *path = NULL;
    cr_assert_eq(bm_out_dir_state_path(dir, name, &path, NULL), BM_OK);
    FILE *file = fopen(path, "w");
    cr_assert_not_null(file, "%s", path);
    fputs(text, file);
    fclose(file);
    free(path);
}

/* Makes OUT.partial as a stopped job leaves it: a journal if asked for, another state file,
 * outputs. */
static inline void leave(scratch *s, bool journal)
{
    bm_out_dir *dir = NULL;
    cr_assert_eq(bm_out_dir_open(scratch_at(s, "out"), BM_OUT_REFUSE, &dir, NULL), BM_OK);
    if (journal)
        add_state(dir, BM_OUT_JOURNAL, "noted");
    add_state(dir, ".bandmill-sets", "sets");
    add_text(dir, "ids.txt", "a\nb\nc\n");
    add_text(dir, "kept/x/a.jsonl", "{}\n");
    add_text(dir, "kept/y/b.jsonl", "{}\n");
    add_text(dir, "kept.txt", "z\n");
    bm_out_dir_preserve(dir, true);
    bm_out_dir_close(dir);
}

static inline bm_out_dir *again(scratch *s, bool expected)
{
    bm_out_dir *dir = NULL;
    bm_error err = {0};
    bool found = !expected;
    cr_assert_eq(bm_out_dir_open_again(scratch_at(s, "out"), BM_OUT_REFUSE, &dir, &found, &err),
                 BM_OK, "%s: %s", err.file, err.message);
    cr_assert_eq(found, expected);
    return dir;
}
