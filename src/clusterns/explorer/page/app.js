// The page: state, requests and rendering.

import { ask, get, numbers, Texts } from "./api.js";
import { changeColor, css, packed, topicColor } from "./color.js";
import { MapView } from "./map.js";
import { element, many, Panels } from "./panels.js";
import { TopicTree } from "./topics.js";

const $ = (id) => document.getElementById(id);
const texts = new Texts();
const maps = {}; // "model/kind" -> positions
let corpus, topics, tree, change, views = [], panels;
const state = { model: 0, kind: "pca", color: "topic", tab: "found", topic: null, sentence: null, selection: null, found: null };

const dark = () => (document.documentElement.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";

// ---- the map

const shownModels = () => state.model === "both" ? [1, 0] : [state.model];

async function positions(model, kind) {
  const key = `${model}/${kind}`;
  if (!maps[key]) {
    const integers = await numbers(`api/map/${key}`, Uint16Array);
    maps[key] = Float32Array.from(integers, (value) => value / 65535);
  }
  return maps[key];
}

async function arrange() {
  const models = shownModels(), { kind } = state, place = $("maps");
  let all;
  try {
    all = await Promise.all(models.map((model) => positions(model, kind)));
  } catch (error) { return fail(error); }
  if (kind !== state.kind || String(models) !== String(shownModels())) return; // the choice has changed since the request
  while (views.length > models.length) views.pop().box.remove();
  while (views.length < models.length) views.push(new MapView(place, "", events));
  place.classList.toggle("both", models.length > 1);
  models.forEach((model, n) => {
    views[n].rename(models.length > 1 ? corpus.models[model].name : "");
    views[n].covered = innerWidth > 720 ? 0 : $("tools").offsetHeight; // a phone's map is small
    views[n].lassoing = $("lasso").getAttribute("aria-pressed") === "true";
    views[n].place(all[n], true);
  });
  paint();
  focus();
}

function paint() {
  const style = getComputedStyle(document.documentElement), ink = {};
  for (const name of ["text", "kept", "gained", "lost", "hit", "lasso", "background"]) ink[name] = style.getPropertyValue(`--map-${name}`).trim();
  const background = packed(ink.background.match(/\w\w/g).map((hex) => parseInt(hex, 16)));
  const colors = new Uint32Array(corpus.count), isDark = dark(), none = packed(topicColor(-1, isDark));
  const [values, table] = coloring(isDark);
  for (let i = 0; i < colors.length; i++) colors[i] = values[i] < 0 ? none : table[values[i]];
  const labels = state.color === "topic" ? tree.labels(topics, isDark) : [];
  for (const view of views) view.paint(colors, background, ink, labels);
  $("legend").hidden = state.color === "topic";
  $("legend").replaceChildren(...legend(isDark));
}

// A code for each sentence, and a color for each code: topics, changes, or the values of a column.
function coloring(isDark) {
  if (state.color === "topic") return [topics, tree.parts.map((_, topic) => packed(tree.color(topic, isDark)))];
  if (state.color === "change") return [change, Array.from({ length: 256 }, (_, v) => packed(changeColor(v / 255, isDark)))];
  const column = corpus.columns[state.color];
  return [column.numbers, column.values.map((_, n) => packed(topicColor(n, isDark)))];
}

function legend(isDark) {
  const chip = (color) => { const box = element("i"); box.style.setProperty("--color", css(color)); return box; };
  if (state.color === "topic") return [];
  if (state.color === "change") return ["same neighbors ", ...[0, 0.25, 0.5, 0.75, 1].map((share) => chip(changeColor(share, isDark))), " all new"];
  return corpus.columns[state.color].values.flatMap((value, n) => [chip(topicColor(n, isDark)), ` ${value.length > 24 ? `…${value.slice(-23)}` : value} `]);
}

// Highlighted sentences: the chosen topic, the selection, or the search results.
function focus() {
  let faded = null;
  const others = (keep) => { const all = new Uint8Array(corpus.count).fill(1); keep.forEach((i) => { all[i] = 0; }); return all; };
  const marks = { hits: [], chosen: -1 };
  if (state.tab === "topics" && state.topic !== null) {
    faded = new Uint8Array(corpus.count);
    for (let i = 0; i < faded.length; i++) faded[i] = tree.of(topics[i]) === state.topic ? 0 : 1;
  } else if (state.tab === "selected" && state.selection) faded = others(state.selection.ids);
  else if (state.tab === "selected" && state.sentence) {
    const { id, models } = state.sentence, [first, second] = models;
    marks.chosen = id;
    marks.kept = (second ? first.hits.filter((hit) => hit.mark === "kept") : first.hits).map((hit) => hit.id);
    marks.gained = second ? first.hits.filter((hit) => hit.mark === "gained").map((hit) => hit.id) : [];
    marks.lost = second ? second.hits.filter((hit) => hit.mark === "lost").map((hit) => hit.id) : [];
    faded = others([id, ...marks.kept, ...marks.gained, ...marks.lost]);
  } else if (state.tab === "found" && state.found) {
    const shown = state.model === "both" ? state.found.models : [state.found.models[state.model]];
    marks.hits = [...new Set(shown.flatMap((model) => model.hits.map((hit) => hit.id)))];
    faded = others(marks.hits);
  }
  for (const view of views) {
    view.fade(faded);
    view.mark(marks);
  }
}

const events = {
  hover(point, x, y, around) {
    const tip = $("tip");
    tip.hidden = point < 0;
    if (point < 0) return;
    const tell = () => {
      const one = texts.get(point);
      tip.replaceChildren(...(one ? [element("b", {}, one.name || tree.name(one.topic)), one.text || "(empty)"] : ["…"]));
      const stage = $("stage"), flip = x > stage.clientWidth * 0.6;
      tip.style.left = `${Math.max(8, flip ? x - tip.offsetWidth - 14 : x + 14)}px`;
      tip.style.top = `${Math.min(stage.clientHeight - tip.offsetHeight - 8, y + 12)}px`;
    };
    tip.dataset.id = point;
    tell();
    if (!texts.get(point)) texts.fetch([point, ...around]).then(() => tip.dataset.id === String(point) && tell()).catch(() => {});
  },
  choose(point) { if (point >= 0) open(point); else clear(); },
  select(points) { if (points.length) select(points); },
  moved(view) { views.forEach((other) => other !== view && other.follow(view)); },
};

// ---- requests

let asking, timer;

// What the reader does last decides what the panel shows: earlier answers are dropped.
function supersede() {
  clearTimeout(timer);
  asking?.abort();
  asking = new AbortController();
  return asking.signal;
}

const question = () => ({
  query: $("query").value.trim(), by: $("by").value,
  ...($("column").value && $("value").value ? { column: $("column").value, value: $("value").value } : {}),
});

async function search() {
  const body = question(), signal = supersede();
  if (!body.query) { state.found = null; show("found"); return; }
  try {
    const answer = await ask("api/search", body, signal);
    answer.models.forEach((model) => texts.remember(model.hits));
    state.found = answer;
    show("found");
    tell(`${many(answer.models[0].hits.length, "sentence")} found`);
  } catch (error) { fail(error); }
}

async function open(id) {
  try {
    const answer = await ask("api/sentence", { id }, supersede());
    answer.models.forEach((model) => texts.remember(model.hits));
    state.sentence = answer;
    state.selection = null;
    show("selected");
    views.forEach((view) => view.show(id));
    tell("Sentence opened");
  } catch (error) { fail(error); }
}

async function select(points) {
  try {
    // Send only a sample of a very large selection.
    const step = Math.max(1, Math.ceil(points.length / 5000)), some = points.filter((_, n) => n % step === 0);
    const answer = await ask("api/selection", { ids: some }, supersede());
    const scale = points.length / some.length;
    answer.count = points.length;
    answer.topics.forEach((one) => { one.count = Math.round(one.count * scale); });
    texts.remember(answer.sentences);
    state.selection = { ...answer, ids: points };
    state.sentence = null;
    press("lasso", false);
    show("selected");
    tell(`${many(points.length, "sentence")} selected`);
  } catch (error) { fail(error); }
}

function clear() {
  supersede();
  state.sentence = state.selection = null;
  state.topic = null;
  show(state.tab === "selected" ? "found" : state.tab);
}

function fail(error) {
  if (error.name === "AbortError") return;
  panels.message(error.message === "Failed to fetch" ? "The server has stopped." : `Something went wrong: ${error.message}`);
}

// ---- lists

async function show(tab) {
  state.tab = tab;
  $("tab-selected").hidden = !(state.sentence || state.selection);
  for (const button of $("tabs").children) {
    const chosen = button.id === `tab-${tab}`;
    button.setAttribute("aria-selected", String(chosen));
    button.tabIndex = chosen ? 0 : -1;
  }
  $("panel").setAttribute("aria-labelledby", `tab-${tab}`);
  focus();
  if (tab === "found") {
    if (state.found) panels.found(state.found);
    else panels.welcome(corpus.count, corpus.samples);
  } else if (tab === "topics") panels.topics(tree, corpus.outliers, state.topic);
  else if (tab === "selected") {
    if (state.sentence) panels.sentence(state.sentence, corpus.models.map((model) => model.name));
    else panels.selection(state.selection);
  } else {
    try {
      corpus.changed ||= (await ask("api/changed", { count: 100 })).sentences;
      texts.remember(corpus.changed);
      if (state.tab === "changed") panels.changed(corpus.change, corpus.changed, corpus.models.map((model) => model.name));
    } catch (error) { fail(error); }
  }
}

const context = {
  colorOf: (topic) => tree.color(topic, dark()),
  changeColor: (share) => changeColor(share, dark()),
  topicName: (topic) => tree.name(topic),
  topicOf: (topic) => tree.of(topic),
  open,
  pick(topic) {
    state.topic = topic === null ? null : tree.of(topic);
    show("topics");
    const at = document.querySelector(`[data-topic="${state.topic}"]`);
    at?.focus({ preventScroll: true });
    at?.scrollIntoView({ block: "nearest" });
  },
  mergeTo(count) {
    tree.cut(count);
    state.topic = null;
    focus();
    paint();
  },
  point(id) { views.forEach((view) => { view.hovered = id; view.drawOver(); }); },
};

// ---- buttons and keys

function choice(group, options, chosen, choose) {
  const place = $(group);
  place.hidden = options.length < 2;
  place.replaceChildren(...options.map(([value, label, title]) => element("button", {
    "aria-pressed": String(value === chosen), title, "data-value": value,
    onclick: () => { choose(value); place.querySelector('[aria-pressed="true"]')?.focus(); },
  }, label)));
}

function press(id, on) {
  $(id).setAttribute("aria-pressed", String(on));
  if (id === "lasso") views.forEach((view) => { view.lassoing = on; view.box.classList.toggle("lassoing", on); });
}

function buttons() {
  const models = corpus.models.map((model, n) => [n, model.name, n ? "Map of the model to compare with" : "Map of the model"]);
  if (models.length > 1) models.push(["both", "Both", "Both maps side by side"]);
  choice("models", models, state.model, (value) => { state.model = value; buttons(); arrange(); });
  const colors = [["topic", "Topics", "Color by topic"]];
  if (corpus.change) colors.push(["change", "Change", "Color by how many neighbors changed"]);
  corpus.columns.forEach(({ name, values }, n) => values.length > 1 && colors.push([n, name, `Color by the column ${name}`]));
  choice("colors", colors, state.color, colorBy);
  choice("kinds", corpus.kinds.map((kind) => [kind, kind.toUpperCase(), kind === "pca" ? "The two directions of largest variance" : "Keeps neighbors together"]),
    state.kind, (value) => { state.kind = value; buttons(); arrange(); });
}

async function colorBy(value) {
  const column = corpus.columns[value];
  try {
    if (column) column.numbers ||= await numbers(`api/column/${value}`, Int16Array);
  } catch (error) { return fail(error); }
  state.color = value;
  buttons();
  paint();
}

function cycle(group) {
  const all = [...$(group).children];
  if (all.length < 2) return;
  const at = all.findIndex((button) => button.getAttribute("aria-pressed") === "true");
  all[(at + 1) % all.length].click();
}

function tell(text) { $("status").textContent = text; }

function theme() {
  document.documentElement.dataset.theme = dark() ? "light" : "dark";
  try { localStorage.setItem("theme", document.documentElement.dataset.theme); } catch { /* private window */ }
  paint();
  show(state.tab);
}

function listen() {
  $("query").addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(search, 90); });
  $("query").addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown") { document.querySelector("#panel button.row")?.focus(); event.preventDefault(); }
  });
  $("by").addEventListener("change", search);
  $("column").addEventListener("change", () => {
    const chosen = corpus.columns.find(({ name }) => name === $("column").value);
    $("value").hidden = !chosen;
    $("values").replaceChildren(...(chosen?.values || []).map((value) => new Option(value)));
    search();
  });
  $("value").addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(search, 90); });
  $("search").addEventListener("submit", (event) => { event.preventDefault(); search(); });
  for (const button of $("tabs").children) button.addEventListener("click", () => { supersede(); show(button.id.slice(4)); });
  $("tabs").addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const open = [...$("tabs").children].filter((button) => !button.hidden);
    const next = open[(open.indexOf(document.activeElement) + step + open.length) % open.length];
    next.focus();
    next.click();
  });
  $("lasso").addEventListener("click", () => press("lasso", $("lasso").getAttribute("aria-pressed") !== "true"));
  $("fit").addEventListener("click", () => views[0].fit());
  $("theme").addEventListener("click", theme);
  $("help").addEventListener("click", () => $("keys").showModal());
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { paint(); show(state.tab); });
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || $("keys").open) return;
    if (event.key === "Escape") {
      if ($("query").value) { $("query").value = ""; state.found = null; }
      press("lasso", false);
      clear();
      return;
    }
    if (event.target.matches("input, select")) return;
    const keys = {
      "/": () => { $("query").focus(); $("query").select(); },
      m: () => cycle("models"), c: () => cycle("colors"),
      l: () => $("lasso").click(), v: () => events.select(views[0].inView()),
      0: () => views[0].fit(), "?": () => $("keys").showModal(),
    };
    const act = keys[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (act) { event.preventDefault(); act(); }
  });
}

// Wait for the better projection; the points then move to it.
async function wait() {
  $("pending").hidden = !corpus.pending;
  if (!corpus.pending) return;
  $("pending").textContent = corpus.pending;
  await new Promise((resolve) => setTimeout(resolve, 1500));
  try {
    const now = await get("api/corpus"), better = now.kinds.find((kind) => !corpus.kinds.includes(kind));
    corpus.kinds = now.kinds;
    corpus.pending = now.pending;
    if (better) {
      state.kind = better;
      for (const view of views) view.fitted = true;
      buttons();
      await arrange();
      views[0].fit();
    }
  } catch { return; }
  wait();
}

async function begin() {
  try { document.documentElement.dataset.theme = localStorage.getItem("theme") || ""; } catch { /* private window */ }
  panels = new Panels($("panel"), context);
  try {
    [corpus, topics] = await Promise.all([get("api/corpus"), numbers("api/topics", Int16Array)]);
    if (corpus.change) change = await numbers("api/change", Uint8Array);
  } catch (error) { return fail(error); }
  tree = new TopicTree(corpus.topics, corpus.tree);
  state.kind = corpus.kinds.at(-1);
  $("title").textContent = corpus.title;
  document.title = `${corpus.title} · clusterns`;
  $("filter").hidden = !corpus.columns.length;
  for (const { name } of corpus.columns) $("column").append(new Option(name, name));
  $("about").textContent = `${many(corpus.count, "sentence")} · ${corpus.models.map((model) => model.name).join(" and ")}`;
  $("tab-changed").hidden = !corpus.change;
  $("app").classList.toggle("comparing", corpus.models.length > 1);
  texts.remember(corpus.samples);
  listen();
  buttons();
  await arrange();
  show("found");
  $("app").removeAttribute("aria-busy");
  performance.mark("ready");
  wait();
}

begin();
