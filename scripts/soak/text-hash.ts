// How texts are compared between processes: they are too many to be sent.

import { createHash } from 'node:crypto'

export function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
