/* histogram_svg.c -- the histogram as a picture: a self-contained SVG of a few kilobytes.
 *
 * A bar a bin, from the tenth below the threshold to 1. Where the greatest bin has a hundred times
 * the pairs of the least that is not empty, the scale is logarithmic, from a half, so that a single
 * pair is still a bar; else linear. A dashed line stands at the threshold; nothing was looked for
 * on its left, and that ground is grey. Each bar has its numbers as a tooltip (<title>) and in
 * data-pairs; title and desc say the same in words for who cannot see it.
 *
 *     0 +---------------------------------+ 720
 *       | title, line of words            |
 *       | y |  plot 608 x 260             |
 *       |   +-----------------------------|
 *       |     similarities, their name    |
 *   400 +---------------------------------+
 *
 * Numbers are written by integers only, so that no locale changes them.
 *
 * Tests: tests/unit/output/test_histogram.c */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/error.h"
#include "model/file_heads.h"
#include "pipeline/output/histogram.h"

#define LEFT      88
#define RIGHT     696
#define TOP       72
#define BOTTOM    332
#define LOG_RATIO 100u
#define LOG_FROM  0.5 /* where a logarithmic axis begins: a bar of one pair has a height */

typedef struct scale {
    bool log;
    double top;     /* the value at the upper end */
    uint64_t step;  /* between ticks, where linear */
    uint32_t first; /* bin */
} scale;

/* Hundredths of a pixel as text: "12.34". */
typedef struct pixels {
    char text[24];
} pixels;

static pixels px(double value)
{
    pixels out;
    long hundredths = lround(value * 100);
    snprintf(out.text, sizeof out.text, "%ld.%02ld", hundredths / 100, hundredths % 100);
    return out;
}

static double x_of(const scale *s, double similarity)
{
    double first = (double)s->first / BM_HISTOGRAM_BINS;
    return LEFT + (similarity - first) / (1 - first) * (RIGHT - LEFT);
}

static double y_of(const scale *s, double pairs)
{
    double share = s->log ? log(pairs / LOG_FROM) / log(s->top / LOG_FROM) : pairs / s->top;
    return BOTTOM - share * (BOTTOM - TOP);
}

/* 1, 2 or 5 times a power of ten: the least that divides `top` into six parts at most. */
static uint64_t tick_step(uint64_t top)
{
    uint64_t ten = 1;
    for (;; ten *= 10)
        for (uint64_t digit = 1; digit <= 5; digit += digit == 1 ? 1 : 3)
            if (top / (ten * digit) <= 5)
                return ten * digit;
}

static scale choose_scale(const bm_histogram_picture *p)
{
    uint64_t most = 0, least = UINT64_MAX;
    for (uint32_t i = 0; i < BM_HISTOGRAM_BINS; i++) {
        most = p->bins[i] > most ? p->bins[i] : most;
        least = p->bins[i] > 0 && p->bins[i] < least ? p->bins[i] : least;
    }
    scale s = {.log = most > 0 && most / least >= LOG_RATIO};
    s.first = bm_histogram_bin(p->threshold) / 10 * 10;
    if (s.log) {
        s.top = 1;
        while (s.top < (double)most)
            s.top *= 10;
    } else {
        s.step = tick_step(most);
        s.top = (double)(most / s.step + 1) * (double)s.step;
    }
    return s;
}

/* With commas: 1,234,567. */
static pixels with_commas(uint64_t n)
{
    char digits[24];
    pixels out;
    int len = snprintf(digits, sizeof digits, "%" PRIu64, n), to = 0;
    for (int i = 0; i < len && to + 2 < (int)sizeof out.text; i++) {
        if (i > 0 && (len - i) % 3 == 0)
            out.text[to++] = ',';
        out.text[to++] = digits[i];
    }
    out.text[to] = '\0';
    return out;
}

/* A similarity in up to four digits: "0.8", "0.8571". */
static pixels short_number(double value)
{
    pixels out;
    unsigned n = (unsigned)lround(value * 10000);
    int len = snprintf(out.text, sizeof out.text, "%u.%04u", n / 10000, n % 10000);
    while (len > 1 && out.text[len - 1] == '0')
        out.text[--len] = '\0';
    if (len > 1 && out.text[len - 1] == '.')
        out.text[--len] = '\0';
    return out;
}

static bm_status add_head(bm_buf *out, const bm_histogram_picture *p, const scale *s, bm_error *err)
{
    bm_status status = bm_buf_add_format(
        out, err,
        BM_HEAD_PICTURE
        "<desc id=\"desc\">Histogram: %s pairs of %s documents by Jaccard similarity, in steps of "
        "0.01, at and above the threshold %s; %s scale.</desc>\n",
        with_commas(p->n_pairs).text, with_commas(p->n_documents).text,
        short_number(p->threshold).text, s->log ? "logarithmic" : "linear");
    if (status == BM_OK)
        status = bm_buf_add_text(
            out,
            "<style>text{font:13px system-ui,sans-serif;fill:#333}.head{font-size:17px;fill:#111}"
            ".bar{fill:#2f6f9f}.bar:hover{fill:#c1531b}.grid{stroke:#ddd}.axis{stroke:#333}"
            ".off{fill:#f1f1f1}.threshold{stroke:#c1531b;stroke-width:1.5;stroke-dasharray:5 4}"
            ".mark{fill:#a8430f}.num{text-anchor:end}.mid{text-anchor:middle}</style>\n"
            "<rect width=\"720\" height=\"400\" fill=\"#fff\"/>\n",
            err);
    if (status == BM_OK)
        status = bm_buf_add_format(out, err,
                                   "<text class=\"head\" x=\"24\" y=\"32\">Similarities of %s pairs"
                                   "</text>\n<text x=\"24\" y=\"53\">%s documents; %s</text>\n",
                                   with_commas(p->n_pairs).text, with_commas(p->n_documents).text,
                                   p->what);
    return status;
}

static bm_status add_tick(bm_buf *out, const scale *s, uint64_t value, bm_error *err)
{
    pixels y = px(y_of(s, (double)value)), text = px(y_of(s, (double)value) + 4.5);
    return bm_buf_add_format(out, err,
                             "<line class=\"grid\" x1=\"%d\" x2=\"%d\" y1=\"%s\" y2=\"%s\"/>"
                             "<text class=\"num\" x=\"%d\" y=\"%s\">%s</text>\n",
                             LEFT, RIGHT, y.text, y.text, LEFT - 8, text.text,
                             with_commas(value).text);
}

static bm_status add_axes(bm_buf *out, const scale *s, bm_error *err)
{
    bm_status status = BM_OK;
    uint64_t last = (uint64_t)s->top;
    for (uint64_t value = s->log ? 1 : 0; status == BM_OK && value <= last;
         value = s->log ? value * 10 : value + s->step)
        status = add_tick(out, s, value, err);
    uint32_t step = s->first >= 70 ? 5 : 10; /* hundredths between two marks */
    for (uint32_t i = s->first; status == BM_OK && i <= BM_HISTOGRAM_BINS; i += step) {
        double x = x_of(s, (double)i / BM_HISTOGRAM_BINS);
        status = bm_buf_add_format(out, err,
                                   "<line class=\"axis\" x1=\"%s\" x2=\"%s\" y1=\"%d\" y2=\"%d\"/>"
                                   "<text class=\"mid\" x=\"%s\" y=\"%d\">%s</text>\n",
                                   px(x).text, px(x).text, BOTTOM, BOTTOM + 5, px(x).text,
                                   BOTTOM + 21, short_number((double)i / BM_HISTOGRAM_BINS).text);
    }
    if (status == BM_OK)
        status = bm_buf_add_format(
            out, err,
            "<text class=\"mid\" x=\"%d\" y=\"%d\">Jaccard similarity</text>\n"
            "<text class=\"mid\" transform=\"translate(20 %d) rotate(-90)\">pairs%s</text>\n",
            (LEFT + RIGHT) / 2, BOTTOM + 46, (TOP + BOTTOM) / 2, s->log ? " (log scale)" : "");
    return status;
}

static bm_status add_bars(bm_buf *out, const bm_histogram_picture *p, const scale *s, bm_error *err)
{
    bm_status status = BM_OK;
    for (uint32_t i = s->first; status == BM_OK && i < BM_HISTOGRAM_BINS; i++) {
        if (p->bins[i] == 0)
            continue;
        double low = (double)i / BM_HISTOGRAM_BINS, high = (double)(i + 1) / BM_HISTOGRAM_BINS;
        double x = x_of(s, low), width = x_of(s, high) - x, y = y_of(s, (double)p->bins[i]);
        status = bm_buf_add_format(
            out, err,
            "<rect class=\"bar\" x=\"%s\" y=\"%s\" width=\"%s\" height=\"%s\" data-low=\"0.%02u\" "
            "data-pairs=\"%" PRIu64 "\"><title>0.%02u to %u.%02u: %s pairs</title></rect>\n",
            px(x + .5).text, px(y).text, px(width - 1).text, px(BOTTOM - y).text, i, p->bins[i], i,
            (i + 1) / 100, (i + 1) % 100, with_commas(p->bins[i]).text);
    }
    return status;
}

static bm_status add_threshold(bm_buf *out, const bm_histogram_picture *p, const scale *s,
                               bm_error *err)
{
    double x = x_of(s, p->threshold);
    bool at_right = x > RIGHT - 120; /* no room for its words on the right */
    return bm_buf_add_format(out, err,
                             "<line class=\"axis\" x1=\"%d\" x2=\"%d\" y1=\"%d\" y2=\"%d\"/>\n"
                             "<line class=\"threshold\" x1=\"%s\" x2=\"%s\" y1=\"%d\" y2=\"%d\"/>"
                             "<text class=\"mark%s\" x=\"%s\" y=\"%d\">threshold %s</text>\n",
                             LEFT, RIGHT, BOTTOM, BOTTOM, px(x).text, px(x).text, TOP - 14, BOTTOM,
                             at_right ? " num" : "", px(at_right ? x - 6 : x + 6).text, TOP - 4,
                             short_number(p->threshold).text);
}

bm_status bm_histogram_svg(bm_buf *out, const bm_histogram_picture *p, bm_error *err)
{
    scale s = choose_scale(p);
    bm_status status = add_head(out, p, &s, err);
    if (status == BM_OK)
        status = bm_buf_add_format(out, err,
                                   "<rect class=\"off\" x=\"%d\" y=\"%d\" width=\"%s\" "
                                   "height=\"%d\"><title>not looked for</title></rect>\n",
                                   LEFT, TOP, px(x_of(&s, p->threshold) - LEFT).text, BOTTOM - TOP);
    if (status == BM_OK)
        status = add_axes(out, &s, err);
    if (status == BM_OK)
        status = add_bars(out, p, &s, err);
    if (status == BM_OK)
        status = add_threshold(out, p, &s, err);
    return status == BM_OK ? bm_buf_add_text(out, "</svg>\n", err) : status;
}
