// Processes compare texts by hash, since the texts are too large to send.

import { createHash } from 'node:crypto'

export function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
