/* SPDX-License-Identifier: Apache-2.0 */
/* Where no signal enters. Python runs the handlers of signals in its main thread, between two steps
 * of whatever it is at, and a handler may raise: Ctrl-C does. A handle that was opened and stands
 * nowhere yet is lost then, and one that was closed and still stands somewhere is used again.
 *
 * So handles change hands in two ways. What a call fills lies in a place whose end frees it, and
 * which was there before the call (bm_py_drop_*, with ffi.gc). What takes several steps, such as
 * closing an index, letting a job write it and opening it again, is done in another thread.
 * bm_py_apart gives the function for that,
 *
 *     apart(work, address of `stop`, or 0) -> what work() gives
 *
 * for the main thread alone. It waits for work(), also if a handler raises meanwhile: it sets
 * `stop`, which ends jobs, waits on, and raises that when work() has ended. What else handlers
 * raise until then is dropped: the first has been heard. `stop` is 0 again afterwards. */
#include <ftw.h>
#include <pythread.h>
#include <semaphore.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define BM_PY_NO_THREAD ((unsigned long)-1) /* PYTHREAD_INVALID_THREAD_ID, which the stable ABI lacks */

struct bm_py_task {
    PyObject *work, *result;
    PyObject *error[3]; /* type, value, traceback */
    sem_t ended;
};

static void bm_py_do_task(void *arg)
{
    struct bm_py_task *task = arg;
    PyGILState_STATE lock = PyGILState_Ensure();
    task->result = PyObject_CallObject(task->work, NULL);
    PyErr_Fetch(&task->error[0], &task->error[1], &task->error[2]);
    PyGILState_Release(lock);
    sem_post(&task->ended);
}

/* Waits until it has ended, a signal comes, or a tenth of a second has passed: a signal may be
 * another thread's, and only this one asks for it. */
static bool bm_py_wait(sem_t *ended)
{
    const long tenth_ns = 100000000, second_ns = 1000000000;
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += tenth_ns;
    if (until.tv_nsec >= second_ns) {
        until.tv_nsec -= second_ns;
        until.tv_sec++;
    }
    return sem_timedwait(ended, &until) == 0;
}

/* Waits for a task that runs. `raised`: what the first handler raised that did. */
static void bm_py_await(struct bm_py_task *task, int *stop, PyObject *raised[3])
{
    for (;;) {
        PyThreadState *state = PyEval_SaveThread();
        const bool ended = bm_py_wait(&task->ended);
        PyEval_RestoreThread(state);
        if (ended)
            return; /* what comes now, Python's own steps will see */
        if (PyErr_CheckSignals() == 0)
            continue;
        if (raised[0] != NULL) {
            PyErr_Clear();
            continue;
        }
        PyErr_Fetch(&raised[0], &raised[1], &raised[2]);
        if (stop != NULL)
            __atomic_store_n(stop, 1, __ATOMIC_RELAXED);
    }
}

static PyObject *bm_py_apart_call(PyObject *self, PyObject *args)
{
    (void)self;
    PyObject *raised[3] = {NULL, NULL, NULL};
    struct bm_py_task task = {.work = PyTuple_GetItem(args, 0)};
    PyObject *at = PyTuple_GetItem(args, 1);
    int *stop = at != NULL ? PyLong_AsVoidPtr(at) : NULL;
    if (PyErr_Occurred() != NULL)
        return NULL;
    if (!Py_IsInitialized()) /* at the interpreter's end no thread begins */
        return PyObject_CallObject(task.work, NULL);
    sem_init(&task.ended, 0, 0);
    if (PyThread_start_new_thread(bm_py_do_task, &task) == BM_PY_NO_THREAD) {
        sem_destroy(&task.ended);
        PyErr_SetString(PyExc_RuntimeError, "can't start new thread");
        return NULL;
    }
    bm_py_await(&task, stop, raised);
    sem_destroy(&task.ended);
    if (raised[0] == NULL) {
        PyErr_Restore(task.error[0], task.error[1], task.error[2]);
        return task.result;
    }
    if (stop != NULL)
        __atomic_store_n(stop, 0, __ATOMIC_RELAXED);
    Py_XDECREF(task.result);
    for (int i = 0; i < 3; i++)
        Py_XDECREF(task.error[i]);
    PyErr_Restore(raised[0], raised[1], raised[2]);
    return NULL;
}

static PyMethodDef bm_py_apart_method = {"apart", bm_py_apart_call, METH_VARARGS, NULL};

/* Appends `made`, which it takes, to the list at this address; false: there is no memory. Holds
 * Python's lock. */
static bool bm_py_hand_over(uintptr_t to, PyObject *made)
{
    const bool done = made != NULL && PyList_Append((PyObject *)to, made) == 0;
    Py_XDECREF(made);
    PyErr_Clear();
    return done;
}

static bool bm_py_apart(uintptr_t to)
{
    PyGILState_STATE lock = PyGILState_Ensure();
    const bool done = bm_py_hand_over(to, PyCFunction_NewEx(&bm_py_apart_method, NULL, NULL));
    PyGILState_Release(lock);
    return done;
}

/* An index belongs to the process that opened it: a child opens its own, and closes no other. */
struct bm_py_index {
    bm_index *index;
    long process;
};

static bm_status bm_py_index_open(const char *path, const bm_index_options *options,
                                  struct bm_py_index *out, bm_error *err)
{
    out->process = (long)getpid();
    return bm_index_open(path, options, &out->index, err);
}

static void bm_py_index_close(struct bm_py_index *open)
{
    if (open->index != NULL && open->process == (long)getpid())
        bm_index_close(open->index);
    open->index = NULL;
}

/* A directory that goes with this, or at the interpreter's end: in the process that made it. The
 * list of all of them is touched under Python's lock. */
struct bm_py_folder {
    char path[4096]; /* "": there is none */
    long process;
    struct bm_py_folder *next, **link;
};

static struct bm_py_folder *bm_py_folders;

/* 0, or errno. Whatever follows, bm_py_folder_remove removes it. */
static int bm_py_folder_make(const char *path, struct bm_py_folder *out)
{
    if (strlen(path) >= sizeof out->path)
        return ENAMETOOLONG;
    if (mkdir(path, S_IRWXU) != 0)
        return errno;
    memcpy(out->path, path, strlen(path) + 1);
    out->process = (long)getpid();
    PyGILState_STATE lock = PyGILState_Ensure();
    out->next = bm_py_folders;
    out->link = &bm_py_folders;
    if (out->next != NULL)
        out->next->link = &out->next;
    bm_py_folders = out;
    PyGILState_Release(lock);
    return 0;
}

static int bm_py_remove_entry(const char *path, const struct stat *info, int kind, struct FTW *at)
{
    (void)info, (void)kind, (void)at;
    (void)remove(path); /* what cannot go stays */
    return 0;
}

/* Not in the list any more, and removed. */
static void bm_py_folder_clear(struct bm_py_folder *folder)
{
    enum { DESCRIPTORS = 16 };
    if (folder->process == (long)getpid())
        (void)nftw(folder->path, bm_py_remove_entry, DESCRIPTORS, FTW_DEPTH | FTW_PHYS);
    folder->path[0] = '\0';
}

static void bm_py_folder_leave(struct bm_py_folder *folder)
{
    *folder->link = folder->next;
    if (folder->next != NULL)
        folder->next->link = folder->link;
}

static void bm_py_folder_remove(struct bm_py_folder *folder)
{
    if (folder->path[0] == '\0')
        return;
    PyGILState_STATE lock = PyGILState_Ensure();
    bm_py_folder_leave(folder);
    PyGILState_Release(lock);
    bm_py_folder_clear(folder);
}

/* The interpreter is gone, and with it all threads that used a folder. */
static void bm_py_folders_end(void)
{
    while (bm_py_folders != NULL) {
        struct bm_py_folder *folder = bm_py_folders;
        bm_py_folder_leave(folder);
        bm_py_folder_clear(folder);
    }
}

/* Has what is left removed when the interpreter has ended. */
static void bm_py_folders_begin(void)
{
    (void)Py_AtExit(bm_py_folders_end);
}

/* What stands in a place is freed, as the place goes. */
#define BM_PY_DROP(name, type, end)                                                                \
    static void bm_py_drop_##name(type **at)                                                       \
    {                                                                                              \
        end(*at);                                                                                  \
        *at = NULL;                                                                                \
    }
BM_PY_DROP(device_list, bm_device_list, bm_device_list_close)
BM_PY_DROP(groups, bm_groups, bm_groups_free)
BM_PY_DROP(hash_sets, bm_hash_sets, bm_hash_sets_free)
BM_PY_DROP(joiner, bm_joiner, bm_joiner_close)
BM_PY_DROP(matches, bm_matches, bm_matches_free)
BM_PY_DROP(row_digest, bm_row_digest, bm_row_digest_close)
BM_PY_DROP(signed, bm_signed, bm_signed_free)
BM_PY_DROP(signer, bm_signer, bm_signer_close)
BM_PY_DROP(splitter, bm_splitter, bm_splitter_close)
BM_PY_DROP(string, char, bm_string_free)
BM_PY_DROP(summary, bm_summary, bm_summary_free)
BM_PY_DROP(tune_result, bm_tune_result, bm_tune_result_free)
