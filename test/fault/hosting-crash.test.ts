// A server dies, or the power fails, at every file operation of its changes to stores, keys and
// sessions. After a restart the state is the old one or the new one and nothing is half done, all
// acknowledged changes exist, and an erased store leaves no trace.

import { readdirSync, rmSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { hasCode } from '../../src/errors.ts'
import { openHostAdministration } from '../../src/hosting/administration.ts'
import type { Caller } from '../../src/hosting/credentials.ts'
import { type Host, openHost } from '../../src/hosting/host.ts'
import { everyDeath, failedOnce, fullOnce, killed, unplugged } from '../support/deaths.ts'
import { type Fault, FaultyDisk } from '../support/faulty-disk.ts'
import { callerOf, type HostPlace, newHost, newHostPlace, settings } from '../support/hosts.ts'
import { full } from '../support/seed.ts'
import { copyDirectory, temporaryDirectory } from '../support/temporary.ts'

/** What each run starts from: two stores and a key. */
interface Start {
  readonly root: string
  readonly token: string
  readonly storeId: string
  /** The API key that a run revokes. */
  readonly keyId: string
}

/** The state as a caller and the server's operator see it. */
interface Seen {
  readonly stores: readonly object[]
  readonly keys: readonly object[]
  readonly workspaces: readonly string[]
}

interface Running {
  readonly place: HostPlace
  readonly disk: FaultyDisk
  readonly host: Host
  readonly caller: Caller
  readonly start: Start
}

const files = ['catalogue', 'credentials', 'gitlocket', 'stores', 'unfinished']

type Step = (running: Running) => Promise<unknown>

const administered =
  (
    work: (
      administration: Awaited<ReturnType<typeof openHostAdministration>>,
      start: Start & HostPlace,
    ) => Promise<unknown>,
  ): Step =>
  async ({ place, disk, start }) => {
    const administration = await openHostAdministration({ ...place, disk })
    try {
      await work(administration, { ...start, ...place })
    } finally {
      await administration.close().catch(() => undefined)
    }
  }

const ofCallers: Readonly<Record<string, Step>> = {
  'makes a store': ({ host, caller }) => host.create(caller, { ...settings, name: 'third' }),
  'archives a store': ({ host, caller, start }) =>
    host.updateSettings(caller, start.storeId, () => ({ archivedAt: 1 })),
  'erases a store': ({ host, caller, start }) => host.delete(caller, start.storeId),
  'makes a session': ({ host, caller, start }) => {
    const resource = {
      memory_store_id: start.storeId,
      access: 'read_only',
      instructions: null,
    } as const
    return host.createSession(caller, { resources: [resource], expiresIn: 60 })
  },
}

const ofAdministrators: Readonly<Record<string, Step>> = {
  'makes a key': administered((one) => one.createKey('second')),
  'revokes a key': administered((one, { keyId }) => one.revokeKey(keyId)),
  'makes a workspace': administered((one) => one.createWorkspace('other')),
  'has the command line make a store': administered((one, { operatorSecret }) =>
    one.createStore({ name: 'third', actor: { type: 'user', id: 'me' }, operatorSecret }),
  ),
}

async function begin(): Promise<Start> {
  const root = temporaryDirectory()
  const { host, caller, token, place } = await newHost({}, newHostPlace(root))
  const { storeId } = await host.create(caller, { ...settings, name: 'first' })
  await host.create(caller, { ...settings, name: 'second' })
  await host.use(caller, storeId, (_, me) => me.write('/a.md', 'kept'))
  await host.close()
  const administration = await openHostAdministration(place)
  const { key } = await administration.createKey('to be revoked')
  await administration.close()
  return { root, token, storeId, keyId: key.keyId }
}

/** The step again and again, until the disk does it; what it did before is no other state. */
async function insist(step: Step, running: Running): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await step(running)
      return
    } catch (error) {
      if (hasCode(error, 'not_found', 'store_archived')) return
      if (attempt > 3) throw error
    }
  }
}

/** The run itself; whether the step was answered, and what it took. */
async function run(
  start: Start,
  step: Step,
  fault?: Fault,
): Promise<{ readonly root: string; readonly answered: boolean; readonly disk: FaultyDisk }> {
  const root = `${temporaryDirectory()}/run`
  copyDirectory(start.root, root)
  const disk = new FaultyDisk(fault)
  const place = newHostPlace(root)
  let answered = false
  try {
    const host = await openHost({ ...place, disk })
    await step({ place, disk, host, caller: await callerOf(host, start.token), start })
    answered = true
    await host.close()
  } catch (error) {
    if (!disk.dead) throw error
  } finally {
    disk.release()
  }
  return { root, answered, disk }
}

async function see(root: string, token: string): Promise<Seen> {
  const place = newHostPlace(root)
  const host = await openHost({ ...place })
  const caller = await callerOf(host, token)
  const { data } = await host.list(caller, { limit: 100, includeArchived: true })
  const ids = data.map(({ storeId }) => storeId)
  for (const { storeId, name, archivedAt } of data) {
    const info = await host.use(caller, storeId, (store) => store.info())
    expect(info.settings).toMatchObject({ name, archivedAt })
  }
  const administration = await openHostAdministration(place)
  const keys = (await administration.keys()).map(({ name, revokedAt }) => [
    name,
    revokedAt !== undefined,
  ])
  const workspaces = (await administration.workspaces()).map(({ name }) => name)
  await administration.close()
  await host.close()
  expect(readdirSync(`${place.dataDirectory}/stores`)).toEqual(ids.toSorted())
  expect(readdirSync(place.stateDirectory)).toEqual([...ids.toSorted(), 'servers'])
  expect(readdirSync(`${place.dataDirectory}/unfinished`)).toEqual([])
  expect(readdirSync(place.dataDirectory), 'no half of a file').toEqual(files)
  const stores = data.map(({ name, archivedAt }) => [name, archivedAt])
  return { stores, keys, workspaces }
}

const deaths = full ? everyDeath : [killed, unplugged]
const stride = full ? 1 : 9

describe.each(Object.entries({ ...ofCallers, ...ofAdministrators }))(
  'a server that %s',
  (_, step) => {
    test.each(deaths)(
      'dies $moment an operation, losing $loss, and has the old state or the new one',
      { tags: 'slow' },
      async (death) => {
        const start = await begin()
        const idle = await run(start, async () => {})
        const before = await see(idle.root, start.token)
        const whole = await run(start, step)
        const after = await see(whole.root, start.token)
        let answers = 0
        for (let at = 1; at <= whole.disk.operations; at += stride) {
          const { root, answered, disk } = await run(start, step, { kind: 'death', at, ...death })
          const what = `at ${at}: ${disk.log[at - 1]}`
          const seen = await see(root, start.token)
          if (answered) expect(seen, what).toEqual(after)
          else expect([before, after], what).toContainEqual(seen)
          if (answered) answers += 1
          rmSync(root, { recursive: true })
        }
        expect(answers).toBeLessThan(whole.disk.operations)
      },
    )
  },
)

describe.each(Object.entries(ofCallers))('a server that %s', (_, step) => {
  test('continues after an error of the disk at an operation', { tags: 'slow' }, async () => {
    const start = await begin()
    const whole = await run(start, step)
    for (let at = 1; at <= whole.disk.operations; at += stride) {
      for (const [code, times] of [fullOnce, failedOnce]) {
        const root = `${temporaryDirectory()}/run`
        copyDirectory(start.root, root)
        const disk = new FaultyDisk({ kind: 'error', at, times, code })
        const place = newHostPlace(root)
        const open = (): Promise<Host> => openHost({ ...place, disk })
        const host = await open().catch(open)
        const caller = await callerOf(host, start.token)
        await insist(step, { place, disk, host, caller, start })
        await host.close().catch(() => undefined)
        disk.release()
        await see(root, start.token)
        rmSync(root, { recursive: true })
      }
    }
  })
})
