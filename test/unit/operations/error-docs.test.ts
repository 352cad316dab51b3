// docs/ERRORS.md is generated from the tables of src/operations. UPDATE_DOCS=1 updates it.

import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { errorSurface } from '../../../src/operations/error-surface.ts'
import { exitCodes } from '../../../src/operations/exit-codes.ts'

const path = fileURLToPath(new URL('../../../docs/ERRORS.md', import.meta.url))

const introduction = `# Errors

Every failure that the library expects is a \`StoreError\` with one of these codes. The codes are
stable; the messages are sentences for users and may change. A message never holds the content of a
memory, key material or a path of the host.

This file is generated from \`src/operations/error-surface.ts\`: run
\`UPDATE_DOCS=1 npx vitest run test/unit/operations/error-docs.test.ts\` after a change there.

## Exit codes
`

function documentText(): string {
  const meanings = table(
    ['exit code', 'meaning'],
    [...exitCodes].map(([code, meaning]) => [String(code), meaning]),
  )
  const codes = table(
    ['code', 'exit code', 'HTTP', 'error type', 'retry', 'what to do'],
    Object.entries(errorSurface).map(([code, row]) => [
      `\`${code}\``,
      String(row.exitCode),
      String(row.status),
      `\`${row.type}\``,
      row.retryable ? 'yes' : 'no',
      row.advice,
    ]),
  )
  return `${introduction}\n${meanings}\n## Error codes\n\n${codes}`
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const all = [head, head.map(() => '---'), ...rows]
  return all.map((cells) => `| ${cells.join(' | ')} |\n`).join('')
}

test('docs/ERRORS.md is generated from the current tables', () => {
  if (process.env['UPDATE_DOCS'] === '1') writeFileSync(path, documentText())
  expect(readFileSync(path, 'utf8')).toBe(documentText())
})
