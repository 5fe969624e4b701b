"use strict";
// The page says everything without this: it only filters, folds, and moves from entry to entry by j and k.
document.documentElement.classList.add("scripted");
const body = document.body;
const shows = document.querySelectorAll("[data-show]");
for (const button of shows) {
  button.addEventListener("click", () => {
    for (const other of shows) {
      other.setAttribute("aria-pressed", String(other === button));
      body.classList.remove("only-" + other.dataset.show);
    }
    body.classList.add("only-" + button.dataset.show);
  });
}
for (const button of document.querySelectorAll("[data-fold]")) {
  button.addEventListener("click", () => {
    for (const fold of document.querySelectorAll("main details")) {
      fold.open = button.dataset.fold === "open";
    }
  });
}
document.addEventListener("keydown", (press) => {
  if (press.ctrlKey || press.metaKey || press.altKey || (press.key !== "j" && press.key !== "k")) return;
  const entries = [...document.querySelectorAll(".timeline>li:not(.gap)")].filter((entry) => entry.offsetParent);
  const here = entries.indexOf(document.activeElement.closest(".timeline>li"));
  const next = press.key === "j" ? here + 1 : Math.max(here, 1) - 1;
  if (entries[next]) {
    entries[next].focus({ preventScroll: true });
    entries[next].scrollIntoView({ block: "center" });
  }
});
