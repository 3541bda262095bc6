/* SPDX-License-Identifier: Apache-2.0 */
/* teams.cl -- documents that all teams of a group sign together, each team taking a share of the
 * hashes.
 *
 * Comes before sign_gpu.cl. Each item has the minima of its team's share in registers. They are
 * merged in local memory, without atomics, since not every device has 64-bit ones.
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

/* How many of n units a team takes: every BM_TEAMS-th, from its own number on. */
BM_INLINE uint bm_share(uint n, uint team)
{
    return (n + BM_TEAMS - 1 - team) / BM_TEAMS;
}

/* How many documents at the end of a chunk of n documents are signed by all teams together: the
 * last n % BM_TEAMS, which would otherwise leave teams idle. 0 if that would take longer than one
 * whole document, since a merge costs about as much as 10 / BM_EACH quads. `units`: how many units
 * these documents have. */
BM_INLINE uint bm_shared_docs(uint n, uint units)
{
    const uint rest = n % BM_TEAMS;
    return (BM_TEAMS - rest) * units * BM_EACH > 10 * rest * rest * BM_TEAMS ? rest : 0;
}

/* Store the teams' minima of a document or a part in `met`; bm_met then returns the least of a
 * word. All items of the group must call this function. */
BM_INLINE void bm_meet(__local BM_LEAST *met, uint item, const BM_LEAST *m)
{
    barrier(CLK_LOCAL_MEM_FENCE); /* the minima of the previous document have been read */
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
