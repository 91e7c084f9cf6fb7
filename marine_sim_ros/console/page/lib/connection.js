// Copyright 2026 The marine_sim_ros authors
// SPDX-License-Identifier: Apache-2.0

// The connection to the node: telemetry frames come in, requests go out. A replay requests its frames.

const STEERED = "marine_sim steered"; // in the storage of the tab: when it steered last, ms
const AGAIN = 60000; // ms after that in which a page that comes back takes control again
const NOTED = 1000; // ms between notes of that
const ANSWER = 5000; // ms until a request for control counts as refused

class Wire extends EventTarget {
  constructor() {
    super();
    this.frame = null;
    this.mine = false;
    this.open = false;
    this.scenery = null;
    this.ended = ""; // the message of a run that has ended
    this.waiting = ""; // newest frame that is not shown yet, as text
    this.pause = () => 0; // ms until a frame may be shown
    this.time = 0; // of a replay, s
  }

  // Starts once; part: "watches" for a page that has no right to steer.
  async start(page, replay, part, words = {}) {
    if (this.page) return;
    this.words = words;
    this.page = page;
    this.replay = replay;
    this.watches = part === "watches";
    const answer = await fetch("/scenery");
    this.scenery = await answer.json();
    this.tell("scenery", this.scenery);
    if (replay) {
      this.open = true;
      this.seek(this.scenery.start);
      return;
    }
    const past = await fetch("/history");
    this.tell("history", await past.json());
    this.connect();
  }

  // The address of a socket for this page.
  address(name) {
    const scheme = location.protocol === "https:" ? "wss" : "ws";
    return `${scheme}://${location.host}/${name}?page=${this.page}`;
  }

  connect() {
    const socket = new WebSocket(this.address("wire"));
    socket.onopen = () => {
      this.open = true;
      this.socket = socket;
      this.tell("state");
      this.steerAgain();
    };
    socket.onmessage = ({ data }) => this.queue(data);
    socket.onclose = () => {
      this.open = this.mine = false;
      clearTimeout(this.timer); // a frame that waits would say that this page steers still
      this.waiting = "";
      this.tell("state");
      if (!this.ended) setTimeout(() => this.connect(), 1000);
    };
  }

  // Requests control again for a tab that steered when it was cut off or loaded anew, as NiceGUI
  // does with a page that answers late. Another page that steers keeps control.
  steerAgain() {
    if (this.watches || Date.now() - Number(sessionStorage.getItem(STEERED)) > AGAIN) return;
    this.returning = Date.now() + ANSWER;
    this.send("take", false);
  }

  // Notes for a later page of the tab whether it steers.
  remember(mine) {
    if (mine) {
      if (Date.now() - (this.noted ?? 0) > NOTED) sessionStorage.setItem(STEERED, this.noted = Date.now());
    } else if (this.mine) sessionStorage.removeItem(STEERED);
    if (mine && Date.now() < this.returning) {
      this.returning = 0;
      this.tell("hint", tr("The page was cut off; you steer again. Press Armed if it is off."));
    }
    this.mine = mine;
  }

  // Keeps only the newest frame until it is shown: a page that is slow skips some, and falls no
  // further behind. Errors and the end of a run are shown at once.
  queue(data) {
    if (!data.startsWith('{"mine"')) { this.take(JSON.parse(data)); return; }
    if (!this.waiting) this.timer = setTimeout(() => {
      const newest = this.waiting;
      this.waiting = "";
      this.take(JSON.parse(newest));
    }, this.pause());
    this.waiting = data;
  }

  take(message) {
    if (message.error) { this.tell("error", message.error); return; }
    if (message.ended) {
      this.tell("ended", this.ended = message.ended);
      this.tell("state");
      this.socket?.close(); // the console waits for this, or the worker's: the page has been told
      return;
    }
    this.remember(message.mine);
    this.frame = message.frame;
    this.tell("frame", message.frame);
    this.tell("state");
  }

  send(kind, value = null) {
    if (this.replay && kind === "look") this.look();
    if (this.open && this.socket) this.socket.send(JSON.stringify({ kind, value }));
  }

  // "open", "lost", or "ended" where the run said so before.
  get state() { return this.ended ? "ended" : this.open ? "open" : "lost"; }

  tell(name, detail = null) { this.dispatchEvent(new CustomEvent(name, { detail })); }

  on(name, use) {
    this.addEventListener(name, (event) => use(event.detail));
    if (name === "scenery" && this.scenery) use(this.scenery);
  }

  // Of a replay: its sensors are read only while the page shows them.
  look() {
    const before = this.looks;
    this.looked = Date.now();
    if (!before) this.seek(this.time);
  }

  get looks() { return Date.now() - (this.looked ?? 0) < 3000; }

  // Of a replay: shows a time; while one answer is awaited, only the newest other time is kept.
  async seek(time, window = this.window || 30) {
    if (!this.scenery) return; // which begins with a time of its own
    this.time = time;
    this.window = window;
    if (this.busy) { this.next = time; return; }
    this.busy = true;
    try {
      const answer = await fetch(`/moment?time=${time}&window=${window}&sensors=${this.looks}`);
      const found = await answer.json();
      this.open = true;
      if (found.error) { this.tell("error", found.error); return; }
      this.frame = found.frame;
      this.tell("history", found.history);
      this.tell("frame", found.frame);
    } catch { // nobody serves the bag any more
      this.open = false;
    } finally {
      this.tell("state");
      this.busy = false;
      if (this.next !== undefined) {
        const next = this.next;
        this.next = undefined;
        this.seek(next);
      }
    }
  }
}

export const wire = new Wire();

// Tells whether an element takes room on the page, without having it laid out anew for the answer.
export function visibility(element) {
  let seen = Boolean(element.offsetParent);
  new ResizeObserver(([{ contentRect }]) => { seen = contentRect.width > 0; }).observe(element);
  return () => seen;
}

// A message in the language of the page.
export function tr(message) { return Object.hasOwn(wire.words ?? {}, message) ? wire.words[message] : message; }

// An object whose keys are names of descriptions or recordings: "constructor" is a key like others.
export function byName(entries = {}) { return Object.assign(Object.create(null), entries); }

// Numbers with a fixed count of decimals and a minus that is as wide as a plus.
export function text(value, decimals = 2) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  const shown = value.toFixed(decimals);
  return Number(shown) === 0 ? (0).toFixed(decimals) : shown.replace("-", "−");
}

// The weight of a telemetry frame's vehicle in body axes, N: down in the map, turned back by its attitude.
export function weightOf({ turn: [x, y, z, w], weight }) {
  return [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)].map((part) => -weight * part);
}

// Whether anybody knows what the thrusters draw: where no curve says, the power is sent as 0.
export function metered(look, frame) {
  return look.metered || frame.power.some((watts) => watts);
}

export const DEGREES = 180 / Math.PI;

// Degrees clockwise from north of a yaw in the map (rad), whose y axis has a heading of its own.
export function heading(yaw) {
  const own = wire.scenery?.around.heading ?? 0;
  return ((90 - yaw * DEGREES + own) % 360 + 360) % 360;
}

// Degrees by which the bow is up, of a pitch or its rate (rad), positive bow down in a body frame
// of forward, left, up (REP 103).
export function bowUp(pitch) {
  return -pitch * DEGREES;
}

export function numbers(base64) {
  const bytes = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
  return new Float32Array(bytes.buffer);
}
