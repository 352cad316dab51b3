// Secrets, patterns and JSON as Windows tools write them, with a byte-order mark, CRLF or UTF-16:
// they mean the same as without.

import { describe, expect, test } from 'vitest'
import { createStore, generateIdentity } from '../../src/index.ts'
import { leastStretch } from '../support/stores.ts'
import { type Home, newHome, newHomeWithStore } from './cli-process.ts'

const MARK = '\ufeff'
const words = 'four little words here'
const view = '{"command":"view","path":"/memories"}'

const forms: readonly [what: string, encode: (text: string) => Uint8Array][] = [
  ['UTF-8 with a mark and CRLF', (text) => Buffer.from(`${MARK}${text}\r\n`)],
  ['UTF-16', (text) => Buffer.from(`${MARK}${text}\r\n`, 'utf16le')],
]

describe.each(forms)('%s', { tags: 'slow' }, (_, encode) => {
  test.each([[], ['--literal']])('a pattern finds the secret, with %j', async (...flags) => {
    const home = await newHomeWithStore()
    await home.ok('write', 'key.md', '--text', 'the key is example-key-000, keep')
    home.file('pattern', encode('example-key-000'))
    const redact = ['redact', '--matching-file', 'pattern', ...flags, '--overwrite', '--yes']
    expect((await home.call(redact)).stdout).toMatch(/^Redacted 1 version/)
    expect(await home.ok('cat', 'key.md')).toBe('the key is [redacted], keep')
  })

  test('the input of the memory tool is read', async () => {
    const home = await newHomeWithStore()
    const { stdout } = await home.run(['tool'], { input: encode(view) })
    expect(JSON.parse(stdout)).toMatchObject({ is_error: false })
  })

  test('a passphrase opens the store', async () => {
    const home = await withPassphrase(words)
    home.file('passphrase', encode(words))
    await recovers(home)
  })
})

test('each line for the memory tool may have a mark', { tags: 'slow' }, async () => {
  const home = await newHomeWithStore()
  const input = `${MARK}${view}\r\n${MARK}${view}\n`
  const { stdout } = await home.run(['tool', '--stream'], { input })
  const answers = stdout.trimEnd().split('\n')
  expect(answers.map((line) => JSON.parse(line))).toEqual([
    expect.objectContaining({ is_error: false }),
    expect.objectContaining({ is_error: false }),
  ])
})

test('a passphrase that was set with its mark still opens', { tags: 'slow' }, async () => {
  const home = await withPassphrase(MARK + words)
  home.file('passphrase', `${MARK}${words}\n`)
  await recovers(home)
})

test('a wrong passphrase with a mark is wrong', { tags: 'slow' }, async () => {
  const home = await withPassphrase(words)
  home.file('passphrase', `${MARK}other little words here\n`)
  expect(await recover(home)).toMatchObject({ exitCode: 8 })
})

/** A store that no identity of this machine opens. */
async function withPassphrase(passphrase: string): Promise<Home> {
  const home = newHome()
  const identity = await generateIdentity()
  const places = { directory: home.store, stateDirectory: home.stateDirectory }
  const { store } = await createStore({ ...places, identity, passphrase, stretch: leastStretch })
  await store.close()
  return home
}

function recover(home: Home): ReturnType<Home['call']> {
  return home.call(['recover'], { GITLOCKET_PASSPHRASE_FILE: 'passphrase' })
}

async function recovers(home: Home): Promise<void> {
  expect(await recover(home)).toMatchObject({ exitCode: 0 })
  expect(await home.ok('ls')).toBe('')
}
