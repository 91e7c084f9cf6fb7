// Copyright 2026 The marine_sim_ros authors
// SPDX-License-Identifier: Apache-2.0

// Chart: depths with contours, graticule, scale and north; the track, the vehicle and waypoints.

import { numbers, text, tr, wire } from "./connection.js";

const WATER = [[216, 236, 245], [63, 127, 168]], LAND = [239, 227, 192]; // shallow and deep
const DARK_WATER = [[52, 94, 120], [14, 34, 52]], DARK_LAND = [92, 82, 58];
const TRACK = 20000; // points that are kept
const LEAST = 5; // m across, of the nearest view
const MARGIN = 1.05;
const SHORT = 80, ROOM = 34; // px: a contour that has no number, and room around a number

// Latitude and longitude, degrees, of a point of map, m: TangentPlane.geographic of core/geodesy.py.
export function geographic({ latitude, longitude, altitude, heading }, [x, y]) {
  const a = 6378137, f = 1 / 298.257223563, square = f * (2 - f), radians = Math.PI / 180;
  const [h, p, l] = [heading, latitude, longitude].map((angle) => angle * radians);
  const east = x * Math.cos(h) + y * Math.sin(h), north = y * Math.cos(h) - x * Math.sin(h);
  const [s, c, t, k] = [Math.sin(p), Math.cos(p), Math.sin(l), Math.cos(l)];
  const normal = a / Math.sqrt(1 - square * s * s);
  const X = (normal + altitude) * c * k - east * t - north * s * k;
  const Y = (normal + altitude) * c * t + east * k - north * s * t;
  const Z = (normal * (1 - square) + altitude) * s + north * c;
  const across = Math.hypot(X, Y);
  let reduced = Math.atan2(Z, (1 - f) * across), found = 0;
  for (let i = 0; i < 3; i++) {
    found = Math.atan2(
      Z + a * square / (1 - f) * Math.sin(reduced) ** 3, across - a * square * Math.cos(reduced) ** 3,
    );
    reduced = Math.atan2((1 - f) * Math.sin(found), Math.cos(found));
  }
  return [found / radians, Math.atan2(Y, X) / radians];
}

const pairs = (line) => {
  const flat = numbers(line);
  return Array.from({ length: flat.length / 2 }, (_, i) => [flat[2 * i], flat[2 * i + 1]]);
};

// 1, 2 or 5 times a power of ten, at most a length.
function nice(length) {
  const power = 10 ** Math.floor(Math.log10(length));
  return power * (length / power >= 5 ? 5 : length / power >= 2 ? 2 : 1);
}

export class Chart {
  constructor(element) {
    this.element = element;
    this.canvas = element.querySelector("canvas");
    this.track = [];
    wire.on("scenery", ({ chart }) => this.build(chart));
    wire.on("history", (past) => this.retrace(past));
    wire.on("frame", (frame) => this.update(frame));
    new ResizeObserver(() => this.paint()).observe(element);
    new MutationObserver(() => this.repaint()).observe(document.body, { attributes: true, attributeFilter: ["class"] });
    this.canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      this.zoom(event.deltaY > 0 ? 1.25 : 0.8, this.place(event));
    }, { passive: false });
    this.canvas.addEventListener("pointerdown", (event) => {
      this.grip = [event.clientX, event.clientY];
      this.canvas.setPointerCapture(event.pointerId);
      this.point(event);
    });
    this.canvas.addEventListener("pointermove", (event) => this.point(event));
    for (const end of ["pointerup", "pointercancel"]) this.canvas.addEventListener(end, () => { this.grip = null; });
    this.canvas.addEventListener("pointerleave", () => { if (!this.grip) this.say(null); });
    this.canvas.addEventListener("keydown", (event) => this.key(event));
  }

  build(chart) {
    this.chart = chart;
    this.contours = chart.contours.map(({ depth, line }) => ({ depth, points: pairs(line) }));
    this.graticule = chart.graticule.map((one) => ({ ...one, points: pairs(one.line) }));
    this.heights = numbers(chart.heights);
    const { low, high } = chart;
    this.middle = [(low[0] + high[0]) / 2, (low[1] + high[1]) / 2];
    this.span = this.full = MARGIN * Math.max(high[0] - low[0], high[1] - low[1]);
    // Beside the canvas are the line of the place, and that of the contours.
    const panel = this.element.parentElement;
    this.output = panel.querySelector("[data-chart-place]");
    panel.querySelector("[data-chart-text]").textContent = chart.text;
    this.element.dataset.contours = this.contours.length;
    this.repaint();
  }

  // The shaded depths, a picture of one pixel a height; made again for another theme.
  repaint() {
    if (!this.chart) return;
    const dark = document.body.classList.contains("body--dark"), { count } = this.chart;
    const [shallow, deep] = dark ? DARK_WATER : WATER, land = dark ? DARK_LAND : LAND;
    this.shade = document.createElement("canvas");
    this.shade.width = this.shade.height = count;
    const context = this.shade.getContext("2d"), image = context.createImageData(count, count);
    const lowest = Math.min(0, ...this.heights), most = Math.min(0, Math.max(...this.heights.filter((z) => z < 0)));
    this.heights.forEach((z, i) => {
      const share = lowest < most ? (most - z) / (most - lowest) : 0.3;
      const colour = z >= 0 ? land : shallow.map((c, k) => c + (deep[k] - c) * share);
      const row = count - 1 - Math.floor(i / count); // the first row is the southern one
      image.data.set([...colour, Number.isFinite(z) ? 255 : 0], 4 * (row * count + i % count));
    });
    context.putImageData(image, 0, 0);
    this.paint();
  }

  retrace(past) {
    const now = wire.frame?.time ?? Infinity;
    this.track = past.filter((f) => f.time <= now && f.position?.[0] !== null && f.position).map((f) => f.position.slice(0, 2));
    this.paint();
  }

  update(frame) {
    if (!frame.position || frame.position[0] === null) return;
    if (frame.time < this.time) this.track = []; // the run was reset, or the slider went back
    this.time = frame.time;
    this.at = frame.position;
    this.yaw = frame.rpy?.[2] ?? null;
    const last = this.track.at(-1);
    if (!last || Math.hypot(last[0] - this.at[0], last[1] - this.at[1]) > this.full / 4000) this.track.push(this.at.slice(0, 2));
    if (this.track.length > TRACK) this.track = this.track.filter((_, i) => i % 2);
    this.paint();
  }

  nearer() { this.zoom(0.8); }

  farther() { this.zoom(1.25); }

  follow() {
    this.following = true;
    this.span = Math.min(this.span, Math.max(30, this.full / 20));
    this.paint();
  }

  whole() {
    this.following = false;
    const { low, high } = this.chart;
    this.middle = [(low[0] + high[0]) / 2, (low[1] + high[1]) / 2];
    this.span = this.full;
    this.paint();
  }

  zoom(by, about = this.middle) {
    const span = Math.min(2 * this.full, Math.max(LEAST, this.span * by)), share = span / this.span;
    this.span = span;
    this.middle = this.middle.map((m, i) => about[i] + (m - about[i]) * share);
    this.paint();
  }

  key(event) {
    const move = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
    if (move) {
      this.following = false;
      this.middle = this.middle.map((m, i) => m + 0.1 * this.span * move[i]);
    } else if (event.key === "+") this.zoom(0.8);
    else if (event.key === "-") this.zoom(1.25);
    else return;
    event.preventDefault();
    event.stopPropagation();
    this.paint();
  }

  // x and y of map below a pointer, m.
  place({ clientX, clientY }) {
    const box = this.canvas.getBoundingClientRect(), scale = Math.min(box.width, box.height) / this.span;
    return [
      this.middle[0] + (clientX - box.left - box.width / 2) / scale,
      this.middle[1] - (clientY - box.top - box.height / 2) / scale,
    ];
  }

  point(event) {
    if (!this.chart) return;
    if (this.grip) {
      const box = this.canvas.getBoundingClientRect(), scale = Math.min(box.width, box.height) / this.span;
      const moved = [event.clientX - this.grip[0], event.clientY - this.grip[1]];
      if (Math.hypot(...moved) > 2) {
        this.following = false;
        this.middle = [this.middle[0] - moved[0] / scale, this.middle[1] + moved[1] / scale];
        this.grip = [event.clientX, event.clientY];
        this.paint();
      }
    }
    this.say(this.place(event));
  }

  // The place below the pointer, else that of the vehicle.
  say(at) {
    this.pointed = at;
    const shown = at ?? this.at;
    if (!shown || !this.output) return;
    const parts = [`x ${text(shown[0], 1)} m, y ${text(shown[1], 1)} m`];
    const { origin } = this.chart;
    if (origin) {
      const [latitude, longitude] = geographic(origin, shown);
      const side = (angle, [plus, minus]) => `${Math.abs(angle).toFixed(6)}° ${angle < 0 ? minus : plus}`;
      parts.unshift(`${side(latitude, "NS")}, ${side(longitude, "EW")}`);
    }
    const depth = this.depth(shown);
    if (depth !== null) parts.push(depth < 0 ? tr("land") : tr("{depth} m deep").replace("{depth}", text(depth, 1)));
    const words = parts.join(" · ");
    if (this.output.textContent !== words) this.output.textContent = words;
  }

  // Depth of the ground at a place, linear between the heights of the picture, m.
  depth(at) {
    const { low, high, count } = this.chart;
    const [u, v] = [0, 1].map((i) => (at[i] - low[i]) / (high[i] - low[i]) * (count - 1));
    if (!(u >= 0 && v >= 0 && u <= count - 1 && v <= count - 1)) return null;
    const i = Math.min(Math.floor(u), count - 2), j = Math.min(Math.floor(v), count - 2);
    const z = (a, b) => this.heights[(j + b) * count + i + a];
    const south = z(0, 0) + (u - i) * (z(1, 0) - z(0, 0)), north = z(0, 1) + (u - i) * (z(1, 1) - z(0, 1));
    const height = south + (v - j) * (north - south);
    return Number.isFinite(height) ? -height : null;
  }

  paint() {
    if (!this.chart || this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => { this.waiting = false; this.draw(); });
  }

  draw() {
    const { clientWidth: width, clientHeight: height } = this.canvas;
    if (!width || !height) return; // another tab is open
    const sharp = Math.min(window.devicePixelRatio, 2);
    if (this.canvas.width !== Math.round(sharp * width) || this.canvas.height !== Math.round(sharp * height)) {
      this.canvas.width = Math.round(sharp * width);
      this.canvas.height = Math.round(sharp * height);
    }
    if (this.following && this.at) this.middle = this.at.slice(0, 2);
    const context = this.canvas.getContext("2d"), style = getComputedStyle(document.body);
    const ink = style.getPropertyValue("--ink"), quiet = style.getPropertyValue("--quiet"), card = style.getPropertyValue("--card");
    const scale = Math.min(width, height) / this.span;
    const px = ([x, y]) => [width / 2 + (x - this.middle[0]) * scale, height / 2 - (y - this.middle[1]) * scale];
    context.setTransform(sharp, 0, 0, sharp, 0, 0);
    context.fillStyle = style.getPropertyValue("--face");
    context.fillRect(0, 0, width, height);
    const { low, high, north } = this.chart, [left, bottom] = px(low), [right, top] = px(high);
    context.drawImage(this.shade, left, top, right - left, bottom - top);
    context.font = "11px sans-serif";
    this.labels = [];
    for (const { points } of this.graticule) this.line(context, points.map(px), { colour: ink, width: 0.6, alpha: 0.3 });
    const contours = this.contours.map(({ depth, points }) => ({ depth, points: points.map(px) }));
    for (const { depth, points } of contours) {
      this.line(context, points, depth ? { colour: ink, width: 0.9, alpha: 0.5 } : { colour: ink, width: 1.8, alpha: 0.9 });
    }
    for (const { at } of this.chart.waypoints) { // no number of a contour stands there
      const [x, y] = px(at);
      this.labels.push({ x, y, half: 8 });
    }
    const edges = [Math.min(width, right) - 4, Math.max(0, top) + 4];
    for (const { label, parallel, points } of this.graticule) this.edge(context, points.map(px), label, parallel, edges, quiet, card);
    for (const { depth, points } of contours) if (depth) this.number(context, points, `${+depth.toPrecision(6)}`, width, height, quiet, card);
    this.line(context, this.track.map(px), { colour: "#e8710a", width: 2.2, alpha: 1 });
    this.drawWaypoints(context, px, ink, card);
    if (this.at) this.craft(context, px(this.at), card);
    this.bar(context, scale, width, height, ink, card);
    this.arrow(context, north, width, ink, card);
    if (!this.pointed) this.say(null);
    this.element.dataset.drawn = Number(this.element.dataset.drawn ?? 0) + 1;
    this.element.dataset.span = this.span.toFixed(1);
    this.element.dataset.track = this.track.length;
  }

  line(context, points, { colour, width, alpha }) {
    if (points.length < 2) return;
    context.globalAlpha = alpha;
    context.strokeStyle = colour;
    context.lineWidth = width;
    context.lineJoin = "round";
    context.beginPath();
    points.forEach(([x, y], i) => (i ? context.lineTo(x, y) : context.moveTo(x, y)));
    context.stroke();
    context.globalAlpha = 1;
  }

  // Text on a light ground, where no other text is; returns whether there was room.
  words(context, words, x, y, { align = "center", colour, card, room = 0, always = false }) {
    const half = context.measureText(words).width / 2 + 2, high = 8;
    const centre = align === "left" ? x + half : align === "right" ? x - half : x;
    const taken = this.labels.some((o) => Math.abs(o.x - centre) < o.half + half + room && Math.abs(o.y - y) < 2 * high + room);
    if (taken && !always) return false;
    this.labels.push({ x: centre, y, half });
    context.save();
    context.translate(centre, y);
    context.textAlign = "center";
    context.textBaseline = "middle";
    context.lineWidth = 3;
    context.lineJoin = "round";
    context.strokeStyle = card;
    context.globalAlpha = 0.8;
    context.strokeText(words, 0, 0);
    context.globalAlpha = 1;
    context.fillStyle = colour;
    context.fillText(words, 0, 0);
    context.restore();
    return true;
  }

  // A depth at the first place of a contour that has room, away from the edges.
  number(context, points, words, width, height, colour, card) {
    const inside = points.filter(([x, y]) => x > 30 && x < width - 30 && y > 24 && y < height - 40);
    const long = inside.slice(1).reduce((sum, [x, y], i) => sum + Math.hypot(x - inside[i][0], y - inside[i][1]), 0);
    if (long < SHORT) return;
    for (const share of [0.5, 0.25, 0.75, 0.1, 0.9]) {
      const [x, y] = inside[Math.floor(share * (inside.length - 1))];
      if (this.words(context, words, x, y, { colour, card, room: ROOM })) return;
    }
  }

  // The name of a parallel at the right edge, of a meridian at the upper one.
  edge(context, points, words, parallel, edges, colour, card) {
    const i = parallel ? 0 : 1, at = edges[i];
    for (let k = 1; k < points.length; k++) {
      const [p, q] = [points[k - 1], points[k]];
      if ((p[i] - at) * (q[i] - at) > 0 || p[i] === q[i]) continue;
      const share = (at - p[i]) / (q[i] - p[i]), other = p[1 - i] + share * (q[1 - i] - p[1 - i]);
      if (parallel && other > 18) this.words(context, words, at, other - 9, { align: "right", colour, card });
      else if (!parallel && other > 80) this.words(context, words, other, at + 6, { colour, card });
      return;
    }
  }

  drawWaypoints(context, px, ink, card) {
    for (const { name, at } of this.chart.waypoints) {
      const [x, y] = px(at);
      context.beginPath();
      [[0, -6], [6, 0], [0, 6], [-6, 0]].forEach(([dx, dy], i) => (i ? context.lineTo(x + dx, y + dy) : context.moveTo(x + dx, y + dy)));
      context.closePath();
      context.fillStyle = card;
      context.strokeStyle = ink;
      context.lineWidth = 1.5;
      context.fill();
      context.stroke();
      this.words(context, name, x + 7, y - 9, { align: "left", colour: ink, card, always: true });
    }
  }

  craft(context, [x, y], card) {
    context.save();
    context.translate(x, y);
    context.beginPath();
    if (this.yaw === null) context.arc(0, 0, 5, 0, 2 * Math.PI);
    else {
      context.rotate(-this.yaw);
      [[11, 0], [-7, 6], [-4, 0], [-7, -6]].forEach(([dx, dy], i) => (i ? context.lineTo(dx, dy) : context.moveTo(dx, dy)));
      context.closePath();
    }
    context.fillStyle = "#d32f2f";
    context.strokeStyle = card;
    context.lineWidth = 1.5;
    context.fill();
    context.stroke();
    context.restore();
  }

  bar(context, scale, width, height, ink, card) {
    const length = nice(width / 3.2 / scale), long = length * scale, x = 14, y = height - 14;
    context.fillStyle = card;
    context.globalAlpha = 0.8;
    context.fillRect(x - 6, y - 20, long + 12, 28);
    context.globalAlpha = 1;
    context.strokeStyle = ink;
    context.lineWidth = 1;
    for (const [from, colour] of [[0, ink], [long / 2, card]]) {
      context.fillStyle = colour;
      context.fillRect(x + from, y - 3, long / 2, 5);
      context.strokeRect(x + from, y - 3, long / 2, 5);
    }
    this.words(context, length >= 1000 ? `${length / 1000} km` : `${+length.toPrecision(2)} m`, x + long / 2, y - 11, { colour: ink, card, always: true });
  }

  arrow(context, [east, up], width, ink, card) {
    const x = 24, y = 38;
    context.fillStyle = card;
    context.globalAlpha = 0.8;
    context.beginPath();
    context.arc(x, y, 19, 0, 2 * Math.PI);
    context.fill();
    context.globalAlpha = 1;
    context.save();
    context.translate(x, y);
    context.rotate(Math.atan2(east, up));
    context.beginPath();
    [[0, -16], [6, 6], [0, 2], [-6, 6]].forEach(([dx, dy], i) => (i ? context.lineTo(dx, dy) : context.moveTo(dx, dy)));
    context.closePath();
    context.fillStyle = ink;
    context.fill();
    context.font = "bold 10px sans-serif";
    context.textAlign = "center";
    context.fillText("N", 0, 15);
    context.restore();
  }
}
