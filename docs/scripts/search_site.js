// Copyright 2026 The marine_sim_ros authors
// SPDX-License-Identifier: Apache-2.0
// Searches the built site as the browser does, with its own worker, and prints JSON:
//     node docs/scripts/search_site.js build/site sonar "my own vehicle"
// {"sonar": ["reference/sensors.html", ...], ...}

const fs = require('fs');
const path = require('path');
const vm = require('vm');

const [site, ...queries] = process.argv.slice(2);
const folder = path.join(site, 'assets', 'javascripts', 'workers');
const worker = fs.readdirSync(folder).find((name) => /^search\..*\.js$/.test(name));
const index = JSON.parse(fs.readFileSync(path.join(site, 'search', 'search_index.json')));

let receive;
let answer;
const context = {
  console, addEventListener: (_, listener) => { receive = listener; }, postMessage: (m) => answer(m),
};
context.self = context;
vm.runInNewContext(fs.readFileSync(path.join(folder, worker), 'utf8'), context);
const ask = (type, data) => new Promise((done) => { answer = done; receive({ data: { type, data } }); });

(async () => {
  await ask(0, { ...index, options: { suggest: true } });
  const found = {};
  for (const query of queries) {
    const { data } = await ask(2, query);
    found[query] = data.items.slice(0, 5).map((group) => group[0].location.split('#')[0]);
  }
  console.log(JSON.stringify(found));
})();
