// Folds the steps on a screen, and opens them for paper.
const steps = {};

steps.start = function () {
  for (const step of document.querySelectorAll("details.step[data-folded]")) {
    step.open = false;
  }
  let opened = [];
  addEventListener("beforeprint", () => {
    const closed = Array.from(document.querySelectorAll("details.step:not([open])"));
    closed.forEach((step) => { step.open = true; });
    opened = opened.concat(closed);
  });
  addEventListener("afterprint", () => {
    opened.forEach((step) => { step.open = false; });
    opened = [];
  });
};
