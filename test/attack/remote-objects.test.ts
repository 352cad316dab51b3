// T24: a remote that withholds objects, in a pack or from its disk, has nothing incomplete taken
// over, cannot prevent a complete sync later, and is repaired by a device that has the lost
// objects. FORMAT §8.

import { describe, expect, test } from 'vitest'
import { worldsOf } from '../support/clone-templates.ts'
import { alone, type Clone, joinClone, sync, syncAll } from '../support/clones.ts'
import { environment, failureOf } from '../support/faulty-remotes.ts'
import { type Fault, fetching, on, sendPack } from '../support/git-server.ts'
import {
  branchOf,
  create,
  dropObject,
  edit,
  evidenceOf,
  expectInStep,
  makePair,
  packOf,
  pairsOfClones,
  repair,
  write,
} from '../support/hostile-remotes.ts'
import { sample } from '../support/seed.ts'
import { serve, type ServedPair } from '../support/served-pair.ts'
import { author, contentsOf } from '../support/stores.ts'
import { git } from '../support/temporary.ts'

const pairOfClones = pairsOfClones()

/** With one more memory, the tree of the memories is split (FORMAT §2.1). */
const pairWithMany = worldsOf(async (url) => {
  const { a, b } = await makePair(url)
  const many = Array.from({ length: 15 }, (_, n) => `/many/${n}.md`)
  await write(a, ...many.map((path) => ({ type: 'create', path, content: path }) as const))
  await syncAll([a, b])
  return { a, b }
})

async function served(): Promise<ServedPair> {
  return serve(await pairWithMany())
}

function syncOver({ store }: Clone): ReturnType<typeof sync> {
  return store.as(author).sync({ access: { environment } })
}

/** Answers every fetch with the new objects but for one. */
function withhold(remote: string, since: string, missing: string): Fault {
  const range = ['rev-list', '--objects', '--no-object-names', 'main', `^${since}`]
  const all = git(range, remote).trim().split('\n')
  expect(all).toContain(missing)
  const pack = packOf(
    remote,
    all.filter((oid) => oid !== missing),
  )
  return on(fetching, sendPack(pack))
}

const remake = async (a: Clone): Promise<unknown> =>
  a.store.as(author).settings.update({ name: 'new' })
const deletes = (a: Clone): Promise<void> => write(a, { type: 'delete', path: '/many/3.md' })
const creates = (a: Clone): Promise<void> => create(a, '/new.md')
const addsKey = async (a: Clone): Promise<unknown> => {
  return a.store.as(author).keys.makeRecoveryKey({ keepOld: true, ...alone })
}

/** The new entry in `name` of the newest tree. */
function newIn(name: string): (remote: string) => string {
  return (remote) => git(['rev-parse', name], remote).trim()
}

/** The newest object below `m` of a type. */
function newest(type: 'blob' | 'tree', index = -1): (remote: string) => string {
  return (remote) => {
    const old = git(['ls-tree', '-r', '-t', 'main~1', 'm'], remote)
    const found = git(['ls-tree', '-r', '-t', 'main', 'm'], remote)
      .split('\n')
      .flatMap((line) => new RegExp(` ${type} ([0-9a-f]{40})\t`).exec(line)?.[1] ?? [])
      .filter((oid) => !old.includes(oid))
    return found.at(index) ?? ''
  }
}

/** A tree that is new because the one above it was split, and has nothing new in it. */
function besideTheChange(remote: string): string {
  const blob = newest('blob')(remote)
  const found = git(['ls-tree', 'main:m'], remote)
    .split('\n')
    .flatMap((line) => / tree ([0-9a-f]{40})\t/.exec(line)?.[1] ?? [])
    .find((tree) => !git(['ls-tree', tree], remote).includes(blob))
  return found ?? ''
}

describe('T24: a pack without one of its objects', () => {
  const objects: readonly (readonly [
    what: string,
    act: (a: Clone) => Promise<unknown>,
    missing: (remote: string) => string,
  ])[] = [
    ['the root tree of a change', creates, newIn('main^{tree}')],
    ['the tree of the memories', creates, newIn('main:m')],
    ['a tree below that', creates, newest('tree')],
    ['a tree beside the change', creates, besideTheChange],
    ['a memory', creates, newest('blob')],
    ['the root tree of a deletion', deletes, newIn('main^{tree}')],
    ['the tree of the memories after a deletion', deletes, newIn('main:m')],
    ['the settings', remake, newIn('main:settings')],
    ['the keyring', addsKey, newIn('main:keyring')],
  ]
  test.each(sample(objects, 2))(
    '%s: nothing is adopted, and later all of it',
    { tags: 'slow' },
    async (_, act, missing) => {
      const { a, b, remote, server } = await served()
      const since = branchOf(remote)
      await act(a)
      await sync(a)
      const before = await contentsOf(b.store)
      server.fault = withhold(remote, since, missing(remote))
      expect(await failureOf(syncOver(b))).toMatchObject({ code: 'object_missing' })
      expect(await contentsOf(b.store)).toEqual(before)
      expect(await evidenceOf(b)).toBeUndefined()
      await b.store.maintenance.verify()
      server.fault = undefined
      await syncOver(b)
      await expectInStep(remote, [a, b])
    },
  )

  test('a commit between: the same', { tags: 'slow' }, async () => {
    const { a, b, remote, server } = await served()
    const since = branchOf(remote)
    await create(a, '/1.md')
    await create(a, '/2.md')
    await sync(a)
    server.fault = withhold(remote, since, newIn('main~1')(remote))
    expect(await failureOf(syncOver(b))).toMatchObject({ code: 'object_missing' })
    server.fault = undefined
    await syncOver(b)
    await expectInStep(remote, [a, b])
  })

  test(
    'is requested again at once, without objects that exist locally',
    { tags: 'slow' },
    async () => {
      const { a, b, remote, server } = await served()
      const since = branchOf(remote)
      await creates(a)
      await sync(a)
      const once = withhold(remote, since, newest('blob')(remote))
      server.fault = (request, response) => {
        const { method, url } = request
        if (!fetching.test(`${method} ${url}`)) return false
        server.fault = undefined
        return once(request, response)
      }
      await syncOver(b)
      await expectInStep(remote, [a, b])
    },
  )

  test('is asked for twice, and no more if nothing was erased here', { tags: 'slow' }, async () => {
    const { a, b, remote, server } = await served()
    const since = branchOf(remote)
    await creates(a)
    await sync(a)
    const withheld = withhold(remote, since, newest('blob')(remote))
    let count = 0
    server.fault = (request, response) => {
      if (fetching.test(`${request.method} ${request.url}`)) count += 1
      return withheld(request, response)
    }
    expect(await failureOf(syncOver(b))).toMatchObject({ code: 'object_missing' })
    expect(count).toBe(2)
  })

  test('without its head: local work continues and is sent later', { tags: 'slow' }, async () => {
    const { a, b, remote, server } = await served()
    await creates(a)
    await sync(a)
    const pack = packOf(remote, [branchOf(remote)])
    server.fault = on(fetching, sendPack(pack))
    await edit(b, '/notes.md', 'changed meanwhile\n')
    expect(await failureOf(syncOver(b))).toMatchObject({ code: 'object_missing' })
    server.fault = undefined
    await syncOver(b)
    await sync(a)
    expect(await contentsOf(a.store)).toMatchObject({ '/notes.md': 'changed meanwhile\n' })
    await expectInStep(remote, [a, b])
  })
})

describe('T24: a host that has lost an object', () => {
  const lost: readonly (readonly [what: string, find: (remote: string) => string])[] = [
    ['a memory', newest('blob')],
    ['a tree', newIn('main~1^{tree}')],
    ['a commit', newIn('main~2')],
    ['the keyring of the first commits', newIn('main~3:keyring')],
  ]
  test.each(sample(lost, 2))(
    '%s: no machine can join, until one of ours has sent all of it',
    { tags: 'slow' },
    async (_, find) => {
      const { a, b, remote } = await pairOfClones()
      for (const path of ['/1.md', '/2.md', '/3.md']) await create(a, path)
      await syncAll([a, b])
      dropObject(remote, find(remote))
      const error = await failureOf(joinClone(a, remote))
      expect(['remote_protocol', 'remote_unreachable', 'object_missing']).toContain(error.code)
      // A device that is in step does not notice, and loses nothing.
      await sync(b)
      await repair(b)
      const c = await joinClone(a, remote)
      await syncAll([a, b, c])
      await expectInStep(remote, [a, b, c])
    },
  )
})
