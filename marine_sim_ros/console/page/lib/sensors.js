// Copyright 2026 The marine_sim_ros authors
// SPDX-License-Identifier: Apache-2.0

// Sensors: a row for each with its reading, rate and health; beams of a DVL and pictures of sonars.

import { byName, text, tr, wire } from "./connection.js";
import { headings } from "./gauges.js";

const SVG = "http://www.w3.org/2000/svg";
const LOOK = 1000; // ms between signs that somebody looks
const NICE = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000]; // m

function draw(parent, kind, attributes = {}, inside = "") {
  const element = document.createElementNS(SVG, kind);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  if (inside) element.textContent = inside;
  parent.append(element);
  return element;
}

function put(parent, kind, className = "", inside = "") {
  const element = document.createElement(kind);
  if (className) element.className = className;
  element.textContent = inside;
  parent.append(element);
  return element;
}

const plain = (name) => name.replaceAll("_", " ");
// Whether a sensor's name tells no more than its kind.
const usual = ({ name, label }) => label.toLowerCase().includes(plain(name));

function say(element, words) { if (element.textContent !== words) element.textContent = words; }

// Four bars that hang down as the beams do, on a scale that fits the longest.
function beams(host, { drawing }) {
  const svg = draw(host, "svg", { viewBox: "0 0 404 150", role: "img", "aria-label": "Ranges of the beams, m" });
  const top = 14, bottom = 116;
  draw(svg, "line", { x1: 34, y1: top, x2: 42, y2: top, class: "tick" });
  draw(svg, "text", { x: 28, y: top + 4, class: "small end" }, "0");
  const end = draw(svg, "text", { x: 28, y: bottom + 4, class: "small end" });
  draw(svg, "line", { x1: 34, y1: bottom, x2: 42, y2: bottom, class: "tick" });
  const bars = drawing.beams.map((name, i) => {
    const x = 44 + i * 92;
    draw(svg, "rect", { x, y: top, width: 72, height: bottom - top, class: "slot" });
    const bar = draw(svg, "rect", { x, y: top, width: 72, height: 0, class: "range" });
    const told = draw(svg, "text", { x: x + 36, y: (top + bottom) / 2 + 5, class: "point" }, "–");
    draw(svg, "text", { x: x + 36, y: bottom + 18, class: "small middle" }, `${i + 1} ${name}`);
    return { bar, told };
  });
  const facts = put(host, "div", "beamfacts");
  const cells = ["Altitude", "Ahead", "Right", "Down"].map((label) => {
    const cell = put(facts, "span", "shown");
    put(cell, "span", "what", label);
    return put(cell, "output", "value", "–");
  });
  return ({ heard, ranges, altitude, velocity }) => {
    if (!heard) return;
    const longest = Math.max(0, ...ranges.filter((r) => r !== null));
    const scale = NICE.find((n) => n >= longest) ?? longest;
    say(end, `${scale} m`);
    bars.forEach(({ bar, told }, i) => {
      const range = ranges[i], known = range !== null && range !== undefined;
      bar.setAttribute("height", known ? (bottom - top) * range / scale : 0);
      told.classList.toggle("lost", range === null);
      say(told, known ? `${text(range)} m` : range === null ? "lost" : "–");
    });
    say(cells[0], altitude === null ? "no bottom" : `${text(altitude)} m`);
    [0, 1, 2].forEach((i) => say(cells[i + 1], velocity ? `${text(velocity[i])} m/s` : "lost"));
  };
}

// A picture from above: what the sonar heard, with arcs of range.
function picture(host, one, arcs) {
  const box = put(host, "div", "sonar");
  const canvas = put(box, "canvas");
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", `Echoes of the ${one.label.toLowerCase()}, bow up`);
  const overlay = draw(box, "svg", { viewBox: "0 0 100 100", preserveAspectRatio: "xMidYMid meet" });
  let shown = null, busy = false, sized = "";
  return (found) => {
    if (!found.serial) return;
    if (sized !== `${found.width} ${found.height}`) {
      sized = `${found.width} ${found.height}`;
      canvas.width = found.width;
      canvas.height = found.height;
      overlay.setAttribute("viewBox", `0 0 ${found.width} ${found.height}`);
    }
    arcs(overlay, found);
    if (shown === found.serial || busy) return;
    busy = true;
    shown = found.serial;
    fetch(`/sonar/${encodeURIComponent(one.name)}?serial=${found.serial}&time=${wire.time}`).then(async (answer) => {
      const grey = new Uint8Array(await answer.arrayBuffer());
      if (grey.length === canvas.width * canvas.height) paint(canvas, grey);
    }).catch(() => { shown = null; }).finally(() => { busy = false; });
  };
}

// Black over brown and amber to white, as sonars show echoes.
const COLOURS = Array.from({ length: 256 }, (_, i) => {
  const x = i / 255;
  return [Math.min(1, 1.6 * x), Math.min(1, Math.max(0, 1.5 * x - 0.25)), Math.max(0, 2.5 * x - 1.5)].map((c) => Math.round(255 * c));
});

function paint(canvas, grey) {
  const context = canvas.getContext("2d");
  const image = context.createImageData(canvas.width, canvas.height);
  grey.forEach((value, i) => { image.data.set([...COLOURS[value], 255], 4 * i); });
  context.putImageData(image, 0, 0);
  canvas.dataset.painted = Number(canvas.dataset.painted ?? 0) + 1;
  canvas.dataset.brightest = grey.reduce((most, value) => Math.max(most, value), 0);
}

// Rings at a nice distance from each other, at most four, with their ranges.
function rings(svg, x, y, scale, reach, half) {
  const each = NICE.find((n) => reach / n <= 4) ?? reach;
  const size = 0.033 * svg.viewBox.baseVal.width;
  for (let r = each; r <= reach + 1e-6; r += each) {
    const s = r * scale;
    if (half >= 180) draw(svg, "circle", { cx: x, cy: y, r: s, class: "ring" });
    else {
      const dx = s * Math.sin(half * Math.PI / 180), dy = s * Math.cos(half * Math.PI / 180);
      draw(svg, "path", { d: `M${x - dx} ${y - dy} A${s} ${s} 0 0 1 ${x + dx} ${y - dy}`, class: "ring" });
    }
    draw(svg, "text", { x: x + 0.2 * size, y: y - s + 1.1 * size, "font-size": size, class: "ringtext" }, `${r} m`);
  }
}

function fan(host, one) {
  const { reach, aperture } = one.drawing;
  let drawn = "";
  return picture(host, one, (svg, { width, height }) => {
    if (drawn === `${width} ${height}`) return;
    drawn = `${width} ${height}`;
    svg.replaceChildren();
    const half = aperture / 2;
    rings(svg, width / 2, height, height / reach, reach, half);
    for (const side of [-1, 1]) {
      const a = side * half * Math.PI / 180;
      draw(svg, "line", { x1: width / 2, y1: height, x2: width / 2 + height * Math.sin(a), y2: height - height * Math.cos(a), class: "ring" });
    }
  });
}

function sweep(host, one) {
  const { reach } = one.drawing;
  let line = null;
  return picture(host, one, (svg, { width, height, bearing }) => {
    if (!line) {
      rings(svg, width / 2, height / 2, height / 2 / reach, reach, 180);
      line = draw(svg, "line", { x1: width / 2, y1: height / 2, class: "ray" });
    }
    line.setAttribute("x2", width / 2 - width / 2 * Math.sin(bearing));
    line.setAttribute("y2", height / 2 - height / 2 * Math.cos(bearing));
  });
}

// A section of the bottom, or a waterfall: the picture alone.
function plainPicture(host, one) {
  return picture(host, one, () => {});
}

const SHAPES = { beams, fan, sweep, plain: plainPicture };

function table(host, sensors) {
  const element = put(host, "table", "numbers sensors");
  headings(element, [[tr("Sensor")], [tr("Reading")], [tr("Rate"), "Hz"], [tr("Age"), "s"], [tr("Health")]]);
  const body = element.createTBody();
  return Object.fromEntries(sensors.map((one) => {
    const row = body.insertRow();
    row.dataset.sensor = one.name;
    const head = put(row, "th", "", usual(one) ? one.label : plain(one.name));
    head.scope = "row";
    if (!usual(one)) put(head, "small", "what", one.label);
    const [reading, rate, age, state] = ["reading", "rate", "age", "state"].map((name) => {
      const cell = row.insertCell();
      cell.className = name;
      return cell;
    });
    return [one.name, { row, reading, rate, age, state: put(state, "span"), one }];
  }));
}

export class Sensors {
  constructor(element) {
    this.element = element;
    wire.on("scenery", (scenery) => { this.make(scenery.sensors ?? []); this.look(); });
    wire.on("frame", (frame) => this.update(frame.sensors));
    setInterval(() => this.look(), LOOK);
    new IntersectionObserver(() => this.look()).observe(element); // the panel is opened
  }

  get seen() { return Boolean(this.element.offsetParent) && !document.hidden; }

  // The console listens to sensors only while a page says that it shows them.
  look() { if (this.seen) wire.send("look"); }

  make(sensors) {
    this.rows = table(this.element, sensors);
    this.shapes = byName();
    for (const one of sensors.filter((each) => SHAPES[each.drawing?.shape])) {
      const figure = put(this.element, "figure", "drawing");
      figure.dataset.drawing = one.name;
      put(figure, "figcaption", "what", usual(one) ? one.label : `${one.label}: ${plain(one.name)}`);
      this.shapes[one.name] = SHAPES[one.drawing.shape](figure, one);
    }
  }

  update(sensors) {
    if (!sensors || !this.rows || !this.seen) return;
    const states = { ok: tr("ok"), waiting: tr("waiting"), late: tr("late"), silent: tr("silent") };
    for (const one of sensors) {
      const { row, reading, rate, age, state, one: { nominal, quiet } } = this.rows[one.name];
      const excused = one.state === "silent" && quiet; // it may well be in order
      row.dataset.state = one.state;
      const words = (excused && quiet) || one.reading || (one.state === "waiting" ? "" : tr("no reading"));
      say(reading, words.replace(/(\d) (?=[^\d\s])/g, "$1\u00a0")); // no unit on a line of its own
      say(rate, nominal ? `${one.rate === null ? "–" : digits(one.rate)} / ${digits(nominal)}` : tr("each tick"));
      say(age, one.age === null ? "–" : text(one.age, 1));
      say(state, states[one.state] ?? one.state);
      state.className = excused ? "is-waiting" : `is-${one.state}`;
      if (one.drawing) this.shapes[one.name]?.(one.drawing);
    }
  }
}

// Rates with as many digits as tell something: 0.98, 4.9, 100.
function digits(rate) { return rate < 1.995 ? text(rate, Number.isInteger(rate) ? 0 : 2) : text(rate, rate < 19.95 && !Number.isInteger(rate) ? 1 : 0); }
