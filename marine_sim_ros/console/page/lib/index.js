// Copyright 2026 The marine_sim_ros authors
// SPDX-License-Identifier: Apache-2.0

export { Chart } from "./chart.js";
export { wire } from "./connection.js";
export { View } from "./view.js";
export { Gauges } from "./gauges.js";
export { Curves } from "./curves.js";
export { Sensors } from "./sensors.js";
export { Sounds } from "./sound.js";
export { GamepadPage } from "./gamepad_page.js";
export { operatorHands } from "./operator_input.js";
