// The beginning of an id, where a line has no room for all of it. Pure.

/** Ids are hashes, so these distinguish millions. */
const SHORT_DIGITS = 10

/** `memver_3k9f0z2c1d` */
export function shortId(id: string): string {
  return id.slice(0, id.indexOf('_') + 1 + SHORT_DIGITS)
}
