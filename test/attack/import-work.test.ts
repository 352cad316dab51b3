// T67: inputs that are made to be expensive to import: long names, many lines with one name, a tree
// without any wanted file. Twice the input takes twice the time: if it took four times, each of
// these tests would run for minutes.

import { expect, test } from 'vitest'
import { utf8 } from '../../src/bytes.ts'
import { importAnswer } from '../../src/cli/commands/import.ts'
import { entityFiles, parseGraph } from '../../src/cli/import/mcp-memory.ts'

const MANY = 200_000
const LINES = 60_000

test('T67: a name of many dots', () => {
  const name = `a${'.'.repeat(MANY)}a`
  expect(entityFiles([name]).get(name)).toBe('a.md')
})

test('T67: many lines of one entity', () => {
  const lines = Array.from({ length: LINES }, (_, number) => {
    return JSON.stringify({
      type: 'entity',
      name: 'a',
      entityType: 'b',
      observations: [`${number}`],
    })
  })
  const { entities } = parseGraph(utf8(lines.join('\n')))
  expect(entities).toHaveLength(1)
  expect(entities[0]?.observations).toHaveLength(LINES)
})

test('T67: many files that are left out', () => {
  const leftOut = Array.from({ length: MANY }, (_, number) => {
    return { origin: `${number}.png`, reason: 'not Markdown' }
  })
  const plan = { jobs: [], unchanged: 0, skipped: [], conflicts: [], unsuitable: [], flagged: [] }
  const whole = { ...plan, held: [], memories: 0, limit: 1 }
  const facts = { commits: 0, session: 'import', dryRun: false }
  const { note } = importAnswer({ plan: whole, leftOut, ...facts })
  expect(note).toContain('0.png, 1.png, 2.png, and 199997 more')
})
