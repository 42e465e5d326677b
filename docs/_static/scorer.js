// How search results are ordered: a setting, and then a how-to, before what mentions the word.
var Scorer = {
  score: ([docname, , anchor, , score]) => {
    if (docname === "reference/settings" && anchor.startsWith("#dedup")) return score + 200;
    if (docname.startsWith("howto/") && score >= Scorer.title) return score + 100;
    return score;
  },
  // What follows are the values of Sphinx.
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
