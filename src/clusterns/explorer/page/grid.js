// Finds the point under the pointer, using a grid of cells built once per map.

const CELLS = 256;

export class Grid {
  constructor(xy) {
    this.xy = xy;
    const count = xy.length / 2;
    const cell = new Uint32Array(count);
    this.start = new Uint32Array(CELLS * CELLS + 1);
    for (let i = 0; i < count; i++) {
      cell[i] = this.cell(xy[2 * i + 1]) * CELLS + this.cell(xy[2 * i]);
      this.start[cell[i] + 1]++;
    }
    for (let c = 0; c < CELLS * CELLS; c++) this.start[c + 1] += this.start[c];
    const next = this.start.slice(0, -1);
    this.points = new Uint32Array(count);
    for (let i = 0; i < count; i++) this.points[next[cell[i]]++] = i;
  }

  cell(value) {
    return Math.min(CELLS - 1, Math.max(0, Math.floor(value * CELLS)));
  }

  // Call visit(point) for all points in the cells that a rectangle touches.
  within(left, top, right, bottom, visit) {
    const [x0, x1, y0, y1] = [left, right, top, bottom].map((value) => this.cell(value));
    for (let y = y0; y <= y1; y++) {
      const end = this.start[y * CELLS + x1 + 1];
      for (let at = this.start[y * CELLS + x0]; at < end; at++) visit(this.points[at]);
    }
  }

  // Return the nearest point within a radius, or -1; add all points within it to the list ``around``.
  nearest(x, y, radius, around) {
    let best = -1, minDistance = radius * radius;
    this.within(x - radius, y - radius, x + radius, y + radius, (i) => {
      const dx = this.xy[2 * i] - x, dy = this.xy[2 * i + 1] - y, distance = dx * dx + dy * dy;
      if (distance <= minDistance) { best = i; minDistance = distance; }
      if (around && distance < radius * radius) around.push(i);
    });
    return best;
  }

  inside(polygon) {
    const xs = polygon.map((p) => p[0]), ys = polygon.map((p) => p[1]), found = [];
    const bounds = [Math.min(...xs), Math.min(...ys), Math.max(...xs), Math.max(...ys)];
    this.within(...bounds, (i) => {
      if (contains(polygon, this.xy[2 * i], this.xy[2 * i + 1])) found.push(i);
    });
    return found;
  }
}

function contains(polygon, x, y) {
  let inside = false;
  for (let i = 0, j = polygon.length - 1; i < polygon.length; j = i++) {
    const [xi, yi] = polygon[i], [xj, yj] = polygon[j];
    if (yi > y !== yj > y && x < ((xj - xi) * (y - yi)) / (yj - yi) + xi) inside = !inside;
  }
  return inside;
}
