/* page_html_counts.c -- what happened, in numbers: counts, inputs, similarities, groups.
 *
 * Each count of report.json stands in an element with its name as data-count, so that a machine can read it too.
 *
 * Tests: tests/reference/test_report.py */
#include "pipeline/page/page_sections.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "pipeline/output/svg_plot.h"

#define SOURCES_MAX 50u /* rows of inputs that are listed */

/* --- what happened --- */

static void put_fact(bm_page_writer *w, const char *name, const char *words, uint64_t n)
{
    bm_markup_format(&w->m, "<dl><dt>%s</dt><dd data-count=\"%s\">%s</dd></dl>\n", words, name,
                     bm_svg_count(n).text);
}

/* How many pairs the bands proposed, and what came of them. */
static void put_pairs_line(bm_page_writer *w)
{
    const bm_page_facts *facts = &w->content->facts;
    const bm_counts *n = &facts->counts;
    bm_markup *m = &w->m;
    bm_page_put_number(w, n->candidates, n->identical > 0 ? "further pair" : "pair");
    if (facts->verify == BM_VERIFY_NONE) {
        bm_markup_put(m, ", none of which was compared, so that all of them count");
        return;
    }
    bm_markup_format(m, ", of which %s turned out to be ",
                     n->edges > 0 ? bm_svg_count(n->edges).text : "none");
    bm_markup_format(m,
                     facts->verify == BM_VERIFY_SIGNATURE
                         ? "similar by %s or more, as their signatures tell"
                         : "similar by %s or more",
                     bm_svg_share(facts->threshold).text);
}

static void put_line(bm_page_writer *w)
{
    const bm_counts *n = &w->content->facts.counts;
    bm_markup *m = &w->m;
    if (n->records == 0)
        return;
    bm_markup_put(m, "<p class=\"lede\">Of ");
    bm_page_put_number(w, n->records, "record");
    if (n->identical > 0) {
        bm_markup_put(m, ", ");
        bm_page_put_number(w, n->identical, "document");
        bm_markup_put(m, n->identical == 1 ? " repeats an earlier one; the bands proposed "
                                           : " repeat earlier ones; the bands proposed ");
    } else {
        bm_markup_put(m, ", none repeats an earlier one; the bands proposed ");
    }
    if (n->candidates > 0)
        put_pairs_line(w);
    else
        bm_markup_put(m, n->identical > 0 ? "no further pairs" : "no pairs");
    if (n->groups > 0) {
        bm_markup_put(m, ". They join into ");
        bm_page_put_number(w, n->groups, "group");
        bm_markup_format(m, "; one document of each stays, and %s %s.</p>\n",
                         bm_svg_count(n->removed).text, n->removed == 1 ? "goes" : "go");
    } else {
        bm_markup_put(m, ". Every document stays.</p>\n");
    }
}

static void put_facts(bm_page_writer *w)
{
    const bm_page_facts *facts = &w->content->facts;
    const bm_counts *n = &facts->counts;
    bm_markup_put(&w->m, "<div class=\"facts\">\n");
    put_fact(w, "records", "Records", n->records);
    if (n->skipped > 0)
        put_fact(w, "skipped", "Skipped", n->skipped);
    put_fact(w, "documents", "Documents", n->documents);
    put_fact(w, "empty", "Empty", n->empty);
    put_fact(w, "identical", "Identical to an earlier one", n->identical);
    put_fact(w, "candidates", "Candidate pairs", n->candidates);
    put_fact(w, "verified", "Verified", n->verified);
    put_fact(w, "edges", "At the threshold", n->edges);
    if (n->not_compared > 0)
        put_fact(w, "not_compared", "Not compared, at most", n->not_compared);
    put_fact(w, "groups", "Groups", n->groups);
    put_fact(w, "removed", "Removed", n->removed);
    put_fact(w, "chained", "Of these chained", n->chained);
    if (facts->against)
        put_fact(w, "known", "Of these known", n->results.known);
    put_fact(w, "kept", "Kept", n->kept);
    bm_markup_put(&w->m, "</div>\n");
}

static int most_removed(const void *x, const void *y, void *ctx)
{
    const bm_page_source *sources = ctx;
    const size_t a = *(const size_t *)x, b = *(const size_t *)y;
    if (sources[a].removed != sources[b].removed)
        return sources[a].removed > sources[b].removed ? -1 : 1;
    return a < b ? -1 : a > b;
}

static void put_source(bm_page_writer *w, const char *file, const bm_page_source *s)
{
    bm_markup *m = &w->m;
    bm_markup_put(m, "<tr><td><span class=\"name\">");
    bm_markup_name(m, (bm_str){file, strlen(file)});
    bm_markup_put(m, "</span>");
    if (s->gone != NULL) {
        bm_markup_put(m, "<div class=\"note\">gone: ");
        bm_markup_name(m, (bm_str){s->gone, strlen(s->gone)});
        bm_markup_put(m, "</div>");
    }
    bm_markup_format(m, "</td><td class=\"n\">%s</td><td class=\"n\">%s</td>",
                     bm_svg_count(s->documents).text, bm_svg_count(s->skipped).text);
    bm_markup_format(
        m, "<td class=\"n\">%s</td><td class=\"n\">%s</td><td class=\"n\">%s %%</td></tr>\n",
        bm_svg_count(s->removed).text, bm_svg_count(s->documents - s->removed).text,
        bm_svg_share(s->documents > 0
                         ? floor(1000.0 * (double)s->removed / (double)s->documents + .5) / 10
                         : 0)
            .text);
    bm_markup_flush(m, false);
}

static void put_sources(bm_page_writer *w)
{
    const bm_page_content *c = w->content;
    const size_t n = bm_manifest_n_inputs(c->manifest);
    size_t *order = bm_alloc(n, sizeof *order);
    if (order == NULL) {
        w->m.status =
            w->m.status == BM_OK ? bm_fail_nomem(w->m.err, n * sizeof *order) : w->m.status;
        return;
    }
    for (size_t i = 0; i < n; i++)
        order[i] = i;
    if (n > SOURCES_MAX)
        qsort_r(order, n, sizeof *order, most_removed, c->sources);
    bm_page_begin_table(w, n > SOURCES_MAX ? "The inputs of which most was removed" : "Inputs",
                        "sorts inputs");
    bm_markup_put(
        &w->m,
        "<th scope=\"col\">File</th><th scope=\"col\" class=\"n\">Documents</th>"
        "<th scope=\"col\" class=\"n\">Skipped</th><th scope=\"col\" class=\"n\">Removed</th>"
        "<th scope=\"col\" class=\"n\">Kept</th><th scope=\"col\" class=\"n\">Share removed</th>"
        "</tr></thead><tbody>\n");
    for (size_t i = 0; i < n && i < SOURCES_MAX; i++)
        put_source(w, bm_manifest_input_at(c->manifest, order[i])->file, &c->sources[order[i]]);
    bm_page_end_table(w);
    if (n > SOURCES_MAX)
        bm_markup_format(&w->m,
                         "<p class=\"note\">%s more inputs: sources.tsv lists them all.</p>\n",
                         bm_svg_count(n - SOURCES_MAX).text);
    bm_free(order);
}

void bm_page_put_summary(bm_page_writer *w)
{
    bm_markup_put(&w->m, "<section id=\"what\" aria-labelledby=\"h-what\">\n"
                         "<h2 id=\"h-what\">What happened</h2>\n");
    put_line(w);
    bm_page_draw_shares(w);
    put_facts(w);
    put_sources(w);
    bm_markup_put(&w->m, "</section>\n");
}

/* --- similarities --- */

static void put_bins(bm_page_writer *w)
{
    const bm_page_content *c = w->content;
    bm_markup_put(&w->m, "<details class=\"more\"><summary>The numbers of the picture</summary>\n");
    bm_page_begin_table(w, "Pairs in each hundredth of similarity", "bins");
    bm_markup_put(&w->m,
                  "<th scope=\"col\" class=\"n\">From</th><th scope=\"col\" class=\"n\">To</th>"
                  "<th scope=\"col\" class=\"n\">Pairs</th></tr></thead><tbody>\n");
    for (uint32_t i = 0; i < BM_HISTOGRAM_BINS; i++) {
        if (c->similarities[i] == 0)
            continue;
        bm_markup_format(&w->m,
                         "<tr><td class=\"n\">0.%02" PRIu32 "</td><td class=\"n\">%" PRIu32
                         ".%02" PRIu32 "</td><td class=\"n\">%s</td></tr>\n",
                         i, (i + 1) / 100, (i + 1) % 100, bm_svg_count(c->similarities[i]).text);
    }
    bm_page_end_table(w);
    bm_markup_put(&w->m, "</details>\n");
}

static void put_recall(bm_page_writer *w)
{
    const bm_page_facts *facts = &w->content->facts;
    bm_markup *m = &w->m;
    if (facts->bands == 0) {
        bm_markup_put(m, "<p>Every pair was compared: nothing at the threshold was missed.</p>\n");
        return;
    }
    bm_markup_format(
        m,
        "<p>The plan is %" PRIu32 " bands of %" PRIu32 " rows, of %" PRIu32
        " permutations. A pair that is similar by exactly %s "
        "becomes a candidate with a chance of %s: of 1,000 such pairs about %ld are missed. "
        "More similar ones are found more surely: the curve shows it.</p>\n",
        facts->bands, facts->rows, facts->perms, bm_svg_share(facts->threshold).text,
        bm_svg_share(facts->predicted_recall).text, lround(1000 * (1 - facts->predicted_recall)));
}

void bm_page_put_similarities(bm_page_writer *w)
{
    const bm_page_content *c = w->content;
    bm_markup *m = &w->m;
    bm_markup_put(m, "<section id=\"similarities\" aria-labelledby=\"h-similarities\">\n"
                     "<h2 id=\"h-similarities\">Similarities</h2>\n");
    put_recall(w);
    if (c->n_similarities == 0) {
        bm_markup_put(m, "<p>There are no pairs whose similarity is known.</p>\n</section>\n");
        return;
    }
    if (!c->similarities_of_pairs)
        bm_markup_put(
            m, "<p>The directory has no pairs.tsv, which dedup writes on request: counted are "
               "the removed documents, each with the one kept of its group.</p>\n");
    bm_page_draw_similarities(w);
    put_bins(w);
    bm_markup_put(m, "</section>\n");
}

/* --- groups --- */

static void put_group(bm_page_writer *w, const bm_page_group *group)
{
    bm_markup *m = &w->m;
    bm_markup_format(m, "<tr><td class=\"n\">%" PRIu64 "</td><td class=\"n\">%s</td><td>",
                     group->number, bm_svg_count(group->size).text);
    bm_page_put_id(w, group->kept);
    if (group->known)
        bm_markup_put(m, " <span class=\"note\">known</span>");
    bm_markup_put(m, "</td><td class=\"n\">");
    if (isnan(group->least))
        bm_markup_put(m, "not known");
    else
        bm_markup_similarity(m, group->least);
    bm_markup_put(m, "</td><td>");
    if (group->least_doc != BM_PAGE_NO_DOC)
        bm_page_put_id(w, group->least_doc);
    bm_markup_format(m, "</td><td class=\"n\">%s</td>", bm_svg_count(group->identical).text);
    bm_markup_format(
        m, "<td class=\"n\">%s</td><td class=\"n\">%s %%</td></tr>\n",
        bm_svg_count(group->chained).text,
        bm_svg_share(group->removed > 0
                         ? floor(1000.0 * (double)group->chained / (double)group->removed + .5) / 10
                         : 0)
            .text);
    bm_markup_flush(m, false);
}

void bm_page_put_groups(bm_page_writer *w)
{
    const bm_page_content *c = w->content;
    bm_markup *m = &w->m;
    bm_markup_put(m, "<section id=\"groups\" aria-labelledby=\"h-groups\">\n"
                     "<h2 id=\"h-groups\">Groups</h2>\n");
    if (c->facts.counts.groups == 0) {
        bm_markup_put(m, "<p>There are no groups: no two documents are alike.</p>\n</section>\n");
        return;
    }
    bm_page_draw_sizes(w);
    bm_page_begin_table(w, "The largest groups, each with the member least like the one kept",
                        "sorts groups");
    bm_markup_put(
        m,
        "<th scope=\"col\" class=\"n\">Group</th><th scope=\"col\" class=\"n\">Documents</th>"
        "<th scope=\"col\">Kept</th><th scope=\"col\" class=\"n\">Least similarity</th>"
        "<th scope=\"col\">Least like it</th><th scope=\"col\" class=\"n\">Identical</th>"
        "<th scope=\"col\" class=\"n\">Chained</th><th scope=\"col\" class=\"n\">Chained share</th>"
        "</tr></thead><tbody>\n");
    for (size_t i = 0; i < c->groups.n; i++)
        put_group(w, &c->groups.rows[i]);
    bm_page_end_table(w);
    bm_markup_put(m, "</section>\n");
}
