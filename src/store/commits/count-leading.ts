// Binary search in the store's ordered lists.

/** An array, or a list that creates its items on demand. */
interface Items<T> {
  readonly length: number
  at(index: number): T | undefined
}

/** The number of items for which `holds`, in a list in which those come first. */
export function countLeading<T>(items: Items<T>, holds: (item: T) => boolean): number {
  let low = 0
  let high = items.length
  while (low < high) {
    const middle = (low + high) >>> 1
    const item = items.at(middle)
    if (item !== undefined && holds(item)) low = middle + 1
    else high = middle
  }
  return low
}
