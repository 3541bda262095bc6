/* rare_prefix.c -- rank a document's shingles by rarity and take the first of them.
 *
 * The prefix filter: Chaudhuri, Ganti and Kaushik, "A primitive operator for similarity joins in
 * data cleaning" (ICDE 2006); a shorter prefix in the index: Xiao, Wang, Lin and Yu, "Efficient
 * similarity joins for near duplicate detection" (WWW 2008).
 *
 * A shingle's key is
 *
 *     [ count, 16 bits | 48 bits of its mixed hash ]
 *
 * and keys ascend, so the rarest come first. Two shingles may have the same key; the proof allows
 * that. Let x and y share c shingles, and let k be the least key of a shared one. In x, all c
 * shared ones have keys >= k, so the first place with key k is among the first |x| - c + 1 of x;
 * the same in y. Both lists of keys therefore hold k within these places. For every key below k
 * none of its shingles is shared: where i places of x lie before its first k, at most |x| - i
 * shingles are; the same in y. And a key that stands in both prefixes is met first at the least of
 * them, which is at or before k.
 *
 * What c is at least, for a pair that reaches the threshold, in double and not only on paper:
 * similarity is c / u rounded with u = |x or y|, and rounding is monotone. u >= |x|, hence
 * similarity <= c / |x| rounded, and where that is below the threshold, so is the similarity: c >=
 * least_share(|x|). For |x| >= |y|, u >= 2|y| - c, hence similarity <= c / (2|y| - c) rounded: c >=
 * bm_jaccard_least_common(|y|, |y|).
 *
 * Containment is c / |y| for |x| >= |y|: c >= least_share(|y|), whatever |x| is. So y has n - c + 1 places in the
 * index as above, and all of x looks for them; no size is too small.
 *
 * A shingle with a count of 1 is in this document alone. It takes its place and needs no key; in
 * real text these are most, and often the whole prefix: then nothing is sorted. */
#include "lsh/rare_prefix.h"

#include "lsh/verify.h"

#define BLOCK 32u /* counters that are fetched ahead */

static size_t length_for(size_t n, size_t least)
{
    return least == 0 ? n : n - least + 1;
}

size_t bm_least_size(bm_join_rule rule, size_t n)
{
    return rule.measure == BM_MEASURE_JACCARD ? bm_least_share(n, rule.threshold) : n != 0;
}

size_t bm_prefix_to_probe(bm_join_rule rule, size_t n)
{
    if (n == 0 || rule.measure == BM_MEASURE_CONTAINMENT)
        return n;
    return length_for(n, bm_least_share(n, rule.threshold));
}

size_t bm_prefix_to_index(bm_join_rule rule, size_t n)
{
    if (n == 0)
        return 0;
    return length_for(n, rule.measure == BM_MEASURE_JACCARD
                             ? bm_jaccard_least_common(n, n, rule.threshold)
                             : bm_least_share(n, rule.threshold));
}

size_t bm_rare_prefix_cut(uint64_t *keys, size_t n_keys, size_t n, size_t length, uint64_t *scratch)
{
    size_t n_alone = n - n_keys;
    if (n_alone >= length)
        return 0;
    bm_hashes_sort(keys, n_keys, scratch);
    return length - n_alone < n_keys ? length - n_alone : n_keys;
}

bm_rare_prefix_size bm_rare_prefix(const bm_shingle_counts *counts, const uint64_t *set, size_t n,
                                   size_t length, bm_rare_prefix_room room)
{
    size_t n_keys = 0;
    for (size_t at = 0; at < n; at += BLOCK) {
        uint64_t mixed[BLOCK];
        size_t many = n - at < BLOCK ? n - at : BLOCK;
        for (size_t i = 0; i < many; i++) {
            mixed[i] = bm_shingle_mix(set[at + i]);
            __builtin_prefetch(bm_shingle_counts_at(counts, mixed[i]));
        }
        for (size_t i = 0; i < many; i++) {
            uint32_t count = bm_shingle_counts_get(counts, mixed[i]);
            room.keys[n_keys] = bm_rare_key(mixed[i], count);
            n_keys += count > 1;
        }
    }
    return (bm_rare_prefix_size){.n_keys =
                                     bm_rare_prefix_cut(room.keys, n_keys, n, length, room.scratch),
                                 .n_alone = n - n_keys};
}
