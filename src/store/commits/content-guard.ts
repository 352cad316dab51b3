// The function that checks texts before they are written, given when a store is opened or for a
// write.

export interface Finding {
  /** The kind of finding in a few words: `private key`. Shown to the model; none of the text. */
  readonly rule: string
  /** 1-based; 0 for the path. */
  readonly line: number
  /**
   * The position in the content (or the path), in UTF-16 units; by default the whole line. Used to
   * distinguish a new secret from one that the memory already contains.
   */
  readonly range?: readonly [start: number, end: number]
}

/**
 * Returns the secrets in a content or its path. Also called with an empty path and, as
 * the content, the reason of a change, or what can never be erased: the id of an actor or a
 * session, the name of a device, the name, description and metadata of a store. Other writers wait
 * for it. It must depend only on its arguments. If it throws, nothing is written either.
 */
export type ContentGuard = (
  content: string,
  path: string,
) => readonly Finding[] | Promise<readonly Finding[]>
