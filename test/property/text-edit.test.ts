// str_replace and insert on a real store against the same on a list of lines, as
// docs/MEMORY-TOOL.md words them. Each function by itself is test/unit/store/text-edit.test.ts's.

import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { StoreError } from '../../src/errors.ts'
import { type OperationContext, runOperation } from '../../src/operations/operation.ts'
import { insert, strReplace } from '../../src/operations/operations.ts'
import { parseInput } from '../../src/operations/schemas.ts'
import { full, seed } from '../support/seed.ts'
import { author, newStore } from '../support/stores.ts'

type Edit =
  | { readonly type: 'insert'; readonly line: number; readonly text: string }
  | { readonly type: 'replace'; readonly old: string; readonly text: string }

/** Few letters, so that texts repeat themselves; pairs and all kinds of line ends among them. */
const text = fc.string({
  unit: fc.constantFrom('a', 'b', '\n', '\r\n', '\u{1f600}', '$&', '\u2028'),
  maxLength: 8,
})
const edit: fc.Arbitrary<Edit> = fc.oneof(
  fc.record({ type: fc.constant('insert' as const), line: fc.integer({ min: 0, max: 8 }), text }),
  fc.record({
    type: fc.constant('replace' as const),
    old: fc.oneof(text, fc.constantFrom('a', 'ab', '\n', 'a\n', '\ud83d')),
    text,
  }),
)

/** A text as its lines and whether a newline ends the last one. */
interface Lines {
  readonly lines: readonly string[]
  readonly ended: boolean
}

type Outcome =
  | { readonly text: string }
  | { readonly code: string; readonly lines?: readonly number[] }

function linesOf(content: string): Lines {
  const lines = content.split('\n')
  const ended = lines.at(-1) === ''
  return { lines: ended ? lines.slice(0, -1) : lines, ended }
}

function textOf({ lines, ended }: Lines): string {
  return lines.join('\n') + (ended && lines.length > 0 ? '\n' : '')
}

function inserted(content: string, line: number, added: string): Outcome {
  const before = linesOf(content)
  if (line > before.lines.length) return { code: 'invalid_line' }
  if (content === '') return { text: added }
  // An empty text to insert is an empty line.
  const block = added === '' ? [''] : linesOf(added).lines
  const lines = [...before.lines.slice(0, line), ...block, ...before.lines.slice(line)]
  return { text: textOf({ ...before, lines }) }
}

function replaced(content: string, old: string, by: string): Outcome {
  if (old === '') return { code: 'invalid_input' }
  const offsets = Array.from({ length: content.length }, (_, offset) => offset).filter(
    (at) =>
      content.startsWith(old, at) &&
      content.slice(0, at).isWellFormed() &&
      content.slice(at + old.length).isWellFormed(),
  )
  const [only] = offsets
  if (only === undefined) return { code: 'no_match' }
  if (offsets.length > 1) {
    const lines = offsets.map((at) => content.slice(0, at).split('\n').length)
    return { code: 'multiple_matches', lines }
  }
  return { text: content.slice(0, only) + by + content.slice(only + old.length) }
}

function expectedOf(content: string, taken: Edit): Outcome {
  return taken.type === 'insert'
    ? inserted(content, taken.line, taken.text)
    : replaced(content, taken.old, taken.text)
}

async function editStore(context: OperationContext, taken: Edit): Promise<Outcome> {
  const path = '/a.md'
  try {
    if (taken.type === 'insert') {
      const input = { path, insert_line: taken.line, insert_text: taken.text }
      await runOperation(insert, context, parseInput(insert.input, input))
    } else {
      const input = { path, old_str: taken.old, new_str: taken.text }
      const parsed = parseInput(strReplace.input, input)
      const { snippet } = await runOperation(strReplace, context, parsed)
      const { content } = (await context.store.read(path)) ?? { content: '' }
      const from = snippet.firstLine - 1
      const shown = content === '' ? [''] : linesOf(content).lines
      expect(snippet.lines).toEqual(shown.slice(from, from + snippet.lines.length))
      return { text: content }
    }
    return { text: (await context.store.read(path))?.content ?? '' }
  } catch (error) {
    if (!(error instanceof StoreError)) throw error
    const { lines } = error.details
    return lines === undefined ? { code: error.code } : { code: error.code, lines }
  }
}

test('edits of a file equal the same edits of its lines', { tags: 'slow' }, async () => {
  const { store } = await newStore()
  const context: OperationContext = { store, me: store.as(author), access: 'read_write' }
  const property = fc.asyncProperty(
    text,
    fc.array(edit, { maxLength: 12, size: 'max' }),
    async (start, edits) => {
      let content = start
      await store.as(author).apply([{ type: 'create', path: '/a.md', content }])
      try {
        for (const taken of edits) {
          const expected = expectedOf(content, taken)
          expect(await editStore(context, taken)).toEqual(expected)
          content = 'text' in expected ? expected.text : content
          expect((await store.read('/a.md'))?.content).toBe(content)
        }
      } finally {
        await store.as(author).apply([{ type: 'delete', path: '/a.md' }])
      }
    },
  )
  await fc.assert(property, { seed, numRuns: full ? 5000 : 80 })
  await store.close()
})
