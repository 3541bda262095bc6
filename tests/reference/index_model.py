# SPDX-License-Identifier: Apache-2.0
"""index_model.py -- an index read after docs/formats.md alone, in Python and NumPy: LMDB's pages, pieces, their sums, sets, postings.

Believes the file, and stops with ValueError where it says something else than the page does. As a program it prints what an
index holds."""
import bisect
import json
import os
import struct
import sys

import numpy as np
import xxhash

HEAD = 32
POSTINGS, DOCUMENTS, REMOVED, STATE, FILTER = b"PDRSQ"
STATE_KEY = b"S" + bytes(24)
NO_PAGE = (1 << 64) - 1


def expect(holds, what):
    if not holds:
        raise ValueError(what)


class Pages:
    """The keys and values of the newest state of an environment of LMDB 0.9, in the order of the file."""

    def __init__(self, data):
        self.data = data
        metas = []
        size = struct.unpack_from("<I", data, 40)[0]
        for page in (0, size):
            magic, version = struct.unpack_from("<II", data, page + 16)
            expect((magic, version) == (0xBEEFC0DE, 1), "no environment of LMDB")
            root, last, txn = struct.unpack_from("<QQQ", data, page + 128)
            metas.append((txn, root))
        self.size = size
        self.txn, self.root = max(metas)

    def items(self, page=None):
        page = self.root if page is None else page
        if page == NO_PAGE:
            return
        at = page * self.size
        number, _, flags, lower = struct.unpack_from("<QHHH", self.data, at)
        expect(number == page and flags in (1, 2), f"page {page} is of another kind")
        for place in struct.unpack_from(f"<{(lower - 16) // 2}H", self.data, at + 16):
            low, high, node, key_len = struct.unpack_from("<HHHH", self.data, at + place)
            begin = at + place + 8
            if flags == 1:
                yield from self.items(low | high << 16 | node << 32)
                continue
            value, length = begin + key_len, low | high << 16
            if node == 1:
                value = struct.unpack_from("<Q", self.data, value)[0] * self.size + 16
            yield self.data[begin:begin + key_len], self.data[value:value + length]


def set_layout(n):
    """(L, bytes) of a set of n hashes."""
    sizes = [(n * low + (0 if low == 8 else -(-(n + (1 << 64 - 8 * low) - 1) // 8)), -low) for low in (8, 7, 6, 5, 4)]
    size, low = min(sizes)
    return -low, size


def read_set(code, n):
    low, size = set_layout(n)
    expect(len(code) == size, f"a set of {n} hashes has {len(code)} bytes, not {size}")
    lows = np.zeros((n, 8), np.uint8)
    lows[:, :low] = np.frombuffer(code, np.uint8, n * low).reshape(n, low)
    lows = lows.view("<u8").reshape(n)
    if low == 8:
        return lows.tolist()
    places = ones(code[n * low:])
    expect(len(places) == n, f"{len(places)} ones for {n} hashes")
    return ((places - np.arange(n)).astype(np.uint64) << np.uint64(8 * low) | lows).tolist()


def ones(data):
    """The places of bits that are set, the lowest of a byte first."""
    return np.flatnonzero(np.unpackbits(np.frombuffer(data, np.uint8), bitorder="little"))


class Document:
    def __init__(self, data):
        lo, hi, self.text_bytes, self.line, self.input, self.n_shingles, id_len = struct.unpack_from("<QQQQIII", data)
        self.content = (lo, hi)
        self.id, self.body = data[44:44 + id_len], data[44 + id_len:]

    def set(self):
        return read_set(self.body, self.n_shingles)

    def words(self):
        return list(struct.unpack(f"<{len(self.body) // 4}I", self.body))


def read_postings(piece, n):
    """[(key, number)]."""
    if n <= 337:
        return list(zip(struct.unpack_from(f"<{n}Q", piece, HEAD), struct.unpack_from(f"<{n}I", piece, HEAD + 8 * n)))
    out = []
    firsts = struct.unpack_from(f"<{-(-n // 340)}Q", piece, HEAD)
    for block, first in enumerate(firsts):
        at, many = 4080 + 4096 * block, min(340, n - 340 * block)
        keys = struct.unpack_from(f"<{many}Q", piece, at)
        expect(keys[0] == first, "a block begins with another key than the head says")
        expect(struct.unpack_from("<I", piece, 2072 + 4 * block)[0] == xxhash.xxh3_64_intdigest(piece[at:at + 4096], block) & 0xFFFFFFFF,
               "the sum of a block")
        out += zip(keys, struct.unpack_from(f"<{many}I", piece, at + 8 * many))
    expect(len(piece) == at + 12 * many, "a piece of postings has another size")
    return out


class Index:
    """documents: those that are there, by number; tables: of each the sorted (key, number) of all runs, removed ones too;
    removed: numbers; notes: by name; leavings: keys of pieces that the state does not name."""

    def __init__(self, folder):
        with open(os.path.join(folder, "data.mdb"), "rb") as file:
            pages = Pages(file.read())
        pieces = list(pages.items())
        expect(pieces == sorted(pieces), "keys are not in order")
        self.heads = {}
        for key, piece in pieces:
            self.heads[key] = head = struct.unpack_from("<IIQQQ", piece)
            summed = piece[:4080] if head[0] == POSTINGS else piece
            expect(head[2] == xxhash.xxh3_64_intdigest(summed[:8] + bytes(8) + summed[16:]), f"the sum of {key!r}")
        self.pieces = dict(pieces)
        self.read_state(self.pieces[STATE_KEY])
        self.read_record(os.path.join(folder, "last_commit"), pages)
        self.read_pieces()

    def read_state(self, piece):
        expect(self.heads[STATE_KEY][0] == STATE, "the state is of another kind")
        version, self.kind, self.bands, self.words = struct.unpack_from("<4I", piece, HEAD)
        expect(version == 4, "another version")
        w = struct.unpack_from("<18Q", piece, HEAD + 16)
        names = "documents removed empty shingles text_bytes next_number".split()
        self.index, self.commit, self.counts, self.next_run = w[0], w[1], dict(zip(names, w[2:8])), w[8]
        self.tail, n_runs, lengths = w[9], w[10], w[11:14]
        at = HEAD + 16 + 18 * 8
        self.runs = [struct.unpack_from("<4Q", piece, at + 32 * i) for i in range(n_runs)]
        at += 32 * n_runs
        expect(at + sum(lengths) == len(piece), "the state has another size")
        texts = []
        for length in lengths:
            texts.append(piece[at:at + length])
            at += length
        self.settings = json.loads(texts[0]) if texts[0] else None
        self.notes = dict(zip(("inputs", "adds"), texts[1:]))

    def read_record(self, path, pages):
        """The record of the last commit, which is that of the state."""
        with open(path, "rb") as file:
            data = file.read()
        found = []
        for slot in (data[:1 << 18], data[1 << 18:]):
            n = struct.unpack_from("<Q", slot, 88)[0] if slot[:8] == b"BMCOMMIT" else 0
            end = 96 + 16 * n
            if n and struct.unpack_from("<Q", slot, end)[0] == xxhash.xxh3_64_intdigest(slot[:end]):
                found.append((struct.unpack_from("<10Q", slot, 16), struct.unpack_from("<II", slot, 8), slot[96:end]))
        words, (version, size), spans = max(found, key=lambda slot: slot[0][2])
        index, commit, txn, _, _, *first, tree, _, _ = words
        expect((version, size, index, commit, txn) == (2, pages.size, self.index, self.commit, pages.txn), "the record is of another commit")
        sum_of = xxhash.xxh3_64()
        for begin, n in struct.iter_unpack("<QQ", spans):
            sum_of.update(pages.data[begin * size:(begin + n) * size])
        expect(sum_of.intdigest() == tree, "the sum of LMDB's pages")
        for page in (0, 1):
            expect(first[page] == xxhash.xxh3_64_intdigest(pages.data[page * size:(page + 1) * size]), "the sum of a first page")

    def read_pieces(self):
        self.all, self.removed, self.leavings, self.filtered = {}, set(), [], []
        runs = {run[0]: run for run in self.runs}
        lists = {}
        for key, piece in self.pieces.items():
            kind, n, _, first, last = self.heads[key]
            table, run, band, first_key, number = struct.unpack(">cQIQI", key)
            if table == b"D":
                if number > self.tail:
                    self.leavings.append(key)
                    continue
                expect((kind, first, last) == (DOCUMENTS, number, number + n - 1), f"the head of {key!r}")
                self.read_documents(piece, number, n)
            elif table == b"P":
                if run not in runs:
                    self.leavings.append(key)
                    continue
                postings = read_postings(piece, n)
                expect((kind, first, last) == (POSTINGS, first_key, postings[-1][0]), f"the head of {key!r}")
                expect(postings[0] == (first_key, number), f"the first posting of {key!r}")
                lists.setdefault((run, band), []).extend(postings)
            elif table == b"Q":
                if run >= self.next_run:
                    self.leavings.append(key)
                    continue
                expect((kind, first) == (FILTER, number), f"the head of {key!r}")
                self.read_filter(piece, first, last, n)
            elif table == b"R":
                self.removed = set(ones(piece[HEAD:]).tolist())
                expect(kind == REMOVED and len(self.removed) == n == self.counts["removed"], f"the bits of {key!r}")
            else:
                expect(key == STATE_KEY, f"an unknown key {key!r}")
        expect(self.filtered == list(range(len(self.filtered))), "filters are not in order")
        expect(sorted(self.all) == list(range(self.counts["next_number"])), "documents are missing")
        self.documents = {number: doc for number, doc in self.all.items() if number not in self.removed}
        self.join_runs(runs, lists)

    def read_documents(self, piece, number, n):
        offsets = struct.unpack_from(f"<{n + 1}I", piece, HEAD)
        expect(offsets[0] == HEAD + 4 * (n + 1) and offsets[-1] == len(piece), "offsets")
        for i in range(min(n, self.counts["next_number"] - number)):
            doc = piece[offsets[i]:offsets[i + 1]]
            expect(struct.unpack_from("<I", doc)[0] == xxhash.xxh3_64_intdigest(doc[4:], number + i) & 0xFFFFFFFF, "the sum of a document")
            self.all[number + i] = Document(doc[4:])

    def read_filter(self, piece, first, last, n):
        """Each document from first to last that has shingles is a column, whose bits are those of its set."""
        many = struct.unpack_from("<I", piece, HEAD)[0]
        groups = list(struct.iter_unpack("<3I", piece[HEAD + 4:HEAD + 4 + 12 * many]))
        at = HEAD + 4 + 12 * many + 2 * n
        columns = (np.frombuffer(piece, "<u2", n, at - 2 * n) + first).tolist()
        expect(sorted(columns) == [d for d in range(first, last + 1) if self.all[d].n_shingles], "the columns of a filter")
        for size, rows, most in groups:
            group, columns = columns[:size], columns[size:]
            bits = np.zeros((rows, size), np.uint8)
            for column, number in enumerate(group):
                low = np.array(self.all[number].set(), np.uint64).astype(np.uint32)
                bits[((low * np.uint32(0x9E3779B1)).astype(np.uint64) * np.uint64(rows) >> np.uint64(32)).astype(np.int64), column] = 1
            packed = np.packbits(bits, axis=1, bitorder="little").tobytes()
            expect(most == max(self.all[d].n_shingles for d in group) and piece[at:at + len(packed)] == packed, "a group of a filter")
            at += len(packed)
        expect(not columns and piece[at:] == bytes(7), "the end of a filter")
        self.filtered += range(first, last + 1)

    def join_runs(self, runs, lists):
        self.tables = [[] for _ in range(self.bands + 1)]
        entries = {}
        for (run, band), postings in lists.items():
            expect(postings == sorted(set(postings)), "postings are not in order")
            expect(runs[run][1] <= band < runs[run][1] + runs[run][2], "a table that the run has not")
            self.tables[band] += postings
            entries.setdefault(run, []).append(len(postings))
        for run in self.runs:
            expect(entries[run[0]] == [run[3]] * run[2], "a run has another number of postings")
        for table in self.tables:
            table.sort()

    def number_of(self, name):
        """The number of the document with this id (bytes), by the table of ids."""
        key, table = xxhash.xxh3_64_intdigest(name), self.tables[self.bands]
        for place in range(bisect.bisect_left(table, (key, 0)), len(table)):
            if table[place][0] != key:
                break
            number = table[place][1]
            if number in self.documents and self.documents[number].id == name:
                return number
        return None


if __name__ == "__main__":
    index = Index(sys.argv[1])
    print(json.dumps({"counts": index.counts, "bands": index.bands, "words": index.words, "runs": len(index.runs),
                      "notes": sorted(index.notes), "leavings": len(index.leavings)}))
