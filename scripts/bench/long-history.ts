// The long history that the last sections measure on, and the same history for its peers: some
// thousand notes of 1 kB, then one changed line per commit. A part of the newest changes is by an
// intruder, for the undo of a session. Made from seeds through the public interface; nothing here
// is timed.

import { spawnSync } from 'node:child_process'
import {
  closeSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import type { Author, MemoryStore } from 'gitlocket'
import { createBenchStore, type Places } from './contenders/product.ts'
import { type OpenDatabase, SqliteNotes } from './contenders/sqlite.ts'
import { run } from './machine.ts'
import {
  type Note,
  noteText,
  revisionLine,
  seededChoice,
  seededRandom,
  steppedClock,
} from './workload.ts'

const notesPerDirectory = 100
/** Commands that wait together, and so share an fdatasync; the store takes up to 128. */
const atOnce = 128
/** Rows in one transaction of the database, whose writes are not measured here. */
const rowsAtOnce = 1000

/** The session whose changes are to be undone. */
export const intruder = 'intruder'
/** Of the recent changes, each tenth is the intruder's. */
const intruderEvery = 10

export interface HistorySize {
  readonly memories: number
  readonly commits: number
  /** How many of the newest changes the intruder takes part in. */
  readonly recent: number
}

/** One command of the history. */
export type Step =
  | { readonly type: 'create'; readonly path: string; readonly text: string }
  | {
      readonly type: 'replace'
      readonly path: string
      readonly from: string
      readonly to: string
      readonly session: string
    }

/** The same steps each time it is called; `notes` follows what they leave. */
function* historySteps(size: HistorySize, notes: Note[]): Generator<Step> {
  const { memories, commits, recent } = size
  const choose = seededChoice('history')
  const ends: string[] = []
  for (let index = 0; index < memories; index += 1) {
    const path = notePath(index)
    const text = noteText(choose)
    notes[index] = { path, revision: 0 }
    ends[index] = text.slice(-intrusion(0).length)
    yield { type: 'create', path, text }
  }
  for (let count = memories; count < commits; count += 1) {
    const index = choose(memories)
    const { path, revision } = notes[index] ?? { path: notePath(index), revision: 0 }
    if (count >= commits - recent && count % intruderEvery === 0) {
      const [from = '', to] = [ends[index], intrusion(count)]
      ends[index] = to
      yield { type: 'replace', path, from, to, session: intruder }
    } else {
      notes[index] = { path, revision: revision + 1 }
      const [from, to] = [revisionLine(revision), revisionLine(revision + 1)]
      yield { type: 'replace', path, from, to, session: 'history' }
    }
  }
}

/** The text that an intruder puts over the end of a note, far from the line that others change. */
function intrusion(count: number): string {
  return `always trust remark ${String(count).padStart(8, '0')}\n`
}

/** Two levels, so that a view of the root lists every note. */
function notePath(index: number): string {
  return `${Math.floor(index / notesPerDirectory)}/${index % notesPerDirectory}.md`
}

export interface History {
  readonly places: Places
  readonly notes: readonly Note[]
  /** Bytes of objects with all notes, and with all commits, both after a checkpoint. */
  readonly bytesBefore: number
  readonly bytesAfter: number
  readonly seconds: number
}

/** Makes the store and closes it. */
export async function makeHistory(
  directory: string,
  size: HistorySize,
  progress: (done: number) => void,
): Promise<History> {
  const { memories, commits } = size
  const started = performance.now()
  const environment = { random: seededRandom('store'), clock: steppedClock() }
  const { store, places } = await createBenchStore(directory, environment)
  const objects = join(places.directory, 'objects')
  const notes: Note[] = []
  const steps = historySteps(size, notes)
  await applySteps(store, steps, memories, progress)
  await store.maintenance.checkpoint()
  const bytesBefore = sizeOf(objects)
  await applySteps(store, steps, commits - memories, (done) => progress(memories + done))
  await store.close()
  const seconds = (performance.now() - started) / 1000
  return { places, notes, bytesBefore, bytesAfter: sizeOf(objects), seconds }
}

async function applySteps(
  store: MemoryStore,
  steps: Generator<Step>,
  count: number,
  progress: (done: number) => void,
): Promise<void> {
  for (let done = 0; done < count;) {
    const burst = take(steps, Math.min(atOnce, count - done))
    await Promise.all(burst.map((step) => applyStep(store, step)))
    done += burst.length
    progress(done)
  }
}

function take(steps: Generator<Step>, count: number): Step[] {
  const taken: Step[] = []
  while (taken.length < count) {
    const next = steps.next()
    if (next.done === true) break
    taken.push(next.value)
  }
  return taken
}

async function applyStep(store: MemoryStore, step: Step): Promise<void> {
  const path = `/${step.path}`
  if (step.type === 'create') {
    await store.as(authorOf('history')).apply([{ type: 'create', path, content: step.text }])
  } else {
    const edit = (content: string) => content.replace(step.from, step.to)
    await store.as(authorOf(step.session)).apply([{ type: 'edit', path, edit }])
  }
}

function authorOf(session: string): Author {
  return { actor: { type: 'session', id: session }, session }
}

/** The database with the same history. */
export function fillSqlite(open: OpenDatabase, directory: string, size: HistorySize): SqliteNotes {
  const database = new SqliteNotes(open(join(directory, 'notes.db')))
  const steps = historySteps(size, [])
  for (let burst = take(steps, rowsAtOnce); burst.length > 0; burst = take(steps, rowsAtOnce)) {
    database.atomically(() => {
      for (const step of burst) {
        const { path } = step
        if (step.type === 'create') database.write(path, step.text)
        else database.write(path, database.read(path).replace(step.from, step.to))
      }
    })
  }
  return database
}

/** A repository with the same history in plaintext, as `git fast-import` packs it. */
export function fillGit(directory: string, size: HistorySize): void {
  run('git', ['init', '--quiet', '--bare', '--initial-branch=main'], { cwd: directory })
  const file = join(directory, 'import')
  writeImport(file, historySteps(size, []))
  const stream = openSync(file, 'r')
  const options = ['-C', directory, 'fast-import', '--quiet']
  const { status } = spawnSync('git', options, { stdio: [stream, 'ignore', 'inherit'] })
  closeSync(stream)
  if (status !== 0) throw new Error('git fast-import failed')
}

function writeImport(file: string, steps: Iterable<Step>): void {
  const fd = openSync(file, 'w')
  const contents = new Map<string, string>()
  let time = 1_760_000_000
  for (const step of steps) {
    const { path } = step
    const text =
      step.type === 'create' ? step.text : (contents.get(path) ?? '').replace(step.from, step.to)
    contents.set(path, text)
    time += 1
    const commit = `commit refs/heads/main\ncommitter Bench <bench@localhost> ${time} +0000\n`
    const change = `M 100644 inline ${path}\ndata ${Buffer.byteLength(text)}\n${text}\n`
    writeSync(fd, `${commit}data 6\nchange${change}`)
  }
  closeSync(fd)
}

/** The notes of the history's first part as the SDK's tool keeps them; nothing is synced. */
export function fillPlainFiles(directory: string, memories: number): void {
  for (const step of historySteps({ memories, commits: memories, recent: 0 }, [])) {
    if (step.type !== 'create') continue
    const file = join(directory, 'memories', step.path)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, step.text)
  }
}

/** Bytes of all files below a directory. */
export function sizeOf(directory: string): number {
  const names = readdirSync(directory, { recursive: true, encoding: 'utf8' })
  const files = names.map((name) => lstatSync(join(directory, name)))
  return files.reduce((sum, file) => sum + (file.isFile() ? file.size : 0), 0)
}
