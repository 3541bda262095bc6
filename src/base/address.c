/* SPDX-License-Identifier: Apache-2.0 */
/* address.c -- finds the part of an address that may be shown.
 *
 *     https://me:secret@host:80/a/b.jsonl?X-Signature=1#part
 *     [scheme][  user  ][     shown     ][    not shown    ]
 *
 * The authority ends at the first / ? or #, and its part before the last @ is the user. If an
 * authority has no @, and something other than a port number follows its last colon, it is assumed
 * to be the beginning of a user with a password that has an unencoded / ? or #. Such a user ends at
 * the last @ of the whole address. If the address has no @, the whole authority is hidden.
 * Addresses of buckets and repositories have no port. In a text, an address in quotes ends at the
 * closing quote. Any other address ends at white space, a quote or an angle bracket. Punctuation
 * just before this end is not part of the address.
 *
 * Tests: tests/unit/base/test_address.c, tests/cli/cases/addresses_hidden.sh */
#include "base/address.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* Bytes of "scheme://" at the beginning of `text`; 0: `text` does not begin with a scheme. */
static size_t scheme_bytes(const char *text)
{
    size_t n = 0;
    while (isalnum((unsigned char)text[n]) || (n > 0 && text[n] != '\0' && strchr("+-.", text[n])))
        n++;
    return n > 0 && isalpha((unsigned char)text[0]) && strncmp(text + n, "://", 3) == 0 ? n + 3 : 0;
}

bool bm_is_address(const char *path)
{
    return scheme_bytes(path) > 0;
}

/* Offsets in an address at which its parts begin. */
typedef struct parts {
    size_t user, shown, hidden;
} parts;

static size_t count_until(const char *text, size_t len, const char *ends)
{
    size_t n = 0;
    while (n < len && strchr(ends, text[n]) == NULL)
        n++;
    return n;
}

/* Length of `text` up to its last @, which is included. 0: there is no @. */
static size_t behind_at(const char *text, size_t len)
{
    while (len > 0 && text[len - 1] != '@')
        len--;
    return len;
}

/* Does something other than a port number follow the last colon of the authority? False if there is
 * no colon outside of brackets. */
static bool has_odd_port(const char *authority, size_t len)
{
    size_t port = len;
    while (port > 0 && authority[port - 1] != ':' && authority[port - 1] != ']')
        port--;
    if (port == 0 || authority[port - 1] == ']')
        return false;
    while (port < len && isdigit((unsigned char)authority[port]))
        port++;
    return port < len;
}

static parts find_parts(const char *address, size_t len)
{
    const bool store = strncmp(address, "s3:", 3) == 0 || strncmp(address, "gs:", 3) == 0 ||
                       strncmp(address, "hf:", 3) == 0,
               web = strncasecmp(address, "http", 4) == 0;
    const size_t user = scheme_bytes(address), left = len - user;
    const char *authority = address + user;
    const size_t n = count_until(authority, left, "/?#");
    size_t skipped = behind_at(authority, n);
    if (skipped == 0 && !store && has_odd_port(authority, n)) {
        skipped = behind_at(authority, left);
        skipped = skipped > 0 ? skipped : n;
    }
    return (parts){user, user + skipped,
                   user + skipped +
                       count_until(authority + skipped, left - skipped, web ? "?#" : "?")};
}

void bm_path_show(const char *path, char *out, size_t cap)
{
    parts p = {0};
    if (path == NULL)
        path = "";
    p.hidden = strlen(path);
    if (bm_is_address(path))
        p = find_parts(path, p.hidden);
    snprintf(out, cap, "%.*s%.*s", (int)p.user, path, (int)(p.hidden - p.shown), path + p.shown);
}

/* Length of the address at the beginning of a text. `before` is the character before the address.
 * If it is a quote, the address ends at the next such quote. */
static size_t address_bytes(const char *text, char before)
{
    if (before == '"' || before == '\'')
        return strcspn(text, (char[]){before, '\0'});
    size_t n = strcspn(text, " \t\r\n\v\f\"<>");
    while (n > 0 && strchr(".,:;)'", text[n - 1]) != NULL)
        n--;
    return n;
}

void bm_text_hide(char *text)
{
    char *out = text;
    char before = ' ';
    while (*text != '\0') {
        const size_t scheme = scheme_bytes(text),
                     len = scheme > 0 ? address_bytes(text, before) : 0;
        before = *text;
        if (len <= scheme) {
            *out++ = *text++;
            continue;
        }
        const parts p = find_parts(text, len);
        memmove(out, text, p.user);
        memmove(out + p.user, text + p.shown, p.hidden - p.shown);
        out += p.user + (p.hidden - p.shown);
        text += len;
    }
    *out = '\0';
}
