/* remote_list.c -- pages of names, and what is read of them.
 *
 * Tests: tests/unit/remote/test_remote_file.c, tests/cli/cases/addresses_folders.sh */
#include "remote/remote_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <bandmill/version.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/orders.h"
#include "json/json_exact.h"
#include "json/json_scan.h"
#include "remote/remote_provider.h"

#define PAGE_MOST ((size_t)64 << 20)

static bool is_web(const char *address)
{
    return strncasecmp(address, "http://", 7) == 0 || strncasecmp(address, "https://", 8) == 0;
}

/* Where the path begins within a bucket or repository: behind its slash, or at the end of the
 * address, which a query ends too. */
static const char *path_of(const char *address)
{
    const char *at = strstr(address, "://") + 3;
    unsigned steps = 1;
    if (strncmp(address, "hf://", 5) == 0)
        steps = strncmp(at, "datasets/", 9) == 0 ? 3 : 2;
    for (; steps > 0 && *at != '\0' && *at != '?'; at++)
        steps -= *at == '/';
    return steps <= 1 ? at : NULL;
}

static bool is_store(const char *address)
{
    return strncmp(address, "s3://", 5) == 0 || strncmp(address, "gs://", 5) == 0 ||
           strncmp(address, "hf://", 5) == 0;
}

bool bm_version_reads_address(const char *address)
{
    const char *why = NULL;
    return (is_web(address) || is_store(address)) && bm_remote_provider_find(&why) != NULL;
}

bool bm_address_is_folder(const char *address)
{
    const char *end = address + strcspn(address, "?");
    const bool web = is_web(address);
    if (!web && !is_store(address))
        return false;
    const char *path = web ? strstr(address, "://") + 3 : path_of(address);
    if (web && *end == '?' && end[-1] == '/') /* what it sends is for the query to say */
        return false;
    return path != NULL &&
           (path == end || end[-1] == '/' || memchr(path, '*', (size_t)(end - path)) != NULL);
}

/* --- what a page says --- */

static bm_status no_list(const char *name, bm_error *err)
{
    return bm_fail_at(err, BM_ERR_INPUT, name, 0, "the server's answer is no list of files");
}

/* Remember some of the places of next pages, further and further apart, so that any circle is met. */
typedef struct circle {
    bm_buf met; /* ended by NUL */
    uint64_t pages, until;
} circle;

static bm_status check_circle(circle *c, const bm_buf *next, const char *name, bm_error *err)
{
    if (next->len > 0 && c->met.len == next->len && memcmp(c->met.data, next->data, next->len) == 0)
        return bm_fail_at(err, BM_ERR_INPUT, name, 0,
                          "the server's list of files does not end: it sends one page twice");
    if (++c->pages < c->until || next->len == 0)
        return BM_OK;
    c->until = 2 * c->pages;
    c->met.len = 0;
    return bm_buf_add(&c->met, next->data, next->len, err);
}

/* `key` is the path of a file from its bucket or repository on. */
static bm_status add_name(bm_remote_names *out, bm_str folder, const bm_buf *key, bm_error *err)
{
    if (key->len <= folder.len || memcmp(key->data, folder.data, folder.len) != 0 ||
        key->data[key->len - 1] == '/' || memchr(key->data, '\0', key->len) != NULL)
        return BM_OK; /* what stands for a folder */
    BM_TRY(bm_grow_array(&out->below, &out->cap, out->n + 1, err));
    char *copy;
    BM_TRY(bm_copy_bytes(key->data + folder.len, key->len - folder.len, &copy, err));
    out->below[out->n++] = copy;
    return BM_OK;
}

static bm_status add_entity(const char *name, size_t len, bm_buf *out, bm_error *err)
{
    static const char *const names[] = {"amp", "lt", "gt", "quot", "apos"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strlen(names[i]) == len && memcmp(names[i], name, len) == 0)
            return bm_buf_add(out, &"&<>\"'"[i], 1, err);
    /* of a code point: names have those of what XML cannot spell otherwise, which is ASCII */
    const long code = name[0] == '#' && name[1] == 'x' ? strtol(name + 2, NULL, 16)
                                                       : strtol(name + (name[0] == '#'), NULL, 10);
    return code > 0 && code < 128 ? bm_buf_add(out, &(char){(char)code}, 1, err) : BM_ERR_FORMAT;
}

/* The text of the next element of this name, which has no attributes; *found false: there is none.
 * The page ends with a NUL. */
static bm_status next_element(const bm_buf *page, const char *name, size_t *at, bm_buf *out,
                              bool *found, bm_error *err)
{
    char begin[64];
    snprintf(begin, sizeof begin, "<%s>", name);
    const char *text = strstr(page->data + *at, begin);
    *found = text != NULL;
    out->len = 0;
    if (text == NULL)
        return BM_OK;
    for (text += strlen(begin); *text != '<'; text++) {
        const size_t n = *text == '&' ? strcspn(text, ";<") : 0;
        if (*text == '\0' || (n > 0 && text[n] != ';'))
            return BM_ERR_FORMAT;
        BM_TRY(n > 0 ? add_entity(text + 1, n - 1, out, err) : bm_buf_add(out, text, 1, err));
        text += n;
    }
    *at = (size_t)(text - page->data);
    return bm_buf_end(out, err);
}

/* *next: the token of the next page, ended by NUL, or empty. */
static bm_status read_xml(const bm_buf *page, bm_str folder, bm_buf *word, bm_buf *next,
                          bm_remote_names *out, bm_error *err)
{
    size_t at = 0;
    bool found = true;
    if (strstr(page->data, "<ListBucketResult") == NULL)
        return BM_ERR_FORMAT;
    while (found) {
        BM_TRY(next_element(page, "Key", &at, word, &found, err));
        if (found)
            BM_TRY(add_name(out, folder, word, err));
    }
    at = 0;
    return next_element(page, "NextContinuationToken", &at, next, &found, err);
}

static bm_status read_json(const bm_remote_page *page, bm_str folder, bm_json_exact *exact,
                           bm_buf *word, bm_buf *next, bm_remote_names *out, bm_error *err)
{
    bm_str text = {page->body.data, page->body.len}, file, value;
    const char *broken = NULL;
    while (text.len > 0 && strchr(" \t\r\n", text.data[text.len - 1]) != NULL)
        text.len--;
    if (text.len < 2 || text.data[0] != '[' || text.data[text.len - 1] != ']')
        return BM_ERR_FORMAT;
    for (size_t at = 0; bm_json_scan_element(text, &at, &file);) {
        BM_TRY(bm_json_exact_run(exact, file, NULL, &broken, err));
        if (broken != NULL)
            return BM_ERR_FORMAT;
        if (!bm_json_scan_find(file, "type", &value) || !bm_json_scan_is(value, "\"file\"") ||
            !bm_json_scan_find(file, "path", &value))
            continue;
        word->len = 0;
        BM_TRY(bm_json_scan_string(value, word, err));
        BM_TRY(add_name(out, folder, word, err));
    }
    if (page->next[0] == '\0')
        return BM_OK;
    return bm_buf_add(next, page->next, strlen(page->next) + 1, err);
}

/* --- the list --- */

static bm_status list(bm_remotes *remotes, const char *address, const char *name, bm_str folder,
                      bm_remote_names *out, bm_error *err)
{
    bm_remote_page page = {.body = {.max = PAGE_MOST}};
    bm_buf word = {0}, next = {0};
    circle pages = {0};
    bm_json_exact *exact = NULL;
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_json_exact_open(NULL, 0, &exact, err));
    do {
        page.after = next.len > 0 ? next.data : NULL;
        BM_TRY_OUT(bm_remotes_page(remotes, address, name, &page, err));
        BM_TRY_OUT(bm_buf_end(&page.body, err));
        next.len = 0;
        status = strncmp(address, "hf://", 5) == 0
                     ? read_json(&page, folder, exact, &word, &next, out, err)
                     : read_xml(&page.body, folder, &word, &next, out, err);
        if (status == BM_ERR_FORMAT)
            status = no_list(name, err);
        BM_TRY_OUT(status);
        BM_TRY_OUT(check_circle(&pages, &next, name, err));
    } while (next.len > 0);
out:
    bm_json_exact_close(exact);
    bm_buf_reset(&page.body);
    bm_buf_reset(&word);
    bm_buf_reset(&next);
    bm_buf_reset(&pages.met);
    return status;
}

bm_status bm_remote_list(bm_remotes *remotes, const char *address, bm_remote_names *out,
                         bm_error *err)
{
    char *name = NULL, *literal = NULL;
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_address_name(address, &name, err));
    if (is_web(address))
        BM_TRY_OUT(
            bm_fail_at(err, BM_ERR_USAGE, name, 0,
                       "a server of http:// or https:// does not say which files it has (the "
                       "address of each file, or `files_from`)"));
    const char *path = path_of(address), *end = address + strcspn(address, "*?"), *root = end;
    while (root > path && root[-1] != '/')
        root--;
    BM_TRY_OUT(bm_string_format(&literal, err, "%.*s%s", (int)(end - address), address,
                                path[-1] == '/' ? "" : "/"));
    BM_TRY_OUT(bm_string_format(&out->root, err, "%.*s%s", (int)(root - address), address,
                                path[-1] == '/' ? "" : "/"));
    BM_TRY_OUT(list(remotes, literal, name, (bm_str){path, (size_t)(root - path)}, out, err));
    if (out->n > 0)
        qsort(out->below, out->n, sizeof *out->below, bm_order_text);
out:
    bm_free_all(literal, name);
    return status;
}

void bm_remote_names_reset(bm_remote_names *names)
{
    for (size_t i = 0; i < names->n; i++)
        bm_free(names->below[i]);
    bm_free_all(names->below, names->root);
    *names = (bm_remote_names){0};
}
