/* corpus_budget.c -- the bytes of a job at its fullest.
 *
 * Added up for the documents so far and those of the next batch:
 *
 *     reading    columns + content hashes + tables + sets + keys + batches in flight
 *     matching   columns + sets + keys (or labels) + buckets, groups + sets read back
 *     grouping   columns + sets + labels of groups, members, similarities + sets read back
 *
 * Tests: tests/unit/job/test_corpus_spill.c, tests/unit/match/test_match_all_pairs.c */
#include "corpus/corpus_budget.h"

#include "base/error.h"

#define MATCH_BYTES 33u /* a document: buckets 13, groups 16, places of crowded buckets 4 */
#define GROUP_BYTES 54u /* grouping.c: 38; groups of matching 16 */

static uint64_t greater(uint64_t x, uint64_t y)
{
    return x > y ? x : y;
}

/* Of the job's three long stretches, with n documents and `set_bytes` of sets in memory. */
typedef struct stretches {
    uint64_t reading, matching, grouping;
} stretches;

static stretches bytes_of(const bm_corpus *corpus, size_t n, uint64_t set_bytes)
{
    const bm_corpus_cfg *cfg = &corpus->cfg;
    const bm_budget *budget = &cfg->budget;
    bool sets_in_file = bm_corpus_sets_in_file(corpus),
         keys_in_file = corpus->keys.state != BM_KEYS_IN_MEMORY;
    uint64_t columns = n * (sizeof *corpus->rep + 2 + sizeof *corpus->sizes + sizeof(uint64_t));
    uint64_t keys = n * cfg->bands * sizeof(uint64_t), labels = keys, ids = 0, arena = 0;
    if (cfg->docs != NULL) {
        ids = cfg->docs->set.n_slots * sizeof *cfg->docs->set.slots;
        columns += bm_doc_table_bytes(cfg->docs) - ids;
    }
    if (cfg->words.uints > 0 && !sets_in_file)
        columns += n * sizeof *corpus->sets.words;
    if (keys_in_file) {
        keys = BM_KEYS_BUFFER;
        labels = n * cfg->bands * sizeof(uint32_t);
    }
    if (sets_in_file)
        set_bytes = BM_SETS_BUFFER;
    arena = (sets_in_file ? budget->arena : 0) + (cfg->edges ? budget->arena : 0);
    uint64_t adding = ids + ids / 2; /* tables grow by making one of twice the size */
    if (cfg->find_identical)
        adding += n * sizeof *corpus->copies.content +
                  corpus->copies.table.n_slots * sizeof *corpus->copies.table.slots * 3 / 2;
    uint64_t held = columns + set_bytes + budget->fixed, beside = n * cfg->beside;
    return (stretches){.reading =
                           held + keys + adding + greater(budget->batches, corpus->batch_bytes),
                       .matching = held + beside + labels + n * MATCH_BYTES + arena,
                       .grouping = held + beside + n * GROUP_BYTES +
                                   greater(arena, corpus->longest + corpus->longest / 8)};
}

uint64_t bm_corpus_free_bytes(const bm_corpus *corpus)
{
    const uint64_t memory = corpus->cfg.memory,
                   held = bytes_of(corpus, corpus->n, corpus->sets.bytes).reading -
                          greater(corpus->cfg.budget.batches, corpus->batch_bytes);
    return memory > held ? memory - held : 0;
}

uint64_t bm_corpus_bytes_needed(const bm_corpus *corpus, size_t n, uint64_t set_bytes)
{
    stretches s = bytes_of(corpus, n, set_bytes);
    return greater(greater(s.reading, s.matching), s.grouping);
}

bm_status bm_corpus_check_matching(const bm_corpus *corpus, uint64_t more, bm_error *err)
{
    uint64_t needed = bytes_of(corpus, corpus->n, corpus->sets.bytes).matching + more;
    if (corpus->cfg.memory == 0 || needed <= corpus->cfg.memory)
        return BM_OK;
    return bm_corpus_too_large(corpus, corpus->n, needed, err);
}

uint64_t bm_corpus_matching_bytes(const bm_corpus *corpus)
{
    const uint64_t memory = corpus->cfg.memory,
                   needed = bytes_of(corpus, corpus->n, corpus->sets.bytes).matching;
    if (memory == 0)
        return 0;
    return memory > needed ? memory - needed : 1;
}

bm_status bm_corpus_too_large(const bm_corpus *corpus, size_t n, uint64_t needed, bm_error *err)
{
    return bm_fail(err, BM_ERR_NOMEM,
                   "the job needs more than `memory` allows (%llu MiB; its first %llu documents "
                   "need %llu MiB)",
                   (unsigned long long)(corpus->cfg.memory >> 20), (unsigned long long)n,
                   (unsigned long long)(needed >> 20) + 1);
}

bm_status bm_corpus_check_memory(const bm_corpus *corpus, uint64_t more, bm_error *err)
{
    uint64_t needed = bm_corpus_bytes_needed(corpus, corpus->n, corpus->sets.bytes) + more;
    if (corpus->cfg.memory == 0 || needed <= corpus->cfg.memory)
        return BM_OK;
    return bm_corpus_too_large(corpus, corpus->n, needed, err);
}

bm_status bm_corpus_check_disk(const bm_corpus *corpus, uint64_t bytes, uint64_t input_bytes_read,
                               bm_error *err)
{
    double whole = (double)bytes;
    if (corpus->cfg.input_bytes > input_bytes_read && input_bytes_read > 0)
        whole *= (double)corpus->cfg.input_bytes / (double)input_bytes_read;
    return bm_spill_room(corpus->cfg.temp_dir, (uint64_t)whole, err);
}
