// Arbitrary changes for a store: few names, so that they meet, and now and then a path or a content
// that has to be refused. And what a planned change is in the product's terms.

import * as fc from 'fast-check'
import type { Change } from '../../src/index.ts'
import type { PlannedChange } from './store-model.ts'

/** Small enough that contents and stores run into them. */
export const smallLimits: { readonly contentBytes: number; readonly memories: number } = {
  contentBytes: 40,
  memories: 9,
}

// Names that are prefixes of one another, that start with a dot, and that JavaScript objects know.
const name = fc.constantFrom('a', 'b', 'ab', 'é', '.c', '__proto__')
const legalPath = fc
  .array(name, { minLength: 1, maxLength: 3 })
  .map((segments) => `/${segments.join('/')}`)
// At the limits of segments and bytes, and so close to them that paths moved below are beyond.
const longPath = fc.constantFrom('/d'.repeat(19), '/d'.repeat(20), `/${'x'.repeat(1023)}`)
const refusedPath = fc.constantFrom(
  '/',
  '',
  'a',
  '/a/',
  '/a//b',
  '/a/../b',
  '/.',
  '/e\u0301',
  '/a\u200d',
  '/a\n',
  '/\ud800',
  '/d'.repeat(21),
  `/${'x'.repeat(1024)}`,
  '/.anthropic-memory-store',
)

const storePath: fc.Arbitrary<string> = fc.oneof(
  { weight: 30, arbitrary: legalPath },
  { weight: 2, arbitrary: longPath },
  { weight: 2, arbitrary: refusedPath },
)

const legalContent = fc.string({
  unit: fc.constantFrom('x', 'y', '\n', '\r', 'é', '\u{1f600}', '\ufeff'),
  maxLength: 8,
})
const content: fc.Arbitrary<string> = fc.oneof(
  { weight: 20, arbitrary: legalContent },
  { weight: 1, arbitrary: fc.constantFrom('nul\0', '\udfff', 'é'.repeat(20), 'é'.repeat(21)) },
)

const change: fc.Arbitrary<PlannedChange> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({ type: fc.constant('create' as const), path: storePath, content }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ type: fc.constant('edit' as const), path: storePath, content }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      type: fc.constant('append' as const),
      path: storePath,
      text: content,
    }),
  },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('delete' as const), path: storePath }) },
  {
    weight: 4,
    arbitrary: fc.record({
      type: fc.constant('rename' as const),
      path: storePath,
      to: storePath,
    }),
  },
)

/** The changes of one commit; mostly one. */
export const changes: fc.Arbitrary<readonly PlannedChange[]> = fc.oneof(
  { weight: 4, arbitrary: fc.tuple(change) },
  { weight: 1, arbitrary: fc.array(change, { maxLength: 5 }) },
)

export function toChange(planned: PlannedChange): Change {
  switch (planned.type) {
    case 'edit':
      return { type: 'edit', path: planned.path, edit: () => planned.content }
    case 'append':
      return { type: 'append', path: planned.path, content: planned.text }
    case 'create':
    case 'delete':
    case 'rename':
      return planned
    default:
      throw new Error('Not a change')
  }
}
