/* bm_find_pairs against comparing every two documents. What LSH finds depends on luck only for
 * pairs that some band misses; with a band of one row and many permutations a miss has a
 * probability that is computed and negligible. */
#include <criterion/criterion.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <bandmill/sketch.h>

static uint64_t state = 11;

static uint64_t draw(void)
{
    uint64_t z = state += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

typedef struct corpus {
    size_t n;
    uint64_t *offsets, *hashes;
} corpus;

static uint64_t word(void)
{
    uint64_t z = (draw() % 400 + 1) * 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    return z ^ z >> 31;
}

/* Unsorted, with repeats, some empty, many edited copies. */
static corpus make(size_t n)
{
    corpus c = {n, calloc(n + 1, 8), malloc(n * 48 * 8 + 8)};
    for (size_t i = 0; i < n; i++) {
        uint64_t *doc = c.hashes + c.offsets[i];
        size_t size = draw() % 8 == 0 ? 0 : draw() % 40;
        if (i > 0 && draw() % 2 != 0) {
            size_t from = draw() % i;
            size = (size_t)(c.offsets[from + 1] - c.offsets[from]);
            if (size > 40)
                size = 40;
            memcpy(doc, c.hashes + c.offsets[from], size * 8);
            for (size_t edits = draw() % 5; size > 0 && edits > 0; edits--)
                doc[draw() % size] = word();
        } else {
            for (size_t k = 0; k < size; k++)
                doc[k] = word();
        }
        for (size_t repeats = size == 0 ? 0 : draw() % 5; repeats > 0; repeats--, size++)
            doc[size] = doc[draw() % size];
        c.offsets[i + 1] = c.offsets[i] + size;
    }
    return c;
}

static void drop(corpus *c)
{
    free(c->offsets);
    free(c->hashes);
}

static bool first_of_its_kind(const uint64_t *doc, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (doc[k] == doc[i])
            return false;
    return true;
}

static double naive_jaccard(const corpus *c, size_t a, size_t b)
{
    const uint64_t *x = c->hashes + c->offsets[a], *y = c->hashes + c->offsets[b];
    size_t n_x = (size_t)(c->offsets[a + 1] - c->offsets[a]);
    size_t n_y = (size_t)(c->offsets[b + 1] - c->offsets[b]), in_x = 0, in_y = 0, common = 0;
    for (size_t j = 0; j < n_y; j++)
        in_y += first_of_its_kind(y, j);
    for (size_t i = 0; i < n_x; i++) {
        if (!first_of_its_kind(x, i))
            continue;
        in_x++;
        bool found = false;
        for (size_t j = 0; j < n_y; j++)
            found = found || x[i] == y[j];
        common += found;
    }
    return common == 0 ? 0 : (double)common / (double)(in_x + in_y - common);
}

static size_t naive(const corpus *c, double threshold, bm_pair **out)
{
    bm_pair *pairs = malloc((c->n * c->n + 1) * sizeof *pairs);
    size_t n = 0;
    for (size_t a = 0; a < c->n; a++) {
        for (size_t b = a + 1; b < c->n; b++) {
            double s = naive_jaccard(c, a, b);
            if (s > 0 && s >= threshold)
                pairs[n++] = (bm_pair){(uint32_t)a, (uint32_t)b, s};
        }
    }
    *out = pairs;
    return n;
}

static void expect_same(const bm_pair *got, size_t n_got, const bm_pair *wanted, size_t n_wanted)
{
    cr_assert_eq(n_got, n_wanted, "%zu pairs for %zu", n_got, n_wanted);
    for (size_t i = 0; i < n_got; i++) {
        cr_assert_eq(got[i].a, wanted[i].a);
        cr_assert_eq(got[i].b, wanted[i].b);
        cr_assert_eq(got[i].similarity, wanted[i].similarity);
    }
}

Test(find_pairs, all_candidates_equal_comparing_every_two)
{
    for (int round = 0; round < 12; round++) {
        static const double thresholds[] = {.1, .5, .8, 1};
        corpus c = make(draw() % 150);
        bm_find_config config;
        bm_find_config_init(&config);
        config.all_candidates = true;
        config.threshold = thresholds[round % 4];
        config.threads = (uint32_t)round % 3 + 1;
        bm_pair *got = NULL, *wanted;
        size_t n_got = 0, n_wanted = naive(&c, config.threshold, &wanted);
        cr_assert_eq(bm_find_pairs(&config, c.offsets, c.hashes, c.n, &got, &n_got, NULL), BM_OK);
        expect_same(got, n_got, wanted, n_wanted);
        bm_pairs_free(got);
        free(wanted);
        drop(&c);
    }
}

Test(find_pairs, bands_of_one_row_miss_no_pair_at_a_half)
{
    /* 256 bands of 1 row: a pair of similarity .5 is missed with probability 2^-256 */
    for (int round = 0; round < 6; round++) {
        corpus c = make(400);
        bm_find_config config;
        bm_find_config_init(&config);
        config.sketch.perms = 256;
        config.plan = (bm_band_plan){.bands = 256, .rows = 1};
        config.threshold = .5;
        config.threads = 2;
        bm_pair *got = NULL, *wanted;
        size_t n_got = 0, n_wanted = naive(&c, .5, &wanted);
        cr_assert_gt(n_wanted, 50);
        cr_assert_eq(bm_find_pairs(&config, c.offsets, c.hashes, c.n, &got, &n_got, NULL), BM_OK);
        expect_same(got, n_got, wanted, n_wanted);
        bm_pairs_free(got);
        free(wanted);
        drop(&c);
    }
}

Test(find_pairs, answers_are_the_same_for_any_threads_and_no_worse_than_true)
{
    corpus c = make(3000);
    bm_find_config config;
    bm_find_config_init(&config);
    cr_assert_eq(config.plan.bands, 13);
    cr_assert_eq(config.plan.rows, 7);
    bm_pair *one = NULL;
    size_t n_one = 0;
    config.threads = 1;
    cr_assert_eq(bm_find_pairs(&config, c.offsets, c.hashes, c.n, &one, &n_one, NULL), BM_OK);
    cr_assert_gt(n_one, 500);
    for (size_t i = 0; i < n_one; i++) {
        cr_assert(i == 0 || one[i - 1].a < one[i].a ||
                  (one[i - 1].a == one[i].a && one[i - 1].b < one[i].b));
        cr_assert_eq(one[i].similarity, naive_jaccard(&c, one[i].a, one[i].b));
        cr_assert_geq(one[i].similarity, .8);
    }
    static const uint32_t threads[] = {0, 2, 8};
    for (int i = 0; i < 3; i++) {
        bm_pair *other = NULL;
        size_t n_other = 0;
        config.threads = threads[i];
        cr_assert_eq(bm_find_pairs(&config, c.offsets, c.hashes, c.n, &other, &n_other, NULL),
                     BM_OK);
        expect_same(other, n_other, one, n_one);
        bm_pairs_free(other);
    }
    bm_pairs_free(one);
    drop(&c);
}

/* Words by the public signer, another way to the same signatures. */
static uint32_t *sign(const corpus *c, uint32_t perms)
{
    bm_signer_config config;
    bm_signer_config_init(&config);
    config.sketch.perms = perms;
    bm_signer *signer = NULL;
    uint32_t *words = malloc(c->n * perms * 4);
    bm_signer_out out = {.words = words};
    cr_assert_eq(bm_signer_open(&config, &signer, NULL), BM_OK);
    cr_assert_eq(bm_signer_sign_hashes64(signer, c->offsets, c->hashes, c->n, &out, NULL), BM_OK);
    bm_signer_close(signer);
    return words;
}

Test(find_pairs, signature_verification_reports_the_share_of_equal_words)
{
    corpus c = make(300);
    uint32_t *words = sign(&c, 128);
    bm_find_config config;
    bm_find_config_init(&config);
    config.plan = (bm_band_plan){.bands = 128, .rows = 1}; /* any equal word is a candidate */
    config.threshold = .5;
    config.verify = BM_VERIFY_SIGNATURE;
    for (int all = 0; all < 2; all++) {
        config.all_candidates = all;
        bm_pair *got = NULL;
        size_t n = 0, k = 0;
        cr_assert_eq(bm_find_pairs(&config, c.offsets, c.hashes, c.n, &got, &n, NULL), BM_OK);
        for (uint32_t a = 0; a < c.n; a++) {
            for (uint32_t b = a + 1; b < c.n; b++) {
                unsigned equal = 0;
                for (unsigned i = 0; i < 128; i++)
                    equal += words[a * 128 + i] == words[b * 128 + i];
                if (equal < 64 || c.offsets[a] == c.offsets[a + 1] ||
                    c.offsets[b] == c.offsets[b + 1])
                    continue;
                cr_assert_lt(k, n);
                cr_assert(got[k].a == a && got[k].b == b && got[k].similarity == equal / 128.0);
                k++;
            }
        }
        cr_assert_eq(k, n);
        bm_pairs_free(got);
    }
    free(words);
    drop(&c);
}

Test(find_pairs, without_verification_every_candidate_comes_with_no_similarity)
{
    corpus c = make(200);
    uint32_t *words = sign(&c, 128);
    bm_find_config config;
    bm_find_config_init(&config);
    config.verify = BM_VERIFY_NONE;
    bm_pair *got = NULL;
    size_t n = 0, k = 0;
    cr_assert_eq(bm_find_pairs(&config, c.offsets, c.hashes, c.n, &got, &n, NULL), BM_OK);
    for (uint32_t a = 0; a < c.n; a++) {
        for (uint32_t b = a + 1; b < c.n; b++) {
            bool same = false;
            for (unsigned band = 0; band < 13; band++)
                same = same ||
                       memcmp(words + a * 128 + band * 7, words + b * 128 + band * 7, 7 * 4) == 0;
            if (!same || c.offsets[a] == c.offsets[a + 1] || c.offsets[b] == c.offsets[b + 1])
                continue;
            cr_assert_lt(k, n);
            cr_assert(got[k].a == a && got[k].b == b && isnan(got[k].similarity));
            k++;
        }
    }
    cr_assert_eq(k, n);
    cr_assert_gt(n, 0);
    bm_pairs_free(got);
    config.all_candidates = true;
    bm_pair *wanted;
    size_t n_wanted = naive(&c, 0, &wanted);
    cr_assert_eq(bm_find_pairs(&config, c.offsets, c.hashes, c.n, &got, &n, NULL), BM_OK);
    cr_assert_eq(n, n_wanted);
    for (size_t i = 0; i < n; i++)
        cr_assert(got[i].a == wanted[i].a && got[i].b == wanted[i].b && isnan(got[i].similarity));
    bm_pairs_free(got);
    free(wanted);
    free(words);
    drop(&c);
}

Test(find_pairs, no_documents_are_no_pairs)
{
    bm_find_config config;
    bm_find_config_init(&config);
    bm_pair *got = NULL;
    size_t n = 9;
    cr_assert_eq(bm_find_pairs(&config, NULL, NULL, 0, &got, &n, NULL), BM_OK);
    cr_assert_eq(n, 0);
    bm_pairs_free(got);
}

Test(find_pairs, documents_without_hashes_are_in_no_pair)
{
    static const uint64_t offsets[] = {0, 0, 0, 0}, some[] = {0, 0, 1, 1, 1, 2};
    static const uint64_t hashes[] = {7, 7};
    bm_find_config config;
    bm_find_config_init(&config);
    for (int all = 0; all < 2; all++) {
        config.all_candidates = all;
        bm_pair *got = NULL;
        size_t n = 9;
        cr_assert_eq(bm_find_pairs(&config, offsets, NULL, 3, &got, &n, NULL), BM_OK);
        cr_assert_eq(n, 0);
        bm_pairs_free(got);
        cr_assert_eq(bm_find_pairs(&config, some, hashes, 5, &got, &n, NULL), BM_OK);
        cr_assert(n == 1 && got[0].a == 1 && got[0].b == 4 && got[0].similarity == 1);
        bm_pairs_free(got);
    }
}

Test(find_pairs, bad_offsets_name_their_row_and_leave_the_outputs_alone)
{
    static const uint64_t falling[] = {0, 4, 2, 6}, late[] = {1, 4}, huge[] = {0, 1, 1ull << 33};
    uint64_t hashes[8] = {0};
    bm_find_config config;
    bm_find_config_init(&config);
    bm_error err = {0};
    bm_pair *got = (bm_pair *)&config;
    size_t n = 9;
    cr_assert_eq(bm_find_pairs(&config, falling, hashes, 3, &got, &n, &err), BM_ERR_INPUT);
    cr_assert(strstr(err.message, "row 1 ") != NULL, "%s", err.message);
    cr_assert_eq(bm_find_pairs(&config, late, hashes, 1, &got, &n, &err), BM_ERR_INPUT);
    cr_assert(strstr(err.message, "row 0 ") != NULL, "%s", err.message);
    cr_assert_eq(bm_find_pairs(&config, huge, hashes, 2, &got, &n, &err), BM_ERR_INPUT);
    cr_assert(strstr(err.message, "row 1 ") != NULL, "%s", err.message);
    cr_assert(got == (bm_pair *)&config && n == 9);
}

Test(find_pairs, options_out_of_range_are_usage_errors)
{
    bm_pair *got;
    size_t n;
    bm_find_config good, bad;
    bm_find_config_init(&good);
    bad = good;
    bad.threshold = 0;
    cr_assert_eq(bm_find_pairs(&bad, NULL, NULL, 0, &got, &n, NULL), BM_ERR_USAGE);
    bad.threshold = (double)NAN;
    cr_assert_eq(bm_find_pairs(&bad, NULL, NULL, 0, &got, &n, NULL), BM_ERR_USAGE);
    bad = good;
    bad.sketch.perms = 1025;
    cr_assert_eq(bm_find_pairs(&bad, NULL, NULL, 0, &got, &n, NULL), BM_ERR_USAGE);
    bad = good;
    bad.plan.bands = 50; /* of 7 rows: 350 of 128 */
    cr_assert_eq(bm_find_pairs(&bad, NULL, NULL, 0, &got, &n, NULL), BM_ERR_USAGE);
    bad = good;
    bad.verify = (bm_verify)9;
    cr_assert_eq(bm_find_pairs(&bad, NULL, NULL, 0, &got, &n, NULL), BM_ERR_USAGE);
}

static bool yes(void *ctx)
{
    (void)ctx;
    return true;
}

Test(find_pairs, a_cancelled_call_says_so)
{
    corpus c = make(100);
    bm_find_config config;
    bm_find_config_init(&config);
    config.callbacks.cancelled = yes;
    bm_pair *got = NULL;
    size_t n = 9;
    for (int all = 0; all < 2; all++) {
        config.all_candidates = all;
        cr_assert_eq(bm_find_pairs(&config, c.offsets, c.hashes, c.n, &got, &n, NULL),
                     BM_ERR_CANCELLED);
        cr_assert(got == NULL && n == 9);
    }
    drop(&c);
}

Test(find_pairs, more_pairs_than_are_allowed_are_refused_and_just_as_many_are_not)
{
    corpus c = make(60);
    bm_find_config config;
    bm_pair *pairs = NULL;
    size_t n = 0;
    bm_error err = {0};
    bm_find_config_init(&config);
    config.threads = 2;
    config.threshold = .3;
    for (int all = 0; all < 2; all++) {
        config.all_candidates = all == 1;
        config.max_pairs = 0;
        cr_assert_eq(bm_find_pairs(&config, c.offsets, c.hashes, c.n, &pairs, &n, &err), BM_OK);
        bm_pairs_free(pairs);
        cr_assert_gt(n, 1);
        config.max_pairs = n;
        cr_assert_eq(bm_find_pairs(&config, c.offsets, c.hashes, c.n, &pairs, &n, &err), BM_OK);
        bm_pairs_free(pairs);
        config.max_pairs = n - 1;
        cr_assert_eq(bm_find_pairs(&config, c.offsets, c.hashes, c.n, &pairs, &n, &err),
                     BM_ERR_NOMEM);
    }
    drop(&c);
}
