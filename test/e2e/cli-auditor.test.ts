// What the machine of an auditor shows of the store, in the words of the machines of members: the
// words of the head to compare, and the devices. Nothing of it is a text, a path or a setting.

import { expect, test } from 'vitest'
import { bareRemote } from '../support/clones.ts'
import { firstMachine, pinned } from './cli-machines.ts'
import { type Home, newHome } from './cli-process.ts'

const canary = 'never-for-auditors'

interface Machines {
  readonly owner: Home
  readonly auditor: Home
  readonly url: string
}

/** An owner who has removed a device, and an auditor who has joined. */
async function ownerAndAuditor(): Promise<Machines> {
  const url = bareRemote()
  const [{ home: owner }, auditor, old] = [await firstMachine(url), newHome(), newHome()]
  for (const [machine, name, role] of [
    [auditor, 'berta', 'auditor'],
    [old, 'old phone', 'writer'],
  ] as const) {
    const { card, device_id: id } = await machine.json('device', 'card', '--name', name)
    const file = owner.file(`${role}.card`, String(card))
    await owner.ok('device', 'add', file, '--role', role, '--yes')
    if (role === 'writer') await owner.call(['device', 'remove', String(id), '--yes'])
  }
  const texts = ['--text', canary, '--reason', canary]
  await owner.ok('create', `${canary}.md`, ...texts)
  await owner.ok('settings', '--name', canary, '--description', canary)
  await owner.ok('sync')
  await auditor.ok('join', await pinned(owner, url))
  return { owner, auditor, url }
}

test('status shows the words of the head, to compare', { tags: 'slow' }, async () => {
  const { owner, auditor, url } = await ownerAndAuditor()
  const text = await auditor.ok('status')
  const theirs = await owner.ok('status', '--verbose')
  for (const label of ['Store id', 'Head', 'Words', 'Members']) {
    const line = new RegExp(`^${label} +.*$`, 'm')
    expect(line.exec(text)?.[0]).toBe(line.exec(theirs)?.[0])
  }
  expect(text).toMatch(/^Device {5}berta \(dev_\w{26}\), auditor$/m)
  expect(text).toMatch(/^Memories {3}2; their contents and paths are not readable here$/m)
  expect(text).toContain(`\nRemote     origin: ${url}\n`)
  expect(text).toContain('\nDevices    2; 1 removed; `gitlocket device list` names them\n')
  const json = await auditor.json('status')
  const { head, head_fingerprint } = await owner.json('status')
  expect(json).toMatchObject({
    type: 'status',
    role: 'auditor',
    device_name: 'berta',
    head,
    head_fingerprint,
    devices: { active: 2, removed: 1 },
    remotes: [{ name: 'origin', url }],
    contents_readable: false,
  })
  expect(text + JSON.stringify(json)).not.toContain(canary)
})

test('device list shows names, roles and times', { tags: 'slow' }, async () => {
  const { owner, auditor } = await ownerAndAuditor()
  const text = await auditor.ok('device', 'list')
  const time = '[\\dTZ:.-]+'
  expect(text).toMatch(
    new RegExp(
      `^\towner\t${time}\t${time}\t\t\tdev_\\w+\n` +
        `berta\tauditor\t${time}\t\t\tthis machine\tdev_\\w+\n` +
        `old phone\twriter\t${time}\t\t${time}\t\tdev_\\w+\n$`,
    ),
  )
  const here = await auditor.json('device', 'list')
  const there = await owner.json('device', 'list')
  const fields = ['type', 'id', 'name', 'role', 'active', 'added_at', 'added_commit', 'removed_at']
  const shared = ({ data }: Readonly<Record<string, unknown>>): unknown =>
    Array.from(Object.values(Object(data)), (one) => fields.map((field) => Object(one)[field]))
  expect(shared(here)).toEqual(shared(there))
  expect(text + JSON.stringify(here)).not.toContain(canary)
})
