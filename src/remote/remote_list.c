/* SPDX-License-Identifier: Apache-2.0 */
/* remote_list.c -- requests pages of names, and parses them.
 *
 * Tests: tests/unit/remote/test_remote_file.c, tests/cli/cases/addresses_folders.sh */
#include "remote/remote_file.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <bandmill/version.h>

#include "base/error.h"
#include "base/files.h"
#include "base/memory.h"
#include "base/orders.h"
#include "base/utf8.h"
#include "json/json_exact.h"
#include "json/json_scan.h"
#include "remote/remote_provider.h"

#define PAGE_MOST  ((size_t)64 << 20)
#define EMPTY_MOST 3u
#define NAMES_PART 4u   /* names may take 1/4 of the memory */
#define NAME_BYTES 256u /* approximate memory of a source in addition to its name */

static bool is_web(const char *address)
{
    return strncasecmp(address, "http://", 7) == 0 || strncasecmp(address, "https://", 8) == 0;
}

/* Returns the beginning of the path within the bucket or repository. It follows the slash after the
 * name of the bucket or repository. If there is no such slash, returns the end of the address, or
 * the beginning of its query. NULL: the address names no bucket or repository. */
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
    if (web && *end == '?' && end[-1] == '/') /* the query may select a file */
        return false;
    return path != NULL &&
           (path == end || end[-1] == '/' || memchr(path, '*', (size_t)(end - path)) != NULL);
}

/* --- the contents of a page --- */

/* The list that is made from the pages. */
typedef struct listing {
    const char *name; /* name of the folder, for messages */
    bm_str folder;    /* path of the folder in the bucket or repository */
    bm_remote_names *out;
    bm_json_exact *exact;
    bm_buf word;
    bm_buf next; /* where the next page begins, NUL-terminated; empty: this is the last page */
    bool next_is_name; /* `next` is a marker of list version 1 */
} listing;

static bm_status no_list(const listing *l, const char *why, bm_error *err)
{
    return bm_fail_at(err, BM_ERR_INPUT, l->name, 0, "the server's answer is no list of files (%s)",
                      why);
}

/* Add a file to the list, if it is in the folder. `key` is the file's path in the bucket or
 * repository. */
static bm_status add_name(listing *l, bm_str key, bm_error *err)
{
    bm_remote_names *out = l->out;
    const bm_str folder = l->folder;
    if (key.len <= folder.len || memcmp(key.data, folder.data, folder.len) != 0 ||
        key.data[key.len - 1] == '/' || memchr(key.data, '\0', key.len) != NULL)
        return BM_OK; /* outside the folder, an entry for a folder, or a name with a NUL */
    BM_TRY(bm_grow_array(&out->below, &out->cap, out->n + 1, err));
    char *copy;
    BM_TRY(bm_copy_bytes(key.data + folder.len, key.len - folder.len, &copy, err));
    out->below[out->n++] = copy;
    out->bytes += key.len - folder.len;
    return BM_OK;
}

/* --- the XML of a store
 *
 * Parses elements and their texts, as stores send them: UTF-8, without a document type. Expat is
 * not used, because it refuses the references to control characters (&#x1;) that S3 writes for keys
 * with such characters. With expat, the code would be some 60 lines shorter than the 170 lines
 * here, but packages and wheels would need another library. */

#define DEPTH_MOST 16u

typedef struct xml {
    const char *at, *end;
    bm_str open[DEPTH_MOST]; /* the names of the open elements */
    unsigned depth;
    bool closes; /* the element opened last is empty, so its end follows */
} xml;

typedef enum xml_event { XML_OPEN, XML_CLOSE, XML_END, XML_BROKEN } xml_event;

static bool starts(const xml *x, const char *word)
{
    const size_t n = strlen(word);
    return (size_t)(x->end - x->at) >= n && memcmp(x->at, word, n) == 0;
}

/* Go to the position after the next `word`, and set *before to the text before it. False: there is
 * no such word. */
static bool skip_to(xml *x, const char *word, bm_str *before)
{
    const char *found = memmem(x->at, (size_t)(x->end - x->at), word, strlen(word));
    if (found == NULL)
        return false;
    *before = (bm_str){x->at, (size_t)(found - x->at)};
    x->at = found + strlen(word);
    return true;
}

/* Read a reference, whose & was read already, and append its character to `text`. False: it is
 * malformed. */
static bool read_reference(xml *x, bm_buf *text, bm_status *status)
{
    static const char *const names[] = {"amp", "lt", "gt", "quot", "apos"};
    bm_str name;
    char bytes[4], *end;
    if (!skip_to(x, ";", &name) || name.len == 0)
        return false;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strlen(names[i]) == name.len && memcmp(names[i], name.data, name.len) == 0) {
            *status = bm_buf_add(text, &"&<>\"'"[i], 1, NULL);
            return true;
        }
    const bool hex = name.len > 1 && name.data[1] == 'x';
    const size_t at = 1 + (size_t)hex;
    if (name.data[0] != '#' || name.len <= at || name.len > at + 8 ||
        !(hex ? isxdigit((unsigned char)name.data[at]) : isdigit((unsigned char)name.data[at])))
        return false;
    const unsigned long code = strtoul(name.data + at, &end, hex ? 16 : 10);
    if (end != name.data + name.len || code == 0 || code > 0x10FFFF ||
        (code >= 0xD800 && code < 0xE000))
        return false;
    *status = bm_buf_add(text, bytes, (size_t)(bm_utf8_put(bytes, (uint32_t)code) - bytes), NULL);
    return true;
}

static size_t name_bytes(const xml *x)
{
    size_t n = 0;
    while (x->at + n < x->end && strchr(" \t\r\n/>=<&'\"!?", x->at[n]) == NULL)
        n++;
    return n;
}

static void skip_blanks(xml *x)
{
    while (x->at < x->end && bm_json_is_space(*x->at))
        x->at++;
}

/* Read the name and the attributes of an element, whose < was read already. The attributes are
 * ignored. */
static bool open_element(xml *x)
{
    const bm_str name = {x->at, name_bytes(x)};
    if (name.len == 0 || x->depth == DEPTH_MOST)
        return false;
    x->at += name.len;
    for (;;) {
        bm_str value;
        const char *blanks = x->at;
        skip_blanks(x);
        x->closes = starts(x, "/>");
        if (x->closes || starts(x, ">"))
            break;
        const size_t n = name_bytes(x);
        if (n == 0 || x->at == blanks)
            return false;
        x->at += n;
        skip_blanks(x);
        if (!starts(x, "="))
            return false;
        x->at++;
        skip_blanks(x);
        const char quote[2] = {x->at < x->end ? *x->at : '\0', '\0'};
        if ((quote[0] != '"' && quote[0] != '\'') || (x->at++, !skip_to(x, quote, &value)) ||
            memchr(value.data, '<', value.len) != NULL)
            return false;
    }
    x->at += 1 + x->closes;
    x->open[x->depth++] = name;
    return true;
}

/* Read the end of an element, whose "</" was read already. */
static bool close_element(xml *x)
{
    const bm_str *name = &x->open[x->depth - 1];
    const size_t n = name_bytes(x);
    if (n != name->len || memcmp(x->at, name->data, n) != 0)
        return false;
    x->at += n;
    skip_blanks(x);
    if (!starts(x, ">"))
        return false;
    x->at++;
    x->depth--;
    return true;
}

/* Go to the next beginning or end of an element. Text before it is appended to `text`. Outside of
 * the root element only blanks, comments and instructions are allowed. */
static xml_event next_event(xml *x, bm_buf *text, bm_status *status)
{
    bm_str between;
    if (x->closes) {
        x->closes = false;
        x->depth--;
        return XML_CLOSE;
    }
    while (x->at < x->end && *status == BM_OK) {
        if (starts(x, "<!--") || starts(x, "<?")) {
            if (!skip_to(x, x->at[1] == '?' ? "?>" : "-->", &between))
                return XML_BROKEN;
        } else if (x->depth == 0 && *x->at != '<') {
            if (!bm_json_is_space(*x->at++))
                return XML_BROKEN;
        } else if (x->depth > 0 && starts(x, "<![CDATA[")) {
            x->at += strlen("<![CDATA[");
            if (!skip_to(x, "]]>", &between))
                return XML_BROKEN;
            *status = bm_buf_add(text, between.data, between.len, NULL);
        } else if (x->depth > 0 && starts(x, "</")) {
            x->at += 2;
            return close_element(x) ? XML_CLOSE : XML_BROKEN;
        } else if (*x->at == '<') {
            x->at++;
            return open_element(x) ? XML_OPEN : XML_BROKEN;
        } else if (*x->at == '&') {
            x->at++;
            if (!read_reference(x, text, status))
                return XML_BROKEN;
        } else {
            size_t n = 1;
            while (x->at + n < x->end && x->at[n] != '<' && x->at[n] != '&')
                n++;
            *status = bm_buf_add(text, x->at, n, NULL);
            x->at += n;
        }
    }
    return x->depth == 0 ? XML_END : XML_BROKEN;
}

static bool is_word(bm_str name, const char *word)
{
    return name.len == strlen(word) && memcmp(name.data, word, name.len) == 0;
}

/* Is the element opened last named `word`, and inside of `depth` other elements? */
static bool is_at(const xml *x, unsigned depth, const char *word)
{
    return x->depth == depth + 1 && is_word(x->open[depth], word);
}

/* What a page of ListObjects states about the next page. */
typedef struct page_end {
    bool truncated, has_token, has_marker;
} page_end;

/* Handle the end of an element with the text l->word, in ListBucketResult or in its Contents. */
static bm_status read_element(listing *l, const xml *x, page_end *end, bm_error *err)
{
    const bm_str text = {l->word.data, l->word.len};
    const bool token = is_at(x, 1, "NextContinuationToken"), marker = is_at(x, 1, "NextMarker");
    if (is_at(x, 2, "Key") && is_word(x->open[1], "Contents"))
        return add_name(l, text, err);
    if (is_at(x, 1, "IsTruncated"))
        end->truncated = is_word(text, "true");
    if (is_at(x, 1, "EncodingType"))
        return no_list(l, "its names are encoded, which was not asked for", err);
    if ((!token && !marker) || text.len == 0 || (marker && end->has_token))
        return BM_OK;
    end->has_token |= token;
    end->has_marker = marker;
    if (memchr(text.data, '\0', text.len) != NULL)
        return no_list(l, "its token holds a NUL", err);
    l->next.len = 0;
    BM_TRY(bm_buf_add(&l->next, text.data, text.len, err));
    return bm_buf_end(&l->next, err);
}

static bm_status read_xml(listing *l, const bm_buf *page, bm_error *err)
{
    const size_t bom = bm_bom_bytes(page->data, page->len);
    xml x = {.at = page->data + bom, .end = page->data + page->len};
    page_end end = {0};
    bm_status status = BM_OK;
    unsigned roots = 0;
    if (bm_utf8_valid_prefix(page->data, page->len) < page->len)
        return no_list(l, "it is not UTF-8", err);
    for (;;) {
        const xml before = x;
        const xml_event event = next_event(&x, &l->word, &status);
        if (status != BM_OK)
            return bm_fail_nomem(err, l->word.len);
        if (event == XML_END)
            break;
        if (event == XML_BROKEN || (event == XML_OPEN && x.depth == 1 && ++roots > 1))
            return no_list(l, "its XML is broken, or has no end", err);
        if (event == XML_OPEN && x.depth == 1 && !is_word(x.open[0], "ListBucketResult"))
            return no_list(l, "it is no ListBucketResult", err);
        if (event == XML_CLOSE)
            BM_TRY(read_element(l, &before, &end, err));
        l->word.len = 0;
    }
    if (roots == 0)
        return no_list(l, "it is no ListBucketResult", err);
    if (end.truncated && !end.has_token && !end.has_marker)
        return no_list(l, "it is not all there, and it does not say where it goes on", err);
    l->next_is_name = end.has_marker;
    if (!end.truncated && end.has_marker) /* some stores send a marker with the last page too */
        l->next.len = 0;
    return BM_OK;
}

/* --- the JSON of the hub */

/* Read a parameter of a Link header: a name, and perhaps a value, which may be quoted. The
 * semicolon before it was read already. */
static bool read_parameter(bm_str links, size_t *at, bm_str *name, bm_str *value)
{
    const char *blanks = " \t";
    while (*at < links.len && strchr(blanks, links.data[*at]) != NULL)
        ++*at;
    const size_t begin = *at;
    while (*at < links.len && strchr("=;, \t", links.data[*at]) == NULL)
        ++*at;
    *name = (bm_str){links.data + begin, *at - begin};
    *value = (bm_str){links.data, 0};
    while (*at < links.len && strchr(blanks, links.data[*at]) != NULL)
        ++*at;
    if (*at == links.len || links.data[*at] != '=')
        return name->len > 0;
    ++*at;
    while (*at < links.len && strchr(blanks, links.data[*at]) != NULL)
        ++*at;
    const bool quoted = *at < links.len && links.data[*at] == '"';
    *at += quoted;
    value->data += *at;
    while (*at < links.len &&
           (quoted ? links.data[*at] != '"' : strchr(";, \t", links.data[*at]) == NULL))
        *at += 1 + (size_t)(quoted && links.data[*at] == '\\');
    if (quoted && *at >= links.len)
        return false;
    value->len = (size_t)(links.data + *at - value->data);
    *at += quoted;
    return name->len > 0;
}

static bool has_relation(bm_str value, const char *relation)
{
    const size_t n = strlen(relation);
    for (size_t at = 0; at < value.len;) {
        size_t len = 0;
        while (at + len < value.len && value.data[at + len] != ' ')
            len++;
        if (len == n && strncasecmp(value.data + at, relation, n) == 0)
            return true;
        at += len + 1;
    }
    return false;
}

/* Find the target of the next page in Link headers (RFC 8288); data NULL: there is none. False: the
 * headers are broken. */
static bool find_next_link(bm_str links, bm_str *target)
{
    *target = (bm_str){0};
    for (size_t at = 0;;) {
        while (at < links.len && strchr(", \t", links.data[at]) != NULL)
            at++;
        if (at == links.len)
            return true;
        const char *end = memchr(links.data + at, '>', links.len - at);
        if (links.data[at] != '<' || end == NULL)
            return false;
        const bm_str found = {links.data + at + 1, (size_t)(end - links.data) - at - 1};
        bool has_rel = false;
        at = (size_t)(end - links.data) + 1;
        for (;;) {
            bm_str name, value;
            while (at < links.len && strchr(" \t", links.data[at]) != NULL)
                at++;
            if (at == links.len || links.data[at] == ',')
                break;
            if (links.data[at++] != ';')
                return false;
            while (at < links.len && strchr(" \t;", links.data[at]) != NULL)
                at++;
            if (at == links.len || links.data[at] == ',')
                break;
            if (!read_parameter(links, &at, &name, &value))
                return false;
            if (has_rel || name.len != 3 || strncasecmp(name.data, "rel", 3) != 0)
                continue;
            has_rel = true; /* only the first `rel` parameter counts */
            if (target->data == NULL && has_relation(value, "next"))
                *target = found;
        }
    }
}

static bm_status read_json(listing *l, const bm_remote_page *page, bm_error *err)
{
    bm_str file, value, next, text = {page->body.data, page->body.len};
    const char *broken = NULL;
    bm_buf whole = {0};
    bm_status status = BM_OK;
    while (text.len > 0 && bm_json_is_space(text.data[text.len - 1]))
        text.len--;
    while (text.len > 0 && bm_json_is_space(text.data[0]))
        text.data++, text.len--;
    /* the parser accepts only objects, so the answer is wrapped in one */
    BM_TRY_OUT(bm_buf_add_text(&whole, "{\"files\":", err));
    BM_TRY_OUT(bm_buf_add(&whole, text.data, text.len, err));
    BM_TRY_OUT(bm_buf_add_text(&whole, "}", err));
    BM_TRY_OUT(bm_json_exact_run(l->exact, (bm_str){whole.data, whole.len}, NULL, &broken, err));
    if (broken != NULL || !bm_json_scan_find((bm_str){whole.data, whole.len}, "files", &value) ||
        value.data[0] != '[' || value.len != text.len)
        BM_TRY_OUT(no_list(l, "it is no array of JSON", err));
    const bm_str array = value;
    for (size_t at = 0; bm_json_scan_element(array, &at, &file);) {
        if (file.data[0] != '{' || !bm_json_scan_find(file, "type", &value))
            BM_TRY_OUT(no_list(l, "one of its elements has no type", err));
        if (!bm_json_scan_is(value, "\"file\""))
            continue;
        l->word.len = 0;
        if (!bm_json_scan_find(file, "path", &value) || value.data[0] != '"')
            BM_TRY_OUT(no_list(l, "one of its files has no path", err));
        BM_TRY_OUT(bm_json_scan_string(value, &l->word, err));
        BM_TRY_OUT(add_name(l, (bm_str){l->word.data, l->word.len}, err));
    }
    if (!find_next_link((bm_str){page->links.data, page->links.len}, &next))
        BM_TRY_OUT(no_list(l, "its Link header is broken", err));
    if (next.data != NULL) {
        BM_TRY_OUT(bm_buf_add(&l->next, next.data, next.len, err));
        BM_TRY_OUT(bm_buf_end(&l->next, err));
    }
out:
    bm_buf_reset(&whole);
    return status;
}

/* --- the list --- */

/* Detects that the list of pages is endless, because a page leads back to an earlier page. The
 * token that leads from one page to the next is stored, and compared with the tokens of the
 * following pages. After longer and longer intervals, a later token replaces the stored one, so
 * that any circle is found. */
typedef struct circle {
    bm_buf met;
    uint64_t pages, until;
    unsigned empty; /* number of consecutive pages without a name */
} circle;

/* Called after a page was read. Fails if the page leads back to an earlier page, or if EMPTY_MOST
 * pages in a row have no name. `before` is the number of names in the pages before it. */
static bm_status check_circle(circle *c, const listing *l, size_t before, bm_error *err)
{
    const bm_buf *next = &l->next;
    if (next->len > 0 && c->met.len == next->len && memcmp(c->met.data, next->data, next->len) == 0)
        return bm_fail_at(err, BM_ERR_INPUT, l->name, 0,
                          "the server's list of files does not end: it sends one page twice");
    c->empty = l->out->n > before ? 0 : c->empty + 1;
    if (next->len > 0 && c->empty == EMPTY_MOST)
        return bm_fail_at(err, BM_ERR_INPUT, l->name, 0,
                          "the server's list of files does not end: %u pages in a row name no file",
                          EMPTY_MOST);
    if (++c->pages < c->until || next->len == 0)
        return BM_OK;
    c->until = 2 * c->pages;
    c->met.len = 0;
    return bm_buf_add(&c->met, next->data, next->len, err);
}

/* Check that the names take no more than their part of the memory. For a while, each name is in
 * memory twice, and once more in the address of its source. */
static bm_status check_memory(const listing *l, const bm_remote_bounds *bounds, bm_error *err)
{
    bm_remote_names *out = l->out;
    const uint64_t bytes = 3 * (out->bytes + out->n * (strlen(l->name) + NAME_BYTES));
    if (bounds->memory == 0 || bytes <= bounds->memory / NAMES_PART)
        return BM_OK;
    return bm_fail_at(err, BM_ERR_NOMEM, l->name, 0,
                      "the names of its files take %llu MiB and more, which is over 1/%u of "
                      "`memory` (%lluM)",
                      (unsigned long long)(bytes >> 20), NAMES_PART,
                      (unsigned long long)(bounds->memory >> 20));
}

static void show(const listing *l, const bm_callbacks *callbacks)
{
    if (callbacks != NULL && callbacks->progress != NULL)
        callbacks->progress(callbacks->ctx, &(bm_progress){.done = l->out->n});
}

static bm_status list(bm_remotes *remotes, const char *address, listing *l,
                      const bm_remote_bounds *bounds, bm_error *err)
{
    bm_remote_page page = {.body = {.max = PAGE_MOST}};
    const bool hub = strncmp(address, "hf://", 5) == 0;
    bm_buf after = {0}, base = {0};
    circle pages = {0};
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_json_exact_open(NULL, 0, &l->exact, err));
    do {
        const size_t before = l->out->n;
        BM_TRY_OUT(bm_remotes_page(remotes, address, l->name, &page, err));
        BM_TRY_OUT(bm_buf_end(&page.body, err));
        l->next.len = l->word.len = 0;
        BM_TRY_OUT(hub ? read_json(l, &page, err) : read_xml(l, &page.body, err));
        BM_TRY_OUT(check_circle(&pages, l, before, err));
        BM_TRY_OUT(check_memory(l, bounds, err));
        show(l, bounds->callbacks);
        after.len = base.len = 0;
        BM_TRY_OUT(bm_buf_add(&after, l->next.data, l->next.len, err));
        BM_TRY_OUT(bm_buf_end(&after, err));
        BM_TRY_OUT(bm_buf_add(&base, page.url.data, page.url.len, err));
        page.after = after.data;
        page.after_is_name = l->next_is_name;
        page.base = hub ? base.data : NULL;
    } while (l->next.len > 0);
out:
    bm_json_exact_close(l->exact);
    bm_buf_reset(&page.body);
    bm_buf_reset(&page.links);
    bm_buf_reset(&page.url);
    bm_buf_reset(&l->word);
    bm_buf_reset(&l->next);
    bm_buf_reset(&after);
    bm_buf_reset(&base);
    bm_buf_reset(&pages.met);
    return status;
}

bm_status bm_remote_list(bm_remotes *remotes, const char *address, const bm_remote_bounds *bounds,
                         bm_remote_names *out, bm_error *err)
{
    char *name = NULL, *literal = NULL;
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_address_name(address, &name, err));
    if (is_web(address))
        BM_TRY_OUT(
            bm_fail_field_at(err, "paths", name, 0,
                             "a server of http:// or https:// does not say which files it has (the "
                             "address of each file, or `files_from`)"));
    const char *path = path_of(address), *end = address + strcspn(address, "*?"), *root = end;
    while (root > path && root[-1] != '/')
        root--;
    BM_TRY_OUT(bm_string_format(&literal, err, "%.*s%s", (int)(end - address), address,
                                path[-1] == '/' ? "" : "/"));
    BM_TRY_OUT(bm_string_format(&out->root, err, "%.*s%s", (int)(root - address), address,
                                path[-1] == '/' ? "" : "/"));
    listing l = {.name = name, .folder = {path, (size_t)(root - path)}, .out = out};
    BM_TRY_OUT(list(remotes, literal, &l, bounds, err));
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
