// Zoom and values of the drawings with curves. Each drawing is whole without this script: nothing here is needed to read it,
// and nothing is fetched. What stands in the drawing (its scale, its curves) is read from it, so no number is here twice.
(function () {
  "use strict";
  var SVG = "http://www.w3.org/2000/svg", CLOSEST = 1 / 4096;
  document.querySelectorAll("figure.plot").forEach(function (figure) {
    var svg = figure.querySelector("svg"), moved = svg.querySelector(".moved"), times = svg.querySelector(".times");
    var flags = svg.querySelectorAll(".flag");
    var isLog = svg.dataset.scale === "log";
    var number = function (name) { return Number(svg.dataset[name]); };
    var left = number("left"), right = number("right"), top = number("top"), base = number("base"), wide = right - left;
    var first = number("from"), last = number("to"), low = number("low"), high = number("high");
    var whole = times.innerHTML, said = figure.querySelector("output"), values = figure.querySelector(".values");
    var from = 0, to = 1, cursor = null, start = null, printed = null;
    var box = svg.appendChild(document.createElementNS(SVG, "rect"));
    var line = svg.appendChild(document.createElementNS(SVG, "line"));
    box.setAttribute("class", "span");
    line.setAttribute("class", "cursor");
    [box, line].forEach(function (mark) { mark.style.display = "none"; });

    // The share of the whole width <-> nanoseconds; what is shown of the width is from..to.
    function ns(place) {
      var value = first + place * (last - first);
      return isLog ? Math.pow(10, value) : value;
    }
    function place(value) { return ((isLog ? Math.log10(value) : value) - first) / (last - first); }
    function at(share) { return left + (share - from) / (to - from) * wide; }
    function time(value) {
      var units = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]];
      var unit = units.find(function (one) { return value >= one[0]; }) || units[3];
      return Number((value / unit[0]).toPrecision(4)) + "\u00a0" + unit[1];
    }
    // Marks at 1, 2 and 5, closer where less is shown.
    function marks() {
      var begin = ns(from), end = ns(to), step = Math.pow(10, Math.floor(Math.log10((end - begin) / 4))), found = [], value;
      step *= [5, 2, 1].find(function (more) { return (end - begin) / (step * more) >= 4; }) || 1;
      if (isLog && end / begin > 8) {
        for (value = Math.pow(10, Math.floor(Math.log10(begin))); value <= end; value *= 10) {
          (end / begin > 1000 ? [1] : [1, 2, 5]).forEach(function (more) { found.push(value * more); });
        }
      } else {
        for (value = Math.ceil(begin / step) * step; value <= end; value += step) { found.push(value); }
      }
      return found.filter(function (one) { return one >= begin && one <= end; });
    }
    function show(begin, end, why) {
      var size = Math.min(1, Math.max(CLOSEST, end - begin));
      from = Math.min(1 - size, Math.max(0, begin));
      to = from + size;
      var isWhole = size === 1, scale = 1 / size;
      moved.setAttribute("transform", "matrix(" + scale + " 0 0 1 " + (left - (left + from * wide) * scale) + " 0)");
      flags.forEach(function (flag) {
        var x = at((Number(flag.dataset.at) - left) / wide), text = flag.querySelector("text"), isFar = x > (left + right) / 2;
        flag.setAttribute("transform", "translate(" + x + " 0)");
        flag.style.visibility = x < left - 0.1 || x > right + 0.1 ? "hidden" : "";
        text.setAttribute("text-anchor", isFar ? "end" : "start");
        text.setAttribute("x", isFar ? -6 : 6);
      });
      times.innerHTML = whole;
      if (!isWhole) {
        times.textContent = "";
        marks().forEach(function (value) {
          var x = at(place(value)), mark = document.createElementNS(SVG, "line"), text = document.createElementNS(SVG, "text");
          [["x1", x], ["x2", x], ["y1", top], ["y2", base]].forEach(function (one) { mark.setAttribute(one[0], one[1]); });
          text.setAttribute("x", x);
          text.setAttribute("y", number("labels"));
          text.setAttribute("text-anchor", "middle");
          text.textContent = time(value);
          times.append(mark, text);
        });
      }
      figure.querySelectorAll("button:not([data-do=in])").forEach(function (button) {
        // Whoever came by keyboard is not left on a button that cannot be pressed any more.
        if (isWhole && document.activeElement === button) { svg.focus(); }
        button.disabled = isWhole;
      });
      if (why !== "quietly") { said.textContent = isWhole ? "All is shown." : "Shown: " + time(ns(from)) + " to " + time(ns(to)) + "."; }
      point(null);
    }
    // The height of a curve there, from what is drawn; null where it has no sample.
    function height(curve, x) {
      var found = null, y = base, here = 0, part, parts = /([MVH])([-\d.]+)(?: ([-\d.]+))?/g, path = curve.getAttribute("d");
      while ((part = parts.exec(path))) {
        if (part[1] === "M") { here = Number(part[2]); y = base; }
        if (part[1] === "V") { y = Number(part[2]); }
        if (part[1] === "H") {
          if (x >= here && x < Number(part[2])) { found = y; }
          here = Number(part[2]);
        }
      }
      return found;
    }
    function point(share) {
      cursor = share;
      line.style.display = share === null ? "none" : "";
      values.textContent = "";
      if (share === null) { return; }
      [["x1", at(share)], ["x2", at(share)], ["y1", top], ["y2", base]].forEach(function (one) { line.setAttribute(one[0], one[1]); });
      var parts = [time(ns(share))];
      svg.querySelectorAll(".curve").forEach(function (curve) {
        if (getComputedStyle(curve).display === "none") { return; }
        var y = height(curve, left + share * wide);
        var value = y === null ? 0 : low + (base - y) / (base - top) * (high - low);
        if (isLog && y !== null) { value = Math.pow(10, value); }
        var percent = value * 100;
        parts.push(curve.dataset.name + ": " + (y === null ? "none" : "about " + Number(percent.toPrecision(2)) + "\u00a0%"));
      });
      values.textContent = parts.join(" · ");
    }
    function under(event) {
      var frame = svg.getBoundingClientRect(), x = (event.clientX - frame.left) / frame.width * svg.viewBox.baseVal.width;
      return from + Math.min(1, Math.max(0, (x - left) / wide)) * (to - from);
    }
    function act(what) {
      var size = to - from, middle = cursor === null ? (from + to) / 2 : cursor, kept = cursor;
      if (what === "in") { show(middle - (middle - from) / 2, middle + (to - middle) / 2); }
      if (what === "out") { show(from - size / 2, to + size / 2); }
      if (what === "all") { show(0, 1); }
      if (what === "earlier") { show(from - size / 4, to - size / 4); }
      if (what === "later") { show(from + size / 4, to + size / 4); }
      if (kept !== null && kept >= from && kept <= to) { point(kept); }
    }
    figure.querySelectorAll("button").forEach(function (button) {
      button.addEventListener("click", function () { act(button.dataset.do); });
    });
    figure.addEventListener("keydown", function (event) {
      if (event.ctrlKey || event.altKey || event.metaKey) { return; }
      var what = { "+": "in", "=": "in", "-": "out", "0": "all" }[event.key];
      var way = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (event.key === "Escape") { start = null; box.style.display = "none"; point(null); return; }
      if (way && event.shiftKey) { what = way < 0 ? "earlier" : "later"; }
      if (what) { act(what); } else if (way) {
        var step = (to - from) / 100 * way, now = cursor === null ? (from + to) / 2 : cursor + step;
        point(Math.min(to, Math.max(from, now)));
      } else { return; }
      event.preventDefault();
    });
    svg.addEventListener("pointerdown", function (event) {
      if (event.button !== 0) { return; }
      start = under(event);
      svg.setPointerCapture(event.pointerId);
    });
    svg.addEventListener("pointermove", function (event) {
      var here = under(event);
      point(here);
      if (start === null) { return; }
      box.setAttribute("x", Math.min(at(start), at(here)));
      box.setAttribute("width", Math.abs(at(here) - at(start)));
      box.setAttribute("y", top);
      box.setAttribute("height", base - top);
      box.style.display = "";
    });
    svg.addEventListener("pointerup", function (event) {
      var here = under(event), begin = start;
      start = null;
      box.style.display = "none";
      // A click is no span: a hand that shook a little shall not be thrown into the deepest zoom.
      if (begin !== null && Math.abs(at(here) - at(begin)) > 6) { show(Math.min(begin, here), Math.max(begin, here)); }
    });
    svg.addEventListener("pointercancel", function () { start = null; box.style.display = "none"; });
    svg.addEventListener("pointerleave", function () { if (start === null) { point(null); } });
    svg.addEventListener("dblclick", function () { act("all"); });
    // On paper nobody can zoom out.
    addEventListener("beforeprint", function () { printed = [from, to]; show(0, 1, "quietly"); });
    addEventListener("afterprint", function () { if (printed) { show(printed[0], printed[1], "quietly"); } });
    figure.querySelector(".zoom").hidden = false;
    svg.setAttribute("tabindex", "0");
    show(0, 1, "quietly");
  });
})();
