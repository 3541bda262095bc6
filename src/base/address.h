/* address.h -- is a path an address, "scheme://…", and what is it called where people can see it?
 *
 * An address may hold a user and a password before its host, and a signature behind "?". None of
 * that is shown: a file at an address has a name without them, and every message goes through
 * bm_text_hide (bandmill/status.h). */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <bandmill/status.h>

/* Is this an address, "scheme://", and not a path? */
bool bm_is_address(const char *path);
/* A path as messages show it: of an address its name, without user, password and query. Cut short at
 * `cap`; NULL is "". */
void bm_path_show(const char *path, char *out, size_t cap);
