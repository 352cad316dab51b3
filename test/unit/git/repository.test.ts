import {
  appendFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { systemRandom } from '../../../src/crypto/random.ts'
import { LockIdentity } from '../../../src/disk/process-lock.ts'
import { systemDisk } from '../../../src/disk/system-disk.ts'
import { findSetting, parseGitConfig } from '../../../src/git/refs/git-config.ts'
import {
  checkRepository,
  ensureSettings,
  initRepository,
} from '../../../src/git/refs/repository.ts'
import { git, temporaryDirectory } from '../../support/temporary.ts'

function bare(): string {
  const directory = temporaryDirectory()
  git(['init', '--bare', '-b', 'main', '.'], directory)
  return directory
}

function commitTo(directory: string, ...parents: readonly string[]): void {
  const tree = git(['write-tree'], directory).trim()
  const options = ['-m', 'x', ...parents.flatMap((parent) => ['-p', parent])]
  const commit = git(['commit-tree', tree, ...options], directory).trim()
  git(['update-ref', 'refs/heads/main', commit], directory)
}

function addConfig(directory: string, text: string): void {
  appendFileSync(join(directory, 'config'), text)
}

describe('creating a repository', () => {
  test('makes one that stock git finds valid, and never collects', async () => {
    const directory = join(temporaryDirectory(), 'new', 'store')
    await initRepository(systemDisk, directory)
    expect(git(['rev-parse', '--is-bare-repository'], directory).trim()).toBe('true')
    expect(git(['symbolic-ref', 'HEAD'], directory).trim()).toBe('refs/heads/main')
    expect(git(['config', 'gc.auto'], directory).trim()).toBe('0')
    expect(git(['config', 'maintenance.auto'], directory).trim()).toBe('false')
    expect(git(['config', 'receive.autogc'], directory).trim()).toBe('false')
    git(['fsck', '--strict'], directory)
    expect(() => checkRepository(systemDisk, directory)).not.toThrow()
  })

  test('keeps files and directories to the owner, with any umask', async () => {
    const directory = join(temporaryDirectory(), 'store')
    const umask = process.umask(0)
    try {
      await initRepository(systemDisk, directory)
    } finally {
      process.umask(umask)
    }
    for (const name of ['', ...readdirSync(directory, { recursive: true, encoding: 'utf8' })]) {
      expect({ name, open: statSync(join(directory, name)).mode & 0o077 }).toEqual({
        name,
        open: 0,
      })
    }
  })

  test('adopts an empty bare repository and is idempotent until there is a commit', async () => {
    const directory = bare()
    await initRepository(systemDisk, directory)
    await initRepository(systemDisk, directory)
    expect(readFileSync(join(directory, 'config'), 'utf8').match(/\[gc\]/g)).toHaveLength(2)
    commitTo(directory)
    const error = { code: 'store_exists' }
    await expect(initRepository(systemDisk, directory)).rejects.toMatchObject(error)
  })

  test('refuses a directory with other files in it', async () => {
    const directory = temporaryDirectory()
    writeFileSync(join(directory, 'notes.txt'), 'mine')
    const error = { code: 'not_a_store' }
    await expect(initRepository(systemDisk, directory)).rejects.toMatchObject(error)
    expect(readdirSync(directory)).toEqual(['notes.txt'])
  })
})

describe('checking a repository', () => {
  const notAStore: readonly [string, (directory: string) => void][] = [
    ['an empty directory', (at) => rmSync(at, { recursive: true })],
    ['no HEAD', (at) => rmSync(join(at, 'HEAD'))],
    ['no objects', (at) => rmSync(join(at, 'objects'), { recursive: true })],
  ]
  const unsupported: readonly [string, (directory: string) => void][] = [
    ['sha256 objects', (at) => addConfig(at, '[extensions]\n\tobjectFormat = sha256\n')],
    ['reftable', (at) => addConfig(at, '[extensions]\n\trefStorage = reftable\n')],
    ['an unknown extension', (at) => addConfig(at, '[extensions]\n\tsomething = true\n')],
    ['worktree configs', (at) => addConfig(at, '[extensions]\n\tworktreeConfig = true\n')],
    ['a newer format', (at) => addConfig(at, '[core]\n\trepositoryformatversion = 2\n')],
    ['a working tree', (at) => addConfig(at, '[core]\n\tbare = false\n')],
    ['a config that cannot be read', (at) => addConfig(at, '[core\n')],
    ['another branch', (at) => writeFileSync(join(at, 'HEAD'), 'ref: refs/heads/master\n')],
    ['a detached HEAD', (at) => writeFileSync(join(at, 'HEAD'), `${'a'.repeat(40)}\n`)],
    ['a linked working tree', (at) => writeFileSync(join(at, 'commondir'), '../..\n')],
    ['alternates', (at) => writeFileSync(join(at, 'objects/info/alternates'), '/elsewhere\n')],
  ]
  const incomplete: readonly [string, (directory: string) => void][] = [
    ['a shallow file', (at) => writeFileSync(join(at, 'shallow'), `${'a'.repeat(40)}\n`)],
    ['a promisor remote', (at) => addConfig(at, '[remote "origin"]\n\tpromisor = true\n')],
    ['a filter', (at) => addConfig(at, '[remote "a.b"]\n\tpartialclonefilter = blob:none\n')],
    ['partial clone', (at) => addConfig(at, '[extensions]\n\tpartialClone = origin\n')],
    ['grafts', (at) => writeFileSync(join(at, 'info/grafts'), '')],
  ]
  const cases = [
    ...notAStore.map(([name, spoil]) => ({ name, spoil, code: 'not_a_store' })),
    ...unsupported.map(([name, spoil]) => ({ name, spoil, code: 'unsupported_repository' })),
    ...incomplete.map(([name, spoil]) => ({ name, spoil, code: 'incomplete_clone' })),
  ]

  test.each(cases)('$name: $code', ({ spoil, code }) => {
    const directory = bare()
    expect(() => checkRepository(systemDisk, directory)).not.toThrow()
    spoil(directory)
    expect(() => checkRepository(systemDisk, directory)).toThrow(expect.objectContaining({ code }))
  })

  test('a real shallow, partial and sha256 clone', { tags: 'slow' }, () => {
    const root = temporaryDirectory()
    const origin = bare()
    commitTo(origin)
    commitTo(origin, 'main')
    git(['config', 'uploadpack.allowFilter', 'true'], origin)
    const url = `file://${origin}`
    git(['clone', '--bare', '--depth', '1', url, 'shallow'], root)
    git(['clone', '--bare', '--filter=blob:none', url, 'partial'], root)
    git(['init', '--bare', '-b', 'main', '--object-format=sha256', 'sha256'], root)
    git(['clone', '--bare', url, 'whole'], root)
    const codeOf = (name: string): unknown => {
      try {
        checkRepository(systemDisk, join(root, name))
      } catch (error) {
        return error
      }
      return { code: 'none' }
    }
    expect(codeOf('shallow')).toMatchObject({ code: 'incomplete_clone' })
    expect(codeOf('partial')).toMatchObject({ code: 'incomplete_clone' })
    expect(codeOf('sha256')).toMatchObject({ code: 'unsupported_repository' })
    expect(codeOf('whole')).toEqual({ code: 'none' })
  })
})

describe('the settings of a clone', () => {
  test("are completed once, without changing the user's lines", async () => {
    const directory = bare()
    writeFileSync(join(directory, 'config'), '[core]\n\tbare = true\n[user]\n\tname = José\n')
    mkdirSync(join(directory, 'gitlocket'))
    const ownDirectory = join(directory, 'gitlocket')
    const files = {
      disk: systemDisk,
      directory,
      ownDirectory,
      identity: new LockIdentity(systemDisk, ownDirectory, systemRandom),
      random: systemRandom,
      waitMs: 0,
    }
    await ensureSettings(files)
    expect(git(['config', 'gc.auto'], directory).trim()).toBe('0')
    expect(git(['config', 'user.name'], directory).trim()).toBe('José')
    const once = readFileSync(join(directory, 'config'))
    await ensureSettings(files)
    expect(readFileSync(join(directory, 'config'))).toEqual(once)
    writeFileSync(join(directory, 'config.lock'), '')
    writeFileSync(join(directory, 'config'), '[core]\n\tbare = true\n')
    await expect(ensureSettings(files)).rejects.toMatchObject({ code: 'locked' })
  })
})

describe('reading a git config', () => {
  const text = [
    '# comment',
    '[core] bare = true ; comment',
    '\trepositoryformatversion=0',
    '[Remote "O\\"r\\\\i.g"]',
    '\turl = "a # b" c  # comment',
    '\tlong = one\\',
    'two',
    '\tescaped = tab\\there',
    '\tflag',
    '\tempty =',
    '[old.Style]',
    '\tkey = 1',
    '\tkey = 2',
  ].join('\n')

  test('agrees with stock git', () => {
    const directory = bare()
    writeFileSync(join(directory, 'config'), text)
    const config = parseGitConfig(text)
    for (const [name, values] of config) {
      const found = git(['config', '--file', 'config', '--get-all', name], directory)
      const expected = values.map((value) => (name.endsWith('.flag') ? '' : value))
      expect(`${name}: ${found}`).toBe(`${name}: ${expected.join('\n')}\n`)
    }
    const names = git(['config', '--file', 'config', '--name-only', '--list'], directory)
    expect([...config.keys()]).toEqual([...new Set(names.trim().split('\n'))])
    expect(findSetting(config, 'old.style.key')).toBe('2')
    expect(findSetting(config, 'old.style.other')).toBeUndefined()
  })

  test.each(['[a]\n1x = 2', '[a', '[a "b]', '[a]\nk = "open', '[a]\nk = \\q'])(
    '%j is refused, as by stock git',
    (bad) => {
      const directory = bare()
      writeFileSync(join(directory, 'bad'), `${bad}\n`)
      expect(() => git(['config', '--file', 'bad', '--list'], directory)).toThrow('bad config')
      expect(() => parseGitConfig(bad)).toThrow(
        expect.objectContaining({ code: 'unsupported_repository' }),
      )
    },
  )
})
