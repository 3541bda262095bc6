/* SPDX-License-Identifier: Apache-2.0 */
/* Every function of bandmill/sketch.h with uninitialised options, with each enum out of range, and
 * with NULL for each pointer that is required: BM_ERR_USAGE naming the field, also without a
 * bm_error, and no crash. */
#include <criterion/criterion.h>

#include <math.h>
#include <string.h>

#include <bandmill/sketch.h>

static const uint64_t offsets[] = {0, 1, 2}, hashes[] = {1, 1};
static const bm_str texts[] = {{"a b c", 5}, {"a b c", 5}};

static bm_signer_options signer_options(void)
{
    bm_signer_options options;
    bm_signer_options_init(&options);
    options.resources.threads = 1;
    return options;
}

static bm_find_options find_options(void)
{
    bm_find_options options;
    bm_find_options_init(&options);
    options.resources.threads = 1;
    return options;
}

static bm_shingle_options shingle_options(void)
{
    bm_shingle_options options;
    bm_shingle_options_init(&options);
    options.resources.threads = 1;
    return options;
}

static bm_group_options group_options(void)
{
    bm_group_options options;
    bm_group_options_init(&options);
    options.n_docs = 2;
    return options;
}

/* Each of these functions makes one call, whose other arguments are good. */
static bm_status open_signer(const bm_signer_options *options, bm_error *err)
{
    bm_signer *signer = NULL;
    bm_status status = bm_signer_open(options, &signer, err);
    cr_expect((status == BM_OK) == (signer != NULL));
    bm_signer_close(signer);
    return status;
}

static bm_status find(const bm_find_options *options, bm_error *err)
{
    bm_pair_set *pairs = NULL;
    bm_documents docs = bm_documents_of_hashes(offsets, hashes, 2);
    bm_status status = bm_find_pairs(options, &docs, &pairs, err);
    cr_expect((status == BM_OK) == (pairs != NULL));
    bm_pair_set_free(pairs);
    return status;
}

static bm_status shingle(const bm_shingle_options *options, bm_error *err)
{
    bm_hash_sets *sets = NULL;
    bm_status status = bm_shingle_texts(options, texts, 2, &sets, err);
    cr_expect((status == BM_OK) == (sets != NULL));
    bm_hash_sets_free(sets);
    return status;
}

static bm_status group(const bm_group_options *options, bm_error *err)
{
    const bm_pair pair = {0, 1, 1};
    bm_groups *groups = NULL;
    bm_status status = bm_group_pairs(options, &pair, 1, &groups, err);
    cr_expect((status == BM_OK) == (groups != NULL));
    bm_groups_free(groups);
    return status;
}

/* `call` on `options` is refused, and the error names `named`. */
#define EXPECT_REFUSED(call, options, named)                                                       \
    do {                                                                                           \
        bm_error err = {0};                                                                        \
        cr_expect_eq(call(options, &err), BM_ERR_USAGE);                                           \
        cr_expect_eq(err.status, BM_ERR_USAGE);                                                    \
        cr_expect_str_eq(err.field, named);                                                        \
        cr_expect(strstr(err.message, "--") == NULL, "%s", err.message);                           \
        cr_expect_eq(call(options, NULL), BM_ERR_USAGE);                                           \
    } while (0)

/* Sets one field of good options to an invalid value and expects an error that names `named`. */
#define EXPECT_BAD(make, call, field, value, named)                                                \
    do {                                                                                           \
        __typeof__(make()) options = make();                                                       \
        cr_assert_eq(call(&options, NULL), BM_OK);                                                 \
        options.field = value;                                                                     \
        EXPECT_REFUSED(call, &options, named);                                                     \
    } while (0)

Test(sketch_usage, options_that_are_null_or_were_not_initialised_are_refused)
{
    bm_signer_options signer = {0};
    bm_find_options finder = {0};
    bm_shingle_options cut = {0};
    bm_group_options grouping = {0};
    EXPECT_REFUSED(open_signer, NULL, "bm_signer_options");
    EXPECT_REFUSED(find, NULL, "bm_find_options");
    EXPECT_REFUSED(shingle, NULL, "bm_shingle_options");
    EXPECT_REFUSED(group, NULL, "bm_group_options");
    EXPECT_REFUSED(open_signer, &signer, "struct_size");
    EXPECT_REFUSED(find, &finder, "struct_size");
    EXPECT_REFUSED(shingle, &cut, "struct_size");
    EXPECT_REFUSED(group, &grouping, "struct_size");
    memset(&signer, 0xA5, sizeof signer); /* like uninitialised stack memory */
    signer.struct_size = 1;
    EXPECT_REFUSED(open_signer, &signer, "struct_size");
}

Test(sketch_usage, fields_of_a_later_version_are_taken_as_long_as_they_are_zero)
{
    struct {
        bm_group_options options;
        uint64_t later[3];
    } newer;
    bm_group_options_init_sized(&newer.options, sizeof newer);
    newer.options.n_docs = 2;
    cr_expect_eq(newer.options.struct_size, sizeof newer);
    cr_expect_eq(group(&newer.options, NULL), BM_OK);
    newer.later[2] = 1;
    EXPECT_REFUSED(group, &newer.options, "struct_size");
}

Test(sketch_usage, each_enum_out_of_range_is_refused_by_name)
{
    EXPECT_BAD(signer_options, open_signer, text.words, (bm_words)4000, "words");
    EXPECT_BAD(signer_options, open_signer, text.shingle, (bm_shingle_kind)4, "shingle");
    EXPECT_BAD(signer_options, open_signer, text.short_rule, (bm_short_rule)2, "short_rule");
    EXPECT_BAD(signer_options, open_signer, text.normalize, 1u << 20, "normalize");
    EXPECT_BAD(signer_options, open_signer, sketch.scheme, (bm_scheme)(BM_SCHEME_DATATROVE + 1),
               "scheme");
    EXPECT_BAD(signer_options, open_signer, device.text_offload, (bm_offload)4, "text_offload");
    EXPECT_BAD(find_options, find, text.words, (bm_words)(BM_WORDS_TEXT_DEDUP + 1), "words");
    EXPECT_BAD(find_options, find, text.shingle, (bm_shingle_kind)4000, "shingle");
    EXPECT_BAD(find_options, find, text.short_rule, (bm_short_rule)-1, "short_rule");
    EXPECT_BAD(find_options, find, sketch.scheme, (bm_scheme)4000, "scheme");
    EXPECT_BAD(find_options, find, candidates, (bm_candidate_rule)3, "candidates");
    EXPECT_BAD(find_options, find, verify, (bm_verify)4, "verify");
    EXPECT_BAD(shingle_options, shingle, text.words, (bm_words)(BM_WORDS_TEXT_DEDUP + 1), "words");
    EXPECT_BAD(shingle_options, shingle, text.shingle, (bm_shingle_kind)4, "shingle");
    EXPECT_BAD(shingle_options, shingle, text.short_rule, (bm_short_rule)2, "short_rule");
    EXPECT_BAD(group_options, group, cluster, (bm_cluster)2, "cluster");
    EXPECT_BAD(group_options, group, keep, (bm_keep)4000, "keep");
}

Test(sketch_usage, each_number_out_of_range_is_refused_by_name)
{
    EXPECT_BAD(signer_options, open_signer, text.shingle_k, 0, "shingle_k");
    EXPECT_BAD(signer_options, open_signer, text.shingle_k, BM_SHINGLE_K_MAX + 1, "shingle_k");
    EXPECT_BAD(signer_options, open_signer, sketch.perms, BM_PERMS_MAX + 1, "perms");
    EXPECT_BAD(signer_options, open_signer, bands.bands, 3, "bands");
    EXPECT_BAD(signer_options, open_signer, bands.rows, 3, "rows");
    EXPECT_BAD(signer_options, open_signer, resources.threads, BM_THREADS_MAX + 1, "threads");
    EXPECT_BAD(signer_options, open_signer, text.reserved[4], 1, "text");
    EXPECT_BAD(signer_options, open_signer, sketch.reserved[0], 1, "sketch");
    EXPECT_BAD(signer_options, open_signer, device.reserved[0], 1, "device");
    EXPECT_BAD(signer_options, open_signer, resources.reserved[0], 1, "resources");
    EXPECT_BAD(signer_options, open_signer, callbacks.reserved[0], 1, "callbacks");
    EXPECT_BAD(find_options, find, bands.threshold, 0, "threshold");
    EXPECT_BAD(find_options, find, bands.threshold, (double)NAN, "threshold");
    EXPECT_BAD(find_options, find, bands.recall, 1, "recall");
    EXPECT_BAD(find_options, find, sketch.perms, BM_PERMS_MAX + 1, "perms");
    EXPECT_BAD(find_options, find, resources.threads, BM_THREADS_MAX + 1, "threads");
    EXPECT_BAD(find_options, find, bands.reserved[0], 1, "bands");
    EXPECT_BAD(shingle_options, shingle, text.shingle_k, 0, "shingle_k");
    EXPECT_BAD(shingle_options, shingle, resources.threads, BM_THREADS_MAX + 1, "threads");
    EXPECT_BAD(group_options, group, n_docs, (size_t)BM_DOCS_MAX + 1, "n_docs");
    EXPECT_BAD(group_options, group, keep, BM_KEEP_LONGEST, "sizes");
    EXPECT_BAD(group_options, group, keep, BM_KEEP_SHORTEST, "sizes");
}

/* --- pointers --- */

static void expect_named(bm_status status, const bm_error *err, const char *name)
{
    cr_expect_eq(status, BM_ERR_USAGE);
    cr_expect_str_eq(err->field, name, "%s for %s", err->field, name);
}

Test(sketch_usage, each_pointer_of_a_signer_that_is_null_is_refused_by_name)
{
    bm_error err = {0};
    bm_signer *signer = NULL;
    bm_signer_options options = signer_options();
    bm_documents docs = bm_documents_of_texts(texts, 2);
    bm_signer_out out = {.struct_size = sizeof out}, bare = {0};
    uint64_t task;
    expect_named(bm_signer_open(&options, NULL, &err), &err, "out");
    cr_assert_eq(bm_signer_open(&options, &signer, NULL), BM_OK);
    expect_named(bm_signer_sign(NULL, &docs, &out, &err), &err, "signer");
    expect_named(bm_signer_sign(signer, NULL, &out, &err), &err, "bm_documents");
    expect_named(bm_signer_sign(signer, &docs, NULL, &err), &err, "bm_signer_out");
    expect_named(bm_signer_sign(signer, &docs, &bare, &err), &err, "struct_size");
    expect_named(bm_signer_sign_texts(NULL, texts, 2, &out, &err), &err, "signer");
    expect_named(bm_signer_sign_texts(signer, NULL, 2, &out, &err), &err, "texts");
    expect_named(bm_signer_sign_texts(signer, texts, 2, NULL, &err), &err, "bm_signer_out");
    expect_named(bm_signer_submit(NULL, &docs, &out, &task, &err), &err, "signer");
    expect_named(bm_signer_submit(signer, NULL, &out, &task, &err), &err, "bm_documents");
    expect_named(bm_signer_submit(signer, &docs, NULL, &task, &err), &err, "bm_signer_out");
    expect_named(bm_signer_submit(signer, &docs, &out, NULL, &err), &err, "task");
    expect_named(bm_signer_wait(NULL, 0, &err), &err, "signer");
    cr_expect_null(bm_signer_describe(NULL));
    cr_expect_eq(bm_signer_sign(signer, &docs, &out, NULL), BM_OK);
    bm_signer_close(signer);
    bm_signer_close(NULL);
    bm_signer_options_init_sized(NULL, sizeof options);
}

Test(sketch_usage, each_pointer_of_the_other_calls_that_is_null_is_refused_by_name)
{
    bm_error err = {0};
    bm_documents docs = bm_documents_of_texts(texts, 2);
    bm_find_options finding = find_options();
    bm_shingle_options cutting = shingle_options();
    bm_group_options grouping = group_options();
    bm_pair_set *pairs = NULL;
    bm_hash_sets *sets = NULL;
    bm_groups *groups = NULL;
    const bm_pair pair = {0, 1, 1};
    uint32_t a[4];
    expect_named(bm_find_pairs(NULL, &docs, &pairs, &err), &err, "bm_find_options");
    expect_named(bm_find_pairs(&finding, NULL, &pairs, &err), &err, "bm_documents");
    expect_named(bm_find_pairs(&finding, &docs, NULL, &err), &err, "out");
    docs = bm_documents_of_hashes32(offsets, a, 2);
    expect_named(bm_find_pairs(&finding, &docs, &pairs, &err), &err, "hashes32");
    expect_named(bm_shingle_texts(NULL, texts, 2, &sets, &err), &err, "bm_shingle_options");
    expect_named(bm_shingle_texts(&cutting, NULL, 2, &sets, &err), &err, "texts");
    expect_named(bm_shingle_texts(&cutting, texts, 2, NULL, &err), &err, "out");
    expect_named(bm_group_pairs(NULL, &pair, 1, &groups, &err), &err, "bm_group_options");
    expect_named(bm_group_pairs(&grouping, NULL, 1, &groups, &err), &err, "pairs");
    expect_named(bm_group_pairs(&grouping, &pair, 1, NULL, &err), &err, "out");
    expect_named(bm_affine32_coefficients(1, 4, NULL, a, &err), &err, "a");
    expect_named(bm_affine32_coefficients(1, 4, a, NULL, &err), &err, "b");
    expect_named(bm_band_plan_choose(.8, .95, 128, NULL, &err), &err, "out");
    cr_expect(pairs == NULL && sets == NULL && groups == NULL);
    bm_find_options_init_sized(NULL, sizeof finding);
    bm_shingle_options_init_sized(NULL, sizeof cutting);
    bm_group_options_init_sized(NULL, sizeof grouping);
}

Test(sketch_usage, results_that_are_null_are_empty)
{
    bm_pair_set_free(NULL);
    bm_groups_free(NULL);
    cr_expect_eq(bm_pair_set_count(NULL), 0);
    cr_expect_null(bm_pair_set_data(NULL));
    cr_expect_null(bm_pair_set_stats(NULL));
    cr_expect_null(bm_pair_set_plan(NULL));
    cr_expect_null(bm_groups_kept(NULL));
    cr_expect_null(bm_groups_labels(NULL));
    cr_expect_null(bm_groups_offsets(NULL));
    cr_expect_null(bm_groups_members(NULL));
    cr_expect_null(bm_groups_stats(NULL));
}
