// Secrets as agents come across them: in what `view`, `grep` or a log printed, in JSON, URLs and
// base64, in files of configuration. Tokens are put together at run time, so that no scanner takes
// this file for a leak.

import { generateKeyPairSync } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { findSecrets } from '../../../src/store/guard/find-secrets.ts'
import { secretGuard } from '../../../src/store/guard/guard.ts'

const word = 'aB3dE5gH7jK9mN1pQ3sT5vW7yZ9'
const mixed = (length: number): string => word.repeat(Math.ceil(length / 27)).slice(0, length)
const hex = (length: number): string => '3f8a1c97e05bd264'.repeat(8).slice(0, length)
const base64 = (text: string): string => Buffer.from(text).toString('base64')
const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
const rulesIn = (content: string): readonly string[] => findSecrets(content).map(({ rule }) => rule)

const pem = generateKeyPairSync('rsa', { modulusLength: 2048 })
  .privateKey.export({ type: 'pkcs8', format: 'pem' })
  .toString()
const sshBody = `b3BlbnNzaC1rZXktdjEAAAAA${mixed(46)}\n${mixed(70)}\n${mixed(44)}==`
const ssh = `-----BEGIN OPENSSH PRIVATE KEY-----\n${sshBody}\n-----END OPENSSH PRIVATE KEY-----\n`
const ppk = `Private-Lines: 2\n${mixed(64)}\n${mixed(48)}\n`
const github = ['ghp', `_${mixed(36)}`].join('')
const anthropic = ['sk-ant', `-api03-${mixed(93)}AA`].join('')
const aws = ['AKIA', 'QYLPMN5HHHFPZAM2'].join('')
const stripe = ['sk_live', `_${mixed(24)}`].join('')
const url = ['postgres://app', ':k33pout-42@db.internal:5432/app'].join('')
const jwt = [part({ alg: 'HS256', typ: 'JWT' }), part({ role: 'service_role' }), mixed(43)].join(
  '.',
)

/** Each line with what a program puts before it. */
const lines = (text: string, before: (line: number, text: string) => string): string =>
  text
    .trimEnd()
    .split('\n')
    .map((line, index) => before(index + 1, line) + line)
    .join('\n')
const escapedUnits = (text: string): string =>
  Array.from(text, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`).join('')
const percents = (text: string): string =>
  Array.from(text, (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`).join('')

/** The text, the kind of secret, and the line that the finding names. */
const cases: readonly (readonly [what: string, rule: string, content: string, line?: number])[] = [
  // Lines with something before them.
  ['a key as view prints it', 'private key', lines(pem, (line) => `${String(line).padStart(6)}\t`)],
  ['a key of cat -n', 'private key', `out:\n${lines(ssh, (n) => `${String(n).padStart(6)}\t`)}`, 2],
  ['a key with arrows', 'private key', lines(ssh, (n) => `${String(n).padStart(5)}→`)],
  ['a key of grep -n', 'private key', lines(pem, (n) => `${n}:`)],
  ['a key of grep -A', 'private key', lines(pem, (n) => (n === 1 ? '1:' : `${n}-`))],
  ['a key of grep in files', 'private key', lines(pem, (n) => `~/.ssh/id_rsa:${n}:`)],
  ['a key of nl', 'private key', lines(pem, (n) => `${String(n).padStart(6)}  `)],
  ['a key of bat', 'private key', lines(ssh, (n) => `${String(n).padStart(4)} │ `)],
  ['a key that a patch adds', 'private key', lines(pem, () => '+')],
  ['a key that a patch removes', 'private key', lines(pem, () => '-')],
  ['a quoted key', 'private key', lines(pem, () => '> ')],
  ['a key quoted twice, with numbers', 'private key', lines(pem, (n) => `>> ${n} | `)],
  ['a key in a comment', 'private key', lines(ssh, () => '# ')],
  ['a key in a comment of code', 'private key', lines(ssh, () => ' * ')],
  ['a key in a log of containers', 'private key', lines(pem, () => 'web_1  | ')],
  ['a key of git blame', 'private key', lines(pem, (n) => `abc123de (Me 2026-11-26 ${n}) `)],
  ['a key of a PuTTY file, numbered', 'private key', lines(ppk, (n) => `${n}\t`)],
  ['a key in a numbered string', 'private key', `     7\t  key: ${JSON.stringify(pem)}`],
  ['a key in an array of lines', 'private key', JSON.stringify(pem.split('\n'), null, 2), 2],

  // Escapes.
  ['a token after a newline of JSON', 'GitHub token', `{"out":"done\\n${github}"}`],
  ['a token after two escapes', 'GitHub token', JSON.stringify(JSON.stringify(`a\n${github}`))],
  ['a token after a tab of JSON', 'AWS access key', String.raw`{"out":"id\t` + `${aws}"}`],
  ['a token after =, as JSON of Go', 'GitHub token', `TOKEN\\u003d${github}`],
  ['a token after a percent', 'GitHub token', `https://a.b/?next=%2F%3Ftoken%3D${github}`],
  ['a token with its underscore in percents', 'GitHub token', github.replace('_', '%5F')],
  ['a token whole in percents', 'Stripe key', `x=${percents(stripe)}`],
  ['a token of percents of percents', 'Stripe key', stripe.replaceAll('_', '%255F')],
  ['a URL in percents', 'password in a URL', `?db=${encodeURIComponent(url)}`],
  ['a URL with slashes of JSON', 'password in a URL', url.replaceAll('/', String.raw`\/`)],
  ['a token in units of JSON', 'Anthropic API key', escapedUnits(anthropic)],
  ['a token with an escape of C', 'GitHub token', github.replace('_', String.raw`\x5f`)],
  ['a token with an escape of Markdown', 'GitHub token', github.replace('_', String.raw`\_`)],
  ['a token with an entity of HTML', 'GitHub token', github.replace('_', '&#95;')],
  ['a token with a name of HTML', 'Stripe key', stripe.replaceAll('_', '&lowbar;')],
  ['a token after a colour of grep', 'GitHub token', `a\n\u001B[01;31m${github}\u001B[m`, 2],
  [
    'a secret key in quotes of JSON',
    'AWS secret key',
    `"{\\"aws_secret_key\\": \\"${mixed(40)}\\"}"`,
  ],

  // Characters that are invisible.
  [
    'a token with a zero-width space',
    'GitHub token',
    `${github.slice(0, 9)}\u200B${github.slice(9)}`,
  ],
  ['a token with a soft hyphen', 'GitHub token', `${github.slice(0, 9)}\u00AD${github.slice(9)}`],
  ['a token with a word joiner', 'Stripe key', stripe.replace('_live', '_\u2060live')],
  ['a token after a byte order mark', 'AWS access key', `a\uFEFF${aws}`],
  [
    'a token with tag characters',
    'GitHub token',
    `${github.slice(0, 9)}\u{E0041}${github.slice(9)}`,
  ],
  [
    'a token with selectors and fillers',
    'GitHub token',
    `${github.slice(0, 9)}\uFE0F\u3164\u{E01EF}\u034F${github.slice(9)}`,
  ],
  ['a card number with joiners', 'payment card number', '4111\u20601111\u20601111\u20601111'],

  // Base64.
  ['a key in base64', 'private key', `tls.key: ${base64(pem)}`],
  ['a key in base64 of one line each', 'private key', base64(ssh).replaceAll(/.{76}/g, '$&\n')],
  ['a key in base64url', 'private key', Buffer.from(pem).toString('base64url')],
  ['a key in base64, cut', 'private key', base64(pem).slice(0, 80)],
  [
    'a key in base64, numbered',
    'private key',
    lines(base64(pem).replaceAll(/.{76}/g, '$&\n'), (n) => `${n}\t`),
  ],
  ['a token in base64, of a Secret', 'GitHub token', `data:\n  token: ${base64(github)}\n`, 2],
  ['a token in base64 of base64', 'GitHub token', base64(base64(github))],
  ['a file of variables in base64', 'Stripe key', base64(`A=b\nSTRIPE=${stripe}\n`)],
  ['a URL in base64', 'password in a URL', `DATABASE_URL: ${base64(url)}`],
  ['base64 in JSON', 'private key', JSON.stringify({ key: `${base64(pem)}\n` })],

  // Formats.
  ['a service role', 'JSON Web Token', `SUPABASE_SERVICE_ROLE_KEY=${jwt}`],
  ['a header', 'JSON Web Token', `Authorization: Bearer ${jwt}`],
  ['a header of curl', 'JSON Web Token', `curl -H 'Authorization: Bearer ${jwt}' https://a.b`],
  ['a test key', 'Stripe key', ['sk_test', `_${mixed(24)}`].join('')],
  ['a webhook', 'webhook signing secret', ['whsec', `_${mixed(32)}`].join('')],
  [
    'a link to a blob',
    'Azure shared access signature',
    'https://a.blob.core.windows.net/c/f?sv=2024-11-04&se=2027-01-01&sig=' +
      encodeURIComponent(`${mixed(20)}+/${mixed(21)}=`),
  ],
  [
    'an account of storage',
    'Azure account key',
    `DefaultEndpointsProtocol=https;AccountName=a;AccountKey=${mixed(86)}==`,
  ],
  [
    'a call of Twilio',
    'Twilio auth token',
    `curl -u AC${hex(32)}:${hex(40).slice(8)} https://api.twilio.com`,
  ],
  [
    'lines of Twilio',
    'Twilio auth token',
    `TWILIO_ACCOUNT_SID=AC${hex(32)}\nTWILIO_AUTH_TOKEN=${hex(40).slice(8)}`,
  ],
  [
    'a bot of Telegram',
    'Telegram bot token',
    `https://api.telegram.org/bot7123456789:${['AA', mixed(33)].join('')}/getMe`,
  ],
  [
    'a bot of Discord',
    'Discord token',
    `DISCORD_TOKEN=${base64('1234567890123456789').replaceAll('=', '')}.GxYz1a.${mixed(38)}`,
  ],
  [
    'a login of Docker',
    'Docker token',
    `docker login -u me -p ${['dckr_pat', `_${mixed(27)}`].join('')}`,
  ],
  [
    'credentials of Terraform',
    'Terraform token',
    `token = "${mixed(14)}.${['atlas', `v1.${mixed(67)}`].join('')}"`,
  ],
  [
    'a private web key',
    'private key',
    JSON.stringify({ kty: 'RSA', n: mixed(342), e: 'AQAB', d: mixed(342) }),
  ],
  [
    'a string of libpq',
    'password in a connection string',
    'host=db.internal dbname=app user=app password=k33pout-42',
  ],
  [
    'a string of ADO.NET',
    'password in a connection string',
    'Server=tcp:db.internal,1433;Initial Catalog=app;User ID=sa;Password=k33pout-42;Encrypt=True;',
  ],
  [
    'a string of ADO.NET in JSON',
    'password in a connection string',
    '{"Default":"Data Source=db;User ID=sa;Password=k33pout-42;"}',
  ],
  ['a variable of psql', 'password in a variable', 'PGPASSWORD=k33pout-42 psql -h db -U app'],
  ['an older name of a secret key', 'AWS secret key', `AWS_SECRET_KEY=${mixed(40)}`],
]

describe('a secret is found as it is displayed', () => {
  test.each(cases.map(([what, rule, content, line = 1]) => [what, rule, content, line] as const))(
    '%s',
    async (_, rule, content, line) => {
      const found = await secretGuard(content, '/a.md')
      expect(found.map((one) => [one.rule, one.line])).toEqual([[rule, line]])
      // Whatever surrounds it.
      const before = 'A note of Monday.\n\n'
      const again = await secretGuard(`${before}${content}\nThe end.\n`, '/a.md')
      expect(again.map((one) => [one.rule, one.line])).toEqual([[rule, line + 2]])
    },
  )

  test('in at least 64 ways', () => {
    expect(cases.length).toBeGreaterThanOrEqual(64)
  })

  test('at its place in the original text', () => {
    const quoted = `${JSON.stringify({ a: 'é\n\u200B', b: `\n\n${github}` })}\n`
    const [secret] = findSecrets(quoted)
    expect(quoted.slice(secret?.start, secret?.end)).toBe(github)
    const escaped = `a%20b ${github.replace('_', '%5F')} c`
    const [other] = findSecrets(escaped)
    expect(escaped.slice(other?.start, other?.end)).toBe(github.replace('_', '%5F'))
    const data = `x: ${base64(github)}\n`
    const [hidden] = findSecrets(data)
    expect(data.slice(hidden?.start, hidden?.end)).toBe(base64(github))
  })

  test('once, however often it is seen', () => {
    expect(rulesIn(`a\\nb ${github}`)).toEqual(['GitHub token'])
    expect(rulesIn(`${github} ${base64(github)}`)).toEqual(['GitHub token', 'GitHub token'])
  })
})

describe('the time is linear in a text that is rendered', { tags: ['slow'] }, () => {
  const size = 2 ** 20
  const fill = (text: string): string => text.repeat(Math.ceil(size / text.length))

  test.each([
    ['escapes', String.raw`\n`],
    ['escapes of escapes', String.raw`\\\\`],
    ['percents', '%25'],
    ['entities', '&amp;#x26;'],
    ['invisible characters', '\u200B'],
    ['frames in lines', `1\t-----BEGIN PRIVATE KEY-----\n`],
    ['frames in one line', `-----BEGIN PRIVATE KEY-----\\n`],
    ['frames with headers', `A: -----BEGIN PRIVATE KEY-----\n`],
    ['frames with keys', `-----BEGIN PRIVATE KEY-----\n${mixed(64)}\n`],
    ['readable base64', base64('hello, readable text')],
    ['base64 of one letter', 'QUFB'],
    ['lines of base64', `${base64('hello, readable text of no interest')}\n`],
    ['base64 of escapes', base64(String.raw`\n\n\n`)],
    ['parts of tokens', 'eyJhbGciOiJIUzI1NiJ9.'],
    ['members of keys', `"kty":"d","d":"${mixed(40)}",`],
    ['passwords', 'password="aaa'],
    ['accounts of Twilio', `AC${hex(32)} `],
    ['marks', 'SKAC:AA'],
    ['secrets', `${github} `],
  ])('%s', (_, text) => {
    expect(findSecrets(fill(text).slice(0, size))).toBeInstanceOf(Array)
  })
})
