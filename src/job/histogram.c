/* SPDX-License-Identifier: Apache-2.0 */
/* histogram.c -- finds the bins of similarities, and writes a histogram as rows or as a
 * self-contained SVG of a few kilobytes.
 *
 * Bin k begins at the double k/100, so a similarity of exactly k/100 is in bin k. The doubles of a
 * similarity c/u and of k/100 are each rounded once. If c/u < k/100, the exact values differ by at
 * least 1/(100 u). For u below 2^33, this is far more than the rounding errors, so comparing the
 * doubles gives the right result. The integer part of 100 times the similarity would be wrong: it
 * would put 0.29 into bin 28.
 *
 * The picture has one bar per nonempty bin. Its axis begins at the last tenth that is not above the
 * threshold. A dashed line marks the threshold. The area below the threshold is grey, because no
 * pairs were searched for there. Each bar has its numbers in a tooltip (<title>) and in data-pairs.
 * The elements title and desc describe the picture for screen readers. */
#include "job/histogram.h"

#include <inttypes.h>

#include "base/error.h"
#include "model/file_names.h"
#include "job/figure.h"

uint32_t bm_histogram_bin(double similarity)
{
    double estimate = similarity * BM_HISTOGRAM_BINS;
    uint32_t bin = estimate >= BM_HISTOGRAM_BINS ? BM_HISTOGRAM_BINS - 1 : (uint32_t)estimate;
    while (bin > 0 && (double)bin / BM_HISTOGRAM_BINS > similarity)
        bin--;
    while (bin + 1 < BM_HISTOGRAM_BINS && (double)(bin + 1) / BM_HISTOGRAM_BINS <= similarity)
        bin++;
    return bin;
}

bm_status bm_histogram_tsv(bm_buf *out, const uint64_t bins[BM_HISTOGRAM_BINS], bm_error *err)
{
    BM_TRY(bm_buf_add_text(out, BM_HEAD_HISTOGRAM "\n", err));
    for (uint32_t i = 0; i < BM_HISTOGRAM_BINS; i++)
        BM_TRY(bm_buf_add_format(out, err, "%u.%02u\t%u.%02u\t%" PRIu64 "\n", i / 100, i % 100,
                                 (i + 1) / 100, (i + 1) % 100, bins[i]));
    return BM_OK;
}

bm_status bm_histogram_svg(bm_buf *out, const bm_histogram_picture *p, bm_error *err)
{
    double pairs[BM_HISTOGRAM_BINS];
    const uint32_t first = bm_histogram_bin(p->threshold) / 10 * 10;
    bm_figure f = {.out = out,
                   .err = err,
                   .left = 88,
                   .right = 696,
                   .top = 98,
                   .bottom = 332,
                   .low = (double)first / BM_HISTOGRAM_BINS};
    for (uint32_t i = 0; i < BM_HISTOGRAM_BINS; i++)
        pairs[i] = (double)p->bins[i];
    bm_figure_scale(&f, pairs, BM_HISTOGRAM_BINS);
    const char *pairs_end = p->n_pairs == 1 ? "" : "s",
               *documents_end = p->n_documents == 1 ? "" : "s";
    bm_figure_put(
        &f,
        BM_HEAD_PICTURE
        "<desc id=\"desc\">Histogram: %s pair%s of %s document%s by Jaccard similarity, in "
        "steps of 0.01, at and above the threshold %s; %s scale.</desc>\n",
        bm_svg_count(p->n_pairs).text, pairs_end, bm_svg_count(p->n_documents).text, documents_end,
        bm_svg_share(p->threshold).text, f.log ? "logarithmic" : "linear");
    bm_figure_style(&f);
    bm_figure_put(&f,
                  "<text class=\"head\" x=\"24\" y=\"32\">Similarities of %s pair%s</text>\n"
                  "<text class=\"soft\" x=\"24\" y=\"53\">%s document%s; %s</text>\n"
                  "<rect class=\"off\" x=\"%s\" y=\"%s\" width=\"%s\" height=\"%s\"><title>not "
                  "looked for</title></rect>\n",
                  bm_svg_count(p->n_pairs).text, pairs_end, bm_svg_count(p->n_documents).text,
                  documents_end, p->what, bm_svg_px(f.left).text, bm_svg_px(f.top).text,
                  bm_svg_px(bm_figure_x(&f, p->threshold) - f.left).text,
                  bm_svg_px(f.bottom - f.top).text);
    bm_figure_counts(&f, "pairs");
    bm_figure_bars(&f, pairs, .4);
    bm_figure_similarities(&f, first >= 70 ? 5 : 10);
    bm_figure_threshold(&f, p->threshold);
    bm_figure_put(&f, "</svg>\n");
    return f.status;
}
