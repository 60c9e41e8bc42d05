// The page works without this. With it, answers are watched while they come, texts are copied
// at a press, and the captures are drawn.
import { drawTimeline } from "./timeline.js";

const part = (id) => document.getElementById(id);
let timeline = null;

function dress(root) {
  for (const group of root.querySelectorAll(".copies")) group.hidden = false;
  for (const texts of root.querySelectorAll("details.texts")) texts.open = false;
  for (const instead of root.querySelectorAll(".unscripted")) instead.remove();
  const figure = root.querySelector("figure.timeline");
  if (figure) timeline = drawTimeline(figure);
}

async function copy(button) {
  const source = part(button.dataset.copy);
  const said = button.closest("section").querySelector(".copied");
  try {
    await navigator.clipboard.writeText(source.textContent);
    said.textContent = `${button.textContent} copied.`;
  } catch {
    // Without https browsers have no clipboard: then the text is shown and selected.
    source.closest("details").open = true;
    getSelection().selectAllChildren(source);
    said.textContent = `${button.textContent} is selected: copy it with the keyboard.`;
  }
}

function watch(form) {
  const asked = new URLSearchParams(new FormData(form));
  if (!asked.get("at")) asked.delete("at");
  const address = `${form.action}?${asked}`;
  const [outcome, progress] = [part("outcome"), part("progress")];
  const line = part("progress-line");
  history.pushState(null, "", address);
  timeline?.stop();
  timeline = null;
  outcome.replaceChildren();
  progress.hidden = false;
  line.textContent = "Asking the archives.";

  const events = new EventSource(`${form.action.replace(/\/$/, "")}/events?${asked}`);
  events.addEventListener("progress", (event) => {
    const more = part("progress-more");
    more.innerHTML = event.data;
    line.textContent = more.querySelector("[data-line]").textContent;
  });
  events.addEventListener("answer", (event) => {
    events.close();
    progress.hidden = true;
    part("progress-more").replaceChildren();
    outcome.innerHTML = event.data;
    const titled = outcome.querySelector("[data-title]");
    if (titled) document.title = `${titled.dataset.title} · timegate`;
    dress(outcome);
    outcome.querySelector("#verdict")?.focus();
  });
  // Whatever went wrong: the whole page says it better.
  events.onerror = () => {
    events.close();
    location.assign(address);
  };
  return events;
}

let watched = null;
document.addEventListener("submit", (event) => {
  if (event.target.id !== "ask" || !part("outcome")) return;
  event.preventDefault();
  watched?.close();
  watched = watch(event.target);
});
document.addEventListener("click", (event) => {
  const button = event.target.closest("button[data-copy]");
  if (button) copy(button);
});
document.addEventListener("keydown", (event) => {
  // A reference has no line breaks that mean anything: Enter asks, Shift+Enter breaks.
  const plain = event.key === "Enter" && !event.shiftKey && !event.isComposing;
  if (event.target.id === "q" && plain) {
    event.preventDefault();
    event.target.form.requestSubmit();
  }
});
if (!CSS.supports("field-sizing", "content")) {
  document.addEventListener("input", ({ target }) => {
    if (target.id !== "q") return;
    target.style.height = "auto";
    target.style.height = `${target.scrollHeight + 2}px`;
  });
}
addEventListener("popstate", () => location.reload());
dress(document);
