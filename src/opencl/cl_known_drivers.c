/* SPDX-License-Identifier: Apache-2.0 */
/* cl_known_drivers.c -- see the header.
 *
 * The environment's key is a sum of hashes, so the order of variables and of files in a folder does
 * not matter. If an .icd file has a bare name, the dynamic linker decides which file it means. The
 * decision depends on LD_LIBRARY_PATH, so each name is looked up in the folders listed there. The
 * decision also depends on the linker's own cache, so the whole of ld.so.cache counts.
 *
 * An entry has the paths of the files that were loaded, and one hash of their stat values.
 *
 * Tests: tests/unit/opencl/test_cl_list.c, tests/fault/icd/drivers.sh */
#include "opencl/cl_known_drivers.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "opencl/cl_cache.h"
#include "base/clock.h"
#include "base/memory.h"

#define TITLE  "drivers that listed their devices, 2"
#define ENDING "known"
#define HUNG   "hung"
#define FRESH_FOR                                                                                  \
    600.0 /* for so many seconds, a hang is remembered and rows need not be listed again */
#define N_PLACES  16u
#define MAX_ICD   4096 /* most bytes that are read of an .icd file */
#define MAX_FILES 256  /* most files that are read of a folder */
#define MAX_BLOB  ((size_t)256 << 10)

extern char **environ;

/* Prefixes of the variables that loaders, drivers and the dynamic linker read. */
static const char *const prefixes[] = {
    "LD_",  "OCL_",      "OPENCL_", "POCL_", "CUDA_",        "NVIDIA_", "ROC",
    "HIP_", "HSA_",      "AMD_",    "GPU_",  "ZE_",          "ZES_",    "INTEL_",
    "CL_",  "NEO_",      "IGC_",    "SYCL_", "RUSTICL_",     "MESA_",   "LIBGL",
    "LP_",  "OCLGRIND_", "HOME=",   "XDG_",  "CONDA_PREFIX="};

/* Default folders of loaders. */
#define VENDORS "/etc/OpenCL/vendors"
#define LAYERS  "/etc/OpenCL/layers"

/* --- hashes --- */

static void add_up(bm_cl_key *sum, bm_cl_key one)
{
    sum->lo += one.lo;
    sum->hi += one.hi;
}

static bm_cl_key hash_of(const char *what, const char *text)
{
    const bm_cl_key key = bm_cl_key_add((bm_cl_key){0}, what, strlen(what));
    return bm_cl_key_add(key, text, strlen(text));
}

static bm_cl_key hash_of_stat(bm_cl_key key, const struct stat *st)
{
    const int64_t words[] = {(int64_t)st->st_dev,         (int64_t)st->st_ino,
                             (int64_t)st->st_size,        (int64_t)st->st_mode,
                             (int64_t)st->st_mtim.tv_sec, (int64_t)st->st_mtim.tv_nsec,
                             (int64_t)st->st_ctim.tv_sec, (int64_t)st->st_ctim.tv_nsec};
    return bm_cl_key_add(key, words, sizeof words);
}

/* Return the hash of a file. The file need not exist. */
static bm_cl_key hash_of_file(const char *path)
{
    struct stat st;
    const bm_cl_key key = hash_of("file", path);
    return stat(path, &st) == 0 ? hash_of_stat(key, &st) : key;
}

/* --- the environment --- */

/* Add the library `name` to the sum. If `name` is a path, this is the file there; else the file of
 * that name in each folder of LD_LIBRARY_PATH. */
static void add_library(bm_cl_key *sum, const char *name)
{
    const char *folders = getenv("LD_LIBRARY_PATH");
    char path[PATH_MAX];
    if (strchr(name, '/') != NULL) {
        add_up(sum, hash_of_file(name));
        return;
    }
    while (folders != NULL) {
        const size_t n = strcspn(folders, ":;");
        const int len = n < PATH_MAX ? (int)n : 0;
        snprintf(path, sizeof path, "%.*s/%s", n == 0 ? 1 : len, n == 0 ? "." : folders, name);
        add_up(sum, hash_of_file(path));
        folders = folders[n] != '\0' ? folders + n + 1 : NULL;
    }
}

/* Add an .icd file: its stat values, its text, and the library that it names. */
static void add_icd(bm_cl_key *sum, const char *path)
{
    char text[MAX_ICD + 1];
    struct stat st;
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
        const ssize_t n = read(fd, text, MAX_ICD);
        text[n > 0 ? n : 0] = '\0';
        add_up(sum, hash_of_stat(hash_of(path, text), &st));
        text[strcspn(text, "\r\n")] = '\0';
        add_library(sum, text);
    }
    close(fd);
}

/* Add the libraries that OCL_ICD_FILENAMES names. */
static void add_named(bm_cl_key *sum, const char *names)
{
    char name[PATH_MAX];
    while (names != NULL) {
        const size_t n = strcspn(names, ":");
        snprintf(name, sizeof name, "%.*s", n < PATH_MAX ? (int)n : 0, names);
        add_library(sum, name);
        names = names[n] != '\0' ? names + n + 1 : NULL;
    }
}

/* Add a folder of .icd files, or a single .icd file. OCL_ICD_VENDORS may name either. */
static void add_vendors(bm_cl_key *sum, const char *folder)
{
    char path[PATH_MAX];
    DIR *dir = opendir(folder);
    if (dir == NULL) {
        add_icd(sum, folder);
        return;
    }
    const struct dirent *entry = readdir(dir);
    for (int i = 0; entry != NULL && i < MAX_FILES; i++, entry = readdir(dir)) {
        const int n = snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (entry->d_name[0] != '.' && n > 0 && (size_t)n < sizeof path)
            add_icd(sum, path);
    }
    closedir(dir);
}

static void add_variables(bm_cl_key *sum)
{
    for (char **v = environ; v != NULL && *v != NULL; v++)
        for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
            if (strncmp(*v, prefixes[i], strlen(prefixes[i])) == 0) {
                add_up(sum, hash_of("variable", *v));
                break;
            }
}

/* Add the boot id. It identifies the machine and its last start. */
static void add_start(bm_cl_key *sum)
{
    char id[64];
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    const ssize_t n = fd < 0 ? -1 : read(fd, id, sizeof id - 1);
    id[n > 0 ? n : 0] = '\0';
    add_up(sum, hash_of("start", id));
    if (fd >= 0)
        close(fd);
}

/* Add the device nodes, because they appear and vanish with devices and kernel drivers. Add the
 * user's groups, because they decide which nodes the user may open. */
static void add_nodes(bm_cl_key *sum)
{
    char path[PATH_MAX];
    gid_t groups[64];
    const int n = getgroups((int)(sizeof groups / sizeof *groups), groups);
    if (n > 0)
        add_up(sum, bm_cl_key_add(hash_of("groups", ""), groups, (size_t)n * sizeof *groups));
    add_up(sum, hash_of_file("/dev"));
    DIR *dir = opendir("/dev/dri");
    for (struct dirent *entry; dir != NULL && (entry = readdir(dir)) != NULL;) {
        snprintf(path, sizeof path, "/dev/dri/%s", entry->d_name);
        add_up(sum, hash_of_file(path));
    }
    if (dir != NULL)
        closedir(dir);
}

static bm_cl_key environment_key(void)
{
    bm_cl_key sum = hash_of("", TITLE);
    add_start(&sum);
    add_nodes(&sum);
    add_variables(&sum);
    add_up(&sum, hash_of_file("/etc/ld.so.cache"));
    add_library(&sum, "libOpenCL.so.1");
    add_named(&sum, getenv("OCL_ICD_FILENAMES"));
    const char *const folders[] = {
        VENDORS,
        LAYERS,
        getenv("OCL_ICD_VENDORS"),
        getenv("OPENCL_VENDOR_PATH"),
        getenv("OPENCL_LAYER_PATH"),
    };
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        if (folders[i] != NULL)
            add_vendors(&sum, folders[i]);
    char path[PATH_MAX];
    const char *conda = getenv("CONDA_PREFIX");
    snprintf(path, sizeof path, "%s/etc/OpenCL/vendors", conda != NULL ? conda : "");
    if (conda != NULL)
        add_vendors(&sum, path);
    return sum;
}

/* --- an entry: the head, the rows, and the NUL-terminated paths of the files --- */

typedef struct entry_head {
    /* environment: hash of the environment; files: hash of the files */
    bm_cl_key environment, files;
    double at; /* bm_clock_seconds() when the entry was written */
    uint64_t row_bytes, n_rows;
    char note[sizeof((bm_cl_listing *)0)->note];
} entry_head;

static bool is_fresh(double at)
{
    const double age = bm_clock_seconds() - at;
    return age >= 0 && age < FRESH_FOR;
}

/* Return the cache key for an entry of this environment. */
static bm_cl_key cache_key_of(bm_cl_key environment)
{
    char text[16];
    snprintf(text, sizeof text, "%u", (unsigned)(environment.lo % N_PLACES));
    return hash_of(TITLE, text);
}

static bool files_key(const char *paths, size_t len, bm_cl_key *out)
{
    *out = (bm_cl_key){0};
    if (len > 0 && paths[len - 1] != '\0')
        return false;
    for (const char *p = paths; p < paths + len; p += strlen(p) + 1)
        add_up(out, hash_of_file(p));
    return true;
}

static bool same(bm_cl_key a, bm_cl_key b)
{
    return a.lo == b.lo && a.hi == b.hi;
}

/* Are the address space or the data of this process limited? */
static bool cl_drivers_short_of_space(void)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur != RLIM_INFINITY ||
           getrlimit(RLIMIT_DATA, &limit) != 0 || limit.rlim_cur != RLIM_INFINITY;
}

/* Parse an entry. Returns false if it does not describe the present drivers of this environment. */
static bool read_entry(const char *data, size_t len, bm_cl_key environment, bm_cl_listing *out,
                       bool *fresh)
{
    entry_head head;
    bm_cl_key files;
    if (len < sizeof head)
        return false;
    memcpy(&head, data, sizeof head);
    len -= sizeof head;
    if (!same(head.environment, environment) || head.row_bytes != sizeof *out->rows ||
        head.n_rows > len / sizeof *out->rows)
        return false;
    const char *rows = data + sizeof head;
    const size_t rows_len = (size_t)head.n_rows * sizeof *out->rows;
    if (!files_key(rows + rows_len, len - rows_len, &files) || !same(head.files, files) ||
        bm_new(&out->rows, (size_t)head.n_rows, NULL) != BM_OK)
        return false;
    if (rows_len > 0)
        memcpy(out->rows, rows, rows_len);
    out->n = (size_t)head.n_rows;
    memcpy(out->note, head.note, sizeof out->note);
    *fresh = is_fresh(head.at);
    return true;
}

bool bm_cl_drivers_known(const char *cache_dir, bm_cl_listing *out, bool *fresh)
{
    bm_cl_cache cache;
    void *data = NULL;
    size_t len = 0;
    *out = (bm_cl_listing){.n = 0};
    *fresh = false;
    if (cl_drivers_short_of_space() || bm_cl_cache_open(&cache, cache_dir, NULL) != BM_OK)
        return false;
    cache.ending = ENDING;
    const bm_cl_key key = environment_key();
    const bool known = bm_cl_cache_load(&cache, cache_key_of(key), &data, &len, NULL) == BM_OK &&
                       read_entry(data, len, key, out, fresh);
    bm_free(data);
    bm_cl_cache_close(&cache);
    return known;
}

void bm_cl_drivers_forget(const char *cache_dir)
{
    bm_cl_cache cache;
    if (bm_cl_cache_open(&cache, cache_dir, NULL) != BM_OK)
        return;
    cache.ending = ENDING;
    bm_cl_cache_store(&cache, cache_key_of(environment_key()), "-", 1, NULL);
    bm_cl_cache_close(&cache);
}

static int add_object(struct dl_phdr_info *info, size_t size, void *ctx)
{
    bm_buf *blob = ctx;
    (void)size;
    if (info->dlpi_name == NULL || info->dlpi_name[0] != '/')
        return 0; /* skips the program itself, and the kernel's vdso */
    return bm_buf_add(blob, info->dlpi_name, strlen(info->dlpi_name) + 1, NULL) != BM_OK;
}

void bm_cl_drivers_remember(const char *cache_dir, const bm_cl_listing *listing)
{
    bm_cl_cache cache;
    entry_head head;
    const size_t rows_len = listing->n * sizeof *listing->rows;
    bm_buf blob = {.max = MAX_BLOB};
    memset(&head, 0, sizeof head); /* clears the padding too */
    head.environment = environment_key();
    head.at = bm_clock_seconds();
    head.row_bytes = sizeof *listing->rows;
    head.n_rows = listing->n;
    memcpy(head.note, listing->note, sizeof head.note);
    if (cl_drivers_short_of_space() || bm_cl_cache_open(&cache, cache_dir, NULL) != BM_OK)
        return;
    cache.ending = ENDING;
    const size_t paths = sizeof head + rows_len;
    if (bm_buf_add(&blob, &head, sizeof head, NULL) == BM_OK &&
        bm_buf_add(&blob, listing->rows, rows_len, NULL) == BM_OK &&
        dl_iterate_phdr(add_object, &blob) == 0 &&
        files_key(blob.data + paths, blob.len - paths, &head.files)) {
        memcpy(blob.data, &head, sizeof head);
        bm_cl_cache_store(&cache, cache_key_of(head.environment), blob.data, blob.len, NULL);
    }
    bm_buf_reset(&blob);
    bm_cl_cache_close(&cache);
}

/* --- hangs --- */

/* All hangs have one cache key, so if no hang was recorded, the check is cheap. */
typedef struct hang_entry {
    bm_cl_key environment;
    bm_cl_hang hang;
} hang_entry;

void bm_cl_drivers_remember_hang(const char *cache_dir, const bm_cl_hang *hang)
{
    bm_cl_cache cache;
    hang_entry entry;
    memset(&entry, 0, sizeof entry); /* clears the padding too */
    if (cl_drivers_short_of_space() || bm_cl_cache_open(&cache, cache_dir, NULL) != BM_OK)
        return;
    cache.ending = HUNG;
    entry.environment = environment_key();
    entry.hang = *hang;
    bm_cl_cache_store(&cache, hash_of(TITLE, HUNG), &entry, sizeof entry, NULL);
    bm_cl_cache_close(&cache);
}

bool bm_cl_drivers_hung(const char *cache_dir, bm_cl_hang *out)
{
    bm_cl_cache cache;
    hang_entry entry;
    void *data = NULL;
    size_t len = 0;
    bool hung = false;
    if (cl_drivers_short_of_space() || bm_cl_cache_open(&cache, cache_dir, NULL) != BM_OK)
        return false;
    cache.ending = HUNG;
    if (bm_cl_cache_load(&cache, hash_of(TITLE, HUNG), &data, &len, NULL) == BM_OK &&
        len == sizeof entry) {
        memcpy(&entry, data, sizeof entry);
        hung = entry.hang.seconds > 0 && is_fresh(entry.hang.at) &&
               same(entry.environment, environment_key());
    }
    if (hung) {
        *out = entry.hang;
        out->note[sizeof out->note - 1] = '\0';
    }
    bm_free(data);
    bm_cl_cache_close(&cache);
    return hung;
}

/* --- for messages --- */

/* Write the names of the .icd files of a folder, at most three. Returns how many .icd files there
 * are. */
static unsigned icd_names(const char *folder, char *out, size_t cap)
{
    unsigned n = 0;
    DIR *dir = opendir(folder);
    out[0] = '\0';
    for (struct dirent *entry; dir != NULL && (entry = readdir(dir)) != NULL;) {
        const size_t len = strlen(entry->d_name), used = strlen(out);
        if (len < 5 || strcmp(entry->d_name + len - 4, ".icd") != 0)
            continue;
        n++;
        if (n <= 3)
            snprintf(out + used, cap - used, "%s%.60s", n > 1 ? ", " : "", entry->d_name);
        else if (n == 4)
            snprintf(out + used, cap - used, " ...");
    }
    if (dir != NULL)
        closedir(dir);
    return n;
}

void bm_cl_drivers_names(char *out, size_t cap)
{
    char names[256];
    const char *files = getenv("OCL_ICD_FILENAMES"), *folder = getenv("OCL_ICD_VENDORS");
    if (folder == NULL || folder[0] == '\0')
        folder = getenv("OPENCL_VENDOR_PATH");
    if (folder == NULL || folder[0] == '\0')
        folder = VENDORS;
    const unsigned n = icd_names(folder, names, sizeof names);
    out[0] = '\0';
    if (files != NULL && files[0] != '\0')
        snprintf(out, cap, "driver%s %.120s%s%s", n > 0 ? "s" : "", files, n > 0 ? ", " : "",
                 names);
    else if (n > 0)
        snprintf(out, cap, "driver%s %s in %.120s", n > 1 ? "s" : "", names, folder);
    else if (access(folder, F_OK) == 0)
        snprintf(out, cap, "driver %.120s", folder);
}
