/* bench_text.h -- the texts that the benchmark cuts and signs: a job's own, or made ones. */
#ifndef BM_BENCH_BENCH_TEXT_H
#define BM_BENCH_BENCH_TEXT_H

#include <bandmill/status.h>
#include <bandmill/types.h>

#include "base/memory.h"

/* At most so many bytes of text are taken from files: enough to leave every cache. */
#define BM_BENCH_TEXT_MAX ((size_t)256 << 20)

typedef struct bm_bench_text {
    bm_buf bytes;    /* document after document */
    uint64_t *begin; /* n + 1 offsets */
    size_t n, cap;
    bool made;     /* by the generator */
    bm_buf common; /* of made text: its commonest words, a list of stop words; else empty */
} bm_bench_text;   /* {0} is empty */

/* Documents of `paths` (any format that jobs read); none: 32 MB of words whose frequencies and
 * lengths are like those of English, from a fixed seed. `callbacks`
 * (or NULL) are asked whether to stop. BM_ERR_INPUT: bad records, or no text. BM_ERR_CANCELLED. */
bm_status bm_bench_text_open(const char *const *paths, size_t n_paths,
                             const bm_callbacks *callbacks, bm_bench_text *out, bm_error *err);
/* A third each of made documents in Latin letters with accents, in Greek, and in Chinese without
 * spaces: 16 MB from a fixed seed. */
bm_status bm_bench_text_foreign(bm_bench_text *out, bm_error *err);
void bm_bench_text_reset(bm_bench_text *text);

static inline bm_str bm_bench_text_get(const bm_bench_text *text, size_t i)
{
    return (bm_str){text->bytes.data + text->begin[i],
                    (size_t)(text->begin[i + 1] - text->begin[i])};
}

#endif
