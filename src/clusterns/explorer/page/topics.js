// Topics and how they merge: a hierarchy that can be cut at any number of topics.

import { topicColor } from "./color.js";

const LABEL_POINTS = 400; // sentences that are enough to locate a topic
const labelColor = (color, isDark) => color.map((value) => Math.round(isDark ? value + (255 - value) * 0.35 : value * 0.62));

export class TopicTree {
  // topics: the leaves, largest first; merges: [{id, children, size, words}], most similar first
  constructor(topics, merges) {
    this.topics = topics;
    this.merges = merges;
    this.cut(topics.length);
  }

  // Merge the most similar topics until this many remain. A merged topic takes the number and
  // the color of its largest part.
  cut(count) {
    const number = new Map(this.topics.map((topic) => [topic.id, topic.id])), merged = new Map();
    this.parts = this.topics.map((topic) => topic.id);
    for (const merge of this.merges.slice(0, Math.max(0, this.topics.length - count))) {
      const [one, other] = merge.children.map((child) => number.get(child)).sort((a, b) => a - b);
      this.parts = this.parts.map((part) => (part === other ? one : part));
      number.set(merge.id, one);
      merged.set(one, merge);
    }
    this.count = new Set(this.parts).size;
    this.list = this.topics.filter((topic) => this.parts[topic.id] === topic.id).map((topic) => ({
      ...topic, ...(merged.has(topic.id) ? { words: merged.get(topic.id).words, size: merged.get(topic.id).size, cohesion: null } : {}),
      id: topic.id, parts: this.topics.filter((other) => this.parts[other.id] === topic.id),
    })).sort((a, b) => b.size - a.size);
    this.names = namesOf(this.list);
    this.points = null;
  }

  of(topic) { return topic < 0 ? topic : this.parts[topic]; }
  name(topic) { return topic < 0 ? "no topic" : this.names.get(this.of(topic)) || `topic ${this.of(topic)}`; }
  color(topic, isDark) { return topicColor(this.of(topic), isDark); }

  // Topic names for the map, largest topics first, each with its sentences.
  labels(topicOfSentence, isDark) {
    if (!this.points) {
      this.points = new Map(this.list.map((topic) => [topic.id, []]));
      for (let i = 0; i < topicOfSentence.length; i++) {
        const points = this.points.get(this.of(topicOfSentence[i]));
        if (points && points.length < LABEL_POINTS) points.push(i);
      }
    }
    return this.list.map(({ id }) => ({ text: this.name(id), points: this.points.get(id), color: labelColor(this.color(id, isDark), isDark) }));
  }
}

// Two words for each topic; if a larger topic has the same two, the first and a later one.
function namesOf(topics) {
  const taken = new Set(), names = new Map();
  for (const { id, words: [first, ...others] } of topics) {
    const name = (first ? [...others.map((other) => `${first} · ${other}`), first] : []).find((one) => !taken.has(one));
    if (name) names.set(id, name);
    taken.add(name);
  }
  return names;
}
