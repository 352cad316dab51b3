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
import { formatGrant, grantOf } from '../../../src/keys/wraps.ts'
import { findSecrets } from '../../../src/store/guard/find-secrets.ts'
import { secretPatterns } from '../../../src/store/guard/secret-patterns.ts'

const text = 'aB3dE5gH7jK9mN1pQ3sT5vW7yZ9'
/** A string of this many letters and digits without many repetitions. */
const mixed = (length: number): string => text.repeat(Math.ceil(length / 27)).slice(0, length)
const hex = (length: number): string => '3f8a1c97e05bd264'.repeat(8).slice(0, length)
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

  test('whole keys are compared: two that begin alike are different', { tags: 'slow' }, () => {
    const other = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey
    const content = pem(rsa, 'pkcs8') + pem(other, 'pkcs8')
    const [a, b] = findSecrets(content).map(({ start, end }) => content.slice(start, end))
    expect([a === undefined, b === undefined, a === b]).toEqual([false, false, false])
  })
})

test('secrets that open stores are found, in any case and spacing', async () => {
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
  const grant = formatGrant({
    ...grantOf(await generateIdentity(), '11'.repeat(16), 0),
    name: '22'.repeat(16),
  })
  expect(rulesIn(`${grant}\n${grant.toLowerCase()}\nGLKG1- begins a grant`)).toEqual([
    'gitlocket grant',
    'gitlocket grant',
  ])
})

/** A part of a token of RFC 7515. */
const encoded = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
const discordId = Buffer.from('1234567890123456789').toString('base64url')

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
  ['gitlocket API key', 'glk', `_01j0v8k3e5x9q2w4r6t8y0u1i3_${mixed(43)}`],
  ['gitlocket API key', 'gls', `_01j0v8k3e5x9q2w4r6t8y0u1i3_${mixed(43)}`],
  ['AWS secret key', 'AWS_SECRET', `_KEY=${mixed(40)}`],
  ['Azure account key', 'Endpoint=sb://a/;SharedAccess', `Key=${mixed(43)}=`],
  ['Azure shared access signature', '?sv=2024-11-04&si', `g=${mixed(20)}%2B${mixed(22)}%3D`],
  ['Azure shared access signature', 'SharedAccessSignature sr=a&si', `g=${mixed(43)}=`],
  ['HashiCorp Vault token', 'hvb', `.${mixed(100)}`],
  ['Terraform token', mixed(14), `.atlasv1.${mixed(67)}`],
  ['OpenRouter API key', 'sk-or', `-v1-${hex(64)}`],
  ['Groq API key', 'gsk', `_${mixed(52)}`],
  ['xAI API key', 'xai', `-${mixed(80)}`],
  ['Perplexity API key', 'pplx', `-${mixed(48)}`],
  ['Replicate token', 'r8', `_${mixed(37)}`],
  ['RubyGems key', 'rubygems', `_${hex(48)}`],
  ['Docker token', 'dckr_pat', `_${mixed(27)}`],
  ['Docker token', 'dckr_oat', `_${mixed(32)}`],
  ['Discord token', discordId, `.GxYz1a.${mixed(38)}`],
  ['Discord webhook', 'https://discord.com/api', `/webhooks/123456789012345678/${mixed(68)}`],
  ['Telegram bot token', '7123456789', `:AA${mixed(33)}`],
  ['Twilio API key', 'SK', hex(32)],
  ['Twilio auth token', 'AC', `${hex(32)}:${hex(40).slice(8)}`],
  ['Twilio auth token', 'TWILIO_AUTH', `_TOKEN=${hex(32)}`],
  ['Stripe key', 'sk_test', `_${mixed(24)}`],
  ['Stripe key', 'rk_live', `_${mixed(24)}`],
  ['webhook signing secret', 'whsec', `_${mixed(32)}`],
  ['Mailgun API key', 'key', `-${hex(32)}`],
  ['Mailchimp API key', hex(32), '-us14'],
  ['Square secret', 'sq0csp', `-${mixed(43)}`],
  ['Linear key', 'lin_api', `_${mixed(40)}`],
  ['Notion token', 'ntn', `_${mixed(46)}`],
  ['Notion token', 'secret', `_${mixed(43)}`],
  ['Figma token', 'figd', `_${mixed(40)}`],
  ['Atlassian token', 'ATATT3', `xFfGF0${mixed(180)}=${hex(8)}`],
  ['Postman API key', 'PMAK', `-${hex(24)}-${hex(34)}`],
  ['Grafana token', 'glsa', `_${mixed(32)}_${hex(8)}`],
  ['Grafana token', 'glc', `_eyJ${mixed(80)}`],
  ['New Relic key', 'NRAK', `-${mixed(27).toUpperCase()}`],
  ['Sentry token', 'sntrys', `_eyJ${mixed(120)}`],
  ['Sentry token', 'sntryu', `_${hex(64)}`],
  ['Supabase token', 'sbp', `_${hex(40)}`],
  ['Supabase secret key', 'sb_secret', `_${mixed(31)}`],
  ['PlanetScale token', 'pscale_tkn', `_${mixed(43)}`],
  ['Pulumi token', 'pul', `-${hex(40)}`],
  ['Tailscale key', 'tskey', `-auth-${mixed(12)}-${mixed(32)}`],
  ['Doppler token', 'dp', `.pt.${mixed(43)}`],
  ['JSON Web Token', encoded({ alg: 'RS256' }), `.${encoded({ sub: 'u_81' })}.${mixed(86)}`],
  ['JSON Web Token', `Bearer ${encoded({ alg: 'HS256', typ: 'JWT' })}`, `.e30.${mixed(43)}`],
  ['private key', '{"kty":"EC","crv":"P-256",', `"d":"${mixed(43)}"}`],
  ['private key', `{"d": "${mixed(43)}",`, '"kty": "OKP"}'],
  ['private key', '{"kty":"oct",', `"k":"${mixed(43)}"}`],
  ['password in a URL', 'https://bob', ':hunter2@example.com/'],
  ['password in a URL', 'postgres://app', ':s3cr3t-pw@db.internal:5432/app'],
  ['password in a URL', 'redis://', ':k33pout@cache:6379'],
  ['password in a URL', 'mongodb+srv://app', ':p%40ss@cluster0.example.net/?w=majority'],
  ['password in a connection string', 'host=db user=app pass', 'word=k33pout-42 dbname=app'],
  ['password in a connection string', 'dbname=app pass', "word = 'two words' user=app"],
  ['password in a connection string', 'Server=db;User Id=sa;Pass', 'word=k33pout;Encrypt=true'],
  ['password in a connection string', 'Data Source=db;UID=sa;P', 'WD=k33p out!;'],
  ['password in a connection string', 'connect(host="db", pass', 'word="k33pout", user="me")'],
  ['password in a variable', 'PGPASS', 'WORD=k33pout'],
  ['password in a variable', 'MYSQL', '_PWD=k33pout'],
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

/** Each is too short, too long, of another alphabet, or without what makes it a secret. */
const nearMisses: readonly (readonly [what: string, ...parts: readonly string[]])[] = [
  ['an AWS key id of 19 characters', 'AKIA', 'QYLPMN5HHHFPZAM'],
  ['an AWS secret key of 41', 'aws_secret_key=', mixed(41)],
  ['a Google key of 34', 'AIza', mixed(34)],
  ['an Azure account key of 85', 'AccountKey=', `${mixed(85)}==`],
  ['a signature that is no 32 bytes', 'sig=', `${mixed(42)}%3D`],
  ['a design', 'design=', `${mixed(43)}=`],
  ['a Vault token of 23', 'hvs.', mixed(23)],
  ['a Terraform token without its id', '.atlasv1.', mixed(67)],
  ['a Databricks token in capitals', 'dapi', hex(32).toUpperCase()],
  ['an OpenRouter key of 63', 'sk-or-v1-', hex(63)],
  ['a Hugging Face token of 33', 'hf_', mixed(33)],
  ['a Groq key of 51', 'gsk_', mixed(51)],
  ['an xAI key of 79', 'xai-', mixed(79)],
  ['a Perplexity key of 47', 'pplx-', mixed(47)],
  ['a Replicate token of 36', 'r8_', mixed(36)],
  ['a GitHub token of 35', 'ghp_', mixed(35)],
  ['a GitLab token of 18', 'glpat-', mixed(18)],
  ['an npm token of 35', 'npm_', mixed(35)],
  ['a RubyGems key of 47', 'rubygems_', hex(47)],
  ['a Docker token of 26', 'dckr_pat_', mixed(26)],
  ['a Discord token whose id is no number', 'MTIzzzzzzzzzzzzzzzzzzzzz', `.GxYz1a.${mixed(38)}`],
  ['a Discord webhook without its token', 'discord.com/api/webhooks/', '123456789012345678'],
  ['a Telegram token of the documentation', '123456:', `ABC-DEF1234ghIkl-zyx57W2v1u123ew11`],
  ['a Twilio account', 'AC', hex(32)],
  ['a Twilio account and a call', 'AC', `${hex(32)} CA${hex(32)}`],
  ['a Twilio key of 31', 'SK', hex(31)],
  ['a publishable key of Stripe', 'pk_live_', mixed(24)],
  ['a Stripe key of 15', 'sk_test_', mixed(15)],
  ['a webhook secret of 23', 'whsec_', mixed(23)],
  ['a Mailgun key of 31', 'key-', hex(31)],
  ['a Mailchimp key without its number', hex(32), '-us'],
  ['a Square secret of 42', 'sq0csp-', mixed(42)],
  ['a Linear key of 39', 'lin_api_', mixed(39)],
  ['a Notion token of 39', 'ntn_', mixed(39)],
  ['a name that ends with secret', 'client_secret_', mixed(43)],
  ['a Figma token of 39', 'figd_', mixed(39)],
  ['an Atlassian token of 99', 'ATATT3', mixed(99)],
  ['a Postman key of 33', 'PMAK-', `${hex(24)}-${hex(33)}`],
  ['a Grafana token without its checksum', 'glsa_', mixed(32)],
  ['a New Relic key of 26', 'NRAK-', mixed(26).toUpperCase()],
  ['a Sentry token of 63', 'sntryu_', hex(63)],
  ['a Supabase token of 39', 'sbp_', hex(39)],
  ['a publishable key of Supabase', 'sb_publishable_', mixed(31)],
  ['a PlanetScale token of 31', 'pscale_tkn_', mixed(31)],
  ['a Pulumi token of 39', 'pul-', hex(39)],
  ['a Tailscale key without its secret', 'tskey-auth-', mixed(12)],
  ['a Doppler token of 39', 'dp.pt.', mixed(39)],
  [
    'a token whose header has no algorithm',
    encoded({ typ: 'JWT' }),
    `.${encoded({})}.${mixed(43)}`,
  ],
  ['a token whose header is no JSON', 'eyJ', `${mixed(20)}.${mixed(20)}.${mixed(43)}`],
  ['a token without a signature', encoded({ alg: 'none' }), `.${encoded({ sub: 'u_81' })}.`],
  ['a public web key', '{"kty":"EC",', `"x":"${mixed(43)}","y":"${mixed(43)}"}`],
  ['a member d of something else', '{"type":"path",', `"d":"${mixed(43)}"}`],
  ['an API key of 42', 'glk_', `01j0v8k3e5x9q2w4r6t8y0u1i3_${mixed(42)}`],
]

test.each(nearMisses.map(([what, ...parts]) => [what, parts.join('')] as const))(
  'no secret is %s',
  (_, content) => {
    expect(rulesIn(content)).toEqual([])
    expect(rulesIn(`- key: ${content}.\n`)).toEqual([])
  },
)

test('each pattern has a sample here', () => {
  const sampled = new Set(tokens.map(([rule]) => rule))
  const others = new Set([
    'private key',
    ...['identity', 'grant', 'recovery key', 'operator secret'].map((what) => `gitlocket ${what}`),
  ])
  const rules = new Set(secretPatterns.map(({ rule }) => rule))
  expect([...rules].filter((rule) => !sampled.has(rule) && !others.has(rule))).toEqual([])
})

test.each(secretPatterns.map((one) => [String(one.pattern), one] as const))(
  'a sample of it has a mark of %s',
  (_, { marks, pattern }) => {
    const has = (content: string): boolean => {
      const folded = pattern.ignoreCase ? content.toLowerCase() : content
      return marks.length === 0 || marks.some((mark) => folded.includes(mark))
    }
    const samples = tokens.map(([, ...parts]) => parts.join(''))
    expect(samples.filter((one) => one.match(pattern) !== null && !has(one))).toEqual([])
  },
)

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
    // Takes 30 to 150 ms; quadratic time would take minutes, and so exceed the limit of a test.
    expect(findSecrets(fill(part)).length).toBeGreaterThanOrEqual(0)
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
