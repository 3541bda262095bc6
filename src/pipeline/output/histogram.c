/* histogram.c -- bins and rows.
 *
 * A bin begins at the double k/100, and a similarity that is that very fraction is in it: c/u and
 * k/100 are both rounded once, and where c/u < k/100 they differ by 1/(100 u) at least, which is
 * far more than rounding for u below 2^33. Multiplying by 100 instead would put 0.29 into bin 28.
 */
#include "pipeline/output/histogram.h"

#include <inttypes.h>

#include "model/file_heads.h"

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
    bm_status status = bm_buf_add_text(out, BM_HEAD_HISTOGRAM "\n", err);
    for (uint32_t i = 0; status == BM_OK && i < BM_HISTOGRAM_BINS; i++)
        status = bm_buf_add_format(out, err, "%u.%02u\t%u.%02u\t%" PRIu64 "\n", i / 100, i % 100,
                                   (i + 1) / 100, (i + 1) % 100, bins[i]);
    return status;
}
