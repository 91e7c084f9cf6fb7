// Copyright 2026 The marine_sim_ros authors
// SPDX-License-Identifier: Apache-2.0

// The overlay of what a camera sees, and of the full screen: horizon, heading tape and depth tape.

import { DEGREES, heading, visibility, wire } from "./connection.js";

const SVG = "http://www.w3.org/2000/svg";
const WIDTH = 400, HEIGHT = 225;
const TAPE = { middle: WIDTH / 2, half: 110, scale: 2.2 }; // px, and px of a degree
const LADDER = 3; // px of a degree of pitch
const LIMIT = 68, FADE = 12; // px from the middle at which a line of pitch is gone, and over which it fades
const DEPTH = { x: 372, half: 66, scale: 22 }; // px of a metre
const POINTS = { 0: "N", 90: "E", 180: "S", 270: "W" };

function draw(parent, kind, attributes = {}, inside = "") {
  const element = document.createElementNS(SVG, kind);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.textContent = inside;
  parent.append(element);
  return element;
}

function clipped(svg, name, box) {
  draw(draw(svg, "clipPath", { id: name }), "rect", box);
  return draw(svg, "g", { "clip-path": `url(#${name})` });
}

export class Overlay {
  constructor(element) {
    this.svg = draw(element, "svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "overlay", "aria-hidden": "true" });
    this.horizon = this.ladder();
    this.tape = this.headings();
    this.depths = clipped(this.svg, "overlay-depth", { x: DEPTH.x - 30, y: HEIGHT / 2 - DEPTH.half, width: 58, height: 2 * DEPTH.half });
    draw(this.svg, "path", { d: `M${DEPTH.x + 20} ${HEIGHT / 2} l8 -5 v10 z` });
    draw(this.svg, "path", { d: `M${WIDTH / 2} 26 l-5 8 h10 z` });
    this.seen = visibility(this.svg);
    wire.on("frame", (frame) => this.update(frame));
  }

  // Lines of equal pitch, and the vehicle's own mark in the middle.
  ladder() {
    const group = draw(this.svg, "g");
    this.rungs = [];
    for (let pitch = -60; pitch <= 60; pitch += 10) {
      const rung = draw(group, "g");
      this.rungs.push([pitch, rung]);
      const y = -LADDER * pitch, half = pitch ? 18 : 60;
      for (const side of [-1, 1]) {
        draw(rung, "line", { x1: 12 * side, x2: (12 + half) * side, y1: y, y2: y, class: pitch < 0 ? "below" : "" });
      }
      if (pitch) draw(rung, "text", { x: 36, y: y + 3 }, `${Math.abs(pitch)}`);
    }
    const middle = draw(this.svg, "g", { transform: `translate(${WIDTH / 2} ${HEIGHT / 2})` });
    draw(middle, "path", { d: "M-22 0 h12 l5 5 M22 0 h-12 l-5 5", class: "own" });
    return group;
  }

  headings() {
    const { middle, half, scale } = TAPE;
    const group = draw(clipped(this.svg, "overlay-heading", { x: middle - half, y: 0, width: 2 * half, height: 26 }), "g");
    for (let angle = -180; angle <= 540; angle += 10) {
      const whole = (angle + 360) % 360, named = whole % 30 === 0;
      draw(group, "line", { x1: scale * angle, x2: scale * angle, y1: named ? 16 : 20, y2: 24 });
      if (named) draw(group, "text", { x: scale * angle, y: 12, class: "middle" }, POINTS[whole] ?? `${whole}`);
    }
    return group;
  }

  update(frame) {
    const [roll, pitch, yaw] = frame.rpy ?? [null];
    const depth = frame.position?.[2] === null ? null : -frame.position[2];
    if (!this.seen() || roll === null || depth === null) return;
    const lean = -roll * DEGREES, sink = -LADDER * pitch * DEGREES; // a pitch above 0 has the bow down
    this.horizon.setAttribute("transform", `translate(${WIDTH / 2} ${HEIGHT / 2}) rotate(${lean.toFixed(2)}) translate(0 ${sink.toFixed(2)})`);
    for (const [level, rung] of this.rungs) rung.setAttribute("opacity", Math.min(1, Math.max(0, (LIMIT - Math.abs(sink - LADDER * level)) / FADE)).toFixed(2));
    this.tape.setAttribute("transform", `translate(${(TAPE.middle - TAPE.scale * heading(yaw)).toFixed(2)} 0)`);
    this.drawDepths(depth);
  }

  // Metres within reach of a depth.
  drawDepths(depth) {
    this.depths.replaceChildren();
    const reach = DEPTH.half / DEPTH.scale;
    for (let metre = Math.max(0, Math.ceil(depth - reach)); metre <= depth + reach; metre += 1) {
      const y = HEIGHT / 2 + DEPTH.scale * (metre - depth);
      draw(this.depths, "line", { x1: DEPTH.x + 6, x2: DEPTH.x + 18, y1: y, y2: y });
      draw(this.depths, "text", { x: DEPTH.x + 2, y: y + 3, class: "end" }, `${metre}`);
    }
  }
}

// Whole turns of the vehicle about the vertical since the page was opened, as its tether winds.
export class Turns {
  constructor() {
    this.turned = 0; // rad
    this.before = null;
  }

  add(yaw) {
    if (yaw === null || yaw === undefined) return this.turns;
    if (this.before !== null) {
      const step = yaw - this.before;
      this.turned += step - 2 * Math.PI * Math.round(step / (2 * Math.PI));
    }
    this.before = yaw;
    return this.turns;
  }

  get turns() { return this.turned / (2 * Math.PI); }
}
