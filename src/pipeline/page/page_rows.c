/* page_rows.c -- one walk over pairs.tsv for all that wants its rows.
 *
 * Tests: tests/cli/cases/report.sh, tests/reference/test_report.py */
#include "pipeline/page/page_rows.h"

#include <math.h>

#include "base/memory.h"
#include "io/manifest/listed.h"
#include "io/results/pair_file.h"
#include "model/file_names.h"
#include "pipeline/page/page_least.h"

bm_status bm_page_each_row(const bm_settings *settings, const bm_manifest *manifest,
                           bm_page_row_fn fn, void *ctx, bm_error *err)
{
    char *path = NULL;
    bm_pair_file file;
    bm_listed *listed = NULL;
    bool more = true;
    bm_status status = bm_manifest_beside(manifest, BM_FILE_PAIRS, &path, err);
    if (status == BM_OK)
        status = bm_listed_open(manifest, BM_FILE_PAIRS, path, &listed, err);
    if (status == BM_OK)
        status = bm_pair_file_open(path, BM_ERR_FORMAT, &settings->callbacks, &file, err);
    if (status == BM_OK) {
        status = bm_line_file_compare(&file.lines, listed, err);
        while (status == BM_OK && more) {
            status = bm_pair_file_next(&file, &more, err);
            if (status == BM_OK && more)
                status = fn(ctx, &(bm_page_row){file.id_a, file.id_b, file.similarity}, err);
        }
        bm_pair_file_close(&file);
    }
    bm_listed_close(listed);
    bm_free(path);
    return status;
}

typedef struct walk {
    bm_page_content *content;
    bm_page_least near;
    bm_page_weigh *weigh;
} walk;

static bm_status take_row(void *ctx, const bm_page_row *row, bm_error *err)
{
    walk *w = ctx;
    bm_status status = BM_OK;
    if (!isnan(row->jaccard)) {
        w->content->similarities[bm_histogram_bin(row->jaccard)]++;
        w->content->n_similarities++;
        if (row->jaccard < 1) /* of two that are the same there is nothing to see */
            status = bm_page_least_offer(
                &w->near, &(bm_page_offer){.a = row->a, .b = row->b, .jaccard = row->jaccard}, err);
    }
    return status == BM_OK ? bm_page_weigh_pair(w->weigh, row->a, row->b, row->jaccard, err)
                           : status;
}

bm_status bm_page_read_rows(const bm_settings *settings, bm_page_content *content,
                            bm_page_weigh *weigh, bm_error *err)
{
    walk w = {.content = content, .near = {.most = content->options->pairs}, .weigh = weigh};
    bm_page_weigh_begin(weigh, settings, content);
    content->similarities_of_pairs = content->facts.has_pairs;
    bm_status status = BM_OK;
    if (content->facts.has_pairs)
        status = bm_page_each_row(settings, content->manifest, take_row, &w, err);
    if (status == BM_OK && content->facts.has_pairs)
        status = bm_page_least_show(&w.near, content, &content->near, err);
    if (status == BM_OK)
        status = bm_page_weigh_end(weigh, err);
    bm_page_least_reset(&w.near);
    return status;
}
