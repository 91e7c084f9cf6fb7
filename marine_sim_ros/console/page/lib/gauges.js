// Copyright 2026 The marine_sim_ros authors
// SPDX-License-Identifier: Apache-2.0

// Instruments: compasses of yaw, roll and pitch, depth, propellers, forces.

import { DEGREES, bowUp, byName, heading, metered, text, tr, visibility, weightOf, wire } from "./connection.js";
import { Turns } from "./overlay.js";

const SVG = "http://www.w3.org/2000/svg";

function draw(parent, kind, attributes = {}, inside = "") {
  const element = document.createElementNS(SVG, kind);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  if (inside) element.textContent = inside;
  parent.append(element);
  return element;
}

function caption(box, label, name) {
  const line = document.createElement("figcaption"), output = document.createElement("output");
  output.dataset.show = name;
  output.textContent = "–";
  line.append(`${tr(label)} `, output);
  box.append(line);
}

function dial(host, name, label) {
  const box = document.createElement("figure");
  box.className = "dial";
  caption(box, label, name);
  const svg = draw(box, "svg", { viewBox: "-60 -60 120 120", role: "img", "aria-label": label });
  draw(svg, "circle", { r: 56, class: "face" });
  host.append(box);
  return svg;
}

function ticks(svg, step, inner, names = {}) {
  for (let a = 0; a < 360; a += step) {
    const long = a % 30 === 0 ? inner - 4 : inner;
    const s = Math.sin(a / DEGREES), c = -Math.cos(a / DEGREES);
    draw(svg, "line", { x1: long * s, y1: long * c, x2: 54 * s, y2: 54 * c, class: "tick" });
    if (names[a]) draw(svg, "text", { x: 36 * s, y: 36 * c + 4.5, class: "point" }, names[a]);
  }
}

// 0 is north, clockwise; the rose turns below a fixed needle, as on a bridge.
function yawDial(host) {
  const svg = dial(host, "heading", "Heading");
  const rose = draw(svg, "g");
  ticks(rose, 10, 49, { 0: "N", 90: "E", 180: "S", 270: "W" });
  const setpoint = draw(rose, "path", { d: "M0 -56 L-5 -44 L5 -44 Z", class: "setpoint", visibility: "hidden" });
  draw(svg, "path", { d: "M0 -22 L12 20 L0 13 L-12 20 Z", class: "craft" });
  draw(svg, "path", { d: "M0 -50 L-4 -58 L4 -58 Z", class: "mark" });
  return (heading, target) => {
    rose.setAttribute("transform", `rotate(${-heading})`);
    setpoint.setAttribute("visibility", target === null ? "hidden" : "visible");
    if (target !== null) setpoint.setAttribute("transform", `rotate(${target})`);
  };
}

function leaning(host, name, label, shape) {
  const svg = dial(host, name, label);
  ticks(svg, 10, 49);
  draw(svg, "line", { x1: -44, y1: 0, x2: 44, y2: 0, class: "level" });
  const setpoint = draw(svg, "line", { x1: -54, y1: 0, x2: 54, y2: 0, class: "setpoint", visibility: "hidden" });
  const craft = draw(svg, "g");
  draw(craft, "path", { d: shape, class: "craft" });
  draw(craft, "line", { x1: -50, y1: 0, x2: 50, y2: 0, class: "beam" });
  return (angle, target) => {
    craft.setAttribute("transform", `rotate(${angle})`);
    setpoint.setAttribute("visibility", target === null ? "hidden" : "visible");
    if (target !== null) setpoint.setAttribute("transform", `rotate(${target})`);
  };
}

const REAR = "M-24 -12 H24 V4 H18 V16 H10 V4 H-10 V16 H-18 V4 H-24 Z";
const SIDE = "M-28 -10 H20 L30 0 L20 8 H-20 V14 H-28 Z"; // the bow on the right

function depthScale(host) {
  const box = document.createElement("figure");
  box.className = "dial depth";
  caption(box, "Depth", "depth");
  const svg = draw(box, "svg", { viewBox: "0 0 120 120", role: "img", "aria-label": "Depth" });
  draw(svg, "rect", { x: 4, y: 4, width: 112, height: 112, rx: 6, class: "face" });
  const glass = draw(svg, "svg", { x: 4, y: 5, width: 112, height: 110, viewBox: "4 5 112 110" });
  const scale = draw(glass, "g");
  draw(svg, "path", { d: "M62 60 L76 53 H112 V67 H76 Z", class: "craft" });
  const setpoint = draw(svg, "path", { d: "M58 0 L46 -6 L46 6 Z", class: "setpoint", visibility: "hidden" });
  host.append(box);
  let drawn = null;
  return (depth, target) => {
    const each = 13; // px of a metre
    const middle = Math.round(depth);
    if (middle !== drawn) {
      drawn = middle;
      scale.replaceChildren();
      for (let m = middle - 5; m <= middle + 5; m++) {
        const y = m * each;
        draw(scale, "line", { x1: m % 5 ? 34 : 26, y1: y, x2: 44, y2: y, class: m === 0 ? "surface" : "tick" });
        if (m % 2 === 0 && Math.abs(m - middle) < 4) draw(scale, "text", { x: 22, y: y + 4, class: "small end" }, `${m}`.replace("-", "−"));
      }
    }
    scale.setAttribute("transform", `translate(0 ${60 - depth * each})`);
    setpoint.setAttribute("visibility", target === null ? "hidden" : "visible");
    if (target !== null) {
      const y = Math.min(112, Math.max(8, 60 + (target - depth) * each));
      setpoint.setAttribute("transform", `translate(0 ${y})`);
    }
  };
}

// Which way each thruster pushes, seen from above, bow up.
function hullMap(host, look) {
  const svg = draw(host, "svg", { viewBox: "-80 -68 160 136", role: "img", class: "hull",
    "aria-label": "Thrusters from above, bow up" });
  const reach = Math.max(0.05, ...look.thrusters.map((t) => Math.hypot(t.at[0], t.at[1])));
  draw(svg, "rect", { x: -34, y: -46, width: 68, height: 92, rx: 10, class: "face" });
  draw(svg, "path", { d: "M0 -56 L-7 -48 H7 Z", class: "mark" });
  const places = look.thrusters.map(({ at }) => [-48 * at[1] / reach, -48 * at[0] / reach]);
  const marks = look.thrusters.map((one, i) => {
    const [x, y] = places[i], outward = one.at[1] > 0 ? -1 : 1;
    const crowded = places.some(([u, v]) => Math.abs(v - y) < 14 && (u - x) * outward > 0 && (u - x) * outward < 34);
    const group = draw(svg, "g", { transform: `translate(${x} ${y})` });
    draw(group, "circle", { r: 10, class: "prop" });
    const ring = draw(group, "circle", { r: 0, class: "lift" });
    const arrow = draw(group, "line", { class: "push" });
    const inwards = { x: 0, y: y < 0 ? 21 : -14 }; // not where that of the other side would be
    draw(group, "text", { ...(crowded ? inwards : { x: 18 * outward, y: 3.5 }), class: "number" }, `${i + 1}`);
    return { arrow, ring, one };
  });
  const key = document.createElement("p");
  key.className = "what key";
  key.textContent = tr("From above, bow up. Red: which way it pushes; blue lifts, orange sinks.");
  host.append(key);
  return (thrust) => {
    const most = Math.max(20, ...thrust.map((t) => Math.abs(t ?? 0)));
    marks.forEach(({ arrow, ring, one }, i) => {
      const share = (thrust[i] ?? 0) / most;
      arrow.setAttribute("visibility", Math.abs(share) * Math.hypot(one.axis[0], one.axis[1]) > 0.02 ? "visible" : "hidden");
      arrow.setAttribute("x2", -30 * share * one.axis[1]);
      arrow.setAttribute("y2", -30 * share * one.axis[0]);
      ring.setAttribute("r", Math.abs(10 * share * one.axis[2]));
      ring.classList.toggle("down", share * one.axis[2] < 0);
    });
  };
}

// Adds the first row of a table: words, and units below them.
export function headings(table, columns) {
  const row = table.createTHead().insertRow();
  for (const [words, unit] of columns) {
    const head = document.createElement("th");
    head.scope = "col";
    head.append(words);
    if (unit) {
      const small = document.createElement("small");
      small.textContent = unit;
      head.append(document.createElement("br"), small);
    }
    row.append(head);
  }
}

function propellerTable(host, look) {
  const table = document.createElement("table");
  table.className = "numbers";
  headings(table, [[tr("Thruster")], ["PWM", "µs"], [tr("Thrust"), "N"], [tr("Power"), "W"], [tr("Rotor"), "rpm"]]);
  const body = table.createTBody();
  const rows = look.thrusters.map((one, i) => {
    const row = body.insertRow();
    const head = document.createElement("th");
    head.scope = "row";
    const name = one.name.replaceAll("_", " ");
    head.textContent = name.endsWith(` ${i + 1}`) ? name : `${i + 1} ${name}`;
    row.append(head);
    return ["pwm", "thrust", "power", "rpm"].map((name) => {
      const cell = row.insertCell();
      cell.dataset.show = `${name}-${i}`;
      return cell;
    });
  });
  host.append(table);
  return (frame) => rows.forEach((cells, i) => {
    const watts = metered(look, frame) ? frame.power : [];
    const bend = ((frame.pwm[i] ?? 1500) - 1500) / 4; // % of the cell
    cells[0].style.setProperty("--bar", `${Math.abs(bend)}%`);
    cells[0].classList.toggle("back", bend < 0);
    [frame.pwm, frame.thrust, watts, frame.rpm].forEach((values, k) => {
      cells[k].textContent = text(values[i], [0, 1, 0, 0][k]);
    });
  });
}

function forceBars(host, colours) {
  const table = document.createElement("table");
  table.className = "numbers";
  headings(table, [[tr("Force")], [tr("Share")], [tr("Size"), "N"], [tr("Ahead"), "N"], [tr("Port"), "N"], [tr("Up"), "N"]]);
  const body = table.createTBody();
  host.append(table);
  const rows = byName();
  colours = byName(colours);
  return (frame) => {
    const { total, ...sources } = frame.wrenches;
    const all = { ...sources, weight: weightOf(frame), ...(total && { total }) };
    for (const [name, wrench] of Object.entries(all)) {
      if (!rows[name]) {
        const row = body.insertRow();
        const rgb = (colours[name] ?? [0.6, 0.6, 0.2]).map((x) => Math.round(255 * x)).join(" ");
        const head = document.createElement("th"), chip = document.createElement("i");
        head.scope = "row";
        chip.className = name === "total" ? "sum" : "";
        chip.style.background = `rgb(${rgb})`;
        head.append(chip, tr(name));
        row.append(head);
        rows[name] = Array.from({ length: 5 }, () => row.insertCell());
      }
      const [share, ...cells] = rows[name];
      const part = frame.shares[name];
      share.textContent = part === undefined ? "" : `${text(100 * part, 0)} %`;
      share.style.setProperty("--bar", `${100 * (part ?? 0)}%`);
      [Math.hypot(...wrench.slice(0, 3)), ...wrench.slice(0, 3)].forEach((value, i) => {
        cells[i].textContent = text(value, 1);
      });
    }
  };
}

// Fills every element with data-show="name" below an element.
function fill(root, values) {
  for (const element of root.querySelectorAll("[data-show]")) {
    const value = values[element.dataset.show];
    if (value !== undefined && element.textContent !== value) element.textContent = value;
  }
}

const known = (x) => x !== null && x !== undefined;
const whole = (degrees) => `${Math.round(degrees) % 360}`.padStart(3, "0");

export class Gauges {
  constructor(element, part) {
    this.element = element;
    this.seen = visibility(element);
    wire.on("scenery", (scenery) => {
      this.make(scenery, part);
      if (!wire.frame) return;
      this.update(wire.frame);
      fill(element, values(wire.frame)); // later frames fill the whole page
    });
    wire.on("frame", (frame) => this.update(frame));
  }

  make(scenery, part) {
    const { look, colours } = scenery;
    const host = this.element;
    if (part === "dials") {
      const [yaw, roll, pitch] = [
        yawDial(host), leaning(host, "roll", "Roll", REAR), leaning(host, "pitch", "Pitch", SIDE),
      ];
      const depth = depthScale(host);
      const boxes = host.querySelectorAll(".dial");
      this.paint = (frame) => {
        const goals = frame.setpoints, degrees = (x) => x * DEGREES;
        const one = (i, turn, is, goal, scale) => {
          boxes[i].classList.toggle("absent", wire.replay && !known(is));
          if (known(is)) turn(scale(is), goal === null ? null : scale(goal));
        };
        const [x, y, z] = frame.rpy ?? [];
        one(0, yaw, z, goals[5], heading);
        one(1, roll, x, goals[3], degrees);
        // The drawing's bow is on the right, and it turns clockwise: down.
        one(2, pitch, y, goals[4], degrees);
        one(3, depth, frame.position?.[2], goals[2], (up) => -up);
      };
    } else if (part === "propellers") {
      const table = propellerTable(host, look);
      const map = hullMap(host, look);
      this.paint = (frame) => { table(frame); map(frame.thrust); };
    } else if (part === "forces") {
      const bars = forceBars(host, colours);
      this.paint = (frame) => { if (known(frame.turn?.[0])) bars(frame); }; // else no weight in body axes
    }
  }

  update(frame) {
    if (this.paint && this.seen()) this.paint(frame);
  }
}

const turned = new Turns();
const MODES = { pwm: "Thrusters", velocity: "Joystick mode", pose: "Command mode" };

// What labels all over the page show.
function values(frame) {
  const power = frame.power.reduce((sum, x) => sum + (x ?? 0), 0);
  const watts = metered(wire.scenery.look, frame);
  const [roll, pitch, yaw] = frame.rpy ?? [], at = frame.position ?? [], velocity = frame.velocity ?? [null];
  const absent = wire.replay ? "not recorded" : "–";
  const lacks = (topic) => wire.replay && !wire.scenery.recorded.includes(topic);
  const angle = (x, show) => (known(x) ? `${show(x)}°` : "–"); // of a dial, which says so itself
  return {
    heading: angle(yaw, (x) => whole(heading(x))),
    roll: angle(roll, (x) => text(x * DEGREES, 1)),
    pitch: angle(pitch, (x) => text(bowUp(x), 1)),
    turns: known(yaw) && !wire.replay ? `${text(turned.add(yaw), 1)} ${tr("turns")}` : "–",
    ...cockpit(frame),
    altitude: frame.altitude === undefined ? "" : known(frame.altitude) ? `${text(frame.altitude)} m` : "–",
    leak: frame.leak === undefined ? "" : known(frame.leak) ? frame.leak ? tr("water") : tr("no") : "–",
    depth: known(at[2]) ? `${text(-at[2])} m` : "–",
    time: `${text(frame.time, 1)} s`,
    ...Object.fromEntries(["east", "north", "up"].map((name, i) => [name, known(at[i]) ? `${text(at[i])} m` : absent])),
    speed: velocity.every(known) ? `${text(Math.hypot(...velocity))} m/s` : absent,
    barometer: known(frame.pressure) ? `${text(frame.pressure / 1000, 2)} kPa` : lacks("barometer/pressure") ? absent : "none",
    barodepth: known(frame.barometer_depth) ? `${text(frame.barometer_depth)} m` : lacks("barometer/pressure") ? absent : "–",
    tension: `${text(frame.tether.tension[0], 1)} N`,
    anchortension: `${text(frame.tether.tension[1], 1)} N`,
    ...Object.fromEntries((frame.actuators ?? []).map((part) => [part.key, part.text])),
    power: lacks("thrusters/power") ? absent : watts && frame.power.length ? `${text(power, 0)} W` : "–",
    energy: lacks("thrusters/power") ? absent : watts ? energy(frame.energy) : "–",
  };
}

// What a pilot looks for over the picture: mode, lights, battery, and the task of a lesson.
function cockpit({ mode, lights, health: found, mission }) {
  const levels = Object.values(lights ?? {}), voltage = Number(found?.voltage);
  const task = (mission?.tasks ?? []).find(({ state }) => state === "running");
  return {
    mode: mode ? `${tr(MODES[mode.output])}${mode.switches.arm === true ? ` · ${tr("Armed")}` : ""}` : "",
    lamps: levels.length ? `${text(100 * Math.max(...levels), 0)} %` : "–",
    battery: Number.isFinite(voltage) && voltage > 0 ? `${text(voltage, 1)} V` : "–",
    task: tr(task?.name ?? ""),
  };
}

function energy(joules) {
  if (joules === undefined || joules === null) return "–";
  return joules < 3600 ? `${text(joules, 0)} J` : `${text(joules / 3600, 2)} Wh`;
}

wire.on("frame", (frame) => {
  fill(document, { ...values(frame), ...health(frame) });
  document.body.dataset.leak = frame.leak === true;
});

function health(frame) {
  const found = frame.health ?? {};
  return {
    factor: found.real_time_factor === undefined ? "–" : `× ${text(Number(found.real_time_factor))}`,
    ticks: found.ticks ?? "–",
    outages: found.outages ?? "–",
  };
}
