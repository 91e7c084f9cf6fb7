// Copyright 2026 The marine_sim_ros authors
// SPDX-License-Identifier: Apache-2.0

// Sounds of the cockpit, which its pilot switches on: thrusters by their power, and an alarm.

import { metered, tr, wire } from "./connection.js";

const KEPT = "marine_sim sound"; // in the storage of the browser
const FULL_POWER = 1000, FULL_THRUST = 300; // W, and N where no power is known, at which thrusters are loudest
const LOUDEST = 0.3, ALARM = 0.25; // gains
const HUM = [50, 170]; // Hz of still thrusters, and of the loudest
const HELD = 1; // s that a frame counts: after that the page is cut off, or a replay stands
const LOW = 0.25; // share of a battery's voltage between empty and full
const TONES = { leak: [[880, 660, 880, 660], 2], battery: [[660, 660], 6], failed: [[440, 330], 0] };
// Frequencies in Hz of the tones of 0.15 s, and s after which they are heard again; 0: once.
const TONE = 0.15; // s

// Loudness of all thrusters, 0 to 1: the root of their power as a share of a high one.
export function loudness(frame, look) {
  const sum = (values) => values.reduce((total, x) => total + Math.abs(x ?? 0), 0);
  const share = metered(look, frame) ? sum(frame.power) / FULL_POWER : (sum(frame.thrust) / FULL_THRUST) ** 1.5;
  return frame.paused ? 0 : Math.sqrt(Math.min(1, share));
}

// Whether the voltage is in the lowest part of what the battery of the run has.
function low({ health, mode }) {
  const battery = (mode?.faults ?? []).find(({ kind }) => kind === "battery"), voltage = Number(health?.voltage);
  return Boolean(battery) && voltage > 0 && voltage < battery.empty + LOW * (battery.voltage - battery.empty);
}

// Failed tasks, and penalties that cost points.
const failures = ({ mission }) => (mission?.tasks ?? []).filter(({ state }) => state === "failed").length
  + (mission?.penalties ?? []).filter(({ points }) => points > 0).length;

// The most urgent alarm of a frame after another one: "leak", "battery", "failed" or none.
export function alarmOf(frame, before) {
  if (frame.leak === true) return "leak";
  if (low(frame)) return "battery";
  return before && failures(frame) > failures(before) ? "failed" : "";
}

export class Sounds {
  constructor(element) {
    this.button = document.createElement("button");
    this.button.type = "button";
    this.button.className = "q-icon material-icons notranslate";
    element.append(this.button);
    this.on = localStorage.getItem(KEPT) === "on";
    this.heard = {};
    this.button.addEventListener("click", () => this.turn(!this.on));
    for (const name of ["pointerdown", "keydown"]) addEventListener(name, () => this.on && this.start()); // browsers let nothing sound before
    wire.on("scenery", () => this.label());
    wire.on("frame", (frame) => this.hear(frame));
    this.label();
  }

  label() {
    this.button.textContent = this.on ? "volume_up" : "volume_off";
    this.button.setAttribute("aria-pressed", this.on);
    this.button.setAttribute("aria-label", tr("Sounds"));
    this.button.title = tr("Sounds of thrusters and alarms");
  }

  turn(on) {
    this.on = on;
    localStorage.setItem(KEPT, on ? "on" : "off");
    this.label();
    if (on) this.start();
    else this.context?.suspend();
  }

  start() {
    if (!this.context) this.build();
    if (this.context.state !== "running") this.context.resume();
  }

  // Noise of the water and hum of the motors, both duller where thrusters are slow.
  build() {
    const context = this.context = new AudioContext();
    const samples = context.createBuffer(1, 2 * context.sampleRate, context.sampleRate), data = samples.getChannelData(0);
    for (let i = 0; i < data.length; i++) data[i] = 2 * Math.random() - 1;
    const noise = new AudioBufferSourceNode(context, { buffer: samples, loop: true });
    this.hum = new OscillatorNode(context, { type: "sawtooth", frequency: HUM[0] });
    this.dull = new BiquadFilterNode(context, { type: "lowpass", frequency: 200 });
    this.gain = new GainNode(context, { gain: 0 });
    const share = new GainNode(context, { gain: 0.35 });
    noise.connect(this.dull);
    this.hum.connect(share).connect(this.dull).connect(this.gain).connect(context.destination);
    noise.start();
    this.hum.start();
  }

  hear(frame) {
    const before = this.before;
    this.before = frame;
    if (!this.on || this.context?.state !== "running") return;
    const loud = loudness(frame, wire.scenery.look), now = this.context.currentTime;
    this.gain.gain.cancelScheduledValues(now);
    this.gain.gain.setTargetAtTime(LOUDEST * loud, now, 0.08);
    this.gain.gain.setTargetAtTime(0, now + HELD, 0.2);
    this.hum.frequency.setTargetAtTime(HUM[0] + (HUM[1] - HUM[0]) * loud, now, 0.08);
    this.dull.frequency.setTargetAtTime(200 + 900 * loud, now, 0.08);
    const alarm = frame.time < (before?.time ?? 0) ? "" : alarmOf(frame, before);
    if (alarm) this.warn(alarm, now);
  }

  warn(alarm, now) {
    const [tones, again] = TONES[alarm];
    if (now < (this.heard[alarm] ?? -Infinity) + again) return;
    this.heard[alarm] = now;
    const gain = new GainNode(this.context, { gain: ALARM }), tone = new OscillatorNode(this.context, { type: "triangle" });
    tones.forEach((frequency, i) => tone.frequency.setValueAtTime(frequency, now + i * TONE));
    tone.connect(gain).connect(this.context.destination);
    tone.start(now);
    tone.stop(now + tones.length * TONE);
    this.button.dataset.alarm = alarm;
  }
}
