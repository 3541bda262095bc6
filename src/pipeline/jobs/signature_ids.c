/* signature_ids.c -- one walk over ids.txt for the ids that matter, and numbering once more beside the
 * second.
 *
 * Tests: tests/cli/cases/numbered_signatures.sh */
#include "pipeline/jobs/signature_ids.h"

#include <inttypes.h>

#include "base/error.h"
#include "model/numbered_id.h"

#define IDS_BLOCK 256u

static bm_status note(bm_signature_ids *ids, bm_str id, bm_error *err)
{
    bm_str base;
    uint32_t number, place;
    if (!bm_numbered_id(id, &base, &number))
        return BM_OK;
    bm_status status = bm_id_set_add(&ids->known, id, &place, err);
    return status == BM_OK ? bm_id_set_add(&ids->known, base, &place, err) : status;
}

bm_status bm_signature_ids_load(const bm_sign_dir *dir, bm_signature_ids *out, bm_error *err)
{
    size_t ends[IDS_BLOCK];
    bm_buf text = {0};
    bm_status status = BM_OK;
    const uint64_t n_docs = bm_sign_dir_docs(dir);
    for (uint64_t at = 0; status == BM_OK && at < n_docs; at += IDS_BLOCK) {
        const size_t n = n_docs - at < IDS_BLOCK ? (size_t)(n_docs - at) : IDS_BLOCK;
        text.len = 0;
        status = bm_sign_dir_ids(dir, at, n, &(bm_sign_ids){&text, ends}, err);
        for (size_t i = 0, begin = 0; status == BM_OK && i < n; begin = ends[i++])
            status = note(out, (bm_str){text.data + begin, ends[i] - begin}, err);
    }
    bm_buf_reset(&text);
    if (status != BM_OK || out->known.n == 0)
        return status;
    out->seen = bm_alloc_zero(out->known.n, sizeof *out->seen);
    return out->seen != NULL ? BM_OK : bm_fail_nomem(err, out->known.n);
}

/* *is: would a repeat of the id that is known by `place` have got this number now? */
static bm_status is_next(bm_signature_ids *ids, uint32_t place, uint32_t number, bool *is,
                         bm_error *err)
{
    const bm_str base = bm_id_set_id(&ids->known, place);
    uint32_t *next;
    bm_buf *text = &ids->scratch;
    bm_status status = bm_next_numbers_of(&ids->next, place, &next, err);
    for (; status == BM_OK && *next < number; (*next)++) {
        text->len = 0;
        status = bm_buf_add(text, base.data, base.len, err);
        if (status == BM_OK)
            status = bm_buf_add_format(text, err, "#%" PRIu32, *next);
        if (status != BM_OK)
            break;
        const uint32_t other = bm_id_set_find(&ids->known, (bm_str){text->data, text->len});
        if (other == BM_ID_NONE || !ids->seen[other])
            break; /* this one is free */
    }
    *is = status == BM_OK && *next == number;
    return status;
}

bm_status bm_signature_ids_original(bm_signature_ids *ids, bm_str id, bm_str *original,
                                    bm_error *err)
{
    bm_str base;
    uint32_t number;
    bm_status status = BM_OK;
    *original = id;
    const uint32_t place = ids->known.n > 0 ? bm_id_set_find(&ids->known, id) : BM_ID_NONE;
    if (place == BM_ID_NONE)
        return BM_OK;
    if (bm_numbered_id(id, &base, &number)) {
        const uint32_t of = bm_id_set_find(&ids->known, base);
        bool is = false;
        if (ids->seen[of])
            status = is_next(ids, of, number, &is, err);
        if (is)
            *original = base;
    }
    ids->seen[place] = true;
    return status;
}

void bm_signature_ids_reset(bm_signature_ids *ids)
{
    bm_id_set_reset(&ids->known);
    bm_next_numbers_reset(&ids->next);
    bm_buf_reset(&ids->scratch);
    bm_free(ids->seen);
    ids->seen = NULL;
}
