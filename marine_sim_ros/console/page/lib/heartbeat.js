// Copyright 2026 The marine_sim_ros authors
// SPDX-License-Identifier: Apache-2.0

// A worker: says that a page lives, and for how long its script has not got its turn. A page whose
// script is late is slow; a page of which nothing is heard is lost. It hears at once how the run
// ended, while a slow page still has a queue of frames to read, and closes its socket then.

const PERIOD = 100; // ms

let socket = null;
let ended = false;
let heard = null; // when the page's script last had its turn; null: it wants no signs of life

onmessage = ({ data }) => {
  heard = data.alive ? performance.now() : null;
  if (data.address && !socket) connect(data.address);
};

function connect(address) {
  socket = new WebSocket(address);
  socket.onmessage = ({ data }) => { ended = true; postMessage(JSON.parse(data)); socket.close(); };
  socket.onclose = () => { if (!ended) setTimeout(() => connect(address), 1000); };
}

setInterval(() => {
  if (heard === null || socket?.readyState !== WebSocket.OPEN) return;
  socket.send(JSON.stringify({ kind: "alive", value: (performance.now() - heard) / 1000 }));
}, PERIOD);
