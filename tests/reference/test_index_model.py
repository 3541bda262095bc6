# SPDX-License-Identifier: Apache-2.0
"""Random operations on an index against a plain Python model; some runs are killed.

The model is a list of documents: exact Jaccard over sets of words, worked out here. Bands have one row each, so that a pair at
the threshold is missed with a probability of .5^40, and each answer has to be the model's: every row of `query`, in order, with its
six decimals, every row of `add --unique`, every exit code. Operations: build (new, and over the one that is there), add with each
rule for ids that are there, add --unique, adds that fill several pieces, remove (of some that are not there),
replace, query (--top, --skip-same-id, other thresholds), compact, and a look by `check` and `info`. Every command is a process of
its own, so that each of them opens the index anew.

Each fifth run is killed by SIGKILL at a random moment of the time that such runs take. Afterwards `check` has to find nothing, and the
answers of the index to all documents that could be there have to be those of a state that was committed: that of before, that of
afterwards, or that after some of the documents in input order. The model goes on from there.

The suite takes about 150 operations. The long form, with 400 runs killed:

    python3 tests/reference/test_index_model.py --program build/release/bandmill --operations 2000 --seed 7

--seed gives a run back, but for the moments of the kills. Standard library only."""
import collections
import json
import os
import random
import shutil
import subprocess
import time

import harness

THRESHOLD = 0.5
PLAN = ["--bands", "40", "--rows", "1", "--shingle", "word:1", "--threshold", str(THRESHOLD)]
HEADER = ["query", "target", "jaccard"]
BULK = 2500  # documents: postings of more than one piece
Document = collections.namedtuple("Document", "id text")


def words_of(text):
    return frozenset(text.split())


def family_of(text):
    """Documents of two families share no word."""
    return text.split("w", 1)[0] if text else None


def jaccard(x, y):
    common = len(x & y)
    return common / (len(x) + len(y) - common)


class Model:
    """Documents in the order of their insertion."""

    def __init__(self, documents=()):
        self.documents = {}  # id -> text; a dict keeps its order
        self.families = collections.defaultdict(dict)  # family -> id -> (number, words)
        self.next = 0
        for document in documents:
            self.insert(document)

    def copy(self):
        return Model(Document(*item) for item in self.documents.items())

    def insert(self, document):
        self.documents[document.id] = document.text
        self.families[family_of(document.text)][document.id] = self.next, words_of(document.text)
        self.next += 1

    def remove(self, name):
        text = self.documents.pop(name)
        del self.families[family_of(text)][name]

    def answers(self, document, threshold, top=None, skip_same_id=False):
        """[(id, similarity)], best first, then in order of insertion."""
        if not document.text:
            return []
        words = words_of(document.text)
        found = [(-jaccard(words, other), number, name) for name, (number, other) in self.families[family_of(document.text)].items()
                 if not (skip_same_id and name == document.id)]
        found = sorted(hit for hit in found if -hit[0] >= threshold)
        return [(name, -similarity) for similarity, _, name in found[:top]]

    def free_id(self, name):
        n = 2
        while f"{name}#{n}" in self.documents:
            n += 1
        return f"{name}#{n}"

    def states_of_add(self, documents, rule):
        """The model after each prefix of the documents; the last is None where the add fails."""
        state, states = self.copy(), [self]
        for document in documents:
            if document.id in state.documents:
                if rule == "error":
                    return states[:1] + [None]
                if rule == "skip":
                    continue
                if rule == "replace":
                    state.remove(document.id)
                if rule == "number":
                    document = Document(state.free_id(document.id), document.text)
            state.insert(document)
            states.append(state.copy() if len(documents) < 100 else state)
        return states

    def states_of_unique(self, documents):
        """The same of add --unique, and its rows."""
        state, states, rows = self.copy(), [self], []
        for document in documents:
            best = state.answers(document, THRESHOLD, top=1)
            rows += [[document.id, name, f"{similarity:.6f}"] for name, similarity in best]
            if not best:
                state.insert(document)
                states.append(state.copy())
        return states, rows


class Run:
    """The index under test, and the model of it."""

    def __init__(self, args, folder):
        self.program, self.folder, self.rng = args.program, folder, random.Random(args.seed)
        self.index, self.model = os.path.join(folder, "index"), None
        self.seconds = {}  # of a kind of run, a moving mean
        self.count, self.kills, self.said, self.next_id = 0, 0, collections.Counter(), 0
        self.killing = False

    # --- documents ---

    def text(self):
        rng = self.rng
        if rng.random() < 0.02 and not self.killing:
            return ""
        family = f"f{rng.randrange(12)}"
        base = [f"{family}w{i}" for i in range(10)]
        for _ in range(rng.choice((0, 1, 1, 2, 3, 6))):
            base[rng.randrange(10)] = f"{family}w{rng.randrange(30)}"
        return " ".join(base[:rng.choice((10, 10, 9, 7))])

    def new_id(self):
        self.next_id += 1
        return f"d{self.next_id}"

    def known_id(self):
        return self.rng.choice(list(self.model.documents)) if self.model.documents else self.new_id()

    def fresh(self, n):
        return [Document(self.new_id(), self.text()) for _ in range(n)]

    def write(self, documents, name="in.jsonl"):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(json.dumps({"id": document.id, "text": document.text}) + "\n" for document in documents)
        return path

    # --- the program ---

    def start(self, words):
        command = [self.program, *words, *(["--device", "cpu", "--threads", "2"] if words[:2] != ["index", "remove"] else [])]
        if words[0] == "index" and words[1] in ("check", "info", "compact", "remove"):
            command = [self.program, *words]
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def call(self, *words, expect=(0,)):
        """stdout of a command that has to end with one of these codes."""
        kind, began = " ".join(words[:2]) if words[0] == "index" else words[0], time.monotonic()
        process = self.start(words)
        out, err = process.communicate(timeout=900)
        took = time.monotonic() - began
        self.seconds[kind] = 0.7 * self.seconds.get(kind, took) + 0.3 * took
        if process.returncode not in expect:
            raise harness.ProgramFailed(f"{' '.join(words)}: exit {process.returncode}, expected {expect}\n{err.decode()}")
        return process.returncode, out

    def killed(self, *words):
        """Run it and kill it at a random moment; did the signal meet it?"""
        kind = " ".join(words[:2]) if words[0] == "index" else words[0]
        process = self.start(words)
        try:
            process.communicate(timeout=self.rng.random() * self.seconds.get(kind, 0.02))
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
        self.kills += process.returncode == -9
        return process.returncode == -9

    # --- what is seen of the index ---

    def rows(self, queries, *more, expect=(0, 1)):
        code, out = self.call("query", self.index, self.write(queries, "query.jsonl"), *map(str, more), expect=expect)
        rows = harness.read_rows(out, HEADER)
        if (code == 1) != (not rows):
            raise ValueError(f"exit {code} with {len(rows)} rows")
        return rows

    @staticmethod
    def model_rows(model, queries, threshold, **more):
        return [[query.id, name, f"{similarity:.6f}"] for query in queries
                for name, similarity in model.answers(query, threshold, **more)]

    def differs(self, rows, wanted):
        if rows == wanted:
            return ""
        more, less = [row for row in rows if row not in wanted], [row for row in wanted if row not in rows]
        return f"{len(rows)} rows, expected {len(wanted)}; more {more[:3]}, missing {less[:3]}" + ("" if more or less else ", order")

    def state_among(self, states):
        """Which of these models the index agrees with, by its answers to all their documents and by its count."""
        texts = {text for state in states for text in state.documents.values()}
        queries = [Document(f"p{i}", text) for i, text in enumerate(sorted(texts))]
        rows = self.rows(queries) if queries else []
        count = self.info()["documents"]
        for state in states:
            if len(state.documents) == count and rows == self.model_rows(state, queries, THRESHOLD):
                return state
        raise ValueError(f"{count} documents, none of {len(states)} states with {[len(s.documents) for s in states]} documents: "
                         f"{self.differs(rows, self.model_rows(states[0], queries, THRESHOLD))}")

    def info(self):
        report = json.loads(self.call("index", "info", self.index, "--json")[1])
        return report.get("counts", report)

    def change(self, states, *words, expect=(0,)):
        """A command that takes the model through these states; killed, to one of them. stdout, or None."""
        if not self.killing:
            out = self.call(*words, expect=expect)[1]
            self.model = states[-1]
            return out
        self.killed(*words)
        self.call("index", "check", self.index)
        self.model = self.state_among(states)
        return None

    # --- operations; each answers what is wrong ---

    def build(self):
        documents = self.fresh(self.rng.randrange(40))
        path, states = self.write(documents), [Model(documents)]
        words = ["index", "build", self.index, path, *PLAN]
        if not os.path.exists(self.index) or self.rng.random() < 0.5:
            shutil.rmtree(self.index, ignore_errors=True)
            if self.killing and self.killed(*words) and not os.path.exists(self.index):
                self.call(*words)  # what a killed build has left does not stand in the way of the next
            elif not self.killing:
                self.call(*words)
            self.model = self.state_among(states)
            return ""
        self.change([self.model] + states, *words, "--force")
        return ""

    def add(self):
        rule = self.rng.choice(("error", "skip", "replace", "number"))
        documents = self.fresh(self.rng.randrange(15))
        for i in range(len(documents)):
            if self.rng.random() < (0.05 if rule == "error" else 0.3):
                documents[i] = Document(self.known_id(), documents[i].text)
        states = self.model.states_of_add(documents, rule)
        words = ["index", "add", self.index, self.write(documents), "--duplicate-ids", rule]
        if states[-1] is None:
            self.change(states[:1], *words, expect=(3,))
        else:
            self.change(states, *words)
        return ""

    def bulk(self):
        family = f"b{self.next_id}"
        documents = [Document(self.new_id(), " ".join(f"{family}x{i // 5}w{(i + j) % 13}" for j in range(9))) for i in range(BULK)]
        self.change(self.model.states_of_add(documents, "error")[::BULK], "index", "add", self.index, self.write(documents))
        return ""

    def replace(self):
        documents = [Document(self.known_id(), self.text()) for _ in range(self.rng.randrange(1, 8))]
        self.change(self.model.states_of_add(documents, "replace"), "index", "add", self.index, self.write(documents),
                    "--duplicate-ids", "replace")
        return ""

    def unique(self):
        documents = self.fresh(self.rng.randrange(1, 15))
        states, rows = self.model.states_of_unique(documents)
        out = self.change(states, "index", "add", self.index, self.write(documents), "--unique")
        return "" if out is None else self.differs(harness.read_rows(out, HEADER), rows)

    def remove(self):
        there = list(self.model.documents)
        most = len(there) // 2 if len(there) > 150 else 6
        names = self.rng.sample(there, min(len(there), self.rng.randrange(1, most + 1)))
        absent = [self.new_id()] if self.rng.random() < 0.2 or not names else []
        after = self.model.copy()
        for name in names:
            after.remove(name)
        if self.rng.random() < 0.5 or len(names) > 50:
            path = os.path.join(self.folder, "ids")
            with open(path, "w", encoding="utf-8") as file:
                file.writelines(name + "\n" for name in names + absent)
            which = ["--ids", path]
        else:
            which = names + absent
        self.change([self.model, after], "index", "remove", self.index, *which, expect=(1,) if absent else (0,))
        return ""

    def query(self):
        documents = self.fresh(self.rng.randrange(1, 25))
        for name in {self.known_id() for _ in range(self.rng.randrange(5))}:
            documents.append(Document(name, self.model.documents.get(name) or self.text()))
        threshold = self.rng.choice((THRESHOLD, THRESHOLD, 0.7, 0.9, 1.0))
        top = self.rng.choice((None, None, 1, 3))
        same = self.rng.random() < 0.3
        more = ["--threshold", threshold] if threshold != THRESHOLD else []
        more += (["--top", top] if top else []) + (["--skip-same-id"] if same else [])
        if self.killing:
            self.killed("query", self.index, self.write(documents), *map(str, more))
        return self.differs(self.rows(documents, *more), self.model_rows(self.model, documents, threshold, top=top, skip_same_id=same))

    def compact(self):
        self.change([self.model], "index", "compact", self.index)
        return ""

    def look(self):
        self.call("index", "check", self.index)
        count = self.info()["documents"]
        return "" if count == len(self.model.documents) else f"info says {count} documents, {len(self.model.documents)} are there"

    def step(self, bulk_at):
        kinds = ((self.build, 5), (self.add, 20), (self.replace, 10), (self.unique, 15), (self.remove, 15), (self.query, 22),
                 (self.compact, 6), (self.look, 7))
        self.count += 1
        self.killing = self.count % 5 == 0
        operation = self.rng.choices([kind for kind, _ in kinds], [weight for _, weight in kinds])[0]
        operation = self.build if self.model is None else self.bulk if self.count % bulk_at == bulk_at // 2 else operation
        self.said[operation.__name__] += 1
        try:
            wrong = operation()
        except (harness.ProgramFailed, ValueError, LookupError, OSError) as error:
            wrong = f"{type(error).__name__}: {error}"
        return wrong and f"operation {self.count}, {operation.__name__}{', killed' if self.killing else ''}: {wrong}"


OPERATIONS = {"small": 60, "normal": 150, "full": 2000}


def main():
    args = harness.arguments("an index against a model", ("--operations", {"type": int}), ("--seed", {"type": int, "default": 1}))
    claims, n = harness.Claims(), args.operations or OPERATIONS[args.size]
    with harness.scratch() as folder:
        run, wrong = Run(args, folder), ""
        while run.count < n and not wrong:
            wrong = run.step(bulk_at=100)
            run.killing = False
            if not wrong and run.count % 25 == 0:
                wrong = claims_state(run)
        claims.check(f"{run.count} operations of seed {args.seed} ({dict(run.said)}), {run.kills} of them killed: as the model", not wrong,
                     wrong)
        claims.check("runs were killed", run.kills > 0 or n < 60)
    claims.end()


def claims_state(run):
    """Every document asked for: the whole of the index is the whole of the model."""
    try:
        run.state_among([run.model])
    except (harness.ProgramFailed, ValueError) as error:
        return f"after operation {run.count}: {error}"
    return ""


if __name__ == "__main__":
    main()
