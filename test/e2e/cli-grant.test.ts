// Grants on the command line: giving, listing and ending them, selecting by them, what the host
// allows, and what `status` and `sync` tell about them.

import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { grantKeysOf, parseGrant } from '../../src/keys/wraps.ts'
import { bareRemote } from '../support/clones.ts'
import { startGitServer } from '../support/git-server.ts'
import { git } from '../support/temporary.ts'
import { type Home, newHome, newHomeWithStore } from './cli-process.ts'

async function homeWithRemote(): Promise<{ readonly home: Home; readonly remote: string }> {
  const home = await newHomeWithStore()
  const remote = bareRemote()
  await home.ok('remote', 'add', 'origin', remote)
  return { home, remote }
}

function refsOf(remote: string): readonly string[] {
  const text = git(['for-each-ref', '--format=%(refname)'], remote)
  return text.split('\n').filter((name) => name.includes('gitlocket'))
}

test('grant give shows the text once, with the variables of its holder', async () => {
  const { home, remote } = await homeWithRemote()
  const given = await home.call(['grant', 'give', '--label', 'nightly', '--for', '30h'])
  expect(given.exitCode).toBe(0)
  expect(given.stdout).toMatch(/^Gave the grant nightly \(dev_\w{26}\) as writer, until \S+\n/)
  // The newest state, quoted for a shell.
  const { address } = await home.json('status')
  expect(given.stdout).toContain(`  GITLOCKET_REMOTE='${remote}#${String(address)}'\n`)
  const text = /^ {2}GITLOCKET_GRANT=(GLKG1-\w{160})$/m.exec(given.stdout)?.[1] ?? ''
  expect(given.stderr).toContain('gitlocket serve --sync')
  const { name } = parseGrant(text)
  expect(refsOf(remote)).toEqual([
    `refs/gitlocket/baseline/${name}`,
    `refs/gitlocket/wraps/${name}`,
  ])
  const others = await home.call(['grant', 'list', '--json'])
  expect(others.stdout).not.toContain('GLKG1')
  expect(JSON.parse(others.stdout).data).toMatchObject([
    { type: 'grant', label: 'nightly', role: 'writer', this_device: true, status: 'active' },
  ])
})

test('the two lines of grant give open the store in a shell, and refuse an older one', async () => {
  const { home, remote } = await homeWithRemote()
  await home.ok('create', 'notes.md', '--text', 'first')
  const { stdout } = await home.call(['grant', 'give', '--for', '2h'])
  const lines = stdout.split('\n').filter((line) => line.startsWith('  GITLOCKET_'))
  const script = `${lines.join('\n')}\nprintf '%s\\n%s' "$GITLOCKET_REMOTE" "$GITLOCKET_GRANT"`
  const shown = execFileSync('sh', ['-c', script], { encoding: 'utf8' })
  const [url = '', grant = ''] = shown.split('\n')
  expect(url).toMatch(/^\/.*#memstore_\w{26}\+\w{26}$/)
  const holder = newHome()
  Object.assign(holder.variables, { GITLOCKET_GRANT: grant, GITLOCKET_REMOTE: url })
  expect(await holder.ok('cat', 'notes.md')).toBe('first')
  // The host puts everything back that new keys have replaced.
  const before = git(['for-each-ref', '--format=update %(refname) %(objectname)'], remote)
  await home.ok('key', 'rotate')
  const { remote: newest } = await home.json('grant', 'give')
  expect(newest).not.toBe(url)
  git(['update-ref', '--stdin'], remote, before)
  for (const full of ['0', '1']) {
    const late = newHome()
    const variables = { GITLOCKET_REMOTE: String(newest), GITLOCKET_FULL: full }
    Object.assign(late.variables, holder.variables, variables)
    const refused = await late.call(['ls'])
    expect([refused.exitCode, refused.stdout]).toEqual([12, ''])
    expect(refused.stderr).toContain('does not have the state of the store that the address names')
    expect(refused.stderr).toContain('Compare GITLOCKET_REMOTE')
  }
})

test('grant list and status show grants, and grant end ends them by label, id or all', async () => {
  const { home, remote } = await homeWithRemote()
  for (const label of ['one', 'two', 'three']) {
    await home.json('grant', 'give', '--label', label, '--for', label === 'three' ? '9d' : '2h')
  }
  const attention = (await home.json('status'))['needs_attention']
  expect(attention).toContainEqual({
    kind: 'grants_ending',
    text: '2 grants end within a day',
    command: 'gitlocket grant list',
  })
  const { data } = await home.json('grant', 'list')
  const ids = Object.values(Object(data)).map((grant) => String(Object(grant).id))
  expect(await home.json('grant', 'end', 'one')).toMatchObject({ ids: [ids[0]], pending: null })
  expect((await home.call(['grant', 'end', 'one'])).stdout).toBe('1 grant had ended before\n')
  expect(await home.json('grant', 'end', String(ids[1]).slice(0, 12))).toMatchObject({
    ids: [ids[1]],
  })
  expect(refsOf(remote)).toHaveLength(2)
  const all = await home.call(['grant', 'end', '--all'])
  expect(all.stdout).toBe(`Ended the grant three (${ids[2]})\n`)
  expect(all.stderr).toContain('gitlocket key rotate')
  expect(refsOf(remote)).toEqual([])
  const listed = await home.call(['grant', 'list'])
  expect(listed.stdout.match(/\tended\t/g)).toHaveLength(3)
})

test('a label that was used before means the active grant', async () => {
  const { home } = await homeWithRemote()
  await home.json('grant', 'give', '--label', 'ci')
  await home.json('grant', 'end', 'ci')
  const second = await home.json('grant', 'give', '--label', 'ci')
  expect(await home.json('grant', 'end', 'ci')).toMatchObject({ ids: [second['id']] })
  const twice = await home.call(['grant', 'end', 'ci'])
  expect(twice.exitCode).toBe(2)
  expect(twice.stderr).toContain('may mean 2 of them')
})

test('--check tells what the host allows, and cleans up', async () => {
  const { home, remote } = await homeWithRemote()
  await home.ok('sync')
  expect(await home.json('grant', 'give', '--check')).toEqual({
    type: 'grant_check',
    remote: 'origin',
    refs: true,
    refs_refusal: null,
    tags: null,
    tags_refusal: null,
    left_over: [],
  })
  expect(refsOf(remote)).toEqual([])
  git(['config', 'receive.hideRefs', 'refs/gitlocket'], remote)
  const tagged = await home.call(['grant', 'give', '--check'])
  expect(tagged.stdout).toMatch(/refs\/gitlocket\/: no, .+\n {2}tags: yes\nGrants can be given/)
  git(['config', '--add', 'receive.hideRefs', 'refs/tags'], remote)
  const refused = await home.call(['grant', 'give', '--check'])
  expect(refused.stdout).toContain('Grants cannot be given')
  expect(refsOf(remote)).toEqual([])
})

test('over http, start and wraps have a ref each until the end', async () => {
  const { home, remote } = await homeWithRemote()
  const { url } = await startGitServer({ repository: remote })
  await home.ok('remote', 'add', 'host', url)
  const given = await home.run(['grant', 'give', '--remote', 'host', '--json'])
  const { address } = await home.json('status')
  const found = { type: 'grant', remote: `${url}#${String(address)}` }
  expect(JSON.parse(given.stdout)).toMatchObject(found)
  expect(refsOf(remote)).toHaveLength(2)
  const ended = await home.run(['grant', 'end', '--all', '--json'])
  expect(JSON.parse(ended.stdout)).toMatchObject({ type: 'grants_ended', pending: null })
  expect(refsOf(remote)).toEqual([])
})

test('a host that denies the deletion of refs is told, with the refs that are left', async () => {
  const { home, remote } = await homeWithRemote()
  // Hooks of a path are not run (T22), those of a host are.
  const { url } = await startGitServer({ repository: remote })
  await home.ok('remote', 'add', 'host', url)
  const zero = '0'.repeat(40)
  const hook = `#!/bin/sh\ncase "$1 $3" in refs/heads*) ;; *" ${zero}") echo never; exit 1;; esac\n`
  mkdirSync(`${remote}/hooks`, { recursive: true })
  writeFileSync(`${remote}/hooks/update`, hook, { mode: 0o755 })
  const check = ['grant', 'give', '--check', '--remote', 'host', '--json']
  const { stdout } = await home.run(check)
  const found = JSON.parse(stdout)
  expect(found).toMatchObject({ refs: false, tags: false, left_over: refsOf(remote) })
  expect(found.refs_refusal).toMatch(/^it does not let them be deleted: /)
})

describe('without a remote, or with one that cannot be reached', () => {
  test.each([
    ['no remote', 3, /this store has no remote\n/, undefined],
    ['an absent remote', 14, /There is no git repository/, '/nowhere/at/all.git'],
  ])('%s: nothing is given', async (_, exitCode, message, url) => {
    const home = await newHomeWithStore()
    if (url !== undefined) await home.ok('remote', 'add', 'origin', url)
    const given = await home.call(['grant', 'give'])
    expect(given.stdout).toBe('')
    expect([given.exitCode, given.stderr]).toEqual([exitCode, expect.stringMatching(message)])
    expect((await home.json('grant', 'list'))['data']).toEqual([])
  })
})

test.each([
  ['--role', 'owner', /--role must be one of writer, reader/],
  ['--for', '91d', /A grant lasts from a minute to 90 days/],
  ['--for', 'long', /--for must be a duration/],
  ['--label', 'a\tb', /A label must be text/],
  ['--remote', 'nowhere', /nowhere/],
])('refuses %s %s', async (option, value, message) => {
  const { home } = await homeWithRemote()
  const given = await home.call(['grant', 'give', option, value])
  expect(given.exitCode).not.toBe(0)
  expect(given.stderr).toMatch(message)
})

test('log, undo and rollback select by a grant', async () => {
  const { home } = await homeWithRemote()
  await home.ok('create', 'a.md', '--text', 'a')
  await home.json('grant', 'give', '--label', 'ci')
  const log = await home.call(['log', '--grant', 'ci'])
  expect([log.exitCode, log.stdout]).toEqual([0, ''])
  for (const verb of ['undo', 'rollback']) {
    const undone = await home.json(verb, '--grant', 'ci', '--yes')
    expect(undone).toMatchObject({ changed: false })
    const unknown = await home.call([verb, '--grant', 'other', '--yes'])
    expect([unknown.exitCode, unknown.stderr]).toEqual([
      3,
      expect.stringMatching(/There is no grant "other"/),
    ])
  }
})

test('a sync tells that a start was missing, and makes it again', async () => {
  const { home, remote } = await homeWithRemote()
  const { text } = await home.json('grant', 'give')
  const { name } = parseGrant(String(text))
  expect(grantKeysOf(parseGrant(String(text))).grantId).toMatch(/^[0-9a-f]{32}$/)
  git(['update-ref', '-d', `refs/gitlocket/baseline/${name}`], remote)
  const synced = await home.ok('sync')
  expect(synced).toContain('was missing at the remote, and was made again')
  expect(refsOf(remote)).toHaveLength(2)
  git(['update-ref', '-d', `refs/gitlocket/baseline/${name}`], remote)
  expect(await home.json('sync')).toMatchObject({
    grants: { refreshed: true, were_lost: true, removed_starts: 0, failure: null },
  })
})

test('a failure to keep starts is a warning of the sync', async () => {
  const { home, remote } = await homeWithRemote()
  await home.json('grant', 'give')
  for (const hidden of ['refs/gitlocket', 'refs/tags']) {
    git(['config', '--add', 'receive.hideRefs', hidden], remote)
  }
  await home.ok('create', 'a.md', '--text', 'a')
  await home.ok('key', 'rotate')
  const synced = await home.call(['sync', '--json'])
  expect(synced.exitCode).toBe(0)
  expect(JSON.parse(synced.stdout)).toMatchObject({
    grants: { refreshed: false, failure: { code: 'push_rejected' } },
  })
})
