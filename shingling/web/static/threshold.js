// Moving the slider shows the threshold without a press of the button; the button does the same.
"use strict";

const MOVED = "dedup-slider-moved";
const WAITED = 250; // milliseconds after the last step
const form = document.getElementById("threshold-form");

function isToldThat(name) {
  try {
    const told = sessionStorage.getItem(name) !== null;
    sessionStorage.removeItem(name);
    return told;
  } catch {
    return false;
  }
}

function tell(name) {
  try {
    sessionStorage.setItem(name, "yes");
  } catch {
    // The slider then has to be focused again.
  }
}

if (form !== null) {
  const slider = document.getElementById("slider");
  const number = document.getElementById("number");
  let waiting = 0;
  slider.removeAttribute("name"); // the number says it all
  form.elements.shown.disabled = true;
  slider.addEventListener("input", () => {
    number.value = slider.value;
  });
  slider.addEventListener("change", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => {
      tell(MOVED);
      form.requestSubmit();
    }, WAITED);
  });
  if (isToldThat(MOVED)) slider.focus({ preventScroll: true });

  const copy = document.getElementById("copy");
  copy.hidden = false;
  copy.addEventListener("click", async () => {
    await navigator.clipboard.writeText(document.getElementById("line").textContent);
    document.getElementById("copied").textContent = "Copied.";
  });
}
