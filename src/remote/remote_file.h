/* SPDX-License-Identifier: Apache-2.0 */
/* remote_file.h -- a file at an address (https://, http://, s3://, gs://, hf://), read by position.
 *
 * All requests over the network go through a provider (remote_provider.h). What fails for a while
 * is tried again, a few times, with longer and longer waits between, and is logged; reading goes on
 * where it broke off. Each answer is compared with the first one by the size and the version of the
 * file that the server tells. A server that gives no parts of a file has it copied first. */
#pragma once

#include <stdbool.h>

#include <bandmill/status.h>
#include <bandmill/types.h>

/* All files at addresses of one set of inputs: their connections, and the blocks that were read or
 * are loaded ahead. Files stay until close. */
typedef struct bm_remotes bm_remotes;
typedef struct bm_remote bm_remote;

/* `callbacks` are borrowed until close and may be NULL. BM_ERR_IO: the library that reads addresses
 * is missing. */
bm_status bm_remotes_open(const bm_callbacks *callbacks, bm_remotes **out, bm_error *err);
void bm_remotes_close(bm_remotes *remotes); /* NULL is fine */
/* While nobody reads: blocks may take a part of `memory` (0: any), for so many threads that read;
 * *bytes: how many. Before that there are 8 MiB. */
bm_status bm_remotes_grant(bm_remotes *remotes, uint32_t threads, uint64_t memory, uint64_t *bytes,
                           bm_error *err);
/* The file will be opened, after those that are expected already, and read after them: from the
 * first open on several are asked for at once. */
bm_status bm_remotes_expect(bm_remotes *remotes, const char *address, bm_error *err);

struct bm_remote_page;
/* Ask for a page (remote_provider.h) of the files with addresses that begin with `address`;
 * messages call it `name`. Errors as below. */
bm_status bm_remotes_page(bm_remotes *remotes, const char *address, const char *name,
                          struct bm_remote_page *page, bm_error *err);

/* Ask for the file, and for its first bytes. `copy_dir`: where it is copied to, without a name, if
 * its server gives no parts. BM_ERR_IO: it cannot be reached, or is refused; or there is no space
 * for the copy. BM_ERR_INPUT: the bytes to be copied broke off. BM_ERR_CANCELLED, BM_ERR_NOMEM. */
bm_status bm_remote_open(bm_remotes *remotes, const char *address, const char *copy_dir,
                         bm_remote **out, bm_error *err);
uint64_t bm_remote_size(const bm_remote *remote);
/* While nobody reads: of the file no more than bytes `from` to `to` are read. */
void bm_remote_bound(bm_remote *remote, uint64_t from, uint64_t to);
/* Read `len` bytes from `at` on, or as many as there are. Any thread. BM_ERR_INPUT: they broke off,
 * or the file has changed; else as above. */
bm_status bm_remote_read(bm_remote *remote, void *out, size_t len, uint64_t at, size_t *got,
                         bm_error *err);

/* remote_list -- the files in a folder at an address, or matched by a pattern there.
 *
 *     s3://BUCKET/FOLDER/   gs://BUCKET/FOLDER/   hf://datasets/OWNER/NAME[@REVISION]/FOLDER/
 *     s3://BUCKET           gs://BUCKET           hf://datasets/OWNER/NAME[@REVISION]
 *     s3://BUCKET/FOLDER/PATTERN …: `*` stands for any bytes but a slash, `**` for any
 *
 * Stores say which files they have, page by page: S3 and Google Cloud Storage in the XML of
 * ListObjectsV2, the hub in JSON. A plain server of the web does not. */

/* Is it a folder or a pattern, and not one file? Also of http:// and https://, which have
 * neither. */
bool bm_address_is_folder(const char *address);

typedef struct bm_remote_names {
    char *root;   /* the address of the folder, with its slash */
    char **below; /* the paths of its files below it, in the order of their bytes */
    size_t n, cap;
    uint64_t bytes; /* of these paths */
} bm_remote_names;

typedef struct bm_remote_bounds {
    uint64_t memory;               /* names may take a part of it; 0: any */
    const bm_callbacks *callbacks; /* that show how many names there are; may be NULL */
} bm_remote_bounds;

/* Fill `out`, which is zeros. BM_ERR_USAGE: a plain server; BM_ERR_INPUT: an answer that is no
 * list, or not a whole one; BM_ERR_NOMEM: also more names than the memory is for; else as
 * bm_remote_open. */
bm_status bm_remote_list(bm_remotes *remotes, const char *address, const bm_remote_bounds *bounds,
                         bm_remote_names *out, bm_error *err);
void bm_remote_names_reset(bm_remote_names *names);
