// T25: an attacker who may push, but holds no key, adds no commit that a device accepts, and blocks
// no one: the refused pack is kept, and a repair restores the right head. FORMAT §6, §8.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { worldsOf } from '../support/clone-templates.ts'
import { bareRemote, checkWithGit, firstClone, headOf, sync, syncAll } from '../support/clones.ts'
import { environment, failureOf } from '../support/faulty-remotes.ts'
import { fetching, on, sendPack } from '../support/git-server.ts'
import {
  branchOf,
  create,
  evidenceOf,
  expectInStep,
  expectRefused,
  makePair,
  moveBranch,
  packOf,
  pairsOfClones,
  repair,
  rewritten,
  treeWith,
  withTree,
} from '../support/hostile-remotes.ts'
import { sample } from '../support/seed.ts'
import { serve } from '../support/served-pair.ts'
import { author, contentsOf } from '../support/stores.ts'
import { git, gitBytes } from '../support/temporary.ts'

const pairOfClones = pairsOfClones()

/** With some changes more, so that there is something to leave out. */
const pairWithMore = worldsOf(async (url) => {
  const { a, b } = await makePair(url)
  for (const path of ['/1.md', '/2.md', '/3.md']) await create(a, path)
  await syncAll([a, b])
  return { a, b }
})

function at(remote: string, revision: string): string {
  return git(['rev-parse', revision], remote).trim()
}

/** `oid` again, on another parent. */
function onParent(remote: string, oid: string, parent: string): string {
  return rewritten(remote, oid, (text) => text.replace(/^parent .*$/m, `parent ${parent}`))
}

const invalid = 'group_signature_invalid'

/** Returns the new head of the branch. */
type Attack = (remote: string) => Promise<string> | string

type Row = readonly [name: string, code: string | readonly string[], attack: Attack]

/** Commits and repositories of others, and objects that are not commits of a store. */
const fromElsewhere: readonly Row[] = [
  [
    'a commit of anybody on top',
    ['commit_malformed', 'not_a_store'],
    (remote) => git(['commit-tree', 'main^{tree}', '-p', 'main', '-m', 'mine'], remote).trim(),
  ],
  [
    'a repository of something else',
    ['commit_malformed', 'not_a_store'],
    (remote) => {
      const tree = git(['mktree'], remote, '').trim()
      return git(['commit-tree', tree, '-m', 'empty'], remote).trim()
    },
  ],
  [
    'another store',
    'store_id_mismatch',
    async (remote) => {
      const elsewhere = bareRemote()
      const other = await firstClone(elsewhere)
      await sync(other)
      git(['fetch', '--quiet', elsewhere, 'main:other'], remote)
      return at(remote, 'other')
    },
  ],
  [
    'a commit of another store on top',
    'store_id_mismatch',
    async (remote) => {
      const elsewhere = bareRemote()
      await sync(await firstClone(elsewhere))
      git(['fetch', '--quiet', elsewhere, 'main:other'], remote)
      return rewritten(remote, 'other', (text) =>
        text.replace('\nauthor', `\nparent ${branchOf(remote)}\nauthor`),
      )
    },
  ],
  [
    'the head without its signature',
    ['commit_malformed', 'not_a_store'],
    (remote) => rewritten(remote, 'main', (text) => text.replace(/^gpgsig .*\n( .*\n)*/m, '')),
  ],
]

/** Commits of the store with something in them replaced. */
const patched: readonly Row[] = [
  [
    'the head with the signature of the commit before',
    invalid,
    (remote) => {
      const before = gitBytes(['cat-file', 'commit', 'main~1'], remote).toString('latin1')
      const signature = /^gpgsig .*\n(?: .*\n)*/m.exec(before)?.[0] ?? ''
      return rewritten(remote, 'main', (text) =>
        text.replace(/^gpgsig .*\n( .*\n)*/m, () => signature),
      )
    },
  ],
  [
    'a commit in the middle left out',
    invalid,
    (remote) => onParent(remote, 'main', at(remote, 'main~2')),
  ],
  [
    'two commits in the other order',
    invalid,
    (remote) => onParent(remote, 'main~1', onParent(remote, 'main', at(remote, 'main~2'))),
  ],
  ['a commit once more on top', invalid, (remote) => onParent(remote, 'main~1', branchOf(remote))],
  [
    'the whole history behind a commit of its own',
    [invalid, 'record_height', 'duplicate_record', 'commit_malformed'],
    (remote) => onParent(remote, 'main~2', branchOf(remote)),
  ],
  [
    'the head with the tree of the commit before',
    invalid,
    (remote) => withTree(remote, 'main', at(remote, 'main~1^{tree}')),
  ],
  [
    'the head with an older keyring',
    invalid,
    (remote) => {
      const older = gitBytes(['cat-file', 'blob', `${firstCommit(remote)}:keyring`], remote)
      return withTree(remote, 'main', treeWith(remote, 'keyring', older))
    },
  ],
  [
    'the head with a keyring of noise',
    'keyring_malformed',
    (remote) => withTree(remote, 'main', treeWith(remote, 'keyring', 'x'.repeat(4000))),
  ],
  [
    'a record with a bit changed',
    [invalid, 'envelope_tag', 'envelope_commitment', 'envelope_salt', 'envelope_epoch'],
    (remote) =>
      rewritten(remote, 'main', (text) => {
        const index = text.indexOf('BEGIN GITLOCKET RECORD') + 400
        return `${text.slice(0, index)}${text[index] === 'A' ? 'B' : 'A'}${text.slice(index + 1)}`
      }),
  ],
  [
    'a merge of the head with a commit of its past',
    [invalid, 'commit_malformed', 'commit_not_canonical'],
    (remote) =>
      rewritten(remote, 'main', (text) =>
        text.replace('\nauthor', `\nparent ${at(remote, 'main~2')}\nauthor`),
      ),
  ],
]

function firstCommit(remote: string): string {
  return git(['rev-list', '--max-parents=0', 'main'], remote).trim()
}

describe('T25: an attacker who may push and has no key', () => {
  test.each([...sample(fromElsewhere, 2), ...sample(patched, 2)])(
    'adds nothing: %s',
    { tags: 'slow' },
    async (_, code, attack) => {
      const { a, b, remote } = await pairWithMore()
      const forged = await attack(remote)
      moveBranch(remote, forged)
      await expectRefused(a, code)
      expect(await evidenceOf(a)).toBe(forged)
      await repair(a)
      expect(await evidenceOf(a)).toBeUndefined()
      await syncAll([a, b])
      await expectInStep(remote, [a, b])
    },
  )

  test.each(['tree', 'parent'])(
    'harms no repository with a commit whose %s nobody has',
    { tags: 'slow' },
    async (missing) => {
      const { b, remote, server } = await serve(await pairOfClones())
      const junk = 'author x <x@x> 1 +0000\ncommitter x <x@x> 1 +0000\n\njunk\n'
      const links = `tree ${at(remote, 'main^{tree}')}\nparent ${at(remote, 'main')}\n`
      const broken = links.replace(new RegExp(`(?<=${missing} ).*`), '1'.repeat(40))
      const forged = rewritten(remote, 'main', () => broken + junk)
      moveBranch(remote, forged)
      const pack = packOf(remote, [forged])
      server.fault = on(fetching, sendPack(pack))
      await failureOf(b.store.as(author).sync({ access: { environment } }))
      checkWithGit(b.place.directory)
      git(['gc', '--quiet'], b.place.directory)
    },
  )

  test(
    'takes nothing away under any number of commits: a repair keeps it',
    { tags: 'slow' },
    async () => {
      const { a, b, remote } = await pairOfClones()
      await create(b, '/news.md')
      await sync(b)
      const text = gitBytes(['cat-file', 'commit', 'main'], remote).toString('latin1')
      let head = branchOf(remote)
      for (let n = 0; n < 70; n += 1) {
        const next = Buffer.from(text.replace(/^parent .*$/m, `parent ${head}`), 'latin1')
        head = git(['hash-object', '-t', 'commit', '-w', '--stdin'], remote, next).trim()
      }
      moveBranch(remote, head)
      expect((await repair(a)).replaced).toMatchObject({ kept: 1, dropped: 70 })
      expect(await contentsOf(a.store)).toHaveProperty('/news.md')
      await syncAll([a, b])
      await expectInStep(remote, [a, b])
    },
  )

  test('cannot make the branch name an object that is not a commit', { tags: 'slow' }, async () => {
    const { a, remote } = await pairOfClones()
    writeFileSync(join(remote, 'refs/heads/main'), `${at(remote, 'main:store.json')}\n`)
    await expectRefused(a, ['commit_malformed', 'not_a_store'])
    writeFileSync(join(remote, 'refs/heads/main'), `${await headOf(a)}\n`)
    await sync(a)
  })

  test(
    'is not replaced by a machine that has never seen the store there',
    { tags: 'slow' },
    async () => {
      const { a, remote } = await pairOfClones()
      const elsewhere = bareRemote()
      const foreign = await firstClone(elsewhere)
      await sync(foreign)
      await a.store.remotes.add('theirs', elsewhere)
      const options = { remote: 'theirs', repair: true }
      const before = branchOf(elsewhere)
      const attempt = a.store.as(author).sync(options)
      await expect(attempt).rejects.toMatchObject({ code: 'store_id_mismatch' })
      expect(branchOf(elsewhere)).toBe(before)
      expect(branchOf(remote)).toBe(await headOf(a))
    },
  )

  test.each<[code: string, name: string, shut: (remote: string) => Promise<string> | string]>([
    ['wrong_key', 'a keyring that opens for nobody looks like a removal', lockedTree],
    [
      'upgrade_required',
      'a newer format looks like an upgrade',
      (remote) => treeWith(remote, 'store.json', '{"format":"gitlocket/2"}\n'),
    ],
  ])('%s: %s: not replaced by us, but restored by git', { tags: 'slow' }, async (code, _, shut) => {
    const { a, b, remote } = await pairOfClones()
    moveBranch(remote, withTree(remote, 'main', await shut(remote)))
    await expectRefused(a, code)
    expect(await failureOf(repair(a))).toMatchObject({ code })
    git(['push', '--quiet', '--force', remote, 'main'], a.place.directory)
    await syncAll([a, b])
    await expectInStep(remote, [a, b])
  })
})

/** The store id of a keyring is public; its slots are for others. */
async function lockedTree(remote: string): Promise<string> {
  const lone = bareRemote()
  await sync(await firstClone(lone))
  const [foreign, own] = [lone, remote].map((repository) => {
    return gitBytes(['cat-file', 'blob', 'main:keyring'], repository)
  })
  const id = own?.subarray(24, 40) ?? Buffer.alloc(0)
  const parts = [foreign?.subarray(0, 24), id, foreign?.subarray(40)]
  return treeWith(remote, 'keyring', Buffer.concat(parts.flatMap((part) => part ?? [])))
}
