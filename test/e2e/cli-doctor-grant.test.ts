// `doctor` where a grant in the environment takes the place of an identity, in a clone that the
// first command makes.

import { renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { bareRemote } from '../support/clones.ts'
import { git } from '../support/temporary.ts'
import { type Home, newHome, newHomeWithStore } from './cli-process.ts'

/** A machine without a store, and the text of a grant for the store of another. */
async function sandbox(): Promise<{ readonly owner: Home; readonly home: Home }> {
  const owner = await newHomeWithStore()
  const remote = bareRemote()
  for (const name of ['a.md', 'b.md']) await owner.ok('create', name, '--text', name)
  await owner.ok('remote', 'add', 'origin', remote)
  const { text } = await owner.json('grant', 'give', '--label', 'ci')
  const home = newHome()
  home.variables['GITLOCKET_REMOTE'] = remote
  home.variables['GITLOCKET_GRANT'] = String(text)
  return { owner, home }
}

test('doctor finds nothing wrong with a clone that it begins by a grant', async () => {
  const { home } = await sandbox()
  for (const when of ['first', 'again']) {
    const { checks, healthy } = await home.json('doctor')
    expect(healthy, when).toBe(true)
    expect(checks).toContainEqual({
      check: 'Identity',
      level: 'ok',
      found: 'a grant, from the environment',
      fix: null,
    })
    expect(checks).toContainEqual({
      check: 'History',
      level: 'ok',
      found: expect.stringMatching(/^from .* on the word of dev_\w+; `fetch --all` gets the rest$/),
      fix: null,
    })
    expect(checks).toContainEqual(expect.objectContaining({ check: 'Clock', level: 'ok' }))
    expect(checks).toContainEqual({
      check: 'git fsck',
      level: 'ok',
      found: 'clean',
      fix: null,
    })
    expect(JSON.stringify(checks)).not.toContain('GLKG1')
  }
  await home.ok('fetch', '--all')
  expect(JSON.stringify(await home.json('doctor'))).not.toContain('on the word of')
})

test('doctor of the device that gave a grant reports what its holders would miss', async () => {
  const { owner, home } = await sandbox()
  const remote = home.variables['GITLOCKET_REMOTE'] ?? ''
  const findings = async () => {
    const { checks } = JSON.parse(await owner.ok('doctor', '--json'))
    return checks.filter(({ check }: { check: string }) => check === 'Grants')
  }
  expect(await findings()).toMatchObject([{ level: 'ok', found: '1 grant; holders can begin' }])
  const refs = git(['for-each-ref', '--format=%(refname)', 'refs/gitlocket'], remote)
  const [start = '', wraps = ''] = refs.trim().split('\n')
  git(['update-ref', '-d', start], remote)
  git(['update-ref', wraps, 'main'], remote)
  expect(await findings()).toMatchObject([
    { level: 'warn', found: expect.stringContaining('origin lacks the start') },
    { level: 'warn', found: expect.stringContaining('origin lacks the wraps') },
  ])
  await owner.ok('sync')
  expect(await findings()).toMatchObject([{ level: 'ok' }])
  await owner.ok('key', 'rotate')
  renameSync(remote, `${remote}-away`)
  expect(await findings()).toMatchObject([
    { level: 'warn', found: expect.stringContaining('origin was not asked') },
  ])
})

test('doctor reports a grant that the remote has no start for', async () => {
  const { home } = await sandbox()
  const remote = home.variables['GITLOCKET_REMOTE'] ?? ''
  const refs = git(['for-each-ref', '--format=%(refname)', 'refs/gitlocket'], remote)
  for (const name of refs.trim().split('\n')) git(['update-ref', '-d', name], remote)
  const { exitCode, stdout } = await home.call(['doctor'])
  expect(exitCode).not.toBe(0)
  expect(stdout).toMatch(/^fail {2}Store {7}.*The remote has no keys for this grant/m)
})

test('doctor --repair refuses the clone of a grant, which is made again', async () => {
  const { home } = await sandbox()
  const { storage } = await home.json('status', '--verbose')
  expect(storage).toBeDefined()
  const { exitCode, stderr } = await home.call(['doctor', '--repair'])
  expect(exitCode).not.toBe(0)
  expect(stderr).toContain('The clone of a grant is not repaired')
  const directory = /Delete (\S+): /.exec(stderr)?.[1] ?? ''
  expect(directory).toContain(join(home.directory, '.local'))
  writeFileSync(join(directory, 'HEAD'), 'damaged')
  expect((await home.call(['ls'])).exitCode).not.toBe(0)
  rmSync(directory, { recursive: true })
  expect(await home.ok('ls')).toBe('a.md\nb.md\n')
})

test('status, search, the home screen and the list of remotes work without history', async () => {
  const { home } = await sandbox()
  expect(await home.ok('status')).toMatch(/^History {4}from \S+, on the word of dev_/m)
  expect(await home.ok('remote', 'list')).toContain('origin')
  const { data } = await home.json('search', 'a.md')
  expect(data).toContainEqual(
    expect.objectContaining({ snippet: 'a.md', created_by: null, session_id: null }),
  )
  await home.ok('write', 'a.md', '--text', 'a word')
  expect((await home.json('search', 'word'))['data']).toMatchObject([
    { created_by: { user_id: 'alice' } },
  ])
  expect(await home.ok()).toContain('an encrypted, versioned memory')
})
