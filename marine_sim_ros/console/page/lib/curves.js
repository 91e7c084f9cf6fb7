// Copyright 2026 The marine_sim_ros authors
// SPDX-License-Identifier: Apache-2.0

// Curves over a window of time: what is, and dashed what is wanted.

import { echarts } from "nicegui-echart";
import { DEGREES, wire } from "./wire.js";

const same = (x) => x, degrees = (x) => x * DEGREES;
const SETS = {
  position: { unit: "m", names: ["east", "north", "up"], key: "position", goals: 0, scale: same },
  attitude: { unit: "°", names: ["roll", "pitch", "yaw"], key: "rpy", goals: 3, scale: degrees },
  velocity: { unit: "m/s", names: ["ahead", "port", "up"], key: "velocity", goals: 6, scale: same },
  rates: { unit: "°/s", names: ["roll rate", "pitch rate", "yaw rate"], key: "rates", goals: 9, scale: degrees },
};
const COLOURS = ["#2f8fe0", "#e07b2f", "#3faf5a"];
const MOST = 4000;
const PERIOD = 250; // ms between drawings

export class Curves {
  constructor(element) {
    this.element = element;
    this.chart = echarts.init(element, null, { renderer: "canvas" });
    this.past = [];
    this.set = "position";
    this.window = 30;
    this.due = 0;
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
      if (!last || frame.time > last.time) this.past.push(frame);
      if (this.past.length > MOST) this.past.splice(0, MOST / 4);
    }
    const now = performance.now();
    if (now < this.due || !this.element.offsetParent) return;
    this.due = now + PERIOD;
    this.draw();
  }

  draw() {
    const { unit, names, key, goals, scale } = SETS[this.set];
    const end = wire.frame?.time ?? this.past.at(-1)?.time ?? 0;
    const shown = this.past.filter((m) => m.time >= end - this.window && m.time <= end);
    const ink = getComputedStyle(this.element).color;
    const series = [];
    names.forEach((name, i) => {
      const line = { type: "line", name, showSymbol: false, lineStyle: { width: 2, color: COLOURS[i] }, color: COLOURS[i], animation: false };
      series.push({ ...line, data: shown.map((m) => [m.time, known(m[key]?.[i], scale)]) });
      series.push({
        ...line, name: `${name} wanted`, lineStyle: { width: 1.5, type: "dashed", color: COLOURS[i] },
        data: shown.map((m) => [m.time, known(m.setpoints?.[goals + i], scale)]),
      });
    });
    this.points = shown.length;
    this.element.dataset.points = shown.length;
    this.element.dataset.wanted = names.filter((_, i) => shown.some((m) => m.setpoints?.[goals + i] != null)).join(" ");
    this.chart.setOption({
      textStyle: { color: ink },
      grid: { left: 52, right: 14, top: 30, bottom: 24 },
      legend: { data: names, top: 0, textStyle: { color: ink }, icon: "roundRect", itemHeight: 4 },
      tooltip: { trigger: "axis", valueFormatter: (v) => (v === null || v === undefined ? "free" : `${Number(v).toFixed(3)} ${unit}`) },
      xAxis: {
        type: "value", min: Math.max(0, end - this.window), max: Math.max(end, 1), axisLabel: { color: ink, formatter: (v) => `${Number(v.toFixed(1))} s`, showMinLabel: false, showMaxLabel: false },
        splitLine: { show: false },
      },
      yAxis: {
        type: "value", scale: true, name: unit, nameTextStyle: { color: ink, align: "right" },
        axisLabel: { color: ink, hideOverlap: true }, splitLine: { lineStyle: { opacity: 0.25 } }, minInterval: 0.01,
      },
      series,
    });
  }
}

function known(value, scale) {
  return value === null || value === undefined ? null : scale(value);
}
