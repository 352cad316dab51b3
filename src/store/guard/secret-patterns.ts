// Patterns of secrets: private keys, tokens of clouds and services, passwords in URLs. Only
// documented formats with a fixed prefix or frame, so that prose never matches; what documentation
// writes in place of a secret is no match; nothing is guessed from entropy. Each row names the
// document that defines it. Every pattern matches a bounded number of characters, so that the time
// is linear even in a hostile text, and is tried only on a text that has one of its marks.

import { Bytes } from '../../platform/bytes.ts'

export interface Pattern {
  readonly rule: string
  /** Each match holds one of these; without regard to case if the pattern has the flag `i`. */
  readonly marks: readonly string[]
  readonly pattern: RegExp
  /** Whether a match is a secret, and no example of documentation. */
  readonly isSecret: (match: RegExpExecArray) => boolean
}

const BASE64 = '[A-Za-z0-9+/]'

/** The frames of RFC 7468 and RFC 4880 with the beginning of a key; escaped too, as in JSON. */
const PEM = joined(
  '-----BEGIN (?:[A-Z0-9]{1,16} ){0,3}PRIVATE KEY(?: BLOCK)?-----',
  String.raw`(?:[\s>]|\\[nr]){0,64}`,
  // Headers: `Proc-Type: 4,ENCRYPTED`, `Version: …`.
  String.raw`(?:[A-Za-z][A-Za-z-]{1,30}: [^\n\\]{0,200}(?:\\[nr]|\r?\n)[\s>]{0,16}){0,8}`,
  `${BASE64}{40}`,
  // To the end of the key, because many keys begin with the same characters.
  String.raw`(?:[A-Za-z0-9+/=\s>]|\\[nr]){0,16384}`,
)
/** The beginning of a base64 that has been decoded: its first line may have no more. */
const PEM_HEAD = joined(
  '^-----BEGIN (?:[A-Z0-9]{1,16} ){0,3}PRIVATE KEY(?: BLOCK)?-----',
  String.raw`\s{1,4}[A-Za-z0-9+/]{8,64}`,
)
/** `key: `, `"key" => `, `key=`, `key = "`. */
const IS = String.raw`["']?[ \t]{0,8}(?::|=>?)[ \t]{0,8}["']?`
const AWS_SECRET = joined(
  String.raw`(?:aws[_-]?secret[_-]?|secret[_-]?access[_-]?)(?:access[_-]?)?key${IS}`,
  `${BASE64}{40}(?![A-Za-z0-9+/=])`,
)
const SLACK_HOOK = joined(
  String.raw`hooks\.slack\.com/(?:services|workflows|triggers)/`,
  '[A-Z0-9]{8,12}/[A-Za-z0-9/]{20,1024}',
)
const DISCORD_HOOK = joined(
  String.raw`discord(?:app)?\.com/api/(?:v\d{1,2}/)?`,
  String.raw`webhooks/\d{17,20}/[\w-]{60,80}`,
)
/** The id of an application in base64: each digit gives characters of few kinds. */
const DISCORD_TOKEN = joined(
  '(?<![A-Za-z0-9_-])(?:[MNO][DTjz][AEIMQUYcgk][w-z0-5]){5,6}[MNO]?[DTjzAQgw]?[AEIMQUYcgk]?',
  String.raw`\.[\w-]{6}\.[\w-]{27,40}(?![\w-])`,
)
const TWILIO_PAIR = joined(
  String.raw`AC[0-9a-f]{32}(?![0-9A-Za-z])[^]{1,160}?`,
  String.raw`(?<![0-9A-Za-z])[0-9a-f]{32}(?![0-9A-Za-z])`,
)
const TWILIO_VARIABLE = joined(
  `twilio[_-]?(?:auth[_-]?token|api[_-]?secret|secret)${IS}`,
  '[A-Za-z0-9]{32}(?![A-Za-z0-9])',
)
const CONNECTION_PASSWORD = joined(
  String.raw`(?<![\w$.-])(?:password|pwd)[ \t]{0,4}=[ \t]{0,4}(?:'(?<single>[^'\n]{3,200})'`,
  String.raw`|"(?<double>[^"\n]{3,200})"|(?<plain>[^\s'";,&<>()[\\]{3,200})(?=[\s'";&\\` + '`]|$))',
)
const CONNECTION_PLACE = new RegExp(
  joined(
    String.raw`(?<![\w$.-])(?:host|hostaddr|server|data source|user|user id|uid|username|dbname`,
    String.raw`|database|initial catalog)[ \t]{0,4}=`,
  ),
  'i',
)
const SECRET_VARIABLE = joined(
  String.raw`(?<![A-Za-z0-9_])(?:PGPASSWORD|MYSQL_PWD|REDISCLI_AUTH|SSHPASS)=["']?`,
  '(?<secret>[^\\s"\'`;&<>$()\\\\]{3,200})',
)
const JWT = joined(
  String.raw`(?<![\w-])e(?:yJ|yA|wo|w0)[\w-]{8,4096}\.[\w-]{2,16384}\.[\w-]{20,2048}(?![\w-])`,
)
const JWK = String.raw`"(?:d|k)"\s{0,8}:\s{0,8}"[A-Za-z0-9_-]{20,1400}"`

/** The beginning of a file that has been decoded from base64. */
export const decodedPatterns: readonly Pattern[] = [
  row('private key', ['PRIVATE KEY'], new RegExp(PEM_HEAD, 'g'), isAny),
]

export const secretPatterns: readonly Pattern[] = [
  row('private key', ['PRIVATE KEY'], new RegExp(PEM, 'g'), isAny),
  // PuTTY's own format ("PPK file format"), and age (C2SP age.md).
  row(
    'private key',
    ['Private-Lines'],
    /^Private-Lines: \d{1,4}\r?\n[A-Za-z0-9+/]{40}[A-Za-z0-9+/=\s]{0,8192}/gm,
    isAny,
  ),
  row('private key', ['age-secret-key'], /AGE-SECRET-KEY-(?:PQ-)?1[02-9AC-HJ-NP-Z]{40,1024}/gi),
  // RFC 7517, RFC 7518 §6, RFC 8037: the private member, or the bytes of a symmetric key.
  row('private key', ['"kty"'], new RegExp(JWK, 'g'), (match) => {
    const { 0: whole, index, input } = match
    return !isMadeUpToken(whole) && isInWebKey(input, index, index + whole.length)
  }),
  // FORMAT §1.3; the tokens in src/hosting/credentials.ts.
  row('gitlocket identity', ['gitlocket-identity-1-'], /GITLOCKET-IDENTITY-1-[0-9A-Z]{32,1024}/gi),
  row('gitlocket recovery key', ['glkr1-'], /GLKR1-(?:[0-9A-Z]{8}[- ]?){4,8}/gi),
  row('gitlocket grant', ['glkg1-'], /GLKG1-[0-9A-Z]{32,1024}/gi),
  row('gitlocket operator secret', ['glko1-'], /GLKO1-(?:[0-9A-Z]{7}[- ]?){4,8}/gi),
  token('gitlocket API key', ['glk_', 'gls_'], 'gl[ks]_[0-9a-z]{26}_[A-Za-z0-9_-]{43}'),
  // RFC 7519: JSON Web Token, of which Supabase's service role is one.
  row('JSON Web Token', ['eyJ', 'eyA', 'ewo', 'ew0'], new RegExp(JWT, 'g'), ([whole]) =>
    isSignedToken(whole),
  ),

  // AWS: "Unique identifiers" in the IAM guide (access key, temporary key, bearer token).
  exactly(
    'AWS access key',
    ['AKIA', 'ASIA', 'ABIA', 'ACCA'],
    '(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}',
  ),
  // "Configuration and credential file settings" of the AWS CLI; `AWS_SECRET_KEY` of older SDKs.
  row('AWS secret key', ['secret'], new RegExp(AWS_SECRET, 'gi')),
  // Google Cloud: "Manage API keys", "Manage OAuth clients", "Token types".
  exactly('Google API key', ['AIza'], 'AIza[A-Za-z0-9_-]{35}'),
  exactly('Google OAuth secret', ['GOCSPX-'], 'GOCSPX-[A-Za-z0-9_-]{28}'),
  token('Google access token', ['ya29.'], 'ya29\\.[A-Za-z0-9_-]{40,1024}'),
  // Azure: "Configure Azure Storage connection strings", "Service Bus access control with SAS".
  row('Azure account key', ['accountkey='], /AccountKey=[A-Za-z0-9+/]{86}==/gi),
  row(
    'Azure account key',
    ['sharedaccesskey='],
    /SharedAccessKey=(?:[A-Za-z0-9+/]{43}=|[A-Za-z0-9+/]{86}==)/gi,
  ),
  // Azure Storage: "Create a service SAS", the field `sig`.
  row(
    'Azure shared access signature',
    ['sig='],
    /(?<![A-Za-z0-9_])sig=(?:[A-Za-z0-9+/]|%2[BFbf]){43}(?:=|%3[Dd])/g,
  ),
  // Microsoft: "Microsoft Entra client secret" of its sensitive information types.
  token('Azure client secret', ['Q~'], '[A-Za-z0-9_~.-]{3}\\dQ~[A-Za-z0-9_~.-]{31,1024}'),
  // DigitalOcean: "API token prefixes".
  exactly('DigitalOcean token', ['_v1_'], 'do[opr]_v1_[a-f0-9]{64}'),
  exactly('Alibaba Cloud access key', ['LTAI'], 'LTAI[A-Za-z0-9]{20}'),
  // HashiCorp: "Vault tokens", "HCP Terraform API tokens".
  token('HashiCorp Vault token', ['hvs.', 'hvb.', 'hvr.'], 'hv[sbr]\\.[A-Za-z0-9_-]{24,1024}'),
  token('Terraform token', ['.atlasv1.'], '[A-Za-z0-9]{14}\\.atlasv1\\.[A-Za-z0-9_=-]{60,256}'),
  // Databricks: "Personal access token authentication".
  exactly('Databricks token', ['dapi'], 'dapi[a-f0-9]{32}'),

  // Anthropic, OpenAI, OpenRouter, Hugging Face, Groq, xAI, Perplexity, Replicate: their API keys,
  // as GitHub's "Supported secret scanning patterns" and the rules of Gitleaks have them.
  token('Anthropic API key', ['sk-ant'], 'sk-ant-[a-z]{3,8}\\d\\d-[A-Za-z0-9_-]{40,1024}'),
  token('OpenAI API key', ['T3BlbkFJ'], 'sk-[A-Za-z0-9_-]{16,128}T3BlbkFJ[A-Za-z0-9_-]{16,1024}'),
  exactly('OpenRouter API key', ['sk-or-v1-'], 'sk-or-v1-[a-f0-9]{64}'),
  exactly('Hugging Face token', ['hf_'], 'hf_[A-Za-z0-9]{34}'),
  exactly('Groq API key', ['gsk_'], 'gsk_[A-Za-z0-9]{52}'),
  exactly('xAI API key', ['xai-'], 'xai-[A-Za-z0-9]{80}'),
  exactly('Perplexity API key', ['pplx-'], 'pplx-[A-Za-z0-9]{48}'),
  exactly('Replicate token', ['r8_'], 'r8_[A-Za-z0-9]{37}'),
  // GitHub: "Authentication token formats"; GitLab: "Token prefixes".
  token('GitHub token', ['ghp_', 'gho_', 'ghu_', 'ghs_', 'ghr_'], 'gh[pousr]_[A-Za-z0-9]{36,1024}'),
  exactly('GitHub token', ['github_pat_'], 'github_pat_[A-Za-z0-9]{22}_[A-Za-z0-9]{59}'),
  token(
    'GitLab token',
    [
      'glpat-',
      'gloas-',
      'gldt-',
      'glrt-',
      'glcbt-',
      'glptt-',
      'glft-',
      'glsoat-',
      'glimt-',
      'glagent-',
    ],
    'gl(?:pat|oas|dt|rt|cbt|ptt|ft|soat|imt|agent)-[A-Za-z0-9_.-]{20,1024}',
  ),
  // npm: "About access tokens"; PyPI: "API tokens"; RubyGems: "API key scopes".
  exactly('npm token', ['npm_'], 'npm_[A-Za-z0-9]{36}'),
  token('PyPI token', ['pypi-AgE'], 'pypi-AgE[A-Za-z0-9_-]{50,1024}'),
  exactly('RubyGems key', ['rubygems_'], 'rubygems_[a-f0-9]{48}'),
  // Docker: "Personal access tokens", "Organization access tokens".
  exactly('Docker token', ['dckr_pat_', 'dckr_oat_'], 'dckr_[po]at_[A-Za-z0-9_-]{27,64}'),
  // Slack: "Tokens", "Sending messages using incoming webhooks".
  token('Slack token', ['xox'], 'xox[abeoprs](?:\\.xox[bp])?-\\d[A-Za-z0-9-]{18,1024}'),
  token('Slack token', ['xapp-'], 'xapp-\\d-[A-Z0-9]{9,12}-\\d{10,14}-[a-z0-9]{32,1024}'),
  row('Slack webhook', ['hooks.slack.com/'], new RegExp(SLACK_HOOK, 'g')),
  // Discord: "Authentication" and "Webhook resource" of its developer documentation.
  row('Discord token', [], new RegExp(DISCORD_TOKEN, 'g')),
  row('Discord webhook', ['/webhooks/'], new RegExp(DISCORD_HOOK, 'g')),
  // Telegram: "Bot API", "Authorizing your bot".
  exactly('Telegram bot token', [':AA'], '(?:bot)?\\d{8,10}:AA[A-Za-z0-9_-]{33}'),
  // Twilio: "API keys", "Auth tokens": the SID of a key, and an account with its token.
  exactly('Twilio API key', ['SK'], 'SK[0-9a-f]{32}'),
  exactly('Twilio auth token', ['AC'], TWILIO_PAIR),
  row('Twilio auth token', ['twilio'], new RegExp(TWILIO_VARIABLE, 'gi')),
  // Stripe: "API keys", "Check the webhook signatures".
  token('Stripe key', ['k_live_', 'k_test_'], '[rs]k_(?:live|test)_[A-Za-z0-9]{16,1024}'),
  token('webhook signing secret', ['whsec_'], 'whsec_[A-Za-z0-9+/]{24,256}={0,2}'),
  // Twilio SendGrid: "API keys"; Mailgun: "API keys"; Mailchimp: "Marketing API quick start".
  exactly('SendGrid API key', ['SG.'], 'SG\\.[A-Za-z0-9_-]{22}\\.[A-Za-z0-9_-]{43}'),
  exactly('Mailgun API key', ['key-'], 'key-[0-9a-f]{32}'),
  exactly(
    'Mailchimp API key',
    ['-us1', '-us2', '-us3', '-us4', '-us5', '-us6', '-us7', '-us8', '-us9'],
    '[0-9a-f]{32}-us\\d{1,2}',
  ),
  // Shopify: "Access tokens"; Square: "Access tokens".
  exactly(
    'Shopify token',
    ['shpat_', 'shpca_', 'shppa_', 'shpss_'],
    'shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}',
  ),
  exactly('Square secret', ['sq0csp-'], 'sq0csp-[A-Za-z0-9_-]{43}'),
  // Linear: "Personal API keys"; Notion: "Authorization"; Figma: "Access tokens"; Atlassian: "API
  // tokens"; Postman: "Postman API keys".
  exactly('Linear key', ['lin_api_', 'lin_oauth_'], 'lin_(?:api|oauth)_[A-Za-z0-9]{40,64}'),
  exactly('Notion token', ['ntn_'], 'ntn_[A-Za-z0-9]{40,64}'),
  exactly('Notion token', ['secret_'], 'secret_[A-Za-z0-9]{43}'),
  exactly('Figma token', ['figd_', 'figo_'], 'fig[do]_[A-Za-z0-9_-]{40,64}'),
  token('Atlassian token', ['ATATT3'], 'ATATT3[A-Za-z0-9_=-]{100,1024}'),
  exactly('Postman API key', ['PMAK-'], 'PMAK-[a-f0-9]{24}-[a-f0-9]{34}'),
  // Grafana: "Service account tokens"; New Relic: "API keys"; Sentry: "Auth tokens".
  exactly('Grafana token', ['glsa_'], 'glsa_[A-Za-z0-9]{32}_[0-9a-f]{8}'),
  token('Grafana token', ['glc_eyJ'], 'glc_eyJ[A-Za-z0-9+/=]{40,1024}'),
  exactly('New Relic key', ['NRAK-'], 'NRAK-[A-Z0-9]{27}'),
  token('Sentry token', ['sntrys_eyJ'], 'sntrys_eyJ[A-Za-z0-9+/=_-]{80,1024}'),
  exactly('Sentry token', ['sntryu_'], 'sntryu_[a-f0-9]{64}'),
  // Supabase: "Access tokens", "API keys"; PlanetScale: "Service tokens"; Pulumi: "Access tokens";
  // Tailscale: "Key prefixes"; Doppler: "Token formats".
  exactly('Supabase token', ['sbp_'], 'sbp_[a-f0-9]{40}'),
  exactly('Supabase secret key', ['sb_secret_'], 'sb_secret_[A-Za-z0-9_-]{28,64}'),
  token('PlanetScale token', ['pscale_'], 'pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_=-]{32,64}'),
  exactly('Pulumi token', ['pul-'], 'pul-[a-f0-9]{40}'),
  token('Tailscale key', ['tskey-'], 'tskey-[a-z]{3,10}-[A-Za-z0-9]{6,32}-[A-Za-z0-9]{20,64}'),
  token(
    'Doppler token',
    ['dp.'],
    'dp\\.(?:pt|ct|st|sa|scim|audit)\\.(?:[a-z0-9_-]{2,35}\\.)?[A-Za-z0-9]{40,64}',
  ),
  // 1Password: "Service account tokens".
  token('1Password token', ['ops_eyJ'], 'ops_eyJ[A-Za-z0-9_-]{100,1024}'),

  // RFC 3986 §3.2.1; also URLs of databases and queues.
  row(
    'password in a URL',
    ['://'],
    /:\/\/[^\s:@/<>"'`]{0,100}:(?<secret>[^\s@/<>"'`]{3,200})@[A-Za-z0-9[]/g,
    isPassword,
  ),
  // PostgreSQL: "Connection Strings" of libpq; Microsoft: "Connection String Syntax" of ADO.NET.
  row(
    'password in a connection string',
    ['password', 'pwd'],
    new RegExp(CONNECTION_PASSWORD, 'gim'),
    (match) => isPassword(match) && CONNECTION_PLACE.test(lineAround(match)),
  ),
  // "Environment Variables" of PostgreSQL and MySQL, redis-cli, sshpass(1).
  row(
    'password in a variable',
    ['PGPASSWORD=', 'MYSQL_PWD=', 'REDISCLI_AUTH=', 'SSHPASS='],
    new RegExp(SECRET_VARIABLE, 'g'),
    isPassword,
  ),
]

/** A token that is not the end of a longer word. */
function token(rule: string, marks: readonly string[], source: string): Pattern {
  return row(rule, marks, new RegExp(`(?<![A-Za-z0-9_])${source}`, 'g'))
}

/** A token of a fixed length, which is not part of a longer word. */
function exactly(rule: string, marks: readonly string[], source: string): Pattern {
  return token(rule, marks, `${source}(?![A-Za-z0-9_])`)
}

function row(
  rule: string,
  marks: readonly string[],
  pattern: RegExp,
  isSecret: Pattern['isSecret'] = ([whole]) => !isMadeUpToken(whole),
): Pattern {
  return { rule, marks, pattern, isSecret }
}

function isAny(): boolean {
  return true
}

function isPassword({ groups = {} }: RegExpExecArray): boolean {
  const { secret, single, double, plain } = groups
  return !isMadeUpPassword(secret ?? single ?? double ?? plain ?? '')
}

/** The line of a match, or 300 characters of it on each side. */
function lineAround({ 0: whole, index, input }: RegExpExecArray): string {
  const before = input.slice(Math.max(0, index - 300), index)
  const after = input.slice(index + whole.length, index + whole.length + 300)
  const [rest = ''] = after.split('\n', 1)
  return before.slice(before.lastIndexOf('\n') + 1) + whole + rest
}

function joined(...sources: readonly string[]): string {
  return sources.join('')
}

/** What RFC 7515, RFC 7519, jwt.io and the local servers of Supabase sign for everyone to see. */
const PUBLISHED_CLAIMS = /"1234567890"|"John Doe"|"iss"\s*:\s*"joe"|"supabase-demo"/

/** Characters on each side of a member in which the key's type must be. */
const KEY_REACH = 4096

/** Whether the header of `header.payload.signature` has an algorithm; no for an example. */
function isSignedToken(jwt: string): boolean {
  const [header = '', payload = ''] = jwt.split('.')
  try {
    const value: unknown = JSON.parse(decoded(header))
    if (typeof value !== 'object' || value === null) return false
    if (!('alg' in value) || typeof value.alg !== 'string') return false
  } catch {
    return false
  }
  return !PUBLISHED_CLAIMS.test(decoded(payload))
}

/** Whether a member `d` or `k` at this place of a text stands in an object with a `kty`. */
function isInWebKey(text: string, start: number, end: number): boolean {
  const near = text.slice(Math.max(0, start - KEY_REACH), end + KEY_REACH)
  const symmetric = text.slice(start, start + 3) === '"k"'
  return (symmetric ? /"kty"\s{0,8}:\s{0,8}"oct"/ : /"kty"\s{0,8}:\s{0,8}"(?!oct)/).test(near)
}

function decoded(part: string): string {
  return Bytes.from(part, 'base64url').toString()
}

/** Words of the published examples: `AKIAIOSFODNN7EXAMPLE`, `sk_test_your_key_here`. */
const MADE_UP =
  /example|placeholder|your[_-]|yourkey|x{6}|\*{3}|dummy|redacted|changeme|replace[_-]?me/i

/** Typed by hand: no service issues such a key. */
const SEQUENCE = /abcdefghij|0123456789abcdef|1234567890abcdef|1234567890(?:1234567890)/i

/** Keys that makers print for tests and that open nothing of anyone's. */
const PUBLISHED: readonly string[] = [
  // Stripe's documentation.
  '4eC39HqLyjWDarjtT1zdp7dc',
  'BQokikJOvBiI2HlWgH4olfQ2',
  // Azurite, the emulator of Azure Storage.
  'Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq',
]

/** `${PASSWORD}`, `$PASSWORD`, `{password}`, `[password]`, `%PASSWORD%`, `%s`, `***`, `xxxx`. */
const VARIABLE = new RegExp(
  [
    String.raw`^(?:\$\{[^}]*\}|\$\(.*\)|\$[A-Z_][A-Z0-9_]*|\{.*\}|\[.*\]|<.*>`,
    String.raw`|%[A-Z_]+%|%s|%\([A-Z_]+\)s|\.{2,}|…|(.)\1*)$`,
  ].join(''),
  'i',
)
const EXAMPLE = new RegExp(
  [
    '^(?:[a-z]{1,12}[_-]?)?',
    '(?:pass(?:word|wd|phrase)?|pwd?|secret|token|change[_-]?(?:me|it|this)|example|placeholder',
    '|here|root|admin|guest|test|postgres|mysql|redis|abc|xyz|foo|bar|baz|123)',
    '(?:[_-]?\\d{1,4})?!?$',
  ].join(''),
  'i',
)
/** `config.password`, `os.environ`, `process.env.PASSWORD`. */
const NAME_IN_CODE = /^[A-Za-z_]\w{0,63}(?:(?:\.|::|->)[A-Za-z_]\w{0,63}){1,6}$/

/** Whether a token, prefix included, is one of documentation. */
function isMadeUpToken(text: string): boolean {
  if (MADE_UP.test(text) || SEQUENCE.test(text)) return true
  if (PUBLISHED.some((part) => text.includes(part))) return true
  // The end of a token is drawn at random: twenty characters of three kinds are no placeholder.
  return new Set(text.slice(-20)).size <= 3
}

/** Whether a password is a typical placeholder of documentation. */
function isMadeUpPassword(password: string): boolean {
  return [VARIABLE, EXAMPLE, NAME_IN_CODE].some((pattern) => pattern.test(password))
}
