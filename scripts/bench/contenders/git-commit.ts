// Plain git, and age with git: what a script around a directory of notes would do.

import { mkdirSync, readFileSync, rmSync, renameSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { NewNote } from '../commands.ts'
import { findVersion, run } from '../machine.ts'
import type { Contender, ContenderKind } from './contender.ts'
import { type Notes, runOn } from './notes.ts'

export const gitCommit: ContenderKind = {
  name: 'git add && git commit',
  pace: 'slow',
  every: 1,
  remark: 'plaintext, not signed; two processes, as a script would start them',
  start: async (directory) => {
    initRepository(directory)
    return notesIn(directory, plaintext)
  },
}

export const ageCommit: ContenderKind = {
  name: 'age + git',
  pace: 'slow',
  every: 1,
  remark: 'age to one recipient, then git add and git commit; a replacement decrypts first',
  start: async (directory) => {
    if (findVersion('age') === undefined) throw new Error('apt-get install age')
    initRepository(directory)
    return notesIn(directory, ageCipher(directory))
  },
}

/** Turns a text into what the working tree holds, and back. */
interface Cipher {
  readonly seal: (text: string) => Uint8Array
  readonly open: (file: string) => string
}

const plaintext: Cipher = {
  seal: (text) => Buffer.from(text),
  open: (file) => readFileSync(file, 'utf8'),
}

function ageCipher(directory: string): Cipher {
  const key = join(directory, '.git', 'age.key')
  run('age-keygen', ['-o', key], { cwd: directory })
  const recipient = run('age-keygen', ['-y', key], { cwd: directory }).toString().trim()
  return {
    seal: (text) => run('age', ['-r', recipient], { cwd: directory, input: text }),
    open: (file) => run('age', ['-d', '-i', key, file], { cwd: directory }).toString(),
  }
}

export function initRepository(directory: string): void {
  run('git', ['init', '--quiet', '--initial-branch=main'], { cwd: directory })
}

/** Writes files and commits them all at once, off the clock. */
export function commitFiles(
  directory: string,
  notes: Iterable<NewNote>,
  seal: Cipher['seal'] = plaintext.seal,
): void {
  for (const { path, text } of notes) writeNote(directory, path, seal(text))
  run('git', ['add', '--all'], { cwd: directory })
  commit(directory)
}

function notesIn(directory: string, cipher: Cipher): Contender {
  const finish = (...paths: readonly string[]) => {
    run('git', ['add', '--all', '--', ...paths], { cwd: directory })
    commit(directory)
  }
  const notes: Notes = {
    read: (path) => cipher.open(join(directory, path)),
    write(path, text) {
      writeNote(directory, path, cipher.seal(text))
      finish(path)
    },
    remove(path) {
      rmSync(join(directory, path))
      finish(path)
    },
    move(from, to) {
      mkdirSync(dirname(join(directory, to)), { recursive: true })
      renameSync(join(directory, from), join(directory, to))
      finish(from, to)
    },
  }
  return {
    fill: (filled) => commitFiles(directory, filled, cipher.seal),
    run: (command) => runOn(notes, command),
    close() {},
  }
}

export function writeNote(directory: string, path: string, bytes: Uint8Array | string): void {
  const file = join(directory, path)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, bytes)
}

function commit(directory: string): void {
  run('git', ['commit', '--quiet', '--message', 'change'], { cwd: directory })
}
