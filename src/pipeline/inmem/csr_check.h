/* csr_check.h -- are a caller's offsets fit to be read? */
#ifndef BM_INMEM_CSR_CHECK_H
#define BM_INMEM_CSR_CHECK_H

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "base/error.h"

/* offsets[0] is 0, they never fall, no document has more hashes than a uint32_t counts:
 * BM_ERR_INPUT names the row that breaks it. n_docs 0: nothing is read, offsets may be NULL. */
static inline bm_status bm_csr_check(const uint64_t *offsets, size_t n_docs, bm_error *err)
{
    if (n_docs == 0)
        return BM_OK;
    if (offsets[0] != 0)
        return bm_fail(err, BM_ERR_INPUT, "offset of row 0 is %llu (0 was expected)",
                       (unsigned long long)offsets[0]);
    for (size_t i = 0; i < n_docs; i++) {
        unsigned long long begin = offsets[i], end = offsets[i + 1];
        if (end < begin)
            return bm_fail(err, BM_ERR_INPUT,
                           "row %zu ends at offset %llu before it begins at %llu (offsets must not "
                           "fall)",
                           i, end, begin);
        if (end - begin > UINT32_MAX)
            return bm_fail(err, BM_ERR_INPUT, "row %zu has %llu hashes (at most %u)", i,
                           end - begin, UINT32_MAX);
    }
    return BM_OK;
}

#endif
