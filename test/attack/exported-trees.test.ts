// T74: an agent names its memories so that an export of them looks like a repository to git, or
// like configuration to another program. Here git itself runs on the exported files, as a user or a
// shell prompt would have it do, in every directory. Any configuration that it runs leaves a
// canary.

import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { type Home, newHomeWithStore } from '../e2e/cli-process.ts'
import { cleanEnvironment, git } from '../support/temporary.ts'

type Files = Readonly<Record<string, string>>

const canaryOf = (home: Home): string => join(home.directory, 'canary')

/** Leaves the canary at each status of the working tree, and at `git st`. */
function configuration(home: Home, worktree: string): string {
  const command = `touch ${canaryOf(home)}; false`
  return [
    `[core]\n\trepositoryformatversion = 0\n\tworktree = ${worktree}\n\tbare = false`,
    `\tfsmonitor = "${command}"\n[alias]\n\tst = "!${command}"\n`,
  ].join('\n')
}

const probes: readonly (readonly [string, readonly string[]])[] = [
  ['git', ['status']],
  ['git', ['log']],
  [
    'git',
    [
      'rev-parse',
      '--git-dir',
      '--is-inside-git-dir',
      '--is-bare-repository',
      '--is-inside-work-tree',
      '--short',
      'HEAD',
    ],
  ],
  ['git', ['diff', '--no-ext-diff', '--quiet']],
  [
    'sh',
    [
      '-c',
      'prompt="$(git --exec-path)/git-sh-prompt"; test ! -f "$prompt" || ' +
        '{ GIT_PS1_SHOWDIRTYSTATE=1 GIT_PS1_SHOWUNTRACKEDFILES=1; . "$prompt"; __git_ps1; }',
    ],
  ],
]

/** Shows also that the configuration is read where it happens to run nothing. */
const alias = ['git', ['st']] as const

/** Whether git, used in any of the directories, ran what the files say. */
function isRunIn(home: Home, root: string, commands = [...probes, alias]): boolean {
  const canary = canaryOf(home)
  for (const directory of directoriesIn(root)) {
    for (const [program, words] of commands) {
      spawnSync(program, words, { cwd: directory, env: cleanEnvironment(home.directory) })
    }
  }
  const ran = existsSync(canary)
  rmSync(canary, { force: true })
  return ran
}

function directoriesIn(root: string): readonly string[] {
  const entries = readdirSync(root, { withFileTypes: true })
  const below = entries.filter((entry) => entry.isDirectory() && entry.name !== '.git')
  return [root, ...below.flatMap(({ name }) => directoriesIn(join(root, name)))]
}

function write(root: string, files: Files): void {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, name)), { recursive: true })
    writeFileSync(join(root, name), text)
  }
}

async function remember(home: Home, files: Files): Promise<void> {
  for (const [name, text] of Object.entries(files)) {
    await home.ok('create', `/${name}`, '--text', text)
  }
}

interface Attack {
  readonly memories: (home: Home) => Files
  /** What the first directory of the target holds already. */
  readonly existing?: (home: Home) => Files
  /** Its destination in the home; `out` by default. */
  readonly target?: string
  /** Paths that must not be written. */
  readonly leftOut: readonly string[]
}

const head = 'ref: refs/heads/main\n'
const bare = (home: Home, worktree = '.'): Files => ({
  HEAD: head,
  config: configuration(home, worktree),
  'objects/x.md': 'x',
  'refs/x.md': 'x',
})
const below = (directory: string, files: Files): Files =>
  Object.fromEntries(Object.entries(files).map(([name, text]) => [`${directory}/${name}`, text]))
const pick = (files: Files, ...names: readonly string[]): Files =>
  Object.fromEntries(Object.entries(files).filter(([name]) => names.includes(name)))

const shape = ['/HEAD', '/objects/x.md', '/refs/x.md']

const attacks: Readonly<Record<string, Attack>> = {
  'a repository at the top': { memories: bare, leftOut: shape },
  'a repository in a directory': {
    memories: (home) => ({ 'a.md': 'a', ...below('notes/deep', bare(home)) }),
    leftOut: shape.map((name) => `/notes/deep${name}`),
  },
  'a repository in another working tree': {
    memories: (home) => below('sub', bare(home)),
    target: 'project/out',
    leftOut: shape.map((name) => `/sub${name}`),
  },
  'the half that an existing directory lacks': {
    memories: (home) => pick(bare(home), 'config', 'refs/x.md'),
    existing: (home) => pick(bare(home), 'HEAD', 'objects/x.md'),
    leftOut: ['/refs/x.md'],
  },
  'the configuration of a repository that is there': {
    memories: (home) => ({ ...pick(bare(home), 'config'), 'sub/a.md': 'a' }),
    existing: (home) => pick(bare(home), 'HEAD', 'objects/x.md', 'refs/x.md'),
    leftOut: ['/config', '/sub/a.md'],
  },
  'the rest of the directory above': {
    memories: () => ({ 'x.md': 'x' }),
    existing: (home) => pick(bare(home), 'HEAD', 'config', 'objects/x.md'),
    target: 'out/refs',
    leftOut: ['/x.md'],
  },
  'a linked worktree': {
    memories: (home) => ({
      'tree/HEAD': head,
      'tree/commondir': '../common\n',
      'tree/gitdir': `${home.directory}/out/tree/.git\n`,
      'tree/config.worktree': '[core]\n\tworktree = .\n',
      'common/config': `${configuration(home, '.')}[extensions]\n\tworktreeConfig = true\n`,
      'common/objects/x.md': 'x',
      'common/refs/x.md': 'x',
    }),
    leftOut: ['/tree/HEAD', '/tree/commondir'],
  },
  'a file .git that names a repository': {
    memories: (home) => ({
      '.git': 'gitdir: ./common\n',
      ...below('common', bare(home, '..')),
    }),
    leftOut: ['/.git', ...shape.map((name) => `/common${name}`)],
  },
}

describe('T74: an export', () => {
  test.each(Object.entries(attacks))(
    'does not write %s',
    { tags: 'slow' },
    async (_, { memories, existing, target = 'out', leftOut }) => {
      const home = await newHomeWithStore()
      mkdirSync(join(home.directory, 'project'))
      git(['init', '--quiet'], join(home.directory, 'project'))
      const [top = ''] = target.split('/')
      const root = join(home.directory, top)
      const twin = join(home.directory, 'twin', top)
      for (const place of [root, twin]) {
        mkdirSync(place, { recursive: true })
        write(place, existing?.(home) ?? {})
      }
      write(join(home.directory, 'twin', target), memories(home))
      expect(isRunIn(home, twin, [...probes])).toBe(true)
      await remember(home, memories(home))
      const namesIn = (): readonly string[] => directoriesIn(root).flatMap((at) => readdirSync(at))
      const before = namesIn()
      const refused = await home.call(['export', target, '--force', '--with-config'])
      expect(refused.exitCode).toBe(2)
      for (const path of leftOut) expect(refused.stderr).toContain(`  ${path} would `)
      expect(namesIn()).toEqual(before)
      const words = ['--force', '--with-config', '--skip-unsafe', '--json']
      const part = await home.call(['export', target, ...words])
      expect(JSON.parse(part.stdout)).toMatchObject({ left_out: leftOut.toSorted() })
      expect(isRunIn(home, root)).toBe(false)
    },
  )

  test('does not complete what an earlier export began', { tags: 'slow' }, async () => {
    const home = await newHomeWithStore()
    await remember(home, pick(bare(home), 'HEAD', 'config', 'objects/x.md'))
    await home.ok('export', 'out')
    for (const name of ['HEAD', 'config', 'objects']) await home.ok('rm', name)
    await remember(home, { 'refs/x.md': 'x' })
    expect(await home.call(['export', 'out', '--force'])).toMatchObject({ exitCode: 2 })
    expect(existsSync(join(home.directory, 'out/refs'))).toBe(false)
    expect(isRunIn(home, join(home.directory, 'out'))).toBe(false)
  })

  test('writes the configuration of other programs only on request', { tags: 'slow' }, async () => {
    const home = await newHomeWithStore()
    const names = ['.envrc', 'x/.claude/settings.local.json', 'x/.vscode/tasks.json']
    await remember(home, Object.fromEntries(['a.md', ...names].map((name) => [name, 'x'])))
    const refused = await home.call(['export', 'out'])
    expect(refused).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining('--with-config'),
    })
    for (const name of names) expect(refused.stderr).toContain(`  /${name} may be run or loaded`)
    expect(existsSync(join(home.directory, 'out'))).toBe(false)
    const part = await home.call(['export', 'out', '--skip-unsafe'])
    expect(part.stderr).toBe(`Left out:\n${names.map((name) => `  /${name}\n`).join('')}`)
    expect(readdirSync(join(home.directory, 'out'))).toEqual(['a.md'])
    const whole = await home.call(['export', 'whole', '--with-config'])
    expect(whole).toMatchObject({ exitCode: 0, stderr: expect.stringContaining('  /.envrc\n') })
    expect(existsSync(join(home.directory, 'whole/x/.vscode/tasks.json'))).toBe(true)
  })
})
