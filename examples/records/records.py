"""records.py BANDMILL FOLDER HOUSEHOLDS|FEBRL.tsv -- who of one list of people is who of the other, by fields that agree and a score; and how
many of the pairs are wrong, estimated from a date that no score has looked at. Prints the numbers as lines of `what, work, here, within,
why`, tab-separated; ends with 1 where an estimate is further from the truth than 3 of its standard errors."""
import array
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


STORY = Study("generated", "days", 90, 300, (280, 250, 200, 150, 100), ("10", "45"))
FEBRL = Study("FEBRL", "years", None, 280, (200, 100, 0))


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
    """Of pairs that agree in no field."""
    rolls, lags = dice.Dice(2), []
    while len(lags) < N_RANDOM:
        x, y = rolls.one(a), rolls.one(b)
        lag = lag_of(study, x, y)
        if lag is not None and not any(p == q for p, q in zip(x.hashed, y.hashed)):
            lags.append(lag)
    return lags


class Mean:
    def __init__(self, values):
        self.n, self.value = len(values), statistics.fmean(values)
        self.error = statistics.stdev(values) / math.sqrt(self.n)


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


def main():
    bandmill, folder, data = sys.argv[1:]
    study, (a, b) = (STORY, people.generated(int(data))) if data.isdigit() else (FEBRL, people.febrl(data))
    found = candidates(bandmill, folder, a, b)
    everybody = {record.person for record in a} & {record.person for record in b}
    again = sum(x.person == y.person for x, y in found)
    say(f"{study.name}: pairs of records that agree in a field, of {len(a):,} x {len(b):,}", f"{len(found):,}")
    say(f"{study.name}: persons of both lists whose records agree in a field, of {len(everybody):,}", decimals(again / len(everybody)))

    scored = [(score(x, y), lag, x.person != y.person) for x, y in found for lag in [lag_of(study, x, y)] if lag is not None]
    right = Mean([lag for score, lag, _ in scored if score >= study.right_from])
    at_random = Mean(random_lags(study, a, b))
    say_means(study, right, at_random)
    wrong_of_right = [wrong for score, _, wrong in scored if score >= study.right_from]
    say(f"{study.name}: wrong of {right.n:,} pairs of {study.right_from} points or more, in truth", decimals(statistics.fmean(wrong_of_right)))

    failed, n_right, top = [], right.n, study.right_from
    for low in study.ranges:
        here = [(lag, wrong) for score, lag, wrong in scored if low <= score < top]
        share, error = share_of_wrong(Mean([lag for lag, _ in here]), right, at_random)
        truth = statistics.fmean(wrong for _, wrong in here)
        what = f"{study.name}: wrong of {len(here):,} pairs of {low} to {top - 1} points"
        say(what, f"estimated {decimals(share)}, in truth {decimals(truth)} (standard error {decimals(error)})")
        if abs(share - truth) > 3 * error:
            failed.append(what)
        n_right, top = n_right + len(here) * (1 - share), low
    in_truth = sum(not wrong for _, _, wrong in scored)
    say(f"{study.name}: right pairs in all, of {len(scored):,}", f"estimated {n_right:,.0f}, in truth {in_truth:,}")
    sys.exit("\n".join(f"further from the truth than 3 standard errors: {what}" for what in failed) or None)


if __name__ == "__main__":
    main()
