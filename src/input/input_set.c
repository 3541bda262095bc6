/* SPDX-License-Identifier: Apache-2.0 */
/* input_set.c -- opens the set of inputs, answers questions about it, and closes it.
 *
 * Tests: tests/cli/cases/told_formats.sh, tests/unit/input/test_input_set.c */
#include "input/input_set.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/address.h"
#include "base/error.h"
#include "base/files.h"
#include "base/glob.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "input/decompress.h"
#include "input/record_format.h"
#include "input/tables.h"
#include "input/unpack.h"
#include "json/json_exact.h"
#include "model/file_names.h"
#include "model/option_words.h"

void bm_input_set_close(bm_input_set *set)
{
    if (set == NULL)
        return;
    for (size_t i = 0; i < set->n_held; i++) {
        if (set->held[i].fd > STDIN_FILENO)
            close(set->held[i].fd);
        if (set->held[i].spool_fd >= 0)
            close(set->held[i].spool_fd);
    }
    for (size_t i = 0; i < set->n_sources; i++)
        bm_source_reset(&set->sources[i]);
    for (size_t i = 0; i < BM_LEFT_OUT_NAMED; i++)
        bm_free(set->left_out_paths[i].path);
    bm_remotes_close(set->remotes);
    bm_free(set->held);
    bm_free(set->sources);
    bm_free(set->spool_dir);
    bm_free(set);
}

size_t bm_input_set_count(const bm_input_set *set)
{
    return set->n_sources;
}

bm_source *bm_input_set_source(const bm_input_set *set, size_t index)
{
    return &set->sources[index];
}

bm_status bm_input_set_state(const bm_input_set *set, uint64_t n_docs, char out[BM_INPUT_SET_STATE],
                             bm_error *err)
{
    const size_t n = set->n_sources;
    char digest[BM_HASH128_HEX];
    bm_hash128 *digests = NULL;
    BM_TRY(bm_new(&digests, n + 1, err));
    for (size_t i = 0; i < n; i++)
        digests[i] = set->sources[i].digest;
    const XXH128_hash_t all = XXH3_128bits(digests, n * sizeof *digests);
    bm_hash128_hex((bm_hash128){.lo = all.low64, .hi = all.high64}, digest);
    bm_free(digests);
    snprintf(out, BM_INPUT_SET_STATE, "%" PRIu64 " documents of %zu files %s", n_docs, n, digest);
    return BM_OK;
}

bm_source *bm_input_set_offsets(bm_input_set *set)
{
    return set->offsets.path != NULL ? &set->offsets : NULL;
}

void bm_input_set_rename(bm_input_set *set, const char *const *names, const char *offsets)
{
    for (size_t i = 0; i < set->n_sources; i++)
        set->sources[i].name = names[i];
    if (offsets != NULL)
        set->offsets.name = offsets;
}

bool bm_input_set_is_stream(const bm_input_set *set)
{
    return set->options.stream != NULL;
}

bm_format bm_input_set_format(const bm_input_set *set)
{
    return set->format;
}

uint64_t bm_input_set_total_bytes(const bm_input_set *set)
{
    return set->unknown_size ? 0 : set->total_bytes;
}

void bm_input_set_assign(bm_input_set *set, const bm_input_resources *resources)
{
    set->resources = *resources;
}

bm_input_resources bm_input_set_resources(const bm_input_set *set)
{
    return set->resources;
}

uint64_t bm_input_set_copied(const bm_input_set *set)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < set->n_held; i++)
        bytes += set->held[i].spool_bytes;
    return bytes;
}

bool bm_input_set_stays(const bm_input_set *set)
{
    return !set->unknown_size;
}

uint64_t bm_input_set_hidden(const bm_input_set *set)
{
    return set->n_hidden;
}

bm_left_out bm_input_set_left_out(const bm_input_set *set)
{
    return set->left_out;
}

const bm_left_out_path *bm_input_set_left_out_path(const bm_input_set *set, size_t index)
{
    return index < BM_LEFT_OUT_NAMED && set->left_out_paths[index].path != NULL
               ? &set->left_out_paths[index]
               : NULL;
}

bm_status bm_input_set_rank(bm_input_set *set, const bm_keep_rules *rules, bm_error *err)
{
    return bm_record_rules_rank(&set->rules, set->format, rules, err);
}

bm_held *bm_input_set_held(const bm_input_set *set, size_t source)
{
    for (size_t i = 0; i < set->n_held; i++)
        if (set->held[i].source == set->first + source)
            return &set->held[i];
    return NULL;
}

bool bm_input_set_windows(const bm_input_set *set, uint64_t *bytes, size_t *largest)
{
    /* the largest window of each compression, since one decoder of each may be open */
    uint64_t most[BM_COMPRESSIONS] = {0};
    bool any = false;
    *bytes = 0;
    *largest = 0;
    for (size_t i = 0; i < set->n_sources; i++) {
        const bm_source *source = &set->sources[i];
        any = any || bm_has_windows(source->compression);
        if (source->window > set->sources[*largest].window)
            *largest = i;
        if (source->window > most[source->compression])
            most[source->compression] =
                source->window < BM_WINDOW_MAX ? source->window : BM_WINDOW_MAX;
    }
    for (size_t i = 0; i < BM_COMPRESSIONS; i++)
        *bytes += most[i];
    return any;
}

void bm_input_set_limit_windows(bm_input_set *set, uint64_t bytes)
{
    uint64_t largest = 0;
    for (size_t i = 0; i < set->n_sources; i++)
        if (set->sources[i].window > largest)
            largest = set->sources[i].window;
    unsigned log = 10;
    while (UINT64_C(2) << log <= bytes || UINT64_C(1) << log < largest)
        log++;
    set->window_log = log;
}

#define BLOCK_BYTES ((size_t)64 << 10)

/* Fill `out` with the first decompressed bytes of the file, as far as they can be unpacked. Fails
 * only with BM_ERR_NOMEM. */
static bm_status unpack(bm_decompress *d, const bm_stored_file *file, char *block, bm_head *out)
{
    bm_decompress_step step = {.in = {block, 0}};
    bm_status status = BM_OK;
    uint64_t at = 0;
    while (status == BM_OK && out->len < sizeof out->bytes) {
        step.out = out->bytes + out->len;
        step.out_cap = sizeof out->bytes - out->len;
        status = bm_decompress_run(d, &step, NULL);
        out->len += status == BM_OK ? step.n_out : 0;
        if (status != BM_OK || step.n_out > 0)
            continue;
        if (step.end || bm_stored_read(file, block, BLOCK_BYTES, at, &step.in.len, NULL) != BM_OK)
            break;
        at += step.in.len;
        step.used = 0;
        step.end = step.in.len == 0;
    }
    return status == BM_ERR_NOMEM ? status : BM_OK;
}

static bm_status unpack_head(const bm_source *source, bm_head *out, bm_error *err)
{
    bm_decompress *d = NULL;
    char *block = NULL;
    out->len = 0;
    bm_stored_file file;
    if (bm_stored_open(source->path, source->remote, NULL, &file, NULL) != BM_OK)
        return BM_OK; /* the reader will report the failure */
    bm_status status = bm_decompress_open(source->compression, &d, err);
    if (status == BM_OK && (block = bm_alloc(BLOCK_BYTES, 1)) == NULL)
        status = bm_fail_nomem(err, BLOCK_BYTES);
    if (status == BM_OK) {
        bm_decompress_begin(d, source->name);
        status = unpack(d, &file, block, out);
        if (status != BM_OK)
            status = bm_fail_nomem(err, BLOCK_BYTES);
    }
    bm_free(block);
    bm_decompress_close(d);
    bm_stored_close(&file);
    return status;
}

static size_t behind_space(bm_str text, size_t at)
{
    while (at < text.len && memchr(" \t\r\n", text.data[at], 4) != NULL)
        at++;
    return at;
}

/* Does the line begin with `{ "key" :`? `line` may have only the first bytes of the line. */
static bool begins_object(bm_str line)
{
    size_t at = behind_space(line, 1);
    if (at >= line.len || line.data[at] != '"')
        return false;
    for (at++; at < line.len && line.data[at] != '"'; at++)
        at += line.data[at] == '\\';
    at = behind_space(line, at + 1);
    return at < line.len && line.data[at] == ':';
}

static bm_status is_object(bm_str line, bool *is, bm_error *err)
{
    bm_json_exact *exact = NULL;
    const char *broken = NULL;
    bm_status status = BM_OK;
    BM_TRY_OUT(bm_json_exact_open(NULL, 0, &exact, err));
    status = bm_json_exact_run(exact, line, NULL, &broken, err);
out:
    bm_json_exact_close(exact);
    *is = status == BM_OK && broken == NULL;
    return status;
}

#define WARC "WARC/1."

static bm_status judge(const bm_head *head, bm_beginning *out, bm_error *err)
{
    const size_t bom = bm_bom_bytes(head->bytes, head->len);
    const bm_str text = {head->bytes + bom, head->len - bom};
    const size_t at = behind_space(text, 0);
    *out = BM_BEGINS_OTHERWISE;
    if (at == text.len)
        *out = BM_BEGINS_NOT;
    else if (text.data[at] == '[')
        *out = BM_BEGINS_ARRAY;
    else if (text.len >= sizeof WARC - 1 && memcmp(text.data, WARC, sizeof WARC - 1) == 0)
        *out = BM_BEGINS_WARC;
    if (at == text.len || text.data[0] != '{')
        return BM_OK;
    const char *newline = memchr(text.data, '\n', text.len);
    const bool whole = newline != NULL || head->len < sizeof head->bytes;
    const bm_str line = {text.data, newline != NULL ? (size_t)(newline - text.data) : text.len};
    bool is = !whole && begins_object(line);
    bm_status status = whole ? is_object(line, &is, err) : BM_OK;
    if (is)
        *out = BM_BEGINS_OBJECT;
    return status;
}

/* Find how the text of a source begins. `head` has the source's first bytes as stored; for a
 * compressed regular file they are unpacked here. The reader will report any damage. Fails only
 * with BM_ERR_NOMEM. */
static bm_status input_beginning(const bm_source *source, const bm_head *head, bm_beginning *out,
                                 bm_error *err)
{
    bm_head unpacked;
    *out = BM_BEGINS_OTHERWISE;
    if (source->compression == BM_COMPRESSION_NONE)
        return judge(head, out, err);
    if (source->size == 0) /* a pipe, whose bytes can be read only once */
        return BM_OK;
    BM_TRY(unpack_head(source, &unpacked, err));
    return judge(&unpacked, out, err);
}

/* === input set paths ===
 *
 * Expands paths to files: walks directories, reads lists.
 *
 * A directory is walked with a stack of paths, not by recursion, so depth costs memory only. At the
 * end its files are sorted by the bytes of their paths, so their order does not depend on
 * readdir. */

/* Takes ownership of `path`. */
static bm_status add_source(struct bm_input_set *set, char *path, bm_error *err)
{
    bm_status status =
        bm_grow(&set->sources, &set->cap_sources, set->n_sources + 1, sizeof *set->sources, err);
    if (status != BM_OK) {
        bm_free(path);
        return status;
    }
    set->sources[set->n_sources++] = (bm_source){.path = path, .name = path};
    return BM_OK;
}

static bm_status add_copy(struct bm_input_set *set, const char *path, bm_error *err)
{
    char *copy = bm_strdup(path);
    return copy != NULL ? add_source(set, copy, err) : bm_fail_nomem(err, strlen(path));
}

/* Is this error skipped? If so, the file later counts as a bad record. */
static bool is_skipped(const struct bm_input_set *set, int errnum)
{
    return bm_input_skips_bad_records(&set->options) && bm_errno_is_of_file(errnum);
}

static int by_path(const void *a, const void *b)
{
    return strcmp(((const bm_source *)a)->path, ((const bm_source *)b)->path);
}

static char *join(const char *dir, const char *name)
{
    size_t n = strlen(dir), m = strlen(name);
    char *path = bm_alloc(n + m + 2, 1);
    if (path == NULL)
        return NULL;
    memcpy(path, dir, n);
    if (n > 0 && dir[n - 1] != '/')
        path[n++] = '/';
    memcpy(path + n, name, m + 1);
    return path;
}

typedef struct walk {
    struct bm_input_set *set;
    size_t root_len; /* length of the given directory's path, without trailing slashes */
    char **dirs;     /* directories that are still to be read; owned */
    size_t n, cap;
} walk;

static bool matches_one(const char *const *patterns, size_t n, const char *path)
{
    for (size_t i = 0; i < n; i++)
        if (bm_glob_match(patterns[i], path))
            return true;
    return false;
}

/* Do the patterns select this file, found below a directory of `root_len` bytes? */
static bool is_chosen(const struct bm_input_set *set, const char *path, size_t root_len)
{
    const bm_input_options *o = &set->options;
    const char *below = path + root_len;
    while (*below == '/')
        below++;
    return (o->patterns.n_include == 0 ||
            matches_one(o->patterns.include, o->patterns.n_include, below)) &&
           !matches_one(o->patterns.exclude, o->patterns.n_exclude, below);
}

/* Takes ownership of `path`. */
static bm_status push_dir(walk *w, char *path, bm_error *err)
{
    bm_status status = bm_grow(&w->dirs, &w->cap, w->n + 1, sizeof *w->dirs, err);
    if (status != BM_OK)
        bm_free(path);
    else
        w->dirs[w->n++] = path;
    return status;
}

/* The kind of a directory entry. */
typedef enum entry_kind {
    /* a regular file or a link to one, or stat failed: then opening it reports the error */
    ENTRY_FILE,
    ENTRY_DIRECTORY,
    ENTRY_DIRECTORY_LINK,
    ENTRY_BROKEN_LINK,
    ENTRY_OTHER
} entry_kind;

/* Does this error mean that a link leads to nothing? */
static bool is_broken_link(int errnum)
{
    return errnum == ENOENT || errnum == ELOOP || errnum == ENOTDIR || errnum == ENAMETOOLONG;
}

static entry_kind entry_kind_of(int dir_fd, const struct dirent *entry)
{
    struct stat st;
    unsigned char type = entry->d_type;
    if (type == DT_UNKNOWN) {
        if (fstatat(dir_fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0)
            return ENTRY_FILE;
        type = S_ISREG(st.st_mode)   ? DT_REG
               : S_ISDIR(st.st_mode) ? DT_DIR
               : S_ISLNK(st.st_mode) ? DT_LNK
                                     : DT_UNKNOWN;
    }
    if (type == DT_REG || type == DT_DIR)
        return type == DT_REG ? ENTRY_FILE : ENTRY_DIRECTORY;
    if (type != DT_LNK)
        return ENTRY_OTHER;
    if (fstatat(dir_fd, entry->d_name, &st, 0) != 0)
        return is_broken_link(errno) ? ENTRY_BROKEN_LINK : ENTRY_FILE;
    return S_ISREG(st.st_mode)   ? ENTRY_FILE
           : S_ISDIR(st.st_mode) ? ENTRY_DIRECTORY_LINK
                                 : ENTRY_OTHER;
}

/* Count an entry that is left out, and store its path if it is among the first in byte order. Takes
 * ownership of `path`. */
static void leave_out(struct bm_input_set *set, char *path, entry_kind kind)
{
    bm_left_out_path next = {path, kind == ENTRY_DIRECTORY_LINK ? "a link to a directory"
                                   : kind == ENTRY_BROKEN_LINK  ? "a link to nothing"
                                                                : "no regular file"};
    set->left_out.directory_links += kind == ENTRY_DIRECTORY_LINK;
    set->left_out.broken_links += kind == ENTRY_BROKEN_LINK;
    set->left_out.not_regular += kind == ENTRY_OTHER;
    for (size_t i = 0; i < BM_LEFT_OUT_NAMED && next.path != NULL; i++) {
        const bm_left_out_path here = set->left_out_paths[i];
        if (here.path != NULL && strcmp(here.path, next.path) < 0)
            continue;
        set->left_out_paths[i] = next;
        next = here;
    }
    bm_free(next.path);
}

/* Add a file that was found below a directory. Takes ownership of `path`. */
static bm_status add_found(struct bm_input_set *set, char *path, bm_error *err)
{
    BM_TRY(add_source(set, path, err));
    set->sources[set->n_sources - 1].in_folder = true;
    return BM_OK;
}

static bm_status add_entry(walk *w, DIR *stream, const char *dir, const struct dirent *entry,
                           bm_error *err)
{
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
        return BM_OK;
    if (entry->d_name[0] == '.' || entry->d_name[0] == '_') {
        w->set->n_hidden++;
        return BM_OK;
    }
    const entry_kind kind = entry_kind_of(dirfd(stream), entry);
    char *path = join(dir, entry->d_name);
    if (path == NULL)
        return bm_fail_nomem(err, strlen(dir));
    if (kind == ENTRY_DIRECTORY)
        return push_dir(w, path, err);
    /* every link to a directory is counted, because files below it may match */
    if (kind != ENTRY_DIRECTORY_LINK && !is_chosen(w->set, path, w->root_len)) {
        w->set->n_left_out++;
        bm_free(path);
        return BM_OK;
    }
    if (kind == ENTRY_FILE)
        return add_found(w->set, path, err);
    leave_out(w->set, path, kind);
    return BM_OK;
}

/* Handle a directory that cannot be read, at all or to its end. If bad records are skipped, count
 * it as one unreadable file; otherwise fail. */
static bm_status miss_dir(walk *w, const char *dir, int code, bm_error *err)
{
    if (!is_skipped(w->set, code))
        return bm_fail_errno(err, code, dir, "cannot read the directory");
    BM_TRY(add_copy(w->set, dir, err));
    bm_source *source = &w->set->sources[w->set->n_sources - 1];
    return bm_string_format(&source->unreadable, err, "cannot read the directory: %s",
                            strerror(code));
}

static bm_status read_dir(walk *w, const char *dir, bm_error *err)
{
    DIR *stream = opendir(dir);
    if (stream == NULL)
        return miss_dir(w, dir, errno, err);
    bm_status status = BM_OK;
    while (status == BM_OK) {
        errno = 0;
        const struct dirent *entry = readdir(stream);
        if (entry == NULL) {
            if (errno != 0)
                status = miss_dir(w, dir, errno, err);
            break;
        }
        status = add_entry(w, stream, dir, entry, err);
    }
    closedir(stream);
    return status;
}

/* Does the directory contain a report of bandmill? */
static bool is_result(const char *dir)
{
    char head[BM_FILE_HEAD_BYTES];
    char *path = join(dir, BM_FILE_REPORT);
    const int fd = path != NULL ? open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC) : -1;
    const ssize_t n = fd >= 0 ? read(fd, head, sizeof head) : 0;
    if (fd >= 0)
        close(fd);
    bm_free(path);
    return n > 0 && bm_file_head_is_ours(head, (size_t)n);
}

/* Refuse a directory that bandmill wrote. Its kept documents may be meant as inputs, but it also
 * has tables of results. */
static bm_status refuse_result(const char *dir, bm_error *err)
{
    char kept[NAME_MAX + 1] = "";
    DIR *stream = opendir(dir);
    const struct dirent *entry;
    while (stream != NULL && kept[0] == '\0' && (entry = readdir(stream)) != NULL)
        if (bm_file_kind_of(entry->d_name) == BM_FILE_KIND_KEPT &&
            strncmp(entry->d_name, BM_FILE_REMOVED_RECORDS, strlen(BM_FILE_REMOVED_RECORDS)) != 0)
            snprintf(kept, sizeof kept, "%s", entry->d_name);
    if (stream != NULL)
        closedir(stream);
    return kept[0] != '\0'
               ? bm_fail_field_at(err, "paths", dir, 0,
                                  "is a result of bandmill (its documents are in %.300s/%s)", dir,
                                  kept)
               : bm_fail_field_at(err, "paths", dir, 0,
                                  "is a result of bandmill, without kept documents");
}

static bm_status add_dir(struct bm_input_set *set, const char *path, bm_error *err)
{
    if (set->options.format == BM_FORMAT_AUTO && set->options.patterns.n_include == 0 &&
        is_result(path))
        return refuse_result(path, err);
    walk w = {.set = set, .root_len = strlen(path)};
    size_t first = set->n_sources;
    while (w.root_len > 0 && path[w.root_len - 1] == '/')
        w.root_len--;
    char *root;
    BM_TRY(bm_copy_text(path, &root, err));
    bm_status status = push_dir(&w, root, err);
    while (status == BM_OK && w.n > 0) {
        char *dir = w.dirs[--w.n];
        status = read_dir(&w, dir, err);
        bm_free(dir);
    }
    while (w.n > 0)
        bm_free(w.dirs[--w.n]);
    bm_free(w.dirs);
    if (status == BM_OK && set->n_sources > first)
        qsort(set->sources + first, set->n_sources - first, sizeof *set->sources, by_path);
    return status;
}

static bm_status reserve_stdin(struct bm_input_set *set, bm_error *err)
{
    if (set->stdin_taken)
        return bm_fail_field(err, "paths", "standard input is named twice (- once)");
    set->stdin_taken = true;
    return BM_OK;
}

static bm_status add_address(struct bm_input_set *set, const char *address, bm_error *err)
{
    char *name = NULL;
    if (set->options.format == BM_FORMAT_HASHES || set->options.format == BM_FORMAT_KEYS)
        return bm_fail_field(err, "format", "`format` %s of an address (copy the file first)",
                             bm_format_name(set->options.format));
    BM_TRY(bm_address_name(address, &name, err));
    BM_TRY(add_source(set, name, err));
    char **copy = &set->sources[set->n_sources - 1].address;
    return bm_copy_text(address, copy, err);
}

/* The length of a path up to the end of its first name that begins with . or _; 0: no such name. */
static size_t hidden_bytes(const char *path)
{
    for (const char *name = path;; name++) {
        if (*name == '.' || *name == '_')
            return (size_t)(name - path) + strcspn(name, "/");
        name = strchr(name, '/');
        if (name == NULL)
            return 0;
    }
}

static size_t count_slashes(const char *path)
{
    size_t n = 0;
    for (; *path != '\0'; path++)
        n += *path == '/';
    return n;
}

/* Patterns without ** match only paths with as many slashes as the pattern has. "" matches all
 * paths. */
static bool matches_pattern(const char *pattern, const char *path)
{
    return pattern[0] == '\0' ||
           (bm_glob_match(pattern, path) &&
            (strstr(pattern, "**") != NULL || count_slashes(pattern) == count_slashes(path)));
}

/* Add a file that was found in a folder at an address, if `include` and `exclude` choose it.
 * BM_ERR_INPUT: its name contains a question mark. */
static bm_status add_listed(struct bm_input_set *set, const char *root, const char *below,
                            bm_error *err)
{
    char *address = NULL;
    const size_t n = set->n_sources;
    bm_status status = BM_OK;
    BM_TRY(bm_string_format(&address, err, "%s%s", root, below));
    if (!is_chosen(set, address, strlen(root)))
        set->n_left_out++;
    else if (strchr(below, '?') != NULL)
        status = bm_fail_at(err, BM_ERR_INPUT, root, 0,
                            "the name %s there holds ?, and cannot be read at an address", below);
    else
        status = add_address(set, address, err);
    if (status == BM_OK && set->n_sources > n)
        set->sources[n].in_folder = true;
    bm_free(address);
    return status;
}

/* Add the files of a folder at an address, except hidden ones. A file is added if its
 * path below the folder matches `pattern`, or if `pattern` is "". BM_ERR_INPUT: no file matches. */
static bm_status add_matching(struct bm_input_set *set, const bm_remote_names *names,
                              const char *pattern, bm_error *err)
{
    const char *hidden = "";
    bool any = pattern[0] == '\0';
    for (size_t i = 0; i < names->n; i++) {
        const char *below = names->below[i];
        const size_t n = hidden_bytes(below);
        if (n > 0) {
            set->n_hidden += n != hidden_bytes(hidden) || strncmp(below, hidden, n) != 0;
            hidden = below;
        } else if (matches_pattern(pattern, below)) {
            any = true;
            BM_TRY(add_listed(set, names->root, below, err));
        }
    }
    return any ? BM_OK
               : bm_fail_at(err, BM_ERR_INPUT, names->root, 0, "no file there matches %s", pattern);
}

static bm_status add_folder(struct bm_input_set *set, const char *address, bm_error *err)
{
    bm_remote_names names = {0};
    char *pattern = NULL;
    bm_status status = BM_OK;
    if (set->remotes == NULL)
        BM_TRY(bm_remotes_open(set->callbacks, &set->remotes, err));
    BM_TRY_OUT(bm_remote_list(set->remotes, address,
                              &(bm_remote_bounds){set->memory, set->callbacks}, &names, err));
    const size_t len = strcspn(address, "?"), root_len = strlen(names.root);
    BM_TRY_OUT(bm_copy_bytes(address + (root_len < len ? root_len : len),
                             root_len < len ? len - root_len : 0, &pattern, err));
    const size_t n_before = set->n_sources;
    BM_TRY_OUT(add_matching(set, &names, pattern, err));
    for (size_t i = n_before; i < set->n_sources; i++)
        set->listed += sizeof set->sources[i] + 2 * strlen(set->sources[i].address);
out:
    bm_remote_names_reset(&names);
    bm_free(pattern);
    return status;
}

static bm_status add_path(struct bm_input_set *set, const char *path, bm_error *err)
{
    bool is_stdin = strcmp(path, "-") == 0;
    if (is_stdin) {
        BM_TRY(reserve_stdin(set, err));
    } else if (bm_is_address(path)) {
        return bm_address_is_folder(path) ? add_folder(set, path, err)
                                          : add_address(set, path, err);
    } else {
        struct stat st;
        const bool there = stat(path, &st) == 0;
        if (!there && !is_skipped(set, errno))
            return bm_fail_errno(err, errno, path,
                                 path[0] == '~' ? "~ is not expanded here: cannot open"
                                                : "cannot open");
        if (there && S_ISDIR(st.st_mode))
            return add_dir(set, path, err);
    }
    return add_copy(set, path, err);
}

/* Was the job cancelled while the list of files waited for its writer? */
static bool is_cancelled(const struct bm_input_set *set, int code)
{
    const bm_callbacks *callbacks = set->callbacks;
    return code == EINTR && callbacks != NULL && callbacks->cancelled != NULL &&
           callbacks->cancelled(callbacks->ctx);
}

/* The list of files, as the context of a stdio stream. A read waits for the writer of a pipe, even
 * if the descriptor is non-blocking. */
typedef struct list_file {
    const struct bm_input_set *set;
    int fd;
} list_file;

static ssize_t read_some(void *ctx, char *out, size_t cap)
{
    const list_file *file = ctx;
    ssize_t n;
    if (bm_read_ready(file->set->callbacks, file->fd, out, cap, &n, NULL) == BM_OK)
        return n;
    errno = EINTR;
    return -1;
}

static bm_status read_list(struct bm_input_set *set, FILE *list, bm_error *err)
{
    const char *name = set->options.files_from;
    int separator = set->options.files_from_nul ? '\0' : '\n';
    char *entry = NULL;
    size_t cap = 0;
    uint64_t line = 0;
    bm_status status = BM_OK;
    while (status == BM_OK) {
        errno = 0;
        ssize_t len = getdelim(&entry, &cap, separator, list);
        if (len < 0) {
            if (is_cancelled(set, errno))
                status = bm_fail(err, BM_ERR_CANCELLED, "interrupted");
            else if (ferror(list) || errno == ENOMEM)
                status = bm_fail_errno(err, errno, name, "cannot read the list of files");
            break;
        }
        line++;
        if (len > 0 && entry[len - 1] == separator)
            entry[--len] = '\0';
        if (separator == '\n' && len > 0 && entry[len - 1] == '\r')
            entry[--len] = '\0';
        const size_t mark = line == 1 ? bm_bom_bytes(entry, (size_t)len) : 0;
        if (memchr(entry, '\0', (size_t)len) != NULL)
            status = bm_fail_at(err, BM_ERR_INPUT, name, line,
                                "a NUL in a list with a path a line (-0 for NUL-separated paths)");
        else if ((size_t)len > mark)
            status = add_path(set, entry + mark, err);
    }
    free(entry);
    return status;
}

static bm_status add_list(struct bm_input_set *set, bm_error *err)
{
    const char *name = set->options.files_from;
    const bool is_stdin = strcmp(name, "-") == 0;
    list_file file = {set, STDIN_FILENO};
    if (bm_is_address(name))
        return bm_fail_field(err, "files_from",
                             "`files_from` of an address (a file of this machine)");
    BM_TRY(is_stdin ? reserve_stdin(set, err) : bm_open_given(name, BM_ERR_INPUT, &file.fd, err));
    FILE *list = fopencookie(&file, "r", (cookie_io_functions_t){.read = read_some});
    bm_status status = list != NULL
                           ? read_list(set, list, err)
                           : bm_fail_errno(err, errno, name, "cannot open the list of files");
    if (list != NULL)
        fclose(list);
    if (!is_stdin)
        close(file.fd);
    return status;
}

/* Append the inputs that options.paths and options.files_from name to the sources. */
static bm_status input_set_expand(struct bm_input_set *set, bm_error *err)
{
    for (size_t i = 0; i < set->options.n_paths; i++)
        BM_TRY(add_path(set, set->options.paths[i], err));
    if (set->options.files_from != NULL)
        BM_TRY(add_list(set, err));
    return BM_OK;
}

/* === input set probe ===
 *
 * Regular files are opened, examined and closed again, so that ten thousand inputs do not need ten
 * thousand descriptors. Standard input and pipes stay open, with the bytes that were examined. */

#define PIPE_BYTES (1 << 20)

bm_status bm_probe_refused(const char *name, const char *head, size_t len, bm_error *err)
{
    const bm_refused_format format = bm_refused_format_of(head, len);
    return format.what == NULL
               ? BM_OK
               : bm_fail_at(err, BM_ERR_INPUT, name, 0, "this is %s, which is not read (%s)",
                            format.what, format.hint);
}

static bm_compression promised_by(const bm_source *source)
{
    size_t name_len = strlen(source->name);
    return bm_compression_of_name(source->name, &name_len);
}

/* Does the name promise a compression that the first bytes do not have? */
static bool breaks_promise(const bm_source *source)
{
    bm_compression promised = promised_by(source);
    return promised != BM_COMPRESSION_NONE && source->compression != promised;
}

/* If the format of the options is AUTO: does the name of the source leave its format open? */
static bool is_open(const struct bm_input_set *set, const bm_source *source)
{
    size_t len = strlen(source->name);
    (void)bm_compression_of_name(source->name, &len);
    const bm_format format = bm_format_of_name(source->name, len);
    return set->options.format == BM_FORMAT_AUTO &&
           (format == BM_FORMAT_FILES || format == BM_FORMAT_JSON);
}

/* If `format` means a table, or is AUTO and the name means a table, check that the file is one.
 * Sets source->table. */
static bm_status judge_table(const struct bm_input_set *set, bm_source *source, const bm_head *head,
                             bm_error *err)
{
    size_t len = strlen(source->name);
    const bm_compression promised = bm_compression_of_name(source->name, &len);
    const bm_format asked = set->options.format,
                    found = bm_table_format_of_bytes(head->bytes, head->len);
    const bm_format named =
        asked == BM_FORMAT_AUTO ? bm_table_format_of_name(source->name, len) : asked;
    if (found != BM_FORMAT_AUTO && asked != BM_FORMAT_AUTO && asked != found)
        return bm_fail_at(err, BM_ERR_INPUT, source->name, 0,
                          "this is a file of the format %s (`format` is %s)", bm_format_name(found),
                          bm_format_name(asked));
    if (bm_format_is_table(named) && promised != BM_COMPRESSION_NONE)
        return bm_fail_at(err, BM_ERR_INPUT, source->name, 0,
                          "a compressed file of tables is not read (decompress it; "
                          "tables are compressed inside)");
    if (bm_format_is_table(named) && found != named)
        return bm_fail_at(err, BM_ERR_INPUT, source->name, 0,
                          "this is no file of the format %s: its first bytes are something else",
                          bm_format_name(named));
    source->table = found;
    return BM_OK;
}

/* Set the members of a source that its first bytes reveal: table, compression, window, beginning.
 * Fails if the source has a format that is not read. */
static bm_status probe_judge(const struct bm_input_set *set, bm_source *source, const bm_head *head,
                             bm_error *err)
{
    bm_status told = judge_table(set, source, head, err);
    if (told != BM_OK || source->table != BM_FORMAT_AUTO)
        return told;
    source->compression = bm_compression_of_bytes(head->bytes, head->len, promised_by(source));
    source->window = bm_window_of(source->compression, head->bytes, head->len);
    told = bm_probe_refused(source->name, head->bytes, head->len, err);
    if (told != BM_OK && source->in_folder)
        bm_error_advise(err, "`exclude` leaves out files of a folder");
    BM_TRY(told);
    if (breaks_promise(source))
        return bm_fail_at(err, BM_ERR_INPUT, source->name, 0,
                          "the name promises %s, the first bytes are something else",
                          bm_compression_name(promised_by(source)));
    if (is_open(set, source))
        BM_TRY(input_beginning(source, head, &source->beginning, err));
    return BM_OK;
}

/* Read the first bytes: enough to fill a head, or all bytes if there are fewer. */
static bm_status read_head(const struct bm_input_set *set, int fd, const char *name, bm_head *head,
                           bm_error *err)
{
    head->len = 0;
    while (head->len < sizeof head->bytes) {
        ssize_t got;
        BM_TRY(bm_read_ready(set->callbacks, fd, head->bytes + head->len,
                             sizeof head->bytes - head->len, &got, err));
        if (got < 0)
            return bm_fail_errno(err, errno, name, "cannot read");
        if (got == 0)
            break;
        head->len += (size_t)got;
    }
    return BM_OK;
}

/* Enlarge a pipe. A pipe of 64 KiB stalls whenever either side is busy. The system may have a
 * limit, and files that are no pipes have no such size, so a failure is ignored. */
static void widen(int fd)
{
#if defined(F_SETPIPE_SZ)
    (void)fcntl(fd, F_SETPIPE_SZ, PIPE_BYTES);
#else
    (void)fd;
#endif
}

/* Keep `fd`, the descriptor of a source that can be read only once, and examine the first bytes of
 * the source. Takes ownership of `fd`, whatever the status. */
static bm_status add_held(struct bm_input_set *set, size_t index, int fd, bm_error *err)
{
    bm_status status = bm_grow(&set->held, &set->cap_held, set->n_held + 1, sizeof *set->held, err);
    if (status != BM_OK) {
        if (fd > STDIN_FILENO)
            close(fd);
        return status;
    }
    bm_held *h = &set->held[set->n_held++];
    *h = (bm_held){.source = index, .fd = fd, .spool_fd = -1};
    bm_source *source = &set->sources[index];
    set->unknown_size = true;
    widen(fd);
    status = read_head(set, fd, source->name, &h->head, err);
    return status != BM_OK ? status : probe_judge(set, source, &h->head, err);
}

/* Announce to set->remotes the addresses of all sources from `first` on. */
static bm_status expect_remotes(struct bm_input_set *set, const bm_source *first, bm_error *err)
{
    if (set->remotes == NULL)
        BM_TRY(bm_remotes_open(set->callbacks, &set->remotes, err));
    for (const bm_source *source = first; source < set->sources + set->n_sources; source++)
        if (source->address != NULL)
            BM_TRY(bm_remotes_expect(set->remotes, source->address, err));
    set->expects = true;
    return BM_OK;
}

static bm_status probe_remote(struct bm_input_set *set, bm_source *source, bm_error *err)
{
    bm_head head;
    if (!set->expects)
        BM_TRY(expect_remotes(set, source, err));
    BM_TRY(bm_remote_open(set->remotes, source->address,
                          set->spool_dir != NULL ? set->spool_dir : "/tmp", &source->remote, err));
    source->size = bm_remote_size(source->remote);
    set->total_bytes += source->size;
    BM_TRY(bm_remote_read(source->remote, head.bytes, sizeof head.bytes, 0, &head.len, err));
    return probe_judge(set, source, &head, err);
}

static bm_status probe_one(struct bm_input_set *set, size_t index, bm_error *err)
{
    bm_source *source = &set->sources[index];
    if (source->address != NULL)
        return probe_remote(set, source, err);
    if (strcmp(source->path, "-") == 0)
        return add_held(set, index, STDIN_FILENO, err);
    struct stat st;
    int fd;
    BM_TRY(bm_open_given(source->path, BM_ERR_INPUT, &fd, err));
    bm_status status = BM_OK;
    if (fstat(fd, &st) != 0) {
        status = bm_fail_errno(err, errno, source->name, "cannot look at the file");
        close(fd);
        return status;
    }
    if (!S_ISREG(st.st_mode))
        return add_held(set, index, fd, err);
    source->size = (uint64_t)st.st_size;
    set->total_bytes += source->size;
    bm_head head; /* read even if the size is 0: files in /proc have bytes all the same */
    const size_t n = source->size > 0 && source->size < sizeof head.bytes ? (size_t)source->size
                                                                          : sizeof head.bytes;
    const int code = bm_pread_all(fd, head.bytes, n, 0, &head.len);
    close(fd);
    return code != 0 ? bm_fail_errno(err, code, source->name, "cannot read")
                     : probe_judge(set, source, &head, err);
}

/* If the source itself caused the failure `status`, it counts as one bad record, so set
 * source->unreadable to the error. Any other failure is returned. */
static bm_status note_unreadable(bm_source *source, bm_status status, const bm_error *why,
                                 bm_error *err)
{
    if (status == BM_OK || source->unreadable != NULL)
        return BM_OK;
    if (status != BM_ERR_INPUT && (status != BM_ERR_IO || !bm_errno_is_of_file((int)why->code))) {
        if (err != NULL)
            *err = *why;
        return status;
    }
    source->compression = promised_by(source);
    return bm_copy_text(why->message, &source->unreadable, err);
}

/* Examine the sources if bad records are skipped. Fails if no source can be read: the cause is then
 * probably not bad records, but something like a misspelt name. */
static bm_status probe_skipping(struct bm_input_set *set, bm_error *err)
{
    bm_error first = {0}, why;
    bm_status first_status = BM_OK;
    size_t n_lost = 0;
    for (size_t i = 0; i < set->n_sources; i++) {
        bm_source *source = &set->sources[i];
        why = (bm_error){0};
        bm_status found =
            source->unreadable != NULL /* a directory whose reason was set by miss_dir */
                ? bm_fail_at(&why, BM_ERR_IO, source->name, 0, "%s", source->unreadable)
                : probe_one(set, i, &why);
        if (found != BM_OK && !(found == BM_ERR_INPUT && breaks_promise(source)) && n_lost++ == 0) {
            first = why;
            first_status = found;
        }
        BM_TRY(note_unreadable(source, found, &why, err));
    }
    if (n_lost < set->n_sources)
        return BM_OK;
    if (err != NULL)
        *err = first;
    return first_status;
}

/* Set each source's size, if it is known, and what its first bytes reveal (probe_judge). Keep open
 * each source that can be read only once. If bad records are skipped, source->unreadable becomes
 * the reason why a source cannot be read; but if no source can be read, and none breaks the promise
 * of its name (breaks_promise), the first failure is returned. */
static bm_status input_set_probe(struct bm_input_set *set, bm_error *err)
{
    if (bm_input_skips_bad_records(&set->options))
        return probe_skipping(set, err);
    for (size_t i = 0; i < set->n_sources; i++)
        BM_TRY(probe_one(set, i, err));
    return BM_OK;
}

/* === input set open ===
 *
 * Expands the paths, examines the first bytes, settles one format. */

static bm_format format_of_source(const bm_source *source)
{
    if (source->table != BM_FORMAT_AUTO)
        return source->table;
    size_t len = strlen(source->name);
    (void)bm_compression_of_name(source->name, &len);
    bm_format format = bm_format_of_name(source->name, len);
    if (source->beginning == BM_BEGINS_WARC && format == BM_FORMAT_FILES)
        return BM_FORMAT_WET;
    if (strcmp(source->path, "-") == 0)
        return BM_FORMAT_JSONL;
    return format == BM_FORMAT_JSON && source->beginning != BM_BEGINS_ARRAY ? BM_FORMAT_JSONL
                                                                            : format;
}

/* May the source have any format, because it cannot be read, or has only white space and a name
 * that ends in .json? */
static bool may_be_any(const bm_source *source)
{
    size_t len = strlen(source->name);
    (void)bm_compression_of_name(source->name, &len);
    return source->unreadable != NULL || (source->beginning == BM_BEGINS_NOT &&
                                          bm_format_of_name(source->name, len) == BM_FORMAT_JSON);
}

/* Refuse a file without a known ending that begins like JSON Lines, because it would be read as one
 * document. */
static bm_status check_whole_file(const bm_source *source, bm_error *err)
{
    if (source->beginning != BM_BEGINS_OBJECT)
        return BM_OK;
    return bm_fail_field_at(
        err, "format", source->name, 0,
        "its first line is a JSON object, and its name tells no format (`format` "
        "jsonl: a document a line; `format` files: all of it is one document)");
}

/* If sources may have several formats, refuse a file without a known ending that was found in a
 * folder. Such a file may not be meant as a document. */
static bm_status check_stray(const bm_source *source, const bm_source *other, bm_error *err)
{
    if (!source->in_folder || format_of_source(source) != BM_FORMAT_FILES)
        return BM_OK;
    return bm_fail_field_at(err, "format", source->name, 0,
                            "its name tells no format, and %.300s beside it is %s (give the path "
                            "of each file that is one document)",
                            other->name, bm_format_name(format_of_source(other)));
}

/* Returns how many sources, from `first` on, have one format, *format. A source that may have any
 * format is counted with the sources before it or, if there are none, with those after it. */
static size_t count_alike(const bm_input_set *set, size_t first, bm_format *format)
{
    size_t end = first;
    *format = BM_FORMAT_AUTO;
    for (; end < set->n_sources; end++) {
        const bm_source *source = &set->sources[end];
        if (may_be_any(source))
            continue;
        if (*format != BM_FORMAT_AUTO && *format != format_of_source(source))
            break;
        *format = format_of_source(source);
    }
    if (*format == BM_FORMAT_AUTO)
        *format = format_of_source(&set->sources[first]);
    return end - first;
}

bm_status bm_input_set_view(const bm_input_set *set, size_t first, bm_input_set *out, bm_error *err)
{
    *out = *set;
    out->n_sources = count_alike(set, first, &out->format);
    out->sources = set->sources + first;
    out->first = first;
    out->total_bytes = 0;
    for (size_t i = 0; i < out->n_sources; i++)
        out->total_bytes += out->sources[i].size;
    return bm_record_rules_init(&out->options, out->format, &out->rules, err);
}

static bm_status resolve_format(bm_input_set *set, bm_error *err)
{
    set->format = set->options.format;
    if (set->format != BM_FORMAT_AUTO)
        return BM_OK;
    const bm_source *first = NULL;
    bool differ = false;
    for (size_t i = 0; i < set->n_sources; i++) {
        const bm_source *source = &set->sources[i];
        if (may_be_any(source))
            continue;
        if (first == NULL)
            first = source;
        bm_format one = format_of_source(first), other = format_of_source(source);
        differ = differ || other != one;
        if (set->mixes && other != one) {
            BM_TRY(check_stray(first, source, err));
            BM_TRY(check_stray(source, first, err));
        } else if (other != one) {
            return bm_fail_field(
                err, "format",
                "inputs differ in format: %.300s is %s, %.300s is %s (one `format` for "
                "all; of a folder, `include` reads some files only, such as '*.arrow', and "
                "`exclude` leaves out some)",
                first->name, bm_format_name(one), source->name, bm_format_name(other));
        }
    }
    set->format =
        differ ? BM_FORMAT_MIXED : format_of_source(first != NULL ? first : &set->sources[0]);
    for (size_t i = 0; i < set->n_sources; i++)
        if (format_of_source(&set->sources[i]) == BM_FORMAT_FILES)
            BM_TRY(check_whole_file(&set->sources[i], err));
    return BM_OK;
}

static bm_status fill_set(bm_input_set *set, bm_error *err)
{
    if (set->options.n_paths == 0 && set->options.files_from == NULL)
        return bm_fail_field(err, "paths", "no input (files, directories, or - for stdin)");
    BM_TRY(input_set_expand(set, err));
    if (set->n_sources == 0) {
        const bm_left_out *left = &set->left_out;
        char others[160] = "";
        if (left->directory_links + left->broken_links + left->not_regular > 0)
            snprintf(others, sizeof others,
                     ", and %llu links to directories, %llu to nothing, %llu that are no regular "
                     "files",
                     (unsigned long long)left->directory_links,
                     (unsigned long long)left->broken_links, (unsigned long long)left->not_regular);
        const char *where =
            set->options.n_paths > 0 ? set->options.paths[0] : set->options.files_from;
        if (set->n_left_out > 0)
            return bm_fail_at(err, BM_ERR_INPUT, where, 0,
                              "no files there that `include` and `exclude` choose (%llu were left "
                              "out)",
                              (unsigned long long)set->n_left_out);
        return bm_fail_at(err, BM_ERR_INPUT, where, 0,
                          "no files there (%llu names that begin with . or _ were left out%s)",
                          (unsigned long long)set->n_hidden, others);
    }
    /* Arrays of hashes have no records, and are examined by their own reader. */
    if (set->options.format == BM_FORMAT_AUTO || bm_format_is_table(set->options.format) ||
        bm_record_format_of(set->options.format) != NULL)
        BM_TRY(input_set_probe(set, err));
    BM_TRY(resolve_format(set, err));
    return bm_record_rules_init(&set->options, set->format, &set->rules, err);
}

bm_status bm_input_set_open(const bm_input_options *options, const char *spool_dir, uint64_t memory,
                            const bm_callbacks *callbacks, bm_input_set **out, bm_error *err)
{
    bm_input_set *set = NULL;
    BM_TRY(bm_new_zero(&set, 1, err));
    set->options = *options;
    set->mixes = options->format == BM_FORMAT_MIXED;
    if (set->mixes)
        set->options.format = BM_FORMAT_AUTO;
    set->callbacks = callbacks;
    set->memory = memory;
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
