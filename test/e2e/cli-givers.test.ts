// Grants and the rights of their givers on the command line: what a change of members ends is shown
// before it asks and in its answer, and `grant givers` shows and sets who may give grants.
// @module-tag slow

import { expect, test } from 'vitest'
import { bareRemote } from '../support/clones.ts'
import { firstMachine, pinned } from './cli-machines.ts'
import { type Home, newHome } from './cli-process.ts'
import { onTerminal, terminal } from './cli-terminal.ts'

interface Machines {
  readonly owner: Home
  readonly writer: Home
  readonly id: string
  readonly grantId: string
}

/** An owner, and a writer who has given a grant, which the owner knows of. */
async function ownerAndGiver(): Promise<Machines> {
  const url = bareRemote()
  const [{ home: owner }, writer] = [await firstMachine(url), newHome()]
  const { card, device_id: id } = await writer.json('device', 'card', '--name', 'berta')
  await owner.ok('device', 'add', owner.file('card', String(card)), '--yes')
  await writer.ok('join', await pinned(owner, url))
  const given = await writer.json('grant', 'give', '--label', 'ci', '--role', 'reader')
  await owner.ok('sync')
  return { owner, writer, id: String(id), grantId: String(given['id']) }
}

/** Of a list, as a pattern. */
function rowOf({ id, grantId }: Machines): string {
  return `  ${grantId} as reader, until .*, given by berta \\(${id}\\)\n`
}

test('device role and device remove name the grants that they end', async () => {
  const machines = await ownerAndGiver()
  const { owner, writer, id, grantId } = machines
  const lowered = await owner.ok('device', 'role', 'berta', 'reader')
  expect(lowered).toMatch(
    new RegExp(`is now reader\n\nNew keys.\n\nEnded 1 grant:\n${rowOf(machines)}`),
  )
  const again = await owner.json('device', 'role', 'berta', 'writer')
  expect(again['ends_grants']).toEqual([])
  // Raised again, it has its grant back in no list.
  expect(Object(await owner.json('grant', 'list'))['data']).toMatchObject([
    { id: grantId, status: 'granter_inactive', ended_at: null },
  ])
  await writer.ok('sync')
  const { id: next } = await writer.json('grant', 'give', '--label', 'more')
  await owner.ok('sync')
  const removed = await owner.json('device', 'remove', 'berta')
  expect(removed['ends_grants']).toEqual([
    {
      type: 'grant',
      id: next,
      label: null,
      role: 'writer',
      granted_by: id,
      expires_at: expect.stringMatching(/Z$/),
    },
  ])
})

test('grant givers shows and sets who may give grants', async () => {
  const machines = await ownerAndGiver()
  const { owner, writer, grantId } = machines
  expect(await owner.ok('grant', 'givers')).toBe('Owners and writers may give grants\n')
  const left = await owner.ok('grant', 'givers', 'owners')
  expect(left).toMatch(
    new RegExp(`^Owners alone may give grants\n\nNew keys.\n\nEnded 1 grant:\n${rowOf(machines)}$`),
  )
  expect(await owner.ok('grant', 'givers', 'owners')).toBe('Owners alone may give grants\n')
  expect(await owner.json('status')).toMatchObject({ givers: 'owners' })
  expect(await owner.ok('status', '--verbose')).toMatch(/^Grants +given by owners alone$/m)
  await writer.ok('sync')
  expect(await writer.json('grant', 'givers')).toEqual({ type: 'grant_givers', givers: 'owners' })
  const { exitCode, stdout, stderr } = await writer.call(['grant', 'give'])
  expect([exitCode, stdout]).toEqual([6, ''])
  expect(stderr).toContain('Only owners may give grants in this store')
  const refused = await writer.call(['grant', 'givers', 'writers'])
  expect([refused.exitCode, refused.stdout]).toEqual([6, ''])
  expect((await owner.call(['grant', 'givers', 'readers'])).exitCode).toBe(2)
  expect(await owner.json('grant', 'givers', 'writers')).toMatchObject({
    givers: 'owners and writers',
    ends_grants: [],
  })
  expect(await owner.ok('grant', 'givers')).toBe('Owners and writers may give grants\n')
  const { stdout: report } = await owner.call(['report'])
  expect(report).toMatch(/>Grants left to owners alone<.*>Grants opened to writers</)
  const trail = await owner.ok('audit')
  expect(trail).toContain('\n  let owners alone give grants\n  replaced the keys of the store\n')
  expect(trail).toContain('\n  let owners and writers give grants\n')
  expect(Object(await owner.json('grant', 'list'))['data']).toMatchObject([
    { id: grantId, status: 'granter_inactive' },
  ])
  await owner.ok('verify')
})

test.skipIf(terminal.missing)(
  `on a terminal the grants are shown before the question${terminal.note}`,
  async () => {
    const machines = await ownerAndGiver()
    const { owner, writer, id, grantId } = machines
    const { head } = await owner.json('status')
    for (const [words, question] of [
      [['device', 'role', 'berta', 'reader'], `Make berta (${id}) reader? [y/N]`],
      [
        ['device', 'remove', 'berta'],
        `Remove berta (${id})? A removed device never returns. [y/N]`,
      ],
      [['grant', 'givers', 'owners'], 'Leave it to owners to give grants? [y/N]'],
    ] as const) {
      const { exitCode, screen } = onTerminal(owner, words, { typed: [[question, 'n\r']] })
      expect(exitCode).toBe(130)
      expect(screen).toContain('This ends 1 grant for good:')
      expect(screen.indexOf(grantId)).toBeLessThan(screen.indexOf(question))
      expect(screen).toContain('nothing was changed')
    }
    expect((await owner.json('status'))['head']).toBe(head)
    // Nothing is asked where nothing ends.
    expect(onTerminal(owner, ['device', 'role', 'berta', 'owner']).exitCode).toBe(0)
    await writer.ok('sync')
    const own = onTerminal(writer, ['device', 'role', 'berta', 'reader'], {
      typed: [['reader? [y/N]', 'y\r']],
    })
    expect(own.exitCode).toBe(0)
    expect(own.screen).toContain(`ci (${grantId}) as reader`)
  },
)
