// Texts about authentication, which the guard must let pass: notes, documents, code and files of
// configuration with placeholders, published examples and names of variables. Tokens are put
// together at run time, so that no scanner takes this file for a leak.

import { generateKeyPairSync } from 'node:crypto'
import { expect, test } from 'vitest'
import { findSecrets } from '../../../src/store/guard/find-secrets.ts'

const word = 'aB3dE5gH7jK9mN1pQ3sT5vW7yZ9'
const mixed = (length: number): string => word.repeat(Math.ceil(length / 27)).slice(0, length)
const hex = (length: number): string => '3f8a1c97e05bd264'.repeat(8).slice(0, length)
const base64 = (text: string): string => Buffer.from(text).toString('base64')
const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
const rulesIn = (content: string): readonly string[] => findSecrets(content).map(({ rule }) => rule)
const numbered = (text: string): string =>
  text
    .split('\n')
    .map((line, index) => `${String(index + 1).padStart(6)}\t${line}`)
    .join('\n')

const publicKey = generateKeyPairSync('ed25519')
  .publicKey.export({ type: 'spki', format: 'pem' })
  .toString()
/** As they stand in notes, in documents, and in code. */
const passing: readonly (readonly [what: string, content: string])[] = [
  [
    'how tokens are sent',
    'Send `Authorization: Bearer <token>`; the API answers 401 without ' +
      'it. `Authorization: Bearer $TOKEN` and `Bearer {{token}}` are placeholders.',
  ],
  [
    'a token that is cut',
    'The header is `eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9`, so the token ' +
      'begins with `eyJhbGciOi...` or eyJhbGciOiJIUzI1NiIs….eyJzdWIi….SflKx….',
  ],
  [
    'the token of jwt.io',
    `jwt.io shows ${part({ alg: 'HS256', typ: 'JWT' })}.` +
      `${part({ sub: '1234567890', name: 'John Doe', iat: 1_516_239_022 })}.SflKxwRJSMeKKF2` +
      `QT4fwpMeJf36POk6yJV_adQssw5c`,
  ],
  [
    'the keys of AWS’s documentation',
    `aws_access_key_id = ${['AKIA', 'IOSFODNN7EXAMPLE'].join('')}\naws_secret_access_key ` +
      `= ${['wJalrXUtnFEMI/K7MDENG', '/bPxRfiCYEXAMPLEKEY'].join('')}\n`,
  ],
  [
    'a file of compose',
    'environment:\n  POSTGRES_PASSWORD: changeme\n  DATABASE_URL: postgres://app:${DB_PAS' +
      'SWORD}@db:5432/app\n  MYSQL_PWD=changeme\n',
  ],
  [
    'strings of connection with placeholders',
    'host=localhost dbname=app user=app password=changeme\nServer=db;User ' +
      'Id=sa;Password=<password>;\nhost=db user=me password=$PGPASSWORD\nhost=db ' +
      'user=me password={password}\nUser ID=sa;Password=***;Server=x\n',
  ],
  [
    'code that connects',
    'conn = psycopg2.connect(host="db", user=settings.USER, password=settings.DB_PASSWORD' +
      ')\nclient = Client(host=host, password=password, user=user)\npg.connect({ ' +
      'host, password: process.env.PGPASSWORD })\nconnect(host="x", password=os.environ["PG' +
      'PASSWORD"])\nconnect(host=h, user=u, password=get_secret("db"))',
  ],
  [
    'a file of variables to copy',
    `STRIPE_KEY=sk_test_your_key_here_please\nGITHUB_TOKEN=ghp_${'x'.repeat(36)}\nOPENAI_` +
      `API_KEY=sk-...\nANTHROPIC_API_KEY=sk-ant-api03-${'x'.repeat(90)}\nSLACK=xoxb-your-to` +
      `ken-goes-here-1\nTOKEN=ghp_abcdefghijklmnopqrstuvwxyz0123456789\n`,
  ],
  [
    'a handler of logins',
    'export async function login(password: string) {\n  const ok = await ' +
      'argon2.verify(user.hash, password)\n  if (!ok) throw new Unauthorized("wrong ' +
      'password")\n  return sign({ sub: user.id }, process.env.JWT_SECRET, ' +
      '{ expiresIn: "15m" })\n}',
  ],
  [
    'hashes of passwords',
    '$2b$12$R9h/cIPz0gi.URNNX3kh2OPST9/PgBkqquzi.Ss7KIUgO2t0jWMUW and ' +
      '$argon2id$v=19$m=65536,t=3,p=4$c29tZXNhbHQ$RdescudvJCsgt3ub+b0dWRWJTmaaJObG',
  ],
  [
    'how keys look',
    'GitHub tokens begin with `ghp_` and have 36 characters more; Stripe ' +
      'has `sk_test_` and `sk_live_`; `whsec_…` is the secret of a webhook, ' +
      '`xoxb-` a bot of Slack, `hvs.` Vault, `glpat-` GitLab, `AIza` Google.',
  ],
  [
    'public keys and certificates',
    `${publicKey}\nLS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0t${base64(mixed(60))}\nssh-ed25519 ` +
      `AAAAC3NzaC1lZDI1NTE5AAAAI${mixed(43)} me@host\n`,
  ],
  [
    'a set of public web keys',
    '{"keys":[{"kty":"RSA","n":"0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfA' +
      'AtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3oknjhMs","e":"AQAB","kid":"2011-0' +
      '4-29"}]}',
  ],
  [
    'configuration of OAuth',
    'client_id: 1234567890-abc.apps.googleusercontent.com\nclient_secret: ' +
      '${GOOGLE_CLIENT_SECRET}\nredirect_uri: https%3A%2F%2Fapp.example.com%2Fcallback%3Fst' +
      'ate%3Dxyz',
  ],
  [
    'the frame of a key, numbered',
    '     1\t-----BEGIN PRIVATE KEY-----\n     2\t<your key>\n     3\t-----END PRIVATE KEY-----\n',
  ],
  [
    'hashes and paths in base64 alphabet',
    `sha512-${mixed(86)}== ${hex(64)} src/store/guard/find/secrets/patterns/of/things/Doc` +
      `uments/Archive`,
  ],
  [
    'readable base64 without a secret',
    `${base64('{"name":"a public document","version":3,"private":false}')}\ndata:text/pla` +
      `in;base64,${base64('Hello, this is a long text of no interest.')}`,
  ],
  [
    'a pipeline',
    'name: deploy\nenv:\n  NPM_TOKEN: ${{ secrets.NPM_TOKEN }}\n  AWS_SECRET_ACCESS_KEY: ' +
      '${{ secrets.AWS_SECRET_ACCESS_KEY }}\n',
  ],
  [
    'escapes in plenty',
    String.raw`C:\new\table\x \"quoted\" 50%25 \_emphasis\_ &amp; &lt;b&gt; \u00e9 %E2%9C%93`,
  ],
  [
    'emoji of several characters',
    'Done \u{1F469}\u200D\u{1F4BB} \u2764\uFE0F \u{1F3F4}\u{E0067}\u{E0062}\u{E007F}',
  ],
]

test.each(passing)('a text about authentication passes: %s', (_, content) => {
  expect(rulesIn(content)).toEqual([])
  // Also in what renders it.
  expect(rulesIn(JSON.stringify({ text: content }))).toEqual([])
  expect(rulesIn(numbered(content))).toEqual([])
  expect(rulesIn(base64(content))).toEqual([])
})
