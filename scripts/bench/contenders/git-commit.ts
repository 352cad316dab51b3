// Plain git: what a script around a directory of notes would do.

import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { run } from '../machine.ts'
import { type KeeperKind, type Notes, runOn } from './notes.ts'

export const gitCommit: KeeperKind = {
  name: 'git add, git commit',
  start: async (directory) => {
    const git = (...args: readonly string[]) => run('git', args, { cwd: directory })
    git('init', '--quiet', '--initial-branch=main')
    const commit = (...paths: readonly string[]) => {
      git('add', '--all', '--', ...paths)
      git('commit', '--quiet', '--message', 'change')
    }
    const notes: Notes = {
      read: (path) => readFileSync(join(directory, path), 'utf8'),
      write(path, text) {
        writeNote(directory, path, text)
        commit(path)
      },
      remove(path) {
        rmSync(join(directory, path))
        commit(path)
      },
      move(from, to) {
        mkdirSync(dirname(join(directory, to)), { recursive: true })
        renameSync(join(directory, from), join(directory, to))
        commit(from, to)
      },
    }
    return {
      fill(filled) {
        for (const { path, text } of filled) writeNote(directory, path, text)
        commit('.')
      },
      run: (command) => runOn(notes, command),
      close() {},
    }
  },
}

export function writeNote(directory: string, path: string, text: string): void {
  const file = join(directory, path)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, text)
}
