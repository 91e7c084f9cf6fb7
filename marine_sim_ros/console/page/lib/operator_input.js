// Copyright 2026 The marine_sim_ros authors
// SPDX-License-Identifier: Apache-2.0

// The operator's hands: two sticks on the screen, the keyboard, a gamepad. Twenty times a second, and
// soon after a change, the page says what is held. A worker gives signs of life, also while this
// script is held up.

import { nipplejs } from "nicegui-joystick";
import { tr, wire } from "./connection.js";
import { efforts as mapped } from "./gamepad_map.js";
import { firstPad, pads, savedMap } from "./gamepad_page.js";

const AXES = ["surge", "sway", "heave", "roll", "pitch", "yaw"];
const KEYS = {
  w: ["surge", 1], s: ["surge", -1], a: ["sway", 1], d: ["sway", -1], r: ["heave", 1], f: ["heave", -1],
  q: ["yaw", 1], e: ["yaw", -1], l: ["roll", 1], j: ["roll", -1], k: ["pitch", 1], i: ["pitch", -1],
};
const DIMS = { ",": -1, ".": 1 }, DIM_STEPS = 8; // of ArduSub's JS_LIGHTS_STEPS
const JAWS = { c: true, o: false }; // whether a key closes the gripper
const STICKS = { left: ["sway", "surge"], right: ["yaw", "heave"] }; // across, along
const PAD_AXES = ["sway", "surge", "yaw", "heave", "roll", "pitch"]; // in the files of config/gamepads
const PERIOD = 50; // ms
const LOOK = 15; // ms between looks for a change; browsers have no event of a gamepad's axes
const TREMBLE = 0.02; // of an axis, which is no change
const QUIET = 3000; // ms until the same hint is shown again
const MOVED = 0.3; // of a gamepad's stick, that is no trembling
const PAUSED = ["The run is paused: Pause lets it go on", "The clock stands: press Start in the tab Lesson"];
const REACH = 55; // pixels from a stick's middle to its end

// Buttons of the browser's standard gamepad in the order of SDL, which joy's game_controller_node has.
const SDL = [0, 1, 2, 3, 8, 16, 9, 10, 11, 4, 5, 12, 13, 14, 15];

// Whether what is typed there is a text; no number has a space in it.
function typing(target, kinds = "input:not([readonly]), textarea, [contenteditable=true]") {
  return Boolean(target.closest?.(kinds));
}

// Axes of a T.16000M in the order of the kernel: x, y, twist, slider, hat across, hat down. Browsers
// on Linux have that order; elsewhere Chromium goes by HID usages, and the hat is one number:
// -1 is up, eighths of a turn clockwise are 2/7 each, and what is beyond 1 is the middle.
function t16000m(axes) {
  if (axes.length < 10) return [...axes].slice(0, 6);
  const eighths = Math.round((axes[9] + 1) * 3.5);
  const there = eighths >= 0 && eighths < 8, angle = eighths * Math.PI / 4;
  const hat = there ? [Math.sign(Math.round(2 * Math.sin(angle))), -Math.sign(Math.round(2 * Math.cos(angle)))] : [0, 0];
  return [axes[0], axes[1], axes[5], axes[6], ...hat];
}

// Keys, gamepad and signs of life are those of the page: they work whichever tab is open. Sticks
// are there once their tab has been opened.
class Hands {
  constructor() {
    this.screen = {};
    this.keys = new Set();
    this.knobs = {};
    this.caps = [];
    this.rest = []; // axes of the gamepad when it was last seen to be used
    this.worker = new Worker(new URL("./heartbeat.js", import.meta.url));
    this.worker.onmessage = ({ data }) => wire.take(data);
    for (const end of ["pointerup", "pointercancel"]) addEventListener(end, () => this.tilt(null));
    // Before any button sees them: while one steers, the space bar stops and presses nothing.
    addEventListener("keydown", (event) => this.key(event, true), true);
    addEventListener("keyup", (event) => this.key(event, false), true);
    // What cannot be seen is not held.
    addEventListener("blur", () => this.drop());
    document.addEventListener("visibilitychange", () => document.hidden && this.drop());
    addEventListener("pagehide", () => { this.drop(); wire.send("leave"); });
    addEventListener("gamepaddisconnected", () => this.drop());
    addEventListener("gamepadmap", () => { this.own = undefined; });
    this.timer = setInterval(() => this.beat(), PERIOD);
    setInterval(() => this.look(), LOOK);
  }

  // Takes the sticks, the buttons of angles and the drawn keys of an element.
  attach(element) {
    for (const [name, axes] of Object.entries(STICKS)) this.makeStick(element, name, ...axes);
    this.caps = Object.keys(KEYS).map((name) => [name, [...element.querySelectorAll("kbd")].filter(
      (cap) => cap.textContent.trim().toLowerCase() === name,
    )]);
    element.addEventListener("pointerdown", (event) => {
      const held = event.target.closest("[data-hold]");
      this.tilt(held);
      if (held || event.target.closest("[data-stick]")) this.hint(held?.dataset.hold);
    });
    return this;
  }

  makeStick(element, name, across, along) {
    const zone = element.querySelector(`[data-stick=${name}]`);
    const stick = nipplejs.create({
      zone, mode: "static", position: { left: "50%", top: "50%" }, size: 110, color: "#2f8fe0",
      dynamicPage: true,
    });
    this.knobs[name] = zone.querySelector(".front");
    stick.on("move", (event, data) => {
      const { x, y } = (data ?? event.data).vector;
      this.screen[across] = -x;
      this.screen[along] = y;
    });
    stick.on("end", () => { this.screen[across] = this.screen[along] = 0; this.beat(); });
  }

  // A button of an angle is held, or none any more.
  tilt(button) {
    this.screen.roll = this.screen.pitch = 0;
    if (button && !button.disabled) this.screen[button.dataset.hold] = Number(button.dataset.sign);
  }

  key(event, down) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const { key, target } = event;
    if (key === " " && wire.mine && !typing(target, "input[type=text]:not([readonly]), textarea")) {
      event.preventDefault();
      event.stopPropagation();
      if (down && !event.repeat) {
        this.drop();
        wire.send("stop");
      }
      return;
    }
    const name = key.toLowerCase();
    if (down && !typing(target) && (key === "?" || name === "h" || key === "F1")) {
      event.preventDefault();
      document.querySelector("[data-help]")?.click();
      return;
    }
    if (name in DIMS && !typing(target)) {
      event.preventDefault();
      if (down) this.dim(DIMS[name]);
      return;
    }
    if (name in JAWS && !typing(target)) {
      if (down && !event.repeat) this.grip(JAWS[name]);
      return;
    }
    if (!KEYS[name] || (down && typing(target))) return;
    if (wire.mine) event.stopPropagation(); // a list would look for what begins with it
    if (down) this.keys.add(name); else this.keys.delete(name);
    if (down && !event.repeat) this.hint(KEYS[name][0]);
    this.light();
  }

  // Closes or opens the gripper.
  grip(close) {
    if (wire.watches || !wire.scenery?.look.gripper) return;
    if (wire.mine) wire.send("gripper", close);
    else this.say(tr("Take control first: nothing moves before"));
  }

  // Makes all lights brighter or darker by one step.
  dim(by) {
    const lights = wire.frame?.lights ?? {};
    if (wire.watches) return;
    if (!wire.mine) this.say(tr("Take control first: the lights are the operator's"));
    else if (!Object.keys(lights).length) this.say(tr("This vehicle has no lights"));
    else {
      const level = ([name, now]) => [name, Math.min(1, Math.max(0, (Math.round(now * DIM_STEPS) + by) / DIM_STEPS))];
      wire.send("lights", Object.fromEntries(Object.entries(lights).map(level)));
    }
  }

  // Says why what is held moves nothing, where that is so.
  hint(axis = "") {
    const mode = wire.frame?.mode;
    if (wire.watches || !mode) return;
    const why = !wire.mine ? tr("Take control first: nothing moves before")
      : mode.unavailable[mode.output] ? mode.unavailable[mode.output]
      : mode.output !== "pwm" && mode.switches.arm !== true ? tr("Arm the controller first (Armed): nothing moves before")
      : wire.frame.paused ? tr(PAUSED[Number(Boolean(wire.scenery.mission && !wire.frame.time))])
      : mode.unavailable[axis] ?? "";
    if (why) this.say(why);
  }

  // Shows a text on the page; the same one not again at once.
  say(text) {
    if (text === this.said && Date.now() - this.when < QUIET) return;
    this.said = text;
    this.when = Date.now();
    wire.tell("hint", text);
  }

  // Lights the keys that are held, and moves the knobs of the sticks by them.
  light() {
    for (const [name, caps] of this.caps) {
      for (const cap of caps) cap.classList.toggle("held", this.keys.has(name));
    }
    const held = this.pressed();
    for (const [name, knob] of Object.entries(this.knobs)) {
      const [across, along] = STICKS[name];
      knob.style.translate = `${-REACH * held[across]}px ${-REACH * held[along]}px`;
    }
  }

  // Efforts of keys, -1 to 1, by axis.
  pressed() {
    const held = Object.fromEntries(AXES.map((axis) => [axis, 0]));
    for (const name of this.keys) held[KEYS[name][0]] += KEYS[name][1];
    return held;
  }

  drop() {
    this.screen = {};
    this.keys.clear();
    this.light();
    this.beat();
  }

  efforts() {
    const held = this.pressed(), pad = firstPad(), map = this.ownMap(pad);
    const own = map ? mapped(map, pad.axes) : AXES.map(() => 0);
    return AXES.map((axis, i) => Math.min(1, Math.max(-1, held[axis] + (this.screen[axis] ?? 0) + own[i])));
  }

  // The pilot's own map of a gamepad, read once; null: the known layout counts.
  ownMap(pad) {
    if (!pad) return null;
    if (this.own?.id !== pad.id) this.own = { id: pad.id, map: savedMap(pad), down: null };
    return this.own.map;
  }

  // Sends the functions of buttons that went down since the last call.
  pressOwn(pad, map) {
    const down = pad.buttons.map((button) => button.pressed), before = this.own.down ?? down;
    this.own.down = down;
    for (const [name, i] of Object.entries(map.buttons)) {
      if (!down[i] || before[i]) continue;
      if (name === "stop") wire.send("stop");
      else {
        const kind = name === "disarm" ? "arm" : name;
        const on = name === "arm" || (name !== "disarm" && wire.frame?.mode?.switches[name] !== true);
        wire.send("switch", { name: kind, on });
      }
    }
  }

  // A gamepad as the ROS 2 package joy would send it: ahead and left are positive.
  gamepad() {
    for (const pad of pads()) {
      const axes = pad.axes.map((x) => -x);
      const buttons = pad.buttons.map((b) => Number(b.pressed));
      if (this.ownMap(pad)) return { gamepad: "", axes: [], buttons: [], id: pad.id };
      if (pad.mapping === "standard") {
        return { gamepad: "xbox", axes, buttons: SDL.map((i) => buttons[i] ?? 0), id: pad.id };
      }
      if (/T\.?16000M/i.test(pad.id)) {
        return { gamepad: "thrustmaster_t16000m", axes: t16000m(pad.axes).map((x) => -x), buttons, id: pad.id };
      }
      return { gamepad: "", axes: [], buttons: [], id: `${pad.id}: ${tr("layout unknown: map it in the tab Drive")}` };
    }
    return { gamepad: "", axes: [], buttons: [], id: "" };
  }

  // Says why a gamepad that is used moves nothing: a stick that has left where it rested.
  hintOf({ id, axes, buttons }) {
    const now = [...axes, ...(wire.mine ? [] : buttons)];
    if (id !== this.pad || now.length !== this.rest.length) [this.pad, this.rest] = [id, now];
    const moved = now.findIndex((x, i) => Math.abs(x - this.rest[i]) > MOVED);
    if (moved < 0) return;
    this.rest = now;
    this.hint(PAD_AXES[moved]);
  }

  // Sends what is held at once where it has changed.
  look() {
    if (!wire.mine || document.hidden) return;
    const pad = firstPad();
    const held = [...this.keys, ...Object.values(this.screen).concat(pad?.axes ?? []).map((x) => Math.round(x / TREMBLE)), ...pad?.buttons.map((b) => b.pressed) ?? []].join();
    if (held === this.held) return;
    this.held = held;
    this.beat();
  }

  beat() {
    const found = this.gamepad(), { id, ...pad } = found;
    this.hintOf(found);
    const told = document.querySelector("[data-gamepad]");
    const name = id || tr("none; press one of its buttons");
    if (told && told.textContent !== name) told.textContent = name;
    if (wire.page) this.worker.postMessage({ alive: wire.mine && !document.hidden, address: wire.address("alive") });
    if (!wire.mine || document.hidden) {
      if (wire.mine && !this.hidden) { // once, so that nothing stays held
        this.hidden = true;
        wire.send("hands", { sticks: AXES.map(() => 0) });
      }
      return;
    }
    this.hidden = false;
    const first = firstPad(), map = this.ownMap(first);
    if (map) this.pressOwn(first, map);
    wire.send("hands", { sticks: this.efforts(), ...pad });
  }
}

let hands = null;

// The hands of the page, which are made once.
export function operatorHands() { return hands ??= new Hands(); }
