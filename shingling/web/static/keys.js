// Keys for what the pages offer: an element with data-key is clicked, or focused if it is a field.
"use strict";

const SETTING = "dedup-keys";

function keysAreOn() {
  try {
    return localStorage.getItem(SETTING) !== "off";
  } catch {
    return true;
  }
}

function isField(element) {
  return element.matches("input:not([type=checkbox]), select, textarea");
}

function moveRow(step) {
  const rows = [...document.querySelectorAll("a.row")];
  if (rows.length === 0) return;
  const here = rows.indexOf(document.activeElement);
  const next = here < 0 ? (step > 0 ? 0 : rows.length - 1) : here + step;
  rows[Math.min(Math.max(next, 0), rows.length - 1)].focus();
}

// The next row of a pair that differs, below the one that was shown last; after the last, the first.
function showDifference() {
  const rows = [...document.querySelectorAll(".differs")];
  if (rows.length === 0) return;
  const next = rows[(rows.indexOf(document.activeElement) + 1) % rows.length];
  next.focus({ preventScroll: true });
  next.scrollIntoView({ block: "center" });
}

function tickRow() {
  document.activeElement.closest("tr")?.querySelector("input[type=checkbox]")?.click();
}

const ACTIONS = { j: () => moveRow(1), k: () => moveRow(-1), x: showDifference, v: tickRow };

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.altKey || event.metaKey || event.isComposing) return;
  const target = event.target;
  if (target instanceof Element && isField(target)) {
    if (event.key === "Escape") target.blur();
    return;
  }
  if (!keysAreOn()) return;
  if (event.key in ACTIONS) {
    ACTIONS[event.key]();
    event.preventDefault();
    return;
  }
  if (event.repeat) return;
  const asked = document.querySelector(`[data-key="${CSS.escape(event.key)}"]`);
  if (asked === null) return;
  event.preventDefault();
  if (isField(asked)) asked.focus();
  else asked.click();
});

const setting = document.getElementById("keys-on");
setting.checked = keysAreOn();
setting.addEventListener("change", () => {
  try {
    localStorage.setItem(SETTING, setting.checked ? "on" : "off");
  } catch {
    // Nothing is kept if the browser forbids it.
  }
});

// On a phone, a pair begins with its words.
if (matchMedia("(max-width: 40rem)").matches) document.querySelector(".numbers")?.removeAttribute("open");
