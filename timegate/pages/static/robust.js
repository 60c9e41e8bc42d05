// Robust links: offers the archived version of any link of a page, with its verdict.
//
//   <script src="https://timegate.example/static/robust.js" defer></script>
//
// Nothing is requested until a reader clicks the offer. The time of the archived version is
// data-versiondate of the link, or the date of the page (article:published_time, datePublished);
// data-versionurl names a copy. A link with data-robust="off" has no offer.
(() => {
  "use strict";
  const script = document.currentScript;
  if (!script || window.timegateRobust) return;
  window.timegateRobust = true;
  const server = script.src.replace(/\/static\/.*$/, "");
  const DATES = [
    'meta[property="article:modified_time"]',
    'meta[itemprop="dateModified"]',
    'meta[property="article:published_time"]',
    'meta[itemprop="datePublished"]',
  ];
  const STYLE = `
    :host { all: initial; position: absolute; z-index: 2147483647; }
    div { font: 14px/1.4 system-ui, sans-serif; color: #1a1a1a; background: #fff;
      border: 1px solid #767676; border-radius: 6px; padding: 6px 8px; max-width: 320px;
      box-shadow: 0 2px 8px rgb(0 0 0 / 25%); }
    button { font: inherit; color: #0b57d0; background: none; border: 0; padding: 2px;
      cursor: pointer; text-decoration: underline; }
    p { margin: 0 0 4px; } p:last-child { margin: 0; }
    a { color: #0b57d0; }
    @media (prefers-color-scheme: dark) {
      div { color: #eee; background: #222; } a, button { color: #8ab4f8; } }`;

  const isWeb = (url) => /^https?:\/\//i.test(url || "");

  function pageDate() {
    for (const selector of DATES) {
      const stated = document.querySelector(selector)?.content || "";
      const day = /^\d{4}(-\d{2}(-\d{2})?)?/.exec(stated.trim());
      if (day) return day[0];
    }
    return "";
  }

  // Returns the reference of a link, as our server reads it; empty if it is no web link.
  function referenceOf(link) {
    const original = link.dataset.originalurl || link.href;
    const version = link.dataset.versionurl;
    if (isWeb(version)) return version;
    const [page, here] = [original, location.href].map((url) => url.split("#")[0]);
    if (!isWeb(original) || page === here || page.startsWith(`${server}/`)) return "";
    const stated = /^\d{4}(-\d{2}(-\d{2})?)?/.exec((link.dataset.versiondate || "").trim());
    const date = stated ? stated[0] : pageDate();
    return date ? `duri:${date}:${original}` : original;
  }

  let box = null;
  let owner = null;
  let leaving = 0;

  function close() {
    box?.remove();
    box = owner = null;
  }

  const isUsed = (element) =>
    element && (element.matches(":hover") || document.activeElement === element);
  const stay = () => clearTimeout(leaving);
  function leave() {
    stay();
    leaving = setTimeout(() => isUsed(box) || isUsed(owner) || close(), 600);
  }

  // Puts the offer below its link, or above it where the window ends.
  function place() {
    if (!box) return;
    const at = owner.getBoundingClientRect();
    const width = document.documentElement.clientWidth;
    const height = box.getBoundingClientRect().height;
    const isAbove = at.bottom + 2 + height > innerHeight && at.top - 2 - height >= 0;
    const top = isAbove ? at.top - 2 - height : at.bottom + 2;
    box.style.top = `${top + scrollY}px`;
    box.style.left = `${Math.max(4, Math.min(at.left, width - 330)) + scrollX}px`;
  }

  function paragraph(text) {
    const line = document.createElement("p");
    line.textContent = text;
    return line;
  }

  function anchor(href, text) {
    const link = document.createElement("a");
    link.href = href;
    link.rel = "noreferrer";
    link.textContent = text;
    return link;
  }

  // Shows the answer of the server; all of it is text, never markup.
  async function ask(reference, content) {
    // The button goes: without this, the focus would leave the offer and close it.
    content.focus();
    content.replaceChildren(paragraph("Searching the archives."));
    const address = `${server}/resolve/${encodeURIComponent(reference)}`;
    let report = null;
    try {
      const response = await fetch(`${address}?as=json&wait=8`, {
        credentials: "omit",
        referrerPolicy: "no-referrer",
      });
      report = await response.json();
    } catch {
      content.replaceChildren(paragraph("The archive service did not answer."));
      return;
    }
    const lines = [];
    const memento = report.memento;
    if (memento && isWeb(memento.uri)) {
      const line = document.createElement("p");
      line.append(anchor(memento.uri, `Archived version of ${memento.datetime}`));
      lines.push(line, paragraph([report.headline, report.words].filter(Boolean).join(": ")));
    } else {
      lines.push(paragraph(report.detail || report.title || "No archived version was found."));
    }
    const more = document.createElement("p");
    more.append(anchor(`${address}?as=html&wait=8`, "How this was found"));
    content.replaceChildren(...lines, more);
  }

  function offer(link) {
    if (owner === link) return stay();
    const reference = link.dataset.robust === "off" ? "" : referenceOf(link);
    if (!reference) return undefined;
    close();
    stay();
    owner = link;
    box = document.createElement("span");
    box.className = "timegate-robust";
    const root = box.attachShadow({ mode: "open" });
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(STYLE);
    root.adoptedStyleSheets = [sheet];
    const content = document.createElement("div");
    content.setAttribute("role", "status");
    content.tabIndex = -1;
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = "Archived version";
    button.addEventListener("click", () => ask(reference, content));
    content.append(button);
    root.append(content);
    box.addEventListener("pointerenter", stay);
    box.addEventListener("pointerleave", leave);
    // After the link, so that the keyboard reaches the offer next.
    link.after(box);
    place();
    new ResizeObserver(place).observe(content);
    return undefined;
  }

  const linkAt = (event) =>
    event.target instanceof Element ? event.target.closest("a[href]") : null;
  document.addEventListener("pointerover", (event) => {
    const link = linkAt(event);
    if (link && event.pointerType !== "touch") offer(link);
  });
  document.addEventListener("pointerout", (event) => linkAt(event) && leave());
  document.addEventListener("focusin", (event) => {
    const link = linkAt(event);
    if (link) offer(link);
    else if (box && event.target === box) stay();
  });
  document.addEventListener("focusout", (event) => {
    if (event.target === owner || event.target === box) leave();
  });
  // Without a pointer that hovers, the first tap on a robust link shows the offer.
  document.addEventListener("click", (event) => {
    const link = linkAt(event);
    if (!link || link === owner || event.pointerType !== "touch") return;
    if (!("versionurl" in link.dataset || "versiondate" in link.dataset)) return;
    offer(link);
    if (owner === link) event.preventDefault();
  });
  document.addEventListener("keydown", (event) => event.key === "Escape" && close());
})();
