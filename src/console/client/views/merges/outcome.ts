// What a merge did to a memory, in words.

import type { MergeRow } from '../../../../api/console/contract.ts'

const WORDS: Readonly<Record<MergeRow['combination'], string>> = {
  combined: 'Both texts were combined',
  kept: 'One of the texts was kept',
  deleted: 'Both sides had deleted it',
  redacted: 'The text is redacted',
}

export function outcomeOf({ combination, inputs, joined, movedFrom }: MergeRow): string {
  const parts = [
    inputs.length < 2 && combination === 'kept' ? undefined : WORDS[combination],
    joined === undefined ? undefined : 'Another memory of the same path was joined into it',
    movedFrom === undefined ? undefined : `Moved aside from ${movedFrom}, which was taken`,
  ]
  return parts.filter((part) => part !== undefined).join('. ')
}
