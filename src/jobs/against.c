/* against.c -- ranges of the corpus through the search of the index.
 *
 * Tests: tests/cli/cases/dedup_against.sh, tests/cli/cases/against_exact.sh, tests/reference/test_against.py, tests/fault/against_calls.c */
#include "jobs/against.h"

#include <math.h>

#include "model/scheme_facts.h"
#include "base/error.h"
#include "base/memory.h"
#include "lsh/containment.h"
#include "lsh/verify.h"
#include "job/job_stages.h"
#include "corpus/corpus.h"
#include "corpus/corpus_range.h"
#include "index/search.h"
#include "jobs/against_signed.h"
#include "jobs/against_state.h"
#include "match/known_groups.h"
#include "sketch/scheme.h"

#define RANGE_BYTES  ((uint64_t)32 << 20) /* of sets, where the job has no arena */
#define SHARES_A_BIT 1e-300               /* a threshold that any shared shingle reaches */
#define LINK_BYTES   64u /* of a known document that was found, its id included, about */

/* --- finding --- */

typedef struct finding {
    bm_against *against;
    bm_job_context *context;
    bm_corpus *corpus;
    bm_known *known;
    bm_corpus_range range;
    bm_search_result result;
    uint8_t *all_held; /* with CONTAINED: of each document, whether a known one holds all of it */
    bm_share share;
} finding;

/* What holds a document, of all known ones that share a band and a shingle with it: that which has most of it. */
static bm_status take_holder(finding *f, size_t i, uint32_t doc, bm_error *err)
{
    const bm_search_result *result = &f->result;
    const uint32_t n = f->corpus->sizes[doc], least = bm_share_least(f->share, n);
    bm_answer best = {0};
    uint32_t most = 0;
    for (uint64_t k = result->begin[i]; k < result->begin[i + 1]; k++) {
        const bm_answer *answer = &result->list[k];
        bm_store_doc known;
        BM_TRY(bm_store_view_doc(f->against->view, answer->number, &known, err));
        const uint32_t shared =
            (uint32_t)bm_jaccard_common(answer->similarity, n, known.n_shingles);
        if (shared < least || shared < most || (shared == most && answer->number > best.number))
            continue;
        best = *answer;
        most = shared;
    }
    f->all_held[doc] = most == n;
    return most == 0
               ? BM_OK
               : bm_known_add(f->known, (bm_known_link){best.number, doc}, best.similarity, err);
}

static bm_status take_answers(finding *f, size_t first, bm_error *err)
{
    const bm_search_result *result = &f->result;
    for (size_t i = 0; i < result->n; i++) {
        if (f->all_held != NULL)
            BM_TRY(take_holder(f, i, f->range.docs[first + i], err));
        for (uint64_t k = result->begin[i]; f->all_held == NULL && k < result->begin[i + 1]; k++) {
            const bm_known_link link = {result->list[k].number, f->range.docs[first + i]};
            BM_TRY(bm_known_add(f->known, link, result->list[k].similarity, err));
        }
    }
    return BM_OK;
}

static bm_status search_range(finding *f, const bm_search_cfg *cfg, bm_error *err)
{
    const bm_corpus_range *r = &f->range;
    const bm_store_facts *facts = cfg->facts;
    for (size_t at = 0; at < r->n; at += f->result.n) {
        const bm_search_batch batch = {
            .n = r->n - at,
            .keys = r->keys + at * facts->bands,
            .n_shingles = r->sizes + at,
            .sets = r->sets + at,
            .words = facts->kind == BM_STORE_SIGNATURES ? r->words + at * facts->words : NULL};
        BM_TRY(bm_search_run(cfg, &batch, &f->result, err));
        BM_TRY(take_answers(f, at, err));
        BM_TRY(bm_meter_check(&f->context->meter, err));
    }
    return BM_OK;
}

static bm_status search_all(finding *f, bm_error *err)
{
    const bm_settings *s = f->context->settings;
    const uint64_t arena = f->corpus->cfg.budget.arena;
    const bool contained = s->pairs.verify == BM_VERIFY_CONTAINED;
    const uint64_t most = arena == 0 || arena > 2 * RANGE_BYTES ? RANGE_BYTES : arena / 2;
    const bm_search_cfg cfg = {.word_bytes = bm_scheme_word_bytes(s->sketch.scheme),
                               .view = f->against->view,
                               .facts = bm_store_facts_of(f->against->store),
                               .pool = f->context->pool,
                               .threshold = contained ? SHARES_A_BIT : s->bands.threshold,
                               .memory = most,
                               .first = BM_SEARCH_FIRST,
                               .top = s->pairs.cluster == BM_CLUSTER_STAR ? 1 : 0,
                               .joins = s->pairs.cluster != BM_CLUSTER_STAR && !contained};
    bm_status status = BM_OK;
    for (;;) {
        BM_TRY_OUT(bm_corpus_range_next(f->corpus, most, f->context->pool, &f->range, err));
        BM_TRY_OUT(search_range(f, &cfg, err));
        BM_TRY_OUT(bm_corpus_check_matching(f->corpus, f->known->n_links * LINK_BYTES, err));
        bm_meter_progress(&f->context->meter, f->range.next, f->corpus->n, f->range.next);
    }
out:
    return status == BM_NOT_FOUND ? BM_OK : status;
}

/* What is known takes no part in stars: neither are its pairs wanted. Of what a known one holds in part another document may hold more. */
static void leave_out(const finding *f)
{
    const bm_settings *s = f->context->settings;
    if ((f->all_held == NULL && s->pairs.cluster != BM_CLUSTER_STAR) || s->results.write_pairs)
        return;
    for (size_t i = 0; i < f->known->n; i++)
        if (f->all_held != NULL ? f->all_held[i] : f->known->best[i] != BM_NO_KNOWN)
            f->corpus->skip[i] = 1;
}

static bm_status fetch_ids(finding *f, bm_error *err)
{
    BM_TRY(bm_known_end(f->known, err));
    for (size_t i = 0; i < f->known->n_links; i++) {
        bm_store_doc doc;
        BM_TRY(bm_store_view_doc(f->against->view, f->known->links[i].number, &doc, err));
        BM_TRY(bm_known_add_id(f->known, i, doc.id, doc.n_shingles, err));
    }
    return BM_OK;
}

bm_status bm_against_find(bm_against *against, bm_job_context *context, bm_corpus *corpus,
                          bm_known *known, bm_error *err)
{
    finding f = {.against = against, .context = context, .corpus = corpus, .known = known};
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_against_load(against, context, corpus, err));
    bm_job_context_stage(context, BM_STAGE_KNOWN, "documents");
    BM_TRY_OUT(bm_known_init(known, corpus->n, err));
    if (context->settings->pairs.verify == BM_VERIFY_CONTAINED) {
        bm_share_of(context->settings->pairs.containment, &f.share);
        BM_TRY_OUT(bm_new_zero(&f.all_held, corpus->n, err));
    }
    BM_TRY_OUT(search_all(&f, err));
    BM_TRY_OUT(fetch_ids(&f, err));
    leave_out(&f);
out:
    context->against.candidates = f.result.candidates;
    context->against.verified = f.result.verified;
    context->against.found = known->n_links;
    /* Of a directory whose inputs were read again only the candidates are asked: the count is that of all. */
    if (context->against.not_compared == 0)
        context->against.not_compared = f.result.not_compared;
    if (against->view != NULL)
        context->against.documents = bm_against_documents(against);
    bm_free(f.all_held);
    bm_corpus_range_reset(&f.range);
    bm_search_result_reset(&f.result);
    return status;
}

/* --- chained documents --- */

/* The set, or the words, of a known document and of one of the job. */
typedef struct comparing {
    const bm_against *against;
    bm_set_reader reader; /* of the corpus */
    bm_store_doc doc;
    uint32_t number; /* whose set is at hand; BM_NO_KNOWN: none */
    void *known, *own;
    size_t cap_known, cap_own;
} comparing;

static bm_status read_known(comparing *c, uint32_t number, bm_error *err)
{
    const bm_store_facts *facts = bm_store_facts_of(c->against->store);
    const bool words = facts->kind == BM_STORE_SIGNATURES;
    if (number == c->number)
        return BM_OK;
    c->number = BM_NO_KNOWN;
    BM_TRY(bm_store_view_doc(c->against->view, number, &c->doc, err));
    BM_TRY(bm_grow(&c->known, &c->cap_known, words ? facts->words : c->doc.n_shingles,
                   words ? sizeof(uint32_t) : sizeof(uint64_t), err));
    BM_TRY(words ? bm_store_doc_words(&c->doc, c->known, facts->words, err)
                 : bm_store_doc_set(&c->doc, c->known, err));
    c->number = number;
    return BM_OK;
}

static bm_status compare(comparing *c, uint32_t doc, double *similarity, bm_error *err)
{
    const bm_corpus *corpus = c->reader.corpus;
    const bm_word_rows words = corpus->cfg.words;
    const uint32_t rep = corpus->rep[doc], n = words.uints > 0 ? words.uints : corpus->sizes[rep];
    BM_TRY(bm_grow(&c->own, &c->cap_own, n, words.uints > 0 ? sizeof(uint32_t) : sizeof(uint64_t),
                   err));
    BM_TRY(bm_corpus_copy_set(&c->reader, rep, c->own, err));
    *similarity = words.uints > 0
                      ? bm_signature_agreement(c->own, c->known, words)
                      : bm_jaccard(bm_hashes_common(c->own, n, c->known, c->doc.n_shingles), n,
                                   c->doc.n_shingles);
    return BM_OK;
}

bm_status bm_against_compare(bm_against *against, const bm_match *match, bm_grouping *grouping,
                             bm_error *err)
{
    comparing c = {
        .against = against, .reader = {.corpus = match->settings.corpus}, .number = BM_NO_KNOWN};
    double similarity = 0;
    bm_status status = BM_OK;
    for (size_t i = 0; i < grouping->n; i++) {
        if (grouping->known[i] == BM_NO_KNOWN || !isnan(grouping->similarity[i]))
            continue;
        if (i % 1024 == 0)
            BM_TRY_OUT(bm_meter_check(match->settings.meter, err));
        BM_TRY_OUT(read_known(&c, grouping->known[i], err));
        BM_TRY_OUT(compare(&c, (uint32_t)i, &similarity, err));
        bm_grouping_compared(grouping, (uint32_t)i, similarity, match->settings.threshold);
    }
out:
    bm_set_reader_reset(&c.reader);
    bm_free(c.known);
    bm_free(c.own);
    return status;
}
