// The addresses of the page. They hold ids only: the browser keeps addresses on disk. A path, a
// search, a session's name or a reason never enters one.

import { signal } from '@preact/signals'

/** The commit of the moment that the address names; undefined for now. Set by the frame. */
export const atNow = signal<string | undefined>(undefined)

/** The store, `memstore_…`, of a console that shows several. Set before anything is asked. */
export const storeNow = signal<string | undefined>(undefined)

/** The moment that the page is of, by its commit; null for now, left out for the present one. */
interface Moment {
  readonly at?: string | null | undefined
}

export type MemoryTab = 'read' | 'source' | 'changes' | 'blame'

interface MemoryPlace extends Moment {
  readonly tab?: MemoryTab | undefined
  /** Versions to compare, `memver_…`; `to` is the shown one, or now, if left out. */
  readonly from?: string | undefined
  readonly to?: string | undefined
}

export type ViewName =
  | 'review'
  | 'memories'
  | 'timeline'
  | 'sessions'
  | 'merges'
  | 'redaction'
  | 'devices'
  | 'sync'
  | 'audit'
  | 'settings'

export const addressOf = {
  view: (name: ViewName, moment: Moment = {}): string => withQuery(`/${name}`, moment),
  memory: (memoryId: string, place: MemoryPlace = {}): string =>
    withQuery(`/memory/${memoryId}`, place),
  newMemory: (): string => withQuery('/new', { at: null }),
  /** Another store of a console that shows several. */
  store: (storeId: string): string => `/memories?store=${storeId}`,
  /** Search results are asked for again: the words are in no address. */
  search: (): string => withQuery('/search', {}),
  /** A group of the timeline, by one of its versions. */
  group: (versionId: string): string => withQuery(`/timeline/${versionId}`, {}),
  /** What a writer has changed since the last look, by one of its versions. */
  review: (versionId: string): string => withQuery(`/review/${versionId}`, { at: null }),
  /**
   * What a session or an actor wrote, and its undo: by one of its versions, and from another one
   * on.
   */
  session: (versionId: string, since?: string): string =>
    withQuery(`/sessions/session/${versionId}`, { ...(since && { since }), at: null }),
  actor: (versionId: string, since?: string): string =>
    withQuery(`/sessions/actor/${versionId}`, { ...(since && { since }), at: null }),
  /** The undo of one change, by one of its versions. */
  change: (versionId: string): string => withQuery(`/sessions/change/${versionId}`, { at: null }),
  merge: (versionId: string): string => withQuery(`/merges/${versionId}`, {}),
  rollback: (commit: string): string => withQuery(`/rollback/${commit}`, { at: null }),
  restore: (memoryId: string, to: { readonly versionId?: string; readonly commit?: string }) =>
    withQuery(`/restore/${memoryId}`, { ...to, at: null }),
  /** What differs between a moment and now. */
  compare: (commit: string): string => withQuery(`/compare/${commit}`, { at: null }),
  /** A redaction that was made, by its first record. */
  pastRedaction: (redaction: string): string => withQuery(`/redaction/${redaction}`, { at: null }),
  /** A redaction that begins with a memory or a version. */
  redaction: (begin: { readonly memory?: string; readonly version?: string } = {}): string =>
    withQuery('/redaction', { ...begin, at: null }),
}

/** The same address at another moment. */
export function addressAt(url: string, at: string | undefined): string {
  const { pathname, searchParams } = new URL(url, location.origin)
  // Versions that are compared are of another moment.
  const { from: _, to: __, ...query } = Object.fromEntries(searchParams)
  return withQuery(pathname, { ...query, at: at ?? null })
}

function withQuery(path: string, { at = atNow.value, ...query }: Moment & object): string {
  const all = Object.entries({ ...query, at: at ?? undefined, store: storeNow.value })
  const given = all.filter(([, value]) => value !== undefined)
  const text = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString()
  return text === '' ? path : `${path}?${text}`
}
