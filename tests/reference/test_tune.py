# SPDX-License-Identifier: Apache-2.0
"""`tune` against a brute-force model: every pair (bands, rows), in exact rational arithmetic.

The program works in double; a plan whose probability is nearer to a bound than 1e-12 is left out of the comparison (there is
none among these wishes). The chosen plan without a ceiling is that of docs/pairing.md; the least number of permutations is
found by trying one after another."""
import fractions
import json

import harness

Fraction = fractions.Fraction
WISHES = [  # threshold, recall, ceiling, perms
    (".5", ".99", (".05", ".006"), 128), (".8", ".95", None, 128), (".8", ".95", (".5", ".1"), 128), (".7", ".9", (".4", ".3"), 64),
    (".25", ".97", (".05", ".2"), 100), (".9", ".999", (".6", ".05"), 256), ("1", ".5", (".9", ".2"), 40), (".05", ".5", None, 32),
    (".95", ".95", (".9", ".7"), 300), (".5", ".99", (".05", ".001"), 64), (".3", ".99", None, 8), (".6", ".9", (".55", ".5"), 512)]


def probability(bands, rows, s):
    return 1 - (1 - Fraction(s) ** rows) ** bands


def fits(bands, rows, threshold, recall, ceiling):
    return probability(bands, rows, threshold) >= Fraction(recall) and (
        ceiling is None or probability(bands, rows, ceiling[0]) <= Fraction(ceiling[1]))


def plans(threshold, recall, ceiling, perms):
    """All that fit, cheapest first."""
    found = [(b, r) for r in range(1, perms + 1) for b in range(1, perms // r + 1) if fits(b, r, threshold, recall, ceiling)]
    return sorted(found, key=lambda plan: (plan[0] * plan[1], plan[0]))


def chosen(found, ceiling):
    return found[0] if ceiling else max(found, key=lambda plan: (plan[1], -plan[0]))


def least(threshold, recall, ceiling):
    for perms in range(1, 1025):
        if any(fits(perms // r, r, threshold, recall, ceiling) for r in range(1, perms + 1) if perms % r == 0):
            return perms
    return None


def check(bandmill, threshold, recall, ceiling, perms):
    """What is wrong, or nothing."""
    arguments = ["tune", "--threshold", threshold, "--recall", recall, "--perms", perms]
    arguments += ["--ceiling", ":".join(ceiling)] if ceiling else []
    wanted = plans(threshold, recall, ceiling, perms)
    if not wanted:
        said = bandmill.run(*arguments, expect=1).stderr.decode()
        number = least(threshold, recall, ceiling)
        return "" if number is None or f"has one is {number})" in said else f"{said}, not {number}"
    got = json.loads(bandmill.run(*arguments, "--json").stdout)
    if [(p["bands"], p["rows"]) for p in got["plans"]] != wanted:
        return f"{len(got['plans'])} plans, not {len(wanted)}"
    for p in [*got["plans"], got["chosen"]]:
        numbers = {"recall": probability(p["bands"], p["rows"], threshold),
                   "words": p["bands"] * p["rows"], "unused": perms - p["bands"] * p["rows"]}
        if ceiling:
            numbers["at_ceiling"] = probability(p["bands"], p["rows"], ceiling[0])
        wrong = {name: p[name] for name, number in numbers.items() if abs(p[name] - number) > 1e-13}
        if wrong or (not ceiling and p["at_ceiling"] is not None):
            return f"{p}: {wrong}"
    if (got["chosen"]["bands"], got["chosen"]["rows"]) != chosen(wanted, ceiling):
        return f"chosen {got['chosen']}"
    b, r = chosen(wanted, ceiling)
    for p, step in zip((Fraction(1, 1000), Fraction(1, 100), Fraction(1, 2), Fraction(99, 100), Fraction(999, 1000)),
                       got["chosen"]["steps"], strict=True):
        if step["probability"] != float(p) or not all(  # the curve crosses p within a rounding or two of what is said
                sign * (probability(b, r, Fraction(step["similarity"]) * (1 + sign * Fraction(1, 10 ** 13))) - p) >= 0 for sign in (-1, 1)):
            return f"step {step}"
    curve = [(step["similarity"], step["probability"]) for step in got["chosen"]["curve"]]
    right = [(i / 20, probability(*chosen(wanted, ceiling), Fraction(i, 20))) for i in range(1, 21)]
    return "" if all(s == t and abs(p - q) < 1e-13 for (s, p), (t, q) in zip(curve, right, strict=True)) else curve


def main():
    args = harness.arguments("tune against a brute-force model")
    claims, bandmill = harness.Claims(), harness.Program(args.program, args.server)
    for wish in WISHES:
        claims.attempt(f"tune {wish} equals the model", lambda: check(bandmill, *wish))
    claims.end()


if __name__ == "__main__":
    main()
