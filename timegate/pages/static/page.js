// The page works without this script. With it, the progress of a search is shown, buttons copy
// citations, and the captures are drawn.
import { drawTimeline } from "./timeline.js";

const element = (id) => document.getElementById(id);
// The address of an answer, which a fragment does not change.
const here = () => location.href.split("#")[0];
let timeline = null;
// The address whose answer is shown or searched for, and the search.
let shown = here();
let running = null;
// The last answers that this document has shown, by their addresses.
const answers = new Map();
const MOST_ANSWERS = 20;

// Shows what needs scripts, and removes what is there for browsers without them.
function enhance(root) {
  for (const group of root.querySelectorAll(".copies")) group.hidden = false;
  for (const texts of root.querySelectorAll("details.texts")) texts.open = false;
  for (const fallback of root.querySelectorAll(".unscripted")) fallback.remove();
  const titled = root.querySelector("[data-title]");
  if (titled) document.title = `${titled.dataset.title} · timegate`;
  const figure = root.querySelector("figure.timeline");
  if (figure) timeline = drawTimeline(figure);
}

// A printed answer has its citations.
let closed = [];
addEventListener("beforeprint", () => {
  closed = [...document.querySelectorAll("details.texts:not([open])")];
  for (const texts of closed) texts.open = true;
});
addEventListener("afterprint", () => {
  for (const texts of closed) texts.open = false;
});

async function copy(button) {
  const source = element(button.dataset.copy);
  const message = button.closest("section").querySelector(".copied");
  try {
    await navigator.clipboard.writeText(source.textContent);
    message.textContent = `${button.textContent} copied.`;
  } catch {
    // Browsers have no clipboard without https: then the text is shown and selected.
    source.closest("details").open = true;
    getSelection().selectAllChildren(source);
    message.textContent = `${button.textContent} selected. Press Ctrl+C or Cmd+C to copy it.`;
  }
}

function fields(form) {
  const query = new URLSearchParams(new FormData(form));
  if (!query.get("at")) query.delete("at");
  query.delete("last");
  return query;
}

// Shows the date that belongs to the answer: one of an earlier search may not have been used.
function showDate(form, outcome, query) {
  const { at, last } = outcome.querySelector("#searched").dataset;
  form.last.value = last;
  // While the archives were searched, another date may have been entered.
  if (form.at.value === (query.get("at") ?? "")) form.at.value = at;
  if (at) query.set("at", at);
  else query.delete("at");
  if (query.get("q")) history.replaceState(null, "", `${form.action}?${query}`);
  shown = here();
  return { q: query.get("q"), at, last };
}

// Says that a text is too long while it can still be changed; nothing is cut.
function isTooLong(field) {
  const [most, length] = [field.form.dataset.mostText, [...field.value.trim()].length];
  const over = length > most;
  element("q-length").textContent = length.toLocaleString("en");
  element("q-over").hidden = !over;
  field.setAttribute("aria-invalid", over);
  return over;
}

// Removes the answer that is shown, and ends the search that is running: an answer that arrives
// later would stand under another address.
function clear() {
  running?.close();
  running = null;
  timeline?.stop();
  timeline = null;
  element("outcome").replaceChildren();
  element("progress-more").replaceChildren();
  element("progress").hidden = true;
}

function keep(answer) {
  answers.delete(shown);
  answers.set(shown, answer);
  if (answers.size > MOST_ANSWERS) answers.delete(answers.keys().next().value);
}

function showAnswer(html) {
  const outcome = element("outcome");
  document.title = "timegate";
  outcome.innerHTML = html;
  enhance(outcome);
  return outcome;
}

// Searches without a new page: the server sends progress, then the answer.
function search(form, query) {
  clear();
  shown = here();
  const line = element("progress-line");
  element("progress").hidden = false;
  line.textContent = "Searching the archives.";

  const last = form.last.value ? `&last=${encodeURIComponent(form.last.value)}` : "";
  const events = new EventSource(`${form.action.replace(/\/$/, "")}/events?${query}${last}`);
  running = events;
  events.addEventListener("progress", (event) => {
    if (running !== events) return;
    const details = element("progress-more");
    details.innerHTML = event.data;
    line.textContent = details.querySelector("[data-line]").textContent;
  });
  events.addEventListener("answer", (event) => {
    if (running !== events) return;
    clear();
    const outcome = showAnswer(event.data);
    keep({ ...showDate(form, outcome, query), html: event.data });
    outcome.querySelector("#verdict")?.focus();
  });
  // After any error the whole page is loaded, which explains it.
  events.onerror = () => {
    if (running !== events) return;
    clear();
    location.assign(here());
  };
}

// Shows the answer of the address after Back or Forward: the one that this document had, or that of
// a new search. The document of another answer is not loaded, since a further Back would meanwhile
// change the address only.
function follow() {
  if (here() === shown) return;
  const [form, query] = [element("ask"), new URLSearchParams(location.search)];
  const answer = answers.get(here());
  if (!element("outcome")) return;
  form.q.value = answer?.q ?? query.get("q") ?? "";
  form.at.value = answer?.at ?? query.get("at") ?? "";
  form.last.value = answer?.last ?? "";
  isTooLong(form.q);
  if (!answer) {
    search(form, fields(form));
    return;
  }
  clear();
  shown = here();
  showAnswer(answer.html).querySelector("#verdict")?.focus({ preventScroll: true });
}

// The answer from which a copy was opened. The address of the copy says nothing of it.
const OPENED = "timegate-opened";

function noteOpened(link) {
  const verdict = element("verdict"), words = document.querySelector(".answer .words");
  if (!verdict || !words) return;
  const tone = ["good", "fair", "poor"].find((one) => verdict.classList.contains(one));
  const headline = verdict.lastChild.textContent.trim();
  const opened = { copy: link.href, answer: location.href, tone, headline, words: words.textContent };
  try {
    sessionStorage.setItem(OPENED, JSON.stringify(opened));
  } catch {
    // Without storage, the copy only says what it is.
  }
}

function showOpened(banner) {
  let opened = null;
  try {
    opened = JSON.parse(sessionStorage.getItem(OPENED));
  } catch {
    return;
  }
  if (opened?.copy.split("#")[0] !== banner.dataset.copy) return;
  const line = banner.querySelector(".answered");
  banner.classList.remove("good", "fair", "poor");
  banner.classList.add(opened.tone);
  line.querySelector("strong").textContent = `${opened.headline}.`;
  line.querySelector("span").textContent = opened.words;
  line.querySelector("a").href = opened.answer;
  line.hidden = false;
}

// In the frame of a replayed page, only the list itself is shown.
document.documentElement.classList.toggle("framed", self !== top);

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.id !== "ask") return;
  if (isTooLong(form.q)) {
    event.preventDefault();
    form.q.focus();
    return;
  }
  // What no address can hold is posted, and answered by a new page.
  if (!element("outcome") || `${fields(form)}`.length > form.dataset.longestAddress) return;
  event.preventDefault();
  const query = fields(form);
  history.pushState(null, "", `${form.action}?${query}`);
  search(form, query);
});
document.addEventListener("click", (event) => {
  const opener = event.target.closest(".answer a.big");
  if (opener) noteOpened(opener);
  const button = event.target.closest("button[data-copy]");
  if (button) copy(button);
});
document.addEventListener("keydown", (event) => {
  // Line breaks in a reference mean nothing: Enter searches, Shift+Enter breaks the line.
  const plain = event.key === "Enter" && !event.shiftKey && !event.isComposing;
  if (event.target.id === "q" && plain) {
    event.preventDefault();
    event.target.form.requestSubmit();
  }
});
document.addEventListener("input", ({ target }) => {
  if (target.id === "q") isTooLong(target);
});
if (!CSS.supports("field-sizing", "content")) {
  document.addEventListener("input", ({ target }) => {
    if (target.id !== "q") return;
    target.style.height = "auto";
    target.style.height = `${target.scrollHeight + 2}px`;
  });
}
addEventListener("popstate", follow);

// While the document was loaded, Back may have changed its address.
const [loaded] = performance.getEntriesByType("navigation");
if (loaded) shown = loaded.name.split("#")[0];
const [asked, first] = [element("ask"), element("outcome")];
if (asked && first) {
  const [q, at] = [asked.q.defaultValue, asked.at.defaultValue];
  keep({ q, at, last: asked.last.value, html: first.innerHTML });
}
enhance(document);
const banner = document.querySelector(".banner[data-copy]");
if (banner) showOpened(banner);
follow();
