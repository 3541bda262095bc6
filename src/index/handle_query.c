/* handle_query.c -- documents of a call against the newest view; what is found belongs to the caller.
 *
 * Tests: tests/unit/index/test_index_handle.c, tests/unit/jobs/test_public_api_query.c */
#include <string.h>

#include "base/error.h"
#include "model/scheme_facts.h"
#include "base/memory.h"
#include "base/sized_struct.h"
#include "base/wait_readable.h"
#include "index/index_handle.h"

#define CHUNK 8192u /* documents that are signed and looked up as one */

struct bm_matches {
    size_t n_docs;
    uint64_t *offsets; /* n_docs + 1 */
    double *similarities;
    uint64_t *id_ends; /* in ids */
    bm_buf ids;
    size_t cap_similarities, cap_id_ends;
};

static const bm_match_options match_defaults = {0};

void bm_match_options_init_sized(bm_match_options *options, size_t struct_size)
{
    bm_sized_init(options, struct_size, &match_defaults, sizeof match_defaults);
}

/* --- matches --- */

static bm_status take_answers(bm_matches *m, const bm_store_view *view,
                              const bm_search_result *found, size_t first, bm_error *err)
{
    uint64_t n = m->offsets[first];
    for (size_t i = 0; i < found->n; i++) {
        for (uint64_t k = found->begin[i]; k < found->begin[i + 1]; k++) {
            bm_store_doc doc;
            BM_TRY(bm_store_view_doc(view, found->list[k].number, &doc, err));
            BM_TRY(bm_grow_array(&m->similarities, &m->cap_similarities, (size_t)n + 1, err));
            BM_TRY(bm_grow_array(&m->id_ends, &m->cap_id_ends, (size_t)n + 1, err));
            BM_TRY(bm_buf_add(&m->ids, doc.id.data, doc.id.len, err));
            m->similarities[n] = found->list[k].similarity;
            m->id_ends[n++] = m->ids.len;
        }
        m->offsets[first + i + 1] = n;
    }
    return BM_OK;
}

size_t bm_matches_count(const bm_matches *matches)
{
    return matches != NULL ? matches->n_docs : 0;
}

const uint64_t *bm_matches_offsets(const bm_matches *matches)
{
    return matches != NULL ? matches->offsets : NULL;
}

const double *bm_matches_similarities(const bm_matches *matches)
{
    return matches != NULL ? matches->similarities : NULL;
}

bm_str bm_matches_id(const bm_matches *matches, uint64_t match)
{
    if (matches == NULL || match >= matches->offsets[matches->n_docs])
        return (bm_str){NULL, 0};
    const uint64_t begin = match == 0 ? 0 : matches->id_ends[match - 1];
    return (bm_str){matches->ids.data + begin, (size_t)(matches->id_ends[match] - begin)};
}

void bm_matches_free(bm_matches *matches)
{
    if (matches == NULL)
        return;
    bm_free(matches->offsets);
    bm_free(matches->similarities);
    bm_free(matches->id_ends);
    bm_buf_reset(&matches->ids);
    bm_free(matches);
}

/* --- the query --- */

typedef struct asked {
    bm_index *index;
    bm_documents docs;
    bm_match_options options;
    bm_search_cfg search;
    bm_search_result found;
    bm_matches *matches;
} asked;

static bm_status query_chunk(asked *a, size_t begin, size_t end, bm_error *err)
{
    bm_handle_signed chunk;
    BM_TRY(bm_check_cancelled(&a->index->settings.callbacks, err));
    BM_TRY(bm_handle_sign(a->index, &a->docs, (const size_t[]){begin, end}, &chunk, err));
    const bm_search_batch batch = {.n = chunk.n,
                                   .keys = chunk.keys,
                                   .n_shingles = chunk.n_shingles,
                                   .sets = chunk.sets,
                                   .words = chunk.words,
                                   .ids = a->options.ids != NULL ? a->options.ids + begin : NULL};
    a->search.pool = chunk.pool;
    bm_status status = bm_search_run(&a->search, &batch, &a->found, err);
    bm_handle_signed_leave(a->index, &chunk);
    return status == BM_OK ? take_answers(a->matches, a->search.view, &a->found, begin, err)
                           : status;
}

static bm_status query(asked *a, bm_error *err)
{
    const size_t n = a->docs.n_docs;
    const bm_answer_rule *rule = &a->options.answers;
    bm_handle_view *view = NULL;
    a->matches->n_docs = n;
    BM_TRY(bm_new(&a->matches->offsets, n + 1, err));
    a->matches->offsets[0] = 0;
    BM_TRY(bm_handle_enter(a->index, &view, err));
    a->search = (bm_search_cfg){
        .word_bytes = bm_scheme_word_bytes(a->index->settings.sketch.scheme),
        .view = view->view,
        .facts = bm_store_facts_of(view->from->store),
        .measure = rule->measure,
        .threshold = rule->threshold > 0 ? rule->threshold : a->index->settings.bands.threshold,
        .top = rule->top,
        .skip_same_id = rule->skip_same_id,
        .first = BM_SEARCH_FIRST};
    bm_status status = BM_OK;
    if (rule->measure == BM_MEASURE_CONTAINMENT && a->search.facts->kind != BM_STORE_SETS)
        BM_TRY_OUT(bm_fail_field(err, "measure",
                                 "`measure` containment needs sets, the index keeps signatures"));
    for (size_t i = 0; i < n; i += CHUNK)
        BM_TRY_OUT(query_chunk(a, i, n - i < CHUNK ? n : i + CHUNK, err));
out:
    bm_handle_leave(a->index, view);
    bm_search_result_reset(&a->found);
    return status;
}

static bm_status take_options(asked *a, const bm_match_options *options, bm_error *err)
{
    a->options = match_defaults;
    if (options != NULL)
        BM_TRY(bm_sized_take(options, BM_SIZED_TYPE(bm_match_options, ids), &a->options, err));
    BM_TRY(bm_answer_rule_check(&a->options.answers, err));
    if (a->options.answers.skip_same_id && a->options.ids == NULL && a->docs.n_docs > 0)
        return bm_fail_field(err, "ids", "`skip_same_id` without `ids`");
    for (size_t i = 0; a->options.ids != NULL && i < a->docs.n_docs; i++) {
        if (a->options.ids[i].data == NULL && a->options.ids[i].len != 0)
            return bm_fail_field(err, "ids", "`ids`: %zu is NULL and has a length", i);
    }
    return BM_OK;
}

bm_status bm_index_query(bm_index *index, const bm_match_options *options,
                         const bm_documents *documents, bm_matches **out, bm_error *err)
{
    bm_error why = {0};
    asked a = {.index = index};
    if (index == NULL)
        return bm_fail_field(err, "index", "no index given");
    if (out == NULL)
        return bm_fail_field(err, "out", "no place for the matches given");
    BM_TRY(bm_handle_check_documents(index, documents, &a.docs, err));
    BM_TRY(take_options(&a, options, err));
    BM_TRY(bm_new_zero(&a.matches, 1, err));
    bm_status status = BM_OK;
    BM_TRY_OUT(query(&a, &why));
    *out = a.matches;
    return BM_OK;
out:
    if (err != NULL)
        *err = why;
    bm_matches_free(a.matches);
    return status;
}
