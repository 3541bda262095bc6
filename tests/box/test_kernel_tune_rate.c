/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <string.h>

#include "kernel_tune_search.h"
#include "sketch/scheme.h"

/* A backend that signs with the scalar reference, with one word wrong if `wrong`. */
typedef struct fake {
    bm_backend base;
    bm_scheme_params params;
    bool wrong, fails;
    size_t n_tasks, in_flight, most_in_flight;
} fake;

static bm_status fake_submit(bm_backend *backend, bm_sign_task *task, bm_error *err)
{
    fake *f = (fake *)backend;
    (void)err;
    if (f->fails)
        return BM_ERR_DEVICE;
    for (size_t i = 0; i < task->n_docs; i++)
        bm_scheme_affine32.sign(&f->params, task->hashes + task->offsets[i],
                                task->offsets[i + 1] - task->offsets[i],
                                task->words + i * f->params.perms);
    if (f->wrong)
        task->words[(task->n_docs - 1) * f->params.perms] ^= 1;
    f->n_tasks++;
    if (++f->in_flight > f->most_in_flight)
        f->most_in_flight = f->in_flight;
    return BM_OK;
}

static bm_status fake_wait(bm_backend *backend, bm_sign_task *task, bm_error *err)
{
    (void)task, (void)err;
    ((fake *)backend)->in_flight--;
    return BM_OK;
}

static bm_status fake_drain(bm_backend *backend, bm_error *err)
{
    (void)err;
    ((fake *)backend)->in_flight = 0;
    return BM_OK;
}

static const bm_backend_ops fake_ops = {
    .name = "fake", .submit = fake_submit, .wait = fake_wait, .drain = fake_drain};

static void open(fake *f, bm_kernel_tune_corpus *corpus)
{
    const bm_kernel_tune_options options = {.sketch = {.perms = 20, .seed = 1}};
    memset(f, 0, sizeof *f);
    f->base = (bm_backend){.ops = &fake_ops, .depth = 3, .batch_hashes = 20000};
    cr_assert_eq(bm_scheme_affine32.draw(&options.sketch, &f->params, NULL), BM_OK);
    cr_assert_eq(bm_kernel_tune_corpus_open(&options, 200000, corpus, NULL), BM_OK);
}

static void reset(fake *f, bm_kernel_tune_corpus *corpus)
{
    bm_scheme_params_reset(&f->params);
    bm_kernel_tune_corpus_reset(corpus);
}

Test(tune_rate, the_documents_are_of_all_three_kinds_in_their_shares)
{
    fake f;
    bm_kernel_tune_corpus corpus;
    open(&f, &corpus);
    double hashes[3] = {0};
    const uint64_t *offsets = corpus.batch.offsets;
    for (size_t i = 0; i < corpus.batch.n_docs; i++) {
        const uint64_t n = offsets[i + 1] - offsets[i];
        cr_assert((n >= 20 && n <= 216) || (n >= 500 && n <= 3500) || n == 60000);
        hashes[n < 300 ? 0 : n < 10000 ? 1 : 2] += (double)n;
    }
    const double all = (double)offsets[corpus.batch.n_docs];
    cr_expect(all >= 200000 && all < 300000);
    for (int k = 0; k < 3; k++)
        cr_expect(hashes[k] > .05 * all, "kind %d: %g of %g", k, hashes[k], all);
    reset(&f, &corpus);
}

Test(tune_rate, right_words_pass_and_one_wrong_bit_does_not)
{
    fake f;
    bm_kernel_tune_corpus corpus;
    open(&f, &corpus);
    bm_error err = {0};
    cr_expect_eq(bm_kernel_tune_check(&corpus, &f.base, &err), BM_OK, "%s", err.message);
    cr_expect(f.n_tasks > 3 && f.most_in_flight == 3, "%zu tasks, %zu in flight", f.n_tasks,
              f.most_in_flight);
    cr_expect_eq(f.in_flight, 0, "nothing stays under way");
    f.wrong = true;
    cr_expect_eq(bm_kernel_tune_check(&corpus, &f.base, &err), BM_ERR_SELFTEST);
    f.fails = true;
    cr_expect_eq(bm_kernel_tune_check(&corpus, &f.base, &err), BM_ERR_DEVICE);
    reset(&f, &corpus);
}
