/* scheme_merge.c -- see scheme_merge.h.
 *
 * Tests: tests/unit/sketch/test_scheme_device.c */
#include "sketch/scheme_merge.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"

void bm_words_merge32(const bm_scheme_params *params, const void *part, void *words)
{
    const uint32_t *from = part;
    uint32_t *to = words;
    for (uint32_t i = 0; i < params->perms; i++)
        if (from[i] < to[i])
            to[i] = from[i];
}

/* Lists of `each` bytes, one behind the other, each in the room of `room` bytes; NULL ends them. */
static bm_status put_lists(const void *const *lists, size_t each, size_t room, void **out,
                           size_t *bytes, bm_error *err)
{
    size_t n = 0;
    while (lists[n] != NULL)
        n++;
    *bytes = n * room;
    char *all = bm_alloc_zero(*bytes, 1);
    if (all == NULL)
        return bm_fail_nomem(err, *bytes);
    for (size_t i = 0; i < n; i++)
        memcpy(all + i * room, lists[i], each);
    *out = all;
    return BM_OK;
}

bm_status bm_coefficients_upload32(const bm_scheme_params *params, uint32_t padded, void **out,
                                   size_t *bytes, bm_error *err)
{
    const void *const lists[] = {params->a, params->b, NULL};
    return put_lists(lists, params->perms * sizeof *params->a, padded * sizeof *params->a, out,
                     bytes, err);
}

bm_status bm_coefficients_upload64(const bm_scheme_params *params, uint32_t padded, void **out,
                                   size_t *bytes, bm_error *err)
{
    const void *const lists[] = {params->a64, params->b64, params->c64, NULL};
    return put_lists(lists, params->perms * sizeof *params->a64, padded * sizeof *params->a64, out,
                     bytes, err);
}
