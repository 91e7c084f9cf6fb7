// Copyright 2026 The marine_sim_ros authors
// SPDX-License-Identifier: Apache-2.0

// The page of the gamepad: shows its axes and buttons, calibrates and maps them, and keeps the map.

import { tr, wire } from "./connection.js";
import { FUNCTIONS, MOTIONS, effort, emptyMap, isRange, readMap, widen } from "./gamepad_map.js";
import { controllers } from "./headset.js";

const PERIOD = 100; // ms
const KEY = "marine_sim gamepad "; // in the storage of the browser, before the name of the gamepad

export function firstPad() {
  return pads()[0] ?? null;
}

// The connected gamepads; the controllers of a headset that is worn come first.
export function pads() {
  return [controllers(), ...navigator.getGamepads?.() ?? []].filter((pad) => pad?.connected);
}

// The map that was saved for a gamepad, or null.
export function savedMap(pad) {
  try {
    return readMap(localStorage.getItem(KEY + pad.id), pad.axes.length);
  } catch { // a browser that keeps nothing
    return null;
  }
}

function make(kind, parent, attributes = {}, inside = "") {
  const element = document.createElement(kind);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.textContent = inside;
  parent.append(element);
  return element;
}

export class GamepadPage {
  constructor(element) {
    this.element = element;
    wire.on("scenery", () => this.build(element)); // the language is known from then on
  }

  build(element) {
    this.title = make("div", element, { class: "name", role: "status" });
    this.bars = make("div", element, { class: "padaxes" });
    this.buttons = make("div", element, { class: "padbuttons", role: "group", "aria-label": tr("Buttons") });
    const row = make("div", element, { class: "group" });
    this.calibrate = make("button", row, { type: "button", class: "lamp plain", "aria-pressed": "false" }, tr("Calibrate"));
    this.save = make("button", row, { type: "button", class: "lamp plain" }, tr("Save"));
    this.forget = make("button", row, { type: "button", class: "lamp plain" }, tr("Use the default"));
    this.told = make("div", element, { class: "what", role: "status" });
    this.form = make("div", element, { class: "padform" });
    this.calibrate.onclick = () => this.startOrEnd();
    this.save.onclick = () => this.keep();
    this.forget.onclick = () => this.drop();
    this.id = null;
    setInterval(() => this.beat(), PERIOD);
  }

  beat() {
    const pad = firstPad();
    if ((pad?.id ?? "") !== this.id) this.adopt(pad);
    if (!pad || !this.element.offsetParent) return;
    if (this.calibrating) this.map.ranges = this.map.ranges.map((one, i) => widen(one, pad.axes[i]));
    pad.axes.forEach((value, i) => {
      this.lines[i].value = effort(value, this.calibrating ? { low: -1, middle: 0, high: 1 } : this.map.ranges[i]);
      this.texts[i].textContent = value.toFixed(2).replace("-", "−");
    });
    pad.buttons.forEach((button, i) => this.lamps[i].classList.toggle("held", button.pressed));
  }

  adopt(pad) {
    this.id = pad?.id ?? "";
    this.calibrating = false;
    const saved = pad && savedMap(pad);
    this.map = saved ?? emptyMap(pad?.axes.length ?? 0);
    this.title.textContent = pad ? pad.id : tr("none; press one of its buttons");
    this.say(!pad ? "" : saved ? tr("Your map is used.") : pad.mapping === "standard" ? tr("The standard layout is used.") : tr("Calibrate and map this gamepad, then save."));
    for (const part of [this.bars, this.buttons, this.form]) part.replaceChildren();
    this.lines = [];
    this.texts = [];
    this.lamps = [];
    for (const button of [this.calibrate, this.save, this.forget]) button.disabled = !pad;
    if (!pad) return;
    pad.axes.forEach((_, i) => {
      make("span", this.bars, {}, `${tr("Axis")} ${i}`);
      this.lines.push(make("meter", this.bars, { min: -1, max: 1, "aria-label": `${tr("Axis")} ${i}` }));
      this.texts.push(make("output", this.bars));
    });
    pad.buttons.forEach((_, i) => this.lamps.push(make("kbd", this.buttons, {}, `${i}`)));
    for (const name of MOTIONS) this.addMotion(name, pad.axes.length);
    for (const name of FUNCTIONS) this.addFunction(name, pad.buttons.length);
  }

  choice(label, names, value, use) {
    const box = make("label", this.form);
    make("span", box, {}, label);
    const select = make("select", box);
    make("option", select, { value: "" }, "–");
    names.forEach((name, i) => make("option", select, { value: i }, name));
    select.value = value ?? "";
    select.onchange = () => use(select.value === "" ? null : Number(select.value));
    return box;
  }

  addMotion(name, count) {
    const { motions } = this.map, axes = Array.from({ length: count }, (_, i) => `${tr("Axis")} ${i}`);
    const box = this.choice(tr(name).replaceAll("_", " "), axes, motions[name]?.axis, (axis) => {
      if (axis === null) delete motions[name];
      else motions[name] = { axis, reversed: reverse.checked };
    });
    const reverse = make("input", box, { type: "checkbox", "aria-label": `${tr(name)}: ${tr("reversed")}` });
    reverse.checked = Boolean(motions[name]?.reversed);
    reverse.onchange = () => { if (motions[name]) motions[name].reversed = reverse.checked; };
    make("span", box, { class: "what" }, tr("reversed"));
  }

  addFunction(name, count) {
    const { buttons } = this.map, names = Array.from({ length: count }, (_, i) => `${tr("Button")} ${i}`);
    this.choice(tr(name).replaceAll("_", " "), names, buttons[name], (button) => {
      if (button === null) delete buttons[name];
      else buttons[name] = button;
    });
  }

  // Calibration: the sticks at rest, then each to its ends.
  startOrEnd() {
    const pad = firstPad();
    if (!pad) return;
    this.calibrating = !this.calibrating;
    this.calibrate.setAttribute("aria-pressed", this.calibrating);
    if (this.calibrating) {
      this.map.ranges = pad.axes.map((value) => ({ low: value, middle: value, high: value }));
      this.say(tr("Move each axis to both ends, then press Calibrate again."));
      return;
    }
    const still = this.map.ranges.filter((one) => !isRange(one)).length;
    this.map.ranges = this.map.ranges.map((one) => (isRange(one) ? one : { low: -1, middle: 0, high: 1 }));
    this.say(still ? tr("Axes that did not move keep −1 to 1.") : tr("Calibrated; save to keep it."));
  }

  keep() {
    const pad = firstPad();
    if (!pad || this.calibrating) return;
    try {
      localStorage.setItem(KEY + pad.id, JSON.stringify(this.map));
      this.say(tr("Saved in this browser."));
    } catch {
      this.say(tr("This browser keeps nothing."));
    }
    dispatchEvent(new Event("gamepadmap"));
  }

  drop() {
    const pad = firstPad();
    if (pad) localStorage.removeItem(KEY + pad.id);
    this.id = null;
    dispatchEvent(new Event("gamepadmap"));
  }

  say(text) { this.told.textContent = text; }
}
