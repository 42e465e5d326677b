// Copies the line for settings.py, and shows how far a dry run or an audit is.
"use strict";

const EVERY = 1000; // milliseconds
const copy = document.getElementById("copy");
if (copy !== null) copy.hidden = false;
copy?.addEventListener("click", async () => {
  await navigator.clipboard.writeText(document.getElementById("line").textContent);
  document.getElementById("copied").textContent = "Copied.";
});

if (document.getElementById("running") !== null) setTimeout(() => location.reload(), EVERY);

// The line of the histogram: a slider that says at once what lies below it, beside the field.
const slide = document.getElementById("slide");
const typed = document.getElementById("threshold");
if (slide !== null) {
  const below = slide.dataset.below.split(" ").map(Number);
  const present = Number(slide.getAttribute("value"));
  const show = () => {
    const at = Number(slide.value);
    const [now, then] = [present, at].map((value) => below[Math.floor(100 * value + 1e-9)]);
    document.getElementById("slid").textContent =
      at === present ? "At the present threshold. Drag the line, or move it by the arrow keys."
      : at > present ? `At ${at}, ${(then - now).toLocaleString("en")} of ${slide.dataset.all} near-duplicates would be kept, by the resemblances that are stored.`
      : `At ${at}, all near-duplicates stay; which pages would be new ones is not stored.`;
  };
  slide.hidden = false;
  slide.addEventListener("input", () => {
    if (typed !== null) typed.value = slide.value;
    show();
  });
  typed?.addEventListener("input", () => {
    slide.value = typed.value;
    show();
  });
  if (typed !== null) slide.value = typed.value;
  show();
}
