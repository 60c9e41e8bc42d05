"""Frames around contents: the boilerplate of sites of several makes, with what changes daily."""

from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Final, NamedTuple


class Site(NamedTuple):
    """One site: its name, and what is on all of its pages."""

    name: str
    links: tuple[str, ...]
    footer: str


_NAMES: Final = (
    "Harbour Post",
    "Nordlys",
    "La Gazette",
    "Blog of K.",
    "Amber Trade",
    "City Lab",
)
_LINKS: Final = (
    *(
        "Home",
        "News",
        "Sport",
        "Culture",
        "Archive",
        "About us",
        "Contact",
        "Newsletter",
        "Jobs",
    ),
    *(
        "Imprint",
        "Privacy",
        "Shop",
        "Events",
        "Gallery",
        "Podcast",
        "Weather",
        "Login",
        "Search",
    ),
)


def site(random: Random) -> Site:
    """Return a site."""
    links = tuple(random.sample(_LINKS, random.randint(4, 12)))
    footer = f"© {random.randint(2001, 2020)} {random.choice(_NAMES)}. All rights reserved."
    return Site(random.choice(_NAMES), links, footer)


def _paragraphs(sentences: Sequence[str], random: Random, tag: str = "p") -> str:
    out, rest = [], list(sentences)
    while rest:
        number = random.randint(2, 5)
        out.append(f"<{tag}>{' '.join(rest[:number])}</{tag}>")
        rest = rest[number:]
    return "\n".join(out)


def _advertisement(random: Random) -> str:
    what = random.choice(
        ("Cheap flights", "New phones", "Win a car", "Insurance", "Shoes -50 %")
    )
    return f'<div class="ad banner"><a href="http://ads.example/{random.random()}">{what}</a></div>'


def _daily(random: Random) -> str:
    """Return what changes from day to day: date, visits, weather, most read."""
    read = "".join(
        f"<li><a href='/a/{random.randint(1, 999)}'>Most read {n}</a>" for n in range(3)
    )
    day = f"{random.randint(1, 28)} May {random.randint(2005, 2020)}"
    return (
        f"<div class=widget><span>{day}</span> <span>{random.randint(-5, 30)} °C</span>"
        f"<ol>{read}</ol><span>{random.randint(1, 99_999)} visits</span></div>"
    )


Frame = Callable[[Site, str, str, Random], str]
"""Returns a page: its site, title, content, and what differs from day to day."""


def blog(site: Site, title: str, content: str, random: Random) -> str:
    nav = "".join(f'<li><a href="/{link}">{link}</a></li>' for link in site.links)
    return f"""<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>{title} | {site.name}
</title><link rel=stylesheet href="/wp-content/style.css"></head><body class="single-post">
<header><h2>{site.name}</h2><nav><ul class="menu">{nav}</ul></nav></header>
<main id="content"><article class="post"><h1 class="entry-title">{title}</h1>
<div class="entry-content">{content}</div></article></main>
<aside id="sidebar">{_daily(random)}{_advertisement(random)}</aside>
<footer id="footer">{site.footer}</footer><script>var t={random.random()};</script></body></html>"""


def portal(site: Site, title: str, content: str, random: Random) -> str:
    nav = " ".join(f'<a href="/{link}" class="nav-item">{link}</a>' for link in site.links)
    teasers = "".join(
        f'<div class="teaser"><a href="/n/{random.randint(1, 9999)}">Teaser {n}</a></div>'
        for n in range(random.randint(3, 8))
    )
    return f"""<!doctype html><html><head><title>{site.name} - {title}</title></head><body>
<div id="top">{_advertisement(random)}<div class="nav">{nav}</div>{_daily(random)}</div>
<div class="container"><div class="row"><div class="col-8 article-body"><h1>{title}</h1>
{content}<div class="social"><a href="#">Share</a> <a href="#">Tweet</a></div></div>
<div class="col-4 sidebar">{teasers}</div></div></div>
<div class="footer">{site.footer} {_advertisement(random)}</div></body></html>"""


def tables(site: Site, title: str, content: str, random: Random) -> str:
    nav = "<br>".join(f'<a href="{link}.htm">{link}</a>' for link in site.links)
    return f"""<HTML><HEAD><TITLE>{title}</TITLE></HEAD><BODY BGCOLOR="#FFFFFF">
<TABLE WIDTH="100%"><TR><TD WIDTH="120" VALIGN=top><FONT SIZE=-1>{nav}</FONT></TD>
<TD><CENTER><H2>{title}</H2></CENTER>{content}<HR><I>{site.footer}</I> You are visitor
{random.randint(1, 99_999)}</TD></TR></TABLE></BODY></HTML>"""


def wiki(site: Site, title: str, content: str, random: Random) -> str:
    nav = "".join(
        f'<li id="n-{link}"><a href="/wiki/{link}">{link}</a></li>' for link in site.links
    )
    return f"""<!DOCTYPE html><html class="client-nojs" lang="en"><head><meta charset="UTF-8">
<title>{title} - {site.name}</title></head><body class="mediawiki skin-vector">
<div id="content" class="mw-body"><h1 id="firstHeading">{title}</h1>
<div id="mw-content-text"><div class="mw-parser-output">{content}</div></div></div>
<div id="mw-navigation"><ul>{nav}</ul></div><div id="footer">This page was last edited on
{random.randint(1, 28)} May {random.randint(2005, 2020)}. {site.footer}</div></body></html>"""


def bare(site: Site, title: str, content: str, random: Random) -> str:
    return f"""<html><head><title>{title}</title></head><body><h1>{title}</h1>{content}
<p>{site.name}, {random.randint(1, 28)}.{random.randint(1, 12)}.{random.randint(2000, 2020)}</p></body></html>"""


TUNED: Final[Mapping[str, Frame]] = {"blog": blog, "portal": portal, "tables": tables}
HELD_OUT: Final[Mapping[str, Frame]] = {"wiki": wiki, "bare": bare}


def forum(site: Site, title: str, content: str, random: Random) -> str:
    posts = content.replace("<p>", '<div class="post"><div class="user">guest</div><p>')
    return f"""<html><head><title>{title} :: {site.name} Forum</title></head><body><div id="wrap">
<div class="navbar">{" &raquo; ".join(site.links)}</div><h3 class="topic">{title}</h3>{posts}
<form action="/login"><input name=user><input type=password name=p><button>Log in</button></form>
<div class="copyright">Powered by phpBB {random.randint(2, 3)}. {site.footer}</div></div></body></html>"""


def government(site: Site, title: str, content: str, random: Random) -> str:
    nav = "".join(f"<li class=nav-link><a href='/{link}'>{link}</a>" for link in site.links)
    cookie = (
        '<div id="cookie-banner" role="dialog"><p>We use cookies to improve this site.</p>'
        "<button>Accept</button><button>Reject</button></div>"
    )
    return f"""<!doctype html><html lang=en><head><title>{title} - {site.name} - gov</title></head><body>
{cookie if random.random() < 0.6 else ""}<a href="#main">Skip to main content</a>
<nav aria-label=breadcrumb><ul>{nav}</ul></nav><div role="main" id="main" class="container">
<h1>{title}</h1><section>{content}</section></div>
<footer><p>{site.footer}</p><p>Last updated {random.randint(1, 28)} May</p></footer></body></html>"""


HELD_OUT_MORE: Final[Mapping[str, Frame]] = {"forum": forum, "government": government}


def framed(  # noqa: PLR0913 -- what pages differ in
    frame: Frame, own: Site, title: str, sentences: Sequence[str], *, shape: int, day: int
) -> bytes:
    """Return a page; *shape* decides its paragraphs, *day* what changes from day to day."""
    content = _paragraphs(sentences, Random(shape))
    return frame(own, title, content, Random(day)).encode()
