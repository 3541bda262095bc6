# SPDX-License-Identifier: Apache-2.0
"""fingerprints.py BANDMILL FOLDER FINGERS -- two prints of each finger as band keys of grid squares, and which pairs of prints are candidates.
Prints the numbers as lines of `what, work, here, within, why`, tab-separated."""
import array
import hashlib
import math
import os
import sys

import band_keys
import dice

SQUARES, FUNCTIONS = 1000, 1024
MINUTIA, AGAIN = .2, .8  # a print has a minutia in a square; the second print of a finger has one where the first has one
SAME, OTHER = MINUTIA * AGAIN, MINUTIA * MINUTIA  # two prints have one in the same square


WIDE, HIGH = 40, 25  # the same squares as a grid, for minutiae that are points
BORDER = .1  # of a square's side: so near to a border a minutia is placed in the adjacent square too, and so far the second print may lie


class Bits:
    """Fair bits, the same ones everywhere: SHAKE-128 of a count."""

    def __init__(self):
        self.count = 0

    def fair(self, n):
        self.count += 1
        return int.from_bytes(hashlib.shake_128(b"%d" % self.count).digest((n + 7) // 8), "little") & (1 << n) - 1

    def below(self, n):
        return self.fair(64) % n

    def coins(self, chance, n):
        """A number of n bits, each of which is 1 with this chance (to 2^-24): from the digits of the chance, last one first."""
        bits, digits = 0, round(chance * 2 ** 24)
        for digit in range(24):
            bits = bits | self.fair(n) if digits >> digit & 1 else bits & self.fair(n)
        return bits


def squares_of(bits, fingers):
    """For each square the prints that have a minutia there, as bits. Prints f and fingers + f are of finger f."""
    squares = []
    for _ in range(SQUARES):
        first = bits.coins(MINUTIA, fingers)
        # Where the first has none, the second has one just so often that it has them in a fifth of its squares too.
        second = first & bits.coins(AGAIN, fingers) | ~first & bits.coins(MINUTIA * (1 - AGAIN) / (1 - MINUTIA), fingers)
        squares.append(first | second << fingers)
    return squares


def beside_each_other(x, y, border):
    """The squares in which a minutia is placed: its own, and those whose border is so near."""
    columns = {min(WIDE - 1, max(0, math.floor(x + d))) for d in (-border, border)}
    rows = {min(HIGH - 1, max(0, math.floor(y + d))) for d in (-border, border)}
    return {column * HIGH + row for column in columns for row in rows}


def squares_of_points(fingers, border):
    """As squares_of, but minutiae are points, so many that a fifth of the squares have one; the second print has a minutia of the first with
    .9, up to BORDER further right or left and up or down, and points of its own in place of the others. Also: of the minutiae that both
    have, the share that is placed in a square of both."""
    rolls, squares, again, met = dice.Dice(3), [0] * SQUARES, 0, 0
    n = round(-math.log(1 - MINUTIA) * SQUARES / (1 + 2 * border) ** 2)

    def point():
        return rolls.rng.random() * WIDE, rolls.rng.random() * HIGH
    for finger in range(fingers):
        for x, y in (point() for _ in range(n)):
            first = beside_each_other(x, y, border)
            kept = rolls.happens(.9)
            if kept:
                x, y = x + (2 * rolls.rng.random() - 1) * BORDER, y + (2 * rolls.rng.random() - 1) * BORDER
            else:
                x, y = point()
            second = beside_each_other(x, y, border)
            again, met = again + kept, met + (kept and not first.isdisjoint(second))
            for place, print_ in ((first, finger), (second, fingers + finger)):
                for square in place:
                    squares[square] |= 1 << print_
    return squares, met / again


def three_squares(bits):
    chosen = []
    while len(chosen) < 3:
        square = bits.below(SQUARES)
        if square not in chosen:
            chosen.append(square)
    return chosen


def ones(bits):
    while bits:
        low = bits & -bits
        yield low.bit_length() - 1
        bits ^= low


def found_by(bandmill, path, squares, functions, n_prints):
    """The pairs of prints that one of these functions puts together: prints with minutiae in all three of its squares have one key there,
    all others are in no bucket."""
    keys = array.array("Q", [band_keys.NO_BUCKET]) * (n_prints * len(functions))
    for f, (a, b, c) in enumerate(functions):
        for i in ones(squares[a] & squares[b] & squares[c]):
            keys[i * len(functions) + f] = f
    band_keys.write(path, keys, len(functions))
    return set(band_keys.pairs(bandmill, path))


def formula(both):
    """That of the work: 1 - (1 - p)^1024, as if each function had squares of its own."""
    return 1 - (1 - both ** 3) ** FUNCTIONS


def on_one_grid(both, families):
    """The same where the functions choose among 1,000 squares, for pairs that all of these families find: a function finds a pair of prints
    that has m squares in common with C(m,3)/C(1000,3), and m is binomial."""
    total = 0
    for m in range(SQUARES + 1):
        chance = math.exp(math.lgamma(SQUARES + 1) - math.lgamma(m + 1) - math.lgamma(SQUARES - m + 1)
                          + m * math.log(both) + (SQUARES - m) * math.log(1 - both))
        found = 1 - (1 - m * (m - 1) * (m - 2) / (SQUARES * (SQUARES - 1) * (SQUARES - 2))) ** FUNCTIONS
        total += chance * found ** families
    return total


def standard_errors(same, other, fingers, families):
    """Of the share of pairs of one finger: each finger is a draw. Of the others: the sizes of 1,024 buckets are, Poisson of mean c, and a
    bucket of n prints has n(n-1)/2 pairs, whose variance is c^3 + c^2/2; those that two families find vary twice as much at most."""
    c = 2 * fingers * MINUTIA ** 3
    relative = math.sqrt(c ** 3 + c ** 2 / 2) / (c ** 2 / 2) / math.sqrt(FUNCTIONS)
    return math.sqrt(same * (1 - same) / fingers), other * relative * families


def fraction(value, digits):
    return f"{value:.{digits}f}"[1:]  # .985


def say(what, work, here, within, why=""):
    print(what, fraction(work, 3), here, within, why, sep="\t")


def main():
    bandmill, folder, fingers = sys.argv[1], sys.argv[2], int(sys.argv[3])
    bits = Bits()
    squares = squares_of(bits, fingers)
    path = os.path.join(folder, "keys.npy")
    families = [found_by(bandmill, path, squares, [three_squares(bits) for _ in range(FUNCTIONS)], 2 * fingers) for _ in range(2)]
    work = .985, .063
    for kind, of_work, both in (("same finger", work[0], SAME), ("other fingers", work[1], OTHER)):
        say(f"{kind}, by the formula", of_work, fraction(formula(both), 3), "exact")
    for kind, of_work, both in (("same finger", work[0], SAME), ("other fingers", work[1], OTHER)):
        expected = on_one_grid(both, 1)
        say(f"{kind}, by the formula for one grid", of_work, fraction(expected, 4), fraction(abs(of_work - expected), 4),
            "all functions choose among the same 1,000 squares")
    n_pairs = fingers, fingers * (2 * fingers - 1) - fingers
    for name, found, n in (("1,024 functions", families[0], 1), ("found by both of two such families", families[0] & families[1], 2)):
        same = sum(j - i == fingers for i, j in found)
        shares = same / n_pairs[0], (len(found) - same) / n_pairs[1]
        expected = on_one_grid(SAME, n), on_one_grid(OTHER, n)
        errors = standard_errors(*expected, fingers, n)
        for which, kind in enumerate((f"{fingers:,} pairs of the same finger", f"{n_pairs[1]:,} pairs of others")):
            of_work = work[which] ** n
            within = abs(of_work - expected[which]) + 3 * errors[which] + .0005  # the last one: what the work rounded off
            say(f"{kind}, {name}", of_work, fraction(shares[which], 4), fraction(within, 4),
                f"drawn: {fraction(expected[which], 4)} is to be expected on one grid, and 3 standard errors")
    functions = [three_squares(bits) for _ in range(FUNCTIONS)]
    for border, where in ((0, "in their own squares"), (BORDER, "in adjacent squares too")):
        squares, met = squares_of_points(fingers, border)
        found = found_by(bandmill, path, squares, functions, 2 * fingers)
        same = sum(j - i == fingers for i, j in found)
        first = [s & (1 << fingers) - 1 for s in squares]
        of_both = sum(bin(f & s >> fingers).count("1") for f, s in zip(first, squares)) / sum(bin(f).count("1") for f in first)
        for what, value in (("minutiae of both prints that have a square in common", met),
                            ("squares of a print that the other print of the finger has", of_both),
                            (f"{fingers:,} pairs of the same finger, 1,024 functions", same / n_pairs[0]),
                            (f"{n_pairs[1]:,} pairs of others, 1,024 functions", (len(found) - same) / n_pairs[1])):
            print(f"points {where}: {what}", "none", fraction(value, 4) if value < 1 else "1.0000", "none", sep="\t")


if __name__ == "__main__":
    main()
