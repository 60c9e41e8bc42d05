// The page works without this script. With it, the progress of a search is shown, buttons copy
// citations, and the captures are drawn.
import { drawTimeline } from "./timeline.js";

const element = (id) => document.getElementById(id);
let timeline = null;

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
  const searched = outcome.querySelector("#searched");
  if (!searched) return;
  const { at, last } = searched.dataset;
  form.last.value = last;
  // While the archives were searched, another date may have been entered.
  if (form.at.value === (query.get("at") ?? "")) form.at.value = at;
  if (at) query.set("at", at);
  else query.delete("at");
  history.replaceState(null, "", `${form.action}?${query}`);
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

// Searches without a new page: the server sends progress, then the answer.
function search(form) {
  const query = fields(form);
  const address = `${form.action}?${query}`;
  const [outcome, progress] = [element("outcome"), element("progress")];
  const line = element("progress-line");
  history.pushState(null, "", address);
  timeline?.stop();
  timeline = null;
  outcome.replaceChildren();
  progress.hidden = false;
  line.textContent = "Searching the archives.";

  const last = form.last.value ? `&last=${encodeURIComponent(form.last.value)}` : "";
  const events = new EventSource(`${form.action.replace(/\/$/, "")}/events?${query}${last}`);
  events.addEventListener("progress", (event) => {
    const details = element("progress-more");
    details.innerHTML = event.data;
    line.textContent = details.querySelector("[data-line]").textContent;
  });
  events.addEventListener("answer", (event) => {
    events.close();
    progress.hidden = true;
    element("progress-more").replaceChildren();
    outcome.innerHTML = event.data;
    showDate(form, outcome, query);
    enhance(outcome);
    outcome.querySelector("#verdict")?.focus();
  });
  // After any error the whole page is loaded, which explains it.
  events.onerror = () => {
    events.close();
    location.assign(address);
  };
  return events;
}

// In the frame of a replayed page, only the list itself is shown.
document.documentElement.classList.toggle("framed", self !== top);

let running = null;
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
  running?.close();
  running = search(form);
});
document.addEventListener("click", (event) => {
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
addEventListener("popstate", () => location.reload());
enhance(document);
