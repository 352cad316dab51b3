// Erasing from a repository that stock git has been at work in: whatever git keeps in addition to
// the branch is removed if it holds or names an erased object, and git finds nothing wrong
// afterwards.

import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { openDiskObjectStore } from '../../src/git/disk-store/disk-object-store.ts'
import { expectAllReadable } from '../contract/object-store.contract.ts'
import {
  commitErasure,
  erasure,
  expectSound,
  history,
  packFiles,
  type Place,
  prepareStore,
} from '../support/erasable-store.ts'
import { expectErased } from '../support/erasure.ts'
import { git } from '../support/temporary.ts'

const [secretOid] = history[4]?.objects.map(({ oid }) => oid) ?? []
const firstDead = history[4]?.next ?? ''

/** Something that git has done to the store before the erasure. */
interface Habit {
  readonly name: string
  readonly do: (place: Place) => void
  /** Checks that there was something to erase, and that innocent files are kept. */
  readonly check?: (place: Place) => void
}

const habits: readonly Habit[] = [
  { name: 'nothing', do: () => {} },
  {
    name: 'gc with deltas between everything',
    do: ({ run }) => run('-c', 'gc.writeCommitGraph=false', 'repack', '-adfq', '--depth=20'),
  },
  {
    name: 'a commit-graph',
    do: ({ run, directory }) => {
      run('commit-graph', 'write', '--reachable')
      expect(existsSync(join(directory, 'objects/info/commit-graph'))).toBe(true)
    },
  },
  {
    name: 'a chain of commit-graphs',
    do: ({ run, directory }) => {
      run('commit-graph', 'write', '--reachable', '--split')
      expect(readdirSync(join(directory, 'objects/info/commit-graphs'))).not.toEqual([])
    },
  },
  {
    name: 'a multi-pack-index with a bitmap',
    do: ({ run, directory }) => {
      run('multi-pack-index', 'write', '--bitmap')
      expect(packFiles(directory, /^multi-pack-index-.*\.bitmap$/)).toHaveLength(1)
    },
  },
  {
    name: 'a pack with a bitmap and a reverse index',
    do: ({ run, directory }) => {
      run('-c', 'pack.writeReverseIndex=true', 'repack', '-adbq')
      expect(packFiles(directory, /\.(bitmap|rev)$/)).toHaveLength(2)
    },
  },
  {
    name: 'a kept pack',
    do: ({ directory, write }) => {
      const [pack = ''] = packFiles(directory, /\.pack$/)
      write(`objects/pack/${pack.replace('.pack', '.keep')}`, 'keep this')
    },
  },
  {
    name: 'a cruft pack',
    do: ({ run, directory }) => {
      const head = run('rev-parse', 'main')
      run('update-ref', 'refs/heads/main', 'main~12')
      run('-c', 'gc.cruftPacks=true', 'repack', '--cruft', '-dq')
      run('update-ref', 'refs/heads/main', head)
      expect(packFiles(directory, /\.mtimes$/)).toHaveLength(1)
    },
  },
  {
    name: 'loose objects',
    do: ({ run, directory }) => {
      const packs = packFiles(directory, /\.pack$/).map((name) => join('objects/pack', name))
      for (const pack of packs) {
        const bytes = readFileSync(join(directory, pack))
        execFileSync('rm', ['-f', pack, pack.replace('.pack', '.idx')], { cwd: directory })
        git(['unpack-objects', '-q'], directory, bytes)
      }
      expect(run('count-objects')).not.toMatch(/^0 /)
    },
  },
  {
    name: 'branches and notes, loose and packed',
    do: ({ run }) => {
      run('branch', 'packed', 'main')
      run('branch', 'innocent', 'main~12')
      run('pack-refs', '--all')
      run('branch', 'loose', 'main~1')
      run('branch', '-f', 'packed', 'main~12')
      run('symbolic-ref', 'refs/remotes/origin/HEAD', 'refs/heads/loose')
      run('update-ref', 'refs/heads/main', 'main')
    },
    check: ({ run }) => {
      expect(run('for-each-ref', '--format=%(refname)').split('\n')).toEqual([
        'refs/heads/innocent',
        'refs/heads/main',
        'refs/heads/packed',
      ])
    },
  },
  {
    name: 'heads that are kept as evidence, beside remotes that are called like them',
    do: ({ run }) => {
      run('update-ref', 'refs/gitlocket/left-out/packed', 'main~12')
      run('pack-refs', '--all')
      run('update-ref', 'refs/gitlocket/left-out/loose', 'main~12')
      run('update-ref', 'refs/remotes/left-out-0123456789ab/main', 'main~12')
      run('update-ref', 'refs/heads/main', 'main')
    },
    check: ({ run }) => {
      expect(run('for-each-ref', '--format=%(refname)').split('\n')).toEqual([
        'refs/heads/main',
        'refs/remotes/left-out-0123456789ab/main',
      ])
    },
  },
  {
    name: 'tags, loose and packed, and a tag of a tag',
    do: ({ run }) => {
      run('tag', '-a', '-m', 'packed', 'packed', 'main')
      run('tag', '-a', '-m', 'innocent', 'innocent', 'main~12')
      run('pack-refs', '--all')
      run('repack', '-adq')
      run('tag', 'light', 'main~1')
      run('tag', '-a', '-m', 'loose', 'loose', 'main~2')
      run('tag', '-a', '-m', 'twice', 'twice', 'loose')
      run('tag', '-a', '-m', 'of the content', 'content', secretOid ?? '')
    },
    check: ({ run }) => expect(run('tag')).toBe('innocent'),
  },
  {
    name: 'replacement refs',
    do: ({ run }) => run('replace', firstDead, run('rev-parse', 'main~12')),
    check: ({ run }) => expect(run('replace', '-l')).toBe(''),
  },
  {
    name: 'reflogs',
    do: ({ run }) => {
      run('config', 'core.logAllRefUpdates', 'always')
      const head = run('rev-parse', 'main')
      run('update-ref', '-m', 'back', 'refs/heads/main', 'main~13')
      run('update-ref', '-m', 'aside', 'refs/heads/other', 'main')
      run('update-ref', '-m', 'forth', 'refs/heads/main', head)
      run('update-ref', '-m', 'along', 'refs/heads/other', head)
      run('update-ref', '-m', 'back again', 'refs/heads/other', 'main~13')
    },
    check: ({ run, directory }) => {
      expect(run('reflog', 'show', '--format=%gs', 'other')).toBe('aside')
      expect(existsSync(join(directory, 'logs/refs/heads/main'))).toBe(false)
    },
  },
  {
    name: 'ORIG_HEAD and FETCH_HEAD',
    do: ({ run, write }) => {
      const [dead, innocent] = [run('rev-parse', 'main'), run('rev-parse', 'main~13')]
      write('ORIG_HEAD', `${dead}\n`)
      write('FETCH_HEAD', `${innocent}\t\tbranch 'main'\n${dead}\tnot-for-merge\tbranch 'x'\n`)
      write('MERGE_HEAD', `${innocent}\n`)
    },
    check: ({ directory }) => {
      const heads = readdirSync(directory).filter((name) => name.endsWith('_HEAD'))
      expect(heads).toEqual(['MERGE_HEAD'])
    },
  },
  {
    name: 'linked working trees, on a branch and detached',
    do: ({ run, directory, write }) => {
      const beside = (name: string): string => join(dirname(directory), name)
      run('worktree', 'add', '-q', '--detach', beside('detached'), 'main~2')
      run('worktree', 'add', '-q', '-b', 'aside', beside('aside'), 'main~1')
      git(['checkout', '-q', 'main~3'], beside('detached'))
      const index = readFileSync(join(directory, 'worktrees/detached/index'))
      expect(index.includes(Buffer.from(secretOid ?? '', 'hex'))).toBe(true)
      write('index', index)
    },
    check: ({ run, directory }) => {
      expect(run('worktree', 'list').split('\n')).toHaveLength(1)
      expect(existsSync(join(directory, 'index'))).toBe(false)
      // A checked out worktree is outside the store; the store has no link to it.
      run('worktree', 'prune')
      expect(existsSync(join(dirname(directory), 'detached/.git'))).toBe(true)
    },
  },
  {
    name: 'files for a dumb server',
    do: ({ run }) => run('update-server-info'),
  },
  {
    name: 'what died while it wrote',
    do: ({ write }) => {
      const { secret } = erasure
      write('objects/pack/tmp_pack_Xa81bc', secret)
      write('objects/pack/.tmp-1234-pack-0000.pack', secret)
      write('objects/pack/tmp_pack_0123456789abcdef', secret)
      write(`objects/pack/pack-${'0'.repeat(40)}.pack`, secret)
      write('objects/ab/tmp_obj_Ab12Cd', secret)
      write('objects/tmp_objdir-incoming-Ab12Cd/pack/tmp_pack_Ab12Cd', secret)
      write('gitlocket/cache/dev_0/state', secret)
      write('gitlocket/cache/state', secret)
      write('gitlocket/purge-0123456789abcdef.00112233445566aa.tmp', secret)
    },
  },
]

describe('erasing after stock git has left', () => {
  test.each(habits)('$name', { tags: 'slow' }, async ({ do: act, check }) => {
    const place = await prepareStore()
    act(place)
    const store = await openDiskObjectStore(place)
    await commitErasure(store, erasure)
    await store.checkpoint()
    expect(store.status().purgePending).toBe(0)
    expectErased(place.directory, store, erasure)
    expectAllReadable(store, [{ ...erasure.transition, objects: erasure.live }])
    await store.close()
    expect(place.run('rev-parse', 'main')).toBe(erasure.transition.next)
    expectSound(place)
    check?.(place)
    place.run('gc', '--quiet', '--prune=now')
    expectSound(place)
  })
})
