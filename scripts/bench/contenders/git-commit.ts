// Plain git, and age with git: what a script around a directory of notes would do.

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { findVersion, run } from '../machine.ts'
import type { Contender, ContenderKind } from './contender.ts'

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
  seal(text: string): Uint8Array
  open(file: string): string
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

function initRepository(directory: string): void {
  run('git', ['init', '--quiet', '--initial-branch=main'], { cwd: directory })
}

function notesIn(directory: string, cipher: Cipher): Contender {
  const commit = (path: string, text: string) => {
    const file = join(directory, path)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, cipher.seal(text))
    run('git', ['add', '--', path], { cwd: directory })
    run('git', ['commit', '--quiet', '--message', 'change'], { cwd: directory })
  }
  return {
    create: ({ path, text }) => commit(path, text),
    replace: ({ path, from, to }) =>
      commit(path, cipher.open(join(directory, path)).replace(from, to)),
    close() {},
  }
}
