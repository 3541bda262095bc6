/* What the tables of a MinHashLSH hold, once more, for queries alone: from the bytes of a band to the documents that have them.
 *
 *     slots      the hash of a band, and the last document that has it
 *     documents  the bytes of their bands, and for each band the document before that is in the same bucket
 *
 * bm_py_buckets gives a function of Python's,
 *
 *     look(sketch, scheme, number of its values, keys, waiting) -> list of keys, or None
 *
 * which first takes in what waits, pairs of a key and its bands in a list, and then finds the keys of the sketch's buckets.
 * None: it cannot tell, and the tables have to be asked: another type of sketch, another scheme, bands of another width. The
 * keys stay with the caller: document i is keys[i]. A key that comes twice would be found twice. */
#define BM_PY_NONE UINT32_MAX

struct bm_py_slot {
    uint64_t hash;
    uint32_t last; /* document; BM_PY_NONE: the slot is free */
};

struct bm_py_buckets {
    PyTypeObject *types[2]; /* of sketches; they live as long as the module */
    PyObject *values, *scheme, *bytes; /* names */
    uint32_t bands, rows, n_docs, cap_docs, turn; /* rows: values of a band */
    size_t width; /* bytes of a band; 0: there are no documents */
    bool broken;
    unsigned char *docs; /* bands * width each */
    uint32_t *before;    /* bands each */
    uint32_t *seen;      /* the turn in which a document was found last */
    struct bm_py_slot *slots;
    size_t n_slots, n_used;
    unsigned char *asked; /* the bands of the sketch */
};

static void bm_py_buckets_free(struct bm_py_buckets *b)
{
    Py_XDECREF(b->values);
    Py_XDECREF(b->scheme);
    Py_XDECREF(b->bytes);
    free(b->docs);
    free(b->before);
    free(b->seen);
    free(b->slots);
    free(b->asked);
    free(b);
}

static uint64_t bm_py_band_hash(const unsigned char *data, size_t size, uint32_t band)
{
    uint64_t h = (band + 1) * UINT64_C(0x9E3779B97F4A7C15);
    while (size > 0) {
        uint64_t word = 0;
        const size_t n = size < 8 ? size : 8;
        memcpy(&word, data, n);
        h = (h ^ word) * UINT64_C(0xFF51AFD7ED558CCD);
        h ^= h >> 32;
        data += n, size -= n;
    }
    return h ^ h >> 29;
}

/* The slot of a band: one of these bytes, or the free one where it would be. */
static struct bm_py_slot *bm_py_find(const struct bm_py_buckets *b, const unsigned char *data, uint32_t band, uint64_t hash)
{
    for (size_t at = (size_t)hash & (b->n_slots - 1);; at = (at + 1) & (b->n_slots - 1)) {
        struct bm_py_slot *slot = &b->slots[at];
        if (slot->last == BM_PY_NONE)
            return slot;
        if (slot->hash == hash &&
            memcmp(b->docs + ((size_t)slot->last * b->bands + band) * b->width, data, b->width) == 0)
            return slot;
    }
}

static bool bm_py_more_slots(struct bm_py_buckets *b)
{
    const size_t n = b->n_slots == 0 ? 1024 : b->n_slots * 2, n_old = b->n_slots;
    struct bm_py_slot *slots = malloc(n * sizeof *slots), *old = b->slots;
    if (slots == NULL)
        return false;
    for (size_t i = 0; i < n; i++)
        slots[i] = (struct bm_py_slot){0, BM_PY_NONE};
    for (size_t i = 0; i < n_old; i++) {
        size_t at = (size_t)old[i].hash & (n - 1);
        if (old[i].last == BM_PY_NONE)
            continue;
        while (slots[at].last != BM_PY_NONE)
            at = (at + 1) & (n - 1);
        slots[at] = old[i];
    }
    free(old);
    b->slots = slots;
    b->n_slots = n;
    return true;
}

static bool bm_py_more_docs(struct bm_py_buckets *b)
{
    const size_t cap = b->cap_docs == 0 ? 64 : (size_t)b->cap_docs * 2;
    if (cap >= BM_PY_NONE)
        return false;
    unsigned char *docs = realloc(b->docs, cap * b->bands * b->width);
    b->docs = docs != NULL ? docs : b->docs;
    uint32_t *before = realloc(b->before, cap * b->bands * sizeof *before);
    b->before = before != NULL ? before : b->before;
    uint32_t *seen = realloc(b->seen, cap * sizeof *seen);
    b->seen = seen != NULL ? seen : b->seen;
    if (docs == NULL || before == NULL || seen == NULL)
        return false;
    memset(seen + b->cap_docs, 0, (cap - b->cap_docs) * sizeof *seen);
    b->cap_docs = (uint32_t)cap;
    return true;
}

/* A document of these bands, a tuple of bytes. False: it does not fit in, or there is no memory. */
static bool bm_py_add(struct bm_py_buckets *b, PyObject *bands)
{
    if (!PyTuple_Check(bands) || PyTuple_Size(bands) != (Py_ssize_t)b->bands)
        return false;
    for (uint32_t i = 0; i < b->bands; i++) {
        PyObject *band = PyTuple_GetItem(bands, (Py_ssize_t)i);
        if (!PyBytes_CheckExact(band) || PyBytes_Size(band) == 0 ||
            (b->width != 0 && (size_t)PyBytes_Size(band) != b->width))
            return false;
        b->width = (size_t)PyBytes_Size(band);
    }
    if (b->n_docs == b->cap_docs && !bm_py_more_docs(b))
        return false;
    if (b->asked == NULL && (b->asked = malloc(b->bands * b->width)) == NULL)
        return false;
    unsigned char *own = b->docs + (size_t)b->n_docs * b->bands * b->width;
    for (uint32_t i = 0; i < b->bands; i++, own += b->width) {
        if (b->n_used * 4 >= b->n_slots * 3 && !bm_py_more_slots(b))
            return false;
        memcpy(own, PyBytes_AsString(PyTuple_GetItem(bands, (Py_ssize_t)i)), b->width);
        const uint64_t hash = bm_py_band_hash(own, b->width, i);
        struct bm_py_slot *slot = bm_py_find(b, own, i, hash);
        b->n_used += slot->last == BM_PY_NONE;
        b->before[(size_t)b->n_docs * b->bands + i] = slot->last;
        *slot = (struct bm_py_slot){hash, b->n_docs};
    }
    b->n_docs++;
    return true;
}

static bool bm_py_take_waiting(struct bm_py_buckets *b, PyObject *keys, PyObject *waiting)
{
    const Py_ssize_t n = PyList_Size(waiting);
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *pair = PyList_GetItem(waiting, i);
        if (!PyTuple_Check(pair) || PyTuple_Size(pair) != 2 || PyList_Append(keys, PyTuple_GetItem(pair, 0)) != 0 ||
            !bm_py_add(b, PyTuple_GetItem(pair, 1)))
            return false;
    }
    return n == 0 || PyList_SetSlice(waiting, 0, n, NULL) == 0;
}

/* The bytes of hash values, of which each has its own turned, as bands are kept. */
static bool bm_py_turn(struct bm_py_buckets *b, PyObject *bytes, Py_ssize_t n_values)
{
    const unsigned char *from = (const unsigned char *)PyBytes_AsString(bytes);
    const size_t size = (size_t)PyBytes_Size(bytes), used = b->bands * b->width;
    const size_t item = n_values > 0 ? size / (size_t)n_values : 0;
    if ((item != 4 && item != 8) || item * (size_t)n_values != size || used > size || b->width != item * b->rows)
        return false;
    for (size_t at = 0; at < used; at += item) {
        uint64_t wide;
        uint32_t word;
        if (item == 4) {
            memcpy(&word, from + at, 4);
            word = __builtin_bswap32(word);
            memcpy(b->asked + at, &word, 4);
        } else {
            memcpy(&wide, from + at, 8);
            wide = __builtin_bswap64(wide);
            memcpy(b->asked + at, &wide, 8);
        }
    }
    return true;
}

static bool bm_py_collect(struct bm_py_buckets *b, PyObject *keys, PyObject *found)
{
    if (++b->turn == 0) { /* they came round */
        memset(b->seen, 0, b->cap_docs * sizeof *b->seen);
        b->turn = 1;
    }
    const unsigned char *data = b->asked;
    for (uint32_t i = 0; i < b->bands; i++, data += b->width) {
        const struct bm_py_slot *slot = bm_py_find(b, data, i, bm_py_band_hash(data, b->width, i));
        for (uint32_t doc = slot->last; doc != BM_PY_NONE; doc = b->before[(size_t)doc * b->bands + i]) {
            if (b->seen[doc] == b->turn)
                continue;
            b->seen[doc] = b->turn;
            PyObject *key = PyList_GetItem(keys, (Py_ssize_t)doc);
            if (key == NULL || PyList_Append(found, key) != 0)
                return false;
        }
    }
    return true;
}

/* The sketch's values as they are kept; false: it is not one of ours, or not of this index. */
static bool bm_py_take_sketch(struct bm_py_buckets *b, PyObject *sketch, PyObject *scheme, Py_ssize_t n_values)
{
    if (Py_TYPE(sketch) != b->types[0] && Py_TYPE(sketch) != b->types[1])
        return false;
    PyObject *own = PyObject_GetAttr(sketch, b->scheme);
    const bool same = own != NULL && PyObject_RichCompareBool(own, scheme, Py_EQ) == 1;
    Py_XDECREF(own);
    PyObject *values = same ? PyObject_GetAttr(sketch, b->values) : NULL;
    PyObject *bytes = values != NULL ? PyObject_CallMethodObjArgs(values, b->bytes, NULL) : NULL;
    const bool good = bytes != NULL && PyBytes_CheckExact(bytes) && bm_py_turn(b, bytes, n_values);
    Py_XDECREF(values);
    Py_XDECREF(bytes);
    return good;
}

static PyObject *bm_py_look(PyObject *self, PyObject *args)
{
    struct bm_py_buckets *b = PyCapsule_GetPointer(self, NULL);
    if (b == NULL || PyTuple_Size(args) != 5)
        return NULL;
    PyObject *keys = PyTuple_GetItem(args, 3), *waiting = PyTuple_GetItem(args, 4), *found = NULL;
    if (!b->broken && PyList_Size(waiting) > 0)
        b->broken = !bm_py_take_waiting(b, keys, waiting);
    const Py_ssize_t n_values = PyLong_AsSsize_t(PyTuple_GetItem(args, 2));
    if (!b->broken && b->n_docs > 0 && bm_py_take_sketch(b, PyTuple_GetItem(args, 0), PyTuple_GetItem(args, 1), n_values)) {
        found = PyList_New(0);
        if (found != NULL && !bm_py_collect(b, keys, found)) {
            Py_DECREF(found);
            found = NULL;
        }
    }
    if (found != NULL)
        return found;
    PyErr_Clear();
    Py_INCREF(Py_None);
    return Py_None;
}

static PyMethodDef bm_py_look_method = {"look", bm_py_look, METH_VARARGS, NULL};

static void bm_py_buckets_end(PyObject *capsule)
{
    bm_py_buckets_free(PyCapsule_GetPointer(capsule, NULL));
}

/* A new reference to the function, of sketches of these two types, as a number; 0: no memory. Holds Python's lock. */
static uintptr_t bm_py_buckets(uintptr_t first_type, uintptr_t second_type, uint32_t bands, uint32_t rows)
{
    PyGILState_STATE lock = PyGILState_Ensure();
    struct bm_py_buckets *b = calloc(1, sizeof *b);
    PyObject *look = NULL;
    if (b != NULL) {
        *b = (struct bm_py_buckets){.types = {(PyTypeObject *)first_type, (PyTypeObject *)second_type}, .bands = bands, .rows = rows};
        b->values = PyUnicode_InternFromString("hashvalues");
        b->scheme = PyUnicode_InternFromString("scheme");
        b->bytes = PyUnicode_InternFromString("tobytes");
        PyObject *capsule = b->values != NULL && b->scheme != NULL && b->bytes != NULL
                                ? PyCapsule_New(b, NULL, bm_py_buckets_end)
                                : NULL;
        if (capsule == NULL)
            bm_py_buckets_free(b);
        else
            look = PyCFunction_NewEx(&bm_py_look_method, capsule, NULL);
        Py_XDECREF(capsule);
    }
    PyErr_Clear();
    PyGILState_Release(lock);
    return (uintptr_t)look;
}
