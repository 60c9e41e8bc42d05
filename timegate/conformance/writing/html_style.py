"""How the page looks: light and dark, from 360 pixels on, on paper, without a script."""

from typing import Final

STYLE: Final = """
:root{color-scheme:light dark;--ink:#1b1f24;--dim:#57606a;--page:#fff;--line:#d0d7de;
--head:#f6f8fa;--fail:#ffdcd7;--fail-ink:#8e1519;--warn:#fff1c9;--warn-ink:#6b4500;
--pass:#fff;--pass-ink:#1a6b33;--unknown:#efe7fb;--unknown-ink:#5a3292;--skip:#fff;
--skip-ink:#6e7781;--code:#f6f8fa}
@media(prefers-color-scheme:dark){:root{--ink:#e6edf3;--dim:#9da7b1;--page:#12161b;
--line:#3a424c;--head:#1c2229;--fail:#5a1e1c;--fail-ink:#ffc9c4;--warn:#493808;
--warn-ink:#f8dc8f;--pass:#12161b;--pass-ink:#7fd497;--unknown:#352a50;--unknown-ink:#d9c8fa;
--skip:#12161b;--skip-ink:#8b949e;--code:#1c2229}}
*{box-sizing:border-box}
body{font:15px/1.5 system-ui,sans-serif;margin:0 auto;padding:1rem;max-width:90rem;
color:var(--ink);background:var(--page)}
h1{font-size:1.5rem;margin:.25rem 0}h2{font-size:1.2rem;margin:2rem 0 .25rem}
p{margin:.25rem 0 .75rem}a{color:inherit}small,.dim{color:var(--dim);font-size:.85em}
.matrix{overflow:auto;max-height:85vh;border:1px solid var(--line)}
table{border-collapse:separate;border-spacing:0}
th,td{border-bottom:1px solid var(--line);border-right:1px solid var(--line);
padding:.2rem .5rem;text-align:left;vertical-align:top}
thead th{position:sticky;top:0;z-index:1;background:var(--head);vertical-align:bottom}
thead th:not(:first-child){min-width:7rem;overflow-wrap:anywhere}
tbody th{position:sticky;left:0;background:var(--page);font-weight:normal;min-width:24rem;
max-width:30rem}
thead th:first-child{left:0;z-index:2}
td a{display:block;text-decoration:none;white-space:nowrap}
td a:hover,td a:focus-visible{text-decoration:underline}
.fail{background:var(--fail);color:var(--fail-ink)}
.warn{background:var(--warn);color:var(--warn-ink)}
.pass{background:var(--pass);color:var(--pass-ink)}
.unknown{background:var(--unknown);color:var(--unknown-ink)}
.skip{background:var(--skip);color:var(--skip-ink)}
td.fail,td.warn{font-weight:600}
.badge{display:inline-block;padding:0 .45rem;border-radius:.6rem;white-space:nowrap;
border:1px solid var(--line)}
details{border:1px solid var(--line);border-radius:.4rem;margin:.3rem 0;padding:.3rem .6rem;
scroll-margin-top:1rem}
details:target{outline:3px solid var(--warn-ink)}
summary{cursor:pointer;overflow-wrap:anywhere}
pre{white-space:pre-wrap;overflow-wrap:anywhere;background:var(--code);padding:.5rem;
margin:.4rem 0;font-size:.85rem}
@media(max-width:40rem){body{padding:.6rem}tbody th{min-width:9.5rem;max-width:9.5rem;
font-size:.85rem;line-height:1.35}thead th:not(:first-child){min-width:5.5rem;font-size:.85rem}}
@media print{.matrix{max-height:none;overflow:visible}thead th,tbody th{position:static}}
"""
