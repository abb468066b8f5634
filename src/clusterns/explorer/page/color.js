// Topic colors: equal lightness, distinct hues, the same on every visit.

// OKLCH to 8-bit sRGB.
function rgb(lightness, chroma, hue) {
  const a = chroma * Math.cos(hue), b = chroma * Math.sin(hue);
  const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
  return [
    4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
    -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
    -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s,
  ].map((value) => {
    const v = Math.min(1, Math.max(0, value));
    return Math.round(255 * (v <= 0.0031308 ? 12.92 * v : 1.055 * v ** (1 / 2.4) - 0.055));
  });
}

export const css = ([r, g, b]) => `rgb(${r} ${g} ${b})`;
// The bytes of an ImageData are red, green, blue, alpha.
export const packed = ([r, g, b]) => ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;

const GOLDEN = Math.PI * (3 - Math.sqrt(5));

export function topicColor(topic, dark) {
  if (topic < 0) return dark ? [84, 88, 102] : [188, 190, 199];
  const ring = topic % 3;
  const lightness = (dark ? 0.76 : 0.62) + [0, 0.07, -0.07][ring];
  return rgb(lightness, [0.15, 0.12, 0.14][ring], 4.9 + topic * GOLDEN);
}

// From "same" (grayish blue) over violet to "all new" (warm).
export function changeColor(share, dark) {
  const t = Math.min(1, Math.max(0, share));
  const lightness = dark ? 0.45 + 0.35 * t : 0.85 - 0.27 * t;
  return rgb(lightness, 0.02 + 0.17 * t, 4.6 + 2.2 * t);
}
