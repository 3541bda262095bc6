# SPDX-License-Identifier: Apache-2.0
"""records.py BANDMILL FOLDER [-o MATCHES] [-c COLUMNS] [-t TRUTH] HOUSEHOLDS|FILE|A B -- who of one list of people is who of the other, by
fields that agree and a score; and how many of the pairs are wrong, estimated from a date that no score has looked at. Prints the numbers as
lines of `what, work, here, within, why`, tab-separated; of lists that are made up ends with 1 where an estimate is further from the truth
than 3 of its standard errors."""
import argparse
import array
import collections
import dataclasses
import hashlib
import math
import os
import statistics
import sys

import band_keys
import dice
import people

N_RANDOM = 20000  # pairs


@dataclasses.dataclass
class Study:
    name: str
    unit: str
    window: int  # A's record is at most so many days older than B's, and never younger; None: any two dates of birth
    right_from: int  # points from which a pair is known to be right
    ranges: tuple  # borders of the scores below that
    of_work: tuple = ("none", "none")  # mean lag of right and of random pairs
    ours: bool = False  # made up here, and known to fit


STORY = Study("generated", "days", 90, 300, (280, 250, 200, 150, 100), ("10", "45"), True)
FEBRL = Study("FEBRL", "years", None, 280, (200, 100, 0))
TABLES = dataclasses.replace(FEBRL, name="tables")


# --- candidates ---

def candidates(bandmill, folder, a, b):
    """The pairs of a record of each list that agree in one field at least: each field is hashed on its own, a band a field."""
    keys = array.array("Q")
    for record in a + b:
        for field in record.hashed:
            digest = hashlib.blake2b(field.encode(), digest_size=8).digest()
            keys.append(int.from_bytes(digest, "little") % band_keys.NO_BUCKET if field else band_keys.NO_BUCKET)
    path = os.path.join(folder, "keys.npy")
    band_keys.write(path, keys, 3)
    return [(a[i], b[j - len(a)]) for i, j in band_keys.pairs(bandmill, path) if i < len(a) <= j]


# --- scores ---

def distance(x, y):
    """Edit distance: letters put in, left out or changed."""
    row = list(range(len(y) + 1))
    for i, letter in enumerate(x, 1):
        corner, row[0] = row[0], i
        for j, other in enumerate(y, 1):
            corner, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, corner + (letter != other))
    return row[-1]


def points(x, y):
    """100 less a deduction that grows with the square of the distance."""
    return 100 if x == y else max(0, 100 - 4 * distance(x, y) ** 2)


def score(x, y):
    names = points(x.name, y.name)
    given, _, family = x.name.partition(" ")
    if given in people.NICKNAMES:  # as if it were one letter
        names = max(names, points(f"{people.NICKNAMES[given]} {family}", y.name) - 4)
    return names + points(x.address, y.address) + points(x.number, y.number)


# --- the lag ---

def lag_of(study, x, y):
    """None where a date is missing, or the pair outside the window."""
    if x.date is None or y.date is None:
        return None
    if study.window is None:
        return abs(y.date - x.date) / 365.2425
    return y.date - x.date if 0 <= y.date - x.date <= study.window else None


def random_lags(study, a, b):
    """Of pairs that agree in no field, as many as 50 times as many draws find."""
    rolls, lags = dice.Dice(2), []
    for _ in range(50 * N_RANDOM if a and b else 0):
        if len(lags) == N_RANDOM:
            break
        x, y = rolls.one(a), rolls.one(b)
        lag = lag_of(study, x, y)
        if lag is not None and not any(p == q for p, q in zip(x.hashed, y.hashed)):
            lags.append(lag)
    return lags


class Mean:
    """With its standard error. Lags of pairs that have a record in common, or two records of one date (copies of one person), go together:
    `sides` has what either side of each pair is known by, and the sums over each side's and over both count, not single pairs (the two-way
    clustered variance of Cameron, Gelbach and Miller, 2011)."""

    def __init__(self, values, sides=None):
        self.n, self.value = len(values), statistics.fmean(values)
        sums = [collections.Counter(), collections.Counter(), collections.Counter()]
        for value, side in zip(values, sides or enumerate(values)):
            for total, key in zip(sums, (side[0], side[1] if sides else side, side)):
                total[key] += value - self.value
        by_a, by_b, by_both = (sum(x * x for x in total.values()) for total in sums)
        self.error = math.sqrt(max(by_a + by_b - by_both, by_both)) / self.n


def share_of_wrong(mean, right, at_random):
    """Of pairs of which a share f is random and all others are right, the mean lag is f * at_random + (1 - f) * right: f, and its standard
    error."""
    span = at_random.value - right.value
    f = (mean.value - right.value) / span
    return f, math.hypot(mean.error, (1 - f) * right.error, f * at_random.error) / span


# --- what is printed ---

def decimals(value, digits=3):
    return f"{value:.{digits}f}".replace("0.", ".", 1) if abs(value) < 1 else f"{value:.{digits}f}"


def say(what, here, work="none", within="none", why=""):
    print(what, work, here, within, why, sep="\t")


def say_means(study, right, at_random):
    what = f"{study.name}: mean lag of {right.n:,} pairs of {study.right_from} points or more, {study.unit}"
    also = f"{study.name}: mean lag of {at_random.n:,} random pairs, {study.unit}"
    if study.of_work == ("none", "none"):
        say(what, decimals(right.value, 2))
        say(also, decimals(at_random.value, 2))
        return
    say(what, f"{right.value:.2f}", study.of_work[0], f"{3 * right.error:.2f}", "drawn with a mean of 10: 3 standard errors")
    # Two days of n that are drawn at random are l apart with a chance that falls with n - l.
    n, window = people.DAYS, study.window
    expected = sum(lag * (n - lag) for lag in range(window + 1)) / sum(n - lag for lag in range(window + 1))
    say(also, f"{at_random.value:.2f}", study.of_work[1], f"{abs(float(study.of_work[1]) - expected) + 3 * at_random.error:.2f}",
        f"of days out of {n:,}, those near to each other are a little more: {expected:.1f}; and 3 standard errors")


def arguments():
    parser = argparse.ArgumentParser()
    for name in ("bandmill", "folder"):
        parser.add_argument(name)
    parser.add_argument("-o", dest="matches", help="a table of the pairs that are taken for matches")
    parser.add_argument("-c", dest="columns", default=people.COLUMNS, help="what is what: " + people.COLUMNS)
    parser.add_argument("-t", dest="truth", help="the right pairs, where they are known: an id of A and one of B a line")
    parser.add_argument("data", nargs="+", help="a number of households, a file of FEBRL, or two tables")
    args = parser.parse_args()
    if len(args.data) > 2:
        parser.error("more than two lists")
    return args


def lists(args):
    if args.data[0].isdigit():
        return STORY, people.generated(int(args.data[0]))
    if len(args.data) == 1 and args.data[0].endswith(".tsv"):
        return FEBRL, people.febrl(args.data[0])
    return TABLES, people.tables(args.data, args.columns)


def truth_of(args, a, b):
    """The right pairs; None: nobody knows."""
    if args.truth:
        return people.pairs_of(args.truth)
    if any(record.person is None for record in a + b):
        return None
    of_person = collections.defaultdict(list)
    for record in b:
        of_person[record.person].append(record.id)
    return {(record.id, other) for record in a for other in of_person[record.person]}


def say_matches(study, args, pairs, low, truth):
    """Pairs from so many points on are taken for matches: where there is a window, those within it, else those without a date too."""
    matches = sorted(((points, x.id, y.id) for x, y, points in pairs
                      if points >= low and (study.window is None or lag_of(study, x, y) is not None)),
                     key=lambda match: (-match[0], match[1:]))
    say(f"{study.name}: matches, pairs of {low} points or more", f"{len(matches):,}")
    if truth is not None:
        right = sum(match[1:] in truth for match in matches)
        say(f"{study.name}: precision of the matches", decimals(right / max(1, len(matches))))
        say(f"{study.name}: recall of the matches, of {len(truth):,} pairs of one person", decimals(right / max(1, len(truth))))
    if args.matches:
        with open(args.matches, "w", encoding="utf-8") as file:
            file.write("id_a\tid_b\tpoints" + ("\tright\n" if truth is not None else "\n"))
            for points, x, y in matches:
                file.write(f"{x}\t{y}\t{points}" + (f"\t{'yes' if (x, y) in truth else 'no'}\n" if truth is not None else "\n"))


def say_right(study, which, n, pairs, error, known):
    truth = f", in truth {sum(not wrong for *_, wrong in pairs):,}" if known else ""
    say(f"{study.name}: right pairs {which}, of {len(pairs):,} with dates", f"estimated {n:,.0f}{truth} (standard error {error:,.0f})")


def estimate(study, scored, lags_at_random, known):
    """Says how many pairs of each range of points are wrong. The points from which on more are right than wrong, and which estimates are
    further from the truth than they should be."""
    top = [pair for pair in scored if pair[0] >= study.right_from]
    if len(top) < 2 or len(lags_at_random) < 2:
        say(f"{study.name}: wrong pairs", f"no estimate: {len(top):,} pairs of {study.right_from} points or more have dates, and "
            f"{len(lags_at_random):,} random ones")
        return study.right_from, []
    right, at_random = Mean([lag for _, lag, _, _ in top], [sides for _, _, sides, _ in top]), Mean(lags_at_random)
    say_means(study, right, at_random)
    if at_random.value - right.value <= 3 * math.hypot(right.error, at_random.error):
        say(f"{study.name}: wrong pairs", "no estimate: the dates of right pairs are no nearer to each other than those of random ones")
        return study.right_from, []
    if known:
        say(f"{study.name}: wrong of {right.n:,} pairs of {study.right_from} points or more, in truth",
            decimals(statistics.fmean(wrong for *_, wrong in top)))
    failed, n_right, variance, points_from, taking, high = [], right.n, 0, study.right_from, True, study.right_from
    for low in study.ranges:
        here = [pair for pair in scored if low <= pair[0] < high]
        what = f"{study.name}: wrong of {len(here):,} pairs of {low} to {high - 1} points"
        high = low
        if len(here) < 2:
            continue
        share, error = share_of_wrong(Mean([lag for _, lag, _, _ in here], [sides for _, _, sides, _ in here]), right, at_random)
        in_truth = statistics.fmean(wrong for *_, wrong in here)
        say(what, f"estimated {decimals(share)}" + (f", in truth {decimals(in_truth)}" if known else "")
            + f" (standard error {decimals(error)})")
        if study.ours and abs(share - in_truth) > 3 * error:
            failed.append(what)
        if taking and share >= .5:
            say_right(study, f"of {points_from} points or more", n_right, [pair for pair in scored if pair[0] >= points_from],
                      math.sqrt(variance), known)
            taking = False
        n_right, variance = n_right + len(here) * (1 - share), variance + (len(here) * error) ** 2
        points_from = low if taking else points_from
    say_right(study, "in all", n_right, scored, math.sqrt(variance), known)
    return points_from, failed


def main():
    args = arguments()
    study, (a, b) = lists(args)
    truth = truth_of(args, a, b)
    found = [(x, y, score(x, y)) for x, y in candidates(args.bandmill, args.folder, a, b)]
    say(f"{study.name}: pairs of records that agree in a field, of {len(a):,} x {len(b):,}", f"{len(found):,}")
    if truth is not None:
        again = sum((x.id, y.id) in truth for x, y, _ in found)
        say(f"{study.name}: pairs of one person that agree in a field, of {len(truth):,}", decimals(again / max(1, len(truth))))

    # points, lag, what the two are known by, and whether the pair is wrong: of pairs with dates.
    scored = [(points, lag, (x.date, y.date) if study.window is None else (x.id, y.id), truth is not None and (x.id, y.id) not in truth)
              for x, y, points in found for lag in [lag_of(study, x, y)] if lag is not None]
    points_from, failed = estimate(study, scored, random_lags(study, a, b), truth is not None)
    say_matches(study, args, found, points_from, truth)
    sys.exit("\n".join(f"further from the truth than 3 standard errors: {what}" for what in failed) or None)


if __name__ == "__main__":
    main()
