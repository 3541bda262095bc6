# SPDX-License-Identifier: Apache-2.0
"""pages.py -- made-up pages of made-up newspapers: an article among the advertisements, menus and notices of a site. Seeded.

An article is prose: sentences from a small grammar, of which about every other word is a stop word, as in English prose. What surrounds it is
not: names, imperatives, prices. Nothing but this difference is what stop word shingles live from."""
import dice

FIRST = "Ada Boris Clara Dmitri Elsa Farid Greta Hugo Ines Jonas Katya Liam Mara Nadia Otto Petra Ravi Sonia Tomas Vera".split()
LAST = "Abel Brandt Castell Dorn Egger Falk Grieg Holm Ivers Jansen Keller Lund Moreau Novak Olsen Pratt Quist Rossi Stern Vogel".split()
TITLES = "mayor minister chairman director spokeswoman lawyer trainer professor senator banker".split()
PLACES = "Alder Basin Caldora Dunmoor Eastwick Farholm Gretna Harbour Iverness Kelso Lorne Midvale Norhaven Ostend Port Quarry Rosedale".split()
MONTHS = "January February March April May June July August September October November December".split()
THINGS = """airport archive bakery bank bridge budget cathedral charter clinic coast committee company contract council court crop dam debt
district election factory farm ferry festival fleet forest fund garden harbour hospital inquiry island judge laboratory law lease library
line loan market merger mine museum orchestra parliament park pension pier pipeline plan plant police port power prison programme project
queue railway reactor refinery reform report river road school season ship station steel stock strike studio subsidy summit tax team theatre
tower trade trial tunnel union university valley vessel vote wage water workshop""".split()
KINDS = """ageing ambitious annual bankrupt bitter broken busy cheap coastal controversial costly crowded disputed distant early empty famous
final flooded foreign former fragile hidden historic idle joint large late local long modern narrow national new northern old open popular
private proposed public quiet recent regional remote rural secret short small southern strict troubled urban vacant western wooden""".split()
DID = """abandoned accepted announced approved attacked backed blocked bought built cancelled changed closed criticised defended delayed
denied described doubled examined expected explained extended feared financed found halted improved inspected lost moved opened opposed
ordered planned praised presented promised protected questioned rebuilt reduced rejected removed repaired replaced restored saved sold
stopped supported tested visited welcomed""".split()
WARES = """Sudzo Brightoil Carvella Dentiva Easyfly Fonix Gardenia Homely Instacar Jollypet Kiteo Lumina Mobilo Nutrino Oculux Petalia Quickloan
Ramona Softstep Tastico Ultraview Velotto Washwell Xenia Yogaro Zippo""".split()
GOODS = """sofas laptops tyres boots cruises mattresses phones kitchens glasses watches bicycles windows carpets holidays insurance vitamins
printers tents perfume headphones""".split()
CALLS = """Buy|Order|Try|Compare|Discover|Save|Win|Book|Visit|Choose|Upgrade|Join|Download|Subscribe|Register""".split("|")
OFFERS = """free delivery|20 percent discount|limited offer|best price guarantee|30 days trial|click here|sign up today|new arrivals|shop now|
members save 15 percent|download the app|two weeks free|call 0800 4455|see all deals|gift cards available|win holidays for two|
save on your car insurance|up to 70 percent off|order before midnight""".replace("\n", "").split("|")
MENU = """Home World Politics Business Markets Science Health Sport Weather Travel Culture Opinion Obituaries Letters Crossword Video Podcasts
Newsletters Archive Jobs Motoring Property Dating Horoscopes""".split()
NOTICES = """Terms Privacy Cookies Contact Imprint Accessibility Advertise Careers Sitemap Licensing Complaints Subscriptions""".split()


class Writer:
    """Of articles."""

    def __init__(self, rolls):
        self.rolls = rolls

    def somebody(self):
        name = f"{self.rolls.one(FIRST)} {self.rolls.one(LAST)}"
        return f"the {self.rolls.one(TITLES)} of {self.rolls.one(PLACES)}, {name}" if self.rolls.happens(.3) else name

    def something(self):
        thing, kind = self.rolls.one(THINGS), self.rolls.one(KINDS)
        a = "an" if kind[0] in "aeiou" else "a"
        return self.rolls.one((f"the {kind} {thing}", f"{a} {kind} {thing}", f"the {thing} of {self.rolls.one(PLACES)}",
                               f"the {self.rolls.one(THINGS)} {thing}", f"the {thing} in {self.rolls.one(PLACES)}", f"their {kind} {thing}",
                               f"the {thing} and the {self.rolls.one(THINGS)}", f"some of the {kind} {thing} it had"))

    def subject(self):
        return self.somebody() if self.rolls.happens(.5) else self.something()

    def clause(self):
        did = self.rolls.one(DID)
        return f"{self.subject()} " + self.rolls.one((
            f"{did} {self.something()}", f"had {did} {self.something()}", f"was {did} by {self.subject()}",
            f"would have {did} {self.something()} if it were not for {self.something()}", f"is to be {did} in {self.rolls.one(MONTHS)}",
            f"{did} it for more than {2 + self.rolls.below(60)} {self.rolls.one(('days', 'months', 'years'))}"))

    def sentence(self):
        text = self.clause()
        if self.rolls.happens(.4):
            text += self.rolls.one((" because ", " although ", " after ", " before ", " while ", ", and ", ", but ")) + self.clause()
        if self.rolls.happens(.35):
            text = f"{self.somebody()} {self.rolls.one(('said', 'wrote', 'told us'))} that {text}"
        elif self.rolls.happens(.3):
            text = f"in {self.rolls.one(MONTHS)} {text}"
        return text[0].upper() + text[1:] + "."

    def article(self):
        """Three to seven paragraphs."""
        return [" ".join(self.sentence() for _ in range(2 + self.rolls.below(3))) for _ in range(3 + self.rolls.below(5))]


class Site:
    """What a newspaper puts round each of its articles: the menu, advertisements, notices."""

    def __init__(self, rolls):
        ware = [rolls.one(WARES) for _ in range(8)]
        self.head = f"{rolls.one(PLACES)} {rolls.one(('Herald', 'Times', 'Courier', 'Post', 'Echo', 'Tribune'))}\n" + \
            " ".join(rolls.one(MENU) for _ in range(14))
        self.adverts = [self.advert(rolls, ware) for _ in range(28)]
        self.foot = " ".join(rolls.one(NOTICES) for _ in range(6)) + f" Copyright {2000 + rolls.below(25)}"

    @staticmethod
    def advert(rolls, ware):
        lines = [f"{rolls.one(CALLS)} {rolls.one(ware)} {rolls.one(GOODS)}"]
        for _ in range(2 + rolls.below(3)):
            lines.append(rolls.one((rolls.one(OFFERS), f"{rolls.one(ware)} {rolls.one(GOODS)} {9 + rolls.below(900)} euros",
                                    f"{rolls.one(CALLS)} {rolls.one(GOODS)} {rolls.one(PLACES)}")))
        return "\n".join(lines)

    def page(self, paragraphs):
        """The advertisements stand between the paragraphs, and those that are left behind them."""
        parts = [self.head]
        for i in range(max(len(paragraphs), len(self.adverts))):
            parts += paragraphs[i:i + 1] + self.adverts[i:i + 1]
        return "\n".join(parts + [self.foot])


def pages_of(n_articles, n_sites, seed):
    """Every article on every site: (article, site, text)."""
    rolls = dice.Dice(seed)
    writer, sites = Writer(rolls), [Site(rolls) for _ in range(n_sites)]
    articles = [writer.article() for _ in range(n_articles)]
    return [(a, s, site.page(article)) for a, article in enumerate(articles) for s, site in enumerate(sites)]


def shortened(rolls, paragraphs):
    """As a site prints it: the end left off, a paragraph left out, one of its own added."""
    kept = paragraphs[:len(paragraphs) - rolls.below(1 + len(paragraphs) // 3)]
    if len(kept) > 2 and rolls.happens(.3):
        del kept[1 + rolls.below(len(kept) - 1)]
    if rolls.happens(.3):
        kept.append(Writer(rolls).sentence())
    return kept


def collection(n_pages, seed):
    """Pages of 40 sites, of which every fourth has the advertisements of the one before it: each article on one to six of them, most of
    them shortened: texts."""
    rolls = dice.Dice(seed)
    writer, sites, pages = Writer(rolls), [Site(rolls) for _ in range(40)], []
    for sister, site in zip(sites[3::4], sites[2::4]):
        sister.adverts = site.adverts
    while len(pages) < n_pages:
        article = writer.article()
        for _ in range(1 + rolls.below(6)):
            paragraphs = shortened(rolls, article) if rolls.happens(.7) else article
            pages.append(rolls.one(sites).page(paragraphs))
    return pages[:n_pages]
