// Copyright 2026 The marine_sim_ros authors
// SPDX-License-Identifier: Apache-2.0

// Curves over a window of time: measured values, and set-points dashed.

import { echarts } from "nicegui-echart";
import { DEGREES, bowUp, heading, text, tr, visibility, wire } from "./connection.js";

const same = (x) => x, degrees = (x) => x * DEGREES;
const SETS = {
  position: { unit: "m", names: ["east", "north", "up"], key: "position", goals: 0, scale: same },
  attitude: { unit: "°", names: ["roll", "pitch, bow up", "heading"], key: "rpy", goals: 3, scale: (x, i) => [degrees, bowUp, heading][i](x) },
  velocity: { unit: "m/s", names: ["ahead", "port", "up"], key: "velocity", goals: 6, scale: same },
  rates: { unit: "°/s", names: ["roll rate", "pitch rate, bow up", "yaw rate, to port"], key: "rates", goals: 9, scale: (x, i) => (i === 1 ? bowUp : degrees)(x) },
};
const COLOURS = ["#2f8fe0", "#e07b2f", "#3faf5a"];
const MOST = 4000; // frames
const LONGEST = 300; // s that a window may have
const FINE = 30, APART = [0.02, 0.2]; // s; so far apart are frames that are younger, and older
const PERIOD = 250, FRUGAL = 1000; // ms between drawings, and where the processor draws

export class Curves {
  constructor(element) {
    this.element = element;
    this.chart = echarts.init(element, null, { renderer: "canvas" });
    this.past = [];
    this.set = "position";
    this.window = 30;
    this.due = 0;
    this.seen = visibility(element);
    new ResizeObserver(() => this.chart.resize()).observe(element);
    new MutationObserver(() => this.draw()).observe(document.body, { attributes: true, attributeFilter: ["class"] });
    wire.on("history", (past) => { this.past = past.slice(); this.draw(); });
    wire.on("frame", (frame) => this.add(frame));
    this.draw();
  }

  choose(set) { this.set = set; this.draw(); }

  span(seconds) {
    this.window = seconds;
    if (wire.replay && wire.frame) wire.seek(wire.time, seconds);
    this.draw();
  }

  add(frame) {
    if (!frame.position) return;
    if (!wire.replay) {
      const last = this.past.at(-1);
      if (last && frame.time < last.time) this.past = [];
      if (!last || frame.time < last.time || frame.time >= last.time + APART[0]) this.keep(frame);
    }
    const now = performance.now();
    if (now < this.due || !this.seen()) return;
    this.due = now + (document.body.dataset.slow === "true" ? FRUGAL : PERIOD);
    this.draw();
  }

  keep({ time, position, rpy, velocity, rates, setpoints }) {
    this.past.push({ time, position, rpy, velocity, rates, setpoints });
    if (this.past.length <= MOST) return;
    let last = -Infinity;
    this.past = this.past.filter((frame) => {
      const old = frame.time < time - FINE;
      const kept = frame.time > time - LONGEST && (!old || frame.time >= last + APART[1]);
      if (kept) last = frame.time;
      return kept;
    });
  }

  draw() {
    const { unit, names, key, goals, scale } = SETS[this.set];
    const now = wire.frame?.time ?? this.past.at(-1)?.time ?? 0;
    const end = wire.replay ? Math.max(now, Math.min(this.window, wire.scenery?.end ?? 0)) : now;
    const shown = this.past.filter((m) => m.time >= end - this.window && m.time <= end);
    const ink = getComputedStyle(this.element).color;
    const series = [];
    const words = names.map(tr);
    words.forEach((name, i) => {
      const line = { type: "line", name, showSymbol: false, lineStyle: { width: 2, color: COLOURS[i] }, color: COLOURS[i] };
      series.push({ ...line, data: points(shown, (m) => m[key]?.[i], (x) => scale(x, i)) });
      series.push({
        ...line, name: `${name}: ${tr("set-point")}`, lineStyle: { width: 1.5, type: "dashed", color: COLOURS[i] },
        data: points(shown, (m) => m.setpoints?.[goals + i], (x) => scale(x, i)),
      });
    });
    series[0].markLine = {
      data: end > now ? [{ xAxis: now }] : [], symbol: "none", silent: true, label: { show: false }, lineStyle: { color: ink, type: "solid" },
    };
    this.element.dataset.points = shown.length;
    this.element.dataset.setpoints = names.filter((_, i) => shown.some((m) => m.setpoints?.[goals + i] != null)).join(" ");
    this.chart.setOption({
      animation: false,
      textStyle: { color: ink },
      grid: { left: 52, right: 14, top: 30, bottom: 24 },
      legend: { data: words, top: 0, textStyle: { color: ink }, icon: "roundRect", itemHeight: 4 },
      tooltip: { trigger: "axis", confine: true, valueFormatter: (v) => (v === null || v === undefined ? "free" : `${text(Number(v), 3)} ${unit}`) },
      xAxis: {
        type: "value", min: Math.max(0, end - this.window), max: Math.max(end, 1), axisLabel: { color: ink, formatter: (v) => `${Number(v.toFixed(1))} s`, showMinLabel: false, showMaxLabel: false },
        splitLine: { show: false }, axisLine: { onZero: false },
      },
      yAxis: {
        type: "value", scale: true, splitNumber: Math.min(5, Math.max(2, Math.round(this.element.clientHeight / 40))), name: unit, nameTextStyle: { color: ink, align: "right" },
        axisLabel: { color: ink, hideOverlap: true, formatter: (v) => `${Number(v.toFixed(6))}`.replace("-", "−") }, splitLine: { lineStyle: { opacity: 0.25 } }, minInterval: 0.01,
      },
      series,
    });
  }
}

// Times and values; a gap where none is known, and where a heading goes from 360 to 0.
function points(frames, pick, scale) {
  const found = [];
  for (const frame of frames) {
    const raw = pick(frame), value = raw === null || raw === undefined ? null : scale(raw);
    const last = found.at(-1)?.[1] ?? null;
    if (value !== null && last !== null && Math.abs(value - last) > 180) found.push([frame.time, null]);
    found.push([frame.time, value]);
  }
  return found;
}
