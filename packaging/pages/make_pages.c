/* make_pages.c -- made and run by the build: manual pages and completions of the program's own tables.
 *
 *   make_pages man ROOT DIR DATE        pages into DIR; ROOT: of the sources
 *   make_pages bash|fish|zsh FILE       the completion of a shell
 *
 * Tests: tests/pages/test_pages.py */
#include <stdio.h>
#include <string.h>

#include "completions.h"
#include "page_source.h"

static int write_completion(const char *path, void (*write)(FILE *to))
{
    FILE *to = fopen(path, "w");
    if (to != NULL) {
        write(to);
        const int failed = ferror(to);
        if (fclose(to) == 0 && !failed)
            return 0;
    }
    perror(path);
    return 1;
}

int main(int argc, char **argv)
{
    if (argc == 5 && strcmp(argv[1], "man") == 0) {
        const page_source source = {.root = argv[2], .dir = argv[3], .date = argv[4]};
        pages_of_commands(&source);
        page_of_library(&source);
        page_of_formats(&source);
        return 0;
    }
    const struct {
        const char *shell;
        void (*write)(FILE *to);
    } shells[] = {
        {"bash", completion_for_bash}, {"fish", completion_for_fish}, {"zsh", completion_for_zsh}};
    for (size_t i = 0; argc == 3 && i < sizeof shells / sizeof shells[0]; i++)
        if (strcmp(argv[1], shells[i].shell) == 0)
            return write_completion(argv[2], shells[i].write);
    fprintf(stderr, "usage: make_pages man ROOT DIR DATE, make_pages bash|fish|zsh FILE\n");
    return 2;
}
