// A short notation for merges of few memories and their results. Contents stand for blobs, `at` for
// a position in the history.

import { sha256OfText } from '../../../../src/crypto/digest.ts'
import type { MergeInput, OpenMemory } from '../../../../src/store/merge/merge-input.ts'
import { type MergeOutcome, planMerge } from '../../../../src/store/merge/plan.ts'
import type { CurrentVersion, LiveMemory } from '../../../../src/store/snapshot/live-memory.ts'

/** A version in this notation. Later versions have a greater `at`; a redacted one has no path. */
export interface State {
  readonly at: number
  readonly path?: string
  /** Undefined for a deletion. */
  readonly content?: string
}

export interface Case {
  /** By memory: a, b, … in the order of creation. */
  readonly open?: Readonly<Record<string, { base?: State; ours: State; theirs: State }>>
  readonly changed?: Readonly<Record<string, State>>
  /** Our memories among `changed` that the merge leaves alone. */
  readonly fixed?: string
  readonly unchanged?: readonly string[]
  readonly limit?: number
}

export interface Result {
  /** Path and content of every memory that has a row, undefined for a deletion. */
  readonly rows: Readonly<Record<string, readonly [path: string, content: string | undefined]>>
  readonly outcomes: readonly (readonly [memory: string, MergeOutcome['kind'], path: string])[]
}

/** Descending, so that the order of ids is not that of ages. */
function idOf(name: string): string {
  return (255 - name.charCodeAt(0)).toString(16).padStart(2, '0').repeat(16)
}

export function nameOf(memoryId: string): string {
  return String.fromCharCode(255 - Number.parseInt(memoryId.slice(0, 2), 16))
}

export function versionIdOf(name: string, { at }: State): string {
  return `${idOf(name).slice(0, 28)}${String(at).padStart(4, '0')}`
}

function liveOf(name: string, state: State): LiveMemory {
  const { at, path = '', content = '' } = state
  return {
    memoryId: idOf(name),
    versionId: versionIdOf(name, state),
    path,
    size: Buffer.byteLength(content),
    sha256: sha256OfText(content),
    created: name.charCodeAt(0),
    updated: at,
    blob: content,
    kid: '',
  }
}

function versionOf(name: string, state: State): CurrentVersion {
  const isDeleted = state.content === undefined && state.path !== undefined
  return {
    versionId: versionIdOf(name, state),
    operation: isDeleted ? 'deleted' : 'modified',
    created: name.charCodeAt(0),
    live: state.content === undefined ? undefined : liveOf(name, state),
  }
}

export function openOf([name, { base, ours, theirs }]: [
  string,
  { base?: State; ours: State; theirs: State },
]): OpenMemory {
  return {
    memoryId: idOf(name),
    ours: versionOf(name, ours),
    theirs: versionOf(name, theirs),
    base: base && {
      path: base.path,
      sha256: base.content === undefined ? undefined : sha256OfText(base.content),
      content: () => base.content,
    },
  }
}

function atOf({ versionId }: { readonly versionId: string }): number {
  return Number(versionId.slice(28))
}

function overlaps(a: string, b: string): boolean {
  return a === b || a.startsWith(`${b}/`) || b.startsWith(`${a}/`)
}

export function inputOf({
  open = {},
  changed = {},
  fixed = '',
  unchanged = [],
  limit = 1000,
}: Case): MergeInput {
  const sides = Object.values(open).flatMap(({ ours, theirs }) => [ours, theirs])
  const states = [...sides, ...Object.values(changed)]
  const paths = [
    ...unchanged,
    ...states.flatMap(({ path, content }) => (content === undefined ? [] : [path ?? ''])),
  ]
  return {
    open: Object.entries(open).map(openOf),
    changed: Object.entries(changed).map(([name, state]) => liveOf(name, state)),
    isFixed: (memoryId) => fixed.includes(nameOf(memoryId)),
    isOccupied: (path) => paths.some((other) => overlaps(path, other)),
    readContent: ({ blob }) => blob,
    readPath: (version) => states.find(({ at }) => at === atOf(version))?.path,
    isLater: (a, b) => atOf(a) > atOf(b),
    limits: { contentBytes: limit },
  }
}

export function swapped(given: Case): Case {
  const open = Object.entries(given.open ?? {}).map(([name, { ours, theirs, ...rest }]) => {
    return [name, { ...rest, ours: theirs, theirs: ours }] as const
  })
  return { ...given, open: Object.fromEntries(open) }
}

export function resultOf(given: Case): Result {
  const { rows, outcomes } = planMerge(inputOf(given))
  return {
    rows: Object.fromEntries(
      rows.map(({ memoryId, path, content }) => [nameOf(memoryId), [path, content]]),
    ),
    outcomes: outcomes.map(({ memoryId, kind, path }) => [nameOf(memoryId), kind, path]),
  }
}

export const base: Required<State> = { at: 1, path: '/x', content: 'one\ntwo\nthree\n' }
/** The digits of memories `a` and `b`, as names have them. */
export const idOfA: string = '4yktf9x7myktf9x7myktf9x7my'
export const idOfB: string = '4xkpesv7cxkpesv7cxkpesv7cx'
export const digits: { readonly a: string; readonly b: string } = {
  a: idOfA.slice(0, 8),
  b: idOfB.slice(0, 8),
}
