// A mirror between a directory and a store, whose user and whose agents edit on both sides at any
// time, also in the middle of a pass. Every saved text has a line of its own, by which it is found
// again.

import {
  closeSync,
  existsSync,
  fstatSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { Folder } from '../../src/cli/mirror/folder.ts'
import { emptyState, type Mirror, MirrorFiles } from '../../src/cli/mirror/mirror-state.ts'
import { MirrorPasses } from '../../src/cli/mirror/pass.ts'
import { MirrorRunner } from '../../src/cli/mirror/runner.ts'
import { ruleOf } from '../../src/cli/mirror/survey.ts'
import { systemRandom } from '../../src/crypto/random.ts'
import type { Disk } from '../../src/disk/disk.ts'
import { hasCode } from '../../src/errors.ts'
import { type MemoryStore, openStore } from '../../src/index.ts'
import { type Fault, FaultyDisk, SimulatedDeath } from './faulty-disk.ts'
import { inlinePacker } from './inline-packer.ts'
import { contentsOf, newStore, reopen, type TestPlace } from './stores.ts'
import { temporaryDirectory } from './temporary.ts'

export const plainMirror: Omit<Mirror, 'id' | 'directory'> = {
  at: '/notes',
  isPaused: false,
  isInMemory: false,
  isMarkdownOnly: false,
  withConfiguration: false,
  isReviewed: false,
  hasHook: false,
}

const ownName = '.gitlocket-mirror'
const clock = (): number => Date.now()
const alice = { actor: { type: 'user', id: 'alice' } } as const

/** The files below a directory, by path, without what the mirror keeps there. */
export function filesBelow(directory: string, below = ''): Record<string, string> {
  const found: Record<string, string> = {}
  for (const entry of readdirSync(directory, { withFileTypes: true })) {
    const path = `${below}/${entry.name}`
    if (entry.name === ownName) continue
    if (entry.isDirectory()) Object.assign(found, filesBelow(`${directory}/${entry.name}`, path))
    else found[path] = readFileSync(`${directory}/${entry.name}`, 'utf8')
  }
  return found
}

export class MirrorWorld {
  store: MemoryStore
  readonly place: TestPlace
  readonly directory: string
  readonly mirror: Mirror
  /** The lines that must be found again, each with where it was written. */
  readonly saved: Map<string, string> = new Map()
  /** Edits that happen between two operations of a pass, each one once. */
  readonly pending: (() => void)[] = []
  #lines = 0
  /** Files that an editor has open. */
  readonly #open: (() => void)[] = []

  static async start(): Promise<MirrorWorld> {
    const { store, place } = await newStore()
    return new MirrorWorld(store, place)
  }

  private constructor(store: MemoryStore, place: TestPlace) {
    this.store = store
    this.place = place
    this.directory = temporaryDirectory()
    this.mirror = { ...plainMirror, id: '0123456789abcdef', directory: this.directory }
  }

  line(where: string): string {
    this.#lines += 1
    const line = `line ${this.#lines} of the ${where}`
    this.saved.set(line, where)
    return `${line}\n`
  }

  /** An editor that writes the same file again, or a new one. */
  saveInPlace(name: string): void {
    const path = this.#pathOf(name)
    if (path === undefined) return
    const before = existsSync(path) ? readFileSync(path, 'utf8') : ''
    writeFileSync(path, before + this.line('file'))
  }

  /** An editor that writes another file and gives it the name. */
  saveByRename(name: string): void {
    const path = this.#pathOf(name)
    if (path === undefined) return
    const before = existsSync(path) ? readFileSync(path, 'utf8') : ''
    writeFileSync(`${path}~`, before + this.line('file'))
    renameSync(`${path}~`, path)
  }

  /** An editor that has opened the file now, and writes to it before the pass ends. */
  saveLater(name: string): void {
    const path = join(this.directory, name)
    if (!existsSync(path)) return
    const file = openSync(path, 'r+')
    this.#open.push(() => {
      // Without a name, its user has replaced or deleted it: no one can find a text in it.
      if (fstatSync(file).nlink > 0) {
        const text = readFileSync(file, 'utf8') + this.line('open file')
        ftruncateSync(file)
        writeSync(file, text, 0)
      }
      closeSync(file)
    })
  }

  moveFile(from: string, to: string): void {
    const [old, next] = [join(this.directory, from), this.#pathOf(to)]
    if (next === undefined || !existsSync(old) || existsSync(next)) return
    renameSync(old, next)
  }

  /** Its user gives up lines that were never in the store. */
  deleteFile(name: string): void {
    const path = join(this.directory, name)
    if (!existsSync(path)) return
    for (const line of readFileSync(path, 'utf8').split('\n')) this.saved.delete(line)
    rmSync(path)
  }

  async append(path: string): Promise<void> {
    const text = this.line('store')
    const appending = () => this.store.as(alice).append(`/notes/${path}`, text)
    if (!(await isDone(appending))) this.saved.delete(text.trim())
  }

  async moveMemory(from: string, to: string): Promise<void> {
    await isDone(() => this.store.as(alice).move(`/notes/${from}`, `/notes/${to}`))
  }

  async deleteMemory(path: string): Promise<void> {
    await isDone(() => this.store.as(alice).delete(`/notes/${path}`))
  }

  /** A pass of a process with a fault, while edits happen. */
  async pass(fault?: Fault): Promise<void> {
    await this.store.close()
    const disk = new FaultyDisk(fault)
    const before = new Set(this.saved.keys())
    const { directory, identity } = this.place
    try {
      const store = await openStore({
        ...this.place,
        disk,
        packer: inlinePacker(disk, directory),
      })
      const files = new MirrorFiles(store.id, { ...this.place, disk })
      const folder = new Folder({
        directory: this.directory,
        id: this.mirror.id,
        rule: ruleOf(this.mirror),
        disk: this.#edited(disk),
        random: systemRandom,
        isByPath: true,
      })
      const passes = new MirrorPasses({
        store,
        identity,
        folder,
        mirror: this.mirror,
        files,
        clock,
      })
      const state = files.findState(this.mirror.id) ?? emptyState()
      await passes.run(state, { settleMs: 0 })
      await store.close()
    } catch (error) {
      const isExpected = disk.dead || error instanceof SimulatedDeath || fault?.kind === 'error'
      if (!isExpected) throw error
      // The power failure may have taken along what its user had just saved.
      if (fault?.kind === 'death' && fault.loss !== 'nothing') this.#keepOnly(before)
    } finally {
      disk.release()
      for (const edit of this.pending.splice(0)) edit()
      for (const write of this.#open.splice(0)) write()
      this.store = await reopen(this.place)
    }
  }

  /** Passes without a fault until both sides are equal. */
  async settle(): Promise<void> {
    const { stateDirectory, identity } = this.place
    const { store, mirror } = this
    const files = new MirrorFiles(store.id, this.place)
    const runner = new MirrorRunner({ store, identity, mirror, files, clock, stateDirectory })
    await runner.settle({ settleMs: 1, isDeletionConfirmed: true })
    await runner.close()
  }

  async memories(): Promise<Record<string, string>> {
    const all = Object.entries(await contentsOf(this.store))
    return Object.fromEntries(all.map(([path, text]) => [path.slice('/notes'.length), text]))
  }

  /** Saved lines that no version has. */
  async lost(): Promise<readonly string[]> {
    const known = new Set<string>()
    for await (const { content } of this.store.history.versions({ view: 'full', limit: 100 })) {
      for (const line of content?.split('\n') ?? []) known.add(line)
    }
    return [...this.saved.keys()].filter((line) => !known.has(line))
  }

  #keepOnly(lines: ReadonlySet<string>): void {
    for (const line of this.saved.keys()) if (!lines.has(line)) this.saved.delete(line)
  }

  #pathOf(name: string): string | undefined {
    const path = join(this.directory, name)
    try {
      mkdirSync(dirname(path), { recursive: true })
      return path
    } catch {
      return undefined
    }
  }

  /** Before each change of a file by the pass, the next of the pending edits happens. */
  #edited(disk: FaultyDisk): Disk {
    const striking = new Set(['rename', 'link', 'remove', 'removeTree', 'open'])
    return new Proxy(disk, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name, target)
        if (typeof value !== 'function') return value
        return (...given: unknown[]): unknown => {
          if (striking.has(String(name)) && !disk.dead) this.pending.shift()?.()
          return Reflect.apply(value, target, given)
        }
      },
    })
  }
}

/** False if the paths of the store did not allow it. */
async function isDone(work: () => Promise<unknown>): Promise<boolean> {
  try {
    await work()
    return true
  } catch (error) {
    if (hasCode(error, 'path_conflict') || hasCode(error, 'not_found')) return false
    throw error
  }
}
