// Pipes in place of the files that a user names, such as bash's process substitutions: read to
// their end, within bounds. A pipe in a store, or in a place that the user has not named, is
// refused (T39).

import { execFileSync, spawn } from 'node:child_process'
import { readFileSync, rmSync } from 'node:fs'
import { expect, test } from 'vitest'
import { bareRemote } from '../support/clones.ts'
import { firstMachine, pinned } from './cli-machines.ts'
import { type Ended, ended, type Home, mainFile, newHome, newHomeWithStore } from './cli-process.ts'

/** Runs a line of bash, in which `$gitlocket` is the program. */
function bash(home: Home, line: string): Promise<Ended> {
  const env = { ...home.environment(), gitlocket: `${process.execPath} ${mainFile}` }
  return ended(spawn('bash', ['-c', line], { cwd: home.directory, env, stdio: 'pipe' }))
}

/** A store whose identity is in no file. */
async function withoutIdentity(): Promise<{ home: Home; identity: string }> {
  const home = await newHomeWithStore()
  const text = readFileSync(home.identityFile, 'utf8')
  const [identity = ''] = /^GITLOCKET-IDENTITY.*/m.exec(text) ?? []
  rmSync(home.identityFile)
  return { home, identity }
}

test('the identity file may be one, also if it is read twice', { tags: 'slow' }, async () => {
  const { home, identity } = await withoutIdentity()
  const [start, end] = [identity.slice(0, 9), identity.slice(9)]
  // Neither an empty pipe nor a part is the end.
  const slowly = `sleep 0.1; printf %s ${start}; sleep 0.1; echo ${end}`
  for (const words of ['create a.md --text hello', 'cat a.md', 'doctor', 'recover']) {
    const line = `GITLOCKET_IDENTITY_FILE=<(${slowly}) $gitlocket ${words}`
    expect(await bash(home, line), words).toMatchObject({ exitCode: 0, stderr: '' })
  }
})

test('a named pipe of a file system is one too', { tags: 'slow' }, async () => {
  const { home, identity } = await withoutIdentity()
  execFileSync('mkfifo', [`${home.directory}/pipe`])
  const write = `{ sleep 0.1; echo '${identity}'; } > pipe &`
  const reading = bash(home, `${write} GITLOCKET_IDENTITY_FILE=pipe $gitlocket ls`)
  expect(await reading).toMatchObject({ exitCode: 0, stderr: '' })
})

test('files with secrets, certificates and texts may be', { tags: 'slow' }, async () => {
  const remote = bareRemote()
  const { home: first, recoveryKey } = await firstMachine(remote)
  const home = newHome()
  const files = `GITLOCKET_RECOVERY_KEY_FILE=<(echo ${recoveryKey}) GIT_SSL_CAINFO=<(echo)`
  const joining = bash(home, `${files} $gitlocket join '${await pinned(first, remote)}'`)
  expect(await joining).toMatchObject({ exitCode: 0, stderr: '' })
  await bash(home, '$gitlocket create a.md --file <(printf hello)')
  expect(await home.ok('cat', 'a.md')).toBe('hello')
})

test('one without an end is read as far as is allowed', { tags: 'slow' }, async () => {
  const { home } = await withoutIdentity()
  const found = await Promise.all([
    bash(home, 'GITLOCKET_IDENTITY_FILE=<(yes) $gitlocket ls'),
    bash(home, 'GITLOCKET_RECOVERY_KEY_FILE=<(yes) $gitlocket recover'),
  ])
  const [identity, key] = found.map(({ exitCode, stderr }) => `${exitCode} ${stderr}`)
  expect(identity).toMatch(/^2 .*it is too large/s)
  expect(key).toMatch(/^5 .*is larger than a memory can be/s)
})
