/* SPDX-License-Identifier: Apache-2.0 */
/* presets.c -- the table of presets, and the function that applies one to the settings.
 *
 * Tests: tests/cli/cases/preset.sh */
#include "cli/presets.h"

#include <string.h>

#include "cli/options.h"

const cli_preset cli_presets[CLI_N_PRESETS] = {
    {"datasketch", BM_SHINGLE_WORD, 0, 0, BM_WORDS_ALNUM, BM_TOKEN_SHA1, BM_SCHEME_AFFINE32, 128, 0,
     0, 0,
     "datasketch 2 gets tokens from its caller: choose them with --shingle, --words and "
     "--normalize"},
    {"datatrove", BM_SHINGLE_WORD, 5, BM_NORM_LOWER | BM_NORM_STRIP_ACCENTS | BM_NORM_DIGITS,
     BM_WORDS_ALNUM, BM_TOKEN_XXH64, BM_SCHEME_DATATROVE, 112, 14, 8, 0,
     "datatrove cuts words with a tokenizer (spaCy for English), after its own simplification: a "
     "number is one 0 there, and here a 0 for each digit; most shingles of texts without numbers "
     "are the same"},
    {"nemo", BM_SHINGLE_CHAR, 24, 0, BM_WORDS_ALNUM, BM_TOKEN_MURMUR3, BM_SCHEME_NEMO, 260, 20, 13,
     0,
     "NeMo Curator takes characters of the text as it is: here a run of white space is one blank, "
     "and both ends are trimmed"},
    {"text-dedup", BM_SHINGLE_WORD, 5, BM_NORM_LOWER, BM_WORDS_TEXT_DEDUP, BM_TOKEN_SHA1,
     BM_SCHEME_TEXT_DEDUP, 240, 0, 0, 0.7,
     "text-dedup drops documents of fewer than 5 words, and lowers U+0130 and a final capital "
     "sigma differently; 0.4.0 uses 250 permutations by default (--num_perm)"},
    {"lance", BM_SHINGLE_WORD, 3, BM_NORM_LOWER, BM_WORDS_ALNUM, BM_TOKEN_XXH64, BM_SCHEME_LANCE,
     128, 16, 8, 0, "Lance uses the tokenizer of its index; here --words splits the text"},
    {"slimpajama", BM_SHINGLE_CHAR, 5, BM_NORM_NFC | BM_NORM_LOWER | BM_NORM_PUNCT, BM_WORDS_ALNUM,
     BM_TOKEN_SHA1, BM_SCHEME_LEGACY, 128, 16, 8, 0,
     "SlimPajama drops only ASCII punctuation, with its symbols: here punctuation of all scripts "
     "is dropped, but $ + < = > ^ | ~ and the backquote are kept"},
    {"SEDD", BM_SHINGLE_WORD, 13, BM_NORM_LOWER, BM_WORDS_SPACE, BM_TOKEN_SHA1, BM_SCHEME_LEGACY,
     128, 9, 13, 0,
     "SEDD has its own normaliser; here texts are put into lower case and split at white space"},
};

const cli_preset *cli_preset_of(const cli_settings *settings)
{
    const unsigned number = settings->results.exchange.preset;
    return number > 0 ? &cli_presets[number - 1] : NULL;
}

/* Should the preset set this option? If so, the option is marked as given. */
static bool claim(cli_settings *settings, cli_command_id command, const char *name)
{
    if (cli_was_given(settings, name))
        return false;
    for (size_t i = 0; i < cli_options.n; i++) {
        const arg_option *option = &cli_options.options[i];
        if ((option->commands & (1u << command)) == 0 || strcmp(option->name, name) != 0)
            continue;
        settings->given[i] = true;
        return true;
    }
    return false;
}

static void apply_text(const cli_preset *p, cli_settings *s, cli_command_id command)
{
    if (p->shingle_k == 0)
        return;
    if (claim(s, command, "normalize"))
        s->text.normalize = p->normalize;
    if (claim(s, command, "words"))
        s->text.words = p->words;
    if (!claim(s, command, "shingle"))
        return;
    s->text.shingle = p->shingle;
    s->text.shingle_k = p->shingle_k;
    s->tune.shingles.items[0].kind = p->shingle;
    s->tune.shingles.items[0].k = p->shingle_k;
    s->tune.shingles.n = 1;
}

/* Set the threshold, the bands and the rows, except those that were given. If bands or rows were
 * given, the threshold is not set. Bands and rows are not set if a recall was given, or if
 * candidates do not come from bands. They are not set either if neither was given and there are not
 * enough permutations for the preset's bands and rows. */
static void apply_plan(const cli_preset *p, cli_settings *s, cli_command_id command)
{
    const bool by_hand = cli_was_given(s, "bands") || cli_was_given(s, "rows");
    if (p->threshold > 0 && !by_hand && claim(s, command, "threshold"))
        s->bands.threshold = p->threshold;
    if (p->bands == 0 || cli_was_given(s, "recall") || s->match.candidates != BM_CANDIDATES_LSH ||
        (!by_hand && p->bands * p->rows > s->sketch.perms))
        return;
    if (claim(s, command, "bands"))
        s->bands.bands = p->bands;
    if (claim(s, command, "rows"))
        s->bands.rows = p->rows;
}

void cli_preset_apply(cli_settings *s, cli_command_id command)
{
    const cli_preset *p = cli_preset_of(s);
    if (p == NULL)
        return;
    apply_text(p, s, command);
    const bool own_scheme = cli_was_given(s, "scheme") && s->sketch.scheme != p->scheme;
    if (claim(s, command, "scheme"))
        s->sketch.scheme = p->scheme;
    /* if the user chose another scheme than the preset's, the hash and seed of that scheme apply */
    if (!own_scheme && claim(s, command, "hash"))
        s->text.hash = p->hash;
    if (!own_scheme && claim(s, command, "seed"))
        s->sketch.seed = bm_scheme_seed(p->scheme);
    if (claim(s, command, "perms"))
        s->sketch.perms = p->perms;
    apply_plan(p, s, command);
}
