/* input_set_paths.c -- paths to files: directories are walked, lists are read.
 *
 * A directory is walked with a stack of paths, not by recursion, so depth costs memory only. Its
 * files are sorted by the bytes of their paths at the end; the order does not depend on readdir.
 *
 * Tests: tests/unit/input/test_input_set.c */
#include "input/input_set_paths.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/glob.h"
#include "base/memory.h"
#include "base/open_file.h"
#include "base/wait_readable.h"
#include "input/input_set_state.h"
#include "model/file_heads.h"
#include "model/file_names.h"

/* `path` is taken. */
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

/* What cannot be read is left to input_set_probe.c, which notes it as a bad record. */
static bool is_skipped(const struct bm_input_set *set, int errnum)
{
    return set->options.on_error == BM_ON_ERROR_SKIP && bm_errno_is_of_file(errnum);
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
    size_t root_len; /* of the directory given, without slashes at its end */
    char **dirs;     /* still to read; owned */
    size_t n, cap;
} walk;

static bool matches_one(const char *const *patterns, size_t n, const char *path)
{
    for (size_t i = 0; i < n; i++)
        if (bm_glob_match(patterns[i], path))
            return true;
    return false;
}

/* Is this file, found by the walk, one of those asked for? */
static bool is_chosen(const walk *w, const char *path)
{
    const bm_input_options *o = &w->set->options;
    const char *below = path + w->root_len;
    while (*below == '/')
        below++;
    return (o->patterns.n_include == 0 ||
            matches_one(o->patterns.include, o->patterns.n_include, below)) &&
           !matches_one(o->patterns.exclude, o->patterns.n_exclude, below);
}

/* `path` is taken. */
static bm_status push_dir(walk *w, char *path, bm_error *err)
{
    bm_status status = bm_grow(&w->dirs, &w->cap, w->n + 1, sizeof *w->dirs, err);
    if (status != BM_OK)
        bm_free(path);
    else
        w->dirs[w->n++] = path;
    return status;
}

/* DT_REG, DT_DIR, or DT_UNKNOWN for what a directory does not stand for: pipes, links to
 * directories, links to nothing. */
static bm_status entry_type(int dir_fd, const char *dir, const struct dirent *entry,
                            unsigned char *type, bm_error *err)
{
    struct stat st;
    *type = entry->d_type;
    if (*type == DT_UNKNOWN) {
        if (fstatat(dir_fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0)
            return bm_fail_errno(err, errno, dir, "cannot look at a file in this directory");
        *type = S_ISREG(st.st_mode)   ? DT_REG
                : S_ISDIR(st.st_mode) ? DT_DIR
                : S_ISLNK(st.st_mode) ? DT_LNK
                                      : DT_UNKNOWN;
    }
    if (*type == DT_LNK)
        *type = fstatat(dir_fd, entry->d_name, &st, 0) == 0 && S_ISREG(st.st_mode) ? DT_REG
                                                                                   : DT_UNKNOWN;
    return BM_OK;
}

static bm_status take_entry(walk *w, DIR *stream, const char *dir, const struct dirent *entry,
                            bm_error *err)
{
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
        return BM_OK;
    if (entry->d_name[0] == '.' || entry->d_name[0] == '_') {
        w->set->n_hidden++;
        return BM_OK;
    }
    unsigned char type;
    BM_TRY(entry_type(dirfd(stream), dir, entry, &type, err));
    if ((type != DT_REG && type != DT_DIR))
        return BM_OK;
    char *path = join(dir, entry->d_name);
    if (path == NULL)
        return bm_fail_nomem(err, strlen(dir));
    if (type == DT_DIR)
        return push_dir(w, path, err);
    if (is_chosen(w, path))
        return add_source(w->set, path, err);
    w->set->n_left_out++;
    bm_free(path);
    return BM_OK;
}

static bm_status read_dir(walk *w, const char *dir, bm_error *err)
{
    DIR *stream = opendir(dir);
    if (stream == NULL && is_skipped(w->set, errno))
        return add_copy(w->set, dir, err);
    if (stream == NULL)
        return bm_fail_errno(err, errno, dir, "cannot read the directory");
    bm_status status = BM_OK;
    while (status == BM_OK) {
        errno = 0;
        const struct dirent *entry = readdir(stream);
        if (entry == NULL) {
            if (errno != 0)
                status = bm_fail_errno(err, errno, dir, "cannot read the directory");
            break;
        }
        status = take_entry(w, stream, dir, entry, err);
    }
    closedir(stream);
    return status;
}

/* Does the directory hold a report of ours? */
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

/* What dedup wrote has tables beside the kept documents, and these alone can be meant. */
static bm_status refuse_result(const char *dir, bm_error *err)
{
    char kept[NAME_MAX + 1] = "";
    DIR *stream = opendir(dir);
    const struct dirent *entry;
    while (stream != NULL && kept[0] == '\0' && (entry = readdir(stream)) != NULL)
        if (strncmp(entry->d_name, BM_FILE_KEPT, strlen(BM_FILE_KEPT)) == 0 &&
            strcmp(entry->d_name, BM_FILE_KEPT_IDS) != 0)
            snprintf(kept, sizeof kept, "%s", entry->d_name);
    if (stream != NULL)
        closedir(stream);
    return kept[0] != '\0'
               ? bm_fail_at(err, BM_ERR_USAGE, dir, 0,
                            "is a result of bandmill (its documents are in %.300s/%s)", dir, kept)
               : bm_fail_at(err, BM_ERR_USAGE, dir, 0,
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
    char *root = bm_strdup(path);
    if (root == NULL)
        return bm_fail_nomem(err, strlen(path));
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

static bm_status take_stdin(struct bm_input_set *set, bm_error *err)
{
    if (set->stdin_taken)
        return bm_fail(err, BM_ERR_USAGE, "standard input is named twice (- once)");
    set->stdin_taken = true;
    return BM_OK;
}

static bm_status add_path(struct bm_input_set *set, const char *path, bm_error *err)
{
    bool is_stdin = strcmp(path, "-") == 0;
    if (is_stdin) {
        BM_TRY(take_stdin(set, err));
    } else {
        struct stat st;
        const bool there = stat(path, &st) == 0;
        if (!there && !is_skipped(set, errno))
            return bm_fail_errno(err, errno, path, "cannot open");
        if (there && S_ISDIR(st.st_mode))
            return add_dir(set, path, err);
    }
    return add_copy(set, path, err);
}

/* A signal to stop came while the list waited for its writer. */
static bool is_cancelled(const struct bm_input_set *set, int code)
{
    const bm_callbacks *callbacks = set->callbacks;
    return code == EINTR && callbacks != NULL && callbacks->cancelled != NULL &&
           callbacks->cancelled(callbacks->ctx);
}

/* A stream that waits for its writer, also where the descriptor does not block. */
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
        if (memchr(entry, '\0', (size_t)len) != NULL)
            status = bm_fail_at(err, BM_ERR_INPUT, name, line,
                                "a NUL in a list with a path a line (-0 for NUL-separated paths)");
        else if (len > 0)
            status = add_path(set, entry, err);
    }
    free(entry);
    return status;
}

static bm_status add_list(struct bm_input_set *set, bm_error *err)
{
    const char *name = set->options.files_from;
    const bool is_stdin = strcmp(name, "-") == 0;
    list_file file = {set, STDIN_FILENO};
    BM_TRY(is_stdin ? take_stdin(set, err) : bm_open_given(name, BM_ERR_INPUT, &file.fd, err));
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

bm_status bm_input_set_expand(struct bm_input_set *set, bm_error *err)
{
    for (size_t i = 0; i < set->options.n_paths; i++)
        BM_TRY(add_path(set, set->options.paths[i], err));
    if (set->options.files_from != NULL)
        BM_TRY(add_list(set, err));
    return BM_OK;
}
