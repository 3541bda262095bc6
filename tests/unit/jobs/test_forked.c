/* SPDX-License-Identifier: Apache-2.0 */
/* A forked child may read and free results of its parent. They are plain memory, of which the child
 * has a copy; the parent's stays as it is. */
#include <criterion/criterion.h>

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bandmill/bandmill.h>

#include "tests/world/quiet_fork.h"
#include "tests/world/scratch.h"

enum { N = 6 };

static const bm_str texts[N] = {
    {"one two three four five six", 27}, {"one two three four five six", 27},
    {"seven eight nine ten eleven", 27}, {"seven eight nine ten eleven", 27},
    {"twelve thirteen fourteen", 24},    {"", 0}};

/* One of each handle that is not a signer or an index. */
typedef struct results {
    bm_hash_sets *sets;
    bm_pair_set *pairs;
    bm_groups *groups;
    bm_device_list *devices;
    bm_summary *summary;
    bm_tune_result *tuned;
    bm_matches *matches;
} results;

static void write_input(scratch *s)
{
    FILE *file = scratch_write(s, "in.jsonl");
    for (int i = 0; i < N; i++)
        fprintf(file, "{\"id\":\"d%d\",\"text\":\"%s\"}\n", i,
                texts[i].len > 0 ? texts[i].data : "");
    fclose(file);
}

static void make_in_memory(results *r)
{
    bm_shingle_options shingle;
    bm_find_options find;
    bm_group_options group;
    bm_shingle_options_init(&shingle);
    bm_find_options_init(&find);
    bm_group_options_init(&group);
    cr_assert_eq(bm_shingle_texts(&shingle, texts, N, &r->sets, NULL), BM_OK);
    const bm_documents docs = bm_hash_sets_documents(r->sets);
    cr_assert_eq(bm_find_pairs(&find, &docs, &r->pairs, NULL), BM_OK);
    group.n_docs = N;
    cr_assert_eq(bm_group_pairs(&group, bm_pair_set_data(r->pairs), bm_pair_set_count(r->pairs),
                                &r->groups, NULL),
                 BM_OK);
    cr_assert_eq(bm_device_list_open(&r->devices, NULL), BM_OK);
}

static void make_of_files(scratch *s, results *r)
{
    const char *const paths[] = {scratch_at(s, "in.jsonl")};
    bm_index_build_options build;
    bm_tune_options tune;
    bm_index *index = NULL;
    bm_error err = {0};
    bm_index_build_options_init(&build);
    build.input.paths = paths;
    build.input.n_paths = 1;
    build.output.path = scratch_at(s, "index");
    build.device.device = "cpu";
    cr_assert_eq(bm_job_index_build(&build, &r->summary, &err), BM_OK, "%s", err.message);
    bm_tune_options_init(&tune);
    tune.input.paths = paths;
    tune.input.n_paths = 1;
    cr_assert_eq(bm_tune(&tune, &r->tuned, &err), BM_OK, "%s", err.message);
    cr_assert_eq(bm_index_open(scratch_at(s, "index"), NULL, &index, &err), BM_OK);
    const bm_documents docs = bm_documents_of_texts(texts, N);
    cr_assert_eq(bm_index_query(index, NULL, &docs, &r->matches, &err), BM_OK);
    bm_index_close(index);
}

/* Reads all results. Returns 0, or the number of the first that has changed. */
static int read_all(const results *r)
{
    if (bm_hash_sets_count(r->sets) != N || bm_hash_sets_offsets(r->sets)[N] == 0)
        return 1;
    if (bm_pair_set_count(r->pairs) != 2 || bm_pair_set_data(r->pairs)[1].b != 3)
        return 2;
    if (bm_groups_kept(r->groups)[3] != 2)
        return 3;
    if (bm_device_list_count(r->devices) < 1 ||
        strcmp(bm_device_list_at(r->devices, 0)->spec, "cpu") != 0)
        return 4;
    if (bm_summary_json(r->summary) == NULL || bm_summary_counts(r->summary)->documents != N)
        return 5;
    if (bm_tune_result_count(r->tuned) == 0 || bm_tune_result_json(r->tuned) == NULL)
        return 6;
    return bm_matches_offsets(r->matches)[N] == 9 && bm_matches_id(r->matches, 0).len == 2 ? 0 : 7;
}

static void free_all(results *r)
{
    bm_hash_sets_free(r->sets);
    bm_pair_set_free(r->pairs);
    bm_groups_free(r->groups);
    bm_device_list_close(r->devices);
    bm_summary_free(r->summary);
    bm_tune_result_free(r->tuned);
    bm_matches_free(r->matches);
}

static int use_in_child(results *r)
{
    const int wrong = read_all(r);
    free_all(r);
    return wrong;
}

Test(forked, a_child_reads_and_frees_its_copies_of_results)
{
    SCRATCH s = scratch_open();
    results r = {0};
    int how = 0;
    write_input(&s);
    make_in_memory(&r);
    make_of_files(&s, &r);
    cr_assert_eq(read_all(&r), 0, "%d", read_all(&r));
    const pid_t child = quiet_fork();
    if (child == 0) {
        alarm(120); /* ends a child that waits for a thread it does not have */
        _exit(use_in_child(&r));
    }
    cr_assert_eq(waitpid(child, &how, 0), child);
    cr_assert(WIFEXITED(how) && WEXITSTATUS(how) == 0, "%d", how);
    cr_assert_eq(read_all(&r), 0);
    free_all(&r);
}
