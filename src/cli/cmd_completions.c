/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_completions.c -- bandmill completions install: writes completions to the folders of the user
 * in which shells search for them.
 *
 *     bash  $XDG_DATA_HOME/bash-completion/completions/bandmill
 *           (if BASH_COMPLETION_USER_DIR is set: $BASH_COMPLETION_USER_DIR/completions/bandmill)
 *     zsh   $XDG_DATA_HOME/zsh/site-functions/_bandmill, a folder that ~/.zshrc must name
 *     fish  $XDG_CONFIG_HOME/fish/completions/bandmill.fish
 *
 * The texts come from packaging/completions. An existing file is replaced only if it begins like
 * the completions of some version of bandmill. All paths are checked before anything is written.
 *
 * Tests: tests/cli/cases/completions.sh, tests/pages/test_completions.py */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/completions.h"

enum { N_SHELLS = 3 };

typedef struct shell {
    const char *name;
    const char *variable, *fallback; /* the variable that names the user's folder; the default of
                                      * that folder, relative to the home directory */
    const char *file;                /* relative to that folder */
} shell;

/* The order is that of cli_completions. */
static const shell shells[N_SHELLS] = {
    {"bash", "XDG_DATA_HOME", ".local/share", "bash-completion/completions/bandmill"},
    {"zsh", "XDG_DATA_HOME", ".local/share", "zsh/site-functions/_bandmill"},
    {"fish", "XDG_CONFIG_HOME", ".config", "fish/completions/bandmill.fish"},
};

/* The variable's value; NULL if the value is not an absolute path. */
static const char *folder_of(const char *variable)
{
    const char *value = getenv(variable);
    return value != NULL && value[0] == '/' ? value : NULL;
}

static bm_status find_place(const shell *of, char path[PATH_MAX], bm_error *err)
{
    const char *own = of == shells ? folder_of("BASH_COMPLETION_USER_DIR") : NULL;
    const char *folder = folder_of(of->variable), *home = folder_of("HOME");
    int len;
    if (own != NULL)
        len = snprintf(path, PATH_MAX, "%s%s", own, strchr(of->file, '/'));
    else if (folder != NULL)
        len = snprintf(path, PATH_MAX, "%s/%s", folder, of->file);
    else if (home != NULL)
        len = snprintf(path, PATH_MAX, "%s/%s/%s", home, of->fallback, of->file);
    else
        return args_fail(err, "no home directory (expected HOME, or %s)", of->variable);
    return len < PATH_MAX ? BM_OK : args_fail(err, "the path of completions is too long");
}

static bm_status fail_io(const char *path, bm_error *err)
{
    err->code = errno;
    args_fail(err, "%.500s: cannot write: %s", path, strerror(errno));
    return err->status = BM_ERR_IO;
}

/* Check that the file `path` does not exist, or begins like our completions. */
static bm_status check_place(const char *path, bm_error *err)
{
    char head[128] = "";
    struct stat there;
    if (lstat(path, &there) != 0)
        return errno == ENOENT ? BM_OK : fail_io(path, err);
    FILE *file = S_ISREG(there.st_mode) ? fopen(path, "r") : NULL;
    if (file != NULL) {
        head[fread(head, 1, sizeof head - 1, file)] = '\0';
        fclose(file);
    }
    return strstr(head, " completion for bandmill, made by ") != NULL
               ? BM_OK
               : args_fail(err,
                           "%.500s is there, and is none of bandmill's (expected no such file)",
                           path);
}

static bm_status make_folders(char *path, bm_error *err)
{
    for (char *at = strchr(path + 1, '/'); at != NULL; at = strchr(at + 1, '/')) {
        *at = '\0';
        const bool made = mkdir(path, 0777) == 0 || errno == EEXIST;
        const bm_status status = made ? BM_OK : fail_io(path, err);
        *at = '/';
        if (status != BM_OK)
            return status;
    }
    return BM_OK;
}

/* Write the file under a temporary name in the same folder, then rename it, so that a shell never
 * reads half a file. */
static bm_status write_file(char *path, const cli_completion *completion, bm_error *err)
{
    char part[PATH_MAX + 32];
    bm_status status = make_folders(path, err);
    if (status != BM_OK)
        return status;
    snprintf(part, sizeof part, "%s.%ld", path, (long)getpid());
    FILE *file = fopen(part, "wx");
    if (file == NULL)
        return fail_io(part, err);
    const bool whole = fwrite(completion->text, 1, completion->len, file) == completion->len;
    if (fclose(file) == 0 && whole && rename(part, path) == 0)
        return BM_OK;
    status = fail_io(path, err);
    unlink(part);
    return status;
}

/* --- will the shell load them? --- */

/* Is bash-completion installed? Its script makes bash load the completions of single commands. */
static bool has_bash_completion(void)
{
    static const char *const scripts[] = {"/usr/share/bash-completion/bash_completion",
                                          "/usr/local/share/bash-completion/bash_completion",
                                          "/etc/bash_completion"};
    for (size_t i = 0; i < sizeof scripts / sizeof scripts[0]; i++)
        if (access(scripts[i], R_OK) == 0)
            return true;
    return false;
}

/* Does .zshrc, in $ZDOTDIR or the home directory, name the folder outside of comment lines? The
 * home directory may be written as ~ or $HOME, so only the rest of the path is searched for. */
static bool zshrc_names(const char *folder)
{
    const char *home = folder_of("HOME"), *own = folder_of("ZDOTDIR"), *rest = folder;
    char path[PATH_MAX], line[4096];
    const size_t len = home != NULL ? strlen(home) : 0;
    if (own == NULL && home == NULL)
        return false;
    if (len > 0 && strncmp(folder, home, len) == 0 && folder[len] == '/')
        rest = folder + len;
    if (snprintf(path, sizeof path, "%s/.zshrc", own != NULL ? own : home) >= (int)sizeof path)
        return false;
    FILE *file = fopen(path, "re");
    bool named = false;
    while (file != NULL && !named && fgets(line, sizeof line, file) != NULL)
        named = line[strspn(line, " \t")] != '#' && strstr(line, rest) != NULL;
    if (file != NULL)
        fclose(file);
    return named;
}

static void say_written(cli_context *context, const shell *of, const char *path)
{
    char folder[PATH_MAX];
    snprintf(folder, sizeof folder, "%.*s", (int)(strrchr(path, '/') - path), path);
    cli_report_note(&context->console, "completions for %s are in %s (to undo it: rm %s)", of->name,
                    path, path);
    if (of == shells && !has_bash_completion())
        cli_report_note(&context->console,
                        "bash does not load them: the package bash-completion is not installed "
                        "(without it, ~/.bashrc can have: . %s)",
                        path);
    if (of == shells + 1 && !zshrc_names(folder))
        cli_report_note(&context->console,
                        "zsh does not load them until ~/.zshrc has, before compinit: "
                        "fpath=(%s $fpath)",
                        folder);
}

/* Choose the shells that are named after "install". If none are named, choose the user's shell. */
static bm_status choose(const arg_list *words, bool chosen[N_SHELLS], bm_error *err)
{
    const char *own = getenv("SHELL");
    if (words->n == 0 || strcmp(words->items[0], "install") != 0)
        return args_fail(err, "completions without a task (expected completions install)");
    if (words->n == 1 && own == NULL)
        return args_fail(err, "no shell (expected bash, zsh or fish, or SHELL)");
    for (size_t i = words->n > 1; i < words->n; i++) {
        const char *word = i > 0 ? words->items[i] : own;
        const char *slash = i > 0 ? NULL : strrchr(word, '/');
        size_t s = 0;
        while (s < N_SHELLS && strcmp(slash != NULL ? slash + 1 : word, shells[s].name) != 0)
            s++;
        if (s == N_SHELLS)
            return args_fail(err, "no completions for the shell \"%.200s\" (bash, zsh or fish)",
                             word);
        chosen[s] = true;
    }
    return BM_OK;
}

/* Find the path for each chosen shell, and check that the file may be written. */
static bm_status find_places(const bool chosen[N_SHELLS], char paths[N_SHELLS][PATH_MAX],
                             bm_error *err)
{
    for (size_t s = 0; s < N_SHELLS; s++) {
        if (!chosen[s])
            continue;
        bm_status status = find_place(&shells[s], paths[s], err);
        if (status != BM_OK || (status = check_place(paths[s], err)) != BM_OK)
            return status;
    }
    return BM_OK;
}

bm_status cli_run_completions(cli_context *context, bm_error *err)
{
    static char paths[N_SHELLS][PATH_MAX];
    bool chosen[N_SHELLS] = {false};
    const char *before = "{\"schema\":1,\"files\":[";
    bm_status status = choose(&context->settings.operands, chosen, err);
    if (status != BM_OK || (status = find_places(chosen, paths, err)) != BM_OK)
        return status;
    for (size_t s = 0; s < N_SHELLS; s++) {
        if (!chosen[s])
            continue;
        if ((status = write_file(paths[s], &cli_completions[s], err)) != BM_OK)
            return status;
        say_written(context, &shells[s], paths[s]);
        if (!context->console.json)
            continue;
        cli_print(&context->console, "%s{\"shell\":\"%s\",\"path\":", before, shells[s].name);
        cli_json_string(context->console.out, paths[s]);
        cli_print(&context->console, "}");
        before = ",";
    }
    if (context->console.json)
        cli_print(&context->console, "]}\n");
    return cli_finish(&context->console, err);
}
