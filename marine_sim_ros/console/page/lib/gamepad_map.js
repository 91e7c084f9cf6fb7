// Copyright 2026 The marine_sim_ros authors
// SPDX-License-Identifier: Apache-2.0

// A pilot's own map of a gamepad: range of each axis, the motion that it commands, functions of buttons.

export const MOTIONS = ["surge", "sway", "heave", "roll", "pitch", "yaw"];
export const FUNCTIONS = ["stop", "arm", "disarm", "auto_depth", "auto_heading", "station_keeping"];
const DEAD_BAND = 0.08; // share of the range around the middle
const LEAST = 0.2; // least way of an axis to an end, else it has not been moved

// A map without any motion for a number of axes.
export function emptyMap(count) {
  const ranges = Array.from({ length: count }, () => ({ low: -1, middle: 0, high: 1 }));
  return { ranges, motions: {}, buttons: {} };
}

// The range after a calibration has seen one more value.
export function widen({ low, middle, high }, value) {
  return { low: Math.min(low, value), middle, high: Math.max(high, value) };
}

// Whether a calibration has seen enough of an axis on a side.
export function isRange({ low, middle, high }) {
  return [low, middle, high].every(Number.isFinite) && high - low >= LEAST && low <= middle && middle <= high;
}

// -1 to 1 of a raw value: 0 in the dead band around the middle, linear to each end.
export function effort(value, { low, middle, high }) {
  const way = value >= middle ? high - middle : middle - low;
  if (way < LEAST / 2 || !Number.isFinite(value)) return 0;
  const part = Math.min(1, Math.abs(value - middle) / way);
  return part <= DEAD_BAND ? 0 : Math.sign(value - middle) * (part - DEAD_BAND) / (1 - DEAD_BAND);
}

// Efforts of the six motions: sum of the axes that command each, within -1 to 1.
export function efforts(map, axes) {
  return MOTIONS.map((name) => {
    const { axis = -1, reversed = false } = map.motions[name] ?? {};
    if (!(axis in axes)) return 0;
    return effort(axes[axis], map.ranges[axis]) * (reversed ? -1 : 1);
  });
}

// A map from storage, or null of anything else: it may be of another version or of another hand.
export function readMap(text, count) {
  let found = null;
  try { found = JSON.parse(text); } catch { return null; }
  const { ranges, motions, buttons } = found ?? {};
  const whole = (x) => Number.isInteger(x) && x >= 0 && x < 64;
  const good = Array.isArray(ranges) && ranges.length === count && ranges.every((one) => one && isRange(one))
    && motions && typeof motions === "object" && buttons && typeof buttons === "object"
    && Object.entries(motions).every(([name, one]) => MOTIONS.includes(name) && whole(one?.axis) && typeof one.reversed === "boolean")
    && Object.entries(buttons).every(([name, one]) => FUNCTIONS.includes(name) && whole(one));
  return good ? { ranges, motions, buttons } : null;
}
