//! What must hold of each page, whatever is in it.

use stationdb::serde_json::json;

use crate::driver::Browser;

/// Answers with what is wrong with the page: it is wider than the window; texts of a picture or beside an
/// axis are cut, or over each other; a text has a contrast below 4.5; a control has no name, or the keyboard does not
/// reach it; a chart has no table.
const PROBLEMS: &str = r"
    const problems = [];
    const isShown = (element) => element.getClientRects().length > 0;
    const wide = document.documentElement.scrollWidth;
    if (wide > innerWidth + 1) { problems.push(`the page is ${wide} wide`); }

    for (const svg of Array.from(document.querySelectorAll('svg')).filter(isShown)) {
      const name = svg.getAttribute('aria-label');
      if (!name) { problems.push('a picture has no name'); }
      const all = svg.getBoundingClientRect();
      const texts = Array.from(svg.querySelectorAll('text'), (text) => [text.textContent, text.getBoundingClientRect()]);
      texts.forEach(([text, box], at) => {
        if (box.left < all.left - 1 || box.right > all.right + 1 || box.top < all.top - 2 || box.bottom > all.bottom + 2) {
          problems.push(`${name}: cut: ${text}`);
        }
        for (const [other, there] of texts.slice(0, at)) {
          const width = Math.min(box.right, there.right) - Math.max(box.left, there.left);
          const height = Math.min(box.bottom, there.bottom) - Math.max(box.top, there.top);
          if (width > 1 && height > 4) { problems.push(`${name}: over each other: ${text}, ${other}`); }
        }
      });
    }

    // The texts beside the axes that scripts draw have their room, less the ticks and a space.
    for (const chart of stationdb.waveforms.flatMap((waveform) => waveform.charts)) {
      const { ctx, bbox, axes } = chart.plot;
      ctx.save();
      ctx.font = 12 * devicePixelRatio + 'px system-ui, sans-serif';
      for (const text of axes[1].values()) {
        if (ctx.measureText(text).width > bbox.left - 15 * devicePixelRatio) { problems.push(`cut beside the axis: ${text}`); }
      }
      ctx.restore();
    }

    const rgb = (colour) => colour.match(/[\d.]+/g).map(Number);
    const light = (colour) => rgb(colour).slice(0, 3).map((v) => v / 255)
      .map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
      .reduce((sum, v, at) => sum + v * [0.2126, 0.7152, 0.0722][at], 0);
    const paper = (element) => {
      for (let at = element; at; at = at.parentElement) {
        const colour = getComputedStyle(at).backgroundColor;
        const parts = rgb(colour);
        if (parts.length < 4 || parts[3] > 0) { return colour; }
      }
      return 'rgb(255, 255, 255)';
    };
    const hasText = (element) => Array.from(element.childNodes).some((node) => node.nodeType === 3 && node.data.trim());
    const pairs = new Map();
    const visible = Array.from(document.querySelectorAll('body *')).slice(0, 4000).filter(hasText).filter(isShown);
    for (const element of visible) {
      const style = getComputedStyle(element);
      const pair = (element.namespaceURI.endsWith('svg') ? style.fill : style.color) + ' on ' + paper(element);
      pairs.set(pair, element.textContent.slice(0, 40));
    }
    for (const [pair, text] of pairs) {
      const [a, b] = pair.split(' on ').map(light).sort((x, y) => y - x);
      if ((a + 0.05) / (b + 0.05) < 4.5) { problems.push(`${pair}: ${text}`); }
    }

    // The colours that scripts draw with.
    const colour = (name) => stationdb.colours.of(name).match(/[0-9a-f]{2}/g).map((part) => parseInt(part, 16)).join(' ');
    const drawn = ['limit', 'cursor', 'mark', 'curve-1', 'curve-2', 'curve-3', 'curve-4', 'curve-5', 'curve-6'];
    for (const name of drawn) {
      const [a, b] = [colour(name), colour('paper')].map(light).sort((x, y) => y - x);
      if ((a + 0.05) / (b + 0.05) < 4.5) { problems.push(name + ' is hard to see'); }
    }

    for (const control of document.querySelectorAll('button, summary, [tabindex]')) {
      if (!(control.textContent.trim() || control.getAttribute('aria-label')) || control.tabIndex < 0) {
        problems.push('a control without a name: ' + control.outerHTML.slice(0, 80));
      }
    }
    for (const figure of document.querySelectorAll('main figure')) {
      if (figure.closest('.pictures')) { continue; }
      let next = figure.nextElementSibling;
      while (next && !/^H\d$/.test(next.tagName) && !next.querySelector('table, summary')) { next = next.nextElementSibling; }
      if (!next || /^H\d$/.test(next.tagName)) { problems.push('no table: ' + figure.textContent.slice(0, 60)); }
    }
    return problems.slice(0, 20);";

/// Asserts that nothing is wrong with the page in light and in dark.
#[track_caller]
pub fn is_laid_out_well(browser: &Browser, page: &str) {
    for theme in ["dark", "light"] {
        browser.run(&format!("stationdb.colours.set('{theme}')"));
        let problems = browser.run(PROBLEMS);
        assert_eq!(problems, json!([]), "{:?}: {page}, {theme}", browser.engine);
    }
}
