// After a redaction: brings the files of all mirrors to the state of the store, and searches the
// mirrored directories for the erased text, in hidden and temporary files too. Names the places
// that remain.

import { type Dirent, readdirSync } from 'node:fs'
import { StoreError } from '../../errors.ts'
import { attempt } from '../../home/files.ts'
import type { MemoryStore } from '../../store/memory-store.ts'
import type { Context } from '../call/command.ts'
import { UnsuitableError } from '../import/source.ts'
import { readNamedFile } from '../import/tree.ts'
import { countText, listOf } from '../text/words.ts'
import type { HeldPath, Mirror } from './mirror-state.ts'
import { mirrorFiles, runnerOf } from './mirrors.ts'

/** A larger file is named, and not searched. */
const SEARCHED_BYTES_MAX = 64 * 2 ** 20

export interface MirrorErasure {
  readonly directory: string
  /** Files that may hold an erased text, each with the reason. */
  readonly suspects: readonly HeldPath[]
}

/** One for each mirror. `pattern` is that of the redaction, if it had one. */
export async function eraseInMirrors(
  context: Context,
  store: MemoryStore,
  pattern: RegExp | undefined,
): Promise<readonly MirrorErasure[]> {
  const erasures: MirrorErasure[] = []
  for (const mirror of listMirrors(context, store)) {
    if (mirror instanceof StoreError) {
      erasures.push({ directory: '/', suspects: [{ path: '/', reason: mirror.message }] })
      continue
    }
    const suspects = [
      ...(await updateFiles(context, store, mirror)),
      ...(pattern === undefined ? [] : searchFiles(mirror.directory, pattern)),
    ]
    erasures.push({ directory: mirror.directory, suspects })
  }
  return erasures
}

/** An error in place of a list that cannot be read: the redaction itself is done. */
function listMirrors(context: Context, store: MemoryStore): readonly (Mirror | StoreError)[] {
  try {
    return mirrorFiles(context, store.id).list()
  } catch (error) {
    if (error instanceof StoreError) return [error]
    throw error
  }
}

/** Empty if each of them is as it should be. */
export function erasureLines(erasures: readonly MirrorErasure[]): readonly string[] {
  return erasures.flatMap(({ directory, suspects }) => {
    if (suspects.length === 0) return []
    const count = countText(suspects.length, 'path', 'paths')
    return [
      `${directory} may hold erased texts, in ${count}:`,
      listOf(suspects.map(({ path, reason }) => `${path}: ${reason}`)),
    ]
  })
}

async function updateFiles(
  context: Context,
  store: MemoryStore,
  mirror: Mirror,
): Promise<readonly HeldPath[]> {
  if (mirror.isPaused) return [{ path: '/', reason: 'the mirror is paused' }]
  try {
    const runner = runnerOf(context, store, mirror)
    try {
      const { notes } = await runner.settle()
      const { problem, leftOut } = notes
      const held = leftOut.filter(({ reason }) => reason.includes('erased'))
      return problem === undefined ? held : [{ path: '/', reason: problem }, ...held]
    } finally {
      await runner.close()
    }
  } catch (error) {
    if (!(error instanceof StoreError)) throw error
    return [{ path: '/', reason: error.message }]
  }
}

/**
 * All files below, hidden ones too; no link is followed. Names are bytes: one that is not UTF-8
 * names no other file.
 */
function searchFiles(directory: string, pattern: RegExp): readonly HeldPath[] {
  const once = new RegExp(pattern.source, pattern.flags.replaceAll(/[gy]/g, ''))
  const found: HeldPath[] = []
  const visit = (below: Buffer): void => {
    const place = Buffer.concat([Buffer.from(directory), below])
    for (const entry of entriesOf(place)) {
      const path = Buffer.concat([below, SEPARATOR, entry.name])
      const file = Buffer.concat([place, SEPARATOR, entry.name])
      const add = (reason: string | undefined): void => {
        if (reason !== undefined) found.push({ path: path.toString(), reason })
      }
      if (entry.isFile()) add(reasonOf(file, once))
      else if (entry.isDirectory()) add(problemOf(() => visit(path)))
    }
  }
  const problem = problemOf(() => visit(Buffer.alloc(0)))
  return problem === undefined ? found : [...found, { path: '/', reason: problem }]
}

const SEPARATOR = Buffer.from('/')

function entriesOf(place: Buffer): readonly Dirent<Buffer>[] {
  const options = { withFileTypes: true, encoding: 'buffer' } as const
  return attempt('list a directory', place.toString(), () => readdirSync(place, options))
}

/** Why a directory cannot be searched. */
function problemOf(search: () => void): string | undefined {
  try {
    search()
    return undefined
  } catch (error) {
    if (error instanceof StoreError) return `cannot be searched. ${error.message}`
    throw error
  }
}

function reasonOf(file: Buffer, pattern: RegExp): string | undefined {
  try {
    const bytes = readNamedFile(file, SEARCHED_BYTES_MAX)
    if (bytes.length > SEARCHED_BYTES_MAX) return 'too large to be searched'
    return pattern.test(Buffer.from(bytes).toString('utf8')) ? 'holds the text' : undefined
  } catch (error) {
    if (error instanceof UnsuitableError) return error.message
    throw error
  }
}
