// T8: a member's own program gives memories paths that this release would not give: in another
// normal form, or with characters that its version of Unicode has not assigned. Readers take them,
// so that two releases judge one history alike; an owner sees them, and gets rid of them. A path
// with a character that is never seen is another matter: it looks like its neighbour on every
// screen, and all readers refuse it. FORMAT §1.6, §5.2.

import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { formatIdentity, openStore } from '../../src/index.ts'
import type { Identity } from '../../src/keys/identity.ts'
import { type Home, newHome } from '../e2e/cli-process.ts'
import { idOf } from '../support/forge-seal.ts'
import type { Forge } from '../support/forge.ts'
import { writeForged } from '../support/forged-disk.ts'
import {
  accepted,
  refused,
  standardHistory,
  type Verdicts,
  verdicts,
} from '../support/standard-forge.ts'
import { author, contentsOf } from '../support/stores.ts'
import { temporaryDirectory } from '../support/temporary.ts'

const decomposed = '/cafe\u0301.md'
const unassigned = '/\u0378.md'
const below = '/dir/e\u0301.md'

let forge: Forge
let member: Identity
beforeAll(async () => {
  const { forge: standard, writer } = await standardHistory('foreign paths')
  forge = standard
  member = writer
  const paths = ['/caf\u00e9.md', decomposed, unassigned, below]
  const rows = paths.map((path) => ({ memoryId: idOf(path), path, content: `at ${path}\n` }))
  const created = rows.map((row) => ({ ...row, operation: 'created' as const }))
  forge.change(
    created.toSorted((a, b) => (a.memoryId < b.memoryId ? -1 : 1)),
    { author: writer },
  )
})

async function ownersHome(): Promise<Home> {
  const home = newHome()
  home.file('.config/gitlocket/identity', formatIdentity(forge.founder))
  await writeForged(forge, home.store)
  return home
}

test('T8: both decoders accept them', async () => {
  expect(await verdicts(forge)).toEqual(accepted)
})

/** A member's change that makes `/notes.md`, and this path next to it. */
async function judgeNextToNotes(path: string): Promise<Verdicts> {
  const forged = forge.fork()
  const rows = ['/notes.md', path].map((one) => {
    const memoryId = idOf(`notes ${one}`)
    return { memoryId, path: one, content: 'x\n', operation: 'created' as const }
  })
  const sorted = rows.toSorted((a, b) => (a.memoryId < b.memoryId ? -1 : 1))
  forged.change(sorted, { author: member })
  return verdicts(forged)
}

describe('T8: both decoders refuse a second path that looks like /notes.md', () => {
  test.each([
    ['U+FE0F', '\ufe0f'],
    ['U+FE00', '\ufe00'],
    ['U+E0100', '\u{e0100}'],
    ['U+E01EF', '\u{e01ef}'],
    ['U+3164', '\u3164'],
    ['U+FFA0', '\uffa0'],
    ['U+115F', '\u115f'],
    ['U+1160', '\u1160'],
    ['U+034F', '\u034f'],
    ['U+17B5', '\u17b5'],
    ['U+180B', '\u180b'],
    ['U+180F', '\u180f'],
    ['U+2065', '\u2065'],
    ['U+2800', '\u2800'],
    ['U+FFF0', '\ufff0'],
    ['U+E0000', '\u{e0000}'],
    ['U+E0FFF', '\u{e0fff}'],
  ])('%s', async (_, character) => {
    expect(await judgeNextToNotes(`/notes${character}.md`)).toEqual(refused('detail_malformed'))
  })

  test('a name with an emoji without a selector is accepted', async () => {
    expect(await judgeNextToNotes('/notes \u2764.md')).toEqual(accepted)
  })
})

test(
  'T8: they are read, renamed, deleted, redacted and brought back like any path',
  { tags: 'slow' },
  async () => {
    const root = temporaryDirectory()
    const places = { directory: join(root, 'store'), stateDirectory: join(root, 'state') }
    await writeForged(forge, places.directory)
    const store = await openStore({ ...places, identity: forge.founder })
    const me = store.as(author)
    expect((await store.read(decomposed))?.content).toBe(`at ${decomposed}\n`)
    const { commit = '' } = await me.write(unassigned, 'edited\n')
    await me.move(decomposed, '/caf\u00e9-2.md')
    await me.delete(unassigned)
    await me.restore({ memory: unassigned, to: { commit } })
    expect((await store.read(unassigned))?.content).toBe('edited\n')
    await me.rollback({ to: { commit } })
    expect(await contentsOf(store)).toMatchObject({ [decomposed]: `at ${decomposed}\n` })
    await me.redact({ select: { path: unassigned }, current: 'delete', reason: 'poisoned' })
    expect(await store.read(unassigned)).toBeUndefined()
    await store.close()
  },
)

test(
  'T8: nothing gets such a path, a file of a renamed directory neither',
  { tags: 'slow' },
  async () => {
    const home = await ownersHome()
    const created = await home.call(['create', '\u0379.md', '--text', 'x'])
    const renamed = await home.call(['mv', 'a.md', '\u0379.md'])
    expect([created.exitCode, renamed.exitCode]).toEqual([2, 2])
    // A decomposed name is composed, unless the store has it as it is.
    const composed = await home.call(['create', 'e\u0301.md', '--text', 'x'])
    expect(composed).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('/\u00e9.md') })
    expect(await home.ok('cat', decomposed)).toBe(`at ${decomposed}\n`)
    expect(await home.ok('cat', 'caf\u00e9.md')).toBe('at /caf\u00e9.md\n')
    const moved = await home.call(['mv', 'dir', 'elsewhere'])
    expect(moved).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('form C') })
    for (const words of [
      ['mv', below, 'dir/good.md'],
      ['mv', 'dir', 'elsewhere'],
      ['rm', unassigned],
      ['verify'],
    ]) {
      expect(await home.call(words)).toMatchObject({ exitCode: 0 })
    }
  },
)

test(
  'T8: no file of an export is written over another that only looks like it',
  { tags: 'slow' },
  async () => {
    const home = await ownersHome()
    const failed = await home.call(['export', 'out'])
    expect(failed).toMatchObject({ exitCode: 2 })
    expect(failed.stderr).toContain(`${decomposed} is not in Unicode normalization form C`)
    expect(existsSync(join(home.directory, 'out'))).toBe(false)
    expect(await home.call(['export', 'out', '--skip-unsafe'])).toMatchObject({ exitCode: 0 })
    const out = join(home.directory, 'out')
    expect(readdirSync(out).toSorted()).toEqual(['a.md', 'caf\u00e9.md', 'dir', '\u0378.md'])
    expect(readFileSync(join(out, 'caf\u00e9.md'), 'utf8')).toBe('at /caf\u00e9.md\n')
    const again = await home.call(['import', 'out', '--to', '/again'])
    expect(again.stderr).toMatch(/\u0378\.md: A new path must not contain .* unassigned/)
  },
)
