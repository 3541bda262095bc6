/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_replay.c -- runs a fuzz target on each file of a directory and, for small files, on each
 * prefix and each single damaged byte: a fixed, fast substitute for libFuzzer. With
 * BANDMILL_TEST_SIZE=small a byte is damaged in one way instead of four, and every second prefix is
 * run. */
#include <dirent.h>
#include <string.h>

#include "fuzz_check.h"

#ifndef FUZZ_SMALL
#define FUZZ_SMALL 400u
#endif

static void damage(uint8_t *data, size_t len)
{
    const char *size = getenv("BANDMILL_TEST_SIZE");
    const bool small = size != NULL && strcmp(size, "small") == 0;
    for (size_t n = 0; n < len; n += small ? 2 : 1)
        LLVMFuzzerTestOneInput(data, n);
    static const uint8_t masks[] = {0x01, 0x20, 0x80, 0xFF};
    for (size_t i = 0; i < len; i++)
        for (size_t m = small ? i % 4 : 0; m < sizeof masks; m += small ? 4 : 1) {
            data[i] ^= masks[m];
            LLVMFuzzerTestOneInput(data, len);
            data[i] ^= masks[m];
        }
}

static int replay(const char *path)
{
    FILE *file = fopen(path, "rb");
    CHECK(file != NULL);
    uint8_t *data = malloc((size_t)1 << 20);
    CHECK(data != NULL);
    size_t len = fread(data, 1, (size_t)1 << 20, file);
    fclose(file);
    LLVMFuzzerTestOneInput(data, len);
    if (len <= FUZZ_SMALL)
        damage(data, len);
    free(data);
    return 1;
}

int main(int argc, char **argv)
{
    CHECK(argc == 2);
    DIR *dir = opendir(argv[1]);
    CHECK(dir != NULL);
    int n = 0;
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        char path[4096];
        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "%s/%s", argv[1], entry->d_name);
        n += replay(path);
    }
    closedir(dir);
    printf("%d files replayed\n", n);
    return n > 0 ? 0 : 1; /* a missing corpus is a failure */
}
