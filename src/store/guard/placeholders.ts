// Tells what documentation writes in place of a secret from a secret: the published examples of the
// makers, names of variables, rows of one character. A text about authentication must pass.

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
export function isMadeUpToken(token: string): boolean {
  if (MADE_UP.test(token) || SEQUENCE.test(token)) return true
  if (PUBLISHED.some((part) => token.includes(part))) return true
  // The end of a token is drawn at random: twenty characters of three kinds are no placeholder.
  return new Set(token.slice(-20)).size <= 3
}

/** Whether a password is a typical placeholder of documentation. */
export function isMadeUpPassword(password: string): boolean {
  return [VARIABLE, EXAMPLE, NAME_IN_CODE].some((pattern) => pattern.test(password))
}
