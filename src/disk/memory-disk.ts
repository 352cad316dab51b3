// Files in RAM, for runtimes without a disk: what a device keeps for itself next to the objects of
// a store. Gone with the process; one process alone sees them, so that nothing needs a lock.

import { type Clock, systemClock } from '../clock.ts'
import { StoreError } from '../errors.ts'
import { fileBytesMax } from '../limits.ts'
import type { DirectoryEntry, Disk, FileStatus, OpenMode } from './disk.ts'

interface MemoryFile {
  readonly inode: number
  bytes: Uint8Array
  mtimeMs: number
}

export class MemoryDisk implements Disk {
  readonly #files: Map<string, MemoryFile> = new Map()
  readonly #directories: Set<string> = new Set(['', '/'])
  readonly #open: Map<number, MemoryFile> = new Map()
  readonly #clock: Clock
  #last = 0

  constructor(clock: Clock = systemClock) {
    this.#clock = clock
  }

  open(path: string, mode: OpenMode): number {
    if (mode === 'wx') {
      if (this.#files.has(path)) throw failed('create a file: it exists already')
      if (!this.#directories.has(parentOf(path))) throw failed('create a file: no directory')
      this.#last += 1
      this.#files.set(path, { inode: this.#last, bytes: new Uint8Array(), mtimeMs: this.#clock() })
    }
    const fd = this.openExisting(path, 'r')
    if (fd === undefined) throw failed('open a file: it does not exist')
    return fd
  }

  openExisting(path: string, _mode: 'r' | 'r+'): number | undefined {
    const file = this.#files.get(path)
    if (file === undefined) return undefined
    this.#last += 1
    this.#open.set(this.#last, file)
    return this.#last
  }

  close(fd: number): void {
    this.#open.delete(fd)
  }

  closeInBackground(fd: number): void {
    this.close(fd)
  }

  read(fd: number, into: Uint8Array, position: number): number {
    const part = this.#at(fd).bytes.subarray(position, position + into.length)
    into.set(part)
    return part.length
  }

  write(fd: number, bytes: Uint8Array, position: number): void {
    const file = this.#at(fd)
    const grown = new Uint8Array(Math.max(file.bytes.length, position + bytes.length))
    grown.set(file.bytes)
    grown.set(bytes, position)
    file.bytes = grown
    file.mtimeMs = this.#clock()
  }

  size(fd: number): number {
    return this.#at(fd).bytes.length
  }

  truncate(fd: number, length: number): void {
    const file = this.#at(fd)
    file.bytes = file.bytes.slice(0, length)
  }

  async sync(): Promise<void> {}

  readFile(path: string, limit: number = fileBytesMax): Uint8Array | undefined {
    const file = this.#files.get(path)
    if (file !== undefined && file.bytes.length > limit) {
      throw failed('read a file: it is larger than any such file')
    }
    return file?.bytes.slice()
  }

  list(directory: string): string[] {
    return this.entries(directory).map(({ name }) => name)
  }

  entries(directory: string): ReturnType<Disk['entries']> {
    const inside = (path: string): boolean => path !== directory && parentOf(path) === directory
    const files = [...this.#files.keys()].filter(inside).map((path) => entryOf(path, false))
    const directories = [...this.#directories].filter(inside).map((path) => entryOf(path, true))
    return [...files, ...directories].toSorted((a, b) => (a.name < b.name ? -1 : 1))
  }

  stat(path: string): FileStatus | undefined {
    const file = this.#files.get(path)
    if (file !== undefined) {
      return { size: file.bytes.length, inode: file.inode, mtimeMs: file.mtimeMs, device: 0 }
    }
    return this.#directories.has(path) ? { size: 0, inode: 0, mtimeMs: 0, device: 0 } : undefined
  }

  rename(from: string, to: string): void {
    const file = this.#files.get(from)
    if (file === undefined) throw failed('rename a file: it does not exist')
    this.#files.delete(from)
    this.#files.set(to, file)
  }

  link(from: string, to: string): boolean {
    const file = this.#files.get(from)
    if (file === undefined) throw failed('link a file: it does not exist')
    if (this.#files.has(to)) return false
    this.#files.set(to, file)
    return true
  }

  remove(path: string): void {
    this.#files.delete(path)
  }

  makeDirectory(path: string): void {
    const missing: string[] = []
    for (let top = path; !this.#directories.has(top); top = parentOf(top)) {
      if (this.#files.has(top)) throw failed('create a directory: it is a file')
      missing.push(top)
    }
    for (const one of missing) this.#directories.add(one)
  }

  removeTree(path: string): void {
    const isBelow = (one: string): boolean => one === path || one.startsWith(`${path}/`)
    for (const file of this.#files.keys()) if (isBelow(file)) this.#files.delete(file)
    for (const one of this.#directories) if (isBelow(one)) this.#directories.delete(one)
  }

  async syncDirectory(): Promise<void> {}

  owner(): never {
    throw failed('name its process: files in RAM have no locks')
  }

  async listen(): Promise<undefined> {}

  async lifeOf(): Promise<never> {
    throw failed('ask for a process: files in RAM have no locks')
  }

  #at(fd: number): MemoryFile {
    const file = this.#open.get(fd)
    if (file === undefined) throw failed('use a file: it is closed')
    return file
  }
}

function entryOf(path: string, isDirectory: boolean): DirectoryEntry {
  return { name: path.slice(path.lastIndexOf('/') + 1), isDirectory, isLink: false }
}

function parentOf(path: string): string {
  return path.slice(0, path.lastIndexOf('/'))
}

function failed(what: string): StoreError {
  return new StoreError('storage_failed', `Could not ${what}`)
}
