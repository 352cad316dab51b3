// Sanitises messages of remotes and of programs, so that they are safe to print and to keep: no
// control or format characters, no secrets, and short. Pure.

const lengthMax = 400

/** Strings that must never be shown: passwords, and their encodings in requests. */
export function secretForms(credentials: {
  readonly username: string
  readonly password: string
}): string[] {
  const { username, password } = credentials
  const basic = Buffer.from(`${username}:${password}`).toString('base64')
  const forms = [password, encodeURIComponent(password), basic, basic.replace(/=+$/, '')]
  return forms.filter((form) => form.length > 0)
}

/** One sanitised line of at most 400 characters. */
export function harmless(text: string, secrets: readonly string[] = []): string {
  let clean = text
  // The longest first, because one may contain another.
  for (const secret of secrets.toSorted((a, b) => b.length - a.length)) {
    clean = clean.replaceAll(secret, '***')
  }
  clean = clean
    .replaceAll(/(\w:\/\/)[^\s/@]+@/g, '$1***@')
    // Escape sequences of terminals first, then all other characters that do not print.
    // oxlint-disable-next-line eslint/no-control-regex -- they are removed
    .replaceAll(/\u001B(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001B]*(?:\u0007|\u001B\\)?|.?)/g, '')
    .replaceAll(/[\p{C}\p{Zl}\p{Zp}\s]+/gu, ' ')
    .trim()
  return clean.length <= lengthMax ? clean : `${clean.slice(0, lengthMax)}…`
}
