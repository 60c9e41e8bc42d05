"""A third half, of pages as they are met in archives: longer error pages, walls over teasers.

It was written after the classes, to see where they fail; its errors are in docs/content.md.
"""

from collections.abc import Iterator
from random import Random
from typing import Final

from tests.quality.corpus import Sample
from tests.quality.frames import (
    bare,
    blog,
    forum,
    framed,
    government,
    portal,
    site,
    tables,
    wiki,
)
from tests.quality.texts import article, title

_URL: Final = "http://www.quay-letters.org/2014/05/expedition/"
_FRAMES: Final = (blog, portal, tables, wiki, bare, forum, government)
_TEASERS: Final = (
    "<h3>You may like</h3><ul><li><a href=/1>The old lighthouse is sold</a><li><a href=/2>Amber found at the coast</a>"
    "<li><a href=/3>Ten letters from the parish</a><li><a href=/4>A bridge of wood</a></ul>"
)
_SOFT_404: Final = (
    (
        "Not here",
        "Hmm, we can't seem to find that page",
        "It might have been moved in our last redesign. You can search our archive, browse the sections above, or tell our editors about the broken link.",
    ),
    (
        "Harbour Post",
        "Story unavailable",
        "This story has expired or was withdrawn from our web site. Stories are kept for thirty days.",
    ),
    (
        "Error",
        "An error has occurred",
        "The requested document was not found. Reference 18.7d3c1a2. Please return to the previous page.",
    ),
    ("404", "404", ""),
    (
        "Missing page",
        "You've reached a dead end",
        "The address you typed doesn't match any of our pages. It may have been deleted when our new site was launched.",
    ),
    (
        "Seite existiert nicht mehr",
        "Hoppla!",
        "Diese Seite gibt es nicht (mehr). Vielleicht hilft Ihnen unsere Suche weiter.",
    ),
    (
        "Erreur",
        "Oups, cette page est introuvable",
        "L'article demandé n'est plus en ligne. Consultez nos derniers articles.",
    ),
    (
        "Ups",
        "No hemos encontrado la página",
        "El enlace que ha seguido puede estar roto o la página puede haber sido retirada.",
    ),
    (
        "Stránka nenalezena",
        "Chyba 404",
        "Omlouváme se, ale požadovaná stránka nebyla nalezena.",
    ),
    ("Sivua ei löydy", "404", "Valitettavasti etsimääsi sivua ei löytynyt."),
    ("Strona nie istnieje", "Ups!", "Nie mogliśmy znaleźć tej strony. Sprawdź adres."),
    ("페이지를 찾을 수 없습니다", "404", "요청하신 페이지를 찾을 수 없습니다."),
)
_PARKED: Final = (
    "<title>quay-letters.org | Domain For Sale | Buy now</title><h1>quay-letters.org</h1><p>Secure checkout. Lease to own from $99 a month. Trusted by thousands of buyers. Need a price instantly? Contact us now. Call us: +1 781 555 0100</p>",
    "<title>quay-letters.org</title><p>Welcome to quay-letters.org</p><p>This Web page is parked for FREE, courtesy of our registrar.</p><ul><li><a href=/a>Find a domain</a></ul>",
    "<title>quay-letters.org</title><frameset rows='100%,*'><frame src='http://www.sedoparking.com/quay-letters.org'></frameset>",
    "<title>Under construction</title><h1>Site under construction</h1><p>Our new web site will be here shortly. Hosted by a provider.</p>",
    "<title>Domain Default page</title><h1>Domain Default page</h1><p>If you are seeing this message, the website for quay-letters.org is not available at this time. Plesk</p>",
    "<title>quay-letters.org</title><body onload='go()'><script>location='http://ww1.quay-letters.org/?sub1=2'</script>",
    "<title>quay-letters.org steht zum Verkauf</title><p>Diese Premium-Domain ist zu verkaufen. Preis auf Anfrage.</p>",
    "<title>この ドメインは販売中です</title><p>このドメインは売り出し中です。</p>",
)
_WALLS: Final = (
    (
        "consent-wall",
        "Your choices",
        "Welcome. To finance our journalism we and third parties use trackers and cookies. Accept and continue, or subscribe. You can change your choices at any time in the privacy centre.",
    ),
    (
        "consent-wall",
        "Bienvenido",
        "Tu privacidad es importante. Nosotros y nuestros socios almacenamos cookies. Aceptar y continuar. Rechazar y suscribirse. Configurar.",
    ),
    (
        "login-wall",
        "Restricted",
        "<form><input name=u> <input type=password name=p> <button>Sign in</button></form> Access to this area is restricted to staff. Sign in with your university account.",
    ),
    (
        "login-wall",
        "Member login",
        "<form><input name=u> <input type=password name=p></form> Please enter your e-mail address and password.",
    ),
)
_USUAL: Final = (
    (
        "Vacancy",
        "Engineer (m/f)",
        "This position is no longer available, but we look forward to your open application. The museum employs forty people in Esbjerg.",
    ),
    (
        "Search results",
        "Results for amber",
        "3 documents were found. The trade in amber, 1931. Letters of a dealer, 1912. Amber at the coast, a survey.",
    ),
    (
        "FAQ",
        "Why do I get page not found?",
        "Check the address for typing errors. If the page still cannot be found, write to the help desk, and tell us the address.",
    ),
    (
        "Hosting",
        "Web hosting for everyone",
        "Register a domain from 5 crowns a year. Hosting with e-mail, cPanel and daily copies. Is your domain parked elsewhere? Transfer it today.",
    ),
    (
        "Members",
        "The sailing club",
        "The club has two hundred members and a house at the quay. Members log in at the top to book a boat. New members are welcome.",
    ),
    (
        "Privacy policy",
        "Privacy policy",
        "This policy describes which personal data we store. We use cookies for statistics. You may withdraw your consent at any time, and our partners do not receive your data. Accept or reject cookies in your browser. The controller is the museum in Esbjerg.",
    ),
    (
        "Under construction",
        "A bridge under construction",
        "The new bridge is under construction since May. Coming soon: a walk over the site with the engineers, every Sunday at two.",
    ),
    (
        "For sale",
        "House for sale in Ribe",
        "The house of the old parish school is for sale. Make an offer before the first of June. Four rooms, a garden, a view of the river.",
    ),
    (
        "Lost cat",
        "Cat not found",
        "Our cat Misse could not be found since Sunday. She is grey with white paws. Call Anna if you see her.",
    ),
)


def wild(rounds: int, seed: int = 1) -> Iterator[Sample]:
    """Yield *rounds* of such pages."""
    random = Random(f"wild {seed}")
    for _ in range(rounds):
        yield from _round(random)


def _round(random: Random) -> Iterator[Sample]:
    frame, own = random.choice(_FRAMES), site(random)
    day = random.randint(1, 10**6)

    def page(heading: str, text: str, name: str = "") -> bytes:
        made = framed(frame, own, heading, [text], shape=1, day=day).decode()
        return made.replace(f"<title>{heading}", f"<title>{name or heading}", 1).encode()

    for name, heading, text in random.sample(_SOFT_404, 2):
        teasers = _TEASERS if random.random() < 0.5 else ""
        yield Sample(
            page(heading, text + teasers, name), "soft-404", f"soft-404 {heading}", _URL
        )
    parked = random.choice(_PARKED)
    yield Sample(parked.encode(), "parked", f"parked {parked[7:40]}", _URL)
    label, heading, text = random.choice(_WALLS)
    yield Sample(page(heading, text), label, f"{label} {heading}", _URL)
    for name, heading, text in random.sample(_USUAL, 3):
        yield Sample(page(heading, text, name), "", f"usual {heading}", _URL)
    language = random.choice(("en", "de", "fr", "es", "it", "nl"))
    for length in (2, 5, 20):
        text = " ".join(article(random, language, length))
        yield Sample(page(title(random, language), text), "", f"article of {length}", _URL)
