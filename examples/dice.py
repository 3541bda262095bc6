# SPDX-License-Identifier: Apache-2.0
"""dice.py -- what the examples draw. Of the module random only random() is used, which is the same in all versions of Python."""
import random


class Dice:
    def __init__(self, seed):
        self.rng = random.Random(seed)

    def below(self, n):
        return int(self.rng.random() * n)

    def happens(self, chance):
        return self.rng.random() < chance

    def one(self, words):
        return words[self.below(len(words))]

    def often_first(self, words):
        """The first ones are the frequent ones."""
        return words[self.below(1 + self.below(len(words)))]
