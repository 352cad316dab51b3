// Overwrites secrets that are no longer needed. The engine may have copied them before: FORMAT and
// the threat model promise nothing about process memory. This only shortens the exposure.

import { sodium } from './sodium.ts'

export function wipe(...secrets: readonly Uint8Array[]): void {
  for (const secret of secrets) sodium.memzero(secret)
}
