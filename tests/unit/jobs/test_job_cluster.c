/* SPDX-License-Identifier: Apache-2.0 */
/* bm_cluster_pairs: bad rows, and options that do not fit the pairs. test_cluster.py and
 * test_groups.py of tests/reference compare the groups with those of dedup and of SciPy. */
#include <criterion/criterion.h>

#include <inttypes.h>

#include <bandmill/cluster.h>

#include "tests/world/scratch.h"
#include "tests/world/world_stop.h"

typedef struct text {
    char data[1 << 16];
    size_t len, room; /* room: bytes taken before the reader closes */
} text;

static int take(void *ctx, const char *data, size_t len)
{
    text *t = ctx;
    if (t->len + len > t->room)
        return 1;
    memcpy(t->data + t->len, data, len);
    t->len += len;
    t->data[t->len] = '\0';
    return 0;
}

static bm_cluster_options cluster_options(const char *path, text *to)
{
    bm_cluster_options o;
    bm_cluster_options_init(&o);
    o.path = path;
    o.write = take;
    o.write_ctx = to;
    return o;
}

static bm_status cluster(scratch *s, const char *rows, bm_error *err)
{
    static text got;
    bm_cluster_summary summary = {.struct_size = sizeof summary};
    const bm_cluster_options o = cluster_options(scratch_at(s, "p.tsv"), &got);
    got.len = 0;
    got.room = sizeof got.data - 1;
    memset(err, 0, sizeof *err);
    scratch_put_text(s, "p.tsv", rows);
    bm_status status = bm_cluster_pairs(&o, &summary, err);
    cr_expect(status == BM_OK || got.len == 0, "rows before the error: %s", got.data);
    return status;
}

Test(job_cluster, a_bad_row_is_named_by_file_and_line_and_nothing_is_written)
{
    static const char *const bad[] = {"a\tb",           "a\tb\t0.5\t1", "a",        "",
                                      "a\tb\t1.000001", "a\tb\t-1",     "a\tb\t+1", "a\tb\tnan",
                                      "a\tb\t0,5",      "a\tb\t 1",     "a\ta\t1",  "\\q\tb\t1",
                                      "a\tb\\\t1",      "a\tb\\x4\t1"};
    SCRATCH s = scratch_open();
    bm_error err;
    char rows[256];
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        snprintf(rows, sizeof rows, "id_a\tid_b\tjaccard\nc\td\t1\n%s\ne\tf\t1\n", bad[i]);
        cr_expect_eq(cluster(&s, rows, &err), BM_ERR_INPUT, "'%s'", bad[i]);
        cr_expect_eq(err.line, 3, "'%s': line %" PRIu64, bad[i], err.line);
        cr_expect_str_eq(err.file, scratch_at(&s, "p.tsv"));
    }
    cr_expect_eq(cluster(&s, "", &err), BM_ERR_INPUT);
    cr_expect_eq(cluster(&s, "id_a\tid_b\n", &err), BM_ERR_INPUT);
    cr_expect_eq(err.line, 1);
    cr_expect_eq(cluster(&s, "id_a\tid_b\tjaccard", &err), BM_OK); /* no rows, no newline */
    cr_expect_eq(cluster(&s, "\xEF\xBB\xBFid_a\tid_b\tjaccard\r\na\tb\t1e0\r\n", &err), BM_OK);
}

Test(job_cluster, options_that_pairs_cannot_meet_are_refused)
{
    SCRATCH s = scratch_open();
    static text got;
    double wrong[] = {.5, 0}, high = 1.5;
    bm_cluster_summary summary = {.struct_size = sizeof summary};
    scratch_put_text(&s, "p.tsv", "id_a\tid_b\tjaccard\na\tb\t1\n");
    const bm_cluster_options fine = cluster_options(scratch_at(&s, "p.tsv"), &got);
    bm_cluster_options o = fine;
    o.path = NULL;
    cr_expect_eq(bm_cluster_pairs(&o, &summary, NULL), BM_ERR_USAGE);
    o = fine;
    o.keep = BM_KEEP_LONGEST;
    cr_expect_eq(bm_cluster_pairs(&o, &summary, NULL), BM_ERR_USAGE);
    o = fine;
    o.thresholds = wrong;
    o.n_thresholds = 2;
    cr_expect_eq(bm_cluster_pairs(&o, &summary, NULL), BM_ERR_USAGE);
    o.thresholds = &high;
    o.n_thresholds = 1;
    cr_expect_eq(bm_cluster_pairs(&o, &summary, NULL), BM_ERR_USAGE);
    o = fine;
    o.path = "/nowhere/p.tsv";
    cr_expect_eq(bm_cluster_pairs(&o, &summary, NULL), BM_ERR_IO);
    o = fine;
    o.callbacks.cancelled = world_stop;
    cr_expect_eq(bm_cluster_pairs(&o, &summary, NULL), BM_ERR_CANCELLED);
    got.len = got.room = 0;
    cr_expect_eq(bm_cluster_pairs(&fine, &summary, NULL), BM_ERR_PIPE);
}
