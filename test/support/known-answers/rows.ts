// What the known answers are made of: rows, and bytes to ask with.

/** A name, the answer, and how to ask for it. */
export type AnswerRow = readonly [string, string, () => unknown]

export const ascending = (length: number, start = 0): Uint8Array =>
  Uint8Array.from({ length }, (_, index) => (start + index) & 255)

/** The bytes in the middle of a larger buffer, as slices of a pack are. */
export const within = (bytes: Uint8Array): Uint8Array => {
  const all = new Uint8Array(bytes.length + 20).fill(7)
  all.set(bytes, 9)
  return all.subarray(9, 9 + bytes.length)
}
