/* index_ids.h -- ids of a batch against those of the index, and against each other, in input order. */
#ifndef BM_INDEX_INDEX_IDS_H
#define BM_INDEX_INDEX_IDS_H

#include "model/id_set.h"
#include "index/index_gather.h"

/* Of one batch after another. {0} is empty. */
typedef struct bm_index_ids {
    const bm_store_view *view;
    const bm_gathered *batch;
    uint32_t *known;  /* of each document: the one of the index that has its id; BM_ID_NONE */
    bm_id_set set;    /* ids of documents of the batch that stay, or stayed */
    uint32_t *holder; /* of each of these ids: the document; BM_ID_NONE: it was dropped */
    uint32_t *gone;   /* documents of the index that are to be removed */
    size_t n_gone, cap_known, cap_holder, cap_gone;
    uint32_t *sorted; /* those of `known` that are numbers, ascending */
    bool *is_gone;    /* of each of `sorted` */
    size_t n_sorted, cap_sorted, cap_is_gone;
    char **texts; /* of ids that were made here */
    size_t n_texts, cap_texts;
} bm_index_ids;

/* Look up the ids of a settled batch in the view; both are borrowed until the next one. */
bm_status bm_index_ids_begin(bm_index_ids *ids, const bm_store_view *view, uint32_t table,
                             const bm_gathered *batch, bm_error *err);
/* The same for one more document, i, of a batch that grows. */
bm_status bm_index_ids_look_up(bm_index_ids *ids, size_t i, bm_error *err);
void bm_index_ids_reset(bm_index_ids *ids);

/* Who has the id of document i: one before it in the batch (*in_batch), or one of the index. False: nobody. */
bool bm_index_ids_taken(const bm_index_ids *ids, size_t i, bool *in_batch, uint32_t *who);
/* Document i stays, under the id docs[i].id, which nobody has. */
bm_status bm_index_ids_hold(bm_index_ids *ids, size_t i, bm_error *err);
/* Whoever has the id of document i goes: *dropped is the one of the batch, BM_ID_NONE: one of the
 * index. */
bm_status bm_index_ids_drop(bm_index_ids *ids, size_t i, uint32_t *dropped, bm_error *err);
/* Is a document of the index among those that go? */
bool bm_index_ids_is_gone(const bm_index_ids *ids, uint32_t number);
/* *out: the first of id#2, id#3 … that nobody has, the batch's own. */
bm_status bm_index_ids_number(bm_index_ids *ids, bm_str id, bm_str *out, bm_error *err);

#endif
