/* SPDX-License-Identifier: Apache-2.0 */
/* set_maker.c -- makes the shingle sets of documents again from their texts, with a parser and a
 * shingler, as a worker thread of the ingest does.
 *
 * Tests: tests/unit/corpus/test_corpus_again.c */
#include "sign/ingest.h"

#include "base/error.h"
#include "base/memory.h"
#include "text/shingler.h"

struct bm_set_maker {
    bm_set_recipe recipe;
    bm_batch_parser *parser;
    bm_shingler *shingler;
    bm_shingle_batch made;
    const bm_record_place *places; /* places of the documents being made */
    size_t n;
};

bm_status bm_set_maker_open(const bm_set_recipe *recipe, bm_set_maker **out, bm_error *err)
{
    bm_set_maker *maker = NULL;
    bm_status status = BM_OK;
    BM_TRY(bm_new_zero(&maker, 1, err));
    maker->recipe = *recipe;
    BM_TRY_OUT(bm_batch_parser_open(recipe->source, &maker->parser, err));
    status = bm_shingler_open(recipe->text, recipe->cpu, &maker->shingler, err);
out:
    if (status != BM_OK) {
        bm_set_maker_close(maker);
        return status;
    }
    *out = maker;
    return BM_OK;
}

void bm_set_maker_close(bm_set_maker *maker)
{
    if (maker == NULL)
        return;
    bm_batch_parser_close(maker->parser);
    bm_shingler_close(maker->shingler);
    bm_shingle_batch_reset(&maker->made);
    bm_free(maker);
}

bm_status bm_set_maker_changed(const bm_set_recipe *recipe, const bm_record_place *place,
                               bm_error *err)
{
    return bm_fail_at(err, BM_ERR_INPUT, bm_batch_source_file(recipe->source, place->file),
                      place->line, "the file changed while the job read it");
}

static bm_status on_record(void *ctx, const bm_record *record, bm_error *err)
{
    bm_set_maker *maker = ctx;
    const size_t at = maker->made.n_docs;
    if (at < maker->n && record->line == maker->places[at].line && !record->bad &&
        record->text_bytes == maker->places[at].text_bytes)
        return bm_shingler_add(maker->shingler, record->text, &maker->made, err);
    return bm_set_maker_changed(&maker->recipe, &maker->places[at < maker->n ? at : 0], err);
}

bm_status bm_set_maker_make(bm_set_maker *maker, const bm_record_place *places, size_t n,
                            const bm_shingle_batch **out, bm_error *err)
{
    maker->places = places;
    maker->n = n;
    bm_shingle_batch_clear(&maker->made);
    BM_TRY(maker->parser->ops->parse_again(maker->parser, places, n, on_record, maker, err));
    if (maker->made.n_docs < n) /* a blank line has replaced a record */
        return bm_set_maker_changed(&maker->recipe, &places[maker->made.n_docs], err);
    *out = &maker->made;
    return BM_OK;
}
