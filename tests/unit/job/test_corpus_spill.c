/* SPDX-License-Identifier: Apache-2.0 */
/* test_corpus_spill.c -- a corpus in files gives the same answers as one in memory, and damage to a
 * file is an error. The model is the sets as they were drawn. */
#include "tests/unit/corpus/corpus_world.h"
#include "tests/unit/match/ranked.h"

#include <unistd.h>

#include "job/rows.h"

Test(corpus_spill, similarities_are_those_of_the_sets_whatever_fits_into_the_arena)
{
    static const uint64_t arenas[] = {1, 5000, 200000, 1 << 26};
    world *w = open_world(1);
    for (size_t i = 0; i < 4; i++) {
        bm_corpus corpus;
        bm_corpus_cfg cfg = in_files(w, arenas[i]);
        size_t n = i == 0 ? 300 : 4000;
        cr_assert_eq(fill(w, &cfg, &corpus, NULL), BM_OK);
        cr_assert_null(corpus.sets.column.data, "nothing is in memory");
        bm_pair *pairs = some_pairs(w, n);
        for (int pass = 0; pass < 2; pass++) {
            double threshold = pass == 0 ? 0 : .6;
            cr_assert_eq(bm_corpus_compare(&corpus,
                                           &(bm_comparison){.rule = {.verify = BM_VERIFY_EXACT,
                                                                     .threshold = threshold},
                                                            .pool = w->pool},
                                           pairs, n, NULL),
                         BM_OK);
            for (size_t k = 0; k < n; k++) {
                double wanted = jaccard(w, pairs[k].a, pairs[k].b);
                if (pairs[k].similarity != wanted &&
                    !(wanted < threshold && pairs[k].similarity < 0))
                    cr_assert_fail("%f for %f", pairs[k].similarity, wanted);
            }
        }
        free(pairs);
        bm_corpus_reset(&corpus);
    }
    close_world(w);
}

Test(corpus_spill, agreements_are_those_of_the_words)
{
    world *w = open_world(2);
    bm_corpus corpus;
    bm_corpus_cfg cfg = in_files(w, 3000);
    cfg.hashes = false;
    cfg.words = (bm_word_rows){PERMS, 4};
    cr_assert_eq(fill(w, &cfg, &corpus, NULL), BM_OK);
    bm_pair *pairs = some_pairs(w, 2000);
    cr_assert_eq(bm_corpus_compare(
                     &corpus,
                     &(bm_comparison){.rule = {.verify = BM_VERIFY_SIGNATURE}, .pool = w->pool},
                     pairs, 2000, NULL),
                 BM_OK);
    for (size_t k = 0; k < 2000; k++) {
        uint32_t same = 0;
        for (uint32_t j = 0; j < PERMS; j++)
            same += w->words[pairs[k].a][j] == w->words[pairs[k].b][j];
        cr_assert_eq(pairs[k].similarity, (double)same / PERMS);
    }
    free(pairs);
    bm_corpus_reset(&corpus);
    close_world(w);
}

static int take(void *ctx, const char *data, size_t len)
{
    return bm_buf_add(ctx, data, len, NULL) == BM_OK ? 0 : 1;
}

static void write_pairs(world *w, const bm_match *match, bool chain, bm_buf *out)
{
    bm_rows rows = {.write = take, .write_ctx = out};
    bm_pair_rows pairs = {.match = match, .docs = &w->docs, .chain = chain};
    cr_assert_eq(bm_rows_pairs(&rows, &pairs, NULL), BM_OK);
    bm_rows_reset(&rows);
}

Test(corpus_spill, groups_pairs_and_counts_are_those_of_memory)
{
    world *w = open_world(3);
    for (int only_groups = 0; only_groups < 2; only_groups++) {
        bm_corpus corpus[2];
        bm_match match[2];
        bm_corpus_cfg cfg[2] = {in_memory(), in_files(w, 20000)};
        for (int i = 0; i < 2; i++) {
            cr_assert_eq(fill(w, &cfg[i], &corpus[i], NULL), BM_OK);
            run_match(w, &corpus[i], only_groups, &match[i]);
        }
        cr_assert_gt(match[0].result.counts.edges, 100);
        cr_assert_eq(match[0].result.counts.candidates, match[1].result.counts.candidates);
        cr_assert_eq(match[0].result.counts.edges, match[1].result.counts.edges);
        for (int star = 0; star < (only_groups ? 1 : 2); star++) {
            for (bm_keep keep = BM_KEEP_FIRST; keep <= BM_KEEP_SHORTEST; keep++) {
                bm_grouping g[2];
                bm_keep_rank rank = ranked(&w->docs, keep);
                const bm_grouping_options options = {
                    .rank = &rank, .cluster = star ? BM_CLUSTER_STAR : BM_CLUSTER_COMPONENTS};
                for (int i = 0; i < 2; i++)
                    cr_assert_eq(bm_grouping_make(&match[i], &options, &g[i], NULL), BM_OK);
                bm_keep_rank_reset(&rank);
                expect_same_groups(&g[0], &g[1]);
                bm_grouping_reset(&g[0]);
                bm_grouping_reset(&g[1]);
            }
        }
        for (int chain = 0; chain < (only_groups ? 0 : 2); chain++) {
            bm_buf text[2] = {{0}, {0}};
            write_pairs(w, &match[0], chain, &text[0]);
            write_pairs(w, &match[1], chain, &text[1]);
            cr_assert_gt(text[0].len, 10000);
            cr_assert_eq(text[0].len, text[1].len);
            cr_assert_eq(memcmp(text[0].data, text[1].data, text[0].len), 0);
            bm_buf_reset(&text[0]);
            bm_buf_reset(&text[1]);
        }
        for (int i = 0; i < 2; i++) {
            bm_match_reset(&match[i]);
            bm_corpus_reset(&corpus[i]);
        }
    }
    close_world(w);
}

Test(corpus_spill, what_was_in_memory_moves_to_the_file_when_the_budget_is_reached)
{
    world *w = open_world(4);
    bm_corpus whole, corpus;
    bm_corpus_cfg cfg = in_memory();
    cr_assert_eq(fill(w, &cfg, &whole, NULL), BM_OK);
    cfg.temp_dir = w->temp.root;
    cfg.budget.arena = 100000;
    cfg.memory = 1960000; /* the job needs 2.0 MB; a file's buffer is 1 MiB */
    cr_assert_eq(fill(w, &cfg, &corpus, NULL), BM_OK);
    cr_assert(bm_corpus_sets_in_file(&corpus));
    bm_pair *pairs = some_pairs(w, 3000);
    cr_assert_eq(
        bm_corpus_compare(&corpus,
                          &(bm_comparison){.rule = {.verify = BM_VERIFY_EXACT}, .pool = w->pool},
                          pairs, 3000, NULL),
        BM_OK);
    for (size_t k = 0; k < 3000; k++)
        cr_assert_eq(pairs[k].similarity, jaccard(w, pairs[k].a, pairs[k].b));
    for (size_t i = 0; i < N; i++)
        cr_assert_eq(corpus.rep[i], whole.rep[i]);
    free(pairs);
    bm_corpus_reset(&corpus);
    bm_corpus_reset(&whole);
    close_world(w);
}

Test(corpus_spill, without_a_directory_the_budget_ends_the_job)
{
    world *w = open_world(5);
    bm_corpus corpus;
    bm_error err = {0};
    bm_corpus_cfg cfg = in_memory();
    cfg.memory = 1000000;
    cr_assert_eq(fill(w, &cfg, &corpus, &err), BM_ERR_NOMEM);
    cr_assert_not_null(strstr(err.message, "`memory`"));
    bm_corpus_reset(&corpus);
    cfg.temp_dir = "/nonexistent";
    cr_assert_eq(fill(w, &cfg, &corpus, &err), BM_ERR_IO);
    cr_assert_not_null(strstr(err.file, "/nonexistent"));
    bm_corpus_reset(&corpus);
    close_world(w);
}

/* Content hashes continue in a file, but places do not yet: the folder was removed in between. */
Test(corpus_spill, columns_in_memory_count_whole_beside_those_in_a_file)
{
    const bm_corpus_sums sums = {.n = 100000};
    bm_corpus corpus = {.cfg = {.memory = (uint64_t)BM_COLUMNS_PART << 16,
                                .find_identical = true,
                                .budget = {.batches = 1 << 30}}};
    const uint64_t in_memory = bm_corpus_bytes_needed(&corpus, &sums);
    corpus.copies.content_column.file = 1;
    cr_expect_eq(bm_corpus_bytes_needed(&corpus, &sums), in_memory - 16 * sums.n + (1 << 16));
    corpus.sets.places_column.file = 1;
    cr_expect_eq(bm_corpus_bytes_needed(&corpus, &sums), in_memory - 24 * sums.n + (1 << 16));
}

static void flip(int fd, uint64_t at)
{
    unsigned char byte;
    cr_assert_eq(pread(fd, &byte, 1, (off_t)at), 1);
    byte ^= 4;
    cr_assert_eq(pwrite(fd, &byte, 1, (off_t)at), 1);
}

Test(corpus_spill, a_changed_byte_a_short_file_and_an_unreadable_one_are_errors)
{
    world *w = open_world(6);
    for (int how = 0; how < 3; how++) {
        bm_corpus corpus;
        bm_band_keyset keys;
        bm_error err = {0};
        bm_corpus_cfg cfg = in_files(w, 100000);
        cr_assert_eq(fill(w, &cfg, &corpus, NULL), BM_OK);
        int fds[2] = {bm_spill_fd(corpus.sets.file), bm_spill_fd(corpus.keys.file)};
        uint64_t sizes[2] = {bm_spill_bytes(corpus.sets.file), bm_spill_bytes(corpus.keys.file)};
        for (int k = 0; k < 2; k++) {
            if (how == 0)
                flip(fds[k], sizes[k] / 2);
            else if (how == 1)
                cr_assert_eq(ftruncate(fds[k], (off_t)(sizes[k] / 2)), 0);
            else
                cr_assert(freopen("/dev/null", "w", stdin) != NULL && dup2(0, fds[k]) >= 0);
        }
        bm_pair *pairs = malloc(N * sizeof *pairs);
        size_t n = 0;
        for (uint32_t i = 1; i < N; i++)
            if (w->sizes[i] > 0 && w->sizes[i - 1] > 0)
                pairs[n++] = (bm_pair){i - 1, i, 0};
        bm_status wanted = how == 2 ? BM_ERR_IO : BM_ERR_FORMAT;
        cr_assert_eq(bm_corpus_compare(
                         &corpus,
                         &(bm_comparison){.rule = {.verify = BM_VERIFY_EXACT}, .pool = w->pool},
                         pairs, n, &err),
                     wanted, "how %d", how);
        cr_assert_not_null(strstr(err.message, "temporary file"));
        cr_assert_eq(bm_corpus_keyset(&corpus, w->pool, &keys, &err), wanted, "how %d", how);
        free(pairs);
        bm_corpus_reset(&corpus);
    }
    close_world(w);
}

/* All content hashes agree in their lower 64 bits, and half of the documents are copies. */
Test(corpus_spill, content_hashes_that_meet_in_one_place_take_no_more_than_a_factor)
{
    for (size_t n = 10000; n <= 80000; n *= 2) {
        bm_hash128 *content = malloc(n * sizeof *content);
        uint32_t *sizes = malloc(n * sizeof *sizes);
        bm_corpus corpus;
        for (size_t i = 0; i < n; i++) {
            sizes[i] = 5;
            content[i] = (bm_hash128){7, i % (n / 2)};
        }
        bm_corpus_init(&corpus, &(bm_corpus_cfg){.find_identical = true});
        cr_assert_eq(
            bm_corpus_add_words(
                &corpus, &(bm_signed_docs){.n = n, .n_shingles = sizes, .content = content}, NULL),
            BM_OK);
        for (size_t i = 0; i < n; i++)
            cr_assert_eq(corpus.rep[i], i % (n / 2));
        cr_expect_eq(corpus.n_identical, n / 2);
        const size_t n_steps = (size_t)corpus.copies.shards[7].n_steps;
        cr_expect_leq(n_steps, 24 * n, "%zu steps for %zu documents", n_steps, n);
        bm_corpus_reset(&corpus);
        free(content);
        free(sizes);
    }
}
