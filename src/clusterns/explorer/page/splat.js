// Draws points as small discs, blended into pixels: no GPU needed, a few milliseconds for 100,000 points.

function disc(radius) {
  const reach = Math.ceil(radius), pixels = [];
  for (let dy = -reach; dy <= reach; dy++) {
    for (let dx = -reach; dx <= reach; dx++) {
      const cover = Math.min(1, Math.max(0, radius + 0.5 - Math.hypot(dx, dy)));
      if (cover > 0.02) pixels.push({ dx, dy, cover });
    }
  }
  return { reach, pixels };
}

// pixels: Uint32Array of width x height; colors: Uint32Array; faded: Uint8Array (1 = in the
// background) or null. Faded points come first, so that the others are on top.
export function splat(pixels, width, height, xy, camera, colors, faded, radius, alpha) {
  const mask = disc(radius), size = mask.pixels.length, reach = mask.reach;
  const offsets = mask.pixels.map(({ dx, dy }) => dy * width + dx);
  const { scale, x: cx, y: cy } = camera, half = [width / 2, height / 2], count = colors.length;
  for (const background of faded ? [1, 0] : [0]) {
    const strength = 256 * (background ? alpha * 0.16 : alpha);
    const covers = mask.pixels.map(({ cover }) => Math.round(cover * strength));
    for (let i = 0; i < count; i++) {
      if (faded && faded[i] !== background) continue;
      const x = Math.round((xy[2 * i] - cx) * scale + half[0]);
      const y = Math.round((xy[2 * i + 1] - cy) * scale + half[1]);
      if (x < reach || y < reach || x >= width - reach || y >= height - reach) continue;
      const at = y * width + x, color = colors[i];
      const redBlue = color & 0xff00ff, green = color & 0xff00;
      for (let p = 0; p < size; p++) {
        const o = at + offsets[p], before = pixels[o], a = covers[p], b = 256 - a;
        pixels[o] = 0xff000000
          | ((((before & 0xff00ff) * b + redBlue * a) >>> 8) & 0xff00ff)
          | ((((before & 0xff00) * b + green * a) >>> 8) & 0xff00);
      }
    }
  }
}
