/* input_set_open.c -- expand the paths, settle one format, look at the first bytes.
 *
 * Tests: tests/unit/input/test_input_set.c */
#include "input/input_set_open.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "input/input_set_paths.h"
#include "input/input_set_probe.h"
#include "input/input_set_state.h"
#include "input/record_formats.h"
#include "input/tables.h"

static bm_format format_of_source(const bm_source *source)
{
    if (source->table != BM_FORMAT_AUTO)
        return source->table;
    if (strcmp(source->path, "-") == 0)
        return BM_FORMAT_JSONL;
    size_t len = strlen(source->name);
    (void)bm_compression_of_name(source->name, &len);
    bm_format format = bm_format_of_name(source->name, len);
    return format == BM_FORMAT_JSON && source->beginning != BM_BEGINS_ARRAY ? BM_FORMAT_JSONL
                                                                            : format;
}

/* Nothing is known of it: it cannot be read, or its name ends in .json and it is empty. */
static bool may_be_any(const bm_source *source)
{
    size_t len = strlen(source->name);
    (void)bm_compression_of_name(source->name, &len);
    return source->unreadable != NULL || (source->beginning == BM_BEGINS_NOT &&
                                          bm_format_of_name(source->name, len) == BM_FORMAT_JSON);
}

/* A name that says nothing means that the file is one document: not where it begins like JSON Lines. */
static bm_status check_whole_file(const bm_source *source, bm_error *err)
{
    if (source->beginning != BM_BEGINS_OBJECT)
        return BM_OK;
    return bm_fail_at(err, BM_ERR_USAGE, source->name, 0,
                      "its first line is a JSON object, and its name tells no format (`format` "
                      "jsonl: a document a line; `format` files: all of it is one document)");
}

static bm_status settle_format(bm_input_set *set, bm_error *err)
{
    set->format = set->options.format;
    if (set->format != BM_FORMAT_AUTO)
        return BM_OK;
    const bm_source *first = NULL;
    for (size_t i = 0; i < set->n_sources; i++) {
        const bm_source *source = &set->sources[i];
        if (may_be_any(source))
            continue;
        if (first == NULL)
            first = source;
        bm_format one = format_of_source(first), other = format_of_source(source);
        if (other != one)
            return bm_fail(err, BM_ERR_USAGE,
                           "inputs differ in format: %.300s is %s, %.300s is %s (one `format` for "
                           "all)",
                           first->name, bm_format_name(one), source->name, bm_format_name(other));
    }
    set->format = format_of_source(first != NULL ? first : &set->sources[0]);
    for (size_t i = 0; i < set->n_sources && set->format == BM_FORMAT_FILES; i++)
        BM_TRY(check_whole_file(&set->sources[i], err));
    return BM_OK;
}

static bm_status fill_set(bm_input_set *set, bm_error *err)
{
    if (set->options.n_paths == 0 && set->options.files_from == NULL)
        return bm_fail(err, BM_ERR_USAGE, "no input (files, directories, or - for stdin)");
    BM_TRY(bm_input_set_expand(set, err));
    if (set->n_sources == 0) {
        const char *where =
            set->options.n_paths > 0 ? set->options.paths[0] : set->options.files_from;
        if (set->n_left_out > 0)
            return bm_fail_at(err, BM_ERR_INPUT, where, 0,
                              "no files there that `include` and `exclude` choose (%llu were left "
                              "out)",
                              (unsigned long long)set->n_left_out);
        return bm_fail_at(err, BM_ERR_INPUT, where, 0,
                          "no files there (%llu names that begin with . or _ were left out)",
                          (unsigned long long)set->n_hidden);
    }
    /* What holds no records, arrays of hashes, is looked at by its own reader. */
    if (set->options.format == BM_FORMAT_AUTO || bm_format_is_table(set->options.format) ||
        bm_record_format_of(set->options.format) != NULL)
        BM_TRY(bm_input_set_probe(set, err));
    BM_TRY(settle_format(set, err));
    return bm_record_rules_init(&set->options, set->format, &set->rules, err);
}

bm_status bm_input_set_open(const bm_input_options *options, const char *spool_dir,
                            bm_input_set **out, bm_error *err)
{
    return bm_input_set_open_watched(options, spool_dir, NULL, out, err);
}

bm_status bm_input_set_open_watched(const bm_input_options *options, const char *spool_dir,
                                    const bm_callbacks *callbacks, bm_input_set **out,
                                    bm_error *err)
{
    bm_input_set *set = NULL;
    BM_TRY(bm_new_zero(&set, 1, err));
    set->options = *options;
    set->callbacks = callbacks;
    bm_status status = BM_OK;
    if (spool_dir != NULL && (set->spool_dir = bm_strdup(spool_dir)) == NULL)
        BM_TRY_OUT(bm_fail_nomem(err, strlen(spool_dir)));
    status = fill_set(set, err);
out:
    if (status == BM_OK)
        *out = set;
    else
        bm_input_set_close(set);
    return status;
}

bm_status bm_input_set_open_stream(const bm_input_options *options, const char *name,
                                   bm_input_set **out, bm_error *err)
{
    bm_input_set *set = bm_alloc_zero(1, sizeof *set);
    char *path = bm_strdup(name);
    if (set == NULL || path == NULL ||
        (set->sources = bm_alloc_zero(1, sizeof(bm_source))) == NULL) {
        bm_free(set);
        bm_free(path);
        return bm_fail_nomem(err, sizeof *set);
    }
    set->options = *options;
    set->format = options->format;
    set->sources[0] = (bm_source){.path = path, .name = path};
    set->n_sources = 1;
    set->unknown_size = true;
    bm_status status = bm_record_rules_init(&set->options, set->format, &set->rules, err);
    if (status == BM_OK)
        *out = set;
    else
        bm_input_set_close(set);
    return status;
}
