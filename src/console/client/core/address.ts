// The addresses of the page. They hold ids only: the browser keeps addresses on disk. A path, a
// search, a session's name or a reason never enters one.

/** What every address may say: the moment that the page is of, by its commit. */
interface Moment {
  readonly at?: string | undefined
}

export type MemoryTab = 'read' | 'source' | 'changes' | 'blame'

interface MemoryPlace extends Moment {
  readonly tab?: MemoryTab | undefined
  /** Versions to compare, `memver_…`; `to` is the shown one, or now, if left out. */
  readonly from?: string | undefined
  readonly to?: string | undefined
}

export const viewNames = [
  'memories',
  'timeline',
  'sessions',
  'merges',
  'redaction',
  'devices',
  'sync',
  'audit',
  'settings',
] as const
export type ViewName = (typeof viewNames)[number]

export const addressOf = {
  view: (name: ViewName, moment: Moment = {}): string => withQuery(`/${name}`, moment),
  memory: (memoryId: string, place: MemoryPlace = {}): string =>
    withQuery(`/memory/${memoryId}`, place),
  /** A group of the timeline, by one of its versions. */
  group: (versionId: string): string => `/timeline/${versionId}`,
  /** What a session or an actor wrote, and its undo: by one of its versions. */
  session: (versionId: string): string => `/sessions/session/${versionId}`,
  actor: (versionId: string): string => `/sessions/actor/${versionId}`,
  merge: (versionId: string): string => `/merges/${versionId}`,
  rollback: (commit: string): string => `/rollback/${commit}`,
  restore: (memoryId: string, to: { readonly versionId?: string; readonly commit?: string }) =>
    withQuery(`/restore/${memoryId}`, to),
  /** What differs between a moment and now. */
  compare: (commit: string): string => `/compare/${commit}`,
  /** A redaction that begins with a memory or a version. */
  redaction: (begin: { readonly memory?: string; readonly version?: string } = {}): string =>
    withQuery('/redaction', begin),
}

function withQuery(path: string, query: object): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined)
  const text = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString()
  return text === '' ? path : `${path}?${text}`
}
