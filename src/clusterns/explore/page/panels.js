// The lists beside the map. Text of the corpus goes in as text, never as html.

import { css } from "./colour.js";

export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

const many = (count, one, more = `${one}s`) => `${count.toLocaleString("en")} ${count === 1 ? one : more}`;
export { many };

function dot(colour) {
  const made = element("i", { class: "dot" });
  made.style.setProperty("--colour", css(colour));
  return made;
}

// context: colourOf(topic), topicName(topic), open(id), pick(topic), point(id or -1)
export class Panels {
  constructor(place, context) {
    this.place = place;
    this.context = context;
    place.addEventListener("keydown", (event) => this.walk(event));
  }

  fill(...children) {
    this.place.replaceChildren(...children.filter(Boolean));
    this.place.scrollTop = 0;
  }

  // Arrows go through the list.
  walk(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step) return;
    const items = [...this.place.querySelectorAll("button.row")];
    const next = items[items.indexOf(document.activeElement) + step];
    if (next) next.focus(); else if (step < 0) document.getElementById("query").focus();
    event.preventDefault();
  }

  // quiet: the heading above the rows says already what became of them
  row(sentence, { rank, score, mark, note, quiet } = {}) {
    const { id, text, name, topic } = sentence, { context } = this;
    const marks = { gained: "new", lost: "lost" };
    return element("li", {},
      element("button", {
        class: `row ${mark || ""}`, "data-id": id,
        onclick: () => context.open(id),
        onpointerenter: () => context.point(id), onpointerleave: () => context.point(-1),
        onfocus: () => context.point(id), onblur: () => context.point(-1),
      },
      rank ? element("span", { class: "rank" }, String(rank)) : null,
      element("span", { class: "body" },
        name ? element("code", {}, name) : null,
        element("span", { class: "text", dir: "auto" }, text || "(empty)"),
        element("span", { class: "facts" },
          dot(context.colourOf(topic)),
          element("span", {}, score === undefined ? context.topicName(topic) : score.toFixed(3)),
          marks[mark] && !quiet ? element("b", { class: mark }, marks[mark]) : null,
          note ? element("span", {}, note) : null))));
  }

  list(rows, label) {
    return element("ol", { class: "rows", "aria-label": label }, ...rows);
  }

  // ---- found

  welcome(count, samples) {
    this.fill(
      element("p", { class: "hint" }, `Type what you are looking for. All ${many(count, "sentence")} are searched, by meaning, as you type.`),
      samples.length ? element("h2", {}, "Some of them") : null,
      this.list(samples.map((one) => this.row(one)), "Some sentences"));
  }

  found(answer) {
    const columns = answer.models.map((model, n) => {
      const other = answer.models[1 - n];
      const ranks = new Map(other?.hits.map((hit, rank) => [hit.id, rank + 1]));
      const rows = model.hits.map((hit, rank) => {
        const there = ranks.get(hit.id);
        const mark = !other || there ? null : n === 0 ? "gained" : "lost";
        const note = other && there && there !== rank + 1 ? `${there} in the other` : null;
        return this.row(hit, { rank: rank + 1, score: hit.score, mark, note });
      });
      const list = this.list(rows, `Found with ${model.name}`);
      return other ? element("section", {}, element("h2", {}, model.name), list) : list;
    });
    this.fill(element("div", { class: "columns" }, ...columns));
  }

  // ---- topics

  topics(topics, nowhere, shown) {
    const largest = Math.max(1, ...topics.map((topic) => topic.size));
    this.fill(
      element("p", { class: "hint" }, `${many(topics.length, "topic")}, found without labels. `
        + `${many(nowhere, "sentence")} ${nowhere === 1 ? "belongs" : "belong"} to none.`),
      element("ol", { class: "rows topics" }, ...topics.map((topic) => this.topic(topic, largest, shown))),
      nowhere ? element("ol", { class: "rows topics" }, this.nowhere(nowhere, shown)) : null);
  }

  topic(topic, largest, shown) {
    const open = shown === topic.id, bar = element("span", { class: "bar" });
    bar.style.setProperty("--share", topic.size / largest);
    bar.style.setProperty("--colour", css(this.context.colourOf(topic.id)));
    return element("li", {},
      element("button", { class: "row", "aria-expanded": String(open), "data-topic": topic.id,
        onclick: () => this.context.pick(open ? null : topic.id) },
      element("span", { class: "body" },
        element("span", { class: "text", dir: "auto" }, dot(this.context.colourOf(topic.id)), topic.words.slice(0, 6).join(" · ") || "(no words)"),
        bar,
        element("span", { class: "facts" }, element("span", {}, many(topic.size, "sentence")),
          element("span", { title: "Mean cosine of its sentences with its middle" }, `tightness ${topic.tightness.toFixed(2)}`)))),
      open ? this.list(topic.examples.map((one) => this.row(one)), "Central sentences") : null);
  }

  nowhere(count, shown) {
    const open = shown === -1;
    return element("li", {}, element("button", { class: "row", "aria-expanded": String(open), "data-topic": -1,
      onclick: () => this.context.pick(open ? null : -1) },
    element("span", { class: "body" }, element("span", { class: "text" }, dot(this.context.colourOf(-1)), "belongs nowhere"),
      element("span", { class: "facts" }, many(count, "sentence")))));
  }

  // ---- changed

  changed(change, sentences, names) {
    const most = Math.max(1, ...change.histogram);
    const bars = element("div", { class: "histogram", role: "img",
      "aria-label": `Sentences by how many of ${change.k} neighbours stayed: ${change.histogram.join(", ")}` },
    ...change.histogram.map((count, kept) => {
      const bar = element("span", { title: `${kept} of ${change.k} stayed: ${many(count, "sentence")}` }, element("i"), element("em", {}, String(kept)));
      bar.style.setProperty("--share", count / most);
      bar.style.setProperty("--colour", css(this.context.changeColour(1 - kept / change.k)));
      return bar;
    }));
    this.fill(
      element("p", { class: "hint" }, `Of the ${change.k} nearest neighbours that a sentence has with ${names[1]}, `
        + `${change.kept.toFixed(1)} are still among the ${change.k} nearest with ${names[0]}, on average.`),
      bars,
      element("p", { class: "axis" }, "neighbours that stayed"),
      element("h2", {}, "Where most changed"),
      this.list(sentences.map((one) => this.row(one, { note: `${one.kept} of ${change.k} stayed` })), "Most changed"));
  }

  // ---- selected

  sentence(answer, names) {
    const [first, second] = answer.models;
    const chip = element("button", { class: "chip", onclick: () => this.context.pick(answer.topic) },
      dot(this.context.colourOf(answer.topic)), this.context.topicName(answer.topic));
    const parts = [element("article", { class: "sentence" },
      answer.name ? element("code", {}, answer.name) : null,
      element("p", { dir: "auto", tabindex: 0 }, answer.text || "(empty)"), chip)];
    if (!second) {
      parts.push(element("h2", {}, "Nearest"), this.list(first.hits.map((hit, n) => this.row(hit, { rank: n + 1, score: hit.score })), "Nearest"));
    } else {
      const of = (model, mark) => model.hits.filter((hit) => hit.mark === mark);
      for (const [title, hits, mark] of [
        [`New with ${names[0]}`, of(first, "gained"), "gained"],
        [`Near with both`, of(first, "kept"), "kept"],
        [`No longer near (${names[1]})`, of(second, "lost"), "lost"],
      ]) {
        if (hits.length) parts.push(element("h2", { class: mark }, `${title} · ${hits.length}`),
          this.list(hits.map((hit) => this.row(hit, { score: hit.score, mark, quiet: true })), title));
      }
    }
    this.fill(...parts);
  }

  selection(answer) {
    this.fill(
      element("h2", {}, many(answer.count, "sentence")),
      answer.words.length ? element("p", { class: "words", dir: "auto" }, answer.words.join(" · ")) : null,
      element("p", { class: "chips" }, ...answer.topics.map(({ topic, count }) =>
        element("button", { class: "chip", onclick: () => this.context.pick(topic) },
          dot(this.context.colourOf(topic)), `${this.context.topicName(topic)} · ${count.toLocaleString("en")}`))),
      this.list(answer.sentences.map((one) => this.row(one)), "Selected sentences"),
      answer.count > answer.sentences.length ? element("p", { class: "hint" }, `and ${many(answer.count - answer.sentences.length, "more", "more")}`) : null);
  }

  message(text) {
    this.fill(element("p", { class: "hint" }, text));
  }
}
