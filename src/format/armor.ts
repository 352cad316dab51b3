// PEM-like armor, used by commits (FORMAT §6) and SSHSIG signatures: base64 in lines of equal width
// between a BEGIN and an END line. The encoding is canonical.

import { fromBase64, toBase64 } from '../bytes.ts'

/** Encodes text that ends in a newline; `width` is the length of a full base64 line. */
export function encodeArmor(name: string, bytes: Uint8Array, width: number): string {
  const base64 = toBase64(bytes)
  let lines = ''
  for (let at = 0; at < base64.length; at += width) lines += `${base64.slice(at, at + width)}\n`
  return `${beginLine(name)}${lines}${endLine(name)}`
}

/**
 * The armor called `name` at `from`, and the position after it; undefined if it is missing. The
 * caller checks the line breaks of the base64, by encoding again. `checkLength` may refuse the
 * lines before they are decoded.
 */
export function findArmor(
  name: string,
  text: string,
  from: number,
  checkLength?: (length: number) => void,
): { readonly bytes: Uint8Array; readonly end: number } | undefined {
  if (!text.startsWith(beginLine(name), from)) return undefined
  const start = from + beginLine(name).length
  const stop = text.indexOf(endLine(name), start)
  if (stop === -1) return undefined
  checkLength?.(stop - start)
  const bytes = fromBase64(text.slice(start, stop).replaceAll('\n', ''))
  return bytes === undefined ? undefined : { bytes, end: stop + endLine(name).length }
}

/** The length of the lines between BEGIN and END. */
export function armorLength(bytes: number, width: number): number {
  const base64 = Math.ceil(bytes / 3) * 4
  return base64 + Math.ceil(base64 / width)
}

function beginLine(name: string): string {
  return `-----BEGIN ${name}-----\n`
}

function endLine(name: string): string {
  return `-----END ${name}-----\n`
}
