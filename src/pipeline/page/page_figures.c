/* page_figures.c -- the pictures of counts: what became of the documents, similarities, sizes of groups.
 *
 * Each is an <svg role="img"> with a title and a description that say the same in words; each bar has its numbers as a
 * tooltip.
 *
 * Tests: tests/reference/test_report.py */
#include "pipeline/page/page_sections.h"

#include <inttypes.h>
#include <math.h>

#include <bandmill/sketch.h>

#include "pipeline/output/svg_plot.h"

#define WIDTH  520.0
#define LEFT   64.0
#define RIGHT  470.0
#define TOP    30.0
#define BOTTOM 220.0
#define STEPS  100 /* of the curve */

/* `name`: its number on the page, for ids. */
static void begin_figure(bm_page_writer *w, const char *name, const char *title, double height)
{
    bm_markup_format(
        &w->m,
        "<figure>\n<svg viewBox=\"0 0 520 %s\" role=\"img\" aria-labelledby=\"t-%s d-%s\">"
        "<title id=\"t-%s\">%s</title>\n",
        bm_svg_px(height).text, name, name, name, title);
}

typedef struct line_ends {
    double x1, y1, x2, y2;
} line_ends;

static void put_line(bm_page_writer *w, const char *class_name, line_ends at)
{
    bm_markup_format(&w->m, "<line class=\"%s\" x1=\"%s\" y1=\"%s\" x2=\"%s\" y2=\"%s\"/>",
                     class_name, bm_svg_px(at.x1).text, bm_svg_px(at.y1).text,
                     bm_svg_px(at.x2).text, bm_svg_px(at.y2).text);
}

static void put_label(bm_page_writer *w, const char *class_name, double x, double y,
                      const char *text)
{
    bm_markup_format(&w->m, "<text class=\"%s\" x=\"%s\" y=\"%s\">%s</text>\n", class_name,
                     bm_svg_px(x).text, bm_svg_px(y).text, text);
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

/* --- axes --- */

static double y_of(double share)
{
    return BOTTOM - share * (BOTTOM - TOP);
}

static void put_counts(bm_page_writer *w, const bm_svg_axis *axis, const char *what)
{
    for (uint64_t tick = bm_svg_axis_first(axis); w->m.status == BM_OK && (double)tick <= axis->top;
         tick = bm_svg_axis_next(axis, tick)) {
        const double y = y_of(bm_svg_axis_share(axis, (double)tick));
        put_line(w, "grid", (line_ends){LEFT, y, RIGHT, y});
        put_label(w, "num soft", LEFT - 7, y + 4.5, bm_svg_count(tick).text);
    }
    bm_markup_format(&w->m, "<text class=\"soft\" x=\"4\" y=\"14\">%s%s</text>\n", what,
                     axis->log ? ", log scale" : "");
}

static void put_bar(bm_page_writer *w, double from, double to, double share)
{
    bm_markup_format(&w->m, "<rect class=\"bar\" x=\"%s\" y=\"%s\" width=\"%s\" height=\"%s\">",
                     bm_svg_px(from).text, bm_svg_px(y_of(share)).text, bm_svg_px(to - from).text,
                     bm_svg_px(share * (BOTTOM - TOP)).text);
}

/* --- similarities --- */

typedef struct scale {
    double low; /* similarity at the left end */
} scale;

static double x_of(const scale *s, double similarity)
{
    return LEFT + (similarity - s->low) / (1 - s->low) * (RIGHT - LEFT);
}

static void put_bars(bm_page_writer *w, const scale *s, const bm_svg_axis *axis)
{
    const uint64_t *bins = w->content->similarities;
    for (uint32_t i = 0; i < BM_HISTOGRAM_BINS; i++) {
        if (bins[i] == 0)
            continue;
        put_bar(w, x_of(s, i / 100.0) + .4, x_of(s, (i + 1) / 100.0) - .4,
                bm_svg_axis_share(axis, (double)bins[i]));
        bm_markup_format(
            &w->m, "<title>0.%02" PRIu32 " to %" PRIu32 ".%02" PRIu32 ": %s pairs</title></rect>\n",
            i, (i + 1) / 100, (i + 1) % 100, bm_svg_count(bins[i]).text);
    }
}

static void put_curve(bm_page_writer *w, const scale *s)
{
    const bm_page_facts *facts = &w->content->facts;
    if (facts->bands == 0)
        return;
    bm_markup_put(&w->m, "<path class=\"curve\" d=\"");
    for (int i = 0; i <= STEPS; i++) {
        const double at = s->low + (1 - s->low) * i / STEPS;
        bm_markup_format(&w->m, "%s%s %s", i == 0 ? "M" : "L", bm_svg_px(x_of(s, at)).text,
                         bm_svg_px(y_of(bm_band_probability(facts->bands, facts->rows, at))).text);
    }
    bm_markup_format(
        &w->m, "\"><title>The chance to become a candidate: %s at the threshold</title></path>\n",
        bm_svg_share(facts->predicted_recall).text);
    for (int i = 0; i <= 4; i += 2) {
        put_line(w, "axis", (line_ends){RIGHT, y_of(i / 4.0), RIGHT + 4, y_of(i / 4.0)});
        bm_markup_format(&w->m, "<text class=\"soft\" x=\"%s\" y=\"%s\">%d %%</text>\n",
                         bm_svg_px(RIGHT + 7).text, bm_svg_px(y_of(i / 4.0) + 4.5).text, i * 25);
    }
}

static void put_threshold(bm_page_writer *w, const scale *s)
{
    const double t = w->content->facts.threshold, x = x_of(s, t);
    const bool at_right = x > (LEFT + RIGHT) / 2;
    put_line(w, "threshold", (line_ends){x, TOP - 8, x, BOTTOM});
    bm_markup_format(&w->m, "<text class=\"mark%s\" x=\"%s\" y=\"%s\">threshold %s</text>\n",
                     at_right ? " num" : "", bm_svg_px(x + (at_right ? -6 : 6)).text,
                     bm_svg_px(TOP + 2).text, bm_svg_share(t).text);
}

static void put_similarity_axis(bm_page_writer *w, const scale *s)
{
    const int step = s->low >= .5 ? 10 : 20;
    put_line(w, "axis", (line_ends){LEFT, BOTTOM, RIGHT, BOTTOM});
    for (int i = (int)lround(s->low * 100); i <= 100; i += step) {
        const double x = x_of(s, i / 100.0);
        put_line(w, "axis", (line_ends){x, BOTTOM, x, BOTTOM + 4});
        put_label(w, "mid soft", x, BOTTOM + 19, bm_svg_share(i / 100.0).text);
    }
    put_label(w, "mid soft", (LEFT + RIGHT) / 2, BOTTOM + 40, "Jaccard similarity");
}

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
    double counts[BM_HISTOGRAM_BINS];
    uint32_t first = bm_histogram_bin(c->facts.threshold);
    for (uint32_t i = 0; i < BM_HISTOGRAM_BINS; i++) {
        counts[i] = (double)c->similarities[i];
        first = c->similarities[i] > 0 && i < first ? i : first;
    }
    const scale s = {(first > 20 ? first / 20 * 20 - 20 : 0) / 100.0};
    const bm_svg_axis axis = bm_svg_axis_of(counts, BM_HISTOGRAM_BINS);
    begin_figure(w, "similarities", "Similarities of pairs", 268);
    describe_similarities(w);
    put_counts(w, &axis, c->similarities_of_pairs ? "Pairs" : "Removed documents");
    put_bars(w, &s, &axis);
    put_similarity_axis(w, &s);
    put_threshold(w, &s);
    put_curve(w, &s);
    bm_markup_put(&w->m, "</svg>\n<figcaption>Bars: ");
    bm_markup_put(&w->m,
                  c->similarities_of_pairs
                      ? "pairs in each hundredth of similarity, identical documents in the last. "
                      : "removed documents by their similarity to the one kept. ");
    bm_markup_put(&w->m, c->facts.bands != 0 ? "Curve, on the right scale: the chance that the "
                                               "plan proposes a pair.</figcaption>\n</figure>\n"
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

static void put_size_bars(bm_page_writer *w, const double counts[SIZE_BINS], uint32_t n,
                          const bm_svg_axis *axis)
{
    const double step = (RIGHT - LEFT) / n;
    for (uint32_t i = 0; i < n; i++) {
        const double x = LEFT + i * step;
        const uint64_t low = ((uint64_t)1 << i) + 1, high = (uint64_t)2 << i;
        if (counts[i] > 0) {
            put_bar(w, x + step * .12, x + step * .88, bm_svg_axis_share(axis, counts[i]));
            bm_markup_format(&w->m, "<title>%s groups of %s to %s documents</title></rect>\n",
                             bm_svg_count((uint64_t)counts[i]).text, bm_svg_count(low).text,
                             bm_svg_count(high).text);
        }
        if (n <= 10 || i % 2 == 0)
            put_label(w, "mid soft", x + step / 2, BOTTOM + 19, bm_svg_count(high).text);
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
    begin_figure(w, "sizes", "Sizes of groups", 268);
    bm_markup_format(&w->m,
                     "<desc id=\"d-sizes\">How many groups have how many documents, in ranges that "
                     "double: %s groups, "
                     "the largest of %s documents.</desc>\n",
                     bm_svg_count(facts->counts.groups).text,
                     bm_svg_count(facts->sizes[facts->n_sizes - 1].size).text);
    put_counts(w, &axis, "Groups");
    put_size_bars(w, counts, n, &axis);
    put_line(w, "axis", (line_ends){LEFT, BOTTOM, RIGHT, BOTTOM});
    put_label(w, "mid soft", (LEFT + RIGHT) / 2, BOTTOM + 40, "documents of a group, up to");
    bm_markup_put(&w->m, "</svg>\n</figure>\n");
}
