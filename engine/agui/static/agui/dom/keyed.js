// @ts-check
/**
 * Lists of views that follow lists of data. Views are kept by key, and only differences are
 * changed.
 */

/**
 * Keep one view for each item: make views of new items, and drop the views of items that are gone.
 * @template K, T, V
 * @param {Map<K, V>} views by key; this function updates the map
 * @param {T[]} items
 * @param {{ key: (item: T, index: number) => K, make: (item: T) => V, drop: (view: V) => void }}
 *   how
 * @returns {V[]} in the order of the items
 */
export function reconcile(views, items, { key, make, drop }) {
  const keys = items.map(key);
  const kept = new Set(keys);
  for (const [name, view] of views) {
    if (kept.has(name)) continue;
    views.delete(name);
    drop(view);
  }
  return items.map((item, index) => {
    const name = keys[index];
    if (!views.has(name)) views.set(name, make(item));
    return /** @type {V} */ (views.get(name));
  });
}

/**
 * Put elements into a parent in this order. An element in its place is not moved, because it would
 * lose the focus.
 * @param {Element} parent @param {Element[]} elements
 * @param {string} [between] a selector of other children, which stay behind the element that they
 *   follow
 */
export function arrange(parent, elements, between = ":not(*)") {
  /** @param {Element | null} place */
  const past = (place) => {
    while (place?.matches(between)) place = place.nextElementSibling;
    return place;
  };
  let place = past(parent.firstElementChild);
  for (const element of elements) {
    if (element === place) place = past(place.nextElementSibling);
    else parent.insertBefore(element, place);
  }
}

/**
 * Whether these values are the same as before.
 * @param {unknown[]} values @param {unknown[]} before
 */
export function isSame(values, before) {
  return values.length === before.length && values.every((value, index) => value === before[index]);
}
