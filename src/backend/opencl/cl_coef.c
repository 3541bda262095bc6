/* cl_coef.c -- see cl_coef.h. */
#include "backend/opencl/cl_coef.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"

#define OPH_HEAD 16u /* BM_OPH_HEAD of kernels/oph_donors.cl */

static bm_status reserve(size_t words, uint32_t **out, size_t *n, bm_error *err)
{
    *n = words;
    *out = bm_alloc_zero(words, sizeof **out);
    return *out != NULL ? BM_OK : bm_fail_nomem(err, words * sizeof **out);
}

bm_status bm_cl_coef_make(const bm_cl_shape *shape, const bm_scheme_params *params,
                          const bm_oph_plan *plan, uint32_t **out, size_t *n, bm_error *err)
{
    bm_status status;
    if (shape->scheme == BM_SCHEME_OPH) {
        const size_t table = (size_t)plan->bins * plan->row * sizeof *plan->order;
        status = reserve(OPH_HEAD + 2 * table / sizeof **out, out, n, err);
        if (status != BM_OK)
            return status;
        char *tables = (char *)(*out + OPH_HEAD);
        (*out)[0] = params->a[0];
        (*out)[1] = params->b[0];
        memcpy(tables, plan->order, table);
        memcpy(tables + table, plan->offers, table);
    } else {
        status = reserve((size_t)shape->coef_words * 2, out, n, err);
        if (status != BM_OK)
            return status;
        memcpy(*out, params->a, shape->perms * sizeof **out);
        memcpy(*out + shape->coef_words, params->b, shape->perms * sizeof **out);
    }
    return BM_OK;
}
