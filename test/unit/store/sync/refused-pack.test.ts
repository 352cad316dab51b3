// Which refused packs are kept once something is redacted here: those with none of it, whatever
// their trees look like.

import { describe, expect, test } from 'vitest'
import { MEBIBYTE } from '../../../../src/limits.ts'
import { History } from '../../../../src/store/history/history.ts'
import { holdsErased } from '../../../../src/store/sync/refused-head.ts'
import { atOnce } from '../../../../src/time-slice.ts'
import { checkWithGit, sync } from '../../../support/clones.ts'
import { failureOf } from '../../../support/faulty-remotes.ts'
import { idOf } from '../../../support/forge-seal.ts'
import {
  branchOf,
  create,
  edit,
  evidenceOf,
  moveBranch,
  pairsOfClones,
  redact,
} from '../../../support/hostile-remotes.ts'
import { nextRow, standardHistory } from '../../../support/standard-forge.ts'
import { git } from '../../../support/temporary.ts'

const worldOf = pairsOfClones()

interface Blobs {
  /** The blob of a memory version that is redacted. */
  readonly erased: string
  /** Of no store. */
  readonly other: string
}

/** A commit on top of the remote's newest, with such a tree, and whether its pack is kept. */
async function isKept(makeTree: (remote: string, blobs: Blobs) => string): Promise<boolean> {
  const { a, remote } = await worldOf()
  await create(a, '/key.txt', 'sk-leaked')
  await sync(a)
  const changed = git(['diff-tree', '-r', '--no-commit-id', 'main', '--', 'm'], remote)
  const [, erased = ''] = /^\S+ \S+ \S+ (\S+) A\t/m.exec(changed) ?? []
  await edit(a, '/key.txt', 'revoked')
  const { data: versions } = await a.store.history.versions({ path: '/key.txt', order: 'oldest' })
  await redact(a, versions[0]?.versionId ?? '')
  await sync(a)
  const other = git(['hash-object', '-w', '--stdin'], remote, 'hello\n').trim()
  const tree = makeTree(remote, { erased, other })
  const junk = git(['commit-tree', tree, '-p', branchOf(remote), '-m', 'junk'], remote).trim()
  moveBranch(remote, junk)
  expect(await failureOf(sync(a))).toMatchObject({ code: 'commit_malformed' })
  const kept = await evidenceOf(a)
  expect([undefined, junk]).toContain(kept)
  if (kept !== undefined) checkWithGit(a.place.directory)
  return kept === junk
}

function treeOf(
  remote: string,
  ...entries: readonly (readonly [string, string, string])[]
): string {
  const body = entries.map(([mode, name, oid]) => {
    return Buffer.concat([Buffer.from(`${mode} ${name}\0`), Buffer.from(oid, 'hex')])
  })
  const how = ['hash-object', '-t', 'tree', '-w', '--literally', '--stdin']
  return git(how, remote, Buffer.concat(body)).trim()
}

describe('once something is redacted, the pack of a foreign head is kept', () => {
  test('with names that no store has', { tags: 'slow' }, async () => {
    const made = isKept((remote, { other }) => {
      const below = treeOf(remote, ['120000', 'link', other], ['100755', 'run me.sh', other])
      return treeOf(remote, ['100644', '.gitignore', other], ['40000', 'src', below])
    })
    expect(await made).toBe(true)
  })

  test('with a submodule', { tags: 'slow' }, async () => {
    const elsewhere = '1'.repeat(40)
    const made = isKept((remote, { other }) => {
      return treeOf(remote, ['100644', 'a', other], ['160000', 'module', elsewhere])
    })
    expect(await made).toBe(true)
  })
})

describe('a pack with a redacted version is not kept', () => {
  test('under a name that no store has', { tags: 'slow' }, async () => {
    const made = isKept((remote, { erased }) => treeOf(remote, ['100644', 'a file', erased]))
    expect(await made).toBe(false)
  })

  test('under a name that occurs twice', { tags: 'slow' }, async () => {
    const made = isKept((remote, { erased, other }) => {
      return treeOf(remote, ['100644', 'a', erased], ['100644', 'a', other])
    })
    expect(await made).toBe(false)
  })

  test('below a directory whose mode only git reads', { tags: 'slow' }, async () => {
    const made = isKept((remote, { erased }) => {
      return treeOf(remote, ['040000', 'old', treeOf(remote, ['100644', 'a', erased])])
    })
    expect(await made).toBe(false)
  })
})

describe('a pack that cannot be searched for redacted versions is not kept', () => {
  const redacted = new Set([idOf('a version that is redacted')])

  test('with a detail that does not open', async () => {
    const { forge } = await standardHistory()
    const { objects, storeId, epochs } = forge
    const source = { objects: { read: (oid: string) => objects.get(oid) }, storeId, epochs }
    const isKeptWith = (...oids: readonly string[]): boolean =>
      !atOnce(holdsErased(source, new History(), redacted, oids))
    const commit = forge.change([nextRow])
    const unreadable = forge.change([nextRow], { epoch: forge.newEpoch() })
    expect([isKeptWith(commit), isKeptWith(commit, unreadable)]).toEqual([true, false])
  })

  test('with a missing object', () => {
    const source = { objects: { read: () => undefined }, storeId: '', epochs: new Map() }
    expect(atOnce(holdsErased(source, new History(), redacted, ['a'.repeat(40)]))).toBe(true)
  })

  test.each([
    ['objects', 20_000, 5],
    ['bytes', 64, MEBIBYTE],
  ])('with more %s than are searched', (_, max, length) => {
    let reads = 0
    const body = new Uint8Array(length)
    const read = (): { readonly type: 'blob'; readonly body: Uint8Array } => {
      reads += 1
      return { type: 'blob', body }
    }
    const isKeptWith = (count: number): boolean => {
      const oids = Array.from({ length: count }, (__, n) => n.toString(16).padStart(40, '0'))
      const source = { objects: { read }, storeId: '', epochs: new Map() }
      reads = 0
      return !atOnce(holdsErased(source, new History(), redacted, oids))
    }
    expect(isKeptWith(max)).toBe(true)
    expect(isKeptWith(10 * max)).toBe(false)
    expect(reads).toBeLessThanOrEqual(max + 1)
  })
})
