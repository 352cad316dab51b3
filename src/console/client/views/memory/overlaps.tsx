// The lines that the user and another writer have both changed, with a choice for each place. At
// first both are kept, so that no line is dropped unseen.

import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { MergedEdit } from '../../../../api/console/contract.ts'
import { Writer } from '../../parts/labels.tsx'

type Side = 'both' | 'ours' | 'theirs'

const sides: readonly (readonly [Side, string])[] = [
  ['both', 'Keep both'],
  ['ours', 'Keep yours'],
  ['theirs', 'Keep theirs'],
]

type Overlap = Exclude<MergedEdit['parts'][number], { readonly text: string }>

/** The number of choices. */
export function overlapsIn({ parts }: MergedEdit): number {
  return parts.filter((part) => !('text' in part)).length
}

interface OverlapsProps {
  readonly path: string
  readonly merged: MergedEdit
  readonly onChosen: (text: string) => void
  readonly onDiscard: () => void
}

export function Overlaps({ path, merged, onChosen, onDiscard }: OverlapsProps): JSX.Element {
  const [chosen, choose] = useState<ReadonlyMap<number, Side>>(new Map())
  const { parts, theirs } = merged
  const places = parts.flatMap((part, index) => ('text' in part ? [] : [{ part, index }]))
  return (
    <form
      class="edit"
      aria-label={`Edit ${path}`}
      onSubmit={(event) => {
        event.preventDefault()
        const texts = parts.map((part, index) => chosenText(part, chosen.get(index) ?? 'both'))
        onChosen(joined(texts))
      }}
    >
      <p class="banner" role="alert">
        <Writer version={theirs.version} /> has changed the same lines as you. Choose what stays;
        everything else is merged. Nothing is saved yet.
      </p>
      {places.map(({ part, index }, at) => (
        <fieldset key={index}>
          <legend>
            Place {at + 1} of {places.length}
          </legend>
          <p class="dim">Yours</p>
          <pre>{shown(part.ours)}</pre>
          <p class="dim">Theirs</p>
          <pre>{shown(part.theirs)}</pre>
          {sides.map(([side, label]) => (
            <label key={side}>
              <input
                type="radio"
                name={`place-${index}`}
                checked={(chosen.get(index) ?? 'both') === side}
                onChange={() => choose(new Map(chosen).set(index, side))}
              />{' '}
              {label}{' '}
            </label>
          ))}
        </fieldset>
      ))}
      <p class="go">
        <span class="sp" />
        <button type="button" onClick={onDiscard}>
          Discard
        </button>
        <button type="submit" class="pri">
          Continue
        </button>
      </p>
    </form>
  )
}

function chosenText(part: MergedEdit['parts'][number], side: Side): string {
  if ('text' in part) return part.text
  return side === 'both' ? joined([part.theirs, part.ours]) : part[side]
}

/** A last line without a line feed gets one if another follows. */
function joined(texts: readonly string[]): string {
  return texts
    .filter((text) => text !== '')
    .map((text, index, all) =>
      index < all.length - 1 && !text.endsWith('\n') ? `${text}\n` : text,
    )
    .join('')
}

function shown(text: Overlap['ours']): string {
  return text === '' ? '(deleted)' : text
}
