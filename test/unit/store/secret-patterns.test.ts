// Which texts match as secrets and which do not, and that the time is linear. Tokens are
// concatenated, so that secret scanners do not report this file.

import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { systemRandom } from '../../../src/crypto/random.ts'
import {
  formatIdentity,
  formatRecoveryKey,
  generateIdentity,
  generateOperatorSecret,
  generateRecoveryKey,
} from '../../../src/keys/identity.ts'
import { findSecrets } from '../../../src/store/guard/secret-patterns.ts'

const text = 'aB3dE5gH7jK9mN1pQ3sT5vW7yZ9'
/** A string of this many letters and digits without many repetitions. */
const mixed = (length: number): string => text.repeat(Math.ceil(length / 27)).slice(0, length)
const hex = (length: number): string => '0123456789abcdef'.repeat(8).slice(0, length)
const rulesIn = (content: string): readonly string[] => findSecrets(content).map(({ rule }) => rule)

function pem(key: KeyObject, type: 'pkcs1' | 'pkcs8' | 'sec1'): string {
  return key.export({ type, format: 'pem' }).toString()
}

const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey
const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey
const ed = generateKeyPairSync('ed25519').privateKey
const encrypted = rsa
  .export({ type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'x' })
  .toString()
const frame = (kind: string, body: string): string =>
  `-----BEGIN ${kind}-----\n${body}\n-----END ${kind}-----\n`

describe('a private key is found', () => {
  test.each([
    ['PKCS #8', pem(rsa, 'pkcs8')],
    ['PKCS #1', pem(rsa, 'pkcs1')],
    ['PKCS #8 on a curve', pem(ec, 'pkcs8')],
    ['SEC 1', pem(ec, 'sec1')],
    ['Ed25519', pem(ed, 'pkcs8')],
    ['encrypted PKCS #8', encrypted],
    ['OpenSSH', frame('OPENSSH PRIVATE KEY', `b3BlbnNzaC1rZXktdjEA${mixed(50)}`)],
    ['PGP', frame('PGP PRIVATE KEY BLOCK', `Version: GnuPG v2\nComment: me\n\n${mixed(64)}`)],
    [
      'encrypted PKCS #1',
      frame(
        'RSA PRIVATE KEY',
        `Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,${hex(32)}\n\n${mixed(64)}`,
      ),
    ],
    ['with carriage returns', pem(ed, 'pkcs8').replaceAll('\n', '\r\n')],
    ['in JSON', JSON.stringify({ type: 'service_account', private_key: pem(rsa, 'pkcs8') })],
    ['indented', pem(rsa, 'pkcs8').replaceAll('\n', '\n    ')],
    ['quoted', pem(rsa, 'pkcs8').replaceAll('\n', '\n> ')],
    ['without its end', pem(rsa, 'pkcs8').slice(0, 200)],
    ['PuTTY', `PuTTY-User-Key-File-3: ssh-ed25519\nPrivate-Lines: 1\n${mixed(48)}\n`],
    ['age', `AGE-SECRET-KEY-1${'QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L'.repeat(2).slice(0, 58)}`],
  ])('%s', (_, key) => {
    expect(rulesIn(`before\n${key}\nafter\n`)).toEqual(['private key'])
  })

  test('whole keys are compared: two with the same beginning are two', { tags: 'slow' }, () => {
    const other = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey
    const content = pem(rsa, 'pkcs8') + pem(other, 'pkcs8')
    const [a, b] = findSecrets(content).map(({ start, end }) => content.slice(start, end))
    expect([a === undefined, b === undefined, a === b]).toEqual([false, false, false])
  })
})

test('what opens stores is found, in any case and spacing', async () => {
  const identity = formatIdentity(await generateIdentity())
  const recoveryKey = formatRecoveryKey('11'.repeat(16), generateRecoveryKey(systemRandom))
  expect(rulesIn(`${identity} ${identity.toLowerCase()}`)).toEqual([
    'gitlocket identity',
    'gitlocket identity',
  ])
  expect(rulesIn(`${recoveryKey}\n${recoveryKey.replaceAll('-', ' ').replace(' ', '-')}`)).toEqual([
    'gitlocket recovery key',
    'gitlocket recovery key',
  ])
  const operatorSecret = await generateOperatorSecret()
  const spaced = operatorSecret.replaceAll('-', ' ').replace(' ', '-')
  expect(rulesIn(`${operatorSecret}\n${spaced}`)).toEqual([
    'gitlocket operator secret',
    'gitlocket operator secret',
  ])
})

const tokens: readonly (readonly [rule: string, ...parts: readonly string[]])[] = [
  ['AWS access key', 'AKIA', 'QYLPMN5HHHFPZAM2'],
  ['AWS access key', 'ASIA', 'QYLPMN5HHHFPZAM2'],
  ['AWS secret key', 'aws_secret_access', `_key = "${mixed(40)}"`],
  ['AWS secret key', 'AWS_SECRET_ACCESS', `_KEY=${mixed(38)}/+`],
  ['AWS secret key', '"SecretAccess', `Key": "${mixed(40)}"`],
  ['Google API key', 'AIza', mixed(35)],
  ['Google OAuth secret', 'GOCSPX', `-${mixed(28)}`],
  ['Google access token', 'ya29', `.${mixed(100)}`],
  ['Azure account key', 'AccountName=a;Account', `Key=${mixed(86)}==`],
  ['Azure client secret', 'abc8', `Q~${mixed(34)}`],
  ['DigitalOcean token', 'dop', `_v1_${hex(64)}`],
  ['Alibaba Cloud access key', 'LTAI', mixed(20)],
  ['HashiCorp Vault token', 'hvs', `.${mixed(24)}`],
  ['Databricks token', 'dapi', hex(32)],
  ['Anthropic API key', 'sk-ant', `-api03-${mixed(93)}AA`],
  ['Anthropic API key', 'sk-ant', `-admin01-${mixed(93)}AA`],
  ['OpenAI API key', 'sk-proj', `-${mixed(74)}T3BlbkFJ${mixed(74)}`],
  ['OpenAI API key', 'sk', `-${mixed(20)}T3BlbkFJ${mixed(20)}`],
  ['Hugging Face token', 'hf', `_${mixed(34)}`],
  ['GitHub token', 'ghp', `_${mixed(36)}`],
  ['GitHub token', 'ghs', `_${mixed(36)}`],
  ['GitHub token', 'github_pat', `_${mixed(22)}_${mixed(59)}`],
  ['GitLab token', 'glpat', `-${mixed(20)}`],
  ['npm token', 'npm', `_${mixed(36)}`],
  ['PyPI token', 'pypi', `-AgEIcHlwaS5vcmc${mixed(60)}`],
  ['Slack token', 'xoxb', `-123456789012-1234567890123-${mixed(24)}`],
  ['Slack token', 'xapp', `-1-A0123456789-1234567890123-${hex(64)}`],
  ['Slack webhook', 'https://hooks.slack', `.com/services/T01234567/B01234567/${mixed(24)}`],
  ['Stripe key', 'sk_live', `_${mixed(24)}`],
  ['SendGrid API key', 'SG', `.${mixed(22)}.${mixed(43)}`],
  ['Shopify token', 'shpat', `_${hex(32)}`],
  ['1Password token', 'ops', `_eyJ${mixed(200)}`],
  ['password in a URL', 'https://bob', ':hunter2@example.com/'],
  ['password in a URL', 'postgres://app', ':s3cr3t-pw@db.internal:5432/app'],
  ['password in a URL', 'redis://', ':k33pout@cache:6379'],
  ['password in a URL', 'mongodb+srv://app', ':p%40ss@cluster0.example.net/?w=majority'],
]

describe('a token is found', () => {
  test.each(tokens.map(([rule, ...parts]) => [rule, parts.join('')] as const))(
    '%s: %s',
    (rule, token) => {
      for (const [before, after] of [
        ['', ''],
        ['- key: ', '.\n'],
        ['`', '`'],
        ['"', '",'],
        ['\n', '\n'],
      ]) {
        expect(rulesIn(`${before}${token}${after}`)).toEqual([rule])
      }
    },
  )
})

describe('a payment card number is found', () => {
  test.each([
    '4111111111111111',
    '4111 1111 1111 1111',
    '4111-1111-1111-1111',
    '5555555555554444',
    '2223003122003222',
    '378282246310005',
    '3782 822463 10005',
    '30569309025904',
    '3056 930902 5904',
    '6011111111111117',
    '3530111333300000',
    '6205500000000000004',
    '4222222222222',
  ])('%s', (number) => {
    for (const [before, after] of [
      ['', ''],
      ['card: ', ', valid 12/27'],
      ['(', ')'],
      ['12 ', '.'],
    ]) {
      expect(rulesIn(`${before}${number}${after}`)).toEqual(['payment card number'])
    }
  })

  test.each([
    ['a wrong check digit', '4111111111111112'],
    ['an unknown prefix', '9111111111111111'],
    ['a longer number', '14111111111111111'],
    ['in a longer number', '41111111111111110000000'],
    ['in a decimal fraction', '0.4111111111111111'],
    ['in an identifier', 'order_4111111111111111'],
    ['in hex digits', 'a4111111111111111'],
    ['in a UUID', '41111111-1111-1111-1111-411111111111'],
    ['in a table of figures', '4111 1111 1111 1111 1111'],
    ['in a table of figures, later', '1200 4111 1111 1111 1111'],
    ['mixed separators', '4111-1111 1111-1111'],
    ['a time in ms', '1732147200000'],
  ])('not: %s', (_, content) => {
    expect(rulesIn(content)).toEqual([])
  })
})

describe('ordinary text does not match', () => {
  test.each([
    [
      'prose about keys',
      'A PEM file begins with `-----BEGIN PRIVATE KEY-----` and base64 follows.',
    ],
    ['a frame without a key', frame('RSA PRIVATE KEY', '...')],
    [
      'a public key',
      generateKeyPairSync('ed25519').publicKey.export({ type: 'spki', format: 'pem' }).toString(),
    ],
    ['a certificate', frame('CERTIFICATE', mixed(64))],
    ['an SSH public key', `ssh-ed25519 AAAAC3NzaC1lZDI1NTE5${mixed(48)} me@host`],
    ['an age recipient', 'age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kq5p6qn8s0a0f3x'],
    ['hashes', `${hex(40)} ${hex(64)} sha512-${mixed(86)}==`],
    ['ids of stores', 'mem_01j0v8k3e5x9q2w4r6t8y0u1i3 memver_01j0v8k3e5x9q2w4r6t8y0u1i3'],
    ['a UUID', '123e4567-e89b-12d3-a456-426614174000'],
    ['a URL with a port', 'http://localhost:3000/@scope/package and http://a.b:80/x@y'],
    ['a git remote', 'git@github.com:me/repo.git ssh://git@host:22/repo'],
    [
      'placeholders of a URL',
      'postgres://user:password@localhost/db https://u:${TOKEN}@h mysql://u:$PW@h',
    ],
    [
      'other placeholders',
      'https://u:<password>@h amqp://guest:guest@mq ftp://u:xxxx@h https://u:***@h',
    ],
    [
      'names of variables',
      'export AWS_SECRET_ACCESS_KEY=$SECRET GITHUB_TOKEN=ghp_xxx OPENAI_API_KEY=sk-...',
    ],
    ['kebab case', 'sk-learn-pipeline-for-gradient-boosting npm_config_registry hf_hub_download'],
    [
      'an identity prefix',
      'The text form is GITLOCKET-IDENTITY-1- and upper-case base32; GLKR1- and groups.',
    ],
    ['numbers', '1, 22, 333, 4444, 55555 and 1234567890; 2026-11-21T04:47:24Z; +49 30 1234567'],
    ['an e-mail address', 'Write to someone:else@example.com'],
  ])('%s', (_, content) => {
    expect(rulesIn(content)).toEqual([])
  })
})

describe('the time is linear in the text', () => {
  const size = 2 ** 20
  const fill = (part: string): string => part.repeat(Math.ceil(size / part.length))

  test.each([
    ['prose', 'The quick brown fox jumps over the lazy dog.\n'],
    ['one letter', 'a'],
    ['digits', '4'],
    ['groups of digits', '4111 '],
    ['spaces', ' '],
    ['newlines', '\n'],
    ['frames', '-----BEGIN PRIVATE KEY-----'],
    ['frames and spaces', `-----BEGIN PRIVATE KEY-----${' '.repeat(100)}`],
    ['frames and headers', `-----BEGIN PRIVATE KEY-----\n${`Aa: ${' '.repeat(199)}\n`.repeat(9)}`],
    ['one endless key', frame('PRIVATE KEY', mixed(64)).slice(0, 92)],
    ['URLs', '://a:'],
    ['URLs without a host', `://${'a'.repeat(99)}:${'b'.repeat(199)}`],
    ['tokens of one maker', 'sk-'],
    ['their markers', 'T3BlbkFJ'],
    ['their middles', 'Q~'],
    ['prefixes', 'pypi-AgE'],
    ['assignments', 'secret_access_key        '],
    ['recovery keys', 'GLKR1-'],
    ['letters and dots', 'SG.a.'],
    ['base64', mixed(76)],
  ])('%s', (_, part) => {
    const started = performance.now()
    findSecrets(fill(part))
    // 30 to 150 ms here; quadratic time would take minutes.
    expect(performance.now() - started).toBeLessThan(5000)
  })

  // V8's backtracking stack overflows for unbounded repetitions.
  test.each([
    ['key', 'private key', `-----BEGIN PRIVATE KEY-----\n${mixed(64)}`],
    ['key of PuTTY', 'private key', `Private-Lines: 9\n${mixed(64)}`],
    ['token', 'Anthropic API key', `sk-ant-api03-${mixed(64)}`],
  ])('a %s of the greatest content', { tags: 'slow' }, (_, rule, key) => {
    expect(rulesIn(key + mixed(2 ** 24 - key.length))).toEqual([rule])
  })
})
