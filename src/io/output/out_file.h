/* out_file.h -- the inside of a bm_out_file, shared by out_file*.c and out_dir*.c only. */
#ifndef BM_IO_OUTPUT_OUT_FILE_H
#define BM_IO_OUTPUT_OUT_FILE_H

#include "io/output/digest_follow.h"
#include "io/output/out_dir.h"

#define BM_OUT_BUFFER_BYTES ((size_t)256 << 10)

typedef struct bm_out_compressor bm_out_compressor; /* a compressor, out_file_compress.c */

struct bm_out_file {
    int fd;
    char *path;   /* where the bytes go now */
    char *target; /* of a single file: its name after close; NULL: a file of `dir` */
    char *name;   /* within `dir` */
    bm_out_dir *dir;
    bool force;
    char *buf; /* bytes for the disk, BM_OUT_BUFFER_BYTES */
    size_t len;
    uint64_t accepted;             /* bytes given to bm_out_file_write */
    uint64_t written;              /* bytes given to the system */
    uint64_t started;              /* of these: writing to the disk was begun */
    bm_out_compressor *compressor; /* NULL: none */
    bm_status failed;              /* the first failure sticks */
    int failed_code;
    bool follows;             /* digested while it is written, once it is large */
    bm_digest_follow *follow; /* NULL: not yet, or not any more */
    char hex[BM_SHA256_HEX];  /* after close, where it was followed to the end; else "" */
};

/* Empty the buffer into the file. */
bm_status bm_out_file_drain(bm_out_file *file, bm_error *err);
/* A fresh file (O_EXCL) at `path`, which is taken, as the others are by the caller afterwards. */
bm_status bm_out_file_create(char *path, bm_out_file **out, bm_error *err);
/* A regular file that is there, cut to `bytes`, which is where writing goes on. `path` is taken.
 * BM_ERR_FORMAT: none of so many bytes; BM_ERR_IO, BM_ERR_NOMEM. */
bm_status bm_out_file_reopen(char *path, uint64_t bytes, bm_out_file **out, bm_error *err);
/* Frees; an open fd is closed. */
void bm_out_file_free(bm_out_file *file);
/* What messages call it. */
const char *bm_out_file_shown(const bm_out_file *file);

bm_status bm_out_compressor_open(int compression, const char *shown, bm_out_compressor **out,
                                 bm_error *err);
/* Compress `len` bytes into the file's buffer, flushing as it fills; `end` closes the frame. */
bm_status bm_out_compressor_run(bm_out_file *file, const void *data, size_t len, bool end,
                                bm_error *err);
void bm_out_compressor_close(bm_out_compressor *compressor); /* NULL is fine */

/* out_dir.c: a finished file joins its directory; its fd is taken on success. */
bm_status bm_out_dir_take(bm_out_dir *dir, bm_out_file *file, bm_error *err);
/* out_dir_resume.c: does close leave what lies in the directory? */
bool bm_out_dir_preserves(const bm_out_dir *dir);

/* out_file_place.c: the steps that both kinds of output share. */
bm_status bm_place_parent(const char *path, char **out, bm_error *err); /* *out: the caller's */
bm_status bm_place_sync_folder(const char *path, bm_error *err);
/* Rename, refusing to replace anything: BM_ERR_USAGE if `to` is there. */
bm_status bm_place_new(const char *from, const char *to, bool is_dir, bm_error *err);
/* Exchange `from` (new) and `to` (old): afterwards the old one lies at `from`. */
bm_status bm_place_exchange(const char *from, const char *to, bm_error *err);
/* Remove a file or a tree; links are removed, not followed. Missing is fine. */
bm_status bm_place_remove(const char *path, bm_error *err);

/* out_file_check.c */
#define BM_OUT_MARKER BM_OUT_STATE_PREFIX "work" /* lies in a .partial directory with its job */
/* What may stand at a target: nothing, or with force what we may replace. BM_ERR_USAGE, BM_ERR_IO.
 */
bm_status bm_out_target(const char *target, bool force, bool is_dir, bm_error *err);
/* Does the directory hold our report and nothing that we do not write? BM_ERR_USAGE says why not.
 */
bm_status bm_out_ours(const char *path, bm_error *err);
/* Is it the name of a file of state (or the marker), at the top of a work directory? */
bool bm_out_is_state(const char *name);
/* Only top-level names of ours (or none), and those of state if it `is_work`? `other` (cap bytes)
 * receives one that is not, or "". */
bm_status bm_out_names_ours(const char *path, bool is_work, char *other, size_t cap, bm_error *err);

#endif
