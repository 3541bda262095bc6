/* remote_curl.c -- addresses by libcurl: which URL an address stands for, and a GET of a part of it.
 *
 *     http(s)://…            as it is
 *     s3://BUCKET/KEY        the bucket's host, or AWS_ENDPOINT_URL_S3 or AWS_ENDPOINT_URL; signed
 *                            (Signature Version 4, which libcurl does) if there is a key
 *     gs://BUCKET/OBJECT     storage.googleapis.com, or STORAGE_EMULATOR_HOST
 *     hf://datasets/OWNER/NAME[@REVISION]/PATH   huggingface.co, or HF_ENDPOINT
 *
 * Of a bucket or repository a page of names can be asked for too (remote_list.c).
 *
 * Keys, tokens and places are those that the environment has for other programs too. A transfer
 * needs a handle, which keeps its connection for the next one: those that no thread uses wait in a
 * list.
 *
 * Tests: tests/cli/cases/addresses.sh, tests/cli/cases/addresses_signed.sh,
 * tests/cli/cases/addresses_tls.sh */
#include "remote/remote_provider.h"

#if defined(BM_SONAME_CURL)

#define CURL_DISABLE_TYPECHECK /* it is a macro, and no member of a table */
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
#define SLOW_BYTES      1024L /* a second; a server that sends less ... */
#define SLOW_SECONDS    30L   /* ... for so long has stopped sending */
#define HOPS            10L
#define IDLE_MAX        64u /* handles */

#define FUNCTIONS(X)                                                                               \
    X(curl_global_init)                                                                            \
    X(curl_global_cleanup)                                                                         \
    X(curl_easy_init)                                                                              \
    X(curl_easy_cleanup)                                                                           \
    X(curl_easy_reset)                                                                             \
    X(curl_easy_setopt)                                                                            \
    X(curl_easy_perform)                                                                           \
    X(curl_easy_strerror)                                                                          \
    X(curl_slist_append)                                                                           \
    X(curl_slist_free_all)
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

/* --- which URL, and by which right --- */

typedef struct place {
    bm_buf url;
    char *sigv4; /* what libcurl signs for; NULL: nothing */
    const char *user, *password;
    struct curl_slist *headers;
} place;

static const char *given(const char *value)
{
    return value != NULL && value[0] != '\0' ? value : NULL;
}

/* Percent-encode a path, or, with its slashes, a value. */
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

static bm_status add_header(const calls *curl, place *t, const char *format, const char *value)
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

static bm_status find_s3(const calls *curl, place *t, const char *bucket, size_t len)
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
    /* a certificate of *.s3... holds for names without a dot */
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

static bm_status find_gs(const calls *curl, place *t, const char *bucket, size_t len)
{
    const char *host = given(getenv("STORAGE_EMULATOR_HOST")),
               *token = given(getenv("CLOUDSDK_AUTH_ACCESS_TOKEN"));
    if (token != NULL)
        BM_TRY(add_header(curl, t, "Authorization: Bearer ", token));
    return bm_buf_add_format(
        &t->url, NULL, "%s%s/%.*s", host != NULL && strstr(host, "://") == NULL ? "http://" : "",
        host != NULL ? host : "https://storage.googleapis.com", (int)len, bucket);
}

/* `path` begins behind the kind, which is a part of the URL's path; models have none there. */
static bm_status find_hf(const calls *curl, place *t, const bm_remote_page *page, const char *kind,
                         const char *path)
{
    const char *host = given(getenv("HF_ENDPOINT")), *token = given(getenv("HF_TOKEN"));
    const char *end = path + strcspn(path, "?"), *slash = memchr(path, '/', (size_t)(end - path));
    const char *rest = slash != NULL ? slash + 1 + strcspn(slash + 1, "/?") : end;
    if (slash == NULL || (page == NULL && *rest != '/'))
        return BM_ERR_USAGE;
    while (page != NULL && end > rest && *end != '/') /* of names that begin alike, their folder */
        end--;
    const char *at = memchr(path, '@', (size_t)(rest - path));
    if (token != NULL)
        BM_TRY(add_header(curl, t, "Authorization: Bearer ", token));
    if (page != NULL && page->after != NULL)
        return bm_buf_add_text(&t->url, page->after, NULL);
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

/* A page of what a bucket holds; older libcurls sign a query as it stands: in order, and encoded. */
static bm_status add_list(bm_buf *url, const bm_remote_page *page, const char *prefix)
{
    BM_TRY(bm_buf_add_text(url, "/?", NULL));
    if (page->after != NULL) {
        BM_TRY(bm_buf_add_text(url, "continuation-token=", NULL));
        BM_TRY(add_encoded(url, page->after, strlen(page->after), true));
        BM_TRY(bm_buf_add_text(url, "&", NULL));
    }
    BM_TRY(bm_buf_add_text(url, "list-type=2&prefix=", NULL));
    return add_encoded(url, prefix, strlen(prefix), true);
}

/* BM_ERR_USAGE: it is none that is known; BM_ERR_NOMEM. */
static bm_status find_target(const calls *curl, const bm_remote_request *request, place *t)
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

/* --- one transfer --- */

typedef struct transfer {
    const bm_remote_request *request;
    bm_remote_told *told;
    long code;       /* of HTTP; 0: no answer yet */
    uint64_t from;   /* where the part begins that is sent */
    uint64_t length; /* that is promised */
    bool enough;     /* more is sent than is wanted */
    int failed;      /* errno of writing to `fd` */
} transfer;

static const char *value_of(const char *line, const char *name)
{
    const size_t n = strlen(name);
    return strncasecmp(line, name, n) == 0 ? line + n + strspn(line + n, " ") : NULL;
}

/* The address in `<…>; rel="next"`, of which there may be others before. */
static void read_link(const char *value, bm_remote_page *page)
{
    for (const char *open = strchr(value, '<'); open != NULL; open = strchr(open + 1, '<')) {
        const size_t n = strcspn(++open, ">"), rest = strcspn(open + n, ",<");
        const char *next = strstr(open + n, "rel=\"next\"");
        if (next != NULL && next < open + n + rest && n < sizeof page->next)
            snprintf(page->next, sizeof page->next, "%.*s", (int)n, open);
    }
}

/* A line of the head of an answer; of several, behind redirections, the last answer counts. */
static size_t read_header(char *data, size_t one, size_t len, void *ctx)
{
    transfer *t = ctx;
    bm_remote_told *told = t->told;
    char line[4096];
    const char *value;
    (void)one;
    const size_t n = len < sizeof line - 1 ? len : sizeof line - 1;
    memcpy(line, data, n);
    line[n] = '\0';
    line[strcspn(line, "\r\n")] = '\0';
    if (strncmp(line, "HTTP/", 5) == 0) {
        const char *code = strchr(line, ' ');
        t->code = code != NULL ? strtol(code, NULL, 10) : 0;
        t->from = 0;
        t->length = BM_REMOTE_SIZE_UNKNOWN;
        told->size = BM_REMOTE_SIZE_UNKNOWN;
        told->version[0] = '\0';
    } else if ((value = value_of(line, "content-range: bytes")) != NULL) {
        const char *slash = strchr(value, '/');
        t->from = strtoull(value, NULL, 10);
        if (slash != NULL && slash[1] != '*')
            told->size = strtoull(slash + 1, NULL, 10);
    } else if ((value = value_of(line, "content-length:")) != NULL) {
        t->length = strtoull(value, NULL, 10);
    } else if (t->request->page != NULL && (value = value_of(line, "link:")) != NULL) {
        read_link(value, t->request->page);
    } else if (((value = value_of(line, "etag:")) != NULL && value[0] == '"') ||
               ((value = value_of(line, "last-modified:")) != NULL && told->version[0] == '\0')) {
        snprintf(told->version, sizeof told->version, "%.127s", value);
    }
    return len;
}

static size_t write_copy(transfer *t, const char *data, size_t len)
{
    if (t->request->page != NULL) {
        t->failed = bm_buf_add(&t->request->page->body, data, len, NULL) == BM_OK ? 0 : ENOMEM;
        return t->failed == 0 ? len : 0;
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

/* Bytes of an answer; those of a refusal are dropped. */
static size_t read_body(char *data, size_t one, size_t len, void *ctx)
{
    transfer *t = ctx;
    bm_remote_told *told = t->told;
    const bm_remote_request *request = t->request;
    (void)one;
    if (t->code != 200 && t->code != 206)
        return len;
    if (request->out == NULL)
        return write_copy(t, data, len);
    if (t->from != request->at || (t->code == 200 && request->at > 0))
        return 0;
    const size_t room = request->len - told->got, n = len < room ? len : room;
    memcpy(request->out + told->got, data, n);
    told->got += n;
    t->enough = n < len;
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
    return code == 401 || code == 403   ? ": not allowed"
           : code == 404 || code == 410 ? ": not found"
           : code == 429                ? ": too many questions"
           : code == 400                ? ": a wrong question"
           : code >= 500                ? ": it has failed"
                                        : "";
}

/* What came of it. */
static bm_remote_answer judge(const connections *c, transfer *t, CURLcode result)
{
    bm_remote_told *told = t->told;
    const bm_remote_request *request = t->request;
    const char *words = c->curl.curl_easy_strerror(result);
    const bool right = t->code == 200 || t->code == 206;
    if (result == CURLE_ABORTED_BY_CALLBACK)
        return BM_REMOTE_STOPPED;
    if (result == CURLE_OUT_OF_MEMORY || (request->page != NULL && t->failed != 0))
        return BM_REMOTE_NO_MEMORY;
    if (t->failed != 0) {
        snprintf(told->words, sizeof told->words, "its copy cannot be written: %.200s",
                 strerror(t->failed));
        return BM_REMOTE_REFUSED;
    }
    if (t->code == 416 && request->at == 0) { /* it is empty */
        told->size = 0;
        return BM_REMOTE_DONE;
    }
    if (t->code >= 300) {
        const bool passes = t->code == 408 || t->code == 429 || t->code >= 500;
        const bool web = strncasecmp(request->address, "http", 4) == 0;
        snprintf(told->words, sizeof told->words, "the server answers %ld%s%s", t->code,
                 meaning_of(t->code),
                 t->code == 404 && request->page == NULL && !web
                     ? " (the address of a folder ends with /)"
                     : "");
        return passes ? BM_REMOTE_FAILED : BM_REMOTE_REFUSED;
    }
    if (right && request->out != NULL &&
        (t->from != request->at || (t->code == 200 && request->at > 0))) {
        snprintf(told->words, sizeof told->words,
                 "the server sends another part than was asked for");
        return BM_REMOTE_REFUSED;
    }
    told->whole = t->code == 200 || told->size == BM_REMOTE_SIZE_UNKNOWN;
    if (t->code == 200)
        told->size = t->length;
    if (result == CURLE_OK || t->enough) {
        const uint64_t left = told->size - request->at; /* of an unknown size: much */
        if (request->out == NULL || told->whole || told->got > 0 || left == 0)
            return BM_REMOTE_DONE;
        words = "it broke off";
    }
    snprintf(told->words, sizeof told->words, "%.200s", words);
    if (right)
        return BM_REMOTE_BROKEN;
    return result == CURLE_PEER_FAILED_VERIFICATION || result == CURLE_URL_MALFORMAT ||
                   result == CURLE_UNSUPPORTED_PROTOCOL || result == CURLE_NOT_BUILT_IN ||
                   result == CURLE_UNKNOWN_OPTION || result == CURLE_TOO_MANY_REDIRECTS ||
                   result == CURLE_SSL_CACERT_BADFILE
               ? BM_REMOTE_REFUSED
               : BM_REMOTE_FAILED;
}

static CURLcode set_up(const calls *curl, CURL *handle, const place *from, transfer *t)
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
    SET(CURLOPT_FOLLOWLOCATION, 1L);
    SET(CURLOPT_MAXREDIRS, HOPS);
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
    if (from->sigv4 != NULL) {
        SET(CURLOPT_AWS_SIGV4, from->sigv4);
        SET(CURLOPT_USERNAME, from->user);
        SET(CURLOPT_PASSWORD, from->password);
    }
    if (request->out != NULL) {
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

static bm_remote_answer get(void *ctx, const bm_remote_request *request, bm_remote_told *told)
{
    connections *c = ctx;
    place at = {0};
    transfer t = {.request = request, .told = told, .length = BM_REMOTE_SIZE_UNKNOWN};
    bm_remote_answer answer = BM_REMOTE_NO_MEMORY;
    const bm_status found = find_target(&c->curl, request, &at);
    CURL *handle = found == BM_OK ? acquire(c) : NULL;
    if (request->page != NULL) {
        request->page->body.len = 0;
        request->page->next[0] = '\0';
    } else if (request->out == NULL &&
               (ftruncate(request->fd, 0) != 0 || lseek(request->fd, 0, SEEK_SET))) {
        t.failed = errno;
    }
    if (handle != NULL) {
        CURLcode result = set_up(&c->curl, handle, &at, &t);
        if (result == CURLE_OK)
            result = c->curl.curl_easy_perform(handle);
        answer = judge(c, &t, result);
        release(c, handle);
    } else if (found == BM_ERR_USAGE) {
        snprintf(told->words, sizeof told->words,
                 "no such address (https://…, http://…, s3://BUCKET/KEY, gs://BUCKET/OBJECT, "
                 "hf://datasets/OWNER/NAME/PATH)");
        answer = BM_REMOTE_REFUSED;
    }
    c->curl.curl_slist_free_all(at.headers);
    bm_free(at.sigv4);
    bm_buf_reset(&at.url);
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

#else /* it was not there when this was built */

const bm_remote_provider *bm_remote_provider_find(const char **why)
{
    *why = "this build is without it";
    return NULL;
}

#endif
