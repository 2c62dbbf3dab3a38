// Does work grow with its input, and not with the square of it? Nothing here asks how long a machine takes.

/** All strings of this length, except repetitions and rotations of others. */
export function* units(letters, length) {
  for (let number = 0; number < letters.length ** length; number++) {
    const places = Array.from({ length }, (_, place) => Math.floor(number / letters.length ** place) % letters.length);
    const rotations = places.map((_, begin) => [...places.slice(begin), ...places.slice(0, begin)].map((place) => String.fromCharCode(65 + place)).join(""));
    if (rotations.every((rotation, begin) => !begin || rotation > rotations[0])) yield places.map((place) => letters[place]);
  }
}

/** In milliseconds of the processor: other programs take their share of the clock's. @param {() => void} work */
export function cost(work) {
  const begun = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(begun);
  return (user + system) / 1000;
}

/** @param {() => void} work */
export const fastest = (work, tries = 5) => Math.min(...Array.from({ length: tries }, () => cost(work)));

/**
 * Is four times the input more than eight times the work? Sixteen times would be the square.
 * @param {(size: number) => () => void} prepare @param {number} size @param {number} calm what four times `size` costs if there is nothing to it
 */
export function growsTooFast(prepare, size, calm) {
  const long = prepare(4 * size);
  if (cost(long) < 4 * calm || fastest(long) < 4 * calm) return false;
  // What is dear by a constant is told from what is quadratic by two steps, and from what other programs slow by tries.
  const [short, longest] = [prepare(size), prepare(16 * size)];
  return [1, 2, 3].every(() => fastest(long) > 8 * fastest(short) && fastest(longest, 2) > 8 * fastest(long));
}
