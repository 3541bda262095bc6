/* SPDX-License-Identifier: Apache-2.0 */
/* The queries of bandmill/index.h: options that are missing, out of range or in conflict, and
 * pointers that are NULL. Each gives BM_ERR_USAGE and the field, before anything is opened. */
#include "tests/unit/jobs/public_api.h"
#include "tests/world/world_text.h"

#include <math.h>

static const char *const paths[] = {"/nonexistent/in.jsonl"}, *const standard_input[] = {"-"};

static bm_query_options query_options(void)
{
    bm_query_options o;
    bm_query_options_init(&o);
    o.path = "/nonexistent/index";
    o.input.paths = paths;
    o.input.n_paths = 1;
    o.write = world_write_nothing;
    return o;
}

static void expect_field(bm_status status, const bm_error *err, const char *field)
{
    cr_expect_eq(status, BM_ERR_USAGE, "%s: %s", field, err->message);
    cr_expect_str_eq(err->field, field);
}

static void refused(const bm_query_options *o, const char *field)
{
    bm_summary *summary = NULL;
    bm_error err = {0};
    expect_field(bm_job_query(o, &summary, &err), &err, field);
    cr_expect_null(summary);
}

Test(public_api_query, a_query_whose_options_are_at_odds_is_refused)
{
    bm_query_options o = query_options();
    bm_error err = {0};
    cr_expect_eq(bm_job_query(NULL, &(bm_summary *){NULL}, NULL), BM_ERR_USAGE);
    expect_field(bm_job_query(&o, NULL, &err), &err, "out");
    o.struct_size = 3;
    refused(&o, "struct_size");
    o = query_options(), o.path = NULL;
    refused(&o, "path");
    o = query_options(), o.targets = paths, o.n_targets = 1;
    refused(&o, "targets");
    o = query_options(), o.path = NULL, o.targets = NULL, o.n_targets = 1;
    refused(&o, "targets");
    o = query_options(), o.path = NULL, o.targets = standard_input, o.n_targets = 1;
    o.input.paths = standard_input;
    refused(&o, "targets");
    o = query_options(), o.write = NULL;
    refused(&o, "write");
    o = query_options(), o.follow = true;
    refused(&o, "follow");
    o.input.n_paths = 0, o.output.path = "/nonexistent/out";
    refused(&o, "output");
    o = query_options(), o.verify = BM_VERIFY_NONE;
    refused(&o, "verify");
    o = query_options(), o.verify = (bm_verify)77;
    refused(&o, "verify");
    o = query_options(), o.answers.threshold = 1.5;
    refused(&o, "threshold");
    o = query_options(), o.answers.threshold = NAN;
    refused(&o, "threshold");
    o = query_options(), o.answers.reserved[2] = 1;
    refused(&o, "answers");
    o = query_options(), o.set_fields = UINT64_C(1) << 60;
    refused(&o, "set_fields");
    o = query_options(), o.input.duplicate_ids = BM_DUPLICATE_IDS_REPLACE;
    refused(&o, "duplicate_ids");
    o = query_options(), o.text.shingle = (bm_shingle_kind)9;
    refused(&o, "shingle");
}

Test(public_api_query, a_handle_names_what_is_missing)
{
    bm_index *index = NULL;
    bm_matches *matches = NULL;
    bm_index_options o;
    bm_error err = {0};
    bm_str text = {"a", 1};
    const bm_documents docs = bm_documents_of_texts(&text, 1);
    bm_index_info stats = {.struct_size = sizeof stats};
    expect_field(bm_index_open(NULL, NULL, &index, &err), &err, "path");
    expect_field(bm_index_open("/nonexistent/index", NULL, NULL, &err), &err, "out");
    bm_index_options_init(&o);
    o.cpu = "z80";
    cr_expect_eq(bm_index_open("/nonexistent/index", &o, &index, &err), BM_ERR_USAGE);
    bm_index_options_init(&o);
    o.resources.reserved[0] = 1;
    expect_field(bm_index_open("/nonexistent/index", &o, &index, &err), &err, "resources");
    cr_expect_eq(bm_index_open("/nonexistent/index", NULL, &index, &err), BM_ERR_IO);
    expect_field(bm_index_query(NULL, NULL, &docs, &matches, &err), &err, "index");
    expect_field(bm_index_describe(NULL, &stats, &err), &err, "index");
    expect_field(bm_index_add(NULL, &text, &docs, &err), &err, "index");
    expect_field(bm_index_remove(NULL, &text, 1, &err), &err, "index");
    expect_field(bm_index_commit(NULL, &err), &err, "index");
    bm_index_close(NULL);
    bm_matches_free(NULL);
    cr_expect_eq(bm_matches_count(NULL), 0);
    cr_expect_null(bm_matches_offsets(NULL));
    cr_expect_null(bm_matches_similarities(NULL));
    cr_expect_null(bm_matches_id(NULL, 0).data);
    cr_expect_null(index);
    cr_expect_null(matches);
}
