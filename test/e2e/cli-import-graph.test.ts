// `import --from mcp-memory`: an entity becomes a memory, with what relates it to others.

import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { type Home, newHomeWithStore } from './cli-process.ts'

const from = ['import', '--from', 'mcp-memory'] as const

function entity(name: string, ...observations: readonly string[]): object {
  return { type: 'entity', name, entityType: 'person', observations }
}

function relation(source: string, relationType: string, to: string): object {
  return { type: 'relation', from: source, to, relationType }
}

function withGraph(home: Home, ...lines: readonly unknown[]): void {
  const texts = lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line)))
  home.file('memory.jsonl', `${texts.join('\n')}\n`)
}

test('each entity has a file with its observations and relations in both directions', async () => {
  const home = await newHomeWithStore()
  withGraph(
    home,
    entity('Ada Lovelace', 'Wrote notes\non an engine', 'Speaks French'),
    entity('Charles'),
    relation('Ada Lovelace', 'works with', 'Charles'),
    relation('Charles', 'built', 'Engine'),
    relation('Nobody', 'knows', 'No one'),
  )
  expect(await home.ok(...from, 'memory.jsonl')).toMatch(/^Imported 3 memories\n/)
  expect(await home.ok('cat', 'mcp-memory/Ada-Lovelace.md')).toBe(
    '# Ada Lovelace\n\nType: person\n\n## Observations\n\n- Wrote notes\n  on an engine\n' +
      '- Speaks French\n\n## Relations\n\n- → works with → Charles (Charles.md)\n',
  )
  expect(await home.ok('cat', 'mcp-memory/Charles.md')).toBe(
    '# Charles\n\nType: person\n\n## Relations\n\n' +
      '- → built → Engine\n- ← works with ← Ada Lovelace (Ada-Lovelace.md)\n',
  )
  expect(await home.ok('cat', 'mcp-memory/relations.md')).toBe(
    '# Relations of entities that were not there\n\n- Nobody → knows → No one\n',
  )
})

describe('a file that a program of Windows has written', () => {
  const lines = [entity('Zoë', 'writes'), entity('Bob', 'reads')]
  const text = `${lines.map((line) => JSON.stringify(line)).join('\r\n')}\r\n`
  const wide = (value: string): Buffer => Buffer.from(value, 'utf16le')

  test.each([
    ['UTF-8 with a mark', Buffer.from(`\u{feff}${text}`)],
    ['UTF-16', wide(`\u{feff}${text}`)],
    ['UTF-16 of the other byte order', wide(`\u{feff}${text}`).swap16()],
  ])('in %s is read', async (_, bytes) => {
    const home = await newHomeWithStore()
    home.file('memory.jsonl', bytes)
    expect(await home.ok(...from, 'memory.jsonl')).toMatch(/^Imported 2 memories\n/)
    expect(await home.ok('cat', 'mcp-memory/Zoë.md')).toContain('# Zoë\n')
  })

  test.each([
    ['UTF-16 without a mark', wide(text)],
    ['UTF-16 of the other byte order without a mark', wide(text).swap16()],
    ['UTF-16 that is cut off', wide(`\u{feff}${text}`).subarray(0, -1)],
  ])('in %s is refused, and says how it would be read', async (_, bytes) => {
    const home = await newHomeWithStore()
    const file = home.file('memory.jsonl', bytes)
    const { exitCode, stdout, stderr } = await home.call([...from, file])
    expect([exitCode, stdout]).toEqual([2, ''])
    expect(stderr).toContain(`${file} is not UTF-8 text: save it as UTF-8, then import it\n`)
  })
})

test('changes nothing in a second run, and refuses an entity that has grown', async () => {
  const home = await newHomeWithStore()
  const lines = [entity('Ada', 'one'), entity('ada', 'two'), relation('Ada', 'is not', 'ada')]
  withGraph(home, ...lines)
  await home.ok(...from, 'memory.jsonl', '--to', '/people')
  withGraph(home, ...lines, entity('ADA', 'three'))
  const again = await home.json(...from, 'memory.jsonl', '--to', '/people')
  expect(again).toMatchObject({ imported: 1, unchanged: 2 })
  const paths = (await home.ok('ls', '-R')).trim().split('\n')
  expect(paths).toHaveLength(3)
  // Also on a disk that ignores case.
  expect(await home.ok('export', 'out')).toMatch(/^Exported 3 memories/)
  expect(new Set(paths.map((path) => path.toLowerCase())).size).toBe(3)
  const kept = await Promise.all(paths.map(async (path) => home.ok('cat', path)))
  expect(kept.map((text) => text.slice(0, 5)).toSorted()).toEqual(['# ADA', '# Ada', '# ada'])
  withGraph(home, entity('Ada', 'one', 'more'), ...lines.slice(1))
  const grown = await home.call([...from, 'memory.jsonl', '--to', '/people'])
  expect(grown.stderr).toContain('nothing was imported\n  /people/Ada.md\n')
})

test('damaged lines are refused by number, or left out; their text is not shown', async () => {
  const home = await newHomeWithStore()
  withGraph(home, entity('Ada'), '{"type":"entity","name":"secret', relation('Ada', 'is', 'here'))
  const refused = await home.call([...from, 'memory.jsonl'])
  expect(refused).toMatchObject({ exitCode: 2, stdout: '' })
  expect(refused.stderr).toContain('  memory.jsonl:2: not JSON\n')
  expect(refused.stderr).not.toContain('secret')
  expect(await home.ok('ls')).toBe('')
  const part = await home.call([...from, 'memory.jsonl', '--skip-unsuitable', '--json'])
  expect(JSON.parse(part.stdout)).toMatchObject({
    imported: 1,
    left_out: [{ origin: 'memory.jsonl:2', reason: 'not JSON' }],
  })
})

test('keeps hostile names below the place, and the real name in the text', async () => {
  const home = await newHomeWithStore()
  const names = ['../../escape', '/etc/passwd', 'a\nb', '', 'x'.repeat(5000), 'relations', 'NUL']
  withGraph(home, ...names.map((name) => entity(name, 'text')))
  await home.ok(...from, 'memory.jsonl')
  const paths = (await home.ok('ls', '-R')).trim().split('\n')
  expect(paths).toHaveLength(names.length)
  for (const path of paths) expect(path).toMatch(/^\/mcp-memory\/[^/]+\.md$/)
  expect(await home.ok('cat', 'mcp-memory/escape.md')).toMatch(/^# \.\.\/\.\.\/escape\n/)
  expect(await home.ok('cat', 'mcp-memory/a-b.md')).toMatch(/^# a b\n\nName: "a\\nb"\n/)
})

test('an observation that no memory can hold is named by its line', async () => {
  const home = await newHomeWithStore()
  withGraph(home, entity('Ada', 'fine'), entity('Nul', '\0'), entity('Big', 'x'.repeat(103_000)))
  const refused = await home.call([...from, 'memory.jsonl'])
  expect(refused.stderr).toContain('  memory.jsonl:2: contains NUL characters\n')
  expect(refused.stderr).toContain('  memory.jsonl:3: more than 102400 bytes')
})

test('it needs a file', async () => {
  const home = await newHomeWithStore()
  mkdirSync(join(home.directory, 'place'))
  expect((await home.call([...from])).stderr).toContain('needs the file memory.jsonl')
  expect((await home.call([...from, 'place'])).stderr).toContain('place is a directory')
  expect((await home.call([...from, 'no'])).stderr).toContain('There is nothing at no')
})
