// The lists next to the map. Text of the corpus is inserted as text, never as HTML.

import { css } from "./color.js";

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

function dot(color) {
  const made = element("i", { class: "dot" });
  made.style.setProperty("--color", css(color));
  return made;
}

// context: colorOf(topic), topicName(topic), topicOf(topic), open(id), pick(topic), mergeTo(count), point(id or -1)
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

  // Arrow keys move through the list.
  walk(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step) return;
    const items = [...this.place.querySelectorAll("button.row")];
    const next = items[items.indexOf(document.activeElement) + step];
    if (next) next.focus(); else if (step < 0) document.getElementById("query").focus();
    event.preventDefault();
  }

  // quiet: the heading above the rows already marks them as gained or lost
  row(sentence, { rank, score, mark, note, quiet } = {}) {
    const why = sentence.words?.length ? sentence.words.join(", ") : null;
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
          dot(context.colorOf(topic)),
          element("span", {}, score === undefined ? context.topicName(topic) : score.toFixed(3)),
          marks[mark] && !quiet ? element("b", { class: mark }, marks[mark]) : null,
          why ? element("span", { class: "why", title: "Matching words" }, why) : null,
          note ? element("span", {}, note) : null))));
  }

  list(rows, label) {
    return element("ol", { class: "rows", "aria-label": label }, ...rows);
  }

  // ---- found

  welcome(count, samples) {
    this.fill(
      element("p", { class: "hint" }, `Type what you are looking for. ${many(count, "sentence")} are searched as you type.`),
      samples.length ? element("h2", {}, "Examples") : null,
      this.list(samples.map((one) => this.row(one)), "Example sentences"));
  }

  found(answer) {
    const columns = answer.models.map((model, n) => {
      const other = answer.models[1 - n];
      const ranks = new Map(other?.hits.map((hit, rank) => [hit.id, rank + 1]));
      const rows = model.hits.map((hit, rank) => {
        const there = ranks.get(hit.id);
        const mark = !other || there ? null : n === 0 ? "gained" : "lost";
        const note = other && there && there !== rank + 1 ? `rank ${there} in the other` : null;
        return this.row(hit, { rank: rank + 1, score: hit.score, mark, note });
      });
      const list = this.list(rows, `Found with ${model.name}`);
      return other ? element("section", {}, element("h2", {}, model.name), list) : list;
    });
    this.fill(element("div", { class: "columns" }, ...columns));
  }

  // ---- topics

  topics(tree, outliers, shown) {
    const lists = element("div"), hint = element("p", { class: "hint" });
    const fill = () => {
      const largest = Math.max(1, ...tree.list.map((topic) => topic.size));
      hint.textContent = `${many(tree.count, "topic")}, found without labels. `
        + `${many(outliers, "sentence")} ${outliers === 1 ? "has" : "have"} no topic.`;
      lists.replaceChildren(
        element("ol", { class: "rows topics" }, ...tree.list.map((topic) => this.topic(topic, largest, shown))),
        ...(outliers ? [element("ol", { class: "rows topics" }, this.outliers(outliers, shown))] : []));
    };
    const all = tree.topics.length;
    const slider = element("input", { type: "range", min: 1, max: all, value: tree.count, "aria-label": "Number of topics",
      oninput: () => { shown = null; this.context.mergeTo(Number(slider.value)); fill(); } });
    fill();
    this.fill(hint, all > 2 ? element("label", { class: "merge" }, "Merge similar topics", slider) : null, lists);
  }

  topic(topic, largest, shown) {
    const open = shown === topic.id, bar = element("span", { class: "bar" });
    bar.style.setProperty("--share", topic.size / largest);
    bar.style.setProperty("--color", css(this.context.colorOf(topic.id)));
    return element("li", {},
      element("button", { class: "row", "aria-expanded": String(open), "data-topic": topic.id,
        onclick: () => this.context.pick(open ? null : topic.id) },
      element("span", { class: "body" },
        element("span", { class: "text", dir: "auto" }, dot(this.context.colorOf(topic.id)), topic.words.slice(0, 6).join(" · ") || "(no keywords)"),
        bar,
        element("span", { class: "facts" }, element("span", {}, many(topic.size, "sentence")),
          topic.parts.length > 1 ? element("span", {}, `${topic.parts.length} topics merged`)
            : element("span", { title: "Mean cosine of its sentences with their centroid" }, `cohesion ${topic.cohesion.toFixed(2)}`)))),
      open ? this.examples(topic) : null);
  }

  // The central sentences of a topic; for a merged topic, a heading and a few sentences per part.
  examples({ parts }) {
    const few = parts.length > 1 ? 3 : undefined;
    return element("div", { class: "parts" }, ...parts.flatMap((part) => [
      few ? element("h2", { dir: "auto" }, part.words.slice(0, 4).join(" · ") || "(no keywords)") : null,
      this.list(part.examples.slice(0, few).map((one) => this.row(one)), "Central sentences")]).filter(Boolean));
  }

  outliers(count, shown) {
    const open = shown === -1;
    return element("li", {}, element("button", { class: "row", "aria-expanded": String(open), "data-topic": -1,
      onclick: () => this.context.pick(open ? null : -1) },
    element("span", { class: "body" }, element("span", { class: "text" }, dot(this.context.colorOf(-1)), this.context.topicName(-1)),
      element("span", { class: "facts" }, many(count, "sentence")))));
  }

  // ---- changed

  changed(change, sentences, names) {
    const most = Math.max(1, ...change.histogram);
    const bars = element("div", { class: "histogram", role: "img",
      "aria-label": `Sentences by number of shared neighbors, 0 to ${change.k}: ${change.histogram.join(", ")}` },
    ...change.histogram.map((count, shared) => {
      const bar = element("span", { title: `${shared} of ${change.k} shared: ${many(count, "sentence")}` }, element("i"), element("em", {}, String(shared)));
      bar.style.setProperty("--share", count / most);
      bar.style.setProperty("--color", css(this.context.changeColor(1 - shared / change.k)));
      return bar;
    }));
    this.fill(
      element("p", { class: "hint" }, `On average, ${change.shared.toFixed(1)} of a sentence's ${change.k} nearest neighbors are the same `
        + `with ${names[0]} and ${names[1]}.`),
      bars,
      element("p", { class: "axis" }, "shared neighbors per sentence"),
      element("h2", {}, "Changed most"),
      this.list(sentences.map((one) => this.row(one, { note: `${one.shared} of ${change.k} shared` })), "Sentences that changed most"));
  }

  // ---- selected

  sentence(answer, names) {
    const [first, second] = answer.models;
    const chip = element("button", { class: "chip", onclick: () => this.context.pick(answer.topic) },
      dot(this.context.colorOf(answer.topic)), this.context.topicName(answer.topic));
    const parts = [element("article", { class: "sentence" },
      answer.name ? element("code", {}, answer.name) : null,
      element("p", { dir: "auto", tabindex: 0 }, answer.text || "(empty)"), chip)];
    if (!second) {
      parts.push(element("h2", {}, "Nearest neighbors"), this.list(first.hits.map((hit, n) => this.row(hit, { rank: n + 1, score: hit.score })), "Nearest"));
    } else {
      const of = (model, mark) => model.hits.filter((hit) => hit.mark === mark);
      for (const [title, hits, mark] of [
        [`Only with ${names[0]}`, of(first, "gained"), "gained"],
        ["With both models", of(first, "kept"), "kept"],
        [`Only with ${names[1]}`, of(second, "lost"), "lost"],
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
      element("p", { class: "chips" }, ...this.byTopic(answer.topics).map(([topic, count]) =>
        element("button", { class: "chip", onclick: () => this.context.pick(topic) },
          dot(this.context.colorOf(topic)), `${this.context.topicName(topic)} · ${count.toLocaleString("en")}`))),
      this.list(answer.sentences.map((one) => this.row(one)), "Selected sentences"),
      answer.count > answer.sentences.length ? element("p", { class: "hint" }, `and ${many(answer.count - answer.sentences.length, "more", "more")}`) : null);
  }

  byTopic(counts) {
    const sums = new Map();
    for (const { topic, count } of counts) sums.set(this.context.topicOf(topic), (sums.get(this.context.topicOf(topic)) || 0) + count);
    return [...sums].sort((a, b) => b[1] - a[1]);
  }

  message(text) {
    this.fill(element("p", { class: "hint" }, text));
  }
}
