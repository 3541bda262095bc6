/* SPDX-License-Identifier: Apache-2.0 */
/* What the tables of a MinHashLSH hold, for queries alone: from the bytes of a band to the
 * documents that have them.
 *
 *     slots      the hash of a band, and the last document that has it
 *     documents  the bytes of their bands, and for each band the document before that is in the
 * same bucket
 *
 * bm_py_buckets gives a function of Python's,
 *
 *     look(sketch, scheme, number of its values, keys, waiting) -> list of keys, or None
 *
 * which first takes in what waits, and then finds the keys of the sketch's buckets. What waits is a
 * list of pairs: a key, and the bytes of all its hash values as they lie in memory, or the tuple of
 * its bands. None: it cannot tell, and the tables have to be asked: another type of sketch, another
 * scheme, bands of another width. The keys stay with the caller: document i is keys[i]. A key that
 * comes twice would be found twice.
 *
 * bm_py_taker gives the function that insertions begin with,
 *
 *     take(sketch, scheme, number of its values) -> the bytes of all its hash values, or None
 *
 * None: it is not exactly a sketch of ours, of this scheme, with so many integers of 4 or 8 bytes.
 *
 * Both hold Python's lock throughout, so that threads may share them. */
#define BM_PY_NONE UINT32_MAX

struct bm_py_slot {
    uint64_t hash;
    uint32_t last; /* document; BM_PY_NONE: the slot is free */
};

struct bm_py_buckets {
    PyTypeObject *types[2];                       /* of sketches; they live as long as the module */
    PyObject *values, *scheme, *bytes, *itemsize; /* names */
    uint32_t bands, rows, n_docs, cap_docs, turn; /* rows: values of a band */
    size_t width;                                 /* bytes of a band; 0: there are no documents */
    bool broken;
    unsigned char *docs; /* bands * width each */
    uint32_t *before;    /* bands each */
    uint32_t *seen;      /* the turn in which a document was found last */
    struct bm_py_slot *slots;
    size_t n_slots, n_used;
    unsigned char *asked; /* the bands of the sketch */
    uint64_t *hashes;     /* of the bands at hand */
};

static void bm_py_buckets_free(struct bm_py_buckets *b)
{
    Py_XDECREF(b->values);
    Py_XDECREF(b->scheme);
    Py_XDECREF(b->bytes);
    Py_XDECREF(b->itemsize);
    free(b->docs);
    free(b->before);
    free(b->seen);
    free(b->slots);
    free(b->asked);
    free(b->hashes);
    free(b);
}

static uint64_t bm_py_mix(uint64_t h, uint64_t word)
{
    h = (h ^ word) * UINT64_C(0xFF51AFD7ED558CCD);
    return h ^ h >> 32;
}

static uint64_t bm_py_band_hash(const unsigned char *data, size_t size, uint32_t band)
{
    uint64_t h = (band + 1) * UINT64_C(0x9E3779B97F4A7C15), word;
    uint32_t half;
    for (; size >= sizeof word; data += sizeof word, size -= sizeof word) {
        memcpy(&word, data, sizeof word);
        h = bm_py_mix(h, word);
    }
    if (size >= sizeof half) {
        memcpy(&half, data, sizeof half);
        h = bm_py_mix(h, half);
        data += sizeof half, size -= sizeof half;
    }
    for (; size > 0; data++, size--)
        h = bm_py_mix(h, *data);
    return h ^ h >> 29;
}

/* The slot of a band: one of these bytes, or the free one where it would be. */
static struct bm_py_slot *bm_py_find(const struct bm_py_buckets *b, const unsigned char *data,
                                     uint32_t band, uint64_t hash)
{
    for (size_t at = (size_t)hash & (b->n_slots - 1);; at = (at + 1) & (b->n_slots - 1)) {
        struct bm_py_slot *slot = &b->slots[at];
        if (slot->last == BM_PY_NONE)
            return slot;
        if (slot->hash == hash &&
            memcmp(b->docs + ((size_t)slot->last * b->bands + band) * b->width, data, b->width) ==
                0)
            return slot;
    }
}

/* As many slots that `more` bands besides fit in. */
static bool bm_py_more_slots(struct bm_py_buckets *b, size_t more)
{
    const size_t n_old = b->n_slots;
    size_t n = n_old == 0 ? 1024 : n_old;
    while ((b->n_used + more) * 4 >= n * 3)
        n *= 2;
    if (n == n_old)
        return true;
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

/* Room for one document more, of bands of `width` bytes, which is that of all. */
static bool bm_py_make_room(struct bm_py_buckets *b, size_t width)
{
    if (width == 0 || (b->width != 0 && width != b->width))
        return false;
    b->width = width;
    if (b->n_docs == b->cap_docs && !bm_py_more_docs(b))
        return false;
    if (b->asked == NULL)
        b->asked = malloc(b->bands * b->width);
    if (b->hashes == NULL)
        b->hashes = malloc(b->bands * sizeof *b->hashes);
    return b->asked != NULL && b->hashes != NULL;
}

/* The bands of a tuple of bytes, one behind the other, to where the next document lies. */
static bool bm_py_place_bands(struct bm_py_buckets *b, PyObject *bands)
{
    if (!PyTuple_Check(bands) || PyTuple_Size(bands) != (Py_ssize_t)b->bands)
        return false;
    for (uint32_t i = 0; i < b->bands; i++) {
        PyObject *band = PyTuple_GetItem(bands, (Py_ssize_t)i);
        if (!PyBytes_CheckExact(band) || !bm_py_make_room(b, (size_t)PyBytes_Size(band)))
            return false;
        memcpy(b->docs + ((size_t)b->n_docs * b->bands + i) * b->width, PyBytes_AsString(band),
               b->width);
    }
    return true;
}

/* The bytes of one of so many hash values; 0: they are no integers. */
static size_t bm_py_item(PyObject *bytes, Py_ssize_t n_values)
{
    const size_t size = (size_t)PyBytes_Size(bytes),
                 item = n_values > 0 ? size / (size_t)n_values : 0;
    return (item == 4 || item == 8) && item * (size_t)n_values == size ? item : 0;
}

/* The first values, which the bands are of, with the bytes of each turned, as bands are kept. */
static void bm_py_turn(const struct bm_py_buckets *b, const unsigned char *from, size_t item,
                       unsigned char *to)
{
    const size_t used = b->bands * b->width;
    for (size_t at = 0; at < used; at += item) {
        uint64_t wide;
        uint32_t word;
        if (item == 4) {
            memcpy(&word, from + at, 4);
            word = __builtin_bswap32(word);
            memcpy(to + at, &word, 4);
        } else {
            memcpy(&wide, from + at, 8);
            wide = __builtin_bswap64(wide);
            memcpy(to + at, &wide, 8);
        }
    }
}

static bool bm_py_place_values(struct bm_py_buckets *b, PyObject *bytes, Py_ssize_t n_values)
{
    const size_t item = bm_py_item(bytes, n_values);
    if (item == 0 || (size_t)b->bands * b->rows > (size_t)n_values ||
        !bm_py_make_room(b, item * b->rows))
        return false;
    bm_py_turn(b, (const unsigned char *)PyBytes_AsString(bytes), item,
               b->docs + (size_t)b->n_docs * b->bands * b->width);
    return true;
}

/* The hashes of bands, and a word to the CPU that their slots are wanted: they lie anywhere in
 * memory. */
static void bm_py_hash_bands(struct bm_py_buckets *b, const unsigned char *data)
{
    for (uint32_t i = 0; i < b->bands; i++, data += b->width) {
        b->hashes[i] = bm_py_band_hash(data, b->width, i);
        __builtin_prefetch(&b->slots[(size_t)b->hashes[i] & (b->n_slots - 1)]);
    }
}

/* Puts the document that lies behind the last into its buckets, for which there are slots. */
static void bm_py_enter(struct bm_py_buckets *b)
{
    const unsigned char *own = b->docs + (size_t)b->n_docs * b->bands * b->width;
    bm_py_hash_bands(b, own);
    for (uint32_t i = 0; i < b->bands; i++, own += b->width) {
        const uint64_t hash = b->hashes[i];
        struct bm_py_slot *slot = bm_py_find(b, own, i, hash);
        b->n_used += slot->last == BM_PY_NONE;
        b->before[(size_t)b->n_docs * b->bands + i] = slot->last;
        *slot = (struct bm_py_slot){hash, b->n_docs};
    }
    b->n_docs++;
}

static bool bm_py_take_waiting(struct bm_py_buckets *b, PyObject *keys, PyObject *waiting,
                               Py_ssize_t n_values)
{
    const Py_ssize_t n = PyList_Size(waiting);
    if (!bm_py_more_slots(b, (size_t)n * b->bands))
        return false;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *pair = PyList_GetItem(waiting, i);
        if (!PyTuple_Check(pair) || PyTuple_Size(pair) != 2)
            return false;
        PyObject *given = PyTuple_GetItem(pair, 1);
        if (PyBytes_CheckExact(given) ? !bm_py_place_values(b, given, n_values)
                                      : !bm_py_place_bands(b, given))
            return false;
        if (PyList_Append(keys, PyTuple_GetItem(pair, 0)) != 0)
            return false;
        bm_py_enter(b);
    }
    return n == 0 || PyList_SetSlice(waiting, 0, n, NULL) == 0;
}

static bool bm_py_collect(struct bm_py_buckets *b, PyObject *keys, PyObject *found)
{
    if (++b->turn == 0) { /* they came round */
        memset(b->seen, 0, b->cap_docs * sizeof *b->seen);
        b->turn = 1;
    }
    const unsigned char *data = b->asked;
    bm_py_hash_bands(b, data);
    for (uint32_t i = 0; i < b->bands; i++, data += b->width) {
        const struct bm_py_slot *slot = bm_py_find(b, data, i, b->hashes[i]);
        for (uint32_t doc = slot->last; doc != BM_PY_NONE;
             doc = b->before[(size_t)doc * b->bands + i]) {
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

static bool bm_py_has_size(PyObject *values, PyObject *name, size_t item)
{
    PyObject *size = PyObject_GetAttr(values, name);
    const bool same = size != NULL && PyLong_AsSize_t(size) == item;
    Py_XDECREF(size);
    return same;
}

/* The sketch's values as they are kept; false: it is not one of ours, or not of this index. */
static bool bm_py_take_sketch(struct bm_py_buckets *b, PyObject *sketch, PyObject *scheme,
                              Py_ssize_t n_values)
{
    if (Py_TYPE(sketch) != b->types[0] && Py_TYPE(sketch) != b->types[1])
        return false;
    PyObject *own = PyObject_GetAttr(sketch, b->scheme);
    const bool same = own != NULL && PyObject_RichCompareBool(own, scheme, Py_EQ) == 1;
    Py_XDECREF(own);
    PyObject *values = same ? PyObject_GetAttr(sketch, b->values) : NULL;
    PyObject *bytes = values != NULL ? PyObject_CallMethodObjArgs(values, b->bytes, NULL) : NULL;
    const size_t item =
        bytes != NULL && PyBytes_CheckExact(bytes) ? bm_py_item(bytes, n_values) : 0;
    const bool good =
        item != 0 && b->width == item * b->rows && bm_py_has_size(values, b->itemsize, item);
    if (good)
        bm_py_turn(b, (const unsigned char *)PyBytes_AsString(bytes), item, b->asked);
    Py_XDECREF(values);
    Py_XDECREF(bytes);
    return good;
}

static PyObject *bm_py_look(PyObject *self, PyObject *args)
{
    struct bm_py_buckets *b = PyCapsule_GetPointer(self, NULL);
    if (b == NULL || PyTuple_Size(args) != 5)
        return NULL;
    PyObject *keys = PyTuple_GetItem(args, 3), *waiting = PyTuple_GetItem(args, 4);
    const Py_ssize_t n_values = PyLong_AsSsize_t(PyTuple_GetItem(args, 2));
    PyErr_Clear();                   /* -1 is no sketch's number */
    PyObject *found = PyList_New(0); /* first, for it may collect garbage, which may ask too */
    if (!b->broken && PyList_Size(waiting) > 0)
        b->broken = !bm_py_take_waiting(b, keys, waiting, n_values);
    if (found != NULL && !b->broken && b->n_docs > 0 &&
        bm_py_take_sketch(b, PyTuple_GetItem(args, 0), PyTuple_GetItem(args, 1), n_values) &&
        bm_py_collect(b, keys, found))
        return found;
    Py_XDECREF(found);
    PyErr_Clear();
    Py_INCREF(Py_None);
    return Py_None;
}

static PyMethodDef bm_py_look_method = {"look", bm_py_look, METH_VARARGS, NULL};

static void bm_py_buckets_end(PyObject *capsule)
{
    bm_py_buckets_free(PyCapsule_GetPointer(capsule, NULL));
}

/* Appends the function, of sketches of these two types, to the list at this address; false: no
 * memory. Holds Python's lock. */
static bool bm_py_buckets(uintptr_t to, uintptr_t first_type, uintptr_t second_type, uint32_t bands,
                          uint32_t rows)
{
    PyGILState_STATE lock = PyGILState_Ensure();
    struct bm_py_buckets *b = calloc(1, sizeof *b);
    PyObject *look = NULL;
    if (b != NULL) {
        *b = (struct bm_py_buckets){
            .types = {(PyTypeObject *)first_type, (PyTypeObject *)second_type},
            .bands = bands,
            .rows = rows};
        b->values = PyUnicode_InternFromString("hashvalues");
        b->scheme = PyUnicode_InternFromString("scheme");
        b->bytes = PyUnicode_InternFromString("tobytes");
        b->itemsize = PyUnicode_InternFromString("itemsize");
        PyObject *capsule =
            b->values != NULL && b->scheme != NULL && b->bytes != NULL && b->itemsize != NULL
                ? PyCapsule_New(b, NULL, bm_py_buckets_end)
                : NULL;
        if (capsule == NULL)
            bm_py_buckets_free(b);
        else
            look = PyCFunction_NewEx(&bm_py_look_method, capsule, NULL);
        Py_XDECREF(capsule);
    }
    const bool done = bm_py_hand_over(to, look);
    PyGILState_Release(lock);
    return done;
}

/* What take compares with; all live as long as the module. */
enum { BM_PY_SKETCHES = 2, BM_PY_DTYPES = 2 };

struct bm_py_taker {
    PyTypeObject *sketches[BM_PY_SKETCHES], *array;
    PyObject *dtypes[BM_PY_DTYPES];            /* of 4 and 8 bytes */
    PyObject *values, *scheme, *bytes, *dtype; /* names */
};

static void bm_py_taker_free(struct bm_py_taker *taker)
{
    Py_XDECREF(taker->values);
    Py_XDECREF(taker->scheme);
    Py_XDECREF(taker->bytes);
    Py_XDECREF(taker->dtype);
    free(taker);
}

/* The sketch's hash values, a new reference: an array of one of the types, of `item` bytes each;
 * else NULL. */
static PyObject *bm_py_values(const struct bm_py_taker *taker, PyObject *sketch, PyObject *scheme,
                              size_t *item)
{
    if (Py_TYPE(sketch) != taker->sketches[0] && Py_TYPE(sketch) != taker->sketches[1])
        return NULL;
    PyObject *own = PyObject_GetAttr(sketch, taker->scheme);
    const bool same = own != NULL && PyObject_RichCompareBool(own, scheme, Py_EQ) == 1;
    Py_XDECREF(own);
    PyObject *values = same ? PyObject_GetAttr(sketch, taker->values) : NULL;
    if (values == NULL)
        return NULL;
    PyObject *dtype =
        Py_TYPE(values) == taker->array ? PyObject_GetAttr(values, taker->dtype) : NULL;
    *item = dtype == NULL ? 0 : dtype == taker->dtypes[0] ? 4 : dtype == taker->dtypes[1] ? 8 : 0;
    Py_XDECREF(dtype);
    if (*item == 0)
        Py_CLEAR(values);
    return values;
}

static PyObject *bm_py_take(PyObject *self, PyObject *args)
{
    const struct bm_py_taker *taker = PyCapsule_GetPointer(self, NULL);
    if (taker == NULL || PyTuple_Size(args) != 3)
        return NULL;
    const Py_ssize_t n_values = PyLong_AsSsize_t(PyTuple_GetItem(args, 2));
    PyErr_Clear(); /* -1 is no sketch's number */
    size_t item = 0;
    PyObject *values =
                 bm_py_values(taker, PyTuple_GetItem(args, 0), PyTuple_GetItem(args, 1), &item),
             *bytes = NULL;
    if (values != NULL && PyObject_Size(values) == n_values)
        bytes = PyObject_CallMethodObjArgs(values, taker->bytes, NULL);
    Py_XDECREF(values);
    if (bytes != NULL && PyBytes_CheckExact(bytes) &&
        bm_py_item(bytes, n_values) == item) /* rows of one value */
        return bytes;
    Py_XDECREF(bytes);
    PyErr_Clear();
    Py_INCREF(Py_None);
    return Py_None;
}

static PyMethodDef bm_py_take_method = {"take", bm_py_take, METH_VARARGS, NULL};

static void bm_py_taker_end(PyObject *capsule)
{
    bm_py_taker_free(PyCapsule_GetPointer(capsule, NULL));
}

/* Appends the function to the list at this address; false: no memory. `objects`: two types of
 * sketches, that of arrays, and the types of their values of 4 and of 8 bytes. */
static bool bm_py_taker(uintptr_t to, const uintptr_t *objects)
{
    PyGILState_STATE lock = PyGILState_Ensure();
    struct bm_py_taker *taker = calloc(1, sizeof *taker);
    PyObject *take = NULL;
    if (taker != NULL) {
        *taker = (struct bm_py_taker){
            .sketches = {(PyTypeObject *)objects[0], (PyTypeObject *)objects[1]},
            .array = (PyTypeObject *)objects[2],
            .dtypes = {(PyObject *)objects[3], (PyObject *)objects[4]},
            .values = PyUnicode_InternFromString("hashvalues"),
            .scheme = PyUnicode_InternFromString("scheme"),
            .bytes = PyUnicode_InternFromString("tobytes"),
            .dtype = PyUnicode_InternFromString("dtype")};
        const bool named = taker->values != NULL && taker->scheme != NULL && taker->bytes != NULL &&
                           taker->dtype != NULL;
        PyObject *capsule = named ? PyCapsule_New(taker, NULL, bm_py_taker_end) : NULL;
        if (capsule == NULL)
            bm_py_taker_free(taker);
        else
            take = PyCFunction_NewEx(&bm_py_take_method, capsule, NULL);
        Py_XDECREF(capsule);
    }
    const bool done = bm_py_hand_over(to, take);
    PyGILState_Release(lock);
    return done;
}
