// Patterns of secrets: private keys, tokens of clouds and services, passwords in URLs, payment
// cards. Only documented formats with a fixed prefix or frame, so that prose never matches; nothing
// is guessed from entropy. Every pattern matches a bounded number of characters, so that the time
// is linear even in a hostile text.

import { findCardNumbers } from './card-numbers.ts'

/** The position of a secret in a text, in UTF-16 units, and its kind. Holds none of the text. */
export interface Secret {
  readonly rule: string
  readonly start: number
  readonly end: number
}

const CARD = 'payment card number'

interface Pattern {
  readonly rule: string
  readonly pattern: RegExp
  /** Whether the pattern's group `secret` is a placeholder and no real secret. */
  readonly isPlaceholder?: (secret: string) => boolean
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
const AWS_SECRET = joined(
  String.raw`secret[_-]?access[_-]?key["']?[ \t]{0,8}(?::|=>?)[ \t]{0,8}["']?`,
  `${BASE64}{40}(?![A-Za-z0-9+/=])`,
)
const SLACK_HOOK = joined(
  String.raw`hooks\.slack\.com/(?:services|workflows|triggers)/`,
  '[A-Z0-9]{8,12}/[A-Za-z0-9/]{20,1024}',
)

/** `${PASSWORD}`, `$PASSWORD`, `{password}`, `[password]`, `%PASSWORD%`, `%s`, `***`, `xxxx`. */
const VARIABLE = joined(
  String.raw`^(?:\$\{[^}]*\}|\$[A-Z_][A-Z0-9_]*|\{.*\}|\[.*\]`,
  String.raw`|%[A-Z_]+%|%s|%\([A-Z_]+\)s|(.)\1*)$`,
)
const EXAMPLE = joined(
  '^(?:my|your|the|some|db|user)?[_-]?',
  '(?:pass(?:word|wd|phrase)?|pwd?|secret|token|changeme|example',
  '|root|admin|guest|test|postgres)$',
)

const placeholders = [new RegExp(VARIABLE, 'i'), new RegExp(EXAMPLE, 'i')]

const patterns: readonly Pattern[] = [
  { rule: 'private key', pattern: new RegExp(PEM, 'g') },
  // PuTTY's own format, and age (C2SP age.md).
  {
    rule: 'private key',
    pattern: /^Private-Lines: \d{1,4}\r?\n[A-Za-z0-9+/]{40}[A-Za-z0-9+/=\s]{0,8192}/gm,
  },
  { rule: 'private key', pattern: /AGE-SECRET-KEY-(?:PQ-)?1[02-9AC-HJ-NP-Z]{40,1024}/gi },
  // FORMAT §1.3.
  { rule: 'gitlocket identity', pattern: /GITLOCKET-IDENTITY-1-[0-9A-Z]{32,1024}/gi },
  { rule: 'gitlocket recovery key', pattern: /GLKR1-(?:[0-9A-Z]{8}[- ]?){4,8}/gi },
  { rule: 'gitlocket operator secret', pattern: /GLKO1-(?:[0-9A-Z]{7}[- ]?){4,8}/gi },

  // AWS: "Unique identifiers" in the IAM guide (access key, temporary key, bearer token).
  { rule: 'AWS access key', pattern: exactly('(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}') },
  { rule: 'AWS secret key', pattern: new RegExp(AWS_SECRET, 'gi') },
  { rule: 'Google API key', pattern: exactly('AIza[A-Za-z0-9_-]{35}') },
  { rule: 'Google OAuth secret', pattern: exactly('GOCSPX-[A-Za-z0-9_-]{28}') },
  { rule: 'Google access token', pattern: token('ya29\\.[A-Za-z0-9_-]{40,1024}') },
  { rule: 'Azure account key', pattern: /AccountKey=[A-Za-z0-9+/]{86}==/gi },
  // Microsoft: "Microsoft Entra client secret" of its sensitive information types.
  {
    rule: 'Azure client secret',
    pattern: token('[A-Za-z0-9_~.-]{3}\\dQ~[A-Za-z0-9_~.-]{31,1024}'),
  },
  { rule: 'DigitalOcean token', pattern: exactly('do[opr]_v1_[a-f0-9]{64}') },
  { rule: 'Alibaba Cloud access key', pattern: exactly('LTAI[A-Za-z0-9]{20}') },
  { rule: 'HashiCorp Vault token', pattern: token('hv[sb]\\.[A-Za-z0-9_-]{24,1024}') },
  { rule: 'Databricks token', pattern: exactly('dapi[a-f0-9]{32}') },

  { rule: 'Anthropic API key', pattern: token('sk-ant-[a-z]{3,8}\\d\\d-[A-Za-z0-9_-]{40,1024}') },
  {
    rule: 'OpenAI API key',
    pattern: token('sk-[A-Za-z0-9_-]{16,128}T3BlbkFJ[A-Za-z0-9_-]{16,1024}'),
  },
  { rule: 'Hugging Face token', pattern: exactly('hf_[A-Za-z0-9]{34}') },
  // GitHub: "Authentication token formats"; GitLab: "Token prefixes".
  { rule: 'GitHub token', pattern: token('gh[pousr]_[A-Za-z0-9]{36,1024}') },
  { rule: 'GitHub token', pattern: exactly('github_pat_[A-Za-z0-9]{22}_[A-Za-z0-9]{59}') },
  {
    rule: 'GitLab token',
    pattern: token('gl(?:pat|oas|dt|rt|cbt|ptt|ft|soat|imt|agent)-[A-Za-z0-9_.-]{20,1024}'),
  },
  { rule: 'npm token', pattern: exactly('npm_[A-Za-z0-9]{36}') },
  { rule: 'PyPI token', pattern: token('pypi-AgE[A-Za-z0-9_-]{50,1024}') },
  { rule: 'Slack token', pattern: token('xox[abeoprs](?:\\.xox[bp])?-\\d[A-Za-z0-9-]{18,1024}') },
  { rule: 'Slack token', pattern: token('xapp-\\d-[A-Z0-9]{9,12}-\\d{10,14}-[a-z0-9]{32,1024}') },
  { rule: 'Slack webhook', pattern: new RegExp(SLACK_HOOK, 'g') },
  { rule: 'Stripe key', pattern: token('[rs]k_live_[A-Za-z0-9]{16,1024}') },
  { rule: 'SendGrid API key', pattern: exactly('SG\\.[A-Za-z0-9_-]{22}\\.[A-Za-z0-9_-]{43}') },
  { rule: 'Shopify token', pattern: exactly('shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}') },
  { rule: '1Password token', pattern: token('ops_eyJ[A-Za-z0-9_-]{100,1024}') },

  // RFC 3986 §3.2.1; also URLs of databases and queues.
  {
    rule: 'password in a URL',
    pattern: /:\/\/[^\s:@/<>"'`]{0,100}:(?<secret>[^\s@/<>"'`]{3,200})@[A-Za-z0-9[]/g,
    isPlaceholder,
  },
]

/** The secrets in a text, in the order of their positions. */
export function findSecrets(text: string): readonly Secret[] {
  const found: Secret[] = findCardNumbers(text).map(({ start, end }) => {
    return { rule: CARD, start, end }
  })
  for (const { rule, pattern, isPlaceholder: skip } of patterns) {
    for (const match of text.matchAll(pattern)) {
      if (skip?.(match.groups?.['secret'] ?? '') === true) continue
      found.push({ rule, start: match.index, end: match.index + match[0].length })
    }
  }
  return found.toSorted((a, b) => a.start - b.start)
}

/** A token that is not the end of a longer word. */
function token(source: string): RegExp {
  return new RegExp(`(?<![A-Za-z0-9_])${source}`, 'g')
}

/** A token of a fixed length, which is not part of a longer word. */
function exactly(source: string): RegExp {
  return token(`${source}(?![A-Za-z0-9_])`)
}

/** Whether a password is a typical placeholder of documentation. */
function isPlaceholder(secret: string): boolean {
  return placeholders.some((pattern) => pattern.test(secret))
}

function joined(...sources: readonly string[]): string {
  return sources.join('')
}
