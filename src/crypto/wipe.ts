// Overwrites secrets that are no longer needed. The engine may have copied them before (FORMAT and
// the threat model promise nothing about a process's memory), so this shortens a window and no
// more.

import { sodium } from './sodium.ts'

export function wipe(...secrets: readonly Uint8Array[]): void {
  for (const secret of secrets) sodium.memzero(secret)
}
