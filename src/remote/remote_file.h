/* SPDX-License-Identifier: Apache-2.0 */
/* remote_file.h -- reads a file at an address (https://, http://, s3://, gs://, hf://) by position.
 *
 * All network requests go through a provider (remote_provider.h). After a temporary failure, a
 * request is repeated a few times, with longer and longer waits. Failures are logged, and reading
 * continues where it broke off. Each answer states the size and the version of the file, which must
 * be the same as in the first answer. If a server does not send parts of files, the file is copied
 * first. */
#pragma once

#include <stdbool.h>

#include <bandmill/status.h>
#include <bandmill/types.h>

/* All files at addresses in one set of inputs, with their connections and their blocks in memory.
 * Files stay open until close. */
typedef struct bm_remotes bm_remotes;
typedef struct bm_remote bm_remote;

/* `callbacks` are borrowed until close and may be NULL. BM_ERR_IO: the library that reads addresses
 * is missing. */
bm_status bm_remotes_open(const bm_callbacks *callbacks, bm_remotes **out, bm_error *err);
void bm_remotes_close(bm_remotes *remotes); /* NULL is fine */
/* Let blocks take a part of `memory` (0: no limit), but no more than `threads` reading threads can
 * use. *bytes becomes the size of this part. Call this while no thread reads. Before the first
 * call, blocks take 8 MiB. */
bm_status bm_remotes_grant(bm_remotes *remotes, uint32_t threads, uint64_t memory, uint64_t *bytes,
                           bm_error *err);
/* Announce that the file will be opened and read after the files that were announced before. From
 * the first bm_remote_open on, several announced files are requested at once. */
bm_status bm_remotes_expect(bm_remotes *remotes, const char *address, bm_error *err);

struct bm_remote_page;
/* Get a page (remote_provider.h) of the list of files with addresses that begin with `address`.
 * `name` is for messages. Fails like bm_remote_open. */
bm_status bm_remotes_page(bm_remotes *remotes, const char *address, const char *name,
                          struct bm_remote_page *page, bm_error *err);

/* Open the file by requesting its first bytes. If the server does not send parts of files, and the
 * file is longer than these bytes, a nameless copy is made in the directory `copy_dir`. BM_ERR_IO:
 * the file cannot be reached, the server refuses it, or there is no space for the copy.
 * BM_ERR_INPUT: copying broke off. BM_ERR_CANCELLED, BM_ERR_NOMEM. */
bm_status bm_remote_open(bm_remotes *remotes, const char *address, const char *copy_dir,
                         bm_remote **out, bm_error *err);
uint64_t bm_remote_size(const bm_remote *remote);
/* Announce that only bytes from … to-1 of the file will be read. Call this while no thread
 * reads. */
void bm_remote_bound(bm_remote *remote, uint64_t from, uint64_t to);
/* Read `len` bytes at offset `at`, or fewer at the end of the file. Any thread. BM_ERR_INPUT: the
 * transfer broke off, or the file has changed. Otherwise fails like bm_remote_open. */
bm_status bm_remote_read(bm_remote *remote, void *out, size_t len, uint64_t at, size_t *got,
                         bm_error *err);

/* remote_list -- lists the files in a folder at an address, or those that match a pattern.
 *
 *     s3://BUCKET/FOLDER/   gs://BUCKET/FOLDER/   hf://datasets/OWNER/NAME[@REVISION]/FOLDER/
 *     s3://BUCKET           gs://BUCKET           hf://datasets/OWNER/NAME[@REVISION]
 *     s3://BUCKET/FOLDER/PATTERN …: `*` stands for any bytes but a slash, `**` for any
 *
 * Stores list their files in pages: S3 and Google Cloud Storage in the XML of ListObjectsV2, the
 * Hugging Face hub in JSON. A plain web server lists nothing. */

/* Does the address mean a folder or a pattern, instead of one file? This also recognizes folders
 * and patterns at http:// and https://, which do not support them. */
bool bm_address_is_folder(const char *address);

typedef struct bm_remote_names {
    char *root;   /* the address of the folder, ending with a slash */
    char **below; /* paths of the folder's files, without `root`, in byte order */
    size_t n, cap;
    uint64_t bytes; /* total length of the paths in `below` */
} bm_remote_names;

typedef struct bm_remote_bounds {
    /* memory limit; the names may take a part of it; 0: no limit */
    uint64_t memory;
    const bm_callbacks *callbacks; /* shows how many names were listed so far; may be NULL */
} bm_remote_bounds;

/* Fill `out`, which is all zeros. BM_ERR_USAGE: the address is at a plain web server. BM_ERR_INPUT:
 * the answer is no list, or is incomplete. BM_ERR_NOMEM: there is no memory, or the names exceed
 * their part of `memory`. Otherwise fails like bm_remote_open. */
bm_status bm_remote_list(bm_remotes *remotes, const char *address, const bm_remote_bounds *bounds,
                         bm_remote_names *out, bm_error *err);
void bm_remote_names_reset(bm_remote_names *names);
