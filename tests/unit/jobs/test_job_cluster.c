/* bm_cluster_pairs against groups found by flooding an adjacency matrix, at each threshold anew;
 * stars against their definition. */
#include <criterion/criterion.h>

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>

#include <bandmill/cluster.h>

#include "tests/unit/base/scratch.h"

enum { DOCS = 40, ROWS = 120, LEVELS = 7 };

/* --- rows that a file holds, and what follows from them by the plainest means --- */

typedef struct model {
    uint64_t state;
    size_t n_rows, n_docs;
    uint32_t a[ROWS], b[ROWS]; /* documents in order of first appearance */
    double similarity[ROWS];   /* NAN: empty */
    uint32_t name[DOCS];       /* of each document in the file */
    uint32_t label[DOCS], kept[DOCS];
} model;

static uint32_t draw(model *m, uint32_t below)
{
    m->state = m->state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)((m->state >> 33) % below);
}

static uint32_t number_of(model *m, uint32_t name)
{
    for (uint32_t i = 0; i < m->n_docs; i++)
        if (m->name[i] == name)
            return i;
    m->name[m->n_docs] = name;
    return (uint32_t)m->n_docs++;
}

/* Similarities in hundredths, so that some equal a threshold; pairs repeat, also turned round. */
static void make(model *m, uint32_t n_names, size_t n_rows, scratch *s)
{
    FILE *file = fopen(scratch_at(s, "p.tsv"), "w");
    cr_assert_not_null(file);
    fputs("id_a\tid_b\tjaccard\n", file);
    m->n_rows = m->n_docs = 0;
    for (size_t i = 0; i < n_rows; i++) {
        uint32_t a = draw(m, n_names), b = (a + 1 + draw(m, n_names - 1)) % n_names;
        uint32_t hundredths = 50 + draw(m, 51);
        bool empty = draw(m, 15) == 0;
        m->a[i] = number_of(m, a);
        m->b[i] = number_of(m, b);
        m->similarity[i] = empty ? NAN : hundredths / 100.0;
        fprintf(file, "\\\\d%" PRIu32 "\t\\\\d%" PRIu32 "\t", a, b); /* an id "\d7", escaped */
        if (!empty)
            fprintf(file, i % 2 == 0 ? "%.6f" : "%.2f", hundredths / 100.0);
        fputc('\n', file);
    }
    m->n_rows = n_rows;
    cr_assert_eq(fclose(file), 0);
}

static bool counts(const model *m, size_t row, double threshold)
{
    return isnan(m->similarity[row]) || m->similarity[row] >= threshold;
}

static void flood(model *m, uint32_t doc, uint32_t label, double threshold)
{
    if (m->label[doc] != UINT32_MAX)
        return;
    m->label[doc] = label;
    for (size_t i = 0; i < m->n_rows; i++)
        if (counts(m, i, threshold) && (m->a[i] == doc || m->b[i] == doc))
            flood(m, m->a[i] == doc ? m->b[i] : m->a[i], label, threshold);
}

static void components(model *m, double threshold, bool keep_last)
{
    memset(m->label, 0xFF, sizeof m->label);
    for (uint32_t doc = 0; doc < m->n_docs; doc++)
        flood(m, doc, doc, threshold);
    for (uint32_t doc = 0; doc < m->n_docs; doc++) {
        m->kept[doc] = m->label[doc]; /* the first, from which it was flooded */
        for (uint32_t other = 0; keep_last && other < m->n_docs; other++)
            if (m->label[other] == m->label[doc])
                m->kept[doc] = other;
    }
}

/* In order, a document that is not taken takes all partners that are not. */
static void stars(model *m, double threshold, bool keep_last)
{
    memset(m->label, 0xFF, sizeof m->label);
    for (uint32_t i = 0; i < m->n_docs; i++) {
        uint32_t doc = keep_last ? (uint32_t)m->n_docs - 1 - i : i;
        if (m->label[doc] != UINT32_MAX)
            continue;
        m->label[doc] = doc;
        for (size_t row = 0; row < m->n_rows; row++) {
            uint32_t other = m->a[row] == doc ? m->b[row] : m->a[row];
            bool touches = m->a[row] == doc || m->b[row] == doc;
            if (touches && counts(m, row, threshold) && m->label[other] == UINT32_MAX)
                m->label[other] = doc;
        }
    }
    memcpy(m->kept, m->label, sizeof m->kept);
}

static void group(model *m, const bm_cluster_options *o, double threshold)
{
    if (o->cluster == BM_CLUSTER_STAR)
        stars(m, threshold, o->keep == BM_KEEP_LAST);
    else
        components(m, threshold, o->keep == BM_KEEP_LAST);
}

static size_t size_of(const model *m, uint32_t label)
{
    size_t n = 0;
    for (uint32_t doc = 0; doc < m->n_docs; doc++)
        n += m->label[doc] == label;
    return n;
}

/* --- what is written --- */

typedef struct text {
    char data[1 << 16];
    size_t len, room; /* room: bytes that are taken before the reader goes away */
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

static void add(text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add(text *t, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(t->data + t->len, sizeof t->data - t->len, format, args);
    va_end(args);
    cr_assert(n >= 0 && (size_t)n < sizeof t->data - t->len);
    t->len += (size_t)n;
}

static void expected_groups(const model *m, text *out)
{
    uint32_t number = 0;
    bool done[DOCS] = {false};
    out->len = 0;
    out->data[0] = '\0';
    for (uint32_t doc = 0; doc < m->n_docs; doc++) {
        size_t size = size_of(m, m->label[doc]), listed = 0;
        if (size < 2 || done[doc])
            continue;
        add(out, "{\"group\":%" PRIu32 ",\"kept\":\"\\\\d%" PRIu32 "\",\"size\":%zu,\"members\":[",
            ++number, m->name[m->kept[doc]], size);
        for (uint32_t other = doc; other < m->n_docs; other++) {
            if (m->label[other] != m->label[doc])
                continue;
            done[other] = true;
            add(out, "%s\"\\\\d%" PRIu32 "\"", listed++ > 0 ? "," : "", m->name[other]);
        }
        add(out, "]}\n");
    }
}

static void expected_row(const model *m, double threshold, text *out)
{
    uint64_t pairs = 0, groups = 0, largest = 0, removed = 0;
    for (size_t i = 0; i < m->n_rows; i++)
        pairs += counts(m, i, threshold);
    for (uint32_t doc = 0; doc < m->n_docs; doc++) {
        size_t size = size_of(m, doc);
        groups += size > 1;
        removed += size > 1 ? size - 1 : 0;
        largest = size > 1 && size > largest ? size : largest;
    }
    add(out, "%g\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\n", threshold, pairs, groups,
        largest, removed);
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

static const bm_cluster ways[] = {BM_CLUSTER_COMPONENTS, BM_CLUSTER_STAR};
static const bm_keep keeps[] = {BM_KEEP_FIRST, BM_KEEP_LAST};

Test(job_cluster, groups_are_those_of_the_rows_that_count)
{
    scratch s;
    model m = {.state = 1};
    static text got, wanted;
    scratch_open(&s);
    for (int round = 0; round < 150; round++) {
        const uint32_t n_names = 2 + draw(&m, DOCS - 1);
        make(&m, n_names, draw(&m, ROWS), &s);
        double threshold = (50 + draw(&m, 52)) / 100.0;
        bool all = round % 5 == 0 || threshold > 1;
        bm_cluster_options o = cluster_options(scratch_at(&s, "p.tsv"), &got);
        o.thresholds = &threshold;
        o.n_thresholds = all ? 0 : 1;
        o.cluster = ways[round % 2];
        o.keep = keeps[round / 2 % 2];
        bm_cluster_summary summary = {.struct_size = sizeof summary};
        bm_error err = {0};
        got.len = 0;
        got.data[0] = '\0';
        got.room = sizeof got.data - 1;
        cr_assert_eq(bm_cluster_pairs(&o, &summary, &err), BM_OK, "%s", err.message);
        group(&m, &o, all ? 0 : threshold);
        expected_groups(&m, &wanted);
        cr_assert_str_eq(got.data, wanted.data, "round %d, threshold %g", round, threshold);
        cr_assert_eq(summary.pairs, m.n_rows);
        cr_assert_eq(summary.documents, m.n_docs);
    }
    scratch_close(&s);
}

Test(job_cluster, the_table_has_for_each_threshold_what_it_has_alone)
{
    scratch s;
    model m = {.state = 2};
    static text got, wanted;
    scratch_open(&s);
    for (int round = 0; round < 100; round++) {
        double thresholds[LEVELS];
        const uint32_t n_names = 2 + draw(&m, DOCS - 1);
        make(&m, n_names, draw(&m, ROWS), &s);
        for (size_t i = 0; i < LEVELS; i++) /* in no order, some twice */
            thresholds[i] = (50 + draw(&m, 51)) / 100.0;
        bm_cluster_options o = cluster_options(scratch_at(&s, "p.tsv"), &got);
        o.thresholds = thresholds;
        o.n_thresholds = 2 + draw(&m, LEVELS - 1);
        o.cluster = ways[round % 2];
        o.keep = keeps[round / 2 % 2];
        bm_cluster_summary summary = {.struct_size = sizeof summary};
        got.len = wanted.len = 0;
        got.room = sizeof got.data - 1;
        cr_assert_eq(bm_cluster_pairs(&o, &summary, NULL), BM_OK);
        add(&wanted, "threshold\tpairs\tgroups\tlargest\tremoved\n");
        for (size_t i = 0; i < o.n_thresholds; i++) {
            group(&m, &o, thresholds[i]);
            expected_row(&m, thresholds[i], &wanted);
        }
        cr_assert_str_eq(got.data, wanted.data, "round %d", round);
        cr_assert_eq(summary.first.threshold, thresholds[0]);
    }
    scratch_close(&s);
}

/* --- what is refused --- */

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
    scratch s;
    bm_error err;
    char rows[256];
    scratch_open(&s);
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
    scratch_close(&s);
}

static bool stop(void *ctx)
{
    (void)ctx;
    return true;
}

Test(job_cluster, options_that_pairs_cannot_meet_are_refused)
{
    scratch s;
    static text got;
    double wrong[] = {.5, 0}, high = 1.5;
    bm_cluster_summary summary = {.struct_size = sizeof summary};
    scratch_open(&s);
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
    o.callbacks.cancelled = stop;
    cr_expect_eq(bm_cluster_pairs(&o, &summary, NULL), BM_ERR_CANCELLED);
    got.len = got.room = 0;
    cr_expect_eq(bm_cluster_pairs(&fine, &summary, NULL), BM_ERR_PIPE);
    scratch_close(&s);
}
