// Copyright 2026 The marine_sim_ros authors
// SPDX-License-Identifier: Apache-2.0
'use strict';
(() => {
  const page = JSON.parse(document.getElementById('charts').textContent);
  const dark = matchMedia('(prefers-color-scheme: dark)');
  const narrow = matchMedia('(max-width: 600px)');
  const drawn = new Set();
  let chosen = null;
  let printing = false;

  const theme = () => (printing ? 'light' : chosen || (dark.matches ? 'dark' : 'light'));

  // Colours are names such as "@blue" until they are drawn.
  function themed(value, colours = page.themes[theme()]) {
    const inner = (v) => themed(v, colours);
    if (typeof value === 'string' && value[0] === '@') return colours[value.slice(1)];
    if (Array.isArray(value)) return typeof value[0] === 'object' ? value.map(inner) : value;
    if (value && typeof value === 'object') {
      return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, inner(v)]));
    }
    return value;
  }

  // On a narrow page the panels of all columns stand below one another, as high as before.
  function stacked(given) {
    const names = Object.keys(given).filter((k) => /^yaxis\d*$/.test(k));
    const across = (name) => `x${name.slice(1)}`;
    const columns = new Set(names.map((n) => given[across(n)].domain?.[0])).size;
    if (columns < 2 || !narrow.matches || printing) return given;
    const row = (given.height - 90) / Math.ceil(names.length / columns);
    const height = names.length * row + 90;
    const gap = 26 / height;
    const inner = (1 - gap * (names.length - 1)) / names.length;
    const result = { ...given, height };
    names.forEach((name, i) => {
      const top = 1 - i * (inner + gap);
      const last = i === names.length - 1;
      result[name] = { ...given[name], domain: [Math.max(0, top - inner), top] };
      result[across(name)] = { ...given[across(name)], domain: [0, 1], showticklabels: last,
        title: last ? given[across(name)].title : undefined };
    });
    if (given.legend) result.legend = { ...given.legend, y: 1 - 30 / height };
    return result;
  }

  function layout(chart, colours) {
    const shown = stacked(chart.layout);
    return themed({
      font: { color: '@ink', size: 13, family: "system-ui, 'Segoe UI', 'DejaVu Sans', sans-serif" },
      paper_bgcolor: '@paper', plot_bgcolor: '@paper',
      margin: { l: 62, r: 12, t: 34, b: 42 },
      hoverlabel: { bgcolor: '@paper', font: { color: '@ink' } },
      modebar: { bgcolor: 'rgba(0,0,0,0)', color: '@soft', activecolor: '@ink' },
      uirevision: 'kept',
      ...shown,
      legend: { orientation: 'h', x: 0, xanchor: 'left', yref: 'container', y: 1, yanchor: 'top',
        font: { size: 13 }, bgcolor: 'rgba(0,0,0,0)', ...shown.legend },
    }, colours);
  }

  // What is recorded stays on this machine: no button sends it anywhere.
  async function draw(chart) {
    const box = document.getElementById(chart.key);
    const config = { responsive: true, displaylogo: false, showSendToCloud: false, plotlyServerURL: '',
      showLink: false, modeBarButtonsToRemove: ['select2d', 'lasso2d'] };
    const shown = layout(chart);
    box.style.height = `${shown.height}px`;
    await Plotly.react(box, themed(chart.data), shown, config);
    if (chart.layout.scene) {
      if (!drawn.has(chart)) box.on('plotly_relayout', () => keepPicture(chart, box));
      await keepPicture(chart, box);
    }
    drawn.add(chart);
    box.dataset.points = box.data.reduce((n, t) => n + Math.min(
      t.x.filter((v) => v !== null).length, t.y.filter((v) => v !== null).length), 0);
  }

  // Browsers leave WebGL out of what they print: a picture stands for a chart in space, as it is turned.
  async function keepPicture(chart, box) {
    const { light } = page.themes;
    const figure = { data: themed(chart.data, light), layout: layout(chart, light) };
    const { camera } = box.layout.scene;
    figure.layout.scene = { ...figure.layout.scene, ...(camera && { camera }) };
    const size = { width: box.clientWidth, height: box.clientHeight };
    let picture = box.nextElementSibling;
    if (!picture) {
      picture = Object.assign(document.createElement('img'), { className: 'printed', alt: '' });
      box.after(picture);
    }
    picture.src = await Plotly.toImage(figure, { format: 'png', scale: 2, ...size });
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
  narrow.addEventListener('change', restyle);
  document.getElementById('theme').addEventListener('click', () => {
    chosen = theme() === 'dark' ? 'light' : 'dark';
    restyle();
  });
  async function print(on) {
    printing = on;
    await restyle();
    if (on) await drawAll();
  }
  addEventListener('beforeprint', () => print(true));
  addEventListener('afterprint', () => print(false));
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
    // The others are drawn bit by bit, because printing does not wait for them.
    const idle = window.requestIdleCallback ?? ((use) => setTimeout(use, 200));
    const drawNext = async () => {
      const next = page.charts.find((chart) => !drawn.has(chart));
      if (!next) return;
      await draw(next);
      idle(drawNext);
    };
    idle(drawNext);
  }
})();
