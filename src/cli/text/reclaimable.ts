// Space that a store can free, as text and as JSON: `status` shows known space, `doctor` also
// searches.

import type { ObjectAmount, Reclaimable } from '../../git/object-store.ts'
import { countText, sizeText } from './words.ts'

/** `12 objects of redacted versions, 3.4 kB` */
export function erasedText(pending: number, { erased }: Reclaimable): string {
  const count = countText(pending, 'object', 'objects')
  return `${count} of redacted versions, ${sizeText(erased.bytes)} in packs`
}

/** `12 copies of objects, 3.4 kB`; undefined for none. */
export function repeatedText({ repeated }: Reclaimable): string | undefined {
  return amountText(repeated, 'copy of an object', 'copies of objects')
}

/** `12 unreachable objects, 3.4 kB`; undefined for none. */
export function unreachableText(unreachable: ObjectAmount): string | undefined {
  return amountText(unreachable, 'unreachable object', 'unreachable objects')
}

function amountText(
  { objects, bytes }: ObjectAmount,
  one: string,
  many: string,
): string | undefined {
  return objects === 0 ? undefined : `${countText(objects, one, many)}, ${sizeText(bytes)}`
}

/** Copies the fields, since an amount may have more than these. */
export function reclaimableJson({
  erased,
  repeated,
}: Reclaimable): Readonly<Record<string, unknown>> {
  return { erased: amountJson(erased), repeated: amountJson(repeated) }
}

export function amountJson({ objects, bytes }: ObjectAmount): Readonly<Record<string, unknown>> {
  return { objects, bytes }
}
