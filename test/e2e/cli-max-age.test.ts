// What a sandbox is told about the age of the state that its remote shows, and GITLOCKET_MAX_AGE.

import { expect, test } from 'vitest'
import { openDefaultStore } from '../../src/index.ts'
import { bareRemote, idOf, put, sync } from '../support/clones.ts'
import { author, newStore } from '../support/stores.ts'
import { type Home, newHome } from './cli-process.ts'

const DAY = 86_400_000

interface Given {
  readonly home: Home
  readonly granter: string
  readonly refresh: () => Promise<unknown>
}

/** A sandbox whose remote shows a state of this age. */
async function shownFrom(ageMs: number): Promise<Given> {
  let now = Date.now() - ageMs
  const { store, place } = await newStore({ clock: () => now })
  await store.remotes.add('origin', bareRemote())
  await put({ store }, '/a.md')
  await sync({ store })
  const { text, url } = await store.as(author).grants.give({ lastsMs: 60 * DAY })
  const home = newHome()
  Object.assign(home.variables, { GITLOCKET_GRANT: text, GITLOCKET_REMOTE: url })
  const refresh = async (): Promise<unknown> => {
    now = Date.now()
    return sync({ store })
  }
  return { home, granter: idOf({ place }), refresh }
}

test('status warns of a state of seven days, and a limit refuses it', async () => {
  const { home, granter, refresh } = await shownFrom(8 * DAY)
  expect(await home.ok('cat', 'a.md')).toBe('/a.md')
  const status = await home.ok('status')
  expect(status).toMatch(/^Newest +signed on \d{4}-\S+$/m)
  expect(status).toContain(`${granter} does not sync, or the host shows an old one`)
  const { shown_at: shownAt, needs_attention: attention } = await home.json('status')
  expect(Date.now() - Date.parse(String(shownAt))).toBeGreaterThan(8 * DAY - 1000)
  expect(attention).toContainEqual(expect.objectContaining({ kind: 'old_state' }))

  home.variables['GITLOCKET_MAX_AGE'] = '36h'
  expect(await home.ok('cat', 'a.md')).toBe('/a.md')
  const refused = await home.call(['sync'])
  expect(refused.exitCode).toBe(4)
  expect(refused.stderr).toContain('8 days old, and at most 1.5 days are accepted here')
  expect(refused.stderr).toContain(granter)
  const unsent = await home.call(['write', 'b.md', '--text', 'kept'])
  expect(unsent.exitCode).toBe(13)
  expect(await home.ok('cat', 'b.md')).toBe('kept')

  const empty = newHome()
  Object.assign(empty.variables, home.variables)
  const { stderr, exitCode } = await empty.call(['ls'])
  expect([exitCode, stderr]).toEqual([4, expect.stringContaining('8 days old')])

  await refresh()
  await home.ok('sync')
  expect(await empty.ok('cat', 'b.md')).toBe('kept')
  expect((await empty.json('status'))['needs_attention']).toEqual([])
})

test('status does not warn before that', async () => {
  const { home } = await shownFrom(6 * DAY)
  await home.ok('ls')
  const { needs_attention: attention } = await home.json('status')
  expect(JSON.stringify(attention)).not.toContain('old_state')
})

test('a limit is a duration, and binds openDefaultStore', async () => {
  const { home } = await shownFrom(3 * DAY)
  home.variables['GITLOCKET_MAX_AGE'] = 'soon'
  const { exitCode, stderr } = await home.call(['ls'])
  expect([exitCode, stderr]).toEqual([2, expect.stringContaining('GITLOCKET_MAX_AGE')])
  home.variables['GITLOCKET_MAX_AGE'] = '2d'
  const opening = openDefaultStore(home.variables)
  await expect(opening).rejects.toMatchObject({ code: 'baseline_old' })
})
