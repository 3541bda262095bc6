/* SPDX-License-Identifier: Apache-2.0 */
/* bandmill/sketch.h: what its structs promise to programs built with other versions
 * (tests/unit/inmem/test_sketch_usage.c tests their enums, reserved words and pointers). */
#include "tests/unit/jobs/public_api.h"

static const bm_str texts[] = {{"a b", 3}, {"a b", 3}};

/* Initialises structs without an _init of their own: zero, except for their size. */
static void init_zero(void *options, size_t struct_size)
{
    memset(options, 0, struct_size);
    memcpy(options, &struct_size, sizeof struct_size);
}

static void fill_nothing(void *options)
{
    (void)options;
}

/* --- signer --- */

API_INIT(signer, bm_signer_options)

static void fill_signer(void *options)
{
    ((bm_signer_options *)options)->resources.threads = 1;
}

static bm_status call_signer(const void *options, bm_error *err)
{
    bm_signer *signer = NULL;
    bm_status status = bm_signer_open((const bm_signer_options *)options, &signer, err);
    bm_signer_close(signer);
    return status;
}

/* --- texts to hashes --- */

API_INIT(shingle, bm_shingle_options)

static bm_status call_shingle(const void *options, bm_error *err)
{
    bm_hash_sets *sets = NULL;
    bm_status status = bm_shingle_texts((const bm_shingle_options *)options, texts, 2, &sets, err);
    bm_hash_sets_free(sets);
    return status;
}

/* --- documents to pairs, and to groups --- */

API_INIT(find, bm_find_options)

static bm_status call_find(const void *options, bm_error *err)
{
    const bm_documents documents = bm_documents_of_texts(texts, 2);
    bm_pair_set *pairs = NULL;
    bm_status status = bm_find_pairs((const bm_find_options *)options, &documents, &pairs, err);
    bm_pair_set_free(pairs);
    return status;
}

API_INIT(group, bm_group_options)

static bm_status call_group(const void *options, bm_error *err)
{
    bm_groups *groups = NULL;
    bm_status status = bm_group_pairs((const bm_group_options *)options, NULL, 0, &groups, err);
    bm_groups_free(groups);
    return status;
}

API_INIT(compare, bm_compare_options)

static bm_status call_compare(const void *options, bm_error *err)
{
    const bm_documents none = bm_documents_of_hashes(NULL, NULL, 0);
    return bm_compare_pairs((const bm_compare_options *)options, &none, NULL, 0, err);
}

/* --- inputs and outputs of a signer --- */

static void fill_documents(void *options)
{
    bm_documents *documents = options;
    documents->texts = texts;
    documents->n_docs = 2;
}

static bm_status sign(const bm_documents *documents, const bm_signer_out *out, bm_error *err)
{
    bm_signer_options options;
    bm_signer *signer = NULL;
    bm_signer_options_init(&options);
    options.resources.threads = 1;
    cr_assert_eq(bm_signer_open(&options, &signer, NULL), BM_OK);
    bm_status status = bm_signer_sign(signer, documents, out, err);
    bm_signer_close(signer);
    return status;
}

static bm_status call_documents(const void *options, bm_error *err)
{
    const bm_signer_out out = {.struct_size = sizeof out};
    return sign((const bm_documents *)options, &out, err);
}

static bm_status call_out(const void *options, bm_error *err)
{
    const bm_documents documents = bm_documents_of_texts(texts, 2);
    return sign(&documents, (const bm_signer_out *)options, err);
}

#define SIZED(type_, least_) .type = #type_, .size = sizeof(type_), .least = least_

static const api_call calls[] = {
    {SIZED(bm_signer_options, 504), .init = init_signer, .fill = fill_signer, .call = call_signer},
    {SIZED(bm_shingle_options, 240), .init = init_shingle, .fill = fill_nothing,
     .call = call_shingle},
    {SIZED(bm_find_options, 352), .init = init_find, .fill = fill_nothing, .call = call_find},
    {SIZED(bm_group_options, 32), .init = init_group, .fill = fill_nothing, .call = call_group},
    {SIZED(bm_compare_options, sizeof(bm_compare_options)), .init = init_compare,
     .fill = fill_nothing, .call = call_compare},
    {SIZED(bm_documents, 48), .init = init_zero, .fill = fill_documents, .call = call_documents},
    {SIZED(bm_signer_out, 40), .init = init_zero, .fill = fill_nothing, .call = call_out},
};

Test(public_api_sketch, structs_of_other_versions_are_taken_or_refused_by_their_size)
{
    for (size_t i = 0; i < N_OF(calls); i++) {
        if (calls[i].init != init_zero)
            api_check_init(&calls[i]);
        api_check_sizes(&calls[i]);
    }
}
