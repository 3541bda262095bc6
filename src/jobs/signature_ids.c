/* signature_ids.c -- one walk over ids.txt for the ids that matter, and numbering once more beside the
 * second.
 *
 * Tests: tests/cli/cases/numbered_signatures.sh */
#include "jobs/signature_ids.h"

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
    BM_TRY(bm_id_set_add(&ids->known, id, &place, err));
    return bm_id_set_add(&ids->known, base, &place, err);
}

bm_status bm_signature_ids_load(const bm_sign_dir *dir, bm_signature_ids *out, bm_error *err)
{
    size_t ends[IDS_BLOCK];
    bm_buf text = {0};
    bm_status status = BM_OK;
    const uint64_t n_docs = bm_sign_dir_docs(dir);
    for (uint64_t at = 0; at < n_docs; at += IDS_BLOCK) {
        const size_t n = n_docs - at < IDS_BLOCK ? (size_t)(n_docs - at) : IDS_BLOCK;
        text.len = 0;
        BM_TRY_OUT(bm_sign_dir_ids(dir, at, n, &(bm_sign_ids){&text, ends}, err));
        for (size_t i = 0, begin = 0; i < n; begin = ends[i++])
            BM_TRY_OUT(note(out, (bm_str){text.data + begin, ends[i] - begin}, err));
    }
out:
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
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_next_numbers_of(&ids->next, place, &next, err));
    for (; *next < number; (*next)++) {
        text->len = 0;
        BM_TRY_OUT(bm_buf_add(text, base.data, base.len, err));
        BM_TRY_OUT(bm_buf_add_format(text, err, "#%" PRIu32, *next));
        const uint32_t other = bm_id_set_find(&ids->known, (bm_str){text->data, text->len});
        /* this one is free */
        if (other == BM_ID_NONE || !ids->seen[other])
            break;
    }
out:
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
