# SPDX-License-Identifier: Apache-2.0
# crawl.awk -- a small corpus to try things on: pages of two invented newspapers, as JSON Lines with id and text. The same bytes everywhere.
#
#   awk -f docs/examples/crawl.awk > crawl.jsonl
#
# 400 articles; then what a crawl brings along: 80 copies (some in capitals), 90 that were edited (a sentence dropped, changed or added), and
# a page on the tides that was rewritten 30 times, a sentence each day, so that its first and its last state have little in common.
function drawn(n) { seed = (seed * 16807) % 2147483647; return seed % n }
function one(list,   words, n) { n = split(list, words, ","); return words[drawn(n) + 1] }
function sentence(   kind) {
    kind = drawn(4)
    if (kind == 0)
        return "The " one(PLACE) " of " one(TOWN) " " one(DID) " the " one(THING) " " one(WHEN) ", and " one(WHO) " called it " one(HOW) "."
    if (kind == 1)
        return one(NAME) " of " one(TOWN) " told the " one(PLACE) " that " drawn(90) + 10 " " one(MANY) " " one(WENT) " " one(WHEN) "."
    if (kind == 2)
        return "Nobody in " one(TOWN) " remembers another " one(THING) " as " one(HOW) " as the one that " one(WHO) " " one(DID) " " one(WHEN) "."
    return "After " drawn(9) + 2 " years the " one(THING) " near the " one(PLACE) " was " one(HOW) " again, said " one(NAME) " " one(WHEN) "."
}
function page(id, text) { printf "{\"id\":\"%s\",\"text\":\"%s\"}\n", id, text }
function whole(state, n,   i, text) { for (i = 1; i <= n; i++) text = text (i > 1 ? " " : "") state[i]; return text }
BEGIN {
    seed = 2026
    TOWN = "Brenning,Holm,Aldersea,Wick,Torrance,Maybridge,Saltery,Ostwick,Fenmoor,Garrow,Lindal,Peverell"
    PLACE = "council,harbour,school,library,market,railway,mill,hospital,theatre,college,museum,brewery,ferry,parish"
    THING = "bridge,tower,road,well,organ,garden,lighthouse,archive,orchard,canal,clock,boat,wall,concert,lantern,chapel"
    DID = "opened,closed,sold,repaired,painted,lost,found,measured,praised,moved,borrowed,promised"
    WHEN = "in May,last winter,on Monday,before the storm,at noon,this spring,after the fair,a week ago,during the frost,on market day"
    WHO = "the mayor,a teacher,the miller,an old pilot,the choir,two sisters,a visitor,the keeper,every child,the new doctor"
    HOW = "useful,expensive,handsome,too small,a wonder,long overdue,badly lit,the best yet,hard to reach,quiet"
    NAME = "Ada Rowe,Jon Pell,Mira Voss,Tom Ashby,Eva Lund,Karl Dunn,Ruth Hale,Ned Carver,Ina Moss,Paul Stark"
    MANY = "boats,letters,sheep,visitors,lamps,books,barrels,tickets,stones,bells"
    WENT = "had arrived,were missing,came back,went to the fair,were counted twice,stood in the rain"
    for (i = 1; i <= 400; i++) {
        length_of[i] = 6 + drawn(10)
        for (k = 1; k <= length_of[i]; k++) said[i, k] = sentence()
    }
    for (i = 1; i <= 400; i++) {
        for (k = 1; k <= length_of[i]; k++) state[k] = said[i, k]
        page(sprintf("gazette/%03d", i), whole(state, length_of[i]))
    }
    for (n = 1; n <= 80; n++) {
        i = drawn(400) + 1
        for (k = 1; k <= length_of[i]; k++) state[k] = n % 4 ? said[i, k] : toupper(said[i, k])
        page(sprintf("mirror/%03d", n), whole(state, length_of[i]))
    }
    for (n = 1; n <= 90; n++) {
        i = drawn(400) + 1
        for (k = 1; k <= length_of[i]; k++) state[k] = said[i, k]
        for (times = 1 + drawn(3); times > 0; times--) state[drawn(length_of[i]) + 1] = drawn(3) ? sentence() : ""
        page(sprintf("echo/%03d", n), whole(state, length_of[i]))
    }
    for (k = 1; k <= 24; k++) state[k] = "The tide at " one(TOWN) " turns " one(WHEN) "; " sentence()
    for (n = 1; n <= 30; n++) {
        page(sprintf("tides/%02d", n), whole(state, 24))
        state[(n * 7) % 24 + 1] = "The tide at " one(TOWN) " turns " one(WHEN) "; " sentence()
    }
}
