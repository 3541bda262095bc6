/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "opencl/cl_cache.h"
#include "base/memory.h"
#include "tests/world/world_folder.h"

static char dir[100];
static const bm_cl_key key = {.lo = 0x1234, .hi = 0xABCD}, other = {.lo = 0x1235, .hi = 0xABCD};
static const char binary[] = "a program, compiled";

static void begin(void)
{
    cr_assert(world_folder_make(NULL, dir, sizeof dir));
}

static void end(void)
{
    char command[256];
    snprintf(command, sizeof command, "chmod -R u+rwx %s && rm -r %s", dir, dir);
    cr_assert_eq(system(command), 0);
}

static void path_of(char out[256], const char *name)
{
    snprintf(out, 256, "%s/opencl/%s", dir, name);
}

static bool has(const bm_cl_cache *cache, bm_cl_key k)
{
    void *data = NULL;
    size_t len = 0;
    bm_status status = bm_cl_cache_load(cache, k, &data, &len, NULL);
    if (status != BM_OK) {
        cr_assert_eq(status, BM_NOT_FOUND);
        cr_assert_null(data);
        return false;
    }
    cr_assert(len == sizeof binary && memcmp(data, binary, len) == 0);
    bm_free(data);
    return true;
}

Test(cl_cache, gives_back_what_was_stored_under_its_key_alone, .init = begin, .fini = end)
{
    bm_cl_cache cache;
    struct stat st;
    char path[256];
    cr_assert_eq(bm_cl_cache_open(&cache, dir, NULL), BM_OK);
    cr_assert_not(has(&cache, key));
    cr_assert_eq(bm_cl_cache_store(&cache, key, binary, sizeof binary, NULL), BM_OK);
    cr_assert(has(&cache, key));
    cr_assert_not(has(&cache, other));
    cr_assert_eq(bm_cl_cache_store(&cache, key, binary, sizeof binary, NULL), BM_OK, "again");
    bm_cl_cache_close(&cache);
    path_of(path, "");
    cr_assert_eq(stat(path, &st), 0);
    cr_assert_eq(st.st_mode & 0777, 0700);
    snprintf(path, sizeof path, "test $(ls -A %s/opencl | wc -l) = 1", dir);
    cr_assert_eq(system(path), 0, "no temporary file is left");
}

Test(cl_cache, takes_no_entry_of_which_any_byte_is_wrong, .init = begin, .fini = end)
{
    bm_cl_cache cache;
    char path[256];
    path_of(path, "000000000000abcd0000000000001234.clbin");
    cr_assert_eq(bm_cl_cache_open(&cache, dir, NULL), BM_OK);
    cr_assert_eq(bm_cl_cache_store(&cache, key, binary, sizeof binary, NULL), BM_OK);
    int fd = open(path, O_RDWR);
    cr_assert_geq(fd, 0);
    const off_t size = lseek(fd, 0, SEEK_END);
    cr_assert_eq(size, (off_t)(48 + sizeof binary));
    for (off_t i = 0; i < size; ++i) {
        unsigned char byte, wrong;
        cr_assert_eq(pread(fd, &byte, 1, i), 1);
        wrong = byte ^ 0x10;
        cr_assert_eq(pwrite(fd, &wrong, 1, i), 1);
        cr_assert_not(has(&cache, key), "byte %ld", (long)i);
        cr_assert_eq(pwrite(fd, &byte, 1, i), 1);
    }
    cr_assert(has(&cache, key));
    for (off_t i = 0; i < size; ++i) {
        cr_assert_eq(ftruncate(fd, i), 0);
        cr_assert_not(has(&cache, key), "cut to %ld", (long)i);
    }
    cr_assert_eq(bm_cl_cache_store(&cache, key, binary, sizeof binary, NULL), BM_OK);
    cr_assert(has(&cache, key), "rewritten");
    close(fd);
    bm_cl_cache_close(&cache);
}

Test(cl_cache, takes_no_entry_that_is_another_keys_or_a_link_or_open_to_others, .init = begin,
     .fini = end)
{
    bm_cl_cache cache;
    char path[256], moved[256];
    path_of(path, "000000000000abcd0000000000001234.clbin");
    path_of(moved, "000000000000abcd0000000000001235.clbin");
    cr_assert_eq(bm_cl_cache_open(&cache, dir, NULL), BM_OK);
    cr_assert_eq(bm_cl_cache_store(&cache, key, binary, sizeof binary, NULL), BM_OK);
    cr_assert_eq(link(path, moved), 0);
    cr_assert_not(has(&cache, other), "a foreign entry");
    cr_assert_eq(unlink(moved), 0);
    cr_assert_eq(chmod(path, 0666), 0);
    cr_assert_not(has(&cache, key), "others may write it");
    cr_assert_eq(chmod(path, 0600), 0);
    cr_assert(has(&cache, key));
    cr_assert_eq(rename(path, moved), 0);
    cr_assert_eq(symlink(moved, path), 0);
    cr_assert_not(has(&cache, key), "a link");
    cr_assert_eq(unlink(path), 0);
    cr_assert_eq(mkfifo(path, 0600), 0);
    cr_assert_not(has(&cache, key), "a pipe, without waiting for a writer");
    bm_cl_cache_close(&cache);
}

Test(cl_cache, is_not_used_where_others_may_enter_or_it_cannot_be_made, .init = begin, .fini = end)
{
    bm_cl_cache cache;
    bm_error err = {0};
    char path[256];
    path_of(path, "");
    cr_assert_eq(mkdir(path, 0700), 0);
    static const mode_t modes[] = {0755, 0770, 0701, 0777};
    for (size_t i = 0; i < 4; ++i) {
        cr_assert_eq(chmod(path, modes[i]), 0);
        cr_assert_eq(bm_cl_cache_open(&cache, dir, &err), BM_ERR_IO, "mode %o", modes[i]);
        cr_assert_eq(cache.fd, -1);
        cr_assert_not_null(strstr(err.message, "0700"), "%s", err.message);
        cr_assert_eq(bm_cl_cache_store(&cache, key, binary, sizeof binary, NULL), BM_OK,
                     "quietly nothing");
        cr_assert_not(has(&cache, key));
    }
    cr_assert_eq(rmdir(path), 0);
    cr_assert_eq(symlink("/tmp", strcat(strcpy(path, dir), "/opencl")), 0);
    cr_assert_eq(bm_cl_cache_open(&cache, dir, &err), BM_ERR_IO, "a link is not our directory");
    cr_assert_eq(bm_cl_cache_open(&cache, "/dev/null/x", &err), BM_ERR_IO);
}

Test(cl_cache, has_its_place_by_argument_xdg_or_home)
{
    char out[256];
    bm_cl_cache cache;
    setenv("XDG_CACHE_HOME", "/x", 1);
    setenv("HOME", "/h", 1);
    bm_cl_cache_dir("/given", out, sizeof out);
    cr_assert_str_eq(out, "/given");
    bm_cl_cache_dir(NULL, out, sizeof out);
    cr_assert_str_eq(out, "/x/bandmill");
    setenv("XDG_CACHE_HOME", "relative", 1);
    bm_cl_cache_dir(NULL, out, sizeof out);
    cr_assert_str_eq(out, "/h/.cache/bandmill");
    unsetenv("HOME");
    bm_cl_cache_dir(NULL, out, sizeof out);
    cr_assert_str_empty(out);
    cr_assert_eq(bm_cl_cache_open(&cache, "", NULL), BM_OK);
    cr_assert_eq(cache.fd, -1);
}

Test(cl_cache, keys_tell_texts_and_their_borders_apart)
{
    bm_cl_key none = {0};
    bm_cl_key a = bm_cl_key_add(bm_cl_key_add(none, "ab", 2), "c", 1);
    bm_cl_key b = bm_cl_key_add(bm_cl_key_add(none, "a", 1), "bc", 2);
    bm_cl_key c = bm_cl_key_add(bm_cl_key_add(none, "ab", 2), "c", 1);
    cr_assert(a.lo != b.lo || a.hi != b.hi);
    cr_assert(a.lo == c.lo && a.hi == c.hi);
}
