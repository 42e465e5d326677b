// What the theme lacks for people who use a keyboard or hear a page: names, and code and tables to scroll.
const NAMES = {
  ".sidebar-drawer": "Site",
  ".toc-drawer": "On this page",
  ".content-icon-container": "Source of this page",
};
for (const [places, name] of Object.entries(NAMES)) {
  for (const place of document.querySelectorAll(places)) {
    place.role = "region";
    place.ariaLabel = name;
  }
}

function focusWhatScrolls() {
  for (const part of document.querySelectorAll("pre, .table-wrapper")) {
    if (part.scrollWidth > part.clientWidth) part.tabIndex = 0;
  }
}

addEventListener("load", focusWhatScrolls);
addEventListener("resize", focusWhatScrolls);
