// A remote that rightly shows less than this machine has verified: the hint names the flag that
// accepts it.

import { cpSync, existsSync, readdirSync, rmSync, truncateSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { git } from '../support/temporary.ts'
import { pairsOfMachines, pinned } from './cli-machines.ts'
import type { Home } from './cli-process.ts'

const pairOfMachines = pairsOfMachines()
const unsent = ['create', 'unsent.md', '--text', 'unsent']

/** Makes the second machine an auditor, which it does not know. */
async function demotedMachine(): Promise<{ first: Home; second: Home }> {
  const { first, second } = await pairOfMachines()
  const id = String((await second.json('key', 'show'))['device_id'])
  await first.ok('device', 'role', id, 'auditor')
  await first.ok('sync')
  return { first, second }
}

describe('a writer that became an auditor', () => {
  test('follows the trail from its next sync on', { tags: 'slow' }, async () => {
    const { first, second } = await demotedMachine()
    expect(await second.json('sync')).toMatchObject({ remote: 'origin', received: { commits: 1 } })
    const { head } = await first.json('status')
    expect(await second.json('audit')).toMatchObject({ role: 'auditor', head })
    const repaired = await second.run(['sync', '--repair'])
    const said = expect.stringContaining('an auditor takes --accept-rolled-back')
    expect([repaired.exitCode, repaired.stderr]).toEqual([2, said])
  })

  test('drops unsent changes only with the flag', { tags: 'slow' }, async () => {
    const { first, second } = await demotedMachine()
    await second.ok(...unsent)
    const refused = await second.call(['sync'])
    expect([refused.exitCode, refused.stderr]).toEqual([
      12,
      expect.stringMatching(/leaves out 1 of.*sync origin --accept-rolled-back/s),
    ])
    await second.ok('sync', 'origin', '--accept-rolled-back')
    const { head } = await first.json('status')
    expect(await second.json('audit')).toMatchObject({ role: 'auditor', head })
  })
})

test('a store that was put back names both heads', { tags: 'slow' }, async () => {
  const { first } = await pairOfMachines()
  const backup = `${first.directory}/backup`
  cpSync(first.store, backup, { recursive: true })
  const { head_fingerprint: before } = await first.json('status')
  await first.ok('create', 'more.md', '--text', 'more')
  const { head_fingerprint: after, head } = await first.json('status')
  rmSync(first.store, { recursive: true })
  cpSync(backup, first.store, { recursive: true })
  const heads = { verified: { words: after, commit: head }, present: { words: before } }
  const refused = await first.call(['ls'])
  expect(refused.exitCode).toBe(12)
  for (const words of [before, after]) expect(refused.stderr).toContain([words].flat().join(' '))
  const failed = await first.call(['ls', '--json'])
  expect(JSON.parse(failed.stderr)).toMatchObject({ error: { code: 'rolled_back', ...heads } })
  for (let time = 0; time < 2; time += 1) {
    const { stdout, exitCode } = await first.call(['status', '--json'])
    expect([exitCode, JSON.parse(stdout)]).toMatchObject([12, { state: 'rolled_back', ...heads }])
  }
  const shown = await first.call(['status'])
  expect([shown.exitCode, shown.stdout]).toEqual([12, expect.stringContaining('rolled back')])
  await first.ok('verify', '--accept-rolled-back')
  expect(await first.json('status')).toMatchObject({ head_fingerprint: before })
})

test(
  'a member repairs the remote, and learns so if it tries to accept it',
  { tags: 'slow' },
  async () => {
    const { first, remote } = await pairOfMachines()
    await first.ok('create', 'shown.md', '--text', 'shown')
    await first.ok('sync')
    git(['update-ref', 'refs/heads/main', 'main~1'], remote)
    const refused = await first.run(['sync', '--accept-rolled-back'])
    const said = expect.stringContaining('a member takes --repair')
    expect([refused.exitCode, refused.stderr]).toEqual([2, said])
    await first.ok('sync', '--repair')
  },
)

test(
  'joining again with unsent changes is refused, and leaves nothing',
  { tags: 'slow' },
  async () => {
    const { first, second, remote } = await pairOfMachines()
    await second.ok(...unsent)
    await first.ok('create', 'sent.md', '--text', 'sent')
    await first.ok('sync')
    rmSync(second.store, { recursive: true })
    const address = await pinned(first, remote)
    const refused = await second.call(['join', address])
    expect([refused.exitCode, refused.stderr]).toEqual([
      12,
      expect.stringMatching(/never sent.*join --accept-rolled-back/s),
    ])
    expect(existsSync(second.store)).toBe(false)
    const beside = readdirSync(dirname(second.store))
    expect(beside.filter((name) => name.startsWith(basename(second.store)))).toEqual([])
    await second.ok('join', address, '--accept-rolled-back')
    expect(await second.ok('ls')).toBe('notes.md\nsent.md\n')
    await second.ok('create', 'again.md', '--text', 'again')
    await second.ok('sync')
    await first.ok('sync')
    expect(await first.ok('ls')).toBe('again.md\nnotes.md\nsent.md\n')
  },
)

test('an auditor with a restored clone learns how to accept it', { tags: 'slow' }, async () => {
  const { first, second } = await demotedMachine()
  await second.ok('sync')
  const backup = `${second.directory}/backup`
  cpSync(second.store, backup, { recursive: true })
  await first.ok('create', 'more.md', '--text', 'more')
  await first.ok('sync')
  await second.ok('sync')
  rmSync(second.store, { recursive: true })
  cpSync(backup, second.store, { recursive: true })
  const refused = await second.call(['audit'])
  expect([refused.exitCode, refused.stderr]).toEqual([
    12,
    expect.stringMatching(/auditors: `audit --accept-rolled-back`.*accept nothing/s),
  ])
  await second.ok('audit', '--accept-rolled-back')
  await second.ok('sync')
})

test(
  'a damaged list of left-out records is replaced by the hinted command',
  { tags: 'slow' },
  async () => {
    const { second } = await demotedMachine()
    await second.ok(...unsent)
    await second.ok('sync', 'origin', '--accept-rolled-back')
    const lists = (): readonly string[] =>
      readdirSync(second.stateDirectory, { encoding: 'utf8', recursive: true }).filter((name) =>
        name.includes('.left-out'),
      )
    const [list = ''] = lists()
    truncateSync(join(second.stateDirectory, list), 20)
    const refused = await second.call(['audit', '--json'])
    const { error } = JSON.parse(refused.stderr)
    expect([refused.exitCode, error.code]).toEqual([11, 'left_out_corrupt'])
    const [, advised = ''] = /`gitlocket ([^`]*)`/.exec(error.hint) ?? []
    expect(await second.ok(...advised.split(' '))).not.toContain('Left out')
    expect(await second.ok('audit')).toContain('Verified the trail')
    expect(lists()).toEqual([`${list}.damaged-1`])
  },
)
