/* name_list.h -- the names of the fields that a record has, for the message about one that it has
 * not: "'id', 'body', 'meta' and 4 more". Of bounded length, and valid UTF-8. */
#ifndef BM_IO_FORMATS_NAME_LIST_H
#define BM_IO_FORMATS_NAME_LIST_H

#include <bandmill/types.h>

typedef struct bm_name_list {
    char text[320]; /* ended by NUL once the list is */
    size_t len;
    size_t n, n_shown;
} bm_name_list; /* {0} is empty */

/* Add "PREFIX.NAME", or NAME where prefix is empty. */
void bm_name_list_add(bm_name_list *list, bm_str prefix, bm_str name);
/* The list in words; "no fields" where it is empty. Nothing may be added any more. */
const char *bm_name_list_words(bm_name_list *list);

/* The names of the object, in the text of a JSON object, that the path leads to before a part of it
 * is missing. `path` is dotted, as fields are given. */
void bm_name_list_json(bm_name_list *list, bm_str object, const char *path);

#endif
