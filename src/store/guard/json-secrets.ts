// Looks into what JOSE makes of JSON: whether three parts with dots are a signed JSON Web Token
// (RFC 7519), and whether a member is that of a private JSON Web Key (RFC 7517).

/** What RFC 7515, RFC 7519, jwt.io and the local servers of Supabase sign for everyone to see. */
const PUBLISHED_CLAIMS = /"1234567890"|"John Doe"|"iss"\s*:\s*"joe"|"supabase-demo"/

/** Characters on each side of a member in which the key's type must be. */
const KEY_REACH = 4096

/** Whether the header of `header.payload.signature` has an algorithm; no for an example. */
export function isSignedToken(token: string): boolean {
  const [header = '', payload = ''] = token.split('.')
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
export function isInWebKey(text: string, start: number, end: number): boolean {
  const near = text.slice(Math.max(0, start - KEY_REACH), end + KEY_REACH)
  const symmetric = text.slice(start, start + 3) === '"k"'
  return (symmetric ? /"kty"\s{0,8}:\s{0,8}"oct"/ : /"kty"\s{0,8}:\s{0,8}"(?!oct)/).test(near)
}

function decoded(part: string): string {
  return Buffer.from(part, 'base64url').toString()
}
