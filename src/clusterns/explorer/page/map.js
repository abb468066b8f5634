// One map: points under a camera, overlays, and pointer and keyboard controls.

import { Grid } from "./grid.js";
import { splat } from "./splat.js";
import { css } from "./color.js";

const MORPH = 700; // milliseconds that points take to move to another map
const still = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

export class MapView {
  // events: hover(point, x, y, around), choose(point), select(points), moved(camera)
  constructor(parent, name, events) {
    this.events = events;
    this.box = parent.appendChild(document.createElement("div"));
    this.box.className = "map";
    this.under = this.box.appendChild(document.createElement("canvas"));
    this.over = this.box.appendChild(document.createElement("canvas"));
    this.over.tabIndex = 0;
    this.over.setAttribute("role", "application");
    this.caption = this.box.appendChild(document.createElement("p"));
    this.rename(name);
    this.xy = new Float32Array(0);
    this.colors = new Uint32Array(0);
    this.faded = null;
    this.covered = 0; // pixels at the top covered by buttons
    this.camera = null;
    this.marks = { hits: [], chosen: -1, kept: [], gained: [], lost: [] };
    this.hovered = -1;
    this.labels = [];
    this.lassoing = false;
    this.path = [];
    this.cross = null;
    this.pointers = new Map();
    new ResizeObserver(() => this.resize()).observe(this.box);
    this.listen();
  }

  rename(name) {
    this.caption.textContent = name;
    this.over.setAttribute("aria-label",
      `Map of the sentences${name ? `, ${name}` : ""}. Arrow keys move the crosshair, Enter opens a sentence.`);
  }

  // ---- content

  place(xy, animate) {
    const from = this.xy;
    this.target = xy;
    this.grid = null; // built on first use, so that the first frame is drawn sooner
    this.labelPlaces = null;
    if (!animate || from.length !== xy.length || still()) {
      this.xy = xy;
      if (!this.camera) this.fit(); else this.draw();
      return;
    }
    const begun = performance.now(), between = (this.xy = new Float32Array(xy.length));
    const step = (now) => {
      if (this.target !== xy) return;
      const t = Math.min(1, (now - begun) / MORPH), eased = t * t * (3 - 2 * t);
      for (let i = 0; i < xy.length; i++) between[i] = from[i] + (xy[i] - from[i]) * eased;
      if (t === 1) this.xy = xy; else requestAnimationFrame(step);
      this.draw();
    };
    requestAnimationFrame(step);
  }

  paint(colors, background, ink, labels) {
    this.colors = colors;
    this.background = background;
    this.ink = ink;
    this.labels = labels;
    this.labelPlaces = null;
    this.draw();
  }

  fade(faded) {
    this.faded = faded;
    this.draw();
  }

  mark(marks) {
    this.marks = { hits: [], chosen: -1, kept: [], gained: [], lost: [], ...marks };
    this.drawOver();
  }

  resize() {
    const ratio = Math.min(2, window.devicePixelRatio || 1);
    this.ratio = ratio;
    for (const canvas of [this.under, this.over]) {
      canvas.width = Math.max(1, Math.round(this.box.clientWidth * ratio));
      canvas.height = Math.max(1, Math.round(this.box.clientHeight * ratio));
    }
    if (this.xy.length && (!this.camera || this.fitted)) this.fit(); else this.draw();
  }

  // The central 99 % of the points fill the view, so that a few outliers do not shrink the rest.
  fit() {
    const count = this.xy.length / 2, step = Math.max(1, Math.floor(count / 5000)), xs = [], ys = [];
    for (let i = 0; i < count; i += step) {
      xs.push((this.target || this.xy)[2 * i]);
      ys.push((this.target || this.xy)[2 * i + 1]);
    }
    const range = (values) => {
      values.sort((a, b) => a - b);
      const edge = Math.floor(values.length * 0.005);
      return [values[edge], values[values.length - 1 - edge]];
    };
    const [left, right] = range(xs), [top, bottom] = range(ys), covered = this.covered * this.ratio;
    const scale = 0.86 * Math.min(
      this.under.width / Math.max(right - left, 1e-3), (this.under.height - covered) / Math.max(bottom - top, 1e-3));
    this.fitScale = scale;
    this.look({ x: (left + right) / 2, y: (top + bottom - covered / scale) / 2, scale }, true);
  }

  look(camera, fitted = false) {
    this.camera = camera;
    this.fitted = fitted;
    this.fitScale ||= camera.scale;
    this.draw();
    this.events.moved?.(this);
  }

  follow(other) {
    if (!other.camera) return;
    const share = this.under.width / other.under.width || 1;
    this.camera = { ...other.camera, scale: other.camera.scale * share };
    this.fitScale = other.fitScale * share;
    this.fitted = other.fitted;
    this.draw();
  }

  // Bring a sentence into view, moving no further than needed.
  show(point) {
    if (!this.camera) return;
    const [x, y] = this.at(this.target[2 * point], this.target[2 * point + 1]), edge = 60 * this.ratio;
    const beyond = (at, size) => Math.min(0, at - edge) + Math.max(0, at - size + edge);
    const dx = beyond(x, this.under.width), dy = beyond(y, this.under.height), { scale } = this.camera;
    if (dx || dy) this.look({ x: this.camera.x + dx / scale, y: this.camera.y + dy / scale, scale });
  }

  screen(point) {
    return this.at(this.xy[2 * point], this.xy[2 * point + 1]);
  }

  at(x, y) {
    const { x: cx, y: cy, scale } = this.camera;
    return [(x - cx) * scale + this.under.width / 2, (y - cy) * scale + this.under.height / 2];
  }

  world(x, y) { // from CSS pixels of the box
    const { x: cx, y: cy, scale } = this.camera, r = this.ratio;
    return [(x * r - this.under.width / 2) / scale + cx, (y * r - this.under.height / 2) / scale + cy];
  }

  zoom(factor, x = this.box.clientWidth / 2, y = this.box.clientHeight / 2) {
    const [wx, wy] = this.world(x, y);
    const scale = Math.min(400 * this.fitScale, Math.max(0.4 * this.fitScale, this.camera.scale * factor));
    const share = this.camera.scale / scale;
    this.look({ x: wx + (this.camera.x - wx) * share, y: wy + (this.camera.y - wy) * share, scale });
  }

  // ---- drawing

  draw() {
    if (this.waiting || !this.camera) return;
    this.waiting = requestAnimationFrame(() => {
      this.waiting = 0;
      this.drawUnder();
      this.drawOver();
    });
  }

  radius() {
    const count = this.colors.length, zoomed = this.camera.scale / this.fitScale;
    const base = count > 50000 ? 0.7 : count > 10000 ? 1.1 : count > 2000 ? 1.8 : 2.8;
    return Math.min(7, base * Math.max(1, zoomed) ** 0.45) * this.ratio;
  }

  drawUnder() {
    if (this.colors.length * 2 !== this.xy.length) return;
    const { width, height } = this.under, context = this.under.getContext("2d", { alpha: false });
    const image = context.createImageData(width, height), pixels = new Uint32Array(image.data.buffer);
    pixels.fill(this.background);
    splat(pixels, width, height, this.xy, this.camera, this.colors, this.faded, this.radius(), 0.8);
    context.putImageData(image, 0, 0);
    if (this.ink) this.drawLabels(context);
  }

  drawOver() {
    if (!this.camera || !this.ink) return;
    const context = this.over.getContext("2d"), r = this.ratio, { chosen } = this.marks;
    context.clearRect(0, 0, this.over.width, this.over.height);
    if (chosen >= 0) {
      for (const kind of ["kept", "lost", "gained"]) {
        context.strokeStyle = this.ink[kind];
        context.setLineDash(kind === "lost" ? [4 * r, 4 * r] : []);
        context.lineWidth = 1.4 * r;
        for (const point of this.marks[kind]) this.line(context, chosen, point);
      }
      context.setLineDash([]);
      for (const kind of ["kept", "lost", "gained"]) {
        for (const point of this.marks[kind]) this.ring(context, point, 4.5, this.ink[kind], 2);
      }
    }
    this.marks.hits.forEach((point, rank) => this.ring(context, point, rank < 3 ? 7 : 5, this.ink.hit, 2.2));
    if (chosen >= 0) this.ring(context, chosen, 8, this.ink.text, 2.5);
    if (this.hovered >= 0) this.ring(context, this.hovered, 6, this.ink.text, 1.5);
    if (this.cross) this.drawCross(context);
    if (this.path.length > 1) this.drawPath(context);
  }

  line(context, from, to) {
    context.beginPath();
    context.moveTo(...this.screen(from));
    context.lineTo(...this.screen(to));
    context.stroke();
  }

  ring(context, point, radius, color, width) {
    const [x, y] = this.screen(point), r = this.ratio;
    context.beginPath();
    context.arc(x, y, radius * r, 0, 2 * Math.PI);
    context.strokeStyle = this.ink.background;
    context.lineWidth = (width + 2) * r;
    context.stroke();
    context.strokeStyle = color;
    context.lineWidth = width * r;
    context.stroke();
  }

  // Draw topic names above their points, largest first, without overlaps.
  drawLabels(context) {
    if (!this.labels.length || this.target !== this.xy) return;
    this.labelPlaces ||= this.labels.map(({ points }) => {
      const at = (axis, share) => {
        const values = points.map((i) => this.xy[2 * i + axis]).sort((a, b) => a - b);
        return values[Math.floor(values.length * share)];
      };
      return points.length ? [at(0, 0.5), at(1, 0.1)] : null;
    });
    const r = this.ratio, taken = [], dimmed = this.faded;
    context.textAlign = "center";
    context.textBaseline = "middle";
    context.lineJoin = "round";
    context.font = `600 ${12 * r}px system-ui, sans-serif`;
    this.labels.forEach(({ text, color }, n) => {
      if (!this.labelPlaces[n]) return;
      const [middle, edge] = this.at(...this.labelPlaces[n]), y = edge - 11 * r, width = context.measureText(text).width + 14 * r;
      // Move a name at the edge inside.
      const inside = middle > 0 && middle < this.over.width;
      const x = inside ? Math.min(this.over.width - width / 2, Math.max(width / 2, middle)) : middle;
      const box = [x - width / 2, y - 10 * r, x + width / 2, y + 10 * r];
      if (box[2] < 0 || box[3] < 0 || box[0] > this.over.width || box[1] > this.over.height) return;
      if (taken.some((t) => box[0] < t[2] && box[2] > t[0] && box[1] < t[3] && box[3] > t[1])) return;
      taken.push(box);
      context.globalAlpha = dimmed ? 0.45 : 1;
      context.strokeStyle = this.ink.background;
      context.lineWidth = 5 * r;
      context.strokeText(text, x, y);
      context.fillStyle = css(color);
      context.fillText(text, x, y);
      context.globalAlpha = 1;
    });
  }

  drawCross(context) {
    const r = this.ratio, x = this.cross[0] * r, y = this.cross[1] * r;
    context.strokeStyle = this.ink.text;
    context.lineWidth = 1.5 * r;
    context.beginPath();
    for (const [dx, dy] of [[1, 0], [-1, 0], [0, 1], [0, -1]]) {
      context.moveTo(x + 5 * r * dx, y + 5 * r * dy);
      context.lineTo(x + 14 * r * dx, y + 14 * r * dy);
    }
    context.stroke();
  }

  drawPath(context) {
    context.beginPath();
    this.path.forEach(([x, y], n) => context[n ? "lineTo" : "moveTo"](...this.at(x, y)));
    context.closePath();
    context.fillStyle = this.ink.lasso;
    context.fill();
    context.strokeStyle = this.ink.hit;
    context.lineWidth = 1.5 * this.ratio;
    context.stroke();
  }

  // ---- pointer and keys

  placeOf(event) {
    const box = this.over.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  find(x, y, pixels, around) {
    if (!this.target?.length) return -1;
    this.grid ||= new Grid(this.target);
    return this.grid.nearest(...this.world(x, y), (pixels * this.ratio) / this.camera.scale, around);
  }

  hover(x, y, pixels = 10) {
    const point = this.target === this.xy ? this.find(x, y, pixels) : -1;
    if (point !== this.hovered) {
      this.hovered = point;
      this.drawOver();
    }
    const around = [];
    if (point >= 0) this.find(x, y, 24, around);
    this.events.hover(point, this.box.offsetLeft + x, this.box.offsetTop + y, around.slice(0, 100));
  }

  leave() {
    this.hovered = -1;
    this.drawOver();
    this.events.hover(-1, 0, 0, []);
  }

  listen() {
    const canvas = this.over;
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      this.zoom(Math.exp(-event.deltaY * (event.ctrlKey ? 0.01 : 0.0015)), ...this.placeOf(event));
    }, { passive: false });
    canvas.addEventListener("dblclick", (event) => this.zoom(2, ...this.placeOf(event)));
    canvas.addEventListener("pointerdown", (event) => this.press(event));
    canvas.addEventListener("pointermove", (event) => this.move(event));
    for (const name of ["pointerup", "pointercancel"]) {
      canvas.addEventListener(name, (event) => this.release(event, name === "pointercancel"));
    }
    canvas.addEventListener("pointerleave", () => this.pointers.size || this.leave());
    canvas.addEventListener("keydown", (event) => this.key(event));
    canvas.addEventListener("focus", () => {
      if (!canvas.matches(":focus-visible")) return;
      this.cross = [this.box.clientWidth / 2, this.box.clientHeight / 2];
      this.hover(...this.cross, 40);
    });
    canvas.addEventListener("blur", () => {
      this.cross = null;
      this.leave();
    });
  }

  press(event) {
    if (event.button || !this.camera) return;
    const place = this.placeOf(event);
    this.over.setPointerCapture(event.pointerId);
    this.pointers.set(event.pointerId, place);
    this.cross = null;
    if (this.pointers.size === 1) {
      this.begun = { place, moved: false, lasso: this.lassoing || event.shiftKey };
      if (this.begun.lasso) this.path = [this.world(...place)];
    }
  }

  move(event) {
    const place = this.placeOf(event), before = this.pointers.get(event.pointerId);
    if (!this.camera) return;
    if (!before) return this.hover(...place, event.pointerType === "touch" ? 20 : 10);
    const others = [...this.pointers].filter(([id]) => id !== event.pointerId);
    this.pointers.set(event.pointerId, place);
    if (Math.hypot(place[0] - this.begun.place[0], place[1] - this.begun.place[1]) > 5) this.begun.moved = true;
    if (others.length) { // two fingers: zoom around the one that does not move
      const rest = others[0][1];
      const [now, then] = [place, before].map((p) => Math.hypot(p[0] - rest[0], p[1] - rest[1]) || 1);
      this.begun.moved = true;
      this.begun.lasso = false;
      this.path = [];
      this.zoom(now / then, ...rest);
    } else if (this.begun.lasso) {
      this.path.push(this.world(...place));
      this.drawOver();
    } else if (this.begun.moved) {
      const { x, y, scale } = this.camera, r = this.ratio / scale;
      this.look({ x: x - (place[0] - before[0]) * r, y: y - (place[1] - before[1]) * r, scale });
      this.leave();
    }
  }

  release(event, cancelled) {
    if (!this.pointers.delete(event.pointerId) || this.pointers.size) return;
    const { path, begun } = this;
    this.path = [];
    if (cancelled) return this.drawOver();
    if (begun.lasso && path.length > 3) {
      this.grid ||= new Grid(this.target);
      this.events.select(this.grid.inside(path));
    } else if (!begun.moved) {
      const point = this.find(...this.placeOf(event), event.pointerType === "touch" ? 24 : 12);
      this.events.choose(point);
    }
    this.drawOver();
  }

  inView() {
    this.grid ||= new Grid(this.target);
    const [left, top] = this.world(0, 0), [right, bottom] = this.world(this.box.clientWidth, this.box.clientHeight);
    return this.grid.inside([[left, top], [right, top], [right, bottom], [left, bottom]]);
  }

  key(event) {
    const step = event.shiftKey ? 60 : 18;
    const moves = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    if (event.ctrlKey || event.metaKey || event.altKey || !this.camera) return;
    if (moves[event.key]) {
      const { clientWidth: width, clientHeight: height } = this.box;
      this.cross ||= [width / 2, height / 2];
      let [x, y] = this.cross.map((value, axis) => value + step * moves[event.key][axis]);
      const dx = Math.min(0, x - 30) + Math.max(0, x - width + 30);
      const dy = Math.min(0, y - 30) + Math.max(0, y - height + 30);
      if (dx || dy) { // at the edge, the map moves instead of the crosshair
        const r = this.ratio / this.camera.scale;
        this.look({ ...this.camera, x: this.camera.x + dx * r, y: this.camera.y + dy * r });
      }
      this.cross = [x - dx, y - dy];
      this.hover(...this.cross, 40);
      this.drawOver();
    } else if (event.key === "Enter" || event.key === " ") {
      if (this.hovered >= 0) this.events.choose(this.hovered);
    } else if (event.key === "+" || event.key === "=") this.zoom(1.5, ...(this.cross || []));
    else if (event.key === "-") this.zoom(1 / 1.5, ...(this.cross || []));
    else return;
    event.preventDefault();
  }
}
