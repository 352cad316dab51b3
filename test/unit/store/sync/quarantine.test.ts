// Which refused heads a ref keeps as evidence once something is redacted here: the search reads
// trees as git does, which accepts more than a store writes.

import { execFileSync } from 'node:child_process'
import { describe, expect, test } from 'vitest'
import { gitHash } from '../../../../src/crypto/sha1.ts'
import type { GitObject } from '../../../../src/git/objects/object.ts'
import { MEBIBYTE } from '../../../../src/limits.ts'
import { History } from '../../../../src/store/history/history.ts'
import type { ObjectSource } from '../../../../src/store/snapshot/git-reads.ts'
import { canBeKept } from '../../../../src/store/sync/quarantine.ts'
import { atOnce } from '../../../../src/time-slice.ts'
import { bareRemote, checkWithGit, sync } from '../../../support/clones.ts'
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
import { cleanEnvironment, git } from '../../../support/temporary.ts'

const worldOf = pairsOfClones()

interface Blobs {
  /** Of a memory version that is redacted. */
  readonly erased: string
  /** Of no store. */
  readonly other: string
}

/** A commit on top of the remote's newest, with such a tree, and whether a ref keeps it. */
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

describe('once something is redacted, a foreign head is kept', () => {
  test('with names that no store has', { tags: 'slow' }, async () => {
    const made = isKept((remote, { other }) => {
      const below = treeOf(remote, ['120000', 'link', other], ['100755', 'run me.sh', other])
      return treeOf(remote, ['100644', '.gitignore', other], ['40000', 'src', below])
    })
    expect(await made).toBe(true)
  })

  test('with a commit of another repository, which is not here', { tags: 'slow' }, async () => {
    const elsewhere = '1'.repeat(40)
    const made = isKept((remote, { other }) => {
      return treeOf(remote, ['100644', 'a', other], ['160000', 'module', elsewhere])
    })
    expect(await made).toBe(true)
  })
})

describe('a head that leads to what is redacted is not kept', () => {
  test('under a name that no store has', { tags: 'slow' }, async () => {
    const made = isKept((remote, { erased }) => treeOf(remote, ['100644', 'a file', erased]))
    expect(await made).toBe(false)
  })

  test('under a name that is there twice', { tags: 'slow' }, async () => {
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

describe('a head that cannot be searched for what is redacted is not kept', () => {
  const redacted = new Set([idOf('a version that is redacted')])

  test('with a detail that does not open', async () => {
    const { forge } = await standardHistory()
    const { objects, storeId, epochs } = forge
    const source = {
      objects: { read: (oid: string) => objects.get(oid) },
      storeId,
      epochs,
      sent: [],
    }
    const isKeptAs = (head: string): boolean =>
      atOnce(canBeKept(source, new History(), head, redacted))
    expect(isKeptAs(forge.change([nextRow]))).toBe(true)
    expect(isKeptAs(forge.change([nextRow], { epoch: forge.newEpoch() }))).toBe(false)
  })

  test('with such a detail in what was sent besides', async () => {
    const { forge } = await standardHistory()
    const { objects, storeId, epochs } = forge
    const source = { objects: { read: (oid: string) => objects.get(oid) }, storeId, epochs }
    const head = forge.change([nextRow])
    const besides = forge.change([nextRow], { epoch: forge.newEpoch() })
    const isKeptWith = (...sent: readonly string[]): boolean =>
      atOnce(canBeKept({ ...source, sent }, new History(), head, redacted))
    expect([isKeptWith(head), isKeptWith(besides)]).toEqual([true, false])
  })

  test('with more blobs than are opened', { tags: 'slow' }, () => {
    const keeps = (count: number): boolean => {
      const known = new Map<string, GitObject>()
      const add = (type: 'commit' | 'tree', body: Buffer): Buffer => {
        const oid = gitHash(type, body)
        known.set(oid, { type, body })
        return Buffer.from(oid, 'hex')
      }
      // No tree is larger than a store's.
      const treeOver = (oids: readonly Buffer[], mode: string): Buffer => {
        const trees: Buffer[] = []
        for (let at = 0; at < oids.length; at += 100) {
          const entries = oids.slice(at, at + 100).map((oid, index) => {
            return Buffer.concat([Buffer.from(`${mode} ${index}\0`), oid])
          })
          trees.push(add('tree', Buffer.concat(entries)))
        }
        return trees[1] === undefined ? (trees[0] ?? Buffer.alloc(20)) : treeOver(trees, '40000')
      }
      const blobs = Array.from({ length: count }, (_, index) => {
        return Buffer.from(index.toString(16).padStart(40, '0'), 'hex')
      })
      const root = treeOver(blobs, '100644').toString('hex')
      const head = add('commit', Buffer.from(header(`tree ${root}\n`))).toString('hex')
      const blob = { type: 'blob', body: Buffer.from('hello') } as const
      const objects: ObjectSource = { read: (oid) => known.get(oid) ?? blob }
      const source = { objects, storeId: '', epochs: new Map(), sent: [] }
      return atOnce(canBeKept(source, new History(), head, redacted))
    }
    expect([keeps(19_999), keeps(20_000)]).toEqual([true, false])
  })
})

test('objects sent beside a head are searched once, and only so far', () => {
  const reads = new Map<string, number>()
  const head = 'c'.repeat(40)
  const tree = { type: 'tree', body: new Uint8Array(0) } as const
  const commit = { type: 'commit', body: Buffer.from(header(`tree ${'a'.repeat(40)}\n`)) } as const
  const blob = { type: 'blob', body: new Uint8Array(MEBIBYTE) } as const
  const read = (oid: string): typeof tree | typeof commit | typeof blob => {
    reads.set(oid, (reads.get(oid) ?? 0) + 1)
    if (oid === head) return commit
    return oid === 'a'.repeat(40) ? tree : blob
  }
  const isKeptWith = (count: number): boolean => {
    const sent = Array.from({ length: count }, (_, n) => n.toString(16).padStart(40, '0'))
    const source = { objects: { read }, storeId: '', epochs: new Map(), sent }
    return atOnce(canBeKept(source, new History(), head, new Set(['some version'])))
  }
  expect(isKeptWith(60)).toBe(true)
  expect(reads.get('0'.repeat(40))).toBe(1)
  reads.clear()
  expect(isKeptWith(1000)).toBe(false)
  expect(reads.size).toBeLessThan(70)
})

describe('a head that git would report as a fault of the repository is not kept', () => {
  test.each<[name: string, head: (remote: string) => string]>([
    [
      'a tree by the mode of a file',
      (remote) => {
        const tree = treeOf(remote)
        return commitOf(remote, header(`tree ${treeOf(remote, ['100644', 'a', tree])}\n`))
      },
    ],
    [
      'a parent in capitals',
      (remote) => commitOf(remote, header(`tree ${treeOf(remote)}\nparent ${'AB'.repeat(20)}\n`)),
    ],
    [
      'a missing parent after more than are looked at',
      (remote) => {
        const tree = treeOf(remote)
        const one = commitOf(remote, header(`tree ${tree}\n`))
        const parents = `parent ${one}\n`.repeat(3000)
        return commitOf(remote, header(`tree ${tree}\n${parents}parent ${'12'.repeat(20)}\n`))
      },
    ],
  ])('%s', (_, head) => {
    const remote = bareRemote()
    const oid = head(remote)
    const source = { objects: objectsOf(remote), storeId: '', epochs: new Map(), sent: [] }
    expect(atOnce(canBeKept(source, new History(), oid, new Set()))).toBe(false)
  })

  test('unless it is complete', () => {
    const remote = bareRemote()
    const oid = commitOf(remote, header(`tree ${treeOf(remote)}\n`))
    const source = { objects: objectsOf(remote), storeId: '', epochs: new Map(), sent: [] }
    expect(atOnce(canBeKept(source, new History(), oid, new Set()))).toBe(true)
  })
})

function header(lines: string): string {
  return `${lines}author a <a> 0 +0000\ncommitter a <a> 0 +0000\n\nx\n`
}

function commitOf(remote: string, body: string): string {
  const how = ['hash-object', '-t', 'commit', '-w', '--literally', '--stdin']
  return git(how, remote, body).trim()
}

/** As stock git reads them. */
function objectsOf(remote: string): ObjectSource {
  return {
    read: (oid) => {
      const run = (...words: readonly string[]): Buffer =>
        execFileSync('git', ['cat-file', ...words], {
          cwd: remote,
          env: cleanEnvironment(),
          stdio: 'pipe',
        })
      try {
        const type = run('-t', oid).toString().trim()
        if (type !== 'commit' && type !== 'tree' && type !== 'blob') return undefined
        return { type, body: new Uint8Array(run(type, oid)) }
      } catch {
        return undefined
      }
    },
  }
}
