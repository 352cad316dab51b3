// Versions that may hold a redacted text, as text and as JSON, with what to type.

import type { Wire } from '../../api/wire.ts'
import type { BuiltOnRedacted } from '../../store/redaction/built-on.ts'
import { visible } from '../../text/visible.ts'
import { listOf } from './lists.ts'
import { countText } from './sizes.ts'
import { wire } from './wire.ts'

/** At most this many redacted versions are named in the command. */
const NAMED_MAX = 8

/** None without such versions. */
export function builtOnRedactedLines(found: readonly BuiltOnRedacted[]): readonly string[] {
  if (found.length === 0) return []
  const count = countText(found.length, 'version was', 'versions were')
  const may = found.length === 1 ? 'may hold its text' : 'may hold their texts'
  const lines = found.map(({ versionId, path = '(redacted)' }) => `${versionId}  ${visible(path)}`)
  const redacted = [...new Set(found.flatMap((one) => one.redactedVersionIds))]
  const named = redacted.slice(0, NAMED_MAX).join(' ')
  return [
    `${count} written on redacted ones by devices that did not know of that, and ${may}:`,
    ...listOf(lines).split('\n'),
    `To redact them as well: \`gitlocket redact --with-copies ${named}\``,
  ]
}

export function builtOnRedactedJson(found: BuiltOnRedacted): Wire {
  const { memoryId, versionId, path, redactedVersionIds } = found
  return wire({ memoryId, versionId, path, redactedVersionIds })
}
