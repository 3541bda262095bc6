/* SPDX-License-Identifier: Apache-2.0 */
/* teams.cl -- for documents that all teams of a group sign together. Each team takes a share of the
 * hashes.
 *
 * Comes before sign_gpu.cl. Each item has the minima of its team's share in registers. The minima
 * of all teams are merged in local memory, without atomic operations, because not every device has
 * them for 64 bits.
 *
 *   BM_LEAST   the type of a minimum: uint (not given) or ulong */

#define BM_GROUP      (BM_TEAM * BM_TEAMS)
#define BM_TEAM_WORDS (BM_EACH * BM_TEAM) /* at least BM_PERMS */
#if !defined(BM_LEAST)
#define BM_LEAST uint
#endif
#if BM_TEAMS > 1
#define BM_MET_WORDS (BM_TEAMS * BM_TEAM_WORDS)
#else
#define BM_MET_WORDS 1 /* a single team has nothing to merge */
#endif

/* Return how many of n units a team takes. It takes every BM_TEAMS-th unit, from its own number
 * on. */
BM_INLINE uint bm_share(uint n, uint team)
{
    return (n + BM_TEAMS - 1 - team) / BM_TEAMS;
}

/* Return how many documents at the end of a chunk of n documents are signed by all teams together.
 * They are the last n % BM_TEAMS documents, which would otherwise leave teams idle; `units` is how
 * many units they have. The result is 0 if it would take longer than one whole document, because a
 * merge costs about as much as 10 / BM_EACH quads. */
BM_INLINE uint bm_shared_docs(uint n, uint units)
{
    const uint rest = n % BM_TEAMS;
    return (BM_TEAMS - rest) * units * BM_EACH > 10 * rest * rest * BM_TEAMS ? rest : 0;
}

/* Store the minima that the teams found in a document or a part in `met`. Afterwards bm_met returns
 * the least value of a word. All items of the group must call this function. */
BM_INLINE void bm_meet(__local BM_LEAST *met, uint item, const BM_LEAST *m)
{
    barrier(CLK_LOCAL_MEM_FENCE); /* waits until the minima of the previous document were read */
#pragma unroll
    for (uint j = 0; j < BM_EACH; ++j)
        met[item / BM_TEAM * BM_TEAM_WORDS + item % BM_TEAM + j * BM_TEAM] = m[j];
    barrier(CLK_LOCAL_MEM_FENCE);
}

BM_INLINE BM_LEAST bm_met(__local const BM_LEAST *met, uint at)
{
    BM_LEAST least = met[at];
    for (uint team = 1; team < BM_TEAMS; ++team)
        least = min(least, met[team * BM_TEAM_WORDS + at]);
    return least;
}
