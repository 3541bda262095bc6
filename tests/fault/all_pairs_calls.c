/* SPDX-License-Identifier: Apache-2.0 */
/* all_pairs_calls.c -- --candidates all with sets in a file: one call or allocation fails in each
 * run, and the job must report why and give no result. First each call fails in turn; later, of
 * many similar calls, fewer and fewer. */
#include "match/match_all_pairs.c"

#include <errno.h>
#include <stdarg.h>

#include "tests/unit/match/all_pairs_world.h"

static struct {
    bool armed, memory;
    long left; /* calls until the one that fails */
    bool failed;
} plan;

static bool fails(bool memory)
{
    if (!plan.armed || memory != plan.memory || plan.left-- != 0)
        return false;
    plan.failed = true;
    errno = memory ? ENOMEM : EIO;
    return true;
}

#define WRAP(type, name, parameters, arguments, failure, memory)                                   \
    type __real_##name parameters;                                                                 \
    type __wrap_##name parameters;                                                                 \
    type __wrap_##name parameters                                                                  \
    {                                                                                              \
        return fails(memory) ? failure : __real_##name arguments;                                  \
    }

WRAP(ssize_t, pwrite, (int fd, const void *data, size_t n, off_t at), (fd, data, n, at), -1, false)
WRAP(ssize_t, pread, (int fd, void *data, size_t n, off_t at), (fd, data, n, at), -1, false)
WRAP(void *, malloc, (size_t n), (n), NULL, true)
WRAP(void *, calloc, (size_t n, size_t size), (n, size), NULL, true)
WRAP(void *, realloc, (void *block, size_t n), (block, n), NULL, true)

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...)
{
    return fails(false) ? -1 : __real_open(path, flags, 0600);
}

typedef struct job {
    drawn *sets;
    bm_corpus corpus;
    uint64_t result; /* of the last run */
} job;

/* Makes prefixes, with counts in parts. */
static bm_status make_prefixes(job *j, bm_error *err)
{
    set_prefixes p;
    set_prefixes_job making = {.corpus = &j->corpus,
                               .rule = {BM_MEASURE_JACCARD, .5},
                               .memory = 1200000,
                               .pool = j->sets->pool,
                               .meter = &j->sets->meter};
    bm_status status = set_prefixes_make(&making, &p, err);
    cr_assert(status != BM_OK || p.part_bits > 0);
    j->result = p.bytes_written;
    set_prefixes_reset(&p);
    return status;
}

/* Runs all of the matching, with counts in one part and edges in runs. */
static bm_status match_all(job *j, bm_error *err)
{
    bm_match match = {.settings = {.corpus = &j->corpus,
                                   .pool = j->sets->pool,
                                   .meter = &j->sets->meter,
                                   .verify = BM_VERIFY_EXACT,
                                   .threshold = .3,
                                   .all_candidates = true}};
    bm_status status = bm_match_run(&match, err);
    j->result = match.result.counts.edges;
    bm_match_reset(&match);
    return status;
}

/* Returns the number of runs that had a failure. */
static int fail_some(job *j, bm_status (*run)(job *, bm_error *), bool memory)
{
    int n_failed = 0;
    uint64_t wanted;
    plan.armed = false;
    cr_assert_eq(run(j, NULL), BM_OK);
    wanted = j->result;
    cr_assert_gt(wanted, 100);
    plan.failed = true;
    for (long n = 0; plan.failed; n += 1 + n / 8) {
        bm_error err = {0};
        plan.memory = memory;
        plan.left = n;
        plan.failed = false;
        plan.armed = true;
        bm_status status = run(j, &err);
        plan.armed = false;
        n_failed += plan.failed;
        bm_status failure = memory ? BM_ERR_NOMEM : BM_ERR_IO;
        cr_assert_eq(status, plan.failed ? failure : BM_OK, "call %ld: %s", n, err.message);
        cr_assert(status == BM_OK ? j->result == wanted : err.message[0] != '\0');
    }
    return n_failed;
}

static void fail_all(bm_status (*run)(job *, bm_error *), size_t n, size_t longest, uint64_t left)
{
    job j = {.sets = make_sets(n, longest, 4, 1)};
    cr_assert_eq(fill(j.sets, true, &j.corpus, NULL), BM_OK);
    leave_memory(&j.corpus, left);
    cr_assert_gt(fail_some(&j, run, false), 30);
    cr_assert_gt(fail_some(&j, run, true), 10);
    bm_corpus_reset(&j.corpus);
    drop_sets(j.sets);
}

Test(all_pairs_calls, a_failing_call_while_prefixes_are_made_is_an_error)
{
    fail_all(make_prefixes, 3600, 500, (uint64_t)1 << 30);
}

Test(all_pairs_calls, a_failing_call_while_pairs_are_searched_is_an_error)
{
    fail_all(match_all, 700, 60, (uint64_t)16 << 20); /* one block */
    fail_all(match_all, 1500, 100, 3300000);          /* several blocks */
}
