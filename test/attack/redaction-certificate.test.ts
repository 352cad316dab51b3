// T18: a certificate of a redaction that differs from what the device signed, or that another
// device signed. The verifier is stock ssh-keygen, since certificates are for users without a key.
// FORMAT §10.1.

import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { beforeAll, describe, expect, test } from 'vitest'
import { fromBase64 } from '../../src/bytes.ts'
import { deviceIdOf, formatId } from '../../src/format/id.ts'
import { sshPublicKey, sshSignature } from '../../src/format/sshsig.ts'
import type { RedactionCertificate } from '../../src/index.ts'
import { generateIdentity } from '../../src/keys/identity.ts'
import { createStore } from '../../src/store/create.ts'
import { author } from '../support/stores.ts'
import { cleanEnvironment, git, sharedDirectory, temporaryDirectory } from '../support/temporary.ts'
import { requires } from '../support/tools.ts'

const ssh = requires('ssh-keygen')
const namespace = 'gitlocket-redaction'
const secret = 'the secret itself'

type Signature = RedactionCertificate['signature']
type Statement = Omit<RedactionCertificate, 'signature'>

const directory = sharedDirectory()
let signers: string
let statement: Statement
let signature: Signature
beforeAll(async () => {
  const identity = await generateIdentity()
  const at = { directory: `${directory}/store`, stateDirectory: `${directory}/state`, identity }
  const { store } = await createStore(at)
  await store.as(author).apply([{ type: 'create', path: '/private/key.md', content: secret }])
  await store.as(author).apply([{ type: 'edit', path: '/private/key.md', edit: () => 'gone' }])
  const request = { select: { matching: /secret/ }, reason: 'leaked_secret' } as const
  const { certificate } = await store.as(author).redact(request)
  if (certificate === undefined) throw new Error('Nothing was redacted')
  ;({ signature, ...statement } = certificate)
  signers = await store.maintenance.allowedSigners()
  await store.close()
})

/** Whether `ssh-keygen -Y verify` takes the text for signed by that key in that namespace. */
function isSigned(text: string, by: Partial<Signature> = {}, listed?: string): boolean {
  const { value, public_key, namespace: name } = { ...signature, ...by }
  const folder = temporaryDirectory()
  writeFileSync(`${folder}/signers`, listed ?? `device ${public_key}\n`)
  writeFileSync(`${folder}/signature`, value)
  const principal = listed === undefined ? 'device' : (listed.split(' ')[0] ?? '')
  const { status } = spawnSync(
    'ssh-keygen',
    [
      '-Y',
      'verify',
      '-f',
      `${folder}/signers`,
      '-I',
      principal,
      '-n',
      name,
      '-s',
      `${folder}/signature`,
    ],
    { input: text, env: cleanEnvironment(), stdio: ['pipe', 'ignore', 'ignore'] },
  )
  return status === 0
}

/** The device id that a public key stands for: what a reader compares with `device_id`. */
function deviceOf(publicKey: string): string {
  const blob = fromBase64(publicKey.split(' ')[1] ?? '') ?? new Uint8Array()
  return formatId('device', deviceIdOf(blob.subarray(-32)))
}

/** Another id: the last character may be a 0 already. */
function changed(id: string): string {
  return id.replace(/.$/, (last) => (last === '0' ? '4' : '0'))
}

describe.skipIf(ssh.missing)(`T18: ssh-keygen judges a certificate${ssh.note}`, () => {
  test('the true one is signed by the device that it names', () => {
    expect(isSigned(JSON.stringify(statement))).toBe(true)
    expect(deviceOf(signature.public_key)).toBe(statement.device_id)
  })

  test('it repeats neither content nor path, and no reason text', () => {
    expect(JSON.stringify({ statement, signature })).not.toMatch(/secret itself|private|key\.md/)
  })

  test.each<[name: string, change: (true_: Statement) => object]>([
    ['another store', (one) => ({ ...one, store_id: changed(one.store_id) })],
    ['another reason', (one) => ({ ...one, reason: 'legal' })],
    ['another time', (one) => ({ ...one, redacted_at: new Date(0).toISOString() })],
    ['another actor', (one) => ({ ...one, actor: { type: 'user', id: 'somebody' } })],
    ['another session', (one) => ({ ...one, session_id: null })],
    ['another device', (one) => ({ ...one, device_id: changed(one.device_id) })],
    ['another head before', (one) => ({ ...one, old_head: one.new_head })],
    ['another head after', (one) => ({ ...one, new_head: one.old_head })],
    ['no commit', (one) => ({ ...one, commits: [] })],
    ['a version less', (one) => ({ ...one, versions: one.versions.slice(1) })],
    ['a version more', (one) => ({ ...one, versions: [...one.versions, ...one.versions] })],
    ['an object less', (one) => ({ ...one, object_ids: one.object_ids.slice(1) })],
    ['an object more', (one) => ({ ...one, object_ids: [...one.object_ids, '0'.repeat(40)] })],
    ['another version of the form', (one) => ({ ...one, version: 2 })],
    ['a field more', (one) => ({ ...one, note: 'all clear' })],
    ['its fields in another order', ({ type, ...rest }) => ({ ...rest, type })],
  ])('refused: %s', (_, change) => {
    const text = JSON.stringify(change(statement))
    expect(text).not.toBe(JSON.stringify(statement))
    expect(isSigned(text)).toBe(false)
  })

  test('refused: the same values, spaced otherwise', () => {
    expect(isSigned(JSON.stringify(statement, undefined, 2))).toBe(false)
  })

  test('another key signs it, and stands for another device', async () => {
    const { signing } = await generateIdentity()
    const forged = {
      value: sshSignature(namespace, Buffer.from(JSON.stringify(statement)), signing),
      public_key: sshPublicKey(signing.publicKey),
    }
    expect(isSigned(JSON.stringify(statement), { value: forged.value })).toBe(false)
    expect(isSigned(JSON.stringify(statement), forged)).toBe(true)
    expect(deviceOf(forged.public_key)).not.toBe(statement.device_id)
  })

  test('refused: in the namespace of commits', () => {
    expect(isSigned(JSON.stringify(statement), { namespace: 'git' })).toBe(false)
  })

  test('refused: by the group key, which every member has and which signs commits only', () => {
    const commit = git(['cat-file', 'commit', 'HEAD'], `${directory}/store`)
    const armor = /gpgsig ([^]*?-----END SSH SIGNATURE-----)/.exec(commit)?.[1] ?? ''
    const value = `${armor.replaceAll('\n ', '\n')}\n`
    const signed = commit.replace(/gpgsig [^]*?-----END SSH SIGNATURE-----\n/, '')
    expect(isSigned(signed, { value, namespace: 'git' }, signers)).toBe(true)
    expect(isSigned(signed, { value, namespace }, signers)).toBe(false)
    expect(isSigned(JSON.stringify(statement), { value, namespace }, signers)).toBe(false)
  })
})
