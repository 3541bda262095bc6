/* SPDX-License-Identifier: Apache-2.0 */
/* consumer.c -- an outside program: signs two texts and hashes, chooses a plan, finds a pair and
 * runs a whole job, including only <bandmill/bandmill.h>. Exits with 0 only if every result is
 * right. */
#include <bandmill/bandmill.h>

#include <stdio.h>
#include <string.h>

static int failed(const char *what, const bm_error *err)
{
    fprintf(stderr, "%s: %s\n", what, err->message);
    return 1;
}

/* Identical sets have equal signatures; an empty set has no shingles. */
static int check_signer(bm_error *err)
{
    bm_signer_options options;
    bm_signer *signer = NULL;
    bm_str texts[3] = {
        {"the quick brown fox jumps", 25}, {"The QUICK brown fox, jumps!", 27}, {"", 0}};
    uint32_t words[3][16], n_shingles[3];
    bm_signer_out out = {
        .struct_size = sizeof out, .signatures = &words[0][0], .n_shingles = n_shingles};

    bm_signer_options_init(&options);
    options.sketch.perms = 16;
    if (bm_signer_open(&options, &signer, err) != BM_OK)
        return failed("open", err);
    if (bm_signer_sign_texts(signer, texts, 3, &out, err) != BM_OK)
        return failed("sign", err);
    bm_signer_close(signer);
    if (memcmp(words[0], words[1], sizeof words[0]) != 0 || n_shingles[0] != 1 ||
        n_shingles[2] != 0 || words[2][15] != BM_NO_SHINGLE32) {
        fprintf(stderr, "signatures are not what they should be\n");
        return 1;
    }
    return 0;
}

static int check_pairs(bm_error *err)
{
    const uint64_t hashes[] = {1, 2, 3, 4, 2, 3, 4, 5, 9};
    const uint64_t offsets[] = {0, 4, 8, 9};
    const bm_documents documents = bm_documents_of_hashes(offsets, hashes, 3);
    bm_find_options options;
    bm_group_options grouping;
    bm_pair_set *found = NULL;
    bm_groups *groups = NULL;

    bm_find_options_init(&options);
    options.bands.threshold = 0.6;
    options.bands.recall = 0.999;
    if (bm_find_pairs(&options, &documents, &found, err) != BM_OK)
        return failed("pairs", err);
    const bm_pair *pairs = bm_pair_set_data(found);
    bm_group_options_init(&grouping);
    grouping.n_docs = 3;
    if (bm_group_pairs(&grouping, pairs, bm_pair_set_count(found), &groups, err) != BM_OK)
        return failed("groups", err);
    int right = bm_pair_set_count(found) == 1 && pairs[0].a == 0 && pairs[0].b == 1 &&
                pairs[0].similarity == 3.0 / 5 && bm_groups_kept(groups)[1] == 0;
    if (!right)
        fprintf(stderr, "%zu pairs\n", bm_pair_set_count(found));
    bm_groups_free(groups);
    bm_pair_set_free(found);
    return !right;
}

static int check_job(const char *input, const char *output, bm_error *err)
{
    bm_dedup_options options;
    bm_summary *summary = NULL;

    bm_dedup_options_init(&options);
    options.input.paths = &input;
    options.input.n_paths = 1;
    options.output.path = output;
    options.device.device = "cpu";
    if (bm_job_dedup(&options, &summary, err) != BM_OK)
        return failed("dedup", err);
    int right =
        bm_summary_counts(summary)->documents == 3 && bm_summary_counts(summary)->removed == 1;
    bm_summary_free(summary);
    return !right;
}

/* Invalid options are refused with the name of the field. */
static int check_refusals(void)
{
    bm_dedup_options options;
    bm_summary *summary = NULL;
    bm_error err;

    memset(&options, 0, sizeof options); /* as if never initialised */
    if (bm_job_dedup(&options, &summary, &err) != BM_ERR_USAGE ||
        strcmp(err.field, "struct_size") != 0)
        return 1;
    const char *input = "in.jsonl";
    bm_dedup_options_init(&options);
    options.input.paths = &input;
    options.input.n_paths = 1;
    options.output.path = "refused";
    options.keep = (bm_keep)4000;
    if (bm_job_dedup(&options, &summary, &err) != BM_ERR_USAGE || strcmp(err.field, "keep") != 0)
        return 1;
    return summary != NULL || bm_option_name(BM_OPTION_KEEP, 4000) != NULL;
}

int main(int argc, char **argv)
{
    bm_error err;
    const bm_version_info *info = bm_version();

    memset(&err, 0, sizeof err);
    if (argc != 4 || strcmp(info->version, argv[1]) != 0) {
        fprintf(stderr, "version %s\n", info->version);
        return 1;
    }
    return check_signer(&err) || check_pairs(&err) || check_job(argv[2], argv[3], &err) ||
           check_refusals();
}
