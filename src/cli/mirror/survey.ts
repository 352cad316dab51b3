// Lists the files and the memories of a mirror, with the SHA-256 of each text, and those that
// cannot be mirrored, each with the reason. Changes nothing.

import type { Clock } from '../../clock.ts'
import { sha256OfText } from '../../crypto/digest.ts'
import { hasCode } from '../../errors.ts'
import { checkNewPath } from '../../format/path.ts'
import type { MemoryStore } from '../../store/memory-store.ts'
import { TimeSlice } from '../../time-slice.ts'
import { textOfCandidate, UnsuitableError } from '../import/source.ts'
import type { TreeRule } from '../import/tree.ts'
import { judgeFiles, repositoryNames } from '../machine/file-rule.ts'
import { existingFiles, findCaseTwins, ignoresCase } from '../machine/memory-files.ts'
import { type Folder, ownName, type FoundFile } from './folder.ts'
import type { Mirror, MirrorState } from './mirror-state.ts'
import type { MirrorStates, MirroredMemory } from './plan.ts'

/** Files that are written all the time are read after this time at the latest. */
const WAIT_MS_MAX = 5000

export interface SurveyParts {
  readonly store: MemoryStore
  readonly folder: Folder
  readonly mirror: Mirror
  readonly state: MirrorState
  readonly clock: Clock
  /** A file that was changed more lately may be half written. */
  readonly settleMs: number
  /** Since when files are waited for; kept from one pass to the next. */
  readonly waiting: Map<string, number>
  readonly signal?: AbortSignal | undefined
}

export interface Survey {
  readonly states: MirrorStates
  readonly seen: ReadonlyMap<string, FoundFile>
  /** Paths that are not mirrored, each with the reason. */
  readonly leftOut: Map<string, string>
  /** Whether a file may still be written: look again. */
  readonly isUnsettled: boolean
}

export async function surveyMirror(parts: SurveyParts): Promise<Survey> {
  const { store, folder, mirror, state } = parts
  const { files, blocked } = await folder.scan(parts.signal)
  const memories = await listMemories(store, mirror.at)
  const obstacles = new Obstacles()
  for (const [name, reason] of blocked) obstacles.add(pathOf(name), reason)
  const seen = new Map<string, FoundFile>()
  for (const file of files) noteFile(mirror, file, seen, obstacles)
  judgePaths(mirror, [...new Set([...seen.keys(), ...memories.keys()])], obstacles)
  const { limits } = (await store.status()).settings
  const reader = new TextReader(parts, limits.contentBytes, obstacles)
  const hashes = new Map<string, string>()
  const slice = new TimeSlice(parts.signal)
  for (const [path, file] of seen) {
    if (slice.isOver()) await slice.next()
    const hash = obstacles.isBlocked(path) ? undefined : reader.hashOf(path, file)
    if (hash !== undefined) hashes.set(path, hash)
  }
  const isBlocked = (path: string): boolean => obstacles.isBlocked(path)
  return {
    states: { agreed: state.agreed, memories, files: hashes, isBlocked },
    seen,
    leftOut: obstacles.reported(),
    isUnsettled: reader.isUnsettled,
  }
}

/** The text of a file, unless it differs from the one that was seen. */
export function readSeenText(
  folder: Folder,
  name: string,
  { limit, sha256 }: { readonly limit: number; readonly sha256: string | undefined },
): string | undefined {
  const text = textOfCandidate({ read: (most) => folder.read(name, most) }, limit)
  return sha256OfText(text) === sha256 ? text : undefined
}

/** Files of systems and editors, which come and go. */
const passing = /~$|^#.*#$|^\.#|\.sw[a-p]$|^4913$|\.tmp(?:$|\.)|\.(?:part|crdownload)$/i
const ofSystems: ReadonlySet<string> = new Set(['.ds_store', 'thumbs.db', 'desktop.ini'])
const quietReasons: ReadonlySet<string> = new Set([
  'of the mirror',
  'hidden directory',
  'temporary file',
  'packages',
  'not Markdown',
])

/** Leaves names out on both sides. */
export function ruleOf(mirror: Pick<Mirror, 'isMarkdownOnly' | 'withConfiguration'>): TreeRule {
  return (name, isDirectory) => {
    if (isDirectory) {
      if (name === '.git' || (name.startsWith('.') && !mirror.withConfiguration)) {
        return 'hidden directory'
      }
      return name === 'node_modules' ? 'packages' : undefined
    }
    if (passing.test(name) || ofSystems.has(name.toLowerCase())) return 'temporary file'
    return mirror.isMarkdownOnly && !/\.md$/i.test(name) ? 'not Markdown' : undefined
  }
}

/** File systems of macOS decompose names; the store wants them composed. */
export function pathOf(name: string): string {
  return `/${name.normalize('NFC')}`
}

async function listMemories(
  store: MemoryStore,
  at: string,
): Promise<ReadonlyMap<string, MirroredMemory>> {
  const found = new Map<string, MirroredMemory>()
  for await (const memory of store.memories({ path: at === '' ? '/' : at, limit: 1000 })) {
    const { memoryId, versionId, sha256 } = memory
    const path = memory.path.slice(at.length)
    if (path !== '') found.set(path, { memoryId, versionId, sha256, path })
  }
  return found
}

function noteFile(
  { at }: Mirror,
  file: FoundFile,
  seen: Map<string, FoundFile>,
  obstacles: Obstacles,
): void {
  const path = pathOf(file.name)
  if (seen.has(path)) {
    obstacles.add(path, 'two files have this name, in two forms of Unicode')
    return
  }
  seen.set(path, file)
  try {
    checkNewPath(`${at}${path}`)
  } catch (error) {
    if (!hasCode(error, 'invalid_path')) throw error
    obstacles.add(path, lowered(error.message))
  }
}

/** Applies the rule for files whose names come from memories, and the names left out, to all. */
function judgePaths(mirror: Mirror, paths: readonly string[], obstacles: Obstacles): void {
  const { directory, withConfiguration } = mirror
  const readable = paths.filter((path) => !obstacles.isBlocked(path))
  const existing = existingFiles(directory, readable, repositoryNames)
  for (const [path, { kind, reason }] of judgeFiles({ directory, paths, existing })) {
    if (kind === 'unsafe' || !withConfiguration) obstacles.add(path, reason)
  }
  const rule = ruleOf(mirror)
  for (const path of paths) {
    const segments = path.slice(1).split('/')
    const reasons = segments.map((segment, at) => {
      return segment.toLowerCase() === ownName ? ownName : rule(segment, at < segments.length - 1)
    })
    const reason = reasons.find((found) => found !== undefined)
    if (reason !== undefined) obstacles.add(path, reason)
  }
  const twins = findCaseTwins(paths)
  if (twins.length > 0 && ignoresCase(directory)) {
    for (const path of twins) obstacles.add(path, 'differs from another by case only')
  }
}

/** Paths that are not mirrored: a directory stands for all that is below it. */
class Obstacles {
  readonly #reasons = new Map<string, string>()

  add(path: string, reason: string): void {
    if (!this.#reasons.has(path)) this.#reasons.set(path, reason)
  }

  isBlocked(path: string): boolean {
    if (this.#reasons.size === 0) return false
    for (let end = path.length; end > 0; end = path.lastIndexOf('/', end - 1)) {
      if (this.#reasons.has(path.slice(0, end))) return true
    }
    return false
  }

  reported(): Map<string, string> {
    return new Map([...this.#reasons].filter(([, reason]) => !quietReasons.has(reason)))
  }
}

/** Reads only files that have changed since both sides agreed. */
class TextReader {
  isUnsettled = false
  readonly #parts: SurveyParts
  readonly #limit: number
  readonly #obstacles: Obstacles

  constructor(parts: SurveyParts, limit: number, obstacles: Obstacles) {
    this.#parts = parts
    this.#limit = limit
    this.#obstacles = obstacles
  }

  hashOf(path: string, file: FoundFile): string | undefined {
    const { folder, state } = this.#parts
    const last = state.agreed.get(path)
    if (last !== undefined && last.trace === file.trace) return last.sha256
    if (!this.#isSettled(path, file)) {
      this.isUnsettled = true
      this.#obstacles.add(path, 'temporary file')
      return undefined
    }
    try {
      const text = textOfCandidate({ read: (most) => folder.read(file.name, most) }, this.#limit)
      if (folder.look(file.name)?.trace === file.trace) return sha256OfText(text)
      this.isUnsettled = true
      this.#obstacles.add(path, 'temporary file')
    } catch (error) {
      if (!(error instanceof UnsuitableError)) throw error
      this.#obstacles.add(path, error.message)
    }
    return undefined
  }

  #isSettled(path: string, { changed }: FoundFile): boolean {
    const { clock, settleMs, waiting } = this.#parts
    const now = clock()
    const age = now - changed
    // A clock that was put back would make it wait for ever.
    if (age >= settleMs || age < -settleMs) {
      waiting.delete(path)
      return true
    }
    const since = Math.min(waiting.get(path) ?? now, now)
    waiting.set(path, since)
    return now - since > WAIT_MS_MAX
  }
}

function lowered(text: string): string {
  return text.slice(0, 1).toLowerCase() + text.slice(1)
}
