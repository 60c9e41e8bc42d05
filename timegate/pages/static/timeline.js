// Draws all captures in one picture: one lane per archive, time from left to right. A bar stands
// for the captures within three pixels, which are counted by binary search. So the cost of a redraw
// depends on the width of the picture, not on the number of captures.

const TOP = 20, LANE = 46, AXIS = 24, LABEL = 18, NEAR = 8, BIN = 3;
const SECOND = 1000, DAY = 86400 * SECOND, YEAR = 365.25 * DAY;
// The last time that Date can hold, in both directions (ECMA-262, 21.4.1.1).
const LATEST = 8.64e15;
const MOST_TICKS = 1000;
const STEPS = [
  [SECOND, "s"], [15 * SECOND, "s"], [60 * SECOND, "m"], [900 * SECOND, "m"], [3600 * SECOND, "m"],
  [6 * 3600 * SECOND, "m"], [DAY, "d"], [7 * DAY, "d"], [30.44 * DAY, "M"], [91.3 * DAY, "M"],
  [YEAR, "y"], [2 * YEAR, "y"], [5 * YEAR, "y"], [10 * YEAR, "y"], [50 * YEAR, "y"],
];

const HOVER = matchMedia("(hover: hover)");
const WEB = /^https?:\/\//;

const formatted = (time) => new Date(time).toISOString().replace("T", " ").replace(".000Z", " UTC");
const number = (count) => count.toLocaleString("en");

function timeOf(stamp) {
  const at = (from, to) => Number(stamp.slice(from, to));
  return Date.UTC(at(0, 4), at(4, 6) - 1, at(6, 8), at(8, 10), at(10, 12), at(12, 14));
}

// Returns the first index whose time is not before `time`.
function lowerBound(times, time) {
  let from = 0, to = times.length;
  while (from < to) {
    const middle = (from + to) >> 1;
    if (times[middle] < time) from = middle + 1; else to = middle;
  }
  return from;
}

class Timeline {
  constructor(figure) {
    this.figure = figure;
    this.picture = figure.querySelector(".picture");
    this.canvas = figure.querySelector("canvas");
    this.pointed = figure.querySelector(".pointed");
    this.opener = figure.querySelector(".opener");
    this.summary = figure.querySelector("#timeline-summary");
    this.lanes = new Map();
    this.names = {};
    this.count = 0;
    this.first = Infinity;
    this.last = -Infinity;
    this.start = Date.parse(figure.dataset.start);
    this.end = Date.parse(figure.dataset.end);
    this.chosen = Date.parse(figure.dataset.chosen);
    this.moved = false;
    this.current = null;
    this.frame = 0;
    this.listen();
  }

  async read() {
    const response = await fetch(this.figure.dataset.source);
    if (!response.ok) throw new Error(`status ${response.status}`);
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
      const lines = (rest + piece.value).split("\n");
      rest = lines.pop();
      for (const line of lines) this.add(JSON.parse(line));
      this.summarize();
      this.redraw();
    }
  }

  // Adds one line of the stream: first the names of the archives, then the captures, last the end.
  add(line) {
    if (!Array.isArray(line)) {
      if (line.archives) this.names = line.archives;
      else this.ended = line;
      return;
    }
    const [archive, stamp, uri] = line;
    if (!this.lanes.has(archive)) this.lanes.set(archive, { times: [], uris: [] });
    const lane = this.lanes.get(archive), time = timeOf(stamp);
    // The list is merged in order of time, so every lane is sorted as it grows.
    lane.times.push(time);
    lane.uris.push(uri);
    this.count += 1;
    this.first = Math.min(this.first, time);
    this.last = Math.max(this.last, time);
    if (!this.moved) this.fit();
  }

  summarize() {
    if (!this.count && !this.ended) return;
    const missing = Object.keys(this.ended?.missing ?? {}).map((id) => this.names[id] ?? id);
    const sentences = [this.count ? this.overview() : "No captures found."];
    if (!this.ended) sentences.push("Still loading.");
    if (this.ended?.truncated) sentences.push("Not all captures are shown.");
    if (missing.length) sentences.push(`No list from ${missing.join(", ")}.`);
    this.summary.textContent = sentences.join(" ");
    this.picture.dataset.marks = this.count;
    this.picture.dataset.state = this.ended ? "whole" : "reading";
  }

  overview() {
    const plural = (count, noun) => `${number(count)} ${noun}${count === 1 ? "" : "s"}`;
    return `${plural(this.count, "capture")} in ${plural(this.lanes.size, "archive")}, ` +
      `from ${formatted(this.first)} to ${formatted(this.last)}.`;
  }

  // Shows all captures and the requested time.
  fit() {
    if (!this.count) return;
    let from = this.first, to = this.last;
    if (!Number.isNaN(this.start)) {
      from = Math.min(from, this.start);
      to = Math.max(to, Number.isNaN(this.end) ? this.start : this.end);
    }
    const edge = Math.max((to - from) * 0.04, 3600 * SECOND);
    [this.from, this.to] = [from - edge, to + edge];
  }

  // Shows the time between `from` and `to`. Without captures these are not numbers, and there is
  // nothing to show.
  show(from, to) {
    if (!this.count || !(Math.abs(from) <= LATEST && Math.abs(to) <= LATEST)) return;
    const span = Math.min(Math.max(to - from, 10 * SECOND), 300 * YEAR);
    const middle = (from + to) / 2;
    [this.from, this.to] = [middle - span / 2, middle + span / 2];
    this.moved = true;
    this.redraw();
  }

  zoom(factor, share = 0.5) {
    const fixed = this.from + (this.to - this.from) * share, span = (this.to - this.from) * factor;
    this.show(fixed - span * share, fixed + span * (1 - share));
  }

  pan(share) {
    const by = (this.to - this.from) * share;
    this.show(this.from + by, this.to + by);
  }

  x(time) { return (time - this.from) / (this.to - this.from) * this.width; }
  time(x) { return this.from + x / this.width * (this.to - this.from); }

  redraw() {
    if (!this.frame) this.frame = requestAnimationFrame(() => { this.frame = 0; this.draw(); });
  }

  draw() {
    if (!this.figure.isConnected) return this.stop();
    const ratio = devicePixelRatio || 1, lanes = [...this.lanes];
    // A hidden picture has no width: the resize observer draws it when it is visible again.
    if (!(this.picture.clientWidth > 0)) return;
    this.width = this.picture.clientWidth;
    this.height = TOP + Math.max(lanes.length, 1) * LANE + AXIS;
    const [width, height] = [Math.round(this.width * ratio), Math.round(this.height * ratio)];
    if (this.canvas.width !== width || this.canvas.height !== height) {
      [this.canvas.width, this.canvas.height] = [width, height];
      // Set through the DOM: the Content-Security-Policy forbids style attributes only in HTML.
      this.canvas.style.height = `${this.height}px`;
    }
    const pen = this.canvas.getContext("2d"), style = getComputedStyle(this.picture);
    const colour = (name) => style.getPropertyValue(`--${name}`).trim();
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, this.width, this.height);
    pen.font = `12px ${colour("sans")}`;
    if (!this.count) return;
    this.drawAxis(pen, colour);
    this.drawRequested(pen, colour);
    lanes.forEach(([archive, lane], row) => this.drawLane(pen, colour, archive, lane, row));
    this.drawCurrent(pen, colour, lanes);
  }

  drawAxis(pen, colour) {
    const span = this.to - this.from, room = Math.max(this.width / 90, 2);
    const [step, unit] = STEPS.find(([size]) => span / size <= room) ?? STEPS.at(-1);
    pen.strokeStyle = colour("line");
    pen.fillStyle = colour("soft");
    pen.textAlign = "center";
    for (const time of ticks(this.from, this.to, step, unit)) {
      const x = Math.round(this.x(time)) + 0.5;
      pen.beginPath(); pen.moveTo(x, TOP); pen.lineTo(x, this.height - AXIS); pen.stroke();
      if (x > 30 && x < this.width - 30) pen.fillText(label(time, unit), x, this.height - 8);
    }
    pen.textAlign = "left";
  }

  drawRequested(pen, colour) {
    if (Number.isNaN(this.start)) return;
    const from = this.x(this.start), to = this.x(Number.isNaN(this.end) ? this.start : this.end);
    pen.fillStyle = colour("fair-wash");
    pen.fillRect(from, TOP, Math.max(to - from, 1), this.height - TOP - AXIS);
    pen.strokeStyle = pen.fillStyle = colour("fair");
    pen.setLineDash([4, 3]);
    for (const x of to - from > 3 ? [from, to] : [from]) {
      pen.beginPath(); pen.moveTo(x, TOP - 4); pen.lineTo(x, this.height - AXIS); pen.stroke();
    }
    pen.setLineDash([]);
    const middle = Math.min(Math.max((from + to) / 2, 40), this.width - 40);
    if (to >= 0 && from <= this.width) {
      pen.textAlign = "center";
      pen.fillText("requested", middle, 12);
      pen.textAlign = "left";
    }
  }

  // Yields the time and the number of captures of every bin that has some. Bins begin at multiples
  // of their size, so that bars do not flicker while the picture is panned. A bin holds at least one
  // capture whatever its size is (0, negative, NaN, rounded), so that the loop ends.
  *bins(lane, size) {
    const times = lane.times;
    for (let from = lowerBound(times, this.from); from < times.length && times[from] <= this.to;) {
      const begin = Math.floor(times[from] / size) * size;
      const end = Math.max(begin + size, times[from] + 1), to = Math.max(lowerBound(times, end), from + 1);
      yield [to - from === 1 ? times[from] : begin, to - from];
      from = to;
    }
  }

  drawLane(pen, colour, archive, lane, row) {
    const top = TOP + row * LANE, bottom = top + LANE, room = LANE - LABEL - 4;
    const size = (this.to - this.from) * BIN / this.width, bars = [...this.bins(lane, size)];
    const most = bars.reduce((high, [, count]) => Math.max(high, count), 3);
    pen.fillStyle = colour("accent");
    for (const [time, count] of bars) {
      const tall = 7 + (room - 7) * Math.sqrt((count - 1) / (most - 1));
      pen.fillRect(Math.round(this.x(time)), bottom - tall - 1, BIN - 1, tall);
    }
    pen.fillStyle = colour("ink");
    pen.fillText(`${this.names[archive] ?? archive} (${number(lane.times.length)})`, 6, top + 14);
    this.drawChosen(pen, archive, bottom);
    pen.strokeStyle = colour("line");
    pen.beginPath(); pen.moveTo(0, bottom - 0.5); pen.lineTo(this.width, bottom - 0.5); pen.stroke();
  }

  // Draws a dot above the mark of the copy in the answer.
  drawChosen(pen, archive, bottom) {
    if (archive !== this.figure.dataset.archive || Number.isNaN(this.chosen)) return;
    pen.beginPath();
    pen.arc(this.x(this.chosen) + 1, bottom - 15, 4.5, 0, 2 * Math.PI);
    pen.fill();
  }

  drawCurrent(pen, colour, lanes) {
    if (!this.current) return;
    const row = lanes.findIndex(([archive]) => archive === this.current.archive);
    const x = this.x(this.current.time);
    pen.strokeStyle = colour("ink");
    pen.lineWidth = 2;
    pen.strokeRect(x - 4, TOP + row * LANE + LABEL, 9, LANE - LABEL - 1);
    pen.lineWidth = 1;
  }

  // Returns the capture nearest to a point, or null if none is within a few pixels.
  at(x, y, most = NEAR) {
    const lanes = [...this.lanes], row = Math.floor((y - TOP) / LANE);
    if (!lanes[row]) return null;
    const [archive, lane] = lanes[row], index = lowerBound(lane.times, this.time(x));
    const near = [index - 1, index].filter((i) => i in lane.times)
      .sort((a, b) => Math.abs(this.x(lane.times[a]) - x) - Math.abs(this.x(lane.times[b]) - x))[0];
    if (near === undefined || Math.abs(this.x(lane.times[near]) - x) > most) return null;
    return { archive, time: lane.times[near], uri: lane.uris[near] };
  }

  // Shows which capture is selected, with a link to it: a tap must not open what was not seen.
  point(capture) {
    this.current = capture;
    this.pointed.textContent = capture ?
      `${this.names[capture.archive] ?? capture.archive}: ${formatted(capture.time)}` : "\u00a0";
    const shown = capture !== null && WEB.test(capture.uri);
    this.opener.hidden = !shown;
    if (shown) this.opener.href = capture.uri;
    this.redraw();
  }

  // Goes to the next capture (`by` is 1) or to the previous one (-1) in any archive.
  step(by) {
    const candidates = [];
    for (const [archive, lane] of this.lanes) {
      const here = this.current?.time ?? (this.start || this.chosen || this.first) - by;
      const index = lowerBound(lane.times, by > 0 ? here + 1 : here) - (by > 0 ? 0 : 1);
      if (index in lane.times) candidates.push({ archive, time: lane.times[index], uri: lane.uris[index] });
    }
    candidates.sort((a, b) => by * (a.time - b.time));
    if (!candidates.length) return;
    const { time } = candidates[0], span = this.to - this.from;
    if (time < this.from || time > this.to) this.show(time - span / 2, time + span / 2);
    this.point(candidates[0]);
  }

  open(capture) {
    if (capture && WEB.test(capture.uri)) location.assign(capture.uri);
  }

  listen() {
    const tools = {
      in: () => this.zoom(0.5), out: () => this.zoom(2),
      left: () => this.pan(-0.3), right: () => this.pan(0.3),
      all: () => { this.moved = false; this.fit(); this.redraw(); },
      asked: () => this.around(),
    };
    this.figure.addEventListener("click", (event) => {
      tools[event.target.closest("[data-tool]")?.dataset.tool]?.();
    });
    const keys = {
      "+": tools.in, "=": tools.in, "-": tools.out, "0": tools.all,
      ArrowLeft: tools.left, ArrowRight: tools.right, ArrowUp: tools.in, ArrowDown: tools.out,
      n: () => this.step(1), p: () => this.step(-1), Enter: () => this.open(this.current),
    };
    this.picture.addEventListener("keydown", (event) => {
      const act = keys[event.key];
      if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      act();
    });
    this.picture.addEventListener("wheel", (event) => {
      event.preventDefault();
      if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) this.pan(event.deltaX / this.width);
      else this.zoom(Math.exp(event.deltaY * 0.002), event.offsetX / this.width);
    }, { passive: false });
    this.listenToPointer();
    const redraw = () => this.redraw(), dark = matchMedia("(prefers-color-scheme: dark)");
    const observer = new ResizeObserver(redraw);
    observer.observe(this.picture);
    dark.addEventListener("change", redraw);
    this.unlisten = () => { observer.disconnect(); dark.removeEventListener("change", redraw); };
  }

  // Stops drawing and observing: the figure is no longer in the document.
  stop() {
    cancelAnimationFrame(this.frame);
    this.frame = 0;
    this.unlisten();
  }

  listenToPointer() {
    // Where the pointer was last while it is pressed, and how far it has moved since.
    let pressed = null, distance = 0;
    const { picture } = this;
    picture.addEventListener("pointerdown", (event) => {
      pressed = event.offsetX;
      distance = 0;
      picture.setPointerCapture(event.pointerId);
    });
    picture.addEventListener("pointermove", (event) => {
      if (pressed === null) {
        if (event.pointerType === "mouse" && HOVER.matches) this.point(this.at(event.offsetX, event.offsetY));
        return;
      }
      distance += Math.abs(event.offsetX - pressed);
      if (distance > 3) this.pan((pressed - event.offsetX) / this.width);
      pressed = event.offsetX;
    });
    picture.addEventListener("pointerup", (event) => {
      if (pressed !== null && distance <= 3) this.press(event);
      pressed = null;
    });
    picture.addEventListener("pointercancel", () => { pressed = null; });
  }

  // A mouse shows a capture before it is clicked. A finger does not: its first tap selects the
  // capture, the second one opens it. A device that cannot hover may call a finger a mouse.
  press(event) {
    const hovers = event.pointerType === "mouse" && HOVER.matches;
    const most = hovers ? NEAR : 2 * NEAR;
    const capture = this.at(event.offsetX, event.offsetY, most);
    const seen = hovers ||
      (capture !== null && capture.uri === this.current?.uri && capture.time === this.current.time);
    if (seen) this.open(capture);
    else this.point(capture);
  }

  // Shows the requested time and the copy in the answer.
  around() {
    const end = Number.isNaN(this.end) ? this.start : this.end;
    const span = Math.max((end - this.start) * 3, Math.abs((this.chosen || end) - this.start) * 3, DAY);
    this.show((this.start + end - span) / 2, (this.start + end + span) / 2);
  }
}

// Yields the times of the grid lines. Ends for any input, also if a range is empty, not a number or
// beyond what Date can hold.
export function* ticks(from, to, step, unit) {
  if (!(from >= -LATEST && to <= LATEST)) return;
  const start = new Date(from);
  const inMonths = unit === "y" || unit === "M";
  const size = inMonths ? Math.max(Math.round(step / YEAR * 12), 1) : step;
  const position = inMonths ? start.getUTCFullYear() * 12 + start.getUTCMonth() : from;
  const first = Math.floor(position / size) * size;
  for (let n = 0; n < MOST_TICKS; n += 1) {
    const place = first + n * size;
    const time = inMonths ? new Date(0).setUTCFullYear(0, place, 1) : place;
    if (!(time <= to)) return;
    if (time >= from) yield time;
  }
}

function label(time, unit) {
  const iso = new Date(time).toISOString();
  if (unit === "y") return iso.slice(0, 4);
  if (unit === "M") return iso.slice(0, 7);
  if (unit === "d") return iso.slice(0, 10);
  return unit === "m" ? iso.slice(5, 16).replace("T", " ") : iso.slice(11, 19);
}

export function drawTimeline(figure) {
  figure.hidden = false;
  const timeline = new Timeline(figure);
  timeline.read().catch((error) => {
    timeline.summary.textContent = `The captures could not be loaded (${error.message}).`;
    timeline.picture.dataset.state = "failed";
  });
  return timeline;
}
