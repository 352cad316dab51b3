// The headers of every answer: nothing is kept, framed, guessed or shared, and the page runs its
// own files alone.

/** Both kinds of `HeadersInit` and of Node take it. */
type Headers = Readonly<Record<string, string>>

const always: Headers = {
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
}

/** With a nonce, for the styles that the editor makes. */
export function headersOf(type: string, nonce?: string): Headers {
  return { ...always, 'content-security-policy': policyOf(nonce), 'content-type': type }
}

function policyOf(nonce: string | undefined): string {
  const styles = nonce === undefined ? "'self'" : `'self' 'nonce-${nonce}'`
  return [
    "default-src 'none'",
    "script-src 'self'",
    `style-src ${styles}`,
    "img-src 'self' data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    'trusted-types dompurify',
  ].join('; ')
}
