/* make_pages.c -- made and run by the build: manual pages and completions of the program's own tables.
 *
 *   make_pages man ROOT DIR DATE        pages into DIR; ROOT: of the sources
 *
 * Tests: tests/pages/test_pages.py */
#include <string.h>

#include "page_source.h"

#include <stdio.h>

int main(int argc, char **argv)
{
    if (argc == 5 && strcmp(argv[1], "man") == 0) {
        const page_source source = {.root = argv[2], .dir = argv[3], .date = argv[4]};
        pages_of_commands(&source);
        page_of_library(&source);
        page_of_formats(&source);
        return 0;
    }
    fprintf(stderr, "usage: make_pages man ROOT DIR DATE\n");
    return 2;
}
