/* page_figures.c -- the pictures of counts: what became of the documents, similarities, sizes of groups.
 *
 * Each is an <svg role="img"> with a title and a description that say the same in words; each bar has its numbers as a
 * tooltip.
 *
 * Tests: tests/reference/test_report.py */
#include "pipeline/page/page_sections.h"

#include <inttypes.h>
#include <math.h>

#include "pipeline/output/figure.h"

#define WIDTH 520.0

/* A figure of counts, before its axes. `name`: of its title and description. */
static void begin_figure(bm_page_writer *w, const char *name, const char *title, double height)
{
    bm_markup_format(&w->m,
                     "<figure>\n<svg viewBox=\"0 0 520 %s\" role=\"img\" aria-labelledby=\"t-%s "
                     "d-%s\"><title id=\"t-%s\">%s</title>\n",
                     bm_svg_px(height).text, name, name, name, title);
}

/* Where counts are drawn: a hand on the page's own buffer. */
static bm_figure begin_drawing(bm_page_writer *w)
{
    return (bm_figure){.out = &w->m.rows->buf,
                       .err = w->m.err,
                       .status = w->m.status,
                       .left = 64,
                       .right = 468,
                       .top = 44,
                       .bottom = 234};
}

static void end_drawing(bm_page_writer *w, const bm_figure *f)
{
    w->m.status = f->status;
    bm_markup_put(&w->m, "</svg>\n");
}

/* --- what became of the documents --- */

typedef struct document_share {
    const char *class_name, *words;
    uint64_t n;
} document_share;

#define SHARES 5u

static uint64_t minus(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

static void fill_shares(const bm_counts *n, document_share shares[SHARES])
{
    const uint64_t near =
        minus(minus(minus(n->removed, n->chained), n->results.removed_identical), n->results.known);
    const document_share filled[SHARES] = {
        {"blue", "kept", n->kept},
        {"violet", "removed, identical to the one kept", n->results.removed_identical},
        {"amber", "removed, near the one kept", near},
        {"red", "removed, chained to it", n->chained},
        {"grey", "removed, near a known one", n->results.known}};
    for (size_t i = 0; i < SHARES; i++)
        shares[i] = filled[i];
}

static void put_legend(bm_page_writer *w, const document_share shares[SHARES])
{
    bm_markup_put(&w->m, "<ul class=\"legend\">");
    for (size_t i = 0; i < SHARES; i++)
        if (shares[i].n > 0)
            bm_markup_format(
                &w->m,
                "<li><svg viewBox=\"0 0 10 10\" aria-hidden=\"true\"><rect class=\"%s\" "
                "width=\"10\" height=\"10\" rx=\"2\"/></svg>%s %s</li>",
                shares[i].class_name, bm_svg_count(shares[i].n).text, shares[i].words);
    bm_markup_put(&w->m, "</ul>\n");
}

void bm_page_draw_shares(bm_page_writer *w)
{
    const bm_counts *n = &w->content->facts.counts;
    document_share shares[SHARES];
    double x = 0;
    fill_shares(n, shares);
    if (n->documents == 0)
        return;
    begin_figure(w, "shares", "What became of the documents", 34);
    bm_markup_put(&w->m, "<desc id=\"d-shares\">");
    for (size_t i = 0; i < SHARES; i++)
        if (shares[i].n > 0)
            bm_markup_format(&w->m, "%s %s; ", bm_svg_count(shares[i].n).text, shares[i].words);
    bm_markup_put(&w->m, "</desc>\n");
    for (size_t i = 0; i < SHARES; i++) {
        const double width = (double)shares[i].n / (double)n->documents * WIDTH;
        if (shares[i].n == 0)
            continue;
        bm_markup_format(&w->m,
                         "<rect class=\"%s\" x=\"%s\" y=\"2\" width=\"%s\" height=\"30\"><title>%s "
                         "%s</title></rect>\n",
                         shares[i].class_name, bm_svg_px(x).text,
                         bm_svg_px(width > 3   ? width - 2
                                   : width > 1 ? width
                                               : 1)
                             .text,
                         bm_svg_count(shares[i].n).text, shares[i].words);
        x += width;
    }
    bm_markup_put(&w->m, "</svg>\n");
    put_legend(w, shares);
    bm_markup_put(&w->m, "</figure>\n");
}

/* --- similarities --- */

static void describe_similarities(bm_page_writer *w)
{
    const bm_page_content *c = w->content;
    bm_markup_format(
        &w->m,
        "<desc id=\"d-similarities\">A histogram of %s similarities in steps of 0.01, with the "
        "threshold %s",
        bm_svg_count(c->n_similarities).text, bm_svg_share(c->facts.threshold).text);
    if (c->facts.bands != 0)
        bm_markup_format(
            &w->m, ", and over it the chance that a pair becomes a candidate, which is %s there",
            bm_svg_share(c->facts.predicted_recall).text);
    bm_markup_put(&w->m, ". The numbers stand in the table below.</desc>\n");
}

void bm_page_draw_similarities(bm_page_writer *w)
{
    const bm_page_content *c = w->content;
    const bm_page_facts *facts = &c->facts;
    double counts[BM_HISTOGRAM_BINS];
    uint32_t first = bm_histogram_bin(facts->threshold);
    for (uint32_t i = 0; i < BM_HISTOGRAM_BINS; i++) {
        counts[i] = (double)c->similarities[i];
        first = c->similarities[i] > 0 && i < first ? i : first;
    }
    first = first >= 20 ? first / 20 * 20 - 20 : 0;
    const bm_svg_axis axis = bm_svg_axis_of(counts, BM_HISTOGRAM_BINS);
    begin_figure(w, "similarities", "Similarities of pairs", 282);
    describe_similarities(w);
    bm_figure f = begin_drawing(w);
    f.low = (double)first / BM_HISTOGRAM_BINS;
    bm_figure_counts(&f, &axis, c->similarities_of_pairs ? "pairs" : "removed documents");
    bm_figure_bars(&f, c->similarities, &axis);
    bm_figure_similarities(&f, first >= 50 ? 10 : 20);
    bm_figure_threshold(&f, facts->threshold);
    if (facts->bands != 0) {
        bm_figure_curve(&f, "chosen", facts->bands, facts->rows);
        bm_figure_chances(&f);
    }
    end_drawing(w, &f);
    bm_markup_put(&w->m, c->similarities_of_pairs
                             ? "<figcaption>Bars: pairs in each hundredth of similarity, identical "
                               "documents in the last. "
                             : "<figcaption>Bars: removed documents by their similarity to the one "
                               "kept. ");
    bm_markup_put(&w->m, facts->bands != 0 ? "Curve, on the right scale: the chance that the plan "
                                             "proposes a pair.</figcaption>\n</figure>\n"
                                           : "</figcaption>\n</figure>\n");
}

/* --- sizes of groups --- */

#define SIZE_BINS 40u

/* Bin i > 0 holds sizes from 2^i + 1 to 2^(i+1), bin 0 the size 2 (and 1, of groups with a known document). */
static uint32_t bin_of(uint64_t size)
{
    uint32_t bin = 0;
    while (bin + 1 < SIZE_BINS && size > (uint64_t)2 << bin)
        bin++;
    return bin;
}

static void put_size_bars(bm_figure *f, const double counts[SIZE_BINS], uint32_t n,
                          const bm_svg_axis *axis)
{
    const double step = (f->right - f->left) / n;
    for (uint32_t i = 0; i < n; i++) {
        const double x = f->left + i * step;
        const uint64_t low = ((uint64_t)1 << i) + 1, high = (uint64_t)2 << i;
        if (counts[i] > 0) {
            bm_figure_bar(f, x + step * .12, x + step * .88, bm_svg_axis_share(axis, counts[i]));
            bm_figure_put(f, "><title>%s groups of %s to %s documents</title></rect>\n",
                          bm_svg_count((uint64_t)counts[i]).text, bm_svg_count(low).text,
                          bm_svg_count(high).text);
        }
        if (n <= 10 || i % 2 == 0)
            bm_figure_text(f, "mid soft", x + step / 2, f->bottom + 20, bm_svg_count(high).text);
    }
}

void bm_page_draw_sizes(bm_page_writer *w)
{
    const bm_page_facts *facts = &w->content->facts;
    double counts[SIZE_BINS] = {0};
    uint32_t n = 0;
    for (size_t i = 0; i < facts->n_sizes; i++) {
        const uint32_t bin = bin_of(facts->sizes[i].size);
        counts[bin] += (double)facts->sizes[i].groups;
        n = bin + 1 > n ? bin + 1 : n;
    }
    if (n == 0)
        return;
    n = n < 4 ? 4 : n;
    const bm_svg_axis axis = bm_svg_axis_of(counts, n);
    begin_figure(w, "sizes", "Sizes of groups", 282);
    bm_markup_format(&w->m,
                     "<desc id=\"d-sizes\">How many groups have how many documents, in ranges that "
                     "double: %s groups, the largest of %s documents.</desc>\n",
                     bm_svg_count(facts->counts.groups).text,
                     bm_svg_count(facts->sizes[facts->n_sizes - 1].size).text);
    bm_figure f = begin_drawing(w);
    bm_figure_counts(&f, &axis, "groups");
    put_size_bars(&f, counts, n, &axis);
    bm_figure_line(&f, "axis", (const double[]){f.left, f.bottom, f.right, f.bottom});
    bm_figure_text(&f, "mid soft", (f.left + f.right) / 2, f.bottom + 42,
                   "documents of a group, up to");
    end_drawing(w, &f);
    bm_markup_put(&w->m, "</figure>\n");
}
