/* SPDX-License-Identifier: Apache-2.0 */
/* remote_curl.c -- accesses addresses with libcurl: makes the URL of an address, and requests a
 * part of it.
 *
 *     http(s)://…            unchanged
 *     s3://BUCKET/KEY        the bucket's host, or AWS_ENDPOINT_URL_S3 or AWS_ENDPOINT_URL; signed
 *                            (Signature Version 4, by libcurl) if there is a key
 *     gs://BUCKET/OBJECT     storage.googleapis.com, or STORAGE_EMULATOR_HOST
 *     hf://datasets/OWNER/NAME[@REVISION]/PATH   huggingface.co, or HF_ENDPOINT
 *
 * A page of the names in a bucket or repository can be requested too (remote_list.c).
 *
 * Keys, tokens and endpoints come from environment variables that other programs use too. A
 * transfer needs a handle of libcurl, which keeps its connection for the next transfer. Unused
 * handles are kept in a list.
 *
 * An answer is accepted if its status is 200 with a whole file or page, 206 with the requested part
 * (by its Content-Range), or 416 for an empty file. Redirections are followed here and not by
 * libcurl, because versions of libcurl differ in the headers that they send to the new URL. They
 * may lead only to http:// and https://, and not from https:// to http://. Keys, tokens and
 * passwords are sent only to the scheme, host and port for which they were given. The same rules
 * apply to the URL of the next page of a list.
 *
 * Tests: tests/cli/cases/addresses.sh, tests/cli/cases/addresses_answers.sh,
 * tests/cli/cases/addresses_signed.sh, tests/cli/cases/addresses_tls.sh */
#include "remote/remote_provider.h"

#if defined(BM_SONAME_CURL)

#define CURL_DISABLE_TYPECHECK /* libcurl's type checks do not work with a table of functions */
#include <curl/curl.h>
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/system.h"

#define CONNECT_SECONDS 10L
/* bytes per second; a server that is slower for SLOW_SECONDS counts as stopped */
#define SLOW_BYTES   1024L
#define SLOW_SECONDS 30L
#define HOPS         10u
#define HEAD_MOST    ((size_t)256 << 10) /* the most bytes of an answer's header lines */
#define NUMBER_MOST  ((uint64_t)INT64_MAX)
#define TOO_LARGE    ((CURLcode)100) /* CURLE_TOO_LARGE, since libcurl 8.6 */
#define IDLE_MAX     64u             /* the most unused handles that are kept */

#define FUNCTIONS(X)                                                                               \
    X(curl_global_init)                                                                            \
    X(curl_global_cleanup)                                                                         \
    X(curl_easy_init)                                                                              \
    X(curl_easy_cleanup)                                                                           \
    X(curl_easy_reset)                                                                             \
    X(curl_easy_setopt)                                                                            \
    X(curl_easy_perform)                                                                           \
    X(curl_easy_getinfo)                                                                           \
    X(curl_easy_strerror)                                                                          \
    X(curl_slist_append)                                                                           \
    X(curl_slist_free_all)                                                                         \
    X(curl_url)                                                                                    \
    X(curl_url_cleanup)                                                                            \
    X(curl_url_set)                                                                                \
    X(curl_url_get)                                                                                \
    X(curl_free)
typedef struct calls {
    FUNCTIONS(BM_LIBRARY_MEMBER)
} calls;
static const char *const names[] = {FUNCTIONS(BM_LIBRARY_NAME) NULL};

typedef struct connections {
    calls curl;
    pthread_mutex_t lock;
    CURL *idle[IDLE_MAX];
    size_t n_idle;
} connections;

/* --- the URL and the credentials of an address --- */

typedef struct target {
    bm_buf url;   /* NUL-terminated */
    char *origin; /* SCHEME://HOST:PORT of the URL */
    /* the credentials, for this origin only: */
    char *sigv4; /* libcurl's parameter for signing; NULL: not signed */
    const char *user, *password;
    struct curl_slist *headers;
    char *own[2]; /* user and password, if they are a part of the address */
} target;

static const char *given(const char *value)
{
    return value != NULL && value[0] != '\0' ? value : NULL;
}

/* Append a path, percent-encoded. `slashes`: encode the slashes too. */
static bm_status add_encoded(bm_buf *url, const char *path, size_t len, bool slashes)
{
    static const char plain[] =
        "/-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    for (size_t i = 0; i < len; i++)
        BM_TRY(path[i] != '\0' && strchr(plain + slashes, path[i]) != NULL
                   ? bm_buf_add(url, &path[i], 1, NULL)
                   : bm_buf_add_format(url, NULL, "%%%02X", (unsigned char)path[i]));
    return BM_OK;
}

static bm_status add_path(bm_buf *url, const char *path, size_t len)
{
    return add_encoded(url, path, len, false);
}

static bm_status add_header(const calls *curl, target *t, const char *format, const char *value)
{
    char *line = NULL;
    BM_TRY(bm_string_format(&line, NULL, "%s%s", format, value));
    struct curl_slist *longer = curl->curl_slist_append(t->headers, line);
    bm_free(line);
    if (longer == NULL)
        return BM_ERR_NOMEM;
    t->headers = longer;
    return BM_OK;
}

static bm_status find_s3(const calls *curl, target *t, const char *bucket, size_t len)
{
    const char *endpoint = given(getenv("AWS_ENDPOINT_URL_S3")),
               *region = given(getenv("AWS_REGION")), *token = given(getenv("AWS_SESSION_TOKEN"));
    if (endpoint == NULL)
        endpoint = given(getenv("AWS_ENDPOINT_URL"));
    if (region == NULL)
        region = given(getenv("AWS_DEFAULT_REGION"));
    if (region == NULL)
        region = "us-east-1";
    t->user = given(getenv("AWS_ACCESS_KEY_ID"));
    t->password = given(getenv("AWS_SECRET_ACCESS_KEY"));
    if (t->user != NULL && t->password != NULL) {
        BM_TRY(bm_string_format(&t->sigv4, NULL, "aws:amz:%s:s3", region));
        BM_TRY(add_header(curl, t, "x-amz-content-sha256: ", "UNSIGNED-PAYLOAD"));
        if (token != NULL)
            BM_TRY(add_header(curl, t, "x-amz-security-token: ", token));
    }
    /* the certificate of *.s3... is valid only for bucket names without a dot */
    if (endpoint != NULL)
        BM_TRY(bm_buf_add_format(&t->url, NULL, "%s/%.*s", endpoint, (int)len, bucket));
    else if (memchr(bucket, '.', len) != NULL)
        BM_TRY(bm_buf_add_format(&t->url, NULL, "https://s3.%s.amazonaws.com/%.*s", region,
                                 (int)len, bucket));
    else
        BM_TRY(bm_buf_add_format(&t->url, NULL, "https://%.*s.s3.%s.amazonaws.com", (int)len,
                                 bucket, region));
    return BM_OK;
}

static bm_status find_gs(const calls *curl, target *t, const char *bucket, size_t len)
{
    const char *host = given(getenv("STORAGE_EMULATOR_HOST")),
               *token = given(getenv("CLOUDSDK_AUTH_ACCESS_TOKEN"));
    if (token != NULL)
        BM_TRY(add_header(curl, t, "Authorization: Bearer ", token));
    return bm_buf_add_format(
        &t->url, NULL, "%s%s/%.*s", host != NULL && strstr(host, "://") == NULL ? "http://" : "",
        host != NULL ? host : "https://storage.googleapis.com", (int)len, bucket);
}

/* Make the URL at a Hugging Face hub. `kind` is "datasets/" or, for models, "". `path` is the rest
 * of the address. */
static bm_status find_hf(const calls *curl, target *t, const bm_remote_page *page, const char *kind,
                         const char *path)
{
    const char *host = given(getenv("HF_ENDPOINT")), *token = given(getenv("HF_TOKEN"));
    const char *end = path + strcspn(path, "?"), *slash = memchr(path, '/', (size_t)(end - path));
    const char *rest = slash != NULL ? slash + 1 + strcspn(slash + 1, "/?") : end;
    if (slash == NULL || (page == NULL && *rest != '/'))
        return BM_ERR_USAGE;
    /* for a prefix of names, list the folder that contains them */
    while (page != NULL && end > rest && *end != '/')
        end--;
    const char *at = memchr(path, '@', (size_t)(rest - path));
    if (token != NULL)
        BM_TRY(add_header(curl, t, "Authorization: Bearer ", token));
    BM_TRY(bm_buf_add_format(&t->url, NULL, "%s/%s%s",
                             host != NULL ? host : "https://huggingface.co",
                             page == NULL      ? ""
                             : kind[0] == '\0' ? "api/models/"
                                               : "api/",
                             kind));
    BM_TRY(add_path(&t->url, path, (size_t)((at != NULL ? at : rest) - path)));
    BM_TRY(bm_buf_add_text(&t->url, page != NULL ? "/tree/" : "/resolve/", NULL));
    BM_TRY(at != NULL ? add_path(&t->url, at + 1, (size_t)(rest - at - 1))
                      : bm_buf_add_text(&t->url, "main", NULL));
    BM_TRY(add_path(&t->url, rest, (size_t)(end - rest)));
    return page != NULL ? bm_buf_add_text(&t->url, "?recursive=true", NULL) : BM_OK;
}

/* Add the query for a page of a bucket's contents. Older versions of libcurl sign the query as it
 * is given, so here it has to be sorted and encoded. */
static bm_status add_list(bm_buf *url, const bm_remote_page *page, const char *prefix)
{
    const bool token = page->after != NULL && !page->after_is_name;
    BM_TRY(bm_buf_add_text(url, token ? "/?continuation-token=" : "/?list-type=2", NULL));
    if (page->after_is_name)
        BM_TRY(bm_buf_add_text(url, "&marker=", NULL));
    if (page->after != NULL)
        BM_TRY(add_encoded(url, page->after, strlen(page->after), true));
    BM_TRY(bm_buf_add_text(url, token ? "&list-type=2&prefix=" : "&prefix=", NULL));
    return add_encoded(url, prefix, strlen(prefix), true);
}

/* Make the URL of the address. BM_ERR_USAGE: the kind of the address is unknown; BM_ERR_NOMEM. */
static bm_status find_target(const calls *curl, const bm_remote_request *request, target *t)
{
    const char *address = request->address, *path = strstr(address, "://") + 3,
               *query = strchr(path, '?');
    const size_t n = strcspn(path, "/?");
    bm_status status = BM_ERR_USAGE;
    if (strncasecmp(address, "http://", 7) == 0 || strncasecmp(address, "https://", 8) == 0)
        return bm_buf_add(&t->url, address, strcspn(address, "#"), NULL) == BM_OK
                   ? bm_buf_end(&t->url, NULL)
                   : BM_ERR_NOMEM;
    if (strncmp(address, "hf://datasets/", 14) == 0)
        status = find_hf(curl, t, request->page, "datasets/", path + n + 1);
    else if (strncmp(address, "hf://", 5) == 0)
        status = find_hf(curl, t, request->page, "", path);
    else if (path[n] == '/' && strncmp(address, "s3://", 5) == 0)
        status = find_s3(curl, t, path, n);
    else if (path[n] == '/' && strncmp(address, "gs://", 5) == 0)
        status = find_gs(curl, t, path, n);
    BM_TRY(status);
    if (address[0] != 'h')
        BM_TRY(request->page != NULL ? add_list(&t->url, request->page, path + n + 1)
                                     : add_path(&t->url, path + n, strcspn(path + n, "?")));
    if (query != NULL && request->page == NULL)
        BM_TRY(bm_buf_add_text(&t->url, query, NULL));
    return bm_buf_end(&t->url, NULL);
}

/* --- following references --- */

#if !defined(CURLU_ALLOW_SPACE)
#define CURLU_ALLOW_SPACE 0 /* since libcurl 7.78 */
#endif

static char *part_of(const calls *curl, CURLU *url, CURLUPart which, unsigned flags)
{
    char *text = NULL;
    return curl->curl_url_get(url, which, &text, flags) == CURLUE_OK ? text : NULL;
}

/* Follow `reference`, which is relative to the URL of `t` (at first `t` has no URL). Set the URL
 * and its origin. User and password in the first address are moved to `t`. Credentials for another
 * origin are dropped. BM_ERR_USAGE: the reference is refused, and `words` receives the reason. */
static bm_status go_to(const calls *curl, target *t, const char *reference, char *words, size_t cap)
{
    const bool first = t->origin == NULL;
    CURLU *url = curl->curl_url();
    char *text = NULL, *scheme = NULL, *host = NULL, *port = NULL, *origin = NULL;
    bm_status status = BM_OK;
    if (url == NULL)
        return BM_ERR_NOMEM;
    const unsigned flags = CURLU_NON_SUPPORT_SCHEME | CURLU_URLENCODE | CURLU_ALLOW_SPACE |
                           (first ? CURLU_GUESS_SCHEME : 0u);
    if ((!first && curl->curl_url_set(url, CURLUPART_URL, t->url.data, 0) != CURLUE_OK) ||
        curl->curl_url_set(url, CURLUPART_URL, reference, flags) != CURLUE_OK) {
        snprintf(words, cap, "%s", first ? "it is no URL" : "the server leads to what is no URL");
        BM_TRY_OUT(BM_ERR_USAGE);
    }
    scheme = part_of(curl, url, CURLUPART_SCHEME, 0);
    if (scheme == NULL || (strcmp(scheme, "http") != 0 && strcmp(scheme, "https") != 0)) {
        snprintf(words, cap, "%s %.20s:// (only http:// and https:// are read)",
                 first ? "its place is given as" : "the server leads to",
                 scheme != NULL ? scheme : "");
        BM_TRY_OUT(BM_ERR_USAGE);
    }
    if (!first && scheme[4] == '\0' && strncmp(t->origin, "https:", 6) == 0) {
        snprintf(words, cap, "the server leads from https:// to http://, which anybody can change");
        BM_TRY_OUT(BM_ERR_USAGE);
    }
    if (first && (t->own[0] = part_of(curl, url, CURLUPART_USER, CURLU_URLDECODE)) != NULL) {
        t->own[1] = part_of(curl, url, CURLUPART_PASSWORD, CURLU_URLDECODE);
        t->user = t->own[0];
        t->password = t->own[1] != NULL ? t->own[1] : "";
        (void)curl->curl_url_set(url, CURLUPART_USER, NULL, 0);
        (void)curl->curl_url_set(url, CURLUPART_PASSWORD, NULL, 0);
    }
    host = part_of(curl, url, CURLUPART_HOST, 0);
    port = part_of(curl, url, CURLUPART_PORT, CURLU_DEFAULT_PORT);
    text = part_of(curl, url, CURLUPART_URL, 0);
    BM_TRY_OUT(host != NULL && port != NULL && text != NULL ? BM_OK : BM_ERR_NOMEM);
    BM_TRY_OUT(bm_string_format(&origin, NULL, "%s://%s:%s", scheme, host, port));
    t->url.len = 0;
    BM_TRY_OUT(bm_buf_add_text(&t->url, text, NULL));
    BM_TRY_OUT(bm_buf_end(&t->url, NULL));
    if (!first && strcasecmp(origin, t->origin) != 0) {
        curl->curl_slist_free_all(t->headers);
        bm_free(t->sigv4);
        t->headers = NULL;
        t->sigv4 = NULL;
        t->user = t->password = NULL;
    }
    bm_free(t->origin);
    t->origin = origin;
out:
    curl->curl_free(text);
    curl->curl_free(scheme);
    curl->curl_free(host);
    curl->curl_free(port);
    curl->curl_url_cleanup(url);
    return status;
}

static void free_target(const calls *curl, target *t)
{
    curl->curl_slist_free_all(t->headers);
    curl->curl_free(t->own[0]);
    curl->curl_free(t->own[1]);
    bm_free_all(t->sigv4, t->origin);
    bm_buf_reset(&t->url);
}

/* --- one transfer --- */

/* The header lines of an answer. An interim answer (1xx) is replaced by the answer after it. */
typedef struct answer_head {
    long code; /* HTTP status; 0: no answer yet */
    bool ended;
    size_t bytes;
    /* has_range: there is a Content-Range; has_part: it states a part of the file, and not only the
     * size */
    bool has_range, has_part;
    uint64_t from, to; /* from: first byte of the part; to: the byte after its last */
    uint64_t total;    /* size of the file, or BM_REMOTE_SIZE_UNKNOWN */
    uint64_t length;   /* Content-Length, or BM_REMOTE_SIZE_UNKNOWN */
    bm_buf location;   /* NUL-terminated, or empty */
    const char *fault; /* the error in a header line; NULL: none */
} answer_head;

typedef struct transfer {
    const bm_remote_request *request;
    bm_remote_told *told;
    bool ranged;   /* a part of the file was requested */
    bool led_away; /* the answer was redirected to another origin than that of the credentials */
    answer_head head;
    const char *fault; /* why the answer does not fit the request; NULL: it fits so far */
    bool enough;       /* the server sends more bytes than were requested */
    bool no_memory;
    int failed; /* errno of a failed write to `fd` */
} transfer;

/* Get the value of a header line, without blanks around it. False: the line has another name. */
static bool value_of(bm_str line, const char *name, bm_str *value)
{
    const size_t n = strlen(name);
    if (line.len <= n || strncasecmp(line.data, name, n) != 0 || line.data[n] != ':')
        return false;
    *value = (bm_str){line.data + n + 1, line.len - n - 1};
    while (value->len > 0 && (value->data[0] == ' ' || value->data[0] == '\t'))
        value->data++, value->len--;
    while (value->len > 0 && strchr(" \t", value->data[value->len - 1]) != NULL)
        value->len--;
    return true;
}

/* Read a number at *at, and advance *at past its digits. False: there is no digit, or the number
 * exceeds NUMBER_MOST. */
static bool read_number(bm_str text, size_t *at, uint64_t *out)
{
    const size_t begin = *at;
    uint64_t value = 0;
    for (; *at < text.len && text.data[*at] >= '0' && text.data[*at] <= '9'; ++*at) {
        const uint64_t digit = (uint64_t)(text.data[*at] - '0');
        if (value > (NUMBER_MOST - digit) / 10)
            return false;
        value = value * 10 + digit;
    }
    *out = value;
    return *at > begin;
}

static bool passes(bm_str text, size_t *at, char byte)
{
    const bool is_there = *at < text.len && text.data[*at] == byte;
    *at += is_there;
    return is_there;
}

/* Read "bytes FIRST-LAST/SIZE" or "bytes ANY/SIZE". ANY is an asterisk; in the first form, SIZE may
 * be an asterisk too. False: the value has another form, or is a second Content-Range. */
static bool read_range(bm_str value, answer_head *h)
{
    size_t at = 5;
    uint64_t last = 0;
    if (h->has_range || value.len < 6 || strncasecmp(value.data, "bytes", 5) != 0 ||
        !passes(value, &at, ' '))
        return false;
    h->has_range = true;
    h->has_part = !passes(value, &at, '*');
    if (h->has_part && (!read_number(value, &at, &h->from) || !passes(value, &at, '-') ||
                        !read_number(value, &at, &last) || last < h->from))
        return false;
    h->to = last + 1;
    if (!passes(value, &at, '/') ||
        (!(h->has_part && passes(value, &at, '*')) && !read_number(value, &at, &h->total)))
        return false;
    return at == value.len && (!h->has_part || h->total >= h->to);
}

static uint64_t hash_of(bm_str text)
{
    uint64_t hash = 0xCBF29CE484222325u; /* FNV-1a */
    for (size_t i = 0; i < text.len; i++)
        hash = (hash ^ (unsigned char)text.data[i]) * 0x100000001B3u;
    return hash | 1; /* 0 means that the header was not sent */
}

/* Returns why this answer does not fit the request; NULL: it fits. */
static const char *find_fault(const transfer *t)
{
    const answer_head *h = &t->head;
    const bm_remote_request *request = t->request;
    if (h->fault != NULL)
        return h->fault;
    if (h->code == 200)
        return request->at > 0 ? ": the whole file, where a part of it was asked for" : NULL;
    if (h->code != 206)
        return h->code == 203 ? ": a proxy on the way has changed the file"
               : t->ranged    ? " (200 or 206 was expected)"
                              : " (200 was expected)";
    if (!t->ranged)
        return ": a part, where all of it was asked for";
    if (!h->has_range)
        return " without a Content-Range";
    if (!h->has_part || h->from != request->at)
        return ": another part than was asked for";
    if (h->total == BM_REMOTE_SIZE_UNKNOWN)
        return " without the size of the file (Content-Range: bytes FIRST-LAST/SIZE)";
    const uint64_t left = h->total - h->from, len = left < request->len ? left : request->len;
    if (h->to - h->from != len)
        return h->to - h->from < len ? ": less than was asked for" : ": more than was asked for";
    if (h->length != BM_REMOTE_SIZE_UNKNOWN && h->length != len)
        return ": its Content-Length is not the length of its Content-Range";
    return NULL;
}

static bool is_file_or_page(const answer_head *h)
{
    return h->code >= 200 && h->code < 300;
}

static bm_status read_line(transfer *t, bm_str line)
{
    answer_head *h = &t->head;
    bm_remote_told *told = t->told;
    bm_remote_page *page = t->request->page;
    bm_str value;
    size_t at = 0;
    if (value_of(line, "content-range", &value)) {
        if (!read_range(value, h))
            h->fault = " with a Content-Range that cannot be read (bytes FIRST-LAST/SIZE)";
    } else if (value_of(line, "content-length", &value)) {
        const uint64_t before = h->length;
        if (!read_number(value, &at, &h->length) || at < value.len ||
            (before != BM_REMOTE_SIZE_UNKNOWN && before != h->length))
            h->fault = " with a Content-Length that cannot be read";
    } else if (value_of(line, "location", &value)) {
        h->location.len = 0;
        BM_TRY(bm_buf_add(&h->location, value.data, value.len, NULL));
        return bm_buf_end(&h->location, NULL);
    } else if (page != NULL && value_of(line, "link", &value)) {
        BM_TRY(bm_buf_add(&page->links, value.data, value.len, NULL));
        return bm_buf_add(&page->links, ",", 1, NULL);
    } else if (value_of(line, "etag", &value) && value.len > 0) {
        told->etag_is_weak = value.len > 2 && memcmp(value.data, "W/", 2) == 0;
        told->etag = hash_of((bm_str){value.data + 2 * told->etag_is_weak,
                                      value.len - 2 * (size_t)told->etag_is_weak});
    } else if (value_of(line, "last-modified", &value) && value.len > 0) {
        told->date = hash_of(value);
    }
    return BM_OK;
}

static void begin_head(transfer *t, bm_str line)
{
    const size_t blank = (size_t)((const char *)memchr(line.data, ' ', line.len) - line.data);
    const bm_buf location = {.data = t->head.location.data, .cap = t->head.location.cap};
    size_t at = blank + 1;
    uint64_t code = 0;
    if (!read_number(line, &at, &code) || code > 999)
        code = 0;
    t->head = (answer_head){.code = (long)code,
                            .bytes = t->head.bytes,
                            .total = BM_REMOTE_SIZE_UNKNOWN,
                            .length = BM_REMOTE_SIZE_UNKNOWN,
                            .location = location};
    t->told->etag = t->told->date = 0;
    t->told->etag_is_weak = false;
    if (t->request->page != NULL)
        t->request->page->links.len = 0;
}

/* Read a header line of an answer. Lines after the body (trailers) are ignored. Returns 0, which
 * ends the transfer, if the answer does not fit the request. */
static size_t read_header(char *data, size_t one, size_t len, void *ctx)
{
    transfer *t = ctx;
    answer_head *h = &t->head;
    bm_str line = {data, len};
    (void)one;
    if (h->ended && h->code >= 200)
        return len;
    h->bytes += len;
    if (h->bytes > HEAD_MOST) {
        t->fault = "the head of the server's answer does not end";
        return 0;
    }
    while (line.len > 0 && strchr("\r\n", line.data[line.len - 1]) != NULL)
        line.len--;
    h->ended = line.len == 0;
    if (line.len > 5 && memcmp(line.data, "HTTP/", 5) == 0 && memchr(line.data, ' ', line.len))
        begin_head(t, line);
    else if (line.len > 0)
        t->no_memory = read_line(t, line) != BM_OK;
    else if (is_file_or_page(h))
        t->fault = find_fault(t);
    return t->no_memory || t->fault != NULL ? 0 : len;
}

static size_t write_copy(transfer *t, const char *data, size_t len)
{
    bm_remote_page *page = t->request->page;
    if (page != NULL && page->body.max > 0 && len >= page->body.max - page->body.len) {
        t->fault = "a page of the server's list is too long";
        return 0;
    }
    if (page != NULL) {
        t->no_memory = bm_buf_add(&page->body, data, len, NULL) != BM_OK;
        return t->no_memory ? 0 : len;
    }
    for (size_t done = 0; done < len;) {
        const ssize_t n = write(t->request->fd, data + done, len - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            t->failed = errno;
            return 0;
        }
        done += (size_t)n;
    }
    return len;
}

/* Receive bytes of an answer. The body of a refusal or a redirection is dropped. If the server
 * sends more bytes than fit, the transfer ends. */
static size_t read_body(char *data, size_t one, size_t len, void *ctx)
{
    transfer *t = ctx;
    bm_remote_told *told = t->told;
    const bm_remote_request *request = t->request;
    (void)one;
    if (!is_file_or_page(&t->head))
        return len;
    if (request->out == NULL)
        return write_copy(t, data, len);
    const bool part = t->head.code == 206;
    const size_t most = part ? (size_t)(t->head.to - t->head.from) : request->len,
                 space = most - told->got, n = len < space ? len : space;
    memcpy(request->out + told->got, data, n);
    told->got += n;
    t->enough = !part && n < len;
    if (part && n < len)
        t->fault = ": it sends more than its Content-Range says";
    return n < len ? 0 : len;
}

static int ask_to_stop(void *ctx, curl_off_t all, curl_off_t now, curl_off_t up, curl_off_t sent)
{
    const bm_callbacks *callbacks = ctx;
    (void)all, (void)now, (void)up, (void)sent;
    return callbacks != NULL && callbacks->cancelled != NULL &&
           callbacks->cancelled(callbacks->ctx);
}

static const char *meaning_of(long code)
{
    return code == 301 || code == 302 || code == 307 || code == 308
               ? ": it leads elsewhere, and does not say where"
           : code == 401 || code == 403 ? ": not allowed"
           : code == 404 || code == 410 ? ": not found"
           : code == 429                ? ": too many questions"
           : code == 400                ? ": a wrong question"
           : code >= 500                ? ": it has failed"
                                        : "";
}

static bm_remote_answer refuse(bm_remote_told *told, const char *words)
{
    snprintf(told->words, sizeof told->words, "%s", words);
    return BM_REMOTE_REFUSED;
}

static bm_remote_answer refuse_code(const transfer *t)
{
    const long code = t->head.code;
    const bool can_pass = code == 408 || code == 429 || code >= 500,
               web = strncasecmp(t->request->address, "http", 4) == 0;
    snprintf(
        t->told->words, sizeof t->told->words, "the server answers %ld%s%s", code, meaning_of(code),
        code == 404 && t->request->page == NULL && !web ? " (the address of a folder ends with /)"
        : (code == 401 || code == 403) && t->led_away
            ? " (by another server, to which the first one led: it gets no key and no token)"
            : "");
    return can_pass ? BM_REMOTE_FAILED : BM_REMOTE_REFUSED;
}

/* Did the transfer fail because a header line exceeds libcurl's limit? Some versions of libcurl
 * then report a lack of memory. */
static bool is_endless_line(const connections *c, CURL *handle, const transfer *t)
{
    double first_byte = 0;
    void *some = bm_alloc(HEAD_MOST, 1);
    const bool has_memory = some != NULL;
    bm_free(some);
    return has_memory && !t->head.ended && !t->no_memory &&
           c->curl.curl_easy_getinfo(handle, CURLINFO_STARTTRANSFER_TIME, &first_byte) ==
               CURLE_OK &&
           first_byte > 0;
}

/* Decide the result of a transfer. */
static bm_remote_answer judge(const connections *c, CURL *handle, transfer *t, CURLcode result)
{
    bm_remote_told *told = t->told;
    const bm_remote_request *request = t->request;
    const answer_head *h = &t->head;
    const char *words = c->curl.curl_easy_strerror(result);
    if (result == CURLE_ABORTED_BY_CALLBACK)
        return BM_REMOTE_STOPPED;
    if (result == TOO_LARGE || (result == CURLE_OUT_OF_MEMORY && is_endless_line(c, handle, t)))
        return refuse(told, "a header line of the server's answer does not end");
    if (result == CURLE_OUT_OF_MEMORY || t->no_memory)
        return BM_REMOTE_NO_MEMORY;
    if (t->failed != 0) {
        snprintf(told->words, sizeof told->words, "its copy cannot be written: %.200s",
                 strerror(t->failed));
        return BM_REMOTE_REFUSED;
    }
    if (t->fault != NULL && (t->fault[0] == ':' || t->fault[0] == ' ')) {
        snprintf(told->words, sizeof told->words, "the server answers %ld%s", h->code, t->fault);
        return BM_REMOTE_REFUSED;
    }
    if (t->fault != NULL)
        return refuse(told, t->fault);
    if (h->code == 416 && t->ranged && h->has_range && !h->has_part && h->fault == NULL &&
        h->total <= request->at) { /* the file is empty, or ends before this part */
        told->size = h->total;
        return BM_REMOTE_DONE;
    }
    if (h->code >= 300 || (h->code > 0 && h->code < 200))
        return refuse_code(t);
    told->whole = h->code == 200;
    told->size = told->whole ? h->length : h->total;
    if (result == CURLE_OK || t->enough) {
        if (h->code == 0)
            return refuse(told, "the server's answer is none of HTTP");
        if (told->whole || told->got == h->to - h->from)
            return BM_REMOTE_DONE;
        words = "it broke off";
    }
    snprintf(told->words, sizeof told->words, "%.200s", words);
    if (h->ended && is_file_or_page(h))
        return BM_REMOTE_BROKEN;
    return result == CURLE_PEER_FAILED_VERIFICATION || result == CURLE_URL_MALFORMAT ||
                   result == CURLE_UNSUPPORTED_PROTOCOL || result == CURLE_NOT_BUILT_IN ||
                   result == CURLE_UNKNOWN_OPTION || result == CURLE_SSL_CACERT_BADFILE
               ? BM_REMOTE_REFUSED
               : BM_REMOTE_FAILED;
}

static CURLcode set_up(const calls *curl, CURL *handle, const target *from, transfer *t)
{
    const bm_remote_request *request = t->request;
    const char *bundle = given(getenv("CURL_CA_BUNDLE")),
               *roots = bundle != NULL ? bundle : given(getenv("SSL_CERT_FILE"));
    char range[48];
    CURLcode r = curl->curl_easy_setopt(handle, CURLOPT_URL, from->url.data);
#define SET(option, value)                                                                         \
    if (r == CURLE_OK)                                                                             \
    r = curl->curl_easy_setopt(handle, option, value)
    SET(CURLOPT_NOSIGNAL, 1L);
    SET(CURLOPT_NOPROGRESS, 0L);
    SET(CURLOPT_XFERINFOFUNCTION, ask_to_stop);
    SET(CURLOPT_XFERINFODATA, (void *)(uintptr_t)request->callbacks);
    SET(CURLOPT_FOLLOWLOCATION, 0L);
    /* header lines of a proxy are not those of the server */
    SET(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    SET(CURLOPT_CONNECTTIMEOUT, CONNECT_SECONDS);
    SET(CURLOPT_LOW_SPEED_LIMIT, SLOW_BYTES);
    SET(CURLOPT_LOW_SPEED_TIME, SLOW_SECONDS);
    SET(CURLOPT_USERAGENT, "bandmill");
    SET(CURLOPT_HEADERFUNCTION, read_header);
    SET(CURLOPT_HEADERDATA, t);
    SET(CURLOPT_WRITEFUNCTION, read_body);
    SET(CURLOPT_WRITEDATA, t);
    if (roots != NULL)
        SET(CURLOPT_CAINFO, roots);
    if (from->headers != NULL)
        SET(CURLOPT_HTTPHEADER, from->headers);
    if (from->sigv4 != NULL)
        SET(CURLOPT_AWS_SIGV4, from->sigv4);
    if (from->user != NULL) {
        SET(CURLOPT_USERNAME, from->user);
        SET(CURLOPT_PASSWORD, from->password);
    }
    if (t->ranged) {
        snprintf(range, sizeof range, "%" PRIu64 "-%" PRIu64, request->at,
                 request->at + request->len - 1);
        SET(CURLOPT_RANGE, range);
    }
#undef SET
    return r;
}

static CURL *acquire(connections *c)
{
    CURL *handle = NULL;
    pthread_mutex_lock(&c->lock);
    if (c->n_idle > 0)
        handle = c->idle[--c->n_idle];
    pthread_mutex_unlock(&c->lock);
    return handle != NULL ? handle : c->curl.curl_easy_init();
}

static void release(connections *c, CURL *handle)
{
    c->curl.curl_easy_reset(handle);
    pthread_mutex_lock(&c->lock);
    const bool kept = c->n_idle < IDLE_MAX;
    if (kept)
        c->idle[c->n_idle++] = handle;
    pthread_mutex_unlock(&c->lock);
    if (!kept)
        c->curl.curl_easy_cleanup(handle);
}

/* Reset the transfer before a request, and empty the page or the file that receives the answer. */
static void begin_answer(transfer *t, bool ranged)
{
    const bm_remote_request *request = t->request;
    bm_buf_reset(&t->head.location);
    *t = (transfer){.request = request, .told = t->told, .ranged = ranged};
    *t->told = (bm_remote_told){.size = BM_REMOTE_SIZE_UNKNOWN};
    if (request->page != NULL)
        request->page->body.len = request->page->links.len = 0;
    else if (request->out == NULL &&
             (ftruncate(request->fd, 0) != 0 || lseek(request->fd, 0, SEEK_SET) != 0))
        t->failed = errno;
}

static bool is_redirection(const answer_head *h)
{
    return h->location.len > 0 &&
           (h->code == 301 || h->code == 302 || h->code == 303 || h->code == 307 || h->code == 308);
}

/* Send the request, and follow at most HOPS redirections. */
static bm_remote_answer send_request(connections *c, CURL *handle, target *at, transfer *t)
{
    char words[sizeof t->told->words];
    bool ranged = t->request->out != NULL;
    const bool has_rights = at->user != NULL || at->headers != NULL;
    for (unsigned hops = 0;; hops++) {
        begin_answer(t, ranged);
        t->led_away = has_rights && at->user == NULL && at->headers == NULL;
        c->curl.curl_easy_reset(handle);
        CURLcode result = set_up(&c->curl, handle, at, t);
        if (result == CURLE_OK && t->failed == 0)
            result = c->curl.curl_easy_perform(handle);
        /* For an empty file, some stores answer that the requested part does not exist, without the
         * size of the file. */
        if (t->head.code == 416 && ranged && t->request->at == 0 && !t->head.has_range) {
            ranged = false;
            continue;
        }
        if (t->fault != NULL || t->no_memory || !is_redirection(&t->head))
            return judge(c, handle, t, result);
        if (hops == HOPS)
            return refuse(t->told, "the server leads from one place to another, without an end");
        const bm_status status = go_to(&c->curl, at, t->head.location.data, words, sizeof words);
        if (status != BM_OK)
            return status == BM_ERR_NOMEM ? BM_REMOTE_NO_MEMORY : refuse(t->told, words);
    }
}

/* Find the first URL of the request. For a page after the first page, this is the URL of that
 * page. */
static bm_status find_first(const calls *curl, const bm_remote_request *request, target *at,
                            char *words, size_t cap)
{
    const bm_remote_page *page = request->page;
    bm_status status = find_target(curl, request, at);
    char *first = NULL;
    if (status == BM_ERR_USAGE)
        snprintf(words, cap,
                 "no such address (https://…, http://…, s3://BUCKET/KEY, gs://BUCKET/OBJECT, "
                 "hf://datasets/OWNER/NAME/PATH)");
    BM_TRY(status);
    BM_TRY(bm_copy_text(at->url.data, &first, NULL));
    status = go_to(curl, at, first, words, cap);
    bm_free(first);
    BM_TRY(status);
    if (page == NULL || page->base == NULL)
        return BM_OK;
    BM_TRY(go_to(curl, at, page->base, words, cap));
    return go_to(curl, at, page->after, words, cap);
}

static bm_remote_answer get(void *ctx, const bm_remote_request *request, bm_remote_told *told)
{
    connections *c = ctx;
    target at = {0};
    transfer t = {.request = request, .told = told};
    bm_remote_answer answer = BM_REMOTE_NO_MEMORY;
    char words[sizeof told->words] = "";
    const bm_status found = find_first(&c->curl, request, &at, words, sizeof words);
    CURL *handle = found == BM_OK ? acquire(c) : NULL;
    if (handle != NULL) {
        answer = send_request(c, handle, &at, &t);
        release(c, handle);
    } else if (found == BM_ERR_USAGE) {
        answer = refuse(told, words);
    }
    if (request->page != NULL && answer == BM_REMOTE_DONE) {
        request->page->url.len = 0;
        if (bm_buf_add(&request->page->url, at.url.data, at.url.len + 1, NULL) != BM_OK)
            answer = BM_REMOTE_NO_MEMORY;
    }
    bm_buf_reset(&t.head.location);
    free_target(&c->curl, &at);
    return answer;
}

/* --- the provider --- */

static void end(void *ctx)
{
    connections *c = ctx;
    while (c->n_idle > 0)
        c->curl.curl_easy_cleanup(c->idle[--c->n_idle]);
    c->curl.curl_global_cleanup();
    pthread_mutex_destroy(&c->lock);
    bm_free(c);
}

static bm_status begin(void **out, bm_error *err)
{
    connections *c = NULL;
    BM_TRY(bm_new_zero(&c, 1, err));
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_shared_library_open(BM_SONAME_CURL, names, &c->curl, err));
    if (c->curl.curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        BM_TRY_OUT(bm_fail(err, BM_ERR_IO, "libcurl cannot be used"));
    pthread_mutex_init(&c->lock, NULL);
    *out = c;
    return BM_OK;
out:
    bm_free(c);
    return status;
}

const bm_remote_provider *bm_remote_provider_find(const char **why)
{
    static const bm_remote_provider by_curl = {begin, end, get};
    calls curl;
    bm_library_lack lack;
    if (bm_shared_library_find(BM_SONAME_CURL, names, &curl, &lack))
        return &by_curl;
    *why = lack.library != NULL ? lack.library : "it is too old";
    return NULL;
}

#else /* libcurl was not found when this was built */

const bm_remote_provider *bm_remote_provider_find(const char **why)
{
    *why = "this build is without it";
    return NULL;
}

#endif
