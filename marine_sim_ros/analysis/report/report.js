// Copyright 2026 The marine_sim_ros authors
// SPDX-License-Identifier: Apache-2.0
'use strict';
(() => {
  const page = JSON.parse(document.getElementById('charts').textContent);
  const dark = matchMedia('(prefers-color-scheme: dark)');
  const drawn = new Set();
  let chosen = null;

  const theme = () => chosen || (dark.matches ? 'dark' : 'light');

  // Colours are names such as "@blue" until they are drawn.
  function themed(value) {
    if (typeof value === 'string' && value[0] === '@') return page.themes[theme()][value.slice(1)];
    if (Array.isArray(value)) return typeof value[0] === 'object' ? value.map(themed) : value;
    if (value && typeof value === 'object') {
      return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, themed(v)]));
    }
    return value;
  }

  function layout(chart) {
    return themed({
      font: { color: '@ink', size: 13, family: "system-ui, 'Segoe UI', 'DejaVu Sans', sans-serif" },
      paper_bgcolor: '@paper', plot_bgcolor: '@paper',
      margin: { l: 62, r: 12, t: 34, b: 42 },
      hoverlabel: { bgcolor: '@paper', font: { color: '@ink' } },
      modebar: { bgcolor: 'rgba(0,0,0,0)', color: '@soft', activecolor: '@ink' },
      uirevision: 'kept',
      ...chart.layout,
      legend: { orientation: 'h', x: 0, xanchor: 'left', yref: 'container', y: 1, yanchor: 'top',
        font: { size: 13 }, bgcolor: 'rgba(0,0,0,0)', ...chart.layout.legend },
    });
  }

  // What is recorded stays on this machine: no button sends it anywhere.
  async function draw(chart) {
    const box = document.getElementById(chart.key);
    const config = { responsive: true, displaylogo: false, showSendToCloud: false, plotlyServerURL: '',
      showLink: false, modeBarButtonsToRemove: ['select2d', 'lasso2d'] };
    await Plotly.react(box, themed(chart.data), layout(chart), config);
    drawn.add(chart);
    box.dataset.points = box.data.reduce((n, t) => n + Math.min(
      t.x.filter((v) => v !== null).length, t.y.filter((v) => v !== null).length), 0);
  }

  async function drawAll() {
    for (const chart of page.charts) if (!drawn.has(chart)) await draw(chart);
    document.body.dataset.drawn = drawn.size;
  }

  async function restyle() {
    document.documentElement.dataset.theme = theme();
    for (const chart of drawn) await draw(chart);
  }

  document.documentElement.dataset.theme = theme();
  dark.addEventListener('change', restyle);
  document.getElementById('theme').addEventListener('click', () => {
    chosen = theme() === 'dark' ? 'light' : 'dark';
    restyle();
  });
  addEventListener('beforeprint', drawAll);
  if (location.search === '?dark' || location.search === '?light') chosen = location.search.slice(1);
  document.documentElement.dataset.theme = theme();

  if (location.hash === '#all') {
    drawAll();
  } else {
    const near = new IntersectionObserver((entries) => {
      for (const entry of entries) {
        if (!entry.isIntersecting) continue;
        near.unobserve(entry.target);
        draw(page.charts.find((c) => c.key === entry.target.id));
      }
    }, { rootMargin: '600px' });
    for (const chart of page.charts) near.observe(document.getElementById(chart.key));
  }
})();
