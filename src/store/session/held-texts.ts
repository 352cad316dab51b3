// What rooms above the session keep of decrypted texts in RAM. It is given up where the session
// gives up its own: after a redaction, and when the store is closed.

export interface HeldTexts {
  /** The versions of which it has a text or a part of one, ids in hex. */
  readonly versionIds: readonly string[]
  /** Forgets all of them, at once. */
  clear(): void
}
