# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Whether a page in a browser can be read and used: contrast, sizes, names, units, focus."""

import re
from pathlib import Path

UNITS = re.compile(
    r'[−\d.,]+ ?(m|m/s|°|°/s|s|N|W|Wh|J|kPa|V|µs|rpm|%|Pa/s|Ω|MB'
    r'|turns|Umdrehungen|vueltas|回転|圈)$|^× [\d.]+$|^\d{3}°$|^[^\d]*$'
)
COUNTS = ('ticks', 'outages')

# Contrast as WCAG 2 has it: of what is not disabled, the colours of the text and of what is
# behind it, with all that lets through what is below.
SCRIPT = r"""() => {
  const parse = (text) => {
    const [, kind, inside] = text.match(/^(rgba?|color)\((?:srgb )?([^)]+)\)/);
    const [r, g, b, alpha = 1] = inside.split(/[ ,/]+/).map(Number);
    return [...[r, g, b].map((x) => (kind === "color" ? x : x / 255)), alpha];
  };
  const over = (a, b) => [0, 1, 2].map((i) => a[i] * a[3] + b[i] * (1 - a[3])).concat(1);
  const light = ([r, g, b]) => [r, g, b]
    .map((x) => (x <= 0.03928 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4))
    .reduce((sum, x, i) => sum + x * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = (element) => {
    const layers = [];
    for (let e = element; e; e = e.parentElement) {
      layers.push(parse(getComputedStyle(e).backgroundColor));
    }
    return layers.reverse().reduce((below, layer) => over(layer, below), [1, 1, 1, 1]);
  };
  const seen = (e) => {
    const box = e.getBoundingClientRect();
    const shown = e.checkVisibility({ opacityProperty: true, visibilityProperty: true });
    return box.width && box.height && shown ? box : null;
  };
  // What is left of a box within the lists that scroll it.
  const clipped = (e, box) => {
    let { left, right, top, bottom } = box;
    for (let p = e.parentElement; p; p = p.parentElement) {
      if (getComputedStyle(p).overflow === "visible") continue;
      const edge = p.getBoundingClientRect();
      [left, right] = [Math.max(left, edge.left), Math.min(right, edge.right)];
      [top, bottom] = [Math.max(top, edge.top), Math.min(bottom, edge.bottom)];
    }
    return { left, right, top, bottom };
  };
  // Lines of text, each less the space around it; those that an element cuts, unless a title has
  // the whole or an arrow moves the tabs; pairs that cross.
  const quiet = "[disabled], .disabled, .q-field--disabled, .stick, svg, .q-icon";
  const whole = "[title], .q-tab:not(.q-tab--active)";
  const lines = [], cut = [], crossing = [];
  const AXES = [["X", "left", "right"], ["Y", "top", "bottom"]];
  const collect = (node, element, text) => {
    const range = document.createRange();
    range.selectNodeContents(node);
    for (const box of range.getClientRects()) {
      const { left, right } = box, top = box.top + 0.2 * box.height;
      const line = { element, text, left, right, top, bottom: top + 0.6 * box.height };
      let axes = AXES; // in which nothing scrolls it
      for (let p = element; p; p = p.parentElement) {
        const style = getComputedStyle(p), edge = p.getBoundingClientRect();
        if (style.position === "absolute" && style.clip !== "auto") return; // for screen readers
        const cuts = ([axis, from, to]) => ["hidden", "clip"].includes(style["overflow" + axis])
          && edge[to] > edge[from] && line[to] > edge[from] + 1 && line[from] < edge[to] - 1
          && (line[from] < edge[from] - 1 || line[to] > edge[to] + 1);
        if (axes.some(cuts) && !element.closest(whole)) cut.push(text);
        axes = axes.filter(([axis]) => !["auto", "scroll"].includes(style["overflow" + axis]));
        if (style.position === "fixed") break;
      }
      const shown = { ...line, ...clipped(element, line) };
      if (shown.right - shown.left > 1 && shown.bottom - shown.top > 1) lines.push(shown);
    }
  };
  // The bar that stays while the page scrolls below it, or null.
  const above = (e) => {
    while (e && !["sticky", "fixed"].includes(getComputedStyle(e).position)) e = e.parentElement;
    return e;
  };
  const top = ({ element, left, right, top, bottom }) => {
    const met = document.elementFromPoint((left + right) / 2, (top + bottom) / 2);
    return met && (element.contains(met) || met.contains(element));
  };
  const cross = () => lines.forEach((a, i) => {
    for (const b of lines.slice(i + 1)) {
      if (a.element === b.element || above(a.element) !== above(b.element)) continue;
      const across = Math.min(a.right, b.right) - Math.max(a.left, b.left);
      const down = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      if (across > 2 && down > 2 && (top(a) || top(b))) crossing.push([a.text, b.text]);
    }
  });
  // What fades in or out is faint for a moment.
  const fading = document.getAnimations().map(({ effect }) => effect)
    .filter((e) => e?.target && e.getComputedTiming().iterations !== Infinity)
    .map(({ target }) => target);
  const found = { faint: [], outside: [], controls: [], overlapping: [], unnamed: [] };
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const element = texts.currentNode.parentElement, text = texts.currentNode.textContent.trim();
    if (!text || ["SCRIPT", "STYLE"].includes(element.tagName) || !seen(element)) continue;
    const range = document.createRange();
    range.selectNodeContents(texts.currentNode);
    const box = range.getBoundingClientRect();
    const shown = clipped(element, box);
    if (shown.right > shown.left && (shown.left < -1 || shown.right > innerWidth + 1)) {
      found.outside.push(text);
    }
    if (!element.closest(".q-icon")) collect(texts.currentNode, element, text);
    if (fading.some((e) => e.contains(element))) continue;
    if (element.closest(quiet)) continue;
    const style = getComputedStyle(element), ground = behind(element), ink = parse(style.color);
    for (let e = element; e; e = e.parentElement) ink[3] *= Number(getComputedStyle(e).opacity);
    const [dim, bright] = [light(over(ink, ground)), light(ground)].sort((a, b) => a - b);
    const contrast = (bright + 0.05) / (dim + 0.05);
    if (contrast < 4.5) found.faint.push([text, Number(contrast.toFixed(2))]);
  }
  cross();
  Object.assign(found, { cut, crossing });
  const controls = ".q-tabs__arrow, button, [role=tab], [role=slider], input";
  const hot = [...document.querySelectorAll(controls)]
    .map((e) => [e, e.closest(".q-field") ?? e])
    .map(([e, whole]) => [e, whole, seen(whole)]).filter(([, , box]) => box);
  const name = (e) => e.getAttribute("aria-label") || e.textContent.trim()
    || e.labels?.[0]?.textContent.trim()
    || e.closest("[aria-label]")?.getAttribute("aria-label") || "";
  hot.forEach(([e, whole, box], i) => {
    if (e.matches(".q-tabs__arrow")) e.ariaLabel ??= "arrow";
    found.controls.push([name(e), Math.round(box.width), Math.round(box.height)]);
    if (!name(e)) found.unnamed.push(e.outerHTML.slice(0, 200));
    const here = clipped(whole, box);
    for (const [other, area, whole_of_other] of hot.slice(i + 1)) {
      if (whole === area || whole.contains(other) || area.contains(e)) continue;
      if (above(e) !== above(other)) continue;
      const there = clipped(area, whole_of_other);
      const across = Math.min(here.right, there.right) - Math.max(here.left, there.left);
      const down = Math.min(here.bottom, there.bottom) - Math.max(here.top, there.top);
      if (across > 1 && down > 1) found.overlapping.push([name(e), name(other)]);
    }
  });
  // Phones scroll the page.
  found.scrolls = innerWidth > 600 && document.scrollingElement.scrollHeight > innerHeight + 1;
  return found;
}"""


def check_readable(tab, finger=0):
    """Assert that a tab can be read, and that a finger of so many px meets its controls."""
    found = tab.evaluate(SCRIPT)
    assert found['controls']
    for fault in ('faint', 'outside', 'overlapping', 'unnamed', 'cut', 'crossing'):
        assert found[fault] == [], (fault, found[fault])
    assert not found['scrolls']
    assert [c for c in found['controls'] if min(c[1:]) < finger] == []
    for element in tab.locator('[data-show]').all():
        if element.get_attribute('data-show') not in COUNTS and not element.evaluate(
            "e => e.closest('table')"  # whose columns have the units
        ):
            text = element.inner_text()
            assert UNITS.search(text), text


def focused_by_tab(tab, most=150):
    """Return the names of what the tab key comes to, from the top until it is round."""
    tab.evaluate(
        """() => {
        document.body.tabIndex = -1;
        document.body.focus();
        document.body.removeAttribute('tabindex');
        window.reached = new Set();
        }"""
    )
    names = []
    for _ in range(most):
        tab.keyboard.press('Tab')
        name, ring, again = tab.evaluate(
            """() => {
            const e = document.activeElement, style = getComputedStyle(e);
            const again = window.reached.has(e), field = e.closest('.q-field, .q-slider, .q-tab');
            // The body has it twice where an element goes, or is disabled, while it has the focus.
            if (e !== document.body) window.reached.add(e);
            return [e.getAttribute('aria-label') || e.textContent.trim(),
                    e === document.body || style.outlineStyle !== 'none' || field !== null, again];
            }"""
        )
        if again:
            break
        assert ring, f'{name} does not show that it has the focus'
        names.append(name)
    return names


def check_accessible(tab):
    """Assert that axe-core finds no serious or critical fault in a tab, where it is installed."""
    try:
        import axe_core_python
    except ImportError:
        return
    script = Path(axe_core_python.__file__).with_name('axe.min.js').read_text(encoding='utf-8')
    tab.evaluate(script)
    found = tab.evaluate(
        "async () => (await axe.run(document, { resultTypes: ['violations'] })).violations"
    )
    serious = [
        (fault['id'], [node['html'][:200] for node in fault['nodes']])
        for fault in found
        if fault['impact'] in ('serious', 'critical')
    ]
    assert serious == [], serious
