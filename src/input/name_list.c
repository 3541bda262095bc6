/* name_list.c -- see the header. Only for messages: an object is walked once more by its brackets
 * (json_scan.h).
 *
 * Tests: tests/unit/input/test_name_list.c */
#include "input/name_list.h"

#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "json/json_scan.h"

#define SHOWN_MAX 10u /* names */
#define NAME_MAX  48u /* bytes of one */
#define REST_MAX  48u /* bytes for what is said behind them */

/* Append a name, or as much of it as is shown, with a question mark for each byte that is no UTF-8. */
static void put_name(bm_name_list *list, bm_str name)
{
    size_t len = name.len, pos = 0;
    if (len > NAME_MAX) /* not within a character */
        for (len = NAME_MAX; len > NAME_MAX - 4 && ((unsigned char)name.data[len] & 0xC0) == 0x80;)
            len--;
    while (pos < len) {
        size_t good = bm_utf8_valid_prefix(name.data + pos, len - pos);
        memcpy(list->text + list->len, name.data + pos, good);
        list->len += good;
        pos += good;
        if (pos < len) {
            list->text[list->len++] = '?';
            pos++;
        }
    }
    if (len < name.len) {
        memcpy(list->text + list->len, "...", 3);
        list->len += 3;
    }
}

void bm_name_list_add(bm_name_list *list, bm_str prefix, bm_str name)
{
    const size_t most = 2 * (NAME_MAX + 3) + sizeof ", ''." + REST_MAX;
    list->n++;
    if (list->n_shown == SHOWN_MAX || list->n_shown + 1 < list->n ||
        list->len + most > sizeof list->text)
        return;
    if (list->n_shown++ > 0) {
        memcpy(list->text + list->len, ", ", 2);
        list->len += 2;
    }
    list->text[list->len++] = '\'';
    if (prefix.len > 0) {
        put_name(list, prefix);
        list->text[list->len++] = '.';
    }
    put_name(list, name);
    list->text[list->len++] = '\'';
}

const char *bm_name_list_words(bm_name_list *list)
{
    char *end = list->text + list->len;
    size_t room = sizeof list->text - list->len;
    if (list->n == 0)
        snprintf(end, room, "no fields");
    else if (list->n > list->n_shown)
        snprintf(end, room, " and %zu more", list->n - list->n_shown);
    else
        *end = '\0';
    return list->text;
}

/* The last member of this name, if it is an object. Keys with escapes are equal to none. */
static bool find_object(bm_str object, bm_str name, bm_str *out)
{
    size_t at = 0;
    bm_str key, value;
    bool found = false;
    while (bm_json_scan_member(object, &at, &key, &value))
        if (key.len == name.len + 2 && memcmp(key.data + 1, name.data, name.len) == 0) {
            found = value.len > 0 && value.data[0] == '{';
            *out = value;
        }
    return found;
}

void bm_name_list_json(bm_name_list *list, bm_str object, const char *path)
{
    bm_str key, value, prefix = {path, 0};
    for (const char *part = path, *dot; (dot = strchr(part, '.')) != NULL; part = dot + 1) {
        if (!find_object(object, (bm_str){part, (size_t)(dot - part)}, &value))
            break;
        object = value;
        prefix.len = (size_t)(dot - path);
    }
    for (size_t at = 0; bm_json_scan_member(object, &at, &key, &value);)
        bm_name_list_add(list, prefix, (bm_str){key.data + 1, key.len - 2});
}
