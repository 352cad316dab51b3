// T22: a remote on a medium that an attacker has prepared. git serves it as the user, and runs
// nothing that the repository names, neither for a push nor for a fetch.

import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { describe, expect, test } from 'vitest'
import { StoreError } from '../../src/errors.ts'
import { type Clone, headOf, joinClone, sync } from '../support/clones.ts'
import { branchOf, create, pairsOfClones } from '../support/hostile-remotes.ts'
import { sample } from '../support/seed.ts'
import { author } from '../support/stores.ts'
import { cleanEnvironment, copyDirectory, git, temporaryDirectory } from '../support/temporary.ts'

/** Makes a repository run what leaves `mark` behind. */
type Prepare = (remote: string, mark: string) => void

const pairOfClones = pairsOfClones()

function script(path: string, text: string): void {
  writeFileSync(path, `#!/bin/sh\n${text}\n`)
  chmodSync(path, 0o755)
}

function configure(remote: string, settings: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(settings)) git(['config', name, value], remote)
}

function hook(name: string): readonly [string, Prepare] {
  const prepare: Prepare = (remote, mark) => {
    mkdirSync(`${remote}/hooks`, { recursive: true })
    script(`${remote}/hooks/${name}`, `cat > /dev/null; id > '${mark}'`)
  }
  return [`its ${name} hook`, prepare]
}

function hooksElsewhere(remote: string, mark: string): void {
  const hooksPath = temporaryDirectory()
  script(`${hooksPath}/post-receive`, `id > '${mark}'`)
  configure(remote, { 'core.hooksPath': hooksPath })
}

function alternates(remote: string, mark: string): void {
  const other = `${temporaryDirectory()}/other.git`
  git(['init', '--quiet', '--bare', other], '/')
  mkdirSync(`${remote}/objects/info`, { recursive: true })
  writeFileSync(`${remote}/objects/info/alternates`, `${other}/objects\n`)
  configure(remote, { 'core.alternateRefsCommand': `id > '${mark}';:` })
}

/** A working tree with the branch checked out, which a push updates through a filter. */
function workingTree(remote: string, mark: string): void {
  const tree = `${temporaryDirectory()}/tree`
  git(['worktree', 'add', '--quiet', tree, 'main'], remote)
  mkdirSync(`${remote}/info`, { recursive: true })
  writeFileSync(`${remote}/info/attributes`, '* filter=prepared\n')
  const filter = `id > '${mark}'; cat`
  configure(remote, {
    'receive.denyCurrentBranch': 'updateInstead',
    'filter.prepared.smudge': filter,
    'filter.prepared.clean': filter,
  })
}

const programs = (mark: string): Readonly<Record<string, string>> => {
  const command = `sh -c "id > '${mark}'" #`
  const names = ['sshCommand', 'fsmonitor', 'pager', 'editor', 'gitProxy', 'askPass']
  return {
    ...Object.fromEntries(names.map((name) => [`core.${name}`, command])),
    'uploadpack.packObjectsHook': command,
    'gpg.program': command,
    'credential.helper': `!${command}`,
  }
}

/** A partial clone, whose git fetches missing objects from elsewhere: those that a push needs. */
function partialClone(remote: string, mark: string): void {
  configure(remote, {
    ...programs(mark),
    'core.repositoryFormatVersion': '1',
    'extensions.partialClone': 'origin',
    'remote.origin.promisor': 'true',
    'remote.origin.url': 'ssh://host/path',
  })
  const trees = git(['rev-parse', 'main^{tree}', 'main:m'], remote).trim().split('\n')
  for (const oid of trees) rmSync(`${remote}/objects/${oid.slice(0, 2)}/${oid.slice(2)}`)
}

const ofPushes: readonly (readonly [string, Prepare])[] = [
  hook('pre-receive'),
  hook('update'),
  hook('post-receive'),
  hook('post-update'),
  hook('reference-transaction'),
  ['hooks in the folder that it names', hooksElsewhere],
  ['how it lists the refs of its alternates', alternates],
  ['the filters of a working tree there', workingTree],
  ['where a partial clone fetches from', partialClone],
]

describe('a push to a prepared repository runs nothing of it:', () => {
  test.each(sample(ofPushes, 5))('%s', { tags: 'slow' }, async (_, prepare) => {
    const { a, remote } = await pairOfClones()
    await create(a, '/new.md')
    await a.store.maintenance.checkpoint()
    expectRunByGit(a, remote, prepare)
    const mark = `${temporaryDirectory()}/mark`
    prepare(remote, mark)
    // It is refused where it would update a working tree, or something is missing.
    const outcome = await sync(a).catch((error: unknown) => error)
    expect(outcome).toSatisfy((one) => !(one instanceof Error) || one instanceof StoreError)
    expect(existsSync(mark)).toBe(false)
  })

  test(
    'hooks that its configuration names, which git runs since 2.54',
    { tags: 'slow' },
    async () => {
      const { a, remote } = await pairOfClones()
      const names = ['x', 'with.dots and blanks', 'pre-receive', 'a=b']
      for (const name of names) {
        configure(remote, {
          [`hook.${name}.event`]: 'pre-receive',
          [`hook.${name}.command`]: 'false',
        })
      }
      const told = await tellEnvironment(a)
      const off = names.map((name) => `hook.${name}.enabled false`)
      expect(told.toSorted()).toEqual(off.toSorted())
      expect(branchOf(remote)).toBe((await a.store.status()).head)
    },
  )
})

/** Pushes with stock git, to prove that the preparation has an effect at all. */
function expectRunByGit({ place }: Clone, remote: string, prepare: Prepare): void {
  const root = temporaryDirectory()
  const prepared = `${root}/prepared.git`
  copyDirectory(remote, prepared)
  prepare(prepared, `${root}/mark`)
  const args = ['push', '--quiet', prepared, 'main']
  spawnSync('git', args, { cwd: place.directory, env: cleanEnvironment() })
  expect(existsSync(`${root}/mark`)).toBe(true)
}

/** What git is told on a push by numbered pairs of variables. */
async function tellEnvironment(clone: Clone): Promise<readonly string[]> {
  const directory = temporaryDirectory()
  const environment = cleanEnvironment()
  const log = `${directory}/log`
  const pairs = `i=0; while [ "$i" -lt "$GIT_CONFIG_COUNT" ]; do
    eval "echo \\"\\$GIT_CONFIG_KEY_$i \\$GIT_CONFIG_VALUE_$i\\""; i=$((i + 1)); done`
  script(
    `${directory}/git`,
    `PATH='${environment['PATH']}'
case "$*" in *receive-pack*) { ${pairs}; } > '${log}' ;; esac
exec git "$@"`,
  )
  const PATH = `${directory}:${environment['PATH']}`
  await create(clone, '/new.md')
  await clone.store.as(author).sync({ access: { environment: { ...environment, PATH } } })
  return readFileSync(log, 'utf8').trim().split('\n')
}

test(
  'a push to a prepared repository lets it write no line of a file elsewhere',
  { tags: 'slow' },
  async () => {
    const { a, remote } = await pairOfClones()
    const victim = `${temporaryDirectory()}/profile`
    writeFileSync(victim, '')
    mkdirSync(`${remote}/logs/refs/heads`, { recursive: true })
    symlinkSync(victim, `${remote}/logs/refs/heads/main`)
    configure(remote, {
      'core.logAllRefUpdates': 'always',
      'user.name': 'x; id; x',
      'user.email': 'x',
    })
    await create(a, '/new.md')
    await a.store.as(author).sync({ access: { environment: {} } })
    const line = readFileSync(victim, 'utf8')
    expect(line).toContain(`${branchOf(remote)} gitlocket <gitlocket@localhost> `)
    expect(line).not.toContain(';')
  },
)

test('a fetch from a prepared repository runs nothing of it', { tags: 'slow' }, async () => {
  const { a, b, remote } = await pairOfClones()
  await create(b, '/new.md')
  await sync(b)
  const mark = `${temporaryDirectory()}/mark`
  for (const [, prepare] of ofPushes.slice(0, -1)) prepare(remote, mark)
  await a.store.as(author).sync({ only: 'pull' })
  expect(await headOf(a)).toBe(await headOf(b))
  partialClone(remote, mark)
  const joining = joinClone(a, remote)
  await expect(joining).rejects.toThrow(StoreError)
  expect(existsSync(mark)).toBe(false)
})
