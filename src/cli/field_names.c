/* SPDX-License-Identifier: Apache-2.0 */
/* field_names.c -- replaces the library's field names by names of options; see field_names.h.
 *
 * A field belongs to an option in two cases. It has the option's name, with '_' for '-'
 * ("text_bytes"). Or it is the settings member that the option fills, or the last part of its name
 * ("output.path", "text_fields"). A last part `path` does not count, because calls have other paths
 * besides that of their output. */
#include "cli/field_names.h"

#include <stdio.h>
#include <string.h>

#include "cli/environment.h"
#include "cli/options.h"

/* A borrowed text, not ended by NUL. */
typedef struct word {
    const char *at;
    size_t len;
} word;

static bool is_name(const arg_option *option, word field)
{
    size_t i = 0;
    for (; i < field.len && option->name[i] != '\0'; i++)
        if (option->name[i] != (field.at[i] == '_' ? '-' : field.at[i]))
            return false;
    return i == field.len && option->name[i] == '\0';
}

static bool is_member(const arg_option *option, word field)
{
    const size_t len = option->member != NULL ? strlen(option->member) : 0;
    if (len < field.len || memcmp(option->member + len - field.len, field.at, field.len) != 0)
        return false;
    if (len == field.len)
        return true;
    return option->member[len - field.len - 1] == '.' &&
           !(field.len == strlen("path") && memcmp(field.at, "path", field.len) == 0);
}

static const arg_option *option_of(word field, unsigned command)
{
    const arg_option *found = NULL;
    for (int by_member = 0; by_member < 2 && found == NULL; by_member++) {
        for (size_t i = 0; i < cli_options.n; i++) {
            const arg_option *option = &cli_options.options[i];
            if (option->type == ARG_LATER ||
                !(by_member ? is_member(option, field) : is_name(option, field)))
                continue;
            if (option->commands & (1u << command))
                return option;
            if (found == NULL)
                found = option;
        }
    }
    return found;
}

/* Write the variable or option that sets a field. Returns false if there is none. */
static bool show(word field, unsigned command, char *out, size_t cap)
{
    const char *variable = cli_environment_name(field.at, field.len);
    const arg_option *option = variable == NULL ? option_of(field, command) : NULL;
    if (variable == NULL && option == NULL)
        return false;
    if (variable != NULL)
        snprintf(out, cap, "%s", variable);
    else if (option->letter == '\0')
        snprintf(out, cap, "--%s", option->name);
    else
        snprintf(out, cap, "-%c%s%s", option->letter, option->value != NULL ? " " : "",
                 option->value != NULL ? option->value : "");
    return true;
}

void cli_show_fields(const char *message, unsigned command, char *out, size_t cap)
{
    size_t used = 0;
    while (*message != '\0' && used + 1 < cap) {
        const char *end = *message == '`' ? strchr(message + 1, '`') : NULL;
        char name[128];
        if (end != NULL && end > message + 1 &&
            show((word){message + 1, (size_t)(end - message - 1)}, command, name, sizeof name)) {
            snprintf(out + used, cap - used, "%s", name);
            used += strlen(out + used);
            message = end + 1;
        } else {
            out[used++] = *message++;
        }
    }
    out[used] = '\0';
}
