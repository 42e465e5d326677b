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
