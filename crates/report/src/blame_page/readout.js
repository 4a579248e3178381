// The marks of the drawings by the arrow keys, and what each says in a line below. Every mark has its words as a title, so nothing
// but this is lost without the script, and nothing is fetched.
(function () {
  "use strict";
  document.querySelectorAll(".readout").forEach(function (figure) {
    var svg = figure.querySelector("svg"), said = figure.querySelector("output");
    var marks = Array.from(svg.querySelectorAll(".mark")), at = -1;
    if (marks.length === 0) { return; }
    function tell(place) {
      if (at >= 0) { marks[at].classList.remove("at"); }
      at = place;
      if (at >= 0) { marks[at].classList.add("at"); }
      said.textContent = at < 0 ? "" : marks[at].querySelector("title").textContent;
    }
    svg.addEventListener("keydown", function (event) {
      if (event.ctrlKey || event.altKey || event.metaKey || event.shiftKey) { return; }
      var last = marks.length - 1, to = {
        ArrowLeft: at < 0 ? last : Math.max(0, at - 1), ArrowRight: Math.min(last, at + 1), Home: 0, End: last, Escape: -1
      }[event.key];
      if (to === undefined) { return; }
      tell(to);
      // A drawing that is magnified is wider than what is seen of it.
      if (to >= 0) { marks[to].scrollIntoView({ block: "nearest", inline: "nearest" }); }
      event.preventDefault();
    });
    svg.addEventListener("pointerover", function (event) {
      var place = marks.indexOf(event.target);
      if (place >= 0) { tell(place); }
    });
    svg.addEventListener("pointerleave", function () { tell(-1); });
    svg.addEventListener("focus", function () { if (at < 0 && svg.matches(":focus-visible")) { tell(0); } });
    svg.addEventListener("blur", function () { tell(-1); });
    svg.setAttribute("tabindex", "0");
  });
  document.querySelectorAll(".keys").forEach(function (words) { words.hidden = false; });
})();
