/* SPDX-License-Identifier: Apache-2.0 */
/* stop_words_en.c -- the list `en` of 183 English function words: articles, pronouns, prepositions,
 * conjunctions, auxiliaries, and adverbs that do not depend on the subject of a text. It includes
 * the parts of contractions (don't, we'll), because an apostrophe ends a word under some word
 * rules. We compiled the list ourselves. No normaliser changes these words, and each is one word
 * under every word rule.
 *
 * Signatures record the digest of this list. If the list changes, new signatures do not match old
 * ones.
 *
 * Tests: tests/unit/text/test_stop_words.c */
#include "text/stop_words_en.h"

const char bm_stop_words_en[] =
    "a about above across after again against all along also although am among an and "
    "another any are around as at be because been before behind being below between beyond "
    "both but by can could d despite did do does doing down during each either even ever "
    "every except few for from had has have having he her here hers herself him himself his "
    "how however i if in inside into is it its itself just less ll m many may me might mine "
    "more most much must my myself near neither never no none nor not now of off on once "
    "only onto or other ought our ours ourselves out outside over own per re s same several "
    "shall she should since so some still such t than that the their theirs them themselves "
    "then there these they this those though through throughout thus to too toward towards "
    "under unless until up upon us ve very via was we were what when where whereas whether "
    "which while who whom whose why will with within without would yet you your yours "
    "yourself yourselves";
